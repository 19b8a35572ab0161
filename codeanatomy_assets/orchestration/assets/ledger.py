"""The ledger: the last step of an update, after which the commit is built, and the records beside it."""

from collections.abc import Iterator

import dagster as dg

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.ledger import GRAPH_COMMITS, PLAN_ARTIFACTS, PRUNING_METRICS, RUN_PROFILES
from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets.orchestration.asset_specs import asset_spec
from codeanatomy_assets.orchestration.assets.stage_assets import WRITER_POOL
from codeanatomy_assets.orchestration.failures import plain_failures
from codeanatomy_assets.orchestration.informing_checks import at_head_result, at_head_spec
from codeanatomy_assets.orchestration.partitions import reconcile
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.profiles import write_profiles
from codeanatomy_assets.orchestration.resources import RunSession
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.stories import ledger_story, story
from codeanatomy_assets.orchestration.summary import summarise

Told = dg.MaterializeResult[None] | dg.AssetCheckResult

RECORDS = (PLAN_ARTIFACTS, RUN_PROFILES, PRUNING_METRICS)
UPSTREAM = [table.name for table in (*catalog.TABLES, *RECORDS) if table != GRAPH_COMMITS]
GRAPH = [table.name for table in catalog.of_stage(Stage.GRAPH)]


@dg.multi_asset(
    name="ledger_stage",
    specs=[*(asset_spec(table, GRAPH) for table in RECORDS), asset_spec(GRAPH_COMMITS, list(dict.fromkeys(UPSTREAM)))],
    can_subset=True,
    check_specs=[at_head_spec()],
    pool=WRITER_POOL,
    required_resource_keys={"session"},
)
def ledger_stage(context: dg.AssetExecutionContext) -> Iterator[Told]:
    """Close the run with its row; alone, tell the last one."""
    with plain_failures(context.resources.session.settings):
        yield from _closed(context)


def _closed(context: dg.AssetExecutionContext) -> Iterator[Told]:
    session: RunSession = context.resources.session
    run = session.current
    if run is not None:
        write_profiles(run)
        told = {table: story(run, Produced(table, run.written.get(table.name))) for table in RECORDS}
        session.finish(summarise(run))
        reconcile(context.instance, run.python_files())
        for table, metadata in told.items():
            if dg.AssetKey(table.name) in context.selected_asset_keys:
                yield dg.MaterializeResult(asset_key=table.name, metadata=metadata)
    if dg.AssetKey(GRAPH_COMMITS.name) in context.selected_asset_keys:
        last = open_ledger(session.settings).resolve(None)
        yield dg.MaterializeResult(
            asset_key=GRAPH_COMMITS.name,
            metadata=ledger_story(session.settings, last),
            check_results=[at_head_result(session.settings)],
        )
    elif context.selected_asset_check_keys:
        yield at_head_result(session.settings)


ASSETS = ledger_stage

"""The ledger: the last step of an update, after which the commit is built."""

import dagster as dg

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.ledger import GRAPH_COMMITS
from codeanatomy_assets.contracts.table import Layout
from codeanatomy_assets.orchestration.assets.stage_assets import WRITER_POOL, asset_spec
from codeanatomy_assets.orchestration.partitions import reconcile
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.resources import RunSession
from codeanatomy_assets.orchestration.summary import summarise

UPSTREAM = [table.name for table in catalog.TABLES if table.layout is not Layout.APPEND]


@dg.multi_asset(
    name="ledger_stage",
    specs=[asset_spec(GRAPH_COMMITS, UPSTREAM)],
    can_subset=True,
    pool=WRITER_POOL,
    required_resource_keys={"session"},
)
def ledger_stage(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """Close the run with its row; alone, tell the last one."""
    session: RunSession = context.resources.session
    run = session.current
    if run is not None:
        session.finish(summarise(run))
        reconcile(context.instance, run.python_files())
    last = open_ledger(session.settings).resolve(None)
    return dg.MaterializeResult(
        asset_key=GRAPH_COMMITS.name,
        metadata={
            "commit": last.commit,
            "sequence": last.sequence,
            "mode": last.mode,
            "dagster/row_count": last.sequence,
        },
    )


ASSETS = ledger_stage

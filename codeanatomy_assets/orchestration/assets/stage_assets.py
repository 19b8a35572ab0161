"""A stage as one subsettable multi-asset: specs from the contracts, one materialization per dataset and file."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.repository import FILE_CHANGES
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.asset_specs import asset_spec, check_result, check_spec
from codeanatomy_assets.orchestration.checking import IntegrityBroken
from codeanatomy_assets.orchestration.event_storage import record_materializations
from codeanatomy_assets.orchestration.failures import plain_failures
from codeanatomy_assets.orchestration.informing_checks import checks_for
from codeanatomy_assets.orchestration.lineage import Lineage, declared
from codeanatomy_assets.orchestration.partitions import CONTROL_KEYS, FILES, keys_of
from codeanatomy_assets.orchestration.resources import RunSession
from codeanatomy_assets.orchestration.stages import BODIES, Body, Produced, rebuild_downstream, run_stage
from codeanatomy_assets.orchestration.stories import column_lineage, story
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage.delta_store import Written

WRITER_POOL = "codeanatomy_writer"
CHECKS_ALONE = (
    "a check tells of what a run writes, and this one writes nothing: materialize the asset instead (a file's partition"
    " to look at that file, __all__ to look at all), or launch verify_job, which compares every row with a clean build"
)


def stage_assets(
    stage: Stage,
    deps: Mapping[str, Sequence[str]],
    body: Body,
    lineage: Mapping[str, Lineage] | None = None,
) -> dg.AssetsDefinition:
    """The stage's datasets as assets; `body` computes those selected, in pipeline order.

    `lineage` tells of datasets, column by column, the (dataset, column)s that it is made of: where there is none, what
    is declared tells it.
    """
    tables = catalog.of_stage(stage)
    BODIES[stage] = body
    columns = {table.name: declared(table.name) if lineage is None else lineage[table.name] for table in tables}

    @dg.multi_asset(
        name=f"{stage}_stage",
        specs=[asset_spec(table, deps[table.name], columns[table.name]) for table in tables],
        partitions_def=FILES,
        backfill_policy=dg.BackfillPolicy.single_run(),
        can_subset=True,
        pool=WRITER_POOL,
        required_resource_keys={"session"},
        check_specs=[
            *(check_spec(table) for table in tables),
            *(check.spec for table in tables for check in checks_for(table)),
        ],
    )
    def stage_step(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        with plain_failures(context.resources.session.settings):
            yield from results(context)

    def results(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        session: RunSession = context.resources.session
        if not context.selected_asset_keys:
            raise BadInput(CHECKS_ALONE)
        run = session.writing(context, stage)
        if run is None:
            return
        selected = [table for table in tables if dg.AssetKey(table.name) in context.selected_asset_keys]
        if run.moves_commit and len(selected) < len(tables):
            raise BadInput(f"an update is one piece: launch update_job with all assets of the {stage} stage")
        session.progress.say(f"{stage}: {', '.join(table.name for table in selected)}")
        produced, broken = run_stage(run, stage, selected)
        _record_files(context, run, stage, [done for done in produced if done.table in selected])
        for done in produced:
            if done.table in selected:
                checked = check_result(done.table, [each for each in broken if each.table in _names(done.table)])
                informed = [check.result(run) for check in checks_for(done.table)]
                told = {**story(run, done), **column_lineage(columns[done.table.name])}
                yield dg.MaterializeResult(asset_key=done.table.name, metadata=told, check_results=[checked, *informed])
        if broken:
            raise IntegrityBroken(broken)
        if not run.moves_commit and any(done.written and done.written.owners for done in produced):
            rebuild_downstream(run, stage, produced)
            session.finish(
                {**(run.last.summary if run.last else {}), "rebuilt": [done.table.name for done in produced]}
            )

    return stage_step


def _names(table: Table) -> tuple[str, ...]:
    """What violations call the dataset: those of rules are found together."""
    return (table.name, table.storage_name)


def _record_files(
    context: dg.AssetExecutionContext, run: WritingRun, stage: Stage, produced: Sequence[Produced]
) -> None:
    """One materialization per rebuilt file, beside the one that Dagster records of the key that was launched.

    Of a file that is new, in every dataset: without rows in one of them, it was built there all the same. The version
    is told as text: the UI plots numbers, and those of single files would hide the update's own.
    """
    written = {done.table: done.written for done in produced if done.written is not None}
    if not written:
        return
    others = run.python_files() - set(keys_of(context)) - set(CONTROL_KEYS)
    new = others if run.refreshes(stage) else others & _new_files(run) if run.moves_commit else frozenset()
    for table, done in written.items():
        told = {"commit": run.commit, "delta_version": str(done.ref.version)}
        record_materializations(context, table.name, sorted(new | (_files(run, table, done) & others)), told)


def _files(run: WritingRun, table: Table, done: Written) -> frozenset[str]:
    """The files that a write is about: of what is told of a commit, those that it names."""
    if table.bucketed:
        return done.owners
    return frozenset(run.read_light(table, (run.commit,), columns=["file_id"]).column("file_id").to_pylist())


def _new_files(run: WritingRun) -> set[str]:
    changes = run.read_light(FILE_CHANGES, (run.commit,)).to_pylist()
    return {row["file_id"] for row in changes if row["change_kind"] in ("added", "renamed")}

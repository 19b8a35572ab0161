"""A stage as one subsettable multi-asset: specs from the contracts, one materialization per dataset and file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.checks import Violation, checks_of
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.checking import IntegrityBroken, violations
from codeanatomy_assets.orchestration.event_storage import record_materializations
from codeanatomy_assets.orchestration.failures import plain_failures
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES
from codeanatomy_assets.orchestration.partitions import CONTROL_KEYS, FILES, keys_of
from codeanatomy_assets.orchestration.progress import timed
from codeanatomy_assets.orchestration.resources import RunSession, table_resource
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.delta_store import Written

WRITER_POOL = "codeanatomy_writer"
PREVIEW_ROWS = 10
CELL_CHARACTERS = 60
OWNERS = ["team:codeanatomy"]
KINDS = {
    Stage.REPOSITORY: {"python", "delta"},
    Stage.SYNTAX: {"python", "spark", "delta"},
    Stage.SYMBOLS: {"python", "spark", "delta", "scip"},
    Stage.IMPACT: {"python", "delta"},
    Stage.RELATIONSHIPS: {"sqlglot", "spark", "delta"},
    Stage.GRAPH: {"spark", "delta"},
    Stage.LEDGER: {"delta"},
}


@dataclass(frozen=True)
class Produced:
    """What a stage did for one dataset: `written` is None for one that this run left as it is."""

    table: Table
    written: Written | None = None


Body = Callable[[WritingRun, Sequence[Table]], Iterator[Produced]]
BODIES: dict[Stage, Body] = {}


def run_stage(run: WritingRun, stage: Stage, tables: Sequence[Table]) -> tuple[list[Produced], list[Violation]]:
    """Compute datasets of a stage and check what was written of them."""
    with timed(run.seconds, stage.value):
        produced = list(BODIES[stage](run, tables))
    with timed(run.seconds, "checks"):
        broken = violations(run, stage, [done.table for done in produced])
    run.done.add(stage)
    return produced, broken


def stage_assets(
    stage: Stage,
    deps: Mapping[str, Sequence[str]],
    body: Body,
    lineage: Mapping[str, Mapping[str, Iterable[tuple[str, str]]]] | None = None,
) -> dg.AssetsDefinition:
    """The stage's datasets as assets; `body` computes those selected, in pipeline order.

    `lineage` tells of datasets, column by column, the (dataset, column)s that it is made of.
    """
    tables = catalog.of_stage(stage)
    BODIES[stage] = body

    @dg.multi_asset(
        name=f"{stage}_stage",
        specs=[asset_spec(table, deps[table.name]) for table in tables],
        partitions_def=FILES,
        backfill_policy=dg.BackfillPolicy.single_run(),
        can_subset=True,
        pool=WRITER_POOL,
        required_resource_keys={"session"},
        check_specs=[_check_spec(table) for table in tables],
    )
    def stage_step(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        with plain_failures():
            yield from results(context)

    def results(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        session: RunSession = context.resources.session
        run = session.writing(context, stage)
        if run is None:
            return
        selected = [table for table in tables if dg.AssetKey(table.name) in context.selected_asset_keys]
        if run.moves_commit and len(selected) < len(tables):
            raise BadInput(f"an update is one piece: launch update_job with all assets of the {stage} stage")
        session.progress.say(f"{stage}: {', '.join(table.name for table in selected)}")
        produced, broken = run_stage(run, stage, selected)
        _record_files(context, run, [done for done in produced if done.table in selected])
        for done in produced:
            if done.table in selected:
                checked = _check_result(done.table, [each for each in broken if each.table in _names(done.table)])
                told = {**_figures(run, done), **_column_lineage((lineage or {}).get(done.table.name))}
                yield dg.MaterializeResult(asset_key=done.table.name, metadata=told, check_results=[checked])
        if broken:
            raise IntegrityBroken(broken)
        if not run.moves_commit and any(done.written and done.written.owners for done in produced):
            _rebuild_downstream(run, stage, produced)
            session.finish(
                {**(run.last.summary if run.last else {}), "rebuilt": [done.table.name for done in produced]}
            )

    return stage_step


def _rebuild_downstream(run: WritingRun, stage: Stage, produced: Sequence[Produced]) -> None:
    """Compute what later stages have of the files whose slices differed: they were made from other rows."""
    written = [done.written for done in produced if done.written is not None and done.table.bucketed]
    run.chosen = frozenset[str]().union(*(each.owners for each in written))
    for later in BUILT_STAGES[BUILT_STAGES.index(stage) + 1 :]:
        _, broken = run_stage(run, later, catalog.of_stage(later))
        if broken:
            raise IntegrityBroken(broken)


def asset_spec(table: Table, deps: Sequence[str]) -> dg.AssetSpec:
    return dg.AssetSpec(
        table.name,
        deps=list(deps),
        description=f"{table.doc}\n\nKey: {', '.join(table.key)}. Example row: `{table.example}`",
        group_name=table.stage.value,
        kinds=KINDS[table.stage],
        owners=OWNERS,
        skippable=True,
        code_version=table.fingerprint()[:16],
        metadata={"dagster/column_schema": column_schema(table), "dagster/table_name": table.name},
    )


def _column_lineage(
    columns: Mapping[str, Iterable[tuple[str, str]]] | None,
) -> dict[str, dg.TableColumnLineageMetadataValue]:
    if not columns:
        return {}
    deps = {
        column: [dg.TableColumnDep(asset_key=dg.AssetKey(table), column_name=name) for table, name in origins]
        for column, origins in columns.items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineageMetadataValue(dg.TableColumnLineage(deps))}


CHECK = "contract"


def _check_spec(table: Table) -> dg.AssetCheckSpec:
    """All that the contract promises of the dataset's rows, as one check that blocks what comes after."""
    listed = "\n".join(f"- `{check.name}`: {check.doc}" for check in checks_of(table))
    return dg.AssetCheckSpec(CHECK, asset=table.name, blocking=True, description=f"Over what was written:\n{listed}")


def _check_result(table: Table, broken: Sequence[Violation]) -> dg.AssetCheckResult:
    told: dict[str, dg.MetadataValue | str | int] = {"checks": len(checks_of(table))}
    told |= {each.check: f"{each.rows} rows, e.g. {each.example}" for each in broken}
    return dg.AssetCheckResult(
        passed=not broken,
        asset_key=table.name,
        check_name=CHECK,
        severity=dg.AssetCheckSeverity.ERROR,
        metadata=told,
    )


def _names(table: Table) -> tuple[str, ...]:
    """What violations call the dataset: those of rules are found together."""
    return (table.name, table.storage_name)


def column_schema(table: Table) -> dg.TableSchema:
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                column.type.ddl,
                description=column.doc,
                constraints=dg.TableColumnConstraints(nullable=column.nullable, unique=table.key == (column.name,)),
            )
            for column in table.columns
        ]
    )


def _figures(run: WritingRun, done: Produced) -> dict[str, dg.MetadataValue | int | float | str]:
    written = done.written
    return {
        "dagster/row_count": run.count(done.table),
        "rows_written": written.rows if written else 0,
        "slices_written": len(written.owners) if written else 0,
        "write_path": written.way if written else "none",
        "delta_version": run.state.ref(done.table).version,
        "commit": run.commit,
        "seconds": run.seconds.get(done.table.stage.value, 0.0),
        "preview": dg.MetadataValue.md(_preview(run, done.table)),
    }


def _preview(run: WritingRun, table: Table) -> str:
    """Ten rows as this run has them, as a Markdown table."""
    opened = table_resource(run.state.ref(table), run.settings).load()
    columns = ", ".join(f'"{name}"' for name in table.column_names)
    rows = delta_reads.query(opened, f"SELECT {columns} FROM t LIMIT {PREVIEW_ROWS}").to_pylist()
    lines = [f"| {' | '.join(table.column_names)} |", "|" + " --- |" * len(table.columns)]
    lines += ["| " + " | ".join(_cell(value) for value in row.values()) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    shown = text if len(text) <= CELL_CHARACTERS else text[:CELL_CHARACTERS] + "…"
    return shown.replace("|", "\\|").replace("\n", " ").replace("`", "'")


def _record_files(context: dg.AssetExecutionContext, run: WritingRun, produced: Sequence[Produced]) -> None:
    """One materialization per rebuilt file; a full build records none, the control key's says it all."""
    rebuilt = [(done.table, done.written) for done in produced if done.written is not None and done.table.bucketed]
    if run.mode == "full" or not rebuilt:
        return
    others = run.python_files() - set(keys_of(context)) - set(CONTROL_KEYS)
    record_materializations(
        context,
        [
            dg.AssetMaterialization(
                table.name,
                partition=file_id,
                metadata={"commit": run.commit, "delta_version": written.ref.version},
            )
            for table, written in rebuilt
            for file_id in sorted(written.owners & others)
        ],
    )

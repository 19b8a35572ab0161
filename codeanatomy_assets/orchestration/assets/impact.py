"""The impact stage: what the commit changed for others, and which files it touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from codeanatomy_assets.contracts import exports, names, symbols
from codeanatomy_assets.contracts.exports import DIM_EXPORTED_DEFS, DIM_QUALIFIED_NAMES
from codeanatomy_assets.contracts.impact import (
    CHANGED_EXPORTS,
    IMPACTED_CALLERS,
    IMPACTED_FILES,
    IMPACTED_IMPORTERS,
)
from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED
from codeanatomy_assets.contracts.repository import FILE_CHANGES
from codeanatomy_assets.contracts.symbols import PY_INTERFACE, SCIP_OCCURRENCES
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.assets.stage_assets import stage_assets
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES
from codeanatomy_assets.orchestration.impact import Impact, find_impact, paths_of
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage.delta_store import Scope
from codeanatomy_assets.transforms.impact import Reasons

Row = dict[str, object]

DEPS = {
    CHANGED_EXPORTS.name: [DIM_EXPORTED_DEFS.name],
    IMPACTED_CALLERS.name: [
        CHANGED_EXPORTS.name,
        SCIP_OCCURRENCES.name,
        DIM_QUALIFIED_NAMES.name,
        PY_INTERFACE.name,
    ],
    IMPACTED_IMPORTERS.name: [CHANGED_EXPORTS.name, PY_IMPORTS_RESOLVED.name, DIM_EXPORTED_DEFS.name],
    IMPACTED_FILES.name: [
        FILE_CHANGES.name,
        IMPACTED_CALLERS.name,
        IMPACTED_IMPORTERS.name,
        *(table.name for table in (*names.TABLES, *symbols.TABLES, *exports.TABLES)),
    ],
}


def impact_stage(run: WritingRun, tables: Sequence[Table]) -> Iterator[Produced]:
    found = find_impact(run)
    if found.widened:
        position = BUILT_STAGES.index(Stage.IMPACT)
        run.refreshed |= frozenset(BUILT_STAGES[position:])
        run.progress.say(f"impact: {found.widened}, so everything is rebuilt")
    run.impacted = found.files.files
    if not run.moves_commit:
        yield from (Produced(table) for table in tables)
        return
    scope = Scope.of((run.commit,))
    for table, rows in _rows(run, found).items():
        rows = [*_told_before(run, table, rows), *rows]
        yield Produced(table, run.replace(table, pa.Table.from_pylist(rows, schema=table.arrow_schema()), scope))


def _told_before(run: WritingRun, table: Table, rows: Sequence[Row]) -> Iterator[Row]:
    """What the commit's earlier build found, when only later stages are built once more: it still holds."""
    if not run.stays_on_commit or run.refreshes(Stage.IMPACT) or table.storage_name in run.starts_empty:
        return
    now = {tuple(row[name] for name in table.key) for row in rows}
    for row in run.read_previous_light(table, (run.commit,)).to_pylist():
        if tuple(row[name] for name in table.key) not in now:
            yield row


def _rows(run: WritingRun, found: Impact) -> dict[Table, list[Row]]:
    files = Reasons(found.refreshed.found | found.files.found)
    paths = paths_of(run, files.files | {each.file_id for each in found.exports})
    return {
        CHANGED_EXPORTS: [
            {
                "commit": run.commit,
                "file_id": each.file_id,
                "path": paths[each.file_id],
                **{name: getattr(each, name) for name in CHANGED_EXPORTS.column_names[3:]},
            }
            for each in found.exports
        ],
        IMPACTED_CALLERS: found.callers.rows(run.commit, paths),
        IMPACTED_IMPORTERS: found.importers.rows(run.commit, paths),
        IMPACTED_FILES: files.rows(run.commit, paths),
    }


ASSETS = stage_assets(Stage.IMPACT, DEPS, impact_stage)

"""What a materialization tells of itself: figures, a preview of rows, and where its columns come from."""

from __future__ import annotations

import dagster as dg

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration.lineage import Lineage
from codeanatomy_assets.orchestration.resources import table_resource
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage import delta_reads

PREVIEW_ROWS = 10
CELL_CHARACTERS = 60


def figures(run: WritingRun, done: Produced) -> dict[str, dg.MetadataValue | int | float | str]:
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


def column_lineage(columns: Lineage) -> dict[str, dg.TableColumnLineageMetadataValue]:
    deps = {
        column: [dg.TableColumnDep(asset_key=dg.AssetKey(table), column_name=name) for table, name in origins]
        for column, origins in columns.items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineageMetadataValue(dg.TableColumnLineage(deps))}

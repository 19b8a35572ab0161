"""What a materialization tells of itself: figures, a preview of rows, pictures, and where its columns come from."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterable

import dagster as dg

from codeanatomy_assets.catalog import dataset
from codeanatomy_assets.contracts.graph import CPG_EDGES
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.contracts.ledger import GRAPH_COMMITS
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration import edge_picture, impact_picture
from codeanatomy_assets.orchestration.explain import closure_of
from codeanatomy_assets.orchestration.lineage import Lineage
from codeanatomy_assets.orchestration.plain_text import counted, printable, short
from codeanatomy_assets.orchestration.profiles import pruned_read
from codeanatomy_assets.orchestration.resources import table_resource
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.table_state import TableRef, table_path

PREVIEW_ROWS = 10
CELL_CHARACTERS = 60
REASON_CHARACTERS = 240
MOST_FILES_TOLD = 30
# Of the ledger's rows, what no table cell holds.
LONG_COLUMNS = ("versions", "counts", "fingerprints", "summary")
# A closure of more is no picture that anybody reads, and the event log keeps every one.
MOST_FILES_DRAWN = 200

Metadata = dict[str, dg.MetadataValue | int | float | str]


def story(run: WritingRun, done: Produced) -> Metadata:
    """All that is told of what this run did to a dataset."""
    told = _figures(run, done) | _pruning(run, done)
    told["preview"] = dg.MetadataValue.md(_preview(run, done.table))
    if done.table.name in PICTURES:
        told |= PICTURES[done.table.name](run)
    return told


def _figures(run: WritingRun, done: Produced) -> Metadata:
    written, ref = done.written, run.state.ref(done.table)
    rows = run.count(done.table)
    before = run.last.counts if run.last else {}
    told: Metadata = {
        "dagster/row_count": rows,
        "dagster/uri": ref.path,
        "rows_written": _rows_written(run, done),
        "write_path": written.way if written else "none",
        "delta_version": ref.version,
        "commit": run.commit,
    }
    if done.table.stage.value in run.seconds:
        told["stage_seconds"] = run.seconds[done.table.stage.value]
    if done.table.bucketed:
        told |= {
            "rows_more": rows - before.get(done.table.name, 0),
            "files_rebuilt": len(written.owners) if written else 0,
            "files_present": run.file_count,
        }
    return told


def _rows_written(run: WritingRun, done: Produced) -> int:
    """Of a rule its own rows in the files that were swapped: the rules are written together."""
    written = done.written
    if written is None or not done.table.stored_in or not written.owners:
        return written.rows if written else 0
    if len(written.owners) >= run.file_count:
        return run.count(done.table)
    opened = delta_reads.open_table(run.state.ref(done.table), run.store.options)
    where = delta_reads.owned_by(written.owners, done.table, run.state.buckets)
    sql = f"SELECT count(*) AS n FROM t WHERE rule = '{done.table.name}' AND {where}"
    return int(delta_reads.query(opened, sql).column("n")[0].as_py())


def _pruning(run: WritingRun, done: Produced) -> Metadata:
    """Of the table that holds the dataset: the rules share one."""
    stored = dataset(done.table.storage_name)
    if not stored.bucketed or stored.name not in run.written:
        return {}
    found = pruned_read(run, stored)
    return {
        "data_files_scanned": found.files,
        "data_files_present": found.all_files,
        "bytes_scanned": found.bytes,
        "bytes_present": found.all_bytes,
    }


def ledger_story(settings: Settings, last: LedgerRow) -> Metadata:
    """Of the ledger itself: its last row, and those before it."""
    path = table_path(settings.tables_root, GRAPH_COMMITS, 1)
    latest = TableRef(GRAPH_COMMITS.name, path, delta_reads.latest_version(path, settings.storage_options) or 0)
    shown = [name for name in GRAPH_COMMITS.column_names if name not in LONG_COLUMNS]
    sql = f"SELECT {', '.join(shown)} FROM t ORDER BY sequence DESC LIMIT {PREVIEW_ROWS}"
    rows = delta_reads.query(table_resource(latest, settings).load(), sql).to_pylist()
    return {
        "commit": last.commit,
        "sequence": last.sequence,
        "mode": last.mode,
        "dagster/row_count": last.sequence,
        "dagster/uri": latest.path,
        "delta_version": latest.version,
        "preview": dg.MetadataValue.md(_markdown_table(shown, (row.values() for row in rows))),
    }


def _preview(run: WritingRun, table: Table) -> str:
    """Ten rows as this run has them."""
    opened = table_resource(run.state.ref(table), run.settings).load()
    columns = ", ".join(f'"{name}"' for name in table.column_names)
    where = f" WHERE rule = '{table.name}'" if table.stored_in else ""
    rows = delta_reads.query(opened, f"SELECT {columns} FROM t{where} LIMIT {PREVIEW_ROWS}").to_pylist()
    return _markdown_table(table.column_names, (row.values() for row in rows))


def _impact_told(run: WritingRun) -> Metadata:
    """Why files were rebuilt: a table of reasons, and the closure as a picture."""
    rows = run.read_light(IMPACTED_FILES, (run.commit,)).to_pylist()
    found = closure_of(rows, run.state, run.store.options)
    kinds = Counter(reason.kind for reason in found.reasons)
    listed = [
        (reasons[0].path, reasons[0].distance, found.chain_text(reasons[0]))
        for reasons in list(found.by_file.values())[:MOST_FILES_TOLD]
    ]
    more = len(found.by_file) - len(listed)
    lines = [
        f"{counted(len(found.by_file))}: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()),
        "",
        _markdown_table(("file", "distance", "nearest reason"), listed, REASON_CHARACTERS),
        *([f"\nand {more} more: `codeanatomy impact --commit {short(run.commit)}`"] if more > 0 else []),
    ]
    told: Metadata = {"files_impacted": len(found.by_file), "reasons": dg.MetadataValue.md("\n".join(lines))}
    if 0 < len(found.by_file) <= MOST_FILES_DRAWN:
        told["closure"] = _picture("the files that the commit touches, by distance", impact_picture.drawing(found))
    return told


def _edges_told(run: WritingRun) -> Metadata:
    opened = delta_reads.open_table(run.state.ref(CPG_EDGES), run.store.options)
    told: Metadata = {}
    for name, by in (("edges", "confidence"), ("resolution", "resolution_method")):
        rows = delta_reads.query(
            opened, f"SELECT edge_kind, {by} AS by, count(*) AS n FROM t GROUP BY 1, 2"
        ).to_pylist()
        counts = {(row["edge_kind"], row["by"]): row["n"] for row in rows}
        told[name] = _picture(f"edges by kind and {by}", edge_picture.drawing(counts, by))
    return told


PICTURES: dict[str, Callable[[WritingRun], Metadata]] = {
    IMPACTED_FILES.name: _impact_told,
    CPG_EDGES.name: _edges_told,
}


def _picture(said: str, svg: str) -> dg.MetadataValue:
    return dg.MetadataValue.md(f"![{said}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})")


def _markdown_table(heading: Iterable[str], rows: Iterable[Iterable[object]], most: int = CELL_CHARACTERS) -> str:
    heading = list(heading)
    lines = [f"| {' | '.join(heading)} |", "|" + " --- |" * len(heading)]
    return "\n".join([*lines, *("| " + " | ".join(_cell(value, most) for value in row) + " |" for row in rows)])


def _cell(value: object, most: int) -> str:
    text = "" if value is None else printable(str(value))
    shown = text if len(text) <= most else text[:most] + "…"
    return shown.replace("|", "\\|").replace("\n", " ").replace("`", "'").replace("<", "&lt;")


def column_lineage(columns: Lineage) -> dict[str, dg.TableColumnLineageMetadataValue]:
    deps = {
        column: [dg.TableColumnDep(asset_key=dg.AssetKey(table), column_name=name) for table, name in origins]
        for column, origins in columns.items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineageMetadataValue(dg.TableColumnLineage(deps))}

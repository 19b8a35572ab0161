"""The checks of few files, over their rows in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from codeanatomy_assets.contracts.checks import border_checks
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.transforms import checks_light

IDS_AT_ONCE = 2_000
NODE_COLUMNS = "node_id, node_kind, file_id"

Row = dict[str, Any]


def offences(run: WritingRun, stage: Stage, written: dict[Table, frozenset[str]]) -> list[checks_light.Offence]:
    """What breaks a check in these files' slices of these datasets."""
    sizes = {file_id: row["size"] for file_id, row in run.tracked.items()}
    rows = {table: run.read_light(table, owners) for table, owners in written.items()}
    found = [offence for table in rows for offence in checks_light.row_offences(table, rows[table], sizes)]
    bordered = [table for table in rows if border_checks(table)]
    if bordered:
        contents = contents_of(run, frozenset[str]().union(*(written[table] for table in bordered)))
        found += [
            offence for table in bordered for offence in checks_light.border_offences(table, rows[table], contents)
        ]
    return found + (_graph_offences(run, rows, written) if stage is Stage.GRAPH else [])


def _graph_offences(
    run: WritingRun, rows: dict[Table, Any], written: dict[Table, frozenset[str]]
) -> list[checks_light.Offence]:
    found: list[checks_light.Offence] = []
    edges = rows.get(CPG_EDGES)
    if edges is not None:
        ends = {*edges.column("src_node_id").to_pylist(), *edges.column("dst_node_id").to_pylist()}
        found += checks_light.edge_offences(edges, _nodes(run, ends))
    if CPG_NODES in written:
        removed = _removed_nodes(run)
        found += checks_light.removed_end_offences(_edges_at(run, removed), removed)
    if CPG_PROPS in rows:
        owners = written[CPG_PROPS]
        entities = (run.read_light(table, owners) for table in (CPG_NODES, CPG_EDGES))
        found += checks_light.prop_offences(rows[CPG_PROPS], *entities)
    return found


def _nodes(run: WritingRun, ids: Iterable[str]) -> list[Row]:
    opened = delta_reads.open_table(run.state.ref(CPG_NODES), run.store.options)
    return [
        row
        for listed in _listed(ids)
        for row in delta_reads.query(opened, f"SELECT {NODE_COLUMNS} FROM t WHERE node_id IN ({listed})").to_pylist()
    ]


def _removed_nodes(run: WritingRun) -> frozenset[str]:
    """The nodes that the state before this run had and that are gone from every file."""
    changed = delta_reads.changes_light(CPG_NODES, run.previous, run.state, run.store.options)
    gone = {row["node_id"] for row, delta in changed if delta < 0} - {
        row["node_id"] for row, delta in changed if delta > 0
    }
    return frozenset(gone) - {row["node_id"] for row in _nodes(run, gone)}


def _edges_at(run: WritingRun, ids: Iterable[str]) -> list[Row]:
    opened = delta_reads.open_table(run.state.ref(CPG_EDGES), run.store.options)
    return [
        row
        for listed in _listed(ids)
        for row in delta_reads.query(
            opened, f"SELECT * FROM t WHERE src_node_id IN ({listed}) OR dst_node_id IN ({listed})"
        ).to_pylist()
    ]


def _listed(ids: Iterable[str]) -> list[str]:
    ordered = sorted(set(ids))
    parts = [ordered[start : start + IDS_AT_ONCE] for start in range(0, len(ordered), IDS_AT_ONCE)]
    return [", ".join(f"'{each}'" for each in part) for part in parts]


def contents_of(run: WritingRun, files: frozenset[str]) -> dict[str, tuple[bytes, str | None]]:
    """Bytes and encoding of the readable ones of these files."""
    rows = run.readable_rows(files)
    encodings = {row["file_id"]: row["encoding"] for row in rows}
    return {file_id: (content, encodings[file_id]) for file_id, _, content in run.contents(rows)}

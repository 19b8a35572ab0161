"""The contracts' checks over what a stage wrote: in memory for a small update, one Spark job for a large one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from codeanatomy_assets.contracts.checks import Violation, border_checks
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.transforms import checks, checks_light

MOST_FILES_IN_MEMORY = 1_000
IDS_AT_ONCE = 2_000
NODE_COLUMNS = "node_id, node_kind, file_id"

Row = dict[str, Any]


class IntegrityBroken(CodeAnatomyError):
    """Rows that break what the contracts promise: the commit is not closed, the state stays as it was."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        first = violations[0]
        more = f", and {len(violations) - 1} more checks" if len(violations) > 1 else ""
        super().__init__(
            f"{first.table}: check {first.check} is broken by {first.rows} rows, e.g. {first.example}{more}: nothing "
            "was published, the last commit stays readable. This is a fault of the program: report it with the commit"
        )
        self.violations = list(violations)


def violations(run: WritingRun, stage: Stage, tables: Iterable[Table]) -> list[Violation]:
    """What is broken in the slices that this run wrote of these datasets."""
    written = {table: run.written[table.name].owners for table in _stored(stage, tables) if table.name in run.written}
    written = {table: owners for table, owners in written.items() if owners and table.bucketed}
    if not written:
        return []
    if max(len(owners) for owners in written.values()) <= MOST_FILES_IN_MEMORY:
        return checks_light.violations(_light(run, stage, written))
    return _with_spark(run, stage, written)


def _stored(stage: Stage, tables: Iterable[Table]) -> list[Table]:
    """The datasets as they are written: those of the rules together."""
    return [ALL_RULES, *tables] if stage is Stage.RELATIONSHIPS else list(tables)


def _light(run: WritingRun, stage: Stage, written: dict[Table, frozenset[str]]) -> list[checks_light.Offence]:
    sizes = {row["file_id"]: row["size"] for row in run.read_light(REPO_SNAPSHOT).to_pylist()}
    rows = {table: run.read_light(table, owners) for table, owners in written.items()}
    found = [offence for table in rows for offence in checks_light.row_offences(table, rows[table], sizes)]
    bordered = [table for table in rows if border_checks(table)]
    if bordered:
        contents = _contents(run, frozenset[str]().union(*(written[table] for table in bordered)))
        found += [
            offence for table in bordered for offence in checks_light.border_offences(table, rows[table], contents)
        ]
    return found + (_light_graph(run, rows, written) if stage is Stage.GRAPH else [])


def _light_graph(
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


def _contents(run: WritingRun, files: frozenset[str]) -> dict[str, tuple[bytes, str | None]]:
    rows = [
        row for row in run.read_light(REPO_SNAPSHOT, files).to_pylist() if row["is_python"] and not row["skip_reason"]
    ]
    encodings = {row["file_id"]: row["encoding"] for row in rows}
    return {file_id: (content, encodings[file_id]) for file_id, _, content in run.contents(rows)}


def _with_spark(run: WritingRun, stage: Stage, written: dict[Table, frozenset[str]]) -> list[Violation]:
    sizes = run.read(REPO_SNAPSHOT).select("file_id", "size")
    rows = {table: run.read(table, _owners(run, owners)) for table, owners in written.items()}
    offences = [checks.row_offences(table, rows[table], sizes) for table in rows]
    bordered = [table for table in rows if border_checks(table)]
    if bordered:
        encodings = run.read(REPO_SNAPSHOT).select("file_id", "encoding")
        contents = run.sources(None).rows.join(encodings, "file_id")
        offences += [checks.border_offences(table, rows[table], contents) for table in bordered]
    if stage is Stage.GRAPH:
        nodes, edges = run.read(CPG_NODES), run.read(CPG_EDGES)
        if CPG_EDGES in rows:
            offences.append(checks.edge_offences(rows[CPG_EDGES], nodes))
        if CPG_PROPS in rows:
            offences.append(checks.prop_offences(rows[CPG_PROPS], nodes, edges))
        if CPG_NODES in written and run.mode != "full":
            gone = run.changes(CPG_NODES).where("delta < 0").select("node_id")
            offences.append(checks.removed_end_offences(edges, gone.join(nodes, "node_id", "left_anti")))
    return checks.violations(offences)


def _owners(run: WritingRun, owners: frozenset[str]) -> frozenset[str] | None:
    """All files are read without a list of them."""
    return None if len(owners) >= run.file_count else owners

"""What the commits between two built ones did to the graph: from the change feed, without a JVM.

Left out, and only counted, is what merely moved: rows that are equal but for their span, and names that mean
the local symbol of another number, because the indexer numbers locals by position.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.graph_kinds import EDGE_KIND, EDGE_KINDS, GLOBAL_KINDS, NODE_KINDS
from codeanatomy_assets.contracts.graph_props import EDGE, NODE
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.revisions import built_commit
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.table_state import TableState

Row = dict[str, Any]

ADDED, REMOVED, REBOUND, ALTERED = "added", "removed", "rebound", "altered"
CHANGES = (ADDED, REMOVED, REBOUND, ALTERED)
SPAN = ("bstart", "bend")
VIA = "via"
LOCAL = "local "
_BETWEEN_DEFINITIONS = ("CALLS", "INHERITS", "OVERRIDES", "PY_IMPORTS_MODULE")
_OTHER_EDGES = [kind for kind in EDGE_KINDS if kind.name not in _BETWEEN_DEFINITIONS]
KIND_ORDER = {
    NODE: [kind.name for kind in NODE_KINDS],
    EDGE: [*_BETWEEN_DEFINITIONS, *(kind.name for kind in sorted(_OTHER_EDGES, key=lambda kind: not kind.rules))],
}


@dataclass(frozen=True)
class Change:
    """A node or edge that is not as it was. `row` is what there is now, or was; `before` what it was instead."""

    entity: str
    change: str
    row: Row
    before: Row | None = None

    @property
    def kind(self) -> str:
        return str(self.row[f"{self.entity}_kind"])

    @property
    def path(self) -> str | None:
        """The file it is in; None for what is of all files."""
        path: str | None = self.row["path"]
        return path


@dataclass(frozen=True)
class GraphDiff:
    """Every change from one built commit to another; `moved` nodes and edges are not among them."""

    old: LedgerRow
    new: LedgerRow
    changes: tuple[Change, ...]
    moved: int

    def of(self, entity: str) -> list[Change]:
        return [change for change in self.changes if change.entity == entity]

    def by_kind(self, entity: str) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for change in self.of(entity):
            found[change.kind][change.change] += 1
        return {kind: found[kind] for kind in KIND_ORDER[entity] if kind in found}

    def by_file(self) -> dict[str, dict[str, Counter[str]]]:
        found: dict[str, dict[str, Counter[str]]] = {}
        for change in self.changes:
            if change.path is not None:
                of_file = found.setdefault(change.path, {NODE: Counter(), EDGE: Counter()})
                of_file[change.entity][change.change] += 1
        return dict(sorted(found.items()))


@dataclass
class _Netted:
    """Rows that went and came, by id; equal ones but for their span are only counted."""

    entity: str
    went: dict[str, Row] = field(default_factory=dict)
    came: dict[str, Row] = field(default_factory=dict)
    moved: int = 0

    def altered(self) -> Iterator[Change]:
        """Take out the rows of ids that are on both sides, and give those that differ."""
        for id_ in self.went.keys() & self.came.keys():
            before, row = self.went.pop(id_), self.came.pop(id_)
            if _without_span(before) == _without_span(row):
                self.moved += 1
            else:
                yield Change(self.entity, ALTERED, row, before)

    def rest(self) -> Iterator[Change]:
        yield from (Change(self.entity, REMOVED, row) for row in self.went.values())
        yield from (Change(self.entity, ADDED, row) for row in self.came.values())


def graph_diff(settings: Settings, old: str, new: str) -> GraphDiff:
    """What is otherwise in the graph of the new commit, whichever of the two was built first."""
    rows = (built_commit(settings, old), built_commit(settings, new))
    for row in rows:
        if CPG_NODES.storage_name not in row.state.refs:
            raise BadInput(f"{short(row.commit)} was built before there was a graph: take a later commit")
    reading = _Reading(*rows, settings.storage_options)
    nodes, edges = reading.nodes(), reading.edges()
    changes = [*nodes.altered(), *nodes.rest(), *edges.altered(), *reading.rebound(edges), *edges.rest()]
    return GraphDiff(*rows, tuple(sorted(changes, key=_order)), nodes.moved + edges.moved)


@dataclass(frozen=True)
class _Reading:
    """Two states, and what is read of them for a diff."""

    old: LedgerRow
    new: LedgerRow
    options: Mapping[str, str]

    def nodes(self) -> _Netted:
        """A global node has a row in every file that mentions it: it came with the first and went with the last."""
        netted = _Netted(NODE)
        shared: dict[str, Row] = {}
        for row, delta in self._changes(CPG_NODES):
            if row["node_kind"] in GLOBAL_KINDS:
                shared[row["node_id"]] = row
            else:
                (netted.came if delta > 0 else netted.went)[row["node_id"]] = row
        before, after = ({}, {}) if not shared else (self._shared_ids(self.old), self._shared_ids(self.new))
        for node_id, row in shared.items():
            if (node_id in before) != (node_id in after):
                (netted.came if node_id in after else netted.went)[node_id] = row
        return netted

    def edges(self) -> _Netted:
        netted = _Netted(EDGE)
        for row, delta in self._changes(CPG_EDGES):
            (netted.came if delta > 0 else netted.went)[row["edge_id"]] = row
        return netted

    def rebound(self, edges: _Netted) -> Iterator[Change]:
        """Take out the edges that lead elsewhere from the same place, and give them as one change each."""
        went, came = self._by_site(edges.went, self.old.state), self._by_site(edges.came, self.new.state)
        sites = sorted(went.keys() & came.keys())
        files = {row["file_id"] for site in sites for row in came[site]}
        local = self._local_symbols(self.old.state, files) | self._local_symbols(self.new.state, files)
        for site in sites:
            for before, row in _paired(went[site], came[site]):
                del edges.went[before["edge_id"]], edges.came[row["edge_id"]]
                if before["dst_node_id"] == row["dst_node_id"]:
                    yield Change(EDGE, ALTERED, row, before)
                elif before["dst_node_id"] in local and row["dst_node_id"] in local:
                    edges.moved += 1
                else:
                    yield Change(EDGE, REBOUND, row, before)

    def _changes(self, table: Table) -> list[tuple[Row, int]]:
        """The netted feed. It only runs forwards: from the newer commit to the older one it is read against itself."""
        if self.old.sequence <= self.new.sequence:
            return delta_reads.changes_light(table, self.old.state, self.new.state, self.options)
        forwards = delta_reads.changes_light(table, self.new.state, self.old.state, self.options)
        return [(row, -delta) for row, delta in forwards]

    def _shared_ids(self, row: LedgerRow) -> Collection[str]:
        kinds = ", ".join(f"'{kind}'" for kind in GLOBAL_KINDS)
        opened = delta_reads.open_table(row.state.ref(CPG_NODES), self.options)
        found = delta_reads.query(opened, f"SELECT DISTINCT node_id FROM t WHERE node_kind IN ({kinds})")
        return set(found.column("node_id").to_pylist())

    def _by_site(self, edges: Mapping[str, Row], state: TableState) -> dict[tuple[str, str, str], list[Row]]:
        """Edges that rules made, by kind, node and the call or base that they are seen on: structure has no site."""
        made = [row for row in edges.values() if EDGE_KIND[row["edge_kind"]].rules]
        via = self._via(state, {row["file_id"] for row in made})
        sites: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in sorted(made, key=lambda row: str(row["dst_node_id"])):
            sites[row["edge_kind"], row["src_node_id"], via.get(row["edge_id"], "")].append(row)
        return sites

    def _via(self, state: TableState, files: Collection[str]) -> dict[str, str]:
        where = f"entity_kind = '{EDGE}' AND prop_key = '{VIA}'"
        rows = delta_reads.read_light(state, CPG_PROPS, files, self.options, where).to_pylist()
        return {row["entity_id"]: json.loads(row["prop_value"]) for row in rows}

    def _local_symbols(self, state: TableState, files: Collection[str]) -> set[str]:
        where = f"node_kind = 'SCIP_SYMBOL' AND qualified_name LIKE '{LOCAL}%'"
        rows = delta_reads.read_light(state, CPG_NODES, files, self.options, where)
        return set(rows.column("node_id").to_pylist())


def _paired(went: Sequence[Row], came: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """What went with what came in its place: first what leads to the same target, found in another way."""
    targets = {row["dst_node_id"]: row for row in came}
    same = {row["dst_node_id"]: row for row in went if row["dst_node_id"] in targets}
    yield from ((before, targets[target]) for target, before in same.items())
    rest = ([row for row in side if row["dst_node_id"] not in same] for side in (went, came))
    yield from zip(*rest, strict=False)


def _without_span(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in SPAN}


def _order(change: Change) -> tuple[Any, ...]:
    """Rebound edges first: they are what a reader of the text does not see. Then files, definitions and calls."""
    row = change.row
    kinds = KIND_ORDER[change.entity]
    return (
        change.entity,
        change.change != REBOUND,
        kinds.index(change.kind),
        change.path or "",
        row.get("bstart") or 0,
        row[f"{change.entity}_id"],
        change.change,
    )

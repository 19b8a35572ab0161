"""The checks of many rows as SQL for delta-rs's engine: a scan or a join each, and nothing but counts comes back.

A question is SQL over tables by name: `t` the dataset, `snapshot`, `nodes` and `edges` as the run has them now,
`before` the nodes of the state before. It gives one row, with how many rows break each check that it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeanatomy_assets.contracts.checks import Check, Holds, row_checks
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_PROPS
from codeanatomy_assets.contracts.graph_kinds import EDGE_KINDS, GLOBAL_KINDS
from codeanatomy_assets.contracts.graph_props import EDGE, NODE, PROPS
from codeanatomy_assets.contracts.table import Table


@dataclass(frozen=True)
class Question:
    """Rows to look at, and per check the condition that is true of a row that breaks it."""

    table: str
    rows: str
    broken: dict[str, str]
    shown: tuple[str, ...]

    def counts(self) -> str:
        counted = [
            f"coalesce(sum(CASE WHEN {condition} THEN 1 ELSE 0 END), 0) AS c{place}"
            for place, condition in enumerate(self.broken.values())
        ]
        return f"SELECT {', '.join(counted)} FROM {self.rows}"

    def example(self, check: str) -> str:
        """The least row that breaks a check."""
        shown = ", ".join(self.shown)
        return f"SELECT {shown} FROM {self.rows} WHERE {self.broken[check]} ORDER BY {shown} LIMIT 1"


def row_question(table: Table, where: str) -> Question | None:
    """Rows of a dataset against what each tells on its own; types of props are for Python to judge."""
    checks = [check for check in row_checks(table) if check.holds is not Holds.TYPED]
    if not checks:
        return None
    rows = f"(SELECT * FROM t WHERE {where}) AS t"
    if any(check.holds is Holds.INSIDE for check in checks):
        sizes = "(SELECT file_id AS sized_id, size AS size_of_file FROM snapshot) AS s"
        rows = f"{rows} LEFT JOIN {sizes} ON t.file_id = s.sized_id"
    return Question(table.name, rows, {check.name: _condition(check) for check in checks}, _named(table))


def key_question(table: Table, where: str) -> Question:
    """Keys that two rows share: each counts once."""
    keys = ", ".join(_quoted(name) for name in table.key)
    rows = f"(SELECT {keys}, count(*) AS times FROM t WHERE {where} GROUP BY {keys}) AS t"
    return Question(table.name, rows, {"unique_key": "times > 1"}, tuple(_quoted(name) for name in table.key))


def edge_question(where: str) -> Question:
    """Edges with an end that is no node, or of a kind that the edge's does not declare."""
    rows = f"(SELECT * FROM t WHERE {where}) AS t"
    for end in ("src", "dst"):
        # A global node counts if the edge's own file contributes it.
        is_ours = f"({end}.file_id = t.file_id OR {end}.node_kind NOT IN ({_listed(GLOBAL_KINDS)}))"
        rows += f" LEFT JOIN nodes AS {end} ON t.{end}_node_id = {end}.node_id AND {is_ours}"
    broken = {
        "src_exists": "src.node_id IS NULL",
        "dst_exists": "dst.node_id IS NULL",
        "kinds_declared": f"src.node_id IS NOT NULL AND dst.node_id IS NOT NULL AND NOT ({_declared_ends()})",
    }
    return Question(CPG_EDGES.name, rows, broken, _named(CPG_EDGES))


def removed_end_question() -> Question:
    """Edges, of any file, that name a node that the state before had and this one has not."""
    gone = (
        "(SELECT DISTINCT before.node_id FROM before LEFT JOIN nodes ON before.node_id = nodes.node_id "
        "WHERE nodes.node_id IS NULL)"
    )
    rows = f"edges AS t LEFT JOIN {gone} AS src ON t.src_node_id = src.node_id"
    rows += f" LEFT JOIN {gone} AS dst ON t.dst_node_id = dst.node_id"
    broken = {"src_exists": "src.node_id IS NOT NULL", "dst_exists": "dst.node_id IS NOT NULL"}
    return Question(CPG_EDGES.name, rows, broken, _named(CPG_EDGES))


def prop_question(where: str) -> Question:
    """Props whose node or edge is not of the same file, or of a kind that has no such prop."""
    entities = (
        f"(SELECT '{NODE}' AS entity_kind, node_id AS entity_id, file_id, node_kind AS kind FROM nodes "
        f"UNION ALL SELECT '{EDGE}', edge_id, file_id, edge_kind FROM edges) AS e"
    )
    joined = " AND ".join(f"t.{name} = e.{name}" for name in ("entity_kind", "entity_id", "file_id"))
    known = _listed([f"{prop.entity_kind} {kind} {prop.key}" for prop in PROPS for kind in prop.kinds])
    broken = f"e.kind IS NULL OR concat(t.entity_kind, ' ', e.kind, ' ', t.prop_key) NOT IN ({known})"
    rows = f"(SELECT * FROM t WHERE {where}) AS t LEFT JOIN {entities} ON {joined}"
    return Question(CPG_PROPS.name, rows, {"entity_has_prop": broken}, _named(CPG_PROPS))


def distinct_props(where: str) -> str:
    """What props there are, and how many of each: their types are judged once for all that are alike."""
    names = "entity_kind, prop_key, value_type, prop_value"
    return f"SELECT {names}, count(*) AS times FROM t WHERE {where} GROUP BY {names}"


def _condition(check: Check) -> str:
    """SQL that is true of a row that breaks the check."""
    first, last = (_quoted(name) for name in (check.columns[0], check.columns[-1]))
    values = _listed(check.values)
    return {
        Holds.NOT_NULL: f"{first} IS NULL",
        Holds.ONE_OF: f"{first} NOT IN ({values})",
        Holds.SPAN: f"({first} IS NULL) <> ({last} IS NULL) OR {first} < 0 OR {first} > {last}",
        Holds.INSIDE: f"{first} IS NOT NULL AND coalesce({first} > size_of_file, true)",
        Holds.EITHER: f"({first} IS NULL) = ({last} IS NULL)",
        Holds.PLACED: f"({last} IS NULL) <> coalesce({first} IN ({values}), false)",
    }[check.holds]


def _declared_ends() -> str:
    cases = [
        f"WHEN '{kind.name}' THEN src.node_kind IN ({_listed(kind.src_kinds)}) "
        f"AND dst.node_kind IN ({_listed(kind.dst_kinds)})"
        for kind in EDGE_KINDS
    ]
    return f"CASE t.edge_kind {' '.join(cases)} ELSE false END"


def _named(table: Table) -> tuple[str, ...]:
    return tuple(f"t.{_quoted(name)}" for name in table.column_names)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)

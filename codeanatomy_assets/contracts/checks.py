"""The checks that follow from the contracts: what must hold of every row that a write leaves behind.

A check is a declaration; transforms/checks_light.py runs it over few rows, transforms/checks_sql.py asks it of many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.graph_kinds import GLOBAL_KINDS
from codeanatomy_assets.contracts.syntax import PARSE_ERRORS
from codeanatomy_assets.contracts.table import Column, Stage, Table


class Holds(StrEnum):
    """What a check asks of the columns it names."""

    UNIQUE = "no two rows have the same key"
    NOT_NULL = "the column has a value"
    ONE_OF = "the value is one of those declared"
    SPAN = "the span has both ends or neither, starts at 0 or later, and does not end before it starts"
    INSIDE = "the offset lies in a tracked file"
    EITHER = "exactly one of the two columns has a value"
    PLACED = "a node has a path, unless its kind is global"
    TYPED = "the catalog has the prop with this type, and the value is of it"
    BORDERS = "the span does not begin or end inside a word or a character"
    SRC_EXISTS = "the node that the edge starts at exists"
    DST_EXISTS = "the node that the edge leads to exists; a global one is contributed by the edge's own file"
    JOINS = "the edge joins node kinds that its own kind declares"
    ENTITY = "the prop's node or edge exists in the same file, and its kind has this prop"


# What a row tells on its own, with the size of its file.
OF_ROWS = frozenset({Holds.NOT_NULL, Holds.ONE_OF, Holds.SPAN, Holds.INSIDE, Holds.EITHER, Holds.PLACED, Holds.TYPED})


@dataclass(frozen=True)
class Check:
    """One thing that must hold of a dataset; the name is unique in it and fit for an asset check."""

    table: str
    name: str
    holds: Holds
    columns: tuple[str, ...]
    values: tuple[str, ...] = ()

    @property
    def doc(self) -> str:
        return f"{', '.join(self.columns)}: {self.holds.value}."


@dataclass(frozen=True)
class Violation:
    """A check that failed: how many rows, and one of them as JSON text."""

    table: str
    check: str
    rows: int
    example: str


def checks_of(table: Table) -> tuple[Check, ...]:
    """Every check of a dataset."""
    return (
        Check(table.name, "unique_key", Holds.UNIQUE, table.key),
        *(check for column in table.columns for check in _column_checks(table, column)),
        *_span_checks(table),
        *_graph_checks(table),
    )


def row_checks(table: Table) -> tuple[Check, ...]:
    return tuple(check for check in checks_of(table) if check.holds in OF_ROWS)


def border_checks(table: Table) -> tuple[Check, ...]:
    return tuple(check for check in checks_of(table) if check.holds is Holds.BORDERS)


def span_pairs(table: Table) -> tuple[tuple[str, str], ...]:
    """The columns that are spans: `bstart` and `bend`, with the same prefix or none."""
    names = table.column_names
    starts = [name for name in names if name.endswith("bstart")]
    return tuple((start, end) for start in starts if (end := start.removesuffix("bstart") + "bend") in names)


def _column_checks(table: Table, column: Column) -> Iterator[Check]:
    if not column.nullable:
        yield Check(table.name, f"{column.name}_not_null", Holds.NOT_NULL, (column.name,))
    if column.values:
        yield Check(table.name, f"{column.name}_declared", Holds.ONE_OF, (column.name,), column.values)


def _span_checks(table: Table) -> Iterator[Check]:
    for start, end in span_pairs(table):
        span = end.removesuffix("bend") + "span"
        yield Check(table.name, f"{span}_in_order", Holds.SPAN, (start, end))
        # Where spans are made; the later stages hand them on. An error may stand anywhere.
        if table.stage in (Stage.SYNTAX, Stage.SYMBOLS) and table != PARSE_ERRORS:
            yield Check(table.name, f"{span}_on_borders", Holds.BORDERS, (start, end))
    ends = dict(span_pairs(table))
    for name in table.column_names:
        if name.endswith("bend") or name.endswith("bstart") and name not in ends:
            yield Check(table.name, f"{name}_inside_file", Holds.INSIDE, (name,))


def _graph_checks(table: Table) -> Iterator[Check]:
    if {"dst_id", "unresolved_reason"} <= set(table.column_names):
        yield Check(table.name, "resolved_or_reason", Holds.EITHER, ("dst_id", "unresolved_reason"))
    if table == CPG_NODES:
        yield Check(table.name, "placed", Holds.PLACED, ("node_kind", "path"), GLOBAL_KINDS)
    if table == CPG_EDGES:
        yield Check(table.name, "src_exists", Holds.SRC_EXISTS, ("src_node_id",))
        yield Check(table.name, "dst_exists", Holds.DST_EXISTS, ("dst_node_id",))
        yield Check(table.name, "kinds_declared", Holds.JOINS, ("edge_kind", "src_node_id", "dst_node_id"))
    if table == CPG_PROPS:
        typed = ("entity_kind", "prop_key", "value_type", "prop_value")
        yield Check(table.name, "typed_by_catalog", Holds.TYPED, typed)
        yield Check(table.name, "entity_has_prop", Holds.ENTITY, ("entity_kind", "entity_id", "prop_key"))

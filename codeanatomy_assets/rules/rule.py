"""What a relationship rule is: one declaration with a SQL body over the contracts' tables, and its examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from codeanatomy_assets.contracts.relationships import relationship
from codeanatomy_assets.contracts.table import Column, Table
from codeanatomy_assets.contracts.types import Array, Struct
from codeanatomy_assets.errors import CodeAnatomyError

FEWEST_EXAMPLES = 4
# The files that a scoped rule is run for, as its SQL calls them.
SCOPE_TABLE = "scope_files"

# What an author selects. The compiler adds `rel_id` and `rule`, casts, and brings them into the contract's order.
AUTHORED = (
    "file_id",
    "via_id",
    "src_id",
    "dst_id",
    "dep_file_id",
    "bstart",
    "bend",
    "origin",
    "resolution_method",
    "confidence",
    "score",
    "unresolved_reason",
)


@dataclass(frozen=True)
class Place:
    """Where in a rule's SQL: line and column, both from 1."""

    line: int
    column: int


class RuleError(CodeAnatomyError):
    """A rule that cannot be used: which one, where in its SQL, and what is known."""

    def __init__(self, rule: str, message: str, place: Place | None = None) -> None:
        where = f"line {place.line}, column {place.column} of its SQL: " if place else ""
        super().__init__(f"rule {rule}: {where}{message}")
        self.rule = rule
        self.place = place


@dataclass(frozen=True)
class Row:
    """A row of an example: the columns that matter, the others are filled in."""

    table: Table
    values: Mapping[str, Any]

    def complete(self) -> dict[str, Any]:
        """All columns of the contract: null where it may be, else empty, zero or false."""
        for name in self.values:
            self.table.column(name)
        return {column.name: self.values.get(column.name, _blank(column)) for column in self.table.columns}


def _blank(column: Column) -> Any:
    if column.nullable:
        return None
    if isinstance(column.type, Array):
        return []
    if isinstance(column.type, Struct):
        return {}
    return {"string": "", "binary": b"", "boolean": False, "double": 0.0}.get(column.type.ddl, 0)


@dataclass(frozen=True)
class Example:
    """Rows, what a rule makes of them, and what it must not.

    An expected row is accepted if some row of the outcome has all its values; a refused one must match none.
    Unless `others` is set, the outcome has no rows beside the expected ones.
    """

    name: str
    rows: tuple[Row, ...]
    expected: tuple[Mapping[str, Any], ...] = ()
    refused: tuple[Mapping[str, Any], ...] = ()
    others: bool = False


@dataclass(frozen=True)
class Rule:
    """One relationship dataset: how its rows are found.

    The scope of an update applies to the reference that the selected `file_id` comes from, in each branch of a UNION;
    that must be the owner table, or one of `further_owners`. The other tables are read whole.
    """

    name: str
    owner: Table
    doc: str = field(compare=False)
    sql: str
    edge_kind: str | None = None
    further_owners: tuple[Table, ...] = ()
    examples: tuple[Example, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not self.name.startswith("rel_"):
            raise RuleError(self.name, "a rule's name is its dataset's and starts with rel_")

    @property
    def owners(self) -> tuple[Table, ...]:
        return (self.owner, *self.further_owners)

    @property
    def table(self) -> Table:
        """The dataset that its rows are."""
        return relationship(self.name, self.doc)


def check_examples(rule: Rule) -> None:
    """A rule shows what it accepts and what it refuses, or it is not finished."""
    if len(rule.examples) < FEWEST_EXAMPLES:
        raise RuleError(rule.name, f"has {len(rule.examples)} examples; write at least {FEWEST_EXAMPLES}")
    if not any(example.expected for example in rule.examples):
        raise RuleError(rule.name, "no example expects a row")
    if not any(example.refused for example in rule.examples):
        raise RuleError(rule.name, "no example refuses a row")
    _check_distinct(rule.name, [example.name for example in rule.examples])


def _check_distinct(rule: str, names: Iterable[str]) -> None:
    listed = list(names)
    repeated = sorted({name for name in listed if listed.count(name) > 1})
    if repeated:
        raise RuleError(rule, f"two examples have one name: {', '.join(repeated)}")

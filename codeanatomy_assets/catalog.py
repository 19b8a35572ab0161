"""All datasets, in pipeline order."""

from __future__ import annotations

from codeanatomy_assets.contracts import (
    exports,
    graph,
    impact,
    ledger,
    names,
    relationships,
    repository,
    symbols,
    syntax,
)
from codeanatomy_assets.contracts.table import Layout, Stage, Table
from codeanatomy_assets.rules import registry

TABLES: tuple[Table, ...] = (
    *repository.TABLES,
    *syntax.TABLES,
    *names.TABLES,
    *symbols.TABLES,
    *exports.TABLES,
    *impact.TABLES,
    *registry.tables(),
    *graph.TABLES,
    *ledger.TABLES,
)
BY_NAME: dict[str, Table] = {table.name: table for table in TABLES}


def table(name: str) -> Table:
    if name not in BY_NAME:
        raise KeyError(f"no dataset {name}; known: {', '.join(BY_NAME)}")
    return BY_NAME[name]


def dataset(name: str) -> Table:
    """By name, the table of all rules among them."""
    return relationships.ALL_RULES if name == relationships.ALL_RULES.name else table(name)


def of_stage(stage: Stage) -> tuple[Table, ...]:
    return tuple(table for table in TABLES if table.stage is stage)


def read_tables() -> tuple[Table, ...]:
    """The datasets that a commit is read by: all but the ledger and what else is only appended to."""
    return tuple(table for table in TABLES if table.layout is not Layout.APPEND)


def state_tables() -> tuple[Table, ...]:
    """The datasets that parity is about: rows owned by a file."""
    return tuple(table for table in TABLES if table.layout is Layout.BY_FILE)

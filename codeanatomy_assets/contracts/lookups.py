"""Rows of other files that something made of a few files needs: told by the values that lead to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lookup:
    """Rows of a dataset whose column has one of the givers' values; without a column, all rows."""

    table: str
    column: str | None = None
    givers: frozenset[Giver] = frozenset()


@dataclass(frozen=True)
class Giver:
    """The values of a column, or of a field of the structs in it: in a lookup's rows, or in the owner files' slices."""

    table: str
    column: str
    fields: tuple[str, ...] = ()
    lookup: Lookup | None = None

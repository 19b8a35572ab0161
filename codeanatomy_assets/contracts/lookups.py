"""Rows of other files that something made of a few files needs: told by the values that lead to them."""

from __future__ import annotations

from dataclasses import dataclass

# Columns that must have a value, each with it.
Constants = frozenset[tuple[str, str | bool]]


@dataclass(frozen=True)
class Lookup:
    """Rows of a dataset whose column has one of the givers' values; without a column, all rows.

    Of these rows only `columns` are looked at, and only rows with the `constants`. `compared` has further columns that
    must equal a name, each with the column or field that holds the name, or its beginning up to a dot.
    """

    table: str
    column: str | None = None
    givers: frozenset[Giver] = frozenset()
    columns: frozenset[str] = frozenset()
    constants: Constants = frozenset()
    compared: frozenset[tuple[str, str]] = frozenset()

    def bare(self) -> Lookup:
        """The rows that are found, whatever is done with them."""
        return Lookup(self.table, self.column, frozenset(giver.bare() for giver in self.givers))

    @property
    def depth(self) -> int:
        """How many lookups lead to its values."""
        return max((1 + giver.lookup.depth for giver in self.givers if giver.lookup is not None), default=0)


@dataclass(frozen=True)
class Giver:
    """The values of a column, or of a field of the structs in it: in a lookup's rows, or in the owner files' slices.

    Of the owner files' slices, only rows with the `constants` give any.
    """

    table: str
    column: str
    fields: tuple[str, ...] = ()
    lookup: Lookup | None = None
    constants: Constants = frozenset()

    def bare(self) -> Giver:
        return Giver(self.table, self.column, self.fields, None if self.lookup is None else self.lookup.bare())

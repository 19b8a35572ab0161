"""Rows that a few files need, in memory: their own slices, and what lookups find in other files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from codeanatomy_assets.contracts.lookups import Giver, Lookup
from codeanatomy_assets.contracts.table import Table

# Past so many values, reading the whole table costs less than comparing every row with all of them.
MOST_VALUES = 20_000

# Rows of a dataset by name whose column has one of these values.
Find = Callable[[str, str, Collection[str]], pa.Table]


class LookingUp:
    """Datasets of some files, and of what they lead to. Each question is asked once."""

    def __init__(self, files: Collection[str], lookups: Collection[Lookup], find: Find) -> None:
        self.files = files
        self.lookups = frozenset(lookup.bare() for lookup in lookups)
        self.find = find
        self._own: dict[str, pa.Table] = {}
        self._found: dict[Lookup, pa.Table | None] = {}

    def rows(self, table: Table) -> pa.Table | None:
        """The files' slices of a dataset, and rows that lookups find in it; None where it is needed whole."""
        found = [self._looked_up(lookup) for lookup in self.lookups if lookup.table == table.name]
        told = [rows for rows in found if rows is not None]
        if len(told) < len(found):
            return None
        own = self._slices(table.name)
        return _each_once(pa.concat_tables([own, *told]), table.key) if told else own

    def _slices(self, name: str) -> pa.Table:
        if name not in self._own:
            self._own[name] = self.find(name, "file_id", self.files)
        return self._own[name]

    def _looked_up(self, lookup: Lookup) -> pa.Table | None:
        if lookup not in self._found:
            self._found[lookup] = self._find(lookup)
        return self._found[lookup]

    def _find(self, lookup: Lookup) -> pa.Table | None:
        if lookup.column is None:
            return None
        given = [self._given(giver) for giver in lookup.givers]
        told = [values for values in given if values is not None]
        values = set[str]().union(*told)
        if len(told) < len(given) or len(values) > MOST_VALUES:
            return None
        return self.find(lookup.table, lookup.column, values)

    def _given(self, giver: Giver) -> set[str] | None:
        rows = self._slices(giver.table) if giver.lookup is None else self._looked_up(giver.lookup)
        if rows is None:
            return None
        values = _flat(rows.column(giver.column).combine_chunks())
        for field in giver.fields:
            values = _flat(pc.struct_field(values, field))
        assert pa.types.is_string(values.type), f"{giver.table}.{giver.column} holds {values.type}, not ids"
        return set(values.drop_null().unique().to_pylist())


def _flat(values: pa.Array) -> pa.Array:
    while pa.types.is_list(values.type):
        values = values.flatten()
    return values


def _each_once(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """Lookups may find a row twice, and the files' own rows."""
    numbered = rows.select(list(key)).append_column("_row", pa.array(range(rows.num_rows), pa.int64()))
    first = numbered.group_by(list(key), use_threads=False).aggregate([("_row", "min")])
    return rows.take(first.column("_row_min"))

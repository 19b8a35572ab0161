"""From rows that changed to the files that look them up: lookups, followed against their direction.

Why it is sound. What a query makes for a file follows from the file's own slices and from the rows that its lookups
find. A file is touched if a row came or went, in the columns that the query looks at, that one of its lookups could
find. So each changed row is led back: its value in the lookup's column, the rows whose giving column has that value,
and so on, to slices of owners. Rows on the way are taken as they are now. Where they are others than before, the
change of these is led back too.

Where a lookup goes by file and compares names as well (`e.file_id = … AND e.entry_path = …`), names that can't be equal
end the way: of a changed member only classes lead on that have its class among those they look members up in.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codeanatomy_assets.contracts.lookups import Constants, Giver, Lookup

OWNER = "file_id"
ENTRY = "entry_path"
CLASS_NAME = "local_qname"
MODULE = "module"
DESCRIPTOR = "descriptor"
# A name inside SCIP's notation of a path (`Router#resolve().`), and what tells two definitions of one name apart.
NAME = re.compile(r"`([^`]+)`|(\w+)")
COUNTED = re.compile(r"\(\+\d+\)")
MRO = "mro"
HEADER = ".<mro>"
# What a changed row is called, in words for people: the first of these that its table has; a symbol goes by its name.
TITLES = ("qname", ENTRY, "path", CLASS_NAME, DESCRIPTOR, MODULE)

Row = Mapping[str, Any]
# Rows of a dataset that came (+) and went (-), with these columns.
Changes = Callable[[str, frozenset[str]], Iterable[tuple[Row, int]]]


@dataclass(frozen=True)
class Question:
    """Rows of a dataset with the constants whose column has one of the values.

    With `fields`, the column is a list of structs and the first of these fields is what has one in any of them.
    """

    table: str
    columns: frozenset[str]
    constants: Constants
    column: str
    fields: tuple[str, ...]
    values: frozenset[str]


Find = Callable[[Question], Iterable[Row]]


@dataclass(frozen=True)
class Origin:
    """The change that a value leads back from; `names` is what else a row on the way must be called, if it must."""

    title: str
    file_id: str
    distance: int = 1
    names: frozenset[str] | None = None
    is_inherited: bool = False

    def merged(self, other: Origin) -> Origin:
        """For a value that several rows have: the nearer one, and what any of them allows."""
        names = None if self.names is None or other.names is None else self.names | other.names
        nearer = min(self, other, key=lambda each: (each.distance, each.file_id, each.title))
        return replace(nearer, names=names, is_inherited=self.is_inherited or other.is_inherited)


@dataclass(frozen=True)
class Reached:
    """A file that looks a changed row up, and the dataset of its own that leads there."""

    file_id: str
    table: str
    constants: Constants
    origin: Origin


class LookedUpFrom:
    """What changed rows touch, by these lookups. Each is followed once, with all values that lead through it."""

    def __init__(
        self, lookups: Collection[Lookup], columns: Mapping[str, Collection[str]], changes: Changes, find: Find
    ) -> None:
        """`columns` are those that each table has."""
        self._lookups = frozenset(lookups)
        self._has = columns
        self._changes = changes
        self._find = find
        self.everything: Origin | None = None
        self._values: dict[Lookup, dict[str, Origin]] = defaultdict(dict)

    def files(self) -> Iterator[Reached]:
        """The files that are reached; where a table is needed whole and changed, `everything` is: by which change."""
        for table in sorted({lookup.table for lookup in self._lookups}):
            self._note_changes(table, [lookup for lookup in self._lookups if lookup.table == table])
        while self._values:
            # The deepest first: none of the others can lead through it.
            lookup = max(self._values, key=lambda each: (each.depth, repr(each)))
            values = self._values.pop(lookup)
            for giver in sorted(lookup.givers, key=repr):
                if giver.lookup is None:
                    yield from self._own(giver, values)
                else:
                    self._lead_on(giver, giver.lookup, values)

    def _note_changes(self, table: str, lookups: Collection[Lookup]) -> None:
        titles = [name for name in TITLES if name in self._has[table]]
        read = frozenset[str]().union(*(_looked_at(lookup) for lookup in lookups))
        changes = list(self._changes(table, read | {OWNER, *titles}))
        for lookup in lookups:
            self._note_changed(lookup, changes, titles)

    def _note_changed(self, lookup: Lookup, changes: Iterable[tuple[Row, int]], titles: Sequence[str]) -> None:
        looked_at = _looked_at(lookup)
        count: Counter[str] = Counter()
        rows: dict[str, Row] = {}
        for row, delta in changes:
            if _has_constants(row, lookup.constants):
                key = repr([row[name] for name in sorted(looked_at)])
                count[key] += delta
                rows[key] = row
        for key in sorted(key for key, delta in count.items() if delta):
            row = rows[key]
            origin = Origin(_title(row, titles) or lookup.table, row[OWNER], 1, _names(lookup, row))
            if lookup.column is None:
                self.everything = origin
            elif row[lookup.column] is not None:
                self._note(lookup, row[lookup.column], origin)

    def _note(self, lookup: Lookup, value: str, origin: Origin) -> None:
        known = self._values[lookup].get(value)
        self._values[lookup][value] = origin if known is None else known.merged(origin)

    def _own(self, giver: Giver, values: Mapping[str, Origin]) -> Iterator[Reached]:
        for row, origin in self._giving(giver, giver.constants, values, frozenset({OWNER})):
            yield Reached(row[OWNER], giver.table, giver.constants, origin)

    def _lead_on(self, giver: Giver, lookup: Lookup, values: Mapping[str, Origin]) -> None:
        assert lookup.column is not None
        for row, origin in self._giving(giver, lookup.constants, values, frozenset({lookup.column, OWNER})):
            if row[lookup.column] is not None:
                names = _names(lookup, row) if ENTRY in self._has[lookup.table] else origin.names
                self._note(lookup, row[lookup.column], replace(origin, distance=2, names=names))

    def _giving(
        self, giver: Giver, constants: Constants, values: Mapping[str, Origin], columns: frozenset[str]
    ) -> Iterator[tuple[Row, Origin]]:
        """The rows that give one of these values, each with the change that it leads back from."""
        named = frozenset({ENTRY}) & frozenset(self._has[giver.table])
        question = Question(
            giver.table,
            columns | {giver.column} | named,
            constants,
            giver.column,
            giver.fields,
            frozenset(values),
        )
        for row in self._find(question):
            for given in _given(row[giver.column], giver.fields):
                origin = values.get(given.value or "")
                if origin is None:
                    continue
                called = given.name if giver.column == MRO else _entry(row) if named and giver.column == OWNER else None
                if origin.names is None or called is None or called in origin.names:
                    yield row, replace(origin, is_inherited=True) if giver.column == MRO else origin


def _looked_at(lookup: Lookup) -> frozenset[str]:
    """The columns of a looked-up row by which it is found and seen."""
    return lookup.columns | ({lookup.column} if lookup.column else frozenset())


@dataclass(frozen=True)
class _Given:
    value: str | None
    name: str | None = None


def _given(held: Any, fields: tuple[str, ...]) -> Iterator[_Given]:
    """The values in a column, or in a field of the structs in it, with the class that such a struct names."""
    if not fields:
        yield _Given(held)
        return
    for each in held or ():
        name = each.get(CLASS_NAME)
        yield _Given(each[fields[0]], None if name is None else _plain(name))


def _names(lookup: Lookup, row: Row) -> frozenset[str] | None:
    """What the rows must be called that ask for this one, where the query compares it: its class, or the same."""
    asked = {name for column, name in lookup.compared if column == ENTRY}
    if lookup.column != OWNER or row.get(ENTRY) is None:
        return None
    entry = _entry(row)
    if asked == {CLASS_NAME}:
        return frozenset({entry, entry.rpartition(".")[0]})
    return frozenset({entry}) if asked == {ENTRY} else None


def _entry(row: Row) -> str:
    return _plain(row[ENTRY]).removesuffix(HEADER)


def _plain(name: str) -> str:
    return name.replace(".<locals>", "")


def _has_constants(row: Row, constants: Constants) -> bool:
    return all(row[column] == value for column, value in constants)


def _title(row: Row, titles: Iterable[str]) -> str | None:
    name = next((name for name in titles if row[name] is not None), None)
    if name is None:
        return None
    if name == DESCRIPTOR:
        inside = [quoted or plain for quoted, plain in NAME.findall(COUNTED.sub("", row[name]))]
        return ".".join([*([row[MODULE]] if row[MODULE] else []), *inside])
    return str(row[name]).removesuffix(HEADER)

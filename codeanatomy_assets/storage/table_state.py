"""Which tables, at which versions, make up a state; where a table lies and how its rows are bucketed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from codeanatomy_assets.contracts.table import Table

FILES_PER_BUCKET = 128
MOST_BUCKETS = 256
ID_PREFIX_LENGTH = len("file_")
BUCKET_DIGITS = 4


@dataclass(frozen=True)
class TableRef:
    """One Delta table at one version: the only way state is named, so that nobody reads "latest"."""

    name: str
    path: str
    version: int

    def at(self, version: int) -> TableRef:
        return replace(self, version=version)


@dataclass(frozen=True)
class TableState:
    """Every table's version in one state. Advancing it gives a new state; the old one still reads the same."""

    refs: Mapping[str, TableRef]
    buckets: int

    def ref(self, table: Table) -> TableRef:
        return self.refs[table.storage_name]

    def advanced(self, *refs: TableRef) -> TableState:
        return replace(self, refs={**self.refs, **{ref.name: ref for ref in refs}})


def buckets_for(files: int) -> int:
    """A power of two such that a bucket's file stays small enough to rewrite for one slice."""
    buckets = 1
    while buckets < MOST_BUCKETS and buckets * FILES_PER_BUCKET < files:
        buckets *= 2
    return buckets


def bucket_of(file_id: str, buckets: int) -> int:
    return int(file_id[ID_PREFIX_LENGTH : ID_PREFIX_LENGTH + BUCKET_DIGITS], 16) % buckets


def bucket_sql(buckets: int, column: str = "file_id") -> str:
    """The same bucket, as a Spark SQL expression."""
    digits = f"substr({column}, {ID_PREFIX_LENGTH + 1}, {BUCKET_DIGITS})"
    return f"cast(pmod(cast(conv({digits}, 16, 10) as int), {buckets}) as int)"


def table_path(root: str, table: Table, buckets: int) -> str:
    """A new schema version or bucket count is a new path: what a path holds never changes its shape."""
    shape = f"v{table.schema_version}-b{buckets}" if table.bucketed else f"v{table.schema_version}"
    return f"{root}/{table.storage_name}/{shape}"


def is_of_schema(ref: TableRef, table: Table) -> bool:
    """Whether a table was made for today's columns, with whatever buckets."""
    return ref.path.rpartition("/")[2].split("-")[0] == f"v{table.schema_version}"


def owner_predicate(owners: Iterable[str], table: Table, buckets: int, column_prefix: str = "") -> str:
    """SQL that holds for exactly the rows of these owners, and prunes by bucket first."""
    listed = sorted(set(owners))
    ids = ", ".join(_quoted(owner) for owner in listed)
    owned = f"{column_prefix}{table.owner_column} IN ({ids})"
    if not table.bucketed:
        return owned
    return f"{bucket_predicate(listed, buckets, column_prefix)} AND {owned}"


def bucket_predicate(owners: Iterable[str], buckets: int, column_prefix: str = "") -> str:
    """SQL that holds for all rows of these owners, and is answered from the files' names alone."""
    numbers = sorted({bucket_of(owner, buckets) for owner in owners})
    return f"{column_prefix}bucket IN ({', '.join(map(str, numbers))})"


def _quoted(value: str) -> str:
    if not all(character.isalnum() or character in "_-." for character in value):
        raise ValueError(f"not an id: {value!r}")
    return f"'{value}'"

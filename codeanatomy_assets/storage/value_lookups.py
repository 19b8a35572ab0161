"""Rows of a dataset that hold one of some values, in whatever column: found in the buckets that hold any of them.

Ids are spread over all buckets, so that statistics rule none out and a question about one value would open every data
file. A data file never changes: the values it holds are read when it is first asked about, and remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from codeanatomy_assets.contracts.table import BUCKET, Table
from codeanatomy_assets.storage.delta_reads import MOST_LISTED, among, open_table, owned_by, query
from codeanatomy_assets.storage.table_state import TableRef, TableState

# So many columns of tables are kept in mind; one state asks about some ten of them.
MOST_REMEMBERED = 64

# What is looked for in the rows: a column, and the field of the structs in it where it holds such.
Held = tuple[str, ...]

_held: dict[tuple[str, Held], dict[str, pa.Array]] = {}


def holding(
    state: TableState,
    table: Table,
    column: str,
    values: Iterable[str],
    storage_options: Mapping[str, str] | None = None,
) -> str:
    """SQL, for delta-rs's engine, that holds for the rows with one of these values; prunes by bucket first."""
    wanted = frozenset(values)
    if column == table.owner_column:
        return owned_by(wanted, table, state.buckets)
    return _pruned(state, table, (column,), wanted, among(column, wanted), storage_options)


def rows_holding(
    state: TableState,
    table: Table,
    columns: Sequence[str],
    held: tuple[str, str],
    values: Iterable[str],
    where: str = "true",
    storage_options: Mapping[str, str] | None = None,
) -> pa.Table:
    """Rows with a struct in this column's list whose field has one of these values: once for each such struct.

    A row is held against the values where it lies: lists of structs are slow to turn into objects.
    """
    column, part = held
    wanted = frozenset(values)
    schema = pa.schema([table.arrow_schema().field(name) for name in columns])
    named = ", ".join(f'"{name}"' for name in columns)
    where = _pruned(state, table, held, wanted, where, storage_options)
    flat = f"SELECT {named}, unnest({column})['{part}'] AS held FROM t WHERE {where}"
    opened = open_table(state.ref(table), storage_options)
    return query(opened, f"SELECT {named} FROM ({flat}) WHERE {among('held', wanted)}").cast(schema)


def owners_listing(
    state: TableState,
    table: Table,
    column: str,
    values: Iterable[str],
    storage_options: Mapping[str, str] | None = None,
) -> frozenset[str]:
    """The owners with a row whose list in this column holds one of these values."""
    owner, wanted = table.owner_column, frozenset(values)
    where = _pruned(state, table, (column,), wanted, "true", storage_options)
    flat = f"SELECT {owner}, unnest({column}) AS value FROM t WHERE {where}"
    opened = open_table(state.ref(table), storage_options)
    found = query(opened, f"SELECT DISTINCT {owner} FROM ({flat}) WHERE {among('value', wanted)}")
    return frozenset(found.column(0).to_pylist())


def _pruned(
    state: TableState,
    table: Table,
    held: Held,
    values: frozenset[str],
    condition: str,
    storage_options: Mapping[str, str] | None,
) -> str:
    """The condition, for the buckets alone that hold one of these values: for all of them where that can't be told."""
    buckets = _buckets_holding(state.ref(table), table, held, values, storage_options)
    if buckets is None:
        return condition
    return f"{BUCKET} IN ({', '.join(map(str, sorted(buckets)))}) AND {condition}" if buckets else "false"


def _buckets_holding(
    ref: TableRef, table: Table, held: Held, values: frozenset[str], storage_options: Mapping[str, str] | None
) -> frozenset[int] | None:
    """The buckets with a data file that holds one of these values, if only in rows that were deleted from it."""
    if not table.bucketed or "://" in ref.path or len(values) > MOST_LISTED:
        return None
    files = open_table(ref, storage_options).get_add_actions(flatten=True)
    buckets = dict(zip(*(files.column(name).to_pylist() for name in ("path", f"partition.{BUCKET}")), strict=True))
    known = _held.pop((ref.path, held), {})
    # Of files, those that this version names are kept, and of columns those asked about last.
    now = _held[ref.path, held] = {
        path: known[path] if path in known else _values_of(f"{ref.path}/{unquote(path)}", held) for path in buckets
    }
    while len(_held) > MOST_REMEMBERED:
        del _held[next(iter(_held))]
    wanted = pa.array(sorted(values), pa.string())
    return frozenset(buckets[path] for path, present in now.items() if pc.any(pc.is_in(present, wanted)).as_py())


def _values_of(path: str, held: Held) -> pa.Array:
    """What a data file holds in a column, each value once. A file of an older schema may not have the column."""
    column, *fields = held
    file = pq.ParquetFile(path)
    if column not in file.schema_arrow.names:
        return pa.array([], pa.string())
    values = file.read(columns=[column], use_threads=False).column(column).combine_chunks()
    while pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        values = values.flatten()
    for field in fields:
        values = pc.struct_field(values, field)
    return pc.unique(values.cast(pa.string())).drop_null()

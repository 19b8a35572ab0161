"""Reading tables at a stated version: through Spark for bulk, through delta-rs without a JVM for little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from codeanatomy_assets.contracts.arrow_frames import frame_of
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.storage.table_state import TableRef, TableState, bucket_predicate, owner_predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_OWNERS_IN_PREDICATE = 500
# Past so many values, the engine of delta-rs joins with them.
MOST_LISTED = 1_000
# Spark would take them in a path for patterns.
GLOB_CHARACTERS = frozenset("*?[]{}\\")
GONE = ("delete", "update_preimage")


_opened: dict[tuple[str, int], DeltaTable] = {}


def open_table(ref: TableRef, storage_options: Mapping[str, str] | None = None) -> DeltaTable:
    """The table at this version, for reading. A version never changes, so it is opened once between two `forget`s."""
    key = (ref.path, ref.version)
    if key not in _opened:
        _opened[key] = DeltaTable(ref.path, version=ref.version, storage_options=dict(storage_options or {}))
    return _opened[key]


def forget() -> None:
    """Open tables anew from here on: called where a run or a question begins, as a lost table may be made again."""
    _opened.clear()


def open_latest(path: str, storage_options: Mapping[str, str] | None = None) -> DeltaTable | None:
    """The table as it is on disk, whatever any state says; None when there is none. For the ledger and recovery."""
    options = dict(storage_options or {})
    return DeltaTable(path, storage_options=options) if DeltaTable.is_deltatable(path, options) else None


def latest_version(path: str, storage_options: Mapping[str, str] | None = None) -> int | None:
    latest = open_latest(path, storage_options)
    return None if latest is None else latest.version()


def read(spark: SparkSession, state: TableState, table: Table, owners: Iterable[str] | None = None) -> DataFrame:
    """A dataset's rows as the state has them; with owners, only their slices, pruned by bucket."""
    ref = state.ref(table)
    rows = spark.read.format("delta").option("versionAsOf", ref.version).load(ref.path)
    if owners is not None:
        rows = scoped(rows, table, state.buckets, owners)
    return _with_all_columns(_of_dataset(rows, table), table)


def _with_all_columns(rows: DataFrame, table: Table) -> DataFrame:
    """A table of an older schema has null for columns that came later."""
    from pyspark.sql import functions as F

    here = set(rows.columns)
    fields = table.spark_schema().fields
    return rows.select(
        *(each.name if each.name in here else F.lit(None).cast(each.dataType).alias(each.name) for each in fields)
    )


def read_files(
    spark: SparkSession, state: TableState, table: Table, storage_options: Mapping[str, str] | None = None
) -> DataFrame | None:
    """All rows of a dataset from the data files that the log names; None where these hold rows that were deleted.

    Delta's own reader takes Spark a second of planning for each mention of a table.
    """
    ref = state.ref(table)
    files = open_table(ref, storage_options).get_add_actions()
    counts = files.column("num_records").to_pylist()
    is_exact = None not in counts and sum(counts) == count_stored(ref, storage_options)
    if not counts or not is_exact or GLOB_CHARACTERS & set(ref.path):
        return None
    paths = [f"{ref.path}/{unquote(path)}" for path in files.column("path").to_pylist()]
    return _of_dataset(spark.read.schema(table.spark_schema()).parquet(*paths), table)


def scoped(rows: DataFrame, table: Table, buckets: int, owners: Iterable[str]) -> DataFrame:
    """Only these owners' rows: a predicate for few, a pruning predicate and a broadcast semi-join for many."""
    from pyspark.sql import functions as F

    chosen = sorted(set(owners))
    if not chosen:
        return rows.where("false")
    if len(chosen) <= MOST_OWNERS_IN_PREDICATE:
        return rows.where(owner_predicate(chosen, table, buckets))
    column = table.owner_column
    if table.bucketed:
        rows = rows.where(bucket_predicate(chosen, buckets))
    wanted = frame_of(rows.sparkSession, pa.table({column: chosen}))
    return rows.join(F.broadcast(wanted), column, "left_semi")


def read_light(
    state: TableState,
    table: Table,
    owners: Iterable[str] | None = None,
    storage_options: Mapping[str, str] | None = None,
    where: str = "",
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """The same rows as Arrow, without a JVM. For what fits in memory: a slice, the ledger, a small dataset."""
    wanted = table.column_names if columns is None else tuple(columns)
    schema = pa.schema([table.arrow_schema().field(name) for name in wanted])
    chosen = None if owners is None else sorted(set(owners))
    if chosen is not None and not chosen:
        return schema.empty_table()
    condition = [] if chosen is None else [owned_by(chosen, table, state.buckets)]
    condition += [f"({where})"] if where else []
    opened = open_table(state.ref(table), storage_options)
    return query(opened, _selection(opened, table, condition, wanted)).cast(schema)


def stream(
    state: TableState, table: Table, storage_options: Mapping[str, str] | None = None
) -> Iterator[pa.RecordBatch]:
    """A whole dataset without a JVM, batch by batch, never held whole, in the contract's types."""
    opened = open_table(state.ref(table), storage_options)
    reader = QueryBuilder().register("t", opened).execute(_selection(opened, table, [], table.column_names))
    schema = table.arrow_schema()
    for batch in pa.RecordBatchReader.from_stream(reader):
        yield from pa.Table.from_batches([batch]).cast(schema).to_batches()


def _selection(opened: DeltaTable, table: Table, conditions: list[str], names: Iterable[str]) -> str:
    """A table of an older schema has null for columns that came later."""
    if table.stored_in:
        conditions = [*conditions, f"rule = '{table.name}'"]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    here = {each.name for each in opened.schema().fields}
    columns = ", ".join(f'"{name}"' if name in here else f'NULL AS "{name}"' for name in names)
    return f"SELECT {columns} FROM t{where}"


def owned_by(owners: Iterable[str], table: Table, buckets: int) -> str:
    """SQL, for delta-rs's engine, that holds for the rows of these owners, however many; prunes by bucket first."""
    chosen = sorted(set(owners))
    owned = among(table.owner_column, chosen)
    return f"{bucket_predicate(chosen, buckets)} AND {owned}" if table.bucketed and chosen else owned


def among(column: str, values: Iterable[str]) -> str:
    """SQL, for delta-rs's engine, that holds where a column has one of these values, however many.

    A list of 20,000 took it 1.2 s, and one of 30,000 ended the process. A join with as many takes 0.2 s.
    """
    quoted = ["'" + text.replace("'", "''") + "'" for text in sorted(set(values))]
    if not quoted:
        return "false"
    if len(quoted) <= MOST_LISTED:
        return f"{column} IN ({', '.join(quoted)})"
    return f"{column} IN (SELECT column1 FROM (VALUES {', '.join(f'({text})' for text in quoted)}))"


def query(delta_table: DeltaTable, sql: str) -> pa.Table:
    """SQL over one table, named t."""
    return query_all({"t": delta_table}, sql)


def query_all(tables: Mapping[str, DeltaTable], sql: str) -> pa.Table:
    """SQL over tables by name, by delta-rs (which honours deletion vectors on this way only)."""
    builder = QueryBuilder()
    for name, table in tables.items():
        builder = builder.register(name, table)
    # Not pa.table(…), which imports pandas to ask whether this is one of its frames.
    return pa.RecordBatchReader.from_stream(builder.execute(sql)).read_all()


def count_rows(state: TableState, table: Table, storage_options: Mapping[str, str] | None = None) -> int:
    where = f" WHERE rule = '{table.name}'" if table.stored_in else ""
    counted = query(open_table(state.ref(table), storage_options), f"SELECT count(*) AS n FROM t{where}")
    return int(counted.column("n")[0].as_py())


def count_stored(ref: TableRef, storage_options: Mapping[str, str] | None = None) -> int:
    """Rows of a Delta table, of whichever datasets share it."""
    return int(query(open_table(ref, storage_options), "SELECT count(*) AS n FROM t").column("n")[0].as_py())


def changes(spark: SparkSession, table: Table, old: TableState, new: TableState) -> DataFrame:
    """What turned the old state's rows into the new one's: each row with `delta`, +n or -n, netted.

    Taken from the Change Data Feed while both states are versions of one table; a table that moved to
    another path is compared with itself AS OF then. Netting leaves out what a restore undid and what a
    write deleted and inserted alike.
    """
    from pyspark.sql import functions as F

    before, after = old.ref(table), new.ref(table)
    if before.path != after.path:
        gone = read(spark, old, table).withColumn("delta", F.lit(-1))
        signed = gone.unionByName(read(spark, new, table).withColumn("delta", F.lit(1)))
    elif before.version == after.version:
        return read(spark, new, table, ()).withColumn("delta", F.lit(0).cast("long"))
    else:
        feed = (
            spark.read.format("delta")
            .option("readChangeFeed", "true")
            .option("startingVersion", before.version + 1)
            .option("endingVersion", after.version)
            .load(after.path)
        )
        signed = _of_dataset(feed, table).withColumn(
            "delta", F.when(F.col("_change_type").isin(*GONE), F.lit(-1)).otherwise(F.lit(1))
        )
    netted = signed.groupBy(*table.column_names).agg(F.sum("delta").alias("delta"))
    return netted.where("delta <> 0")


def changes_light(
    table: Table, old: TableState, new: TableState, storage_options: Mapping[str, str] | None = None
) -> list[tuple[dict[str, Any], int]]:
    """The same netted changes without a JVM, for feeds that fit in memory.

    Where delta-rs would misread the feed, the two states themselves are compared.
    """
    before, after = old.ref(table), new.ref(table)
    if before == after:
        return []
    latest = open_table(after, storage_options)
    if before.path == after.path and _tells_changes_exactly(latest, before.version):
        feed = latest.load_cdf(starting_version=before.version + 1, ending_version=after.version)
        rows = pa.RecordBatchReader.from_stream(feed).read_all().to_pylist()
        ours = (row for row in rows if not table.stored_in or row["rule"] == table.name)
        signed = [(row, -1 if row["_change_type"] in GONE else 1) for row in ours]
    else:
        signed = [(row, -1) for row in read_light(old, table, None, storage_options).to_pylist()]
        signed += [(row, 1) for row in read_light(new, table, None, storage_options).to_pylist()]
    return _netted(table, signed)


def _tells_changes_exactly(latest: DeltaTable, since: int) -> bool:
    """Whether all commits since then are slices that delta-rs wrote, each with its rows in the feed.

    The feed of any other commit is worked out from data files, and delta-rs misreads the deletion
    vectors of files that an overwrite or a restore removed.
    """
    commits = latest.history(latest.version() - since)
    return all(
        str(commit.get("engineInfo", "")).startswith("delta-rs") and commit["operationParameters"].get("predicate")
        for commit in commits
    )


def _netted(table: Table, signed: list[tuple[dict[str, Any], int]]) -> list[tuple[dict[str, Any], int]]:
    totals: Counter[str] = Counter()
    rows: dict[str, dict[str, Any]] = {}
    for row, sign in signed:
        logical = {name: row[name] for name in table.column_names}
        identity = repr(list(logical.values()))
        totals[identity] += sign
        rows[identity] = logical
    return [(rows[identity], total) for identity, total in totals.items() if total]


def _of_dataset(rows: DataFrame, table: Table) -> DataFrame:
    return rows.where(f"rule = '{table.name}'") if table.stored_in else rows

"""Writing tables: `replace_files`, the one primitive that swaps slices in one atomic commit.

Spark's writer commits bulk, delta-rs commits a small delta from Arrow at a fraction of the cost; the
same tests hold for both. Slices whose content did not change are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from codeanatomy_assets.contracts.arrow_frames import frame_of
from codeanatomy_assets.contracts.table import BUCKET, Table
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.storage import data_files, delta_reads
from codeanatomy_assets.storage.data_files import DataFiles
from codeanatomy_assets.storage.table_state import (
    TableRef,
    TableState,
    bucket_of,
    bucket_sql,
    owner_predicate,
    table_path,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ATTEMPT_KEY = "userMetadata"


class WriteRefused(ValueError):
    """A write that would touch rows it has no business with."""


class TableMoved(CodeAnatomyError):
    """A table is not where this run left it: somebody without the lock wrote it."""


@dataclass(frozen=True)
class Scope:
    """Whose slices a write replaces: named owners, or everything, said out loud.

    `size` is how many owners that is about: it decides nothing but which way the rows go.
    """

    owners: frozenset[str] | None
    size: int

    @staticmethod
    def of(owners: Iterable[str]) -> Scope:
        listed = frozenset(owners)
        return Scope(listed, len(listed))

    @staticmethod
    def everything(size: int) -> Scope:
        return Scope(None, size)

    @property
    def is_everything(self) -> bool:
        return self.owners is None


@dataclass(frozen=True)
class Attempt:
    """One try at building one commit. Its number is new for every run and marks every commit it makes."""

    number: int
    commit: str

    @property
    def mark(self) -> str:
        return f"attempt-{self.number}"


@dataclass(frozen=True)
class WriteLimits:
    """Up to here a delta goes the light way, from Arrow in memory; past it, through Spark's writer."""

    rows: int = 600_000
    bytes: int = 256_000_000
    owners: int = 1_000


@dataclass(frozen=True)
class Written:
    """What a write did. `owners` are those whose slices differ; empty when nothing was written."""

    ref: TableRef
    owners: frozenset[str]
    rows: int
    way: str


@dataclass(frozen=True)
class _Write:
    """One call of `replace_files`. `spent`: the state it starts from holds a write of the same transaction id."""

    state: TableState
    table: Table
    scope: Scope
    attempt: Attempt
    transaction: Transaction
    spent: bool

    @property
    def ref(self) -> TableRef:
        return self.state.ref(self.table)

    def check(self, differing: Iterable[str | None]) -> None:
        """Refuse to write these owners' slices where that is none of this write's business."""
        owners = {owner for owner in differing if owner is not None}
        if len(owners) < len(set(differing)):
            raise WriteRefused(f"{self.table.name}: rows without a {self.table.owner_column}")
        outside = set() if self.scope.owners is None else owners - self.scope.owners
        if outside:
            raise WriteRefused(
                f"{self.table.name}: rows of {len(outside)} owners outside the scope, e.g. {min(outside)}"
            )
        if owners and self.spent:
            raise WriteRefused(
                f"{self.table.name}: attempt {self.attempt.number} wrote it already: tell its writes apart by `part`"
            )

    def predicate(self, owners: Iterable[str] | None) -> str | None:
        """SQL for the rows that are replaced; None for a whole table."""
        conditions = [] if owners is None else [owner_predicate(owners, self.table, self.state.buckets)]
        if self.table.stored_in:
            conditions.append(f"rule = '{self.table.name}'")
        return " AND ".join(conditions) or None

    def nothing(self) -> Written:
        return Written(self.ref, frozenset(), 0, "none")


class DeltaStore:
    """The tables of one state folder or storage URI, written through either engine."""

    def __init__(
        self,
        root: str,
        spark: Callable[[], SparkSession],
        storage_options: Mapping[str, str] | None = None,
        limits: WriteLimits | None = None,
    ) -> None:
        self.root = root
        self.spark = spark
        self.options = dict(storage_options or {})
        self.limits = limits or WriteLimits()

    def create_missing(self, tables: Iterable[Table], buckets: int) -> TableState:
        """Every table at its path for this bucket count, created empty at version 0 where there is none."""
        ensured = [self.ensure(table, table_path(self.root, table, buckets)) for table in tables]
        return TableState({ref.name: ref for ref in ensured}, buckets)

    def ensure(self, table: Table, path: str) -> TableRef:
        """The table at this path as it is on disk, created empty if there is none."""
        version = delta_reads.latest_version(path, self.options)
        if version is None:
            self._create(table, path)
        return TableRef(table.storage_name, path, version or 0)

    def _create(self, table: Table, path: str) -> None:
        DeltaTable.create(
            path,
            schema=table.stored_arrow_schema(),
            partition_by=[BUCKET] if table.bucketed else None,
            configuration={**table.delta_properties()},
            storage_options=self.options,
        )

    def replace_files(
        self,
        state: TableState,
        table: Table,
        rows: DataFrame | pa.Table | DataFiles,
        scope: Scope,
        attempt: Attempt,
        part: str = "",
        is_bulk: bool = False,
    ) -> Written:
        """Swap the slices in scope for these rows, in one commit, or in none if nothing differs.

        `part` tells several writes of one attempt to one table apart: a write is replayed as a no-op. Rows that are
        known to be many (`is_bulk`) are not computed up to the limit first, to find that out.
        """
        ref = state.ref(table)
        if scope.owners is not None and not scope.owners:
            if isinstance(rows, pa.Table) and rows.num_rows:
                raise WriteRefused(f"{table.name}: {rows.num_rows} rows for a scope of no owners")
            return Written(ref, frozenset(), 0, "none")
        transaction = Transaction(_application(table, part), attempt.number)
        latest = self._latest(ref)
        spent = self._holds(ref, transaction)
        if latest != ref:
            if not spent and self._holds(latest, transaction):
                return self._replayed(state, table, scope, latest)
            raise TableMoved(f"{ref.name} is at version {latest.version}, this run left it at {ref.version}")
        write = _Write(state, table, scope, attempt, transaction, spent)
        if isinstance(rows, DataFiles):
            return self._commit_files(write, rows)
        if not isinstance(rows, pa.Table):
            rows = rows if is_bulk else self._small_enough(rows, scope)
        elif rows.num_rows > self.limits.rows or rows.nbytes > self.limits.bytes:
            rows = frame_of(self.spark(), rows)
        return self._replace_light(write, rows) if isinstance(rows, pa.Table) else self._replace_spark(write, rows)

    def is_empty(self, state: TableState, table: Table) -> bool:
        return delta_reads.count_rows(state, table, self.options) == 0

    def write_ahead(self, state: TableState, table: Table, rows: DataFrame) -> DataFiles:
        """Rows of a dataset that has none, computed and written now, for `replace_files` to commit."""
        placed = data_files.placed(_typed(table, rows), table.name, state.buckets)
        targets = [self._target(state, table)]
        return data_files.written_by_workers(placed, data_files.batches_as_they_are(table), targets)[table.name]

    def make_ahead(
        self, state: TableState, tables: Sequence[Table], files: DataFrame, make: data_files.Make
    ) -> dict[str, DataFiles]:
        """The same for several datasets at once, whose rows workers make of each batch of these files."""
        placed = data_files.placed(files, "files", state.buckets)
        return data_files.written_by_workers(placed, make, [self._target(state, table) for table in tables])

    def _target(self, state: TableState, table: Table) -> data_files.Target:
        return data_files.Target(table, state.ref(table).path, self.options)

    def restore(self, ref: TableRef, attempt: Attempt) -> TableRef:
        """Bring a table back to a version, which makes a new one with the same rows."""
        table = DeltaTable(ref.path, storage_options=self.options)
        table.restore(ref.version, commit_properties=_marked(attempt))
        return ref.at(table.version())

    def marks_since(self, ref: TableRef) -> list[str | None]:
        """The attempts' marks of the commits after this version that still count, newest first.

        What lies before a restore is undone, so the walk back ends there.
        """
        table = DeltaTable(ref.path, storage_options=self.options)
        newer = table.version() - ref.version
        marks: list[str | None] = []
        for entry in table.history(newer) if newer > 0 else []:
            marks.append(entry.get(ATTEMPT_KEY))
            if entry["operation"] == "RESTORE":
                break
        return marks

    def _small_enough(self, rows: DataFrame, scope: Scope) -> DataFrame | pa.Table:
        """The rows in memory if they are few: computed by Spark either way."""
        if scope.size > self.limits.owners:
            return rows
        fetched = rows.limit(self.limits.rows + 1).toArrow()
        return fetched if fetched.num_rows <= self.limits.rows and fetched.nbytes <= self.limits.bytes else rows

    def _replace_light(self, write: _Write, rows: pa.Table) -> Written:
        table, ref = write.table, write.ref
        new = rows.select(list(table.column_names)).cast(table.arrow_schema())
        present = delta_reads.read_light(write.state, table, write.scope.owners, self.options)
        differing = _differing_owners(table, present, new)
        write.check(differing)
        if not differing:
            return write.nothing()
        whole = write.scope.is_everything and differing >= _owners_of(table, present) | _owners_of(table, new)
        if not whole and len(differing) > self.limits.owners:
            # A list of 30,000 ids ended the process inside delta-rs: no predicate comes near it.
            return self._replace_spark(write, frame_of(self.spark(), new))
        kept = new.filter(pc.is_in(new.column(table.owner_column), pa.array(sorted(differing), pa.string())))
        try:
            write_deltalake(
                DeltaTable(ref.path, version=ref.version, storage_options=self.options),
                _with_bucket(table, kept, write.state.buckets),
                mode="overwrite",
                predicate=write.predicate(None if whole else differing),
                commit_properties=_marked(write.attempt, write.transaction),
                post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
            )
        except CommitFailedError as error:
            raise TableMoved(f"{ref.name} was written by another run during this one: run it again") from error
        return Written(self._committed(ref), frozenset(differing), kept.num_rows, "light")

    def _replace_spark(self, write: _Write, rows: DataFrame) -> Written:
        table = write.table
        if table.bucketed and write.scope.is_everything and self.is_empty(write.state, table):
            return self._commit_files(write, self.write_ahead(write.state, table, rows))
        rows = _typed(table, rows).persist()
        try:
            present = delta_reads.read(self.spark(), write.state, table, write.scope.owners)
            slices = _compared_slices(table, present, rows)
            differing = {owner: count for owner, count, differs in slices if differs}
            write.check(differing)
            if not differing:
                return write.nothing()
            whole = write.scope.is_everything and len(differing) == len(slices)
            ref = self._save_spark(write, rows, None if whole else frozenset(differing))
        finally:
            rows.unpersist()
        return Written(ref, frozenset(differing), sum(differing.values()), "spark")

    def _commit_files(self, write: _Write, files: DataFiles) -> Written:
        """The first rows of a dataset: there is nothing to compare them with, and their data files are there."""
        table, ref = write.table, write.ref
        if not write.scope.is_everything or not self.is_empty(write.state, table):
            raise WriteRefused(f"{table.name}: data files are for a dataset without rows, all of it at once")
        write.check(files.owners)
        if not files.rows:
            return write.nothing()
        try:
            DeltaTable(ref.path, version=ref.version, storage_options=self.options).create_write_transaction(
                [file.added() for file in files.files],
                mode="append",
                schema=table.stored_arrow_schema(),
                partition_by=[BUCKET],
                commit_properties=_marked(write.attempt, write.transaction),
                post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
            )
        except CommitFailedError as error:
            raise TableMoved(f"{ref.name} was written by another run during this one: run it again") from error
        return Written(self._committed(ref), files.owners, files.rows, "spark")

    def _save_spark(self, write: _Write, rows: DataFrame, owners: frozenset[str] | None) -> TableRef:
        """One commit of Spark's writer. Only a whole replacement goes without a predicate."""
        table, buckets = write.table, write.state.buckets
        if table.bucketed:
            unowned = f"raise_error('{table.name}: a row without a {table.owner_column}')"
            rows = rows.selectExpr("*", f"coalesce({bucket_sql(buckets)}, {unowned}) AS {BUCKET}")
        if owners is not None:
            rows = delta_reads.scoped(rows, table, buckets, owners)
        if table.bucketed:
            rows = rows.repartition(BUCKET).sortWithinPartitions(BUCKET, table.owner_column)
        writer = rows.write.format("delta").mode("overwrite").option(ATTEMPT_KEY, write.attempt.mark)
        writer = writer.option("txnAppId", write.transaction.app_id).option("txnVersion", write.transaction.version)
        predicate = write.predicate(owners)
        if predicate is not None:
            writer = writer.option("replaceWhere", predicate)
        writer.save(write.ref.path)
        return self._committed(write.ref)

    def _latest(self, ref: TableRef) -> TableRef:
        return ref.at(DeltaTable(ref.path, storage_options=self.options).version())

    def _committed(self, ref: TableRef) -> TableRef:
        """Where our own commit just took the table: the lock is ours, so nobody else moved it."""
        latest = self._latest(ref)
        if latest.version != ref.version + 1:
            raise TableMoved(f"{ref.name} went from version {ref.version} to {latest.version} in one write")
        return latest

    def _holds(self, ref: TableRef, transaction: Transaction) -> bool:
        """Whether this version has the transaction's write, or a later attempt's, behind it."""
        last = delta_reads.open_table(ref, self.options).transaction_version(transaction.app_id)
        return last is not None and last >= transaction.version

    def _replayed(self, state: TableState, table: Table, scope: Scope, latest: TableRef) -> Written:
        """What the write did when it was made."""
        now = state.advanced(latest)
        if scope.size > self.limits.owners:
            changed = delta_reads.changes(self.spark(), table, state, now).select(table.owner_column).distinct()
            owners = frozenset(row[0] for row in changed.toLocalIterator())
        else:
            netted = delta_reads.changes_light(table, state, now, self.options)
            owners = frozenset(row[table.owner_column] for row, _ in netted)
        return Written(latest, owners, 0, "replayed")


def _application(table: Table, part: str) -> str:
    return f"codeanatomy/{table.name}/{part}" if part else f"codeanatomy/{table.name}"


def _marked(attempt: Attempt, transaction: Transaction | None = None) -> CommitProperties:
    """No retries: a commit that finds another one before it was made by someone who has no lock."""
    return CommitProperties(
        custom_metadata={ATTEMPT_KEY: attempt.mark},
        max_commit_retries=0,
        app_transactions=[transaction] if transaction else None,
    )


def _with_bucket(table: Table, rows: pa.Table, buckets: int) -> pa.Table:
    if not table.bucketed:
        return rows
    numbers = [bucket_of(owner, buckets) for owner in rows.column(table.owner_column).to_pylist()]
    return rows.append_column(BUCKET, pa.array(numbers, pa.int32()))


def _owners_of(table: Table, rows: pa.Table) -> set[str]:
    return set(pc.unique(rows.column(table.owner_column)).to_pylist())


def _differing_owners(table: Table, old: pa.Table, new: pa.Table) -> set[str]:
    """Owners whose rows, as a bag, are not the same on both sides."""
    if old.num_rows == 0:
        return _owners_of(table, new)
    before, after = _rows_by_owner(table, old), _rows_by_owner(table, new)
    return {owner for owner in before.keys() | after.keys() if before.get(owner) != after.get(owner)}


def _rows_by_owner(table: Table, rows: pa.Table) -> dict[str, list[str]]:
    position = table.column_names.index(table.owner_column)
    slices: dict[str, list[str]] = {}
    for values in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        slices.setdefault(values[position], []).append(repr(values))
    for texts in slices.values():
        texts.sort()
    return slices


def _typed(table: Table, rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return rows.select(*(F.col(c.name).cast(c.type.ddl).alias(c.name) for c in table.columns))


def _compared_slices(table: Table, old: DataFrame, new: DataFrame) -> list[tuple[str, int, bool]]:
    """Every owner with its number of new rows, and whether its slice differs as a bag: one small row an owner."""
    from pyspark.sql import functions as F

    both = _row_digests(table, new, is_new=True).unionAll(_row_digests(table, old, is_new=False))
    compared = both.groupBy(table.owner_column).agg(
        F.expr("count_if(is_new)"),
        F.expr(
            "sort_array(collect_list(digest) FILTER (WHERE is_new))"
            " <> sort_array(collect_list(digest) FILTER (WHERE NOT is_new))"
        ),
    )
    return [(row[0], row[1], row[2]) for row in compared.collect()]


def _row_digests(table: Table, rows: DataFrame, is_new: bool) -> DataFrame:
    """One digest a row, over all of its columns."""
    from pyspark.sql import functions as F

    whole_row = F.to_json(F.struct(*table.column_names), {"ignoreNullFields": "false"})
    return rows.select(table.owner_column, F.sha2(whole_row, 256).alias("digest"), F.lit(is_new).alias("is_new"))

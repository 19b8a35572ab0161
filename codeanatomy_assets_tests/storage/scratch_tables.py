"""Tables of a state that only a test uses, written one way, and read by both engines at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.delta_store import Attempt, DeltaStore, Scope, WriteLimits, Written
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets_tests.storage.odd_rows import (
    EVENTS,
    FIRST_RULE,
    SECOND_RULE,
    THINGS,
    Row,
    arrow,
    as_bag,
    as_rows,
    as_text,
)

TABLES = (THINGS, EVENTS, FIRST_RULE, SECOND_RULE)
LIGHT, SPARK = "light", "spark"
WAYS = (LIGHT, SPARK)
LIMITS = {LIGHT: WriteLimits(), SPARK: WriteLimits(owners=0)}
MANY = 1_000_000

_numbers = count(1)


def new_attempt(commit: str = "c0ffee") -> Attempt:
    return Attempt(next(_numbers), commit)


@dataclass
class ScratchTables:
    """A store, the state it is in, and the way its writes go."""

    spark: SparkSession
    root: Path
    buckets: int = 4
    way: str = LIGHT
    tables: tuple[Table, ...] = TABLES
    state: TableState = field(init=False)

    def __post_init__(self) -> None:
        self.state = self.store().create_missing(self.tables, self.buckets)

    def store(self, way: str = "") -> DeltaStore:
        return DeltaStore(str(self.root), lambda: self.spark, limits=LIMITS[way or self.way])

    def replace(
        self,
        table: Table,
        rows: list[Row],
        scope: Scope,
        attempt: Attempt | None = None,
        way: str = "",
        state: TableState | None = None,
        part: str = "",
    ) -> Written:
        """One write from the current state, or from the one given, without moving to what it gives."""
        given = arrow(table, rows)
        data = given if (way or self.way) == LIGHT else self.spark.createDataFrame(given)
        return self.store(way).replace_files(
            state or self.state, table, data, scope, attempt or new_attempt(), part=part
        )

    def put(
        self, table: Table, rows: list[Row], owners: Iterable[str] | None = None, way: str = "", part: str = ""
    ) -> Written:
        """Write slices (None: everything) and move on to the new state."""
        scope = Scope.everything(MANY) if owners is None else Scope.of(owners)
        written = self.replace(table, rows, scope, way=way, part=part)
        self.state = self.state.advanced(written.ref)
        return written

    def rows(self, table: Table, state: TableState | None = None) -> list[Row]:
        return as_rows(delta_reads.read_light(state or self.state, table))

    def rows_by_spark(self, table: Table, state: TableState | None = None) -> list[Row]:
        return as_rows(delta_reads.read(self.spark, state or self.state, table).toArrow())

    def bag(self, table: Table) -> list[str]:
        """The rows, after both engines told the same, and the data files where they hold these rows alone."""
        light, spark = as_bag(self.rows(table)), as_bag(self.rows_by_spark(table))
        files = delta_reads.read_files(self.spark, self.state, table)
        assert light == spark
        assert files is None or as_bag(as_rows(files.toArrow())) == light
        return light

    def version(self, table: Table) -> int:
        """The newest version on disk, whatever the state says."""
        return DeltaTable(self.state.ref(table).path).version()

    def changes(self, table: Table, old: TableState, new: TableState | None = None) -> list[tuple[str, int]]:
        """The netted changes, after both engines and the two states themselves told the same."""
        new = new or self.state
        told = as_rows(delta_reads.changes(self.spark, table, old, new).toArrow())
        by_spark = sorted((as_text(row), int(delta)) for row in told for delta in [row.pop("delta")])
        light = sorted((as_text(row), delta) for row, delta in delta_reads.changes_light(table, old, new))
        assert light == by_spark
        assert light == difference(self.rows(table, old), self.rows(table, new))
        return light

    def changed_owners(self, table: Table, old: TableState) -> set[str]:
        """Owners of the raw feed's rows: what was written, not what it nets to."""
        before, after = old.ref(table), self.state.ref(table)
        if before == after:
            return set()
        feed = DeltaTable(after.path).load_cdf(before.version + 1, after.version, columns=[table.owner_column])
        return set(pa.table(feed.read_all()).column(table.owner_column).to_pylist())


def difference(old: list[Row], new: list[Row]) -> list[tuple[str, int]]:
    """What turns one bag of rows into another, each row with how often it came or went."""
    before, after = as_bag(old), as_bag(new)
    told = {text: after.count(text) - before.count(text) for text in {*before, *after}}
    return sorted((text, delta) for text, delta in told.items() if delta)

"""A state of one table and its ledger, written without a JVM: for tests of ledger and recovery."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.attempts import Recovered, recover
from codeanatomy_assets.storage.delta_store import Attempt, DeltaStore, Scope, Written
from codeanatomy_assets.storage.ledger import Ledger, LedgerRow
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets_tests.storage.odd_rows import THINGS, Row, arrow, as_rows
from codeanatomy_assets_tests.storage.scratch_tables import MANY, new_attempt


def _no_spark() -> NoReturn:
    raise AssertionError("this needs no JVM")


class LightState:
    """Runs over THINGS, step by step: begin, write, finish, or die before any of them."""

    def __init__(self, root: Path, tables: tuple[Table, ...] = (THINGS,), buckets: int = 2) -> None:
        self.store = DeltaStore(str(root), _no_spark)
        self.ledger = Ledger(self.store)
        self.tables = tables
        self.state = self.store.create_missing(tables, buckets)

    def begin(self, attempt: Attempt, buckets: int | None = None) -> Recovered:
        """Recover, as every run does first."""
        if self.ledger.last() is None:
            buckets = self.state.buckets
        recovered = recover(self.store, self.ledger, self.tables, attempt, buckets)
        self.state = recovered.working
        return recovered

    def write(self, rows: list[Row], attempt: Attempt, table: Table = THINGS) -> Written:
        written = self.store.replace_files(self.state, table, arrow(table, rows), Scope.everything(MANY), attempt)
        self.state = self.state.advanced(written.ref)
        return written

    def row(self, commit: str, attempt: Attempt) -> LedgerRow:
        return LedgerRow(commit=commit, tree_id=commit, mode="full", attempt=attempt.number, state=self.state)

    def finish(self, commit: str, attempt: Attempt) -> LedgerRow:
        return self.ledger.append(self.row(commit, attempt), self.ledger.last(), attempt)

    def build(self, commit: str, rows: list[Row]) -> LedgerRow:
        """A run from start to end."""
        attempt = new_attempt(commit)
        self.write(rows, attempt)
        return self.finish(commit, attempt)

    def rows(self, state: TableState | None = None, table: Table = THINGS) -> list[Row]:
        return as_rows(delta_reads.read_light(state or self.state, table))

    def version(self, table: Table = THINGS) -> int | None:
        return delta_reads.latest_version(self.state.ref(table).path)

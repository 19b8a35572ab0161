"""A process that takes the lock and writes one big slice after another, for tests to kill.

    python -m codeanatomy_assets_tests.storage.slice_writer FOLDER WAY

Every generation of the slices is whole or not there: each row carries the generation, and there are
always as many rows. It says "writing N" before a write and "wrote N" after it.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from codeanatomy_assets import toolchain
from codeanatomy_assets.storage.attempts import begin_attempt, recover
from codeanatomy_assets.storage.delta_store import DeltaStore, Scope
from codeanatomy_assets.storage.ledger import Ledger, LedgerRow
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.spark_session import SparkEngine, SparkSettings
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets_tests.storage.odd_rows import THINGS, Row, arrow, file_id, thing
from codeanatomy_assets_tests.storage.scratch_tables import LIMITS, SPARK

OWNERS = 4
ROWS_PER_OWNER = 1_500
BUCKETS = 2
WAIT_FOR_ORPHANS_SECONDS = 60.0
FIRST_COMMIT = "generation0"


def generation(number: int) -> list[Row]:
    """All slices as one write leaves them."""
    return [
        thing(owner, str(row), number=number, text="text " * 20)
        for owner in range(OWNERS)
        for row in range(ROWS_PER_OWNER)
    ]


def main(folder: Path, way: str) -> None:
    lock = StateLock(folder)
    lock.acquire(f"a {way} writer", WAIT_FOR_ORPHANS_SECONDS)
    engine = SparkEngine(
        SparkSettings(toolchain.java(), toolchain.delta_jars(), driver_memory="1g", log_file=folder / "spark.log")
    )
    if way == SPARK:
        engine.launch((lock.descriptor,))
    store = DeltaStore(str(folder / "tables"), engine.session, limits=LIMITS[way])
    ledger = Ledger(store)
    attempt = begin_attempt(StateFolder(folder), FIRST_COMMIT, "test")
    recovered = recover(store, ledger, (THINGS,), attempt, BUCKETS)
    state = recovered.working
    print("recovered", *recovered.restored, flush=True)
    for number in count(2 if recovered.last else 1):
        rows = arrow(THINGS, generation(number))
        data = engine.session().createDataFrame(rows) if way == SPARK else rows
        scope = Scope.of(file_id(owner) for owner in range(OWNERS))
        print("writing", number, flush=True)
        written = store.replace_files(state, THINGS, data, scope, attempt, part=str(number))
        assert written.way == way
        state = state.advanced(written.ref)
        print("wrote", number, flush=True)
        if ledger.last() is None:
            row = LedgerRow(FIRST_COMMIT, FIRST_COMMIT, "full", attempt.number, state)
            ledger.append(row, None, attempt)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

"""kill -9 in mid write, on both ways: the table is whole, both engines agree, and the next run goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.attempts import begin_attempt, recover
from codeanatomy_assets.storage.delta_store import DeltaStore, Scope
from codeanatomy_assets.storage.ledger import Ledger
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets.storage.table_state import TableRef, TableState, table_path
from codeanatomy_assets_tests.storage.odd_rows import THINGS, arrow, as_bag, as_rows, file_id
from codeanatomy_assets_tests.storage.scratch_tables import LIGHT, LIMITS, SPARK
from codeanatomy_assets_tests.storage.slice_writer import BUCKETS, FIRST_COMMIT, OWNERS, ROWS_PER_OWNER, generation

# Whether Python alone is killed, its JVM orphaned, and how many writes pass before: the first run's first
# write becomes the ledger's, and one that passes in a later run leaves the table ahead of it.
KILLS = ((False, 1), (True, 1), (False, 0))
LAST_GENERATION = 99
WRITE_SECONDS = {LIGHT: 0.2, SPARK: 3.0}


class Writer:
    """A run of the slice writer in a process group of its own."""

    def __init__(self, folder: Path, way: str) -> None:
        module = "codeanatomy_assets_tests.storage.slice_writer"
        command = [sys.executable, "-m", module, str(folder), way]
        with (folder / "writer.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        self.restored = self._told("recovered").split()[1:]

    def _told(self, wanted: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(wanted):
                return line
        raise AssertionError(f"the writer ended before it was {wanted}: see writer.log beside the tables")

    def kill_in_mid_write(self, passing: int, after_seconds: float, python_alone: bool) -> None:
        """Let some writes pass, and kill the next at some moment."""
        for _ in range(passing):
            self._told("wrote")
        self._told("writing")
        time.sleep(after_seconds)
        if python_alone:
            self.process.kill()
        else:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def on_disk(folder: Path) -> TableState:
    path = table_path(str(folder / "tables"), THINGS, BUCKETS)
    version = delta_reads.latest_version(path)
    assert version is not None
    return TableState({THINGS.name: TableRef(THINGS.name, path, version)}, BUCKETS)


def whole_generation(spark: SparkSession, state: TableState) -> int:
    """The generation that a state holds, after both engines told the same whole content."""
    light = as_rows(delta_reads.read_light(state, THINGS))
    assert as_bag(light) == as_bag(as_rows(delta_reads.read(spark, state, THINGS).toArrow()))
    (number,) = {row["number"] for row in light}
    assert len(light) == OWNERS * ROWS_PER_OWNER
    assert as_bag(light) == as_bag(generation(number))
    return int(number)


def repeat_the_write(folder: Path, spark: SparkSession, way: str) -> TableState:
    """Recover, and do what the killed runs did not come to."""
    store = DeltaStore(str(folder / "tables"), lambda: spark, limits=LIMITS[way])
    attempt = begin_attempt(StateFolder(folder), FIRST_COMMIT, "test")
    state = recover(store, Ledger(store), (THINGS,), attempt).working
    rows = arrow(THINGS, generation(LAST_GENERATION))
    scope = Scope.of(file_id(owner) for owner in range(OWNERS))
    given = spark.createDataFrame(rows) if way == SPARK else rows
    written = store.replace_files(state, THINGS, given, scope, attempt)
    assert (written.way, len(written.owners)) == (way, OWNERS)
    return state.advanced(written.ref)


@pytest.mark.slow
@pytest.mark.parametrize("way", [LIGHT, SPARK])
def test_a_killed_write_leaves_a_whole_table_and_the_next_run_goes_on(
    tmp_path: Path, spark: SparkSession, way: str
) -> None:
    seed = int(os.environ.get("CODEANATOMY_KILL_SEED", random.randrange(10**6)))
    print(f"seed {seed}: set CODEANATOMY_KILL_SEED to repeat the moments")
    moments = random.Random(seed)
    ledger = Ledger(DeltaStore(str(tmp_path / "tables"), lambda: spark))
    left_ahead: list[str] = []
    for python_alone, passing in KILLS:
        writer = Writer(tmp_path, way)
        assert writer.restored == left_ahead
        writer.kill_in_mid_write(passing, moments.uniform(0, WRITE_SECONDS[way]), python_alone)
        # An orphaned JVM may still commit until it has ended: the lock tells when.
        with StateLock(tmp_path).holding("a look", wait_seconds=60):
            found = on_disk(tmp_path)
            number = whole_generation(spark, found)
            last = ledger.last()
            assert last is not None
            assert {row["number"] for row in as_rows(delta_reads.read_light(last.state, THINGS))} == {1}
            left_ahead = [THINGS.name] if found.ref(THINGS).version > last.state.ref(THINGS).version else []
            print(f"killed: generation {number}, version {found.ref(THINGS).version}, ahead: {left_ahead}")
    assert whole_generation(spark, repeat_the_write(tmp_path, spark, way)) == LAST_GENERATION
    assert [row.mode for row in ledger.rows()[1:]] == ["recovery"] * (len(ledger.rows()) - 1)

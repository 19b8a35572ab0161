"""Spark's Python workers keep what they imported out of garbage collection, and nothing else."""

from __future__ import annotations

import gc
import socket
import weakref
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from codeanatomy_assets.storage import python_workers

TASKS = 8
Batches = Iterator[pa.RecordBatch]
TOLD = "worker long, frozen long, looked_through long"


def told() -> Callable[[Batches], Batches]:
    """Workers have no module of tests: they are sent the function itself."""

    def tell(batches: Batches) -> Batches:
        import gc
        import os

        for _ in batches:
            yield pa.RecordBatch.from_pydict(
                {"worker": [os.getpid()], "frozen": [gc.get_freeze_count()], "looked_through": [len(gc.get_objects())]}
            )

    return tell


def failing() -> Callable[[Batches], Batches]:
    def fail(batches: Batches) -> Batches:
        yield from batches
        raise ValueError("a task that fails")

    return fail


def test_a_worker_that_did_a_task_has_little_to_look_through(spark: SparkSession) -> None:
    rows = spark.range(0, TASKS, 1, TASKS)
    rows.mapInArrow(told(), TOLD).collect()
    again = rows.mapInArrow(told(), TOLD).collect()
    known = [row for row in again if row["frozen"]]
    assert known, "no worker did a second task"
    assert all(row["looked_through"] < row["frozen"] / 10 for row in known)


def test_a_task_that_fails_says_why_and_the_next_one_works(spark: SparkSession) -> None:
    rows = spark.range(0, TASKS, 1, TASKS)
    with pytest.raises(PySparkException, match="a task that fails"):
        rows.mapInArrow(failing(), "id long").collect()
    assert len(rows.mapInArrow(told(), TOLD).collect()) == TASKS


def test_what_a_task_left_as_garbage_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Node:
        def __init__(self) -> None:
            self.itself = self

    left: list[weakref.ref[Node]] = []

    def run(*_: object) -> int:
        left.append(weakref.ref(Node()))
        return 0

    monkeypatch.setattr(python_workers, "run_task", run)
    try:
        assert python_workers.run_task_and_keep(socket.socket(), True) == 0
        assert left[0]() is None
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()

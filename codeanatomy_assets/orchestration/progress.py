"""Progress: what a run tells while it works, to a terminal or to Dagster's log."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BAR_WIDTH = 24
POLL_SECONDS = 0.3
REDRAW_SECONDS = 0.2
LONG_WORK_SECONDS = 1.0


class Progress(Protocol):
    """Where progress goes."""

    def say(self, text: str) -> None: ...

    def advance(self, label: str, done: int, total: int) -> None: ...


class Terminal:
    """Lines on a stream, and a bar for long work when a person is watching."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._watched = self._stream.isatty()
        self._began: dict[str, float] = {}
        self._drawn = 0.0

    def say(self, text: str) -> None:
        clear = "\r\033[K" if self._watched else ""
        print(f"{clear}{text}", file=self._stream, flush=True)

    def advance(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        began = self._began.setdefault(label, now)
        finished = done >= total
        if finished:
            del self._began[label]
        if (
            not self._watched
            or now - began < LONG_WORK_SECONDS
            or (now - self._drawn < REDRAW_SECONDS and not finished)
        ):
            return
        self._drawn = now
        filled = BAR_WIDTH * done // max(total, 1)
        bar = "█" * filled + "░" * (BAR_WIDTH - filled)
        self._stream.write(f"\r\033[K  {label} {bar} {done}/{total}" + ("\r\033[K" if finished else ""))
        self._stream.flush()


class Bars(Terminal):
    """The bars alone, for a loop that tells each run in one line."""

    def say(self, text: str) -> None:
        pass


class Log:
    """Lines in a log such as Dagster's; long work at every tenth."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._tenths: dict[str, int] = {}

    def say(self, text: str) -> None:
        self._log(text)

    def advance(self, label: str, done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if tenth > self._tenths.get(label, 0):
            self._log(f"{label}: {done} of {total}")
        self._tenths[label] = 0 if done >= total else tenth


@contextmanager
def watched(spark: SparkSession, progress: Progress, label: str) -> Iterator[None]:
    """Tell how far Spark's jobs are, by their tasks, while a block runs them."""
    ended = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def tell() -> None:
        while not ended.wait(POLL_SECONDS):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            running = [stage for stage in stages if stage is not None]
            total = sum(stage.numTasks for stage in running)
            if total > 1:
                progress.advance(label, sum(stage.numCompletedTasks for stage in running), total)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


@contextmanager
def timed(seconds: dict[str, float], label: str) -> Iterator[None]:
    """Add the time a block takes to its label's."""
    began = time.monotonic()
    try:
        yield
    finally:
        seconds[label] = round(seconds.get(label, 0.0) + time.monotonic() - began, 3)

"""Watching a repository from one process: each new commit is built on a session and an indexer that stay warm."""

from __future__ import annotations

import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from types import TracebackType
from typing import Self

import dagster as dg

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.orchestration.build import Project, opened_project, update_request
from codeanatomy_assets.orchestration.catching_up import PAUSES, Memory, Step, next_step
from codeanatomy_assets.orchestration.failures import why_it_failed
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import Plan, decide, open_ledger
from codeanatomy_assets.orchestration.progress import Progress
from codeanatomy_assets.orchestration.resources import spark_engine
from codeanatomy_assets.orchestration.summary import report
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.spark_session import SparkEngine

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

Tell = Callable[[str], None]


def watch(
    settings: Settings,
    progress: Progress,
    every: float,
    once: bool,
    say: Tell,
    complain: Tell,
    engine: SparkEngine | None = None,
) -> int:
    """Build commits as they come, until a signal ends it.

    `once` ends when nothing is left, or can't be built now: with 1, if HEAD is not built.
    """
    decide(settings)  # refuses bad input before anything is opened
    with ExitStack() as opened:
        lock, indexer = StateLock(settings.state), WarmIndexer()
        opened.callback(lock.close)
        warm = engine or spark_engine(settings)
        # An engine that was passed is the caller's to stop.
        stop_engine = warm.stop if engine is None else _nothing
        opened.callback(stop_engine)
        opened.callback(indexer.close)
        project = opened.enter_context(opened_project(settings, progress, lambda: warm, lock, indexer))
        for line in project.died:
            complain(line)
        stop = opened.enter_context(StopSignals())
        loop = _Watch(settings, project, stop_engine, lock, indexer, say, complain)
        complain(f"watching {settings.repo} every {every:g} s: Ctrl-C ends it")
        while True:
            # An interrupt that Dagster raises is one that `stop` knows of too.
            seen = Seen.WAITING
            with suppress(dg.DagsterExecutionInterruptedError):
                seen = loop.look(stop)
            if stop.wait(0.0 if seen is Seen.BUILT or once else every):
                complain("stopped; the last built commit is as it was")
                return 0
            if once and seen is not Seen.BUILT:
                return 0 if seen is Seen.NOTHING_TO_DO else 1


def _nothing() -> None:
    pass


class Seen(Enum):
    """What a look at the repository came to."""

    NOTHING_TO_DO = auto()
    BUILT = auto()
    WAITING = auto()


class StopSignals:
    """SIGINT and SIGTERM as something to ask for.

    While a run goes on Dagster has handlers of its own, which stop a step and forget what comes between two.
    """

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._came = False
        self._handlers = {number: signal.signal(number, lambda *_: None) for number in STOP_SIGNALS}
        self._wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def wait(self, seconds: float) -> bool:
        """Sleep, at most until one comes; whether one has come."""
        if not self._came and select.select([self._reader], [], [], seconds)[0]:
            self._came = any(number in STOP_SIGNALS for number in self._reader.recv(4096))
        return self._came


@dataclass
class _Watch:
    settings: Settings
    project: Project
    stop_engine: Callable[[], None]
    lock: StateLock
    indexer: WarmIndexer
    say: Tell
    complain: Tell
    memory: Memory = field(default_factory=Memory)
    _complaint: str = ""

    def look(self, stop: StopSignals) -> Seen:
        """Look once, and build the next commit if there is one."""
        try:
            if self.lock.is_taken():
                return self._wait(f"the state is in use by {self.lock.holder()}: HEAD waits")
            plan = decide(self.settings)
        except BadInput as error:
            return self._wait(str(error))
        if plan.mode == "noop":
            self.memory, self._complaint = self.memory.at_rest(), ""
            return Seen.NOTHING_TO_DO
        step = next_step(plan, self.memory, self.settings.sensor_commits)
        why_not = self.memory.why_not_now(step, plan, time.time())
        if why_not:
            is_told = 0 < self.memory.failures <= len(PAUSES)
            return Seen.WAITING if is_told else self._wait(why_not)
        return self._build(plan, step, stop)

    def _build(self, plan: Plan, step: Step, stop: StopSignals) -> Seen:
        self.memory = self.memory.asking(step, plan)
        began = time.monotonic()
        result = self.project.run_update(update_request(plan, step.commit), raise_on_error=False)
        if result.success:
            self.memory, self._complaint = self.memory.done(), ""
            self.say(self._line(step, time.monotonic() - began))
            return Seen.BUILT
        self.memory = self.memory.failed(result.run_id[:8], time.time())
        # What broke may be what was kept: the next try starts with new ones.
        self.indexer.close()
        self.stop_engine()
        if not stop.wait(0.0):
            self.complain(f"{short(step.commit)} failed: {why_it_failed(result)}")
            if self.memory.failures <= len(PAUSES):
                pause = PAUSES[self.memory.failures - 1]
                self.complain(f"it is tried again in {pause:g} s")
        return Seen.WAITING

    def _line(self, step: Step, seconds: float) -> str:
        built = report(open_ledger(self.settings).resolve(None))
        why = f" ({step.why})" if step.commits > 1 else ""
        rebuilt = f"{built['impacted']} of {built['files']} files rebuilt"
        return f"{short(built['commit'])} {built['mode']}: {rebuilt} in {seconds:.1f} s{why}"

    def _wait(self, why: str) -> Seen:
        """Tell why nothing is built, but not at every look."""
        if why != self._complaint:
            self.complain(why)
            self._complaint = why
        return Seen.WAITING

"""What work takes, all its processes together: CPU, wall time, memory, JVMs; and what it leaves in a state folder."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import psutil  # type: ignore[import-untyped]

from codeanatomy_assets.errors import CodeAnatomyError

SAMPLE_SECONDS = 0.5
LAST_WORDS = 2_000
MEGABYTE = 1_048_576
DELTA_LOG = "_delta_log"


@dataclass(frozen=True)
class Usage:
    """What one piece of work took; `java_processes` are the JVMs that were seen in it."""

    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: int
    java_processes: int

    def told(self) -> dict[str, float]:
        """As it is kept: more digits would be noise."""
        return {name: round(value, 2) for name, value in asdict(self).items()}


class ProcessTree:
    """A process and its descendants, as they are at each question."""

    def __init__(self, pid: int | None = None) -> None:
        self.root = psutil.Process(pid)

    def processes(self) -> list[psutil.Process]:
        try:
            return [self.root, *self.root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def cpu_seconds(self) -> float:
        """CPU of all of them, of those that ended too: an ended process's time is its parent's."""
        total = 0.0
        for process in self.processes():
            try:
                used = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += used.user + used.system + used.children_user + used.children_system
        return total


class Peak:
    """The most memory that a tree had at once, and the JVMs in it, looked at twice a second.

    Memory is the proportional set: pages that forked workers share are counted once. What lives shorter than the time
    between two looks may be missed.
    """

    def __init__(self, tree: ProcessTree) -> None:
        self.megabytes = 0
        self._java: set[int] = set()
        self._tree = tree
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def java_processes(self) -> int:
        return len(self._java)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self._look()
            if self._ended.wait(SAMPLE_SECONDS):
                return

    def _look(self) -> None:
        used = 0
        for process in self._tree.processes():
            try:
                if process.name() == "java":
                    self._java.add(process.pid)
                used += process.memory_full_info().pss
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue  # it ended meanwhile; one that is about to has no memory to tell of
        self.megabytes = max(self.megabytes, used // MEGABYTE)


def run_measured(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None, limit: float | None = None
) -> tuple[Usage, str]:
    """Run a command to its end: what it took, and what it said on stdout. One that fails is an error."""
    before, began = _children_cpu(), time.monotonic()
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=complained
        )
        try:
            with Peak(ProcessTree(process.pid)) as peak:
                process.wait(limit)
        finally:
            end_with_descendants(process)
        wall = time.monotonic() - began
        if process.returncode != 0:
            complained.seek(0)
            words = complained.read()[-LAST_WORDS:].strip()
            raise CodeAnatomyError(f"{' '.join(command)} ended with {process.returncode}: {words}")
        said.seek(0)
        usage = Usage(_children_cpu() - before, wall, peak.megabytes, peak.java_processes)
        return usage, said.read()


def end_with_descendants(process: subprocess.Popen[Any]) -> None:
    """Of a command that was interrupted or took too long, nothing goes on beside the next one."""
    if process.poll() is not None:
        return
    for each in reversed(ProcessTree(process.pid).processes()):
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class StateFiles:
    """The files of a state folder at one moment: path → inode and size."""

    files: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, state: Path) -> StateFiles:
        found = {}
        for folder, _, names in os.walk(state):
            for name in names:
                path = os.path.join(folder, name)
                told = os.lstat(path)
                found[os.path.relpath(path, state)] = (told.st_ino, told.st_size)
        return cls(found)

    def bytes_since(self, before: StateFiles) -> dict[str, int]:
        """What was written and is still there, by entry of the folder: new files, and what known ones grew by."""
        written: Counter[str] = Counter()
        for path, (inode, size) in self.files.items():
            known_inode, known_size = before.files.get(path, (None, 0))
            written[Path(path).parts[0]] += max(size - known_size, 0) if inode == known_inode else size
        return {part: count for part, count in written.most_common() if count}

    def delta_commits_since(self, before: StateFiles) -> int:
        return sum(_is_delta_commit(path) for path in self.files.keys() - before.files.keys())


def _is_delta_commit(path: str) -> bool:
    folder, name = os.path.split(path)
    return os.path.basename(folder) == DELTA_LOG and name.removesuffix(".json").isdigit() and name.endswith(".json")

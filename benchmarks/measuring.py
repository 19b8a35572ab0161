"""What work takes, all its processes together: CPU, wall time, memory, JVMs; and what it leaves in a state folder."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, TextIO

import psutil  # type: ignore[import-untyped]

from codeanatomy_assets.errors import CodeAnatomyError

SAMPLE_SECONDS = 0.5
LAST_WORDS = 2_000
FIRST_PART = "start"
MEGABYTE = 1_048_576
JAVA, NODE, OTHER_PROGRAMS = "java", "node", "python"
PROGRAMS = (JAVA, NODE)
TABLES = "tables"
DELTA_LOG = "_delta_log"

# Of a line that the work said: the part of it that begins there, if one does.
PartOf = Callable[[str], str | None]


@dataclass
class PartUsage:
    """What all processes took while one part of the work was on."""

    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_megabytes: int = 0


@dataclass(frozen=True)
class Usage:
    """What one piece of work took; `java_processes` are the JVMs that were seen in it."""

    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: int
    java_processes: int
    megabytes_by_program: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, PartUsage] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """As it is kept: more digits would be noise. Parts are told apart from it."""
        numbers = ("cpu_seconds", "wall_seconds", "peak_megabytes", "java_processes")
        rounded = {name: round(getattr(self, name), 2) for name in numbers}
        return {**rounded, "peak_megabytes_by_program": dict(self.megabytes_by_program)}

    def told_by_part(self) -> dict[str, dict[str, float]]:
        return {
            part: {name: round(value, 2) for name, value in asdict(used).items()} for part, used in self.parts.items()
        }


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
    between two looks may be missed. With `part`, which tells the part of the work that is on, CPU and memory are kept
    by part too, to the nearest look. `cpu_seconds` is the most that the tree had used at a look.
    """

    def __init__(self, tree: ProcessTree, part: Callable[[], str] | None = None) -> None:
        self.megabytes = 0
        self.megabytes_by_program: dict[str, int] = {}
        self.parts: dict[str, PartUsage] = defaultdict(PartUsage)
        self._java: set[int] = set()
        self._tree = tree
        self._part = part
        self.cpu_seconds, self._time = 0.0, time.monotonic()
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
        used: Counter[str] = Counter()
        for process in self._tree.processes():
            try:
                program = _program(process)
                used[program if program in PROGRAMS else OTHER_PROGRAMS] += process.memory_full_info().pss
                if program == JAVA:
                    self._java.add(process.pid)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue  # it ended meanwhile; one that is about to has no memory to tell of
        megabytes = used.total() // MEGABYTE
        self.megabytes = max(self.megabytes, megabytes)
        for program, size in used.items():
            known = self.megabytes_by_program.get(program, 0)
            self.megabytes_by_program[program] = max(known, size // MEGABYTE)
        cpu_seconds = self._tree.cpu_seconds()
        if self._part is not None:
            self.add_to_part(self._part(), cpu_seconds, megabytes)
        self.cpu_seconds = max(self.cpu_seconds, cpu_seconds)

    def add_to_part(self, part: str, cpu_seconds: float, megabytes: int = 0) -> None:
        """Everything since the last look was this part's. The sum falls while a process is about to end."""
        now, found = time.monotonic(), self.parts[part]
        found.cpu_seconds += max(cpu_seconds - self.cpu_seconds, 0.0)
        found.wall_seconds += now - self._time
        found.peak_megabytes = max(found.peak_megabytes, megabytes)
        self.cpu_seconds, self._time = max(cpu_seconds, self.cpu_seconds), now


class SaidPart:
    """The part of the work that is on, told by the last line that began one."""

    def __init__(self, said: TextIO, part_of: PartOf, first: str) -> None:
        self._said = said
        self._part_of = part_of
        self._part = first
        self._unfinished = ""
        self._read = 0

    def __call__(self) -> str:
        """Read by place, not through the file object, whose place the writing process shares."""
        new = os.pread(self._said.fileno(), MEGABYTE, self._read)
        self._read += len(new)
        *lines, self._unfinished = (self._unfinished + new.decode(errors="replace")).split("\n")
        for line in lines:
            self._part = self._part_of(line) or self._part
        return self._part


def _program(process: psutil.Process) -> str:
    """As it was called, not by the name that it gives itself: Node goes by its thread's."""
    called: list[str] = process.cmdline()
    return Path(called[0]).name if called else ""


def run_measured(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    limit: float | None = None,
    part_of: PartOf | None = None,
) -> tuple[Usage, str]:
    """Run a command to its end: what it took, and what it said on stdout. One that fails is an error.

    `part_of` tells by a line on stderr which part of the work begins.
    """
    before, began = _children_cpu(), time.monotonic()
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=complained
        )
        part = None if part_of is None else SaidPart(complained, part_of, FIRST_PART)
        try:
            with Peak(ProcessTree(process.pid), part) as peak:
                process.wait(limit)
        finally:
            end_with_descendants(process)
        wall = time.monotonic() - began
        if process.returncode != 0:
            complained.seek(0)
            words = complained.read()[-LAST_WORDS:].strip()
            raise CodeAnatomyError(f"{' '.join(command)} ended with {process.returncode}: {words}")
        said.seek(0)
        # A worker whose parent ended before it is nobody's child, and left out of what the children took.
        cpu = max(_children_cpu() - before, peak.cpu_seconds)
        if part is not None:
            peak.add_to_part(part(), cpu)
        usage = Usage(cpu, wall, peak.megabytes, peak.java_processes, peak.megabytes_by_program, peak.parts)
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
        return _sums((path.parts[0], size) for path, size in self._written_since(before))

    def table_bytes_since(self, before: StateFiles) -> dict[str, int]:
        """The same by table."""
        return _sums((path.parts[1], size) for path, size in self._written_since(before) if path.parts[0] == TABLES)

    def delta_commits_since(self, before: StateFiles) -> dict[str, int]:
        """New versions of each table."""
        new = map(Path, self.files.keys() - before.files.keys())
        return _sums((path.parts[1], 1) for path in new if path.parts[0] == TABLES and _is_delta_commit(path))

    def _written_since(self, before: StateFiles) -> Iterable[tuple[Path, int]]:
        for path, (inode, size) in self.files.items():
            known_inode, known_size = before.files.get(path, (None, 0))
            yield Path(path), max(size - known_size, 0) if inode == known_inode else size


def _sums(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The greatest first, without those of nothing."""
    total: Counter[str] = Counter()
    for name, count in counts:
        total[name] += count
    return {name: count for name, count in total.most_common() if count}


def _is_delta_commit(path: Path) -> bool:
    return path.parent.name == DELTA_LOG and path.suffix == ".json" and path.stem.isdigit()

"""Watching a repository: one line per built commit, failures survived, a clean end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest

from codeanatomy_assets.cli import main
from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.orchestration import catching_up, resources
from codeanatomy_assets.orchestration import watch as watching
from codeanatomy_assets.orchestration.build import dagster_instance
from codeanatomy_assets.orchestration.watch import StopSignals, watch
from codeanatomy_assets.storage.ledger import Ledger
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.states import BuiltState

COMMAND = Path(sys.prefix) / "bin" / "codeanatomy"


@dataclass
class Watcher:
    """A state that is watched in this process; what was said is kept, and acted on by the test."""

    built: BuiltState
    said: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def watch(
        self,
        once: bool = False,
        on_say: Callable[[str], None] = lambda _: None,
        on_complain: Callable[[str], None] = lambda _: None,
    ) -> int:
        def say(line: str) -> None:
            self.said.append(line)
            on_say(line)

        def complain(line: str) -> None:
            self.complaints.append(line)
            on_complain(line)

        return watch(self.built.settings, self.built.progress, 0.05, once, say, complain, self.built.engine)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory, engine: SparkEngine) -> BuiltState:
    """One state for the module, built up to its first commit."""
    built = BuiltState.create(tmp_path_factory.mktemp("watch"), engine)
    built.commit({"pkg/a.py": "def a(): ...\n", "pkg/b.py": "from pkg.a import a\n\na()\n"})
    return built


@pytest.fixture
def watcher(state: BuiltState) -> Watcher:
    return Watcher(state)


def stop(_: str = "") -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def change(watcher: Watcher, text: str) -> str:
    return watcher.built.repo.commit_files({"pkg/a.py": f"def a({text}): ...\n"})


def test_once_builds_every_commit_that_waits_and_tells_each_in_a_line(watcher: Watcher) -> None:
    commits = [change(watcher, "x"), change(watcher, "x, y")]
    assert watcher.watch(once=True) == 0
    assert [line.split()[0] for line in watcher.said] == [commit[:12] for commit in commits]
    assert all(re.search(r" incremental: \d of 2 files rebuilt in \d+\.\d s$", line) for line in watcher.said)
    assert [row.commit for row in watcher.built.ledger_rows()][-2:] == commits
    watcher.said.clear()
    assert watcher.watch(once=True) == 0
    assert watcher.said == []


def test_a_failed_build_is_told_and_tried_again_after_a_pause(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = change(watcher, "z")
    monkeypatch.setattr(catching_up, "PAUSES", (0.2, 0.2, 0.2))
    monkeypatch.setattr(watching, "PAUSES", (0.2, 0.2, 0.2))
    append = Ledger.append

    def once_broken(*arguments: object) -> object:
        monkeypatch.setattr(Ledger, "append", append)
        raise CodeAnatomyError("the disk is full: make room")

    monkeypatch.setattr(Ledger, "append", once_broken)
    assert watcher.watch(on_say=stop) == 0
    assert f"{head[:12]} failed: the disk is full: make room" in watcher.complaints
    assert [line.split()[0] for line in watcher.said] == [head[:12]]
    with dagster_instance(watcher.built.settings) as instance:
        statuses = [run.status for run in instance.get_runs(limit=2)]
    assert statuses == [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]


def test_once_ends_with_1_after_a_failure(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    change(watcher, "u")

    def broken(*_: object) -> None:
        raise RuntimeError("the JVM is gone")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", broken)
        assert watcher.watch(once=True) == 1
    assert any("the JVM is gone" in line for line in watcher.complaints)
    assert watcher.watch(once=True) == 0


def test_a_commit_that_comes_while_it_watches_is_built(watcher: Watcher) -> None:
    commits = []

    def commit_when_watching(line: str) -> None:
        if line.startswith("watching"):
            commits.append(change(watcher, "later"))

    assert watcher.watch(on_say=stop, on_complain=commit_when_watching) == 0
    assert [line.split()[0] for line in watcher.said] == [commit[:12] for commit in commits]
    assert watcher.complaints[-1] == "stopped; the last built commit is as it was"


def test_a_state_in_use_is_told_once_and_waited_for(watcher: Watcher) -> None:
    head = change(watcher, "in_use")
    other = StateLock(watcher.built.settings.state)
    looks = iter(range(1_000))

    class Glances(StopSignals):
        def wait(self, seconds: float) -> bool:
            if next(looks) == 3:
                other.release()
            return super().wait(seconds)

    other.acquire("codeanatomy vacuum")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watching, "StopSignals", Glances)
        assert watcher.watch(on_say=stop) == 0
    assert sum("in use by codeanatomy vacuum (process" in line for line in watcher.complaints) == 1
    assert [line.split()[0] for line in watcher.said] == [head[:12]]


def test_once_ends_with_1_if_it_may_not_build(watcher: Watcher) -> None:
    change(watcher, "held")
    with StateLock(watcher.built.settings.state).holding("codeanatomy vacuum"):
        assert watcher.watch(once=True) == 1
    assert watcher.said == []
    assert watcher.watch(once=True) == 0
    assert len(watcher.said) == 1


def test_a_repository_that_goes_away_is_told_once_and_waited_for(watcher: Watcher) -> None:
    folder = watcher.built.repo.folder
    head = change(watcher, "away")
    seen = iter(range(1_000))

    class Glances(StopSignals):
        def wait(self, seconds: float) -> bool:
            if next(seen) == 3:
                folder.with_name("gone").rename(folder)
            return super().wait(seconds)

    def hide(line: str) -> None:
        if line.startswith("watching"):
            folder.rename(folder.with_name("gone"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watching, "StopSignals", Glances)
        assert watcher.watch(on_say=stop, on_complain=hide) == 0
    assert sum("does not exist" in line for line in watcher.complaints) == 1
    assert [line.split()[0] for line in watcher.said] == [head[:12]]


def test_stopped_while_a_run_starts_it_ends_cleanly_and_the_run_is_recorded_failed(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = change(watcher, "starting")
    with monkeypatch.context() as patch:
        patch.setattr(resources, "mark_run", lambda _: stop())
        assert watcher.watch() == 0
    assert (watcher.said, watcher.complaints[-1]) == ([], "stopped; the last built commit is as it was")
    with dagster_instance(watcher.built.settings) as instance:
        assert instance.get_runs(limit=1)[0].status is dg.DagsterRunStatus.FAILURE
    assert watcher.built.build()["commit"] == head


def test_bad_input_is_refused_before_anything_is_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(tmp_path / "nowhere"), "--state", str(tmp_path / "state")]) == BadInput.exit_code
    assert "does not exist" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_dagster_took_is_still_known(number: signal.Signals) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with StopSignals() as stopping:
        assert not stopping.wait(0.0)
        signal.signal(number, lambda *_: None)
        os.kill(os.getpid(), number)
        assert stopping.wait(10.0)
        assert stopping.wait(0.0)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@dataclass
class WatchProcess:
    """The command, in a process group of its own."""

    process: subprocess.Popen[str]

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def children(self) -> dict[int, str]:
        """Process id and name of all that it started, directly or not."""
        found: dict[int, str] = {}
        waiting = [self.process.pid]
        while waiting:
            parent = waiting.pop()
            born = {pid: name for pid, (name, its_parent) in processes().items() if its_parent == parent}
            found |= born
            waiting += born
        return found


def processes() -> dict[int, tuple[str, int]]:
    """Program and parent of every process that is not on its way out."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                found[int(folder.name)] = ((folder / "exe").readlink().name, int(parent))
    return found


@pytest.fixture
def started(tmp_path: Path, engine: SparkEngine) -> Iterator[tuple[BuiltState, WatchProcess]]:
    """`codeanatomy watch` on a repository with one commit."""
    built = BuiltState.create(tmp_path, engine)
    built.repo.commit_files({"pkg/a.py": "def a(): ...\n"})
    process = subprocess.Popen(
        [COMMAND, "watch", built.repo.folder, "--every", "0.5", "--state", built.settings.state],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield built, WatchProcess(process)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def left_of(children: dict[int, str], seconds: float = 20.0) -> set[int]:
    """Those that are still there after a while."""
    deadline = time.monotonic() + seconds
    while children.keys() & processes().keys() and time.monotonic() < deadline:
        time.sleep(0.1)
    return children.keys() & processes().keys()


def wait_for_a_build(built: BuiltState, seconds: float = 60.0) -> None:
    lock, deadline = StateLock(built.settings.state), time.monotonic() + seconds
    while not lock.is_taken() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert lock.is_taken()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_builds_commits_as_they_come_and_ends_cleanly(
    started: tuple[BuiltState, WatchProcess], number: signal.Signals
) -> None:
    built, command = started
    assert "full: 1 of 1 files rebuilt" in command.line()
    warm = {pid for pid, name in command.children().items() if name in ("java", "node")}
    second = built.repo.commit_files({"pkg/b.py": "from pkg.a import a\n\na()\n"})
    assert command.line().startswith(f"{second[:12]} incremental: 1 of 2 files rebuilt")
    children = command.children()
    assert warm <= children.keys() and len(warm) == 2
    command.process.send_signal(number)
    _, said = command.process.communicate(timeout=60)
    assert command.process.returncode == 0
    assert said.splitlines()[-1] == "stopped; the last built commit is as it was"
    assert left_of(children) == set()
    with dagster_instance(built.settings) as instance:
        assert {run.status for run in instance.get_runs()} == {dg.DagsterRunStatus.SUCCESS}


@pytest.mark.slow
def test_stopped_in_mid_build_it_ends_cleanly_and_the_next_build_is_right(
    started: tuple[BuiltState, WatchProcess],
) -> None:
    built, command = started
    command.line()
    second = built.repo.commit_files({"pkg/b.py": "from pkg.a import a\n\na()\n"})
    wait_for_a_build(built)
    children = command.children()
    command.process.send_signal(signal.SIGTERM)
    _, said = command.process.communicate(timeout=60)
    assert command.process.returncode == 0, said
    assert said.splitlines()[-1] == "stopped; the last built commit is as it was"
    assert left_of(children) == set()
    assert built.build()["commit"] == second
    with dagster_instance(built.settings) as instance:
        assert not [run for run in instance.get_runs() if not run.is_finished]


@pytest.mark.slow
def test_no_child_of_a_killed_watch_survives_and_its_run_is_reported_failed(
    started: tuple[BuiltState, WatchProcess],
) -> None:
    built, command = started
    command.line()
    built.repo.commit_files({"pkg/b.py": "from pkg.a import a\n\na()\n"})
    wait_for_a_build(built)
    children = command.children()
    assert {"java", "node"} <= set(children.values())
    command.process.kill()
    command.process.wait()
    assert left_of(children) == set()
    assert built.build()["mode"] in ("incremental", "noop")
    with dagster_instance(built.settings) as instance:
        assert not [run for run in instance.get_runs() if not run.is_finished]

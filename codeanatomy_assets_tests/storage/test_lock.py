"""The state lock, between real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeanatomy_assets.errors import StateInUse
from codeanatomy_assets.storage.lock import StateLock

HOLDER = """
import subprocess, sys, time
from pathlib import Path
from codeanatomy_assets.storage.lock import StateLock
lock = StateLock(Path(sys.argv[1]))
lock.acquire("a test's build")
child = subprocess.Popen(["sleep", "60"], pass_fds=(lock.descriptor,)) if "child" in sys.argv else None
print(child.pid if child else 0, flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""


class Holder:
    """A process that holds the lock until it is told to let go, or killed."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-c", HOLDER, str(folder), *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.child = int(self._told())

    def _told(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def release(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self._told() == "released\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        if self.child:
            os.kill(self.child, signal.SIGKILL)
            self.child = 0
        self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    holder = Holder(tmp_path)
    yield holder
    holder.end()


@pytest.fixture
def holder_with_child(tmp_path: Path) -> Iterator[Holder]:
    holder = Holder(tmp_path, "child")
    yield holder
    holder.end()


def can_take(folder: Path, wait_seconds: float = 0.0) -> bool:
    lock = StateLock(folder)
    try:
        with lock.holding("a look", wait_seconds):
            return True
    except StateInUse:
        return False
    finally:
        os.close(lock.descriptor)


def test_the_holder_is_named_to_whoever_comes_second(tmp_path: Path, holder: Holder) -> None:
    named = (
        rf"state folder {tmp_path} is in use by a test's build \(process {holder.process.pid} on .*, since .*\): wait"
    )
    with pytest.raises(StateInUse, match=named) as refused:
        StateLock(tmp_path).acquire("second")
    assert refused.value.exit_code == 2
    assert StateLock(tmp_path).is_taken()


def test_waiting_gets_the_lock_when_it_is_released(tmp_path: Path, holder: Holder) -> None:
    told: list[str] = []
    second = StateLock(tmp_path)
    letting_go = threading.Timer(0.5, holder.release)
    letting_go.start()
    second.acquire("second", wait_seconds=30, on_wait=told.append)
    letting_go.join()
    assert second.held and len(told) == 1 and told[0].startswith("waiting for a test's build (process")
    second.release()
    assert not StateLock(tmp_path).is_taken()


def test_waiting_ends_when_its_time_is_over(tmp_path: Path, holder: Holder) -> None:
    began = time.monotonic()
    with pytest.raises(StateInUse):
        StateLock(tmp_path).acquire("second", wait_seconds=0.5)
    assert 0.5 <= time.monotonic() - began < 10


def test_a_killed_holder_frees_the_lock(tmp_path: Path, holder: Holder) -> None:
    assert not can_take(tmp_path)
    holder.kill()
    assert can_take(tmp_path, wait_seconds=5)


def test_a_child_of_a_killed_holder_keeps_the_lock_until_it_ends(tmp_path: Path, holder_with_child: Holder) -> None:
    holder_with_child.kill()
    with pytest.raises(StateInUse, match=r"in use by the last child process of a test's build .*, which died"):
        StateLock(tmp_path).acquire("second", wait_seconds=0.5)
    os.kill(holder_with_child.child, signal.SIGKILL)
    holder_with_child.child = 0
    assert can_take(tmp_path, wait_seconds=10)


def test_release_lets_the_next_in_though_a_child_lives_on(tmp_path: Path, holder_with_child: Holder) -> None:
    holder_with_child.release()
    os.kill(holder_with_child.child, 0)
    assert can_take(tmp_path, wait_seconds=5)


def test_one_process_takes_it_run_after_run_but_not_twice_at_once(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    for _ in range(3):
        with lock.holding("a run"):
            assert lock.is_taken()
            with pytest.raises(StateInUse, match="by this very process"):
                lock.acquire("again")
            with pytest.raises(StateInUse, match="a run"):
                StateLock(tmp_path).acquire("another object")
        assert not lock.is_taken()


def test_looking_at_the_lock_turns_nobody_away(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    with lock.holding("first"):
        pass
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            StateLock(tmp_path).is_taken()
            time.sleep(0.001)

    onlooker = threading.Thread(target=look)
    onlooker.start()
    try:
        for _ in range(300):
            with lock.holding("a run"):
                pass
    finally:
        done.set()
        onlooker.join()


def test_a_state_that_does_not_exist_is_not_taken_and_is_not_made(tmp_path: Path) -> None:
    assert not StateLock(tmp_path / "none").is_taken()
    assert not (tmp_path / "none").exists()

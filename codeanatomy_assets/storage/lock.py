"""The state lock: one writing run at a time, held until its last child process is gone.

The lock is an flock on an open file that child processes inherit (JVM, indexer). Should the run
itself be killed, the lock stays held until the children have ended too, so that no orphan can still
commit while the next run recovers.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from codeanatomy_assets.errors import StateInUse

POLL_SECONDS = 0.2
# `is_taken` holds the lock for an instant to look at it: one look is no reason to refuse a run.
GLANCE_SECONDS = 0.02


class StateLock:
    """Mutual exclusion over a state folder, reusable run after run by one process.

    The file stays open between runs: a JVM that lives on shares the open file, and so every later hold.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lock"
        self.held = False
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """The open lock file, for children to inherit."""
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return self._descriptor

    def acquire(self, purpose: str, wait_seconds: float = 0.0, on_wait: Callable[[str], None] | None = None) -> None:
        """Take the lock, waiting at most `wait_seconds`; the holder is named when it can't be had."""
        if self.held:
            raise StateInUse(f"state folder {self.path.parent} is in use by this very process")
        deadline = time.monotonic() + wait_seconds
        told = False
        if not _try_lock(self.descriptor):
            time.sleep(GLANCE_SECONDS)
        while not _try_lock(self.descriptor):
            if time.monotonic() >= deadline:
                raise StateInUse(
                    f"state folder {self.path.parent} is in use by {self.holder()}: wait for it to end"
                    " (--wait SECONDS), or use another --state"
                )
            if on_wait is not None and not told:
                on_wait(f"waiting for {self.holder()}")
                told = True
            time.sleep(POLL_SECONDS)
        self.held = True
        self._sign(purpose)

    def release(self) -> None:
        """Give the lock up, also for children that inherited the descriptor and live on."""
        if self.held:
            os.ftruncate(self.descriptor, 0)
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
            self.held = False

    def close(self) -> None:
        """Let the file go too, where no later run will use it."""
        self.release()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @contextmanager
    def holding(self, purpose: str, wait_seconds: float = 0.0) -> Iterator[None]:
        self.acquire(purpose, wait_seconds)
        try:
            yield
        finally:
            self.release()

    def is_taken(self) -> bool:
        """Whether somebody holds the lock now; looks without leaving a trace."""
        if self.held:
            return True
        if not self.path.exists():
            return False
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return not _try_lock(descriptor)
        finally:
            os.close(descriptor)

    def holder(self) -> str:
        """Who holds the lock, in words."""
        try:
            told = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return "another run (it has not written its name yet)"
        name = f"{told['purpose']} (process {told['pid']} on {told['host']}, since {told['since']})"
        if told["host"] == socket.gethostname() and not _is_alive(told["pid"]):
            return f"the last child process of {name}, which died"
        return name

    def is_held_by_children_of(self, pid: int) -> bool:
        """Whether processes that a dead run started still hold what it signed for."""
        try:
            told = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return False
        return bool(told["pid"] == pid and told["host"] == socket.gethostname() and self.is_taken())

    def _sign(self, purpose: str) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        name = {"purpose": purpose, "pid": os.getpid(), "host": socket.gethostname(), "since": since}
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, json.dumps(name).encode(), 0)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""The git command, run so that nothing a repository contains or configures is executed."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from codeanatomy_assets.errors import CodeAnatomyError

_TIMEOUT_SECONDS = 900.0

# Given on the command line, they win over whatever a repository's own configuration says. Only
# plumbing that has no use for hooks, filters, drivers or helpers is called; this is the second fence.
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "core.bigFileThreshold": "16m",
    "core.protectNTFS": "false",
    "core.protectHFS": "false",
    "core.warnAmbiguousRefs": "true",
    "safe.directory": "*",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
}


@cache
def _executable() -> str:
    found = shutil.which("git")
    if found is None:
        raise CodeAnatomyError("the git command was not found: install git 2.39 or newer")
    return os.path.abspath(found)


@cache
def _environment() -> dict[str, str]:
    """A closed environment: no GIT_* variable, home folder or credential of the caller gets through.

    No transport is allowed at all: a partial clone would otherwise fetch what it lacks by the helper
    its configuration names.
    """
    return {
        "PATH": f"{os.path.dirname(_executable())}{os.pathsep}{os.defpath}",
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": "/dev/null",
    }


@dataclass(frozen=True)
class Git:
    """Runs git so that nothing a repository contains or configures is executed."""

    location: tuple[str, ...]

    @classmethod
    def discovering(cls, folder: Path) -> Git:
        return cls(("-C", str(folder)))

    @classmethod
    def at(cls, git_dir: Path) -> Git:
        return cls(("--git-dir", str(git_dir)))

    def attempt(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run to the end, whatever the exit code."""
        try:
            return subprocess.run(
                self._command(arguments),
                input=stdin,
                capture_output=True,
                env={**_environment(), **(environment or {})},
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise self._too_slow(arguments) from late

    def run(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """The output of a command that must succeed."""
        done = self.attempt(*arguments, stdin=stdin, environment=environment)
        if done.returncode:
            raise self._failed(arguments, done.stderr)
        return done.stdout

    @contextmanager
    def output(self, *arguments: str, stdin: IO[bytes] | None = None, timed: bool = True) -> Iterator[IO[bytes]]:
        """The output of a command that must succeed, as a stream to be read to its end."""
        with self._started(arguments, stdin or subprocess.DEVNULL, subprocess.PIPE, timed) as process:
            assert process.stdout is not None
            yield process.stdout

    @contextmanager
    def input(self, *arguments: str) -> Iterator[IO[bytes]]:
        """The input of a command that must succeed, as a stream."""
        with self._started(arguments, subprocess.PIPE, subprocess.DEVNULL, timed=False) as process:
            assert process.stdin is not None
            yield process.stdin

    @contextmanager
    def _started(
        self, arguments: Sequence[str], stdin: IO[bytes] | int, stdout: int, timed: bool
    ) -> Iterator[subprocess.Popen[bytes]]:
        with TemporaryFile() as errors:
            process = subprocess.Popen(
                self._command(arguments), stdin=stdin, stdout=stdout, stderr=errors, env=_environment()
            )
            alarm = threading.Timer(_TIMEOUT_SECONDS, process.kill)
            alarm.daemon = True
            if timed:
                alarm.start()
            finished = False
            try:
                yield process
                finished = True
            except BrokenPipeError:
                # Its own message, below, says more than the pipe does.
                finished = True
            finally:
                if not finished:
                    process.kill()
                for pipe in (process.stdin, process.stdout):
                    with suppress(BrokenPipeError):
                        if pipe is not None:
                            pipe.close()
                process.wait()
                alarm.cancel()
            if process.returncode:
                errors.seek(0)
                raise self._failed(arguments, errors.read())

    def _command(self, arguments: Sequence[str]) -> list[str]:
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        return [_executable(), "--no-pager", *self.location, *settings, *arguments]

    def _failed(self, arguments: Sequence[str], stderr: bytes) -> CodeAnatomyError:
        return CodeAnatomyError(f"git {arguments[0]} failed in {self.location[1]}: {words(stderr) or 'it was ended'}")

    def _too_slow(self, arguments: Sequence[str]) -> CodeAnatomyError:
        return CodeAnatomyError(
            f"git {arguments[0]} in {self.location[1]} took over {_TIMEOUT_SECONDS:.0f} s:"
            " run `git fsck` there, look whether its disk answers, and build again"
        )


def words(stderr: bytes) -> str:
    """What git said, in one line."""
    return " ".join(stderr.decode("utf-8", "replace").split())

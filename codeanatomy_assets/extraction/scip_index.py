"""The indexer's process: started, told of files, read frame by frame, limited, and its last words kept.

The driver (scip_driver/) stays warm as long as the `ScipIndexer` is open. Whatever keeps it from
answering raises; only a document that can't be made, twice over in two processes, is an answer.
"""

from __future__ import annotations

import json
import os
import selectors
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from codeanatomy_assets import toolchain
from codeanatomy_assets.errors import CodeAnatomyError

INDEXER_VERSION = "0.6.6"
INDEXER = f"scip-python {INDEXER_VERSION}"
DRIVER = Path(__file__).with_name("scip_driver")
LAST_WORDS_BYTES = 4000
# Deeply nested sources overflow Node's standard stack at a depth that varies from run to run.
STACK_KILOBYTES = 3900
CHUNK_BYTES = 1 << 20
END_SECONDS = 5.0

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Surroundings:
    """Everything beside the repository's files that a document depends on: it belongs into fingerprints."""

    python_version: str = "3.12"
    search_roots: tuple[str, ...] = ()
    site_packages: Path | None = None
    project_name: str = "repository"
    project_version: str = "0"

    def settings(self, root: Path) -> dict[str, Any]:
        return {
            "root": str(root),
            "python_version": self.python_version,
            "search_roots": list(self.search_roots),
            "site_packages": None if self.site_packages is None else str(self.site_packages),
            "project_name": self.project_name,
            "project_version": self.project_version,
        }


@dataclass(frozen=True)
class Limits:
    """How long the indexer may be silent, and how much memory its heap may take."""

    silent_seconds: float = 900.0
    memory_megabytes: int = 4096


class MroClass(NamedTuple):
    """A class that another one inherits from; `path` and `local_qname` are empty outside the repository."""

    path: str
    local_qname: str
    name: str


@dataclass(frozen=True)
class InterfaceEntry:
    """One name that a file offers, as the driver tells it; the contract is `py_interface`."""

    path: str
    kind: str
    fingerprint: str
    is_return_inferred: bool
    is_open: bool
    is_cut: bool
    is_noreturn: bool
    mentions: tuple[str, ...]
    reaches: tuple[str, ...]
    mro: tuple[MroClass, ...] = ()

    @classmethod
    def from_frame(cls, entry: dict[str, Any]) -> Self:
        lists = {name: tuple(entry[name]) for name in ("mentions", "reaches")}
        return cls(**{**entry, **lists, "mro": tuple(MroClass(*each) for each in entry["mro"])})


@dataclass(frozen=True)
class IndexedFile:
    """A file's SCIP document as bytes, and what the file offers to others."""

    path: str
    document: bytes
    interface: tuple[InterfaceEntry, ...]


@dataclass(frozen=True)
class FailedFile:
    """A file whose document could not be made, for the same reason in two processes."""

    path: str
    reason: str


class ScipIndexer:
    """A warm indexer over one folder of Python files. Close it, or let `with` do so: its process ends."""

    def __init__(self, root: Path, surroundings: Surroundings | None = None, limits: Limits | None = None) -> None:
        self.root = root
        self.surroundings = surroundings or Surroundings()
        self.limits = limits or Limits()
        self._process = _DriverProcess(self.limits)
        self.cpu_seconds = 0.0
        self.rss_bytes = 0
        try:
            self._process.expect("ready")
            self._tell({"op": "open", "settings": self.surroundings.settings(root)})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._process.close()

    def interrupt(self) -> None:
        """End it from another thread, whatever it is at: who waits for its answer is told that it died."""
        self._process.interrupt()

    def update(self, changed: Iterable[str] = (), added: Iterable[str] = (), deleted: Iterable[str] = ()) -> None:
        """Tells what happened in the folder since the last call; every file that moved must be named."""
        self._tell({"op": "update", "changed": list(changed), "added": list(added), "deleted": list(deleted)})

    def index(self, files: Iterable[str], on_progress: Progress | None = None) -> Iterator[IndexedFile | FailedFile]:
        """Each file's document in the order asked, failed ones last; progress is (files done, files asked)."""
        asked = list(files)
        failed: list[FailedFile] = []
        for done, answer in enumerate(self._answers(asked), start=1):
            if isinstance(answer, FailedFile):
                failed.append(answer)
            else:
                yield answer
            if on_progress is not None:
                on_progress(done, len(asked))
        if failed:
            yield from self._asked_again(failed)

    def _asked_again(self, failed: list[FailedFile]) -> Iterator[IndexedFile | FailedFile]:
        """Failures are confirmed in a fresh process: one that was this process's own leaves no trace."""
        reasons = {failure.path: failure.reason for failure in failed}
        with ScipIndexer(self.root, self.surroundings, self.limits) as fresh:
            for answer in fresh._answers(list(reasons)):
                if isinstance(answer, FailedFile) and answer.reason != reasons[answer.path]:
                    raise CodeAnatomyError(
                        f"{INDEXER} failed on {answer.path} in two ways, so neither is an answer; build again,"
                        " and if it stays give it more memory (CODEANATOMY_INDEX_MEMORY_MEGABYTES): "
                        f"{reasons[answer.path]} / {answer.reason}"
                    )
                yield answer

    def _answers(self, files: list[str]) -> Iterator[IndexedFile | FailedFile]:
        self._process.send({"op": "index", "files": files})
        due = iter(files)
        while True:
            self._process.is_at = next(due, None)
            header, body = self._process.receive()
            if header["kind"] == "document":
                entries = tuple(InterfaceEntry.from_frame(entry) for entry in header["interface"])
                yield IndexedFile(header["path"], body, entries)
            elif header["kind"] == "failure":
                yield FailedFile(header["path"], header["reason"])
            else:
                self._note_usage(header)
                return

    def _tell(self, request: dict[str, Any]) -> None:
        self._process.send(request)
        self._note_usage(self._process.expect("done"))

    def _note_usage(self, header: dict[str, Any]) -> None:
        self.cpu_seconds = header["cpu_seconds"]
        self.rss_bytes = header["rss_bytes"]


def write_compatible_index(root: Path, surroundings: Surroundings, output: Path) -> None:
    """The stock command's index of the folder, byte for byte: for comparison, not for use."""
    settings = json.dumps(surroundings.settings(root))
    command = [*_node_command(Limits()), "--compatible", str(_package()), settings, str(output)]
    with tempfile.TemporaryDirectory(prefix="codeanatomy-scip-") as scratch:
        result = subprocess.run(command, env={"TMPDIR": scratch}, capture_output=True, check=False)
    if result.returncode != 0:
        raise CodeAnatomyError(f"{INDEXER} could not index {root}: {_tail(result.stderr)}")


def _node_command(limits: Limits) -> list[str]:
    heap = f"--max-old-space-size={limits.memory_megabytes}"
    return [str(toolchain.node()), heap, f"--stack-size={STACK_KILOBYTES}", str(DRIVER / "main.js")]


def _package() -> Path:
    return toolchain.scip_python_bundle().parent.parent


class _DriverProcess:
    """The Node process and its two pipes. Its input's end is its end: it can't outlive its parent."""

    def __init__(self, limits: Limits) -> None:
        self.is_at: str | None = None
        self._limits = limits
        self._scratch = tempfile.TemporaryDirectory(prefix="codeanatomy-scip-")
        self._stderr: IO[bytes] = (Path(self._scratch.name) / "stderr").open("w+b")
        self._buffer = bytearray()
        self._process = subprocess.Popen(
            [*_node_command(limits), "serve", str(_package())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={"TMPDIR": self._scratch.name},
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin: IO[bytes] = self._process.stdin
        self._stdout: IO[bytes] = self._process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)

    def interrupt(self) -> None:
        self._process.kill()

    def send(self, request: dict[str, Any]) -> None:
        try:
            self._stdin.write(json.dumps(request).encode() + b"\n")
            self._stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def expect(self, kind: str) -> dict[str, Any]:
        header, _ = self.receive()
        if header["kind"] != kind:
            raise CodeAnatomyError(f"{INDEXER} answered {header['kind']} where {kind} was due")
        return header

    def receive(self) -> tuple[dict[str, Any], bytes]:
        header: dict[str, Any] = json.loads(self._part())
        body = self._part()
        if header["kind"] == "error":
            raise CodeAnatomyError(f"{INDEXER} can't go on: {header['message']}")
        return header, body

    def _part(self) -> bytes:
        (length,) = struct.unpack(">I", self._take(4))
        return self._take(length)

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if not self._selector.select(self._limits.silent_seconds):
                self._process.kill()
                raise CodeAnatomyError(
                    f"{INDEXER} was silent for {self._limits.silent_seconds:g} seconds and was ended: raise "
                    f"CODEANATOMY_INDEX_SILENT_SECONDS if the repository is that hard; {self._last_words()}"
                )
            chunk = os.read(self._stdout.fileno(), CHUNK_BYTES)
            if not chunk:
                raise self._died()
            self._buffer += chunk
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _died(self) -> CodeAnatomyError:
        try:
            code = str(self._process.wait(END_SECONDS))
        except subprocess.TimeoutExpired:
            code = "unknown"
        return CodeAnatomyError(
            f"{INDEXER} ended with code {code} before it answered (its memory limit, "
            f"CODEANATOMY_INDEX_MEMORY_MEGABYTES, is {self._limits.memory_megabytes}); {self._last_words()}"
        )

    def _last_words(self) -> str:
        self._stderr.seek(0)
        place = "" if self.is_at is None else f"it was at {self.is_at}; "
        return f"{place}its last words: {_tail(self._stderr.read())}"

    def close(self) -> None:
        self._selector.close()
        with suppress(BrokenPipeError):
            self._stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()
        self._stderr.close()
        self._scratch.cleanup()


def _tail(words: bytes) -> str:
    return words[-LAST_WORDS_BYTES:].decode(errors="replace").strip() or "(none)"

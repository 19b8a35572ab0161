"""A table's log as files: which data files its versions need, and which of its own entries they can do without."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.storage.stored_files import StoredFile, StoredFiles

LOG = "_delta_log"
HINT = "_last_checkpoint"
CHECKPOINT = "checkpoint.parquet"
# Spark's checksums of versions, and those that Hadoop's local file system keeps of each file.
_ENTRY = re.compile(r"(?P<version>\d{20})\.(?P<kind>json|crc|checkpoint\..*)")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_UUID_LENGTH = 20

Action = Mapping[str, Any]


class LogUnreadable(CodeAnatomyError):
    """A table's log is not what this code knows how to read: nothing of the table is deleted."""


@dataclass(frozen=True)
class LogEntry:
    """A file of the log that tells about one version."""

    file: StoredFile
    version: int
    kind: str


class TableLog:
    """The log of one table folder as it was listed. It is only read."""

    def __init__(self, files: StoredFiles, folder: str, listed: Iterable[StoredFile]) -> None:
        self.folder = folder
        self._files = files
        found = [(file, _ENTRY.fullmatch(described(file.name))) for file in listed if file.folder == f"{folder}/{LOG}"]
        self.entries = sorted(
            (LogEntry(file, int(match["version"]), match["kind"]) for file, match in found if match),
            key=lambda entry: (entry.version, entry.file.name),
        )
        self._commits = {entry.version: entry.file for entry in self._of_kind("json")}
        self.checkpoints = {entry.version: entry.file for entry in self._of_kind(CHECKPOINT)}

    @property
    def latest(self) -> int:
        return max((*self._commits, *self.checkpoints))

    def _of_kind(self, kind: str) -> Iterator[LogEntry]:
        return (entry for entry in self.entries if entry.kind == kind and not entry.file.name.startswith("."))

    def needed_since(self, version: int) -> tuple[frozenset[str], frozenset[str]]:
        """Paths of the data files of this version, and of everything that it and all later versions name.

        The change feed between them is among it: files that later versions removed, and `_change_data`.
        """
        base = max((each for each in self.checkpoints if each <= version), default=-1)
        present = {_identity(add): add for add in self._checkpointed(base)}
        for each in range(base + 1, version + 1):
            for kind, action in self._commit(each):
                if kind == "add":
                    present[_identity(action)] = action
                elif kind == "remove":
                    present.pop(_identity(action), None)
        later = [
            action
            for each in range(version + 1, self.latest + 1)
            for kind, action in self._commit(each)
            if kind in ("add", "cdc")
        ]
        named = {path for action in (*present.values(), *later) for path in _files_of(action)}
        return frozenset(unquote(add["path"]) for add in present.values()), frozenset(named)

    def _checkpointed(self, version: int) -> Iterator[Action]:
        if version >= 0:
            adds = self._files.read_column(self.checkpoints[version].path, "add")
            yield from (add for add in adds.to_pylist() if add is not None and add["path"] is not None)

    def _commit(self, version: int) -> Iterator[tuple[str, Action]]:
        if version not in self._commits:
            raise LogUnreadable(f"{self.folder} has no log entry of version {version}: nothing of it was deleted")
        for line in self._files.read(self._commits[version].path).splitlines():
            if line.strip():
                yield from json.loads(line).items()


def described(name: str) -> str:
    """The name of the file that a file is about: its own, or for Hadoop's checksum that of what it sums up."""
    return name[1 : -len(".crc")] if name.startswith(".") and name.endswith(".crc") else name


def deletion_vector_path(vector: Action) -> str | None:
    """Where a deletion vector lies, below its table; None for one that stands in the log itself."""
    kind, text = vector["storageType"], vector["pathOrInlineDv"]
    if kind == "i":
        return None
    if kind != "u":
        raise LogUnreadable(f"deletion vector of the kind {kind!r}, which is outside its table: nothing was deleted")
    prefix, encoded = text[:-_UUID_LENGTH], text[-_UUID_LENGTH:]
    name = f"deletion_vector_{UUID(bytes=_decoded(encoded))}.bin"
    return f"{prefix}/{name}" if prefix else name


def _decoded(text: str) -> bytes:
    """Base 85 in the alphabet that Delta takes, five digits for four bytes."""
    values = [_DIGITS.index(digit) for digit in text]
    groups = (values[start : start + 5] for start in range(0, len(values), 5))
    return b"".join(reduce(lambda total, value: total * 85 + value, group).to_bytes(4) for group in groups)


def _identity(action: Action) -> tuple[str, str, int]:
    """A data file may be named again with another deletion vector: the two together are what counts."""
    vector = action.get("deletionVector") or {}
    return (action["path"], vector.get("pathOrInlineDv") or "", vector.get("offset") or 0)


def _files_of(action: Action) -> Iterator[str]:
    yield unquote(action["path"])
    vector = action.get("deletionVector")
    if vector and vector.get("storageType"):
        path = deletion_vector_path(vector)
        if path is not None:
            yield path

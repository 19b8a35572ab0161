"""Git trees as they are listed: entries with their paths, and which of them are safe to write anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import IO

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.extraction.git_command import Git

FILE_MODE = "100644"
EXECUTABLE_MODE = "100755"
SYMLINK_MODE = "120000"
SUBMODULE_MODE = "160000"

_CHUNK = 1 << 20
_MAX_TREE_RECORDS = 5_000_000
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 3_000
_MAX_DEPTH = 200


def logical_path(raw_path: bytes) -> str:
    """The path as rows carry it: one text per path, whatever its bytes.

    A path that is not UTF-8 stands behind `//`, its odd bytes as \\xNN and its backslashes doubled. A
    path that begins with `//` (only a malformed tree has one) is escaped too, so that no two meet.
    """
    try:
        text = raw_path.decode()
    except UnicodeDecodeError:
        text = "//"
    if not text.startswith("//"):
        return text
    return "//" + raw_path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def is_unsafe_path(raw_path: bytes) -> bool:
    """Whether it could leave the folder it is written to, meet git's own, or is no path a disk can hold."""
    names = raw_path.split(b"/")
    if len(raw_path) > _MAX_PATH_BYTES or len(names) > _MAX_DEPTH:
        return True
    return any(name in (b"", b".", b"..") or name.lower() == b".git" or len(name) > _MAX_NAME_BYTES for name in names)


@dataclass(frozen=True)
class TreeEntry:
    """One tracked path of a tree. `unsafe` says that it must never be written to a disk."""

    raw_path: bytes
    mode: str
    blob_id: str
    unsafe: bool = False

    @cached_property
    def path(self) -> str:
        return logical_path(self.raw_path)

    @property
    def is_regular(self) -> bool:
        return self.mode in (FILE_MODE, EXECUTABLE_MODE)

    @property
    def is_python(self) -> bool:
        return self.is_regular and self.raw_path.endswith((b".py", b".pyi"))


def tree_records(git: Git, tree_id: str, *options: str) -> Iterator[tuple[bytes, bytes]]:
    """Each record of a tree as (mode, kind and id; path). A tree can fold billions of paths into a few
    objects that name each other: one past any real size is refused before it fills the memory.
    """
    with git.output("ls-tree", "-r", "-z", "--full-tree", *options, tree_id) as stream:
        records = _nul_separated(stream)
        for record in islice(records, _MAX_TREE_RECORDS):
            about, _, raw_path = record.partition(b"\t")
            yield about, raw_path
        if next(records, None) is not None:
            raise BadInput(
                f"tree {tree_id} in {git.location[1]} has over {_MAX_TREE_RECORDS} paths, more than can be built"
            )


def _nul_separated(stream: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(_CHUNK):
        *records, rest = (rest + chunk).split(b"\0")
        yield from records


def entries_of(records: Iterable[tuple[bytes, bytes]]) -> list[TreeEntry]:
    """Git's well-formed trees give each path once, and no path inside another. Malformed ones need not:
    such a path stays one row, and unsafe.
    """
    found: dict[bytes, TreeEntry] = {}
    repeated: set[bytes] = set()
    for about, raw_path in records:
        mode, _, blob_id = about.decode("ascii").split()
        if raw_path in found:
            repeated.add(raw_path)
        else:
            found[raw_path] = TreeEntry(raw_path, mode, blob_id, is_unsafe_path(raw_path))
    for raw_path in repeated | (folders_of(found) & found.keys()):
        entry = found[raw_path]
        found[raw_path] = TreeEntry(raw_path, entry.mode, entry.blob_id, unsafe=True)
    return list(found.values())


def folders_of(raw_paths: Iterable[bytes]) -> set[bytes]:
    """Every folder that lies above one of the paths."""
    folders: set[bytes] = set()
    for raw_path in raw_paths:
        folder = raw_path.rpartition(b"/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    return folders

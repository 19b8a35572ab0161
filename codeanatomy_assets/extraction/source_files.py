"""Source files: a tracked file as a row of repo_snapshot, and a plain folder as a snapshot.

A folder is copied into the private store as a git tree, with the ids git would give, so that
everything after it works as for a commit.
"""

from __future__ import annotations

import io
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.extraction import encoding
from codeanatomy_assets.extraction.git_trees import EXECUTABLE_MODE, FILE_MODE, SUBMODULE_MODE, SYMLINK_MODE, TreeEntry
from codeanatomy_assets.extraction.private_store import DEFAULT_KEEP_BYTES, Blob, BlobWriter, PrivateStore, Snapshot

DEFAULT_SIZE_LIMIT = DEFAULT_KEEP_BYTES
STATE_MARKER = "codeanatomy-state.json"
"""A folder that holds a file of this name is a CodeAnatomy state and no source."""

_SKIPPED_FOLDERS = frozenset({b".hg", b".svn", b"__pycache__", b"node_modules"})
_MARKS_OF_SKIPPED_FOLDERS = frozenset({b"pyvenv.cfg", STATE_MARKER.encode()})
_INDEX_NAME = "folder-index.json"
_INDEX_VERSION = 1
# The coarsest time stamp of a file system in use (FAT) moves every two seconds.
_RACY_NS = 2_000_000_000


def describe(
    entry: TreeEntry, blob: Blob | None, repo_id: str, size_limit: int = DEFAULT_SIZE_LIMIT
) -> dict[str, object]:
    """The entry's row in repo_snapshot; a submodule has no blob."""
    text_encoding, skip_reason = _reading(entry, blob, size_limit)
    return {
        "file_id": identity.FILE.of(repo_id, entry.path),
        "path": entry.path,
        "git_mode": entry.mode,
        "blob_id": entry.blob_id,
        "sha256": blob.sha256 if blob else None,
        "size": blob.size if blob else 0,
        "encoding": text_encoding,
        "is_python": entry.is_python,
        "skip_reason": skip_reason,
    }


def describe_all(
    snapshot: Snapshot, entries: Iterable[TreeEntry], repo_id: str, size_limit: int = DEFAULT_SIZE_LIMIT
) -> Iterator[dict[str, object]]:
    """A row for each entry, in no order; one content is held at a time."""
    wanted = list(entries)
    for entry in wanted:
        if entry.mode == SUBMODULE_MODE:
            yield describe(entry, None, repo_id, size_limit)
    for entry, blob in snapshot.read(wanted, keep_up_to=size_limit):
        yield describe(entry, blob, repo_id, size_limit)


def _reading(entry: TreeEntry, blob: Blob | None, size_limit: int) -> tuple[str | None, str | None]:
    """How the content is read: its encoding, or why it is not read."""
    if entry.unsafe:
        return None, "unsafe_path"
    if entry.mode == SUBMODULE_MODE:
        return None, "submodule"
    if entry.mode == SYMLINK_MODE:
        return None, "symlink"
    if not entry.is_python or blob is None:
        return None, None
    if blob.content is None or blob.size > size_limit:
        return None, "too_large"
    found = encoding.detect(blob.content)
    return found.encoding, found.reason


def snapshot_folder(folder: Path, store: PrivateStore) -> Snapshot:
    """Copy a plain folder as it is now into the store; its commit is named by its content.

    Files whose stat is that of the last snapshot are not read again.
    """
    if not folder.exists():
        raise BadInput(f"folder {folder} does not exist: check the path")
    if not folder.is_dir():
        raise BadInput(f"{folder} is a file: pass the folder that holds it")
    store.prepare("sha1")
    root = os.fsencode(folder.resolve())
    last = _FolderIndex.load(store, root)
    now = _FolderIndex(time.time_ns(), {})
    with store.blob_writer() as writer:
        for raw_path, found in _walk(root):
            blob_id = last.blob_id(raw_path, found) or _copy_in(root, raw_path, found, writer)
            if blob_id is not None:
                now.files[raw_path] = (found, blob_id)
    tree_id = store.write_tree(TreeEntry(path, found.mode, blob_id) for path, (found, blob_id) in now.files.items())
    snapshot = store.name_tree(f"worktree-{tree_id}", tree_id)
    now.save(snapshot, root)
    return snapshot


class _FileStat(NamedTuple):
    """What tells an untouched file: any write moves at least one of them, once the clock has moved."""

    mode: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, found: os.stat_result) -> _FileStat | None:
        """None for what git does not track either: pipes, sockets, devices."""
        if stat.S_ISLNK(found.st_mode):
            mode = SYMLINK_MODE
        elif stat.S_ISREG(found.st_mode):
            mode = EXECUTABLE_MODE if found.st_mode & stat.S_IXUSR else FILE_MODE
        else:
            return None
        return cls(mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@dataclass(frozen=True)
class _FolderIndex:
    """The last snapshot's stats and blobs by path: what need not be read again.

    It lives in the store's own folder, since it is worth nothing without those blobs. It is a cache: one
    that can't be read is none.
    """

    taken_ns: int
    files: dict[bytes, tuple[_FileStat, str]]

    def blob_id(self, raw_path: bytes, found: _FileStat) -> str | None:
        """The blob of a file that can't have changed since. One as young as the snapshot may have been
        written again within the same tick of its time stamp, and is not trusted (git's racy rule).
        """
        last, blob_id = self.files.get(raw_path, (None, None))
        young = max(found.mtime_ns, found.ctime_ns) >= self.taken_ns - _RACY_NS
        return None if young or last != found else blob_id

    @classmethod
    def load(cls, store: PrivateStore, root: bytes) -> _FolderIndex:
        try:
            saved = json.loads((store.folder / _INDEX_NAME).read_text())
        except (FileNotFoundError, ValueError):
            return cls(0, {})
        if saved["about"] != [_INDEX_VERSION, _as_text(root)] or store.snapshot(saved["commit"]) is None:
            return cls(0, {})
        files = {_as_bytes(path): (_FileStat(*found), blob_id) for path, (blob_id, *found) in saved["files"].items()}
        return cls(saved["taken_ns"], files)

    def save(self, snapshot: Snapshot, root: bytes) -> None:
        saved = {
            "about": [_INDEX_VERSION, _as_text(root)],
            "commit": snapshot.commit,
            "taken_ns": self.taken_ns,
            "files": {_as_text(path): [blob_id, *found] for path, (found, blob_id) in self.files.items()},
        }
        (snapshot.store.folder / _INDEX_NAME).write_text(json.dumps(saved))


def _as_text(raw_path: bytes) -> str:
    return raw_path.decode("utf-8", "surrogateescape")


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _walk(root: bytes) -> Iterator[tuple[bytes, _FileStat]]:
    """Every file and symlink below the folder, in a fixed order, following no symlink."""
    pending = [b""]
    while pending:
        prefix = pending.pop()
        listing = _listing(root, prefix)
        if prefix and any(entry.name in _MARKS_OF_SKIPPED_FOLDERS for entry in listing):
            continue
        for entry in listing:
            # In any spelling, as git does; a file of that name points at another work tree's git folder.
            if entry.name.lower() == b".git":
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_FOLDERS:
                    pending.append(prefix + entry.name + b"/")
                continue
            with suppress(FileNotFoundError):
                found = _FileStat.of(entry.stat(follow_symlinks=False))
                if found is not None:
                    yield prefix + entry.name, found


def _listing(root: bytes, prefix: bytes) -> list[os.DirEntry[bytes]]:
    path = os.path.join(root, prefix)
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except PermissionError as denied:
        raise BadInput(f"folder {_as_text(path)!r} can't be read: make it readable or move it away") from denied


def _copy_in(root: bytes, raw_path: bytes, found: _FileStat, writer: BlobWriter) -> str | None:
    """Store a file's bytes, or a symlink's target; None if it has gone since it was listed."""
    path = os.path.join(root, raw_path)
    try:
        if found.mode == SYMLINK_MODE:
            target = os.readlink(path)
            return writer.add(io.BytesIO(target), len(target))
        with open(path, "rb", opener=_open_plain) as content:
            return writer.add(content, os.fstat(content.fileno()).st_size)
    except FileNotFoundError:
        return None
    except PermissionError as denied:
        raise BadInput(f"file {_as_text(path)!r} can't be read: make it readable or move it away") from denied
    except EOFError as cut:
        raise CodeAnatomyError(f"file {_as_text(path)!r} was cut while it was read: build again") from cut


def _open_plain(path: str, flags: int) -> int:
    """Should a symlink or a pipe have taken the file's place, neither is followed nor waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)

"""The private checkout: the Python files of one snapshot as plain files, for tools that read folders.

Text is written in UTF-8, whatever a file's coding line says, for tools that know nothing else; but for that, bytes
are as git stores them: no hook, filter, line-end conversion, symlink or submodule has a part in it.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from codeanatomy_assets.extraction.encoding import parser_input
from codeanatomy_assets.extraction.git_trees import TreeEntry, folders_of
from codeanatomy_assets.extraction.private_store import Snapshot

# Every folder on the way is opened by itself, so that a symlink in its place is an error and no way out.
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# How a blob becomes a file: a checkout made in another form is made anew.
_FORM = "utf-8"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class CheckoutCounts(NamedTuple):
    written: int
    deleted: int
    kept: int


class _Stamp(NamedTuple):
    """Tells whether a file is still the one we wrote."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, found: os.stat_result) -> _Stamp | None:
        if not stat.S_ISREG(found.st_mode):
            return None
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@dataclass(frozen=True)
class _Disk:
    """What the checkout really holds; the stamp is missing for what is no plain file."""

    files: dict[bytes, _Stamp | None] = field(default_factory=dict)
    folders: list[bytes] = field(default_factory=list)


class Checkout:
    """A folder of ours that is brought from one snapshot to the next; `root` is what tools are given.

    The manifest says which blob each file holds. It is removed before the first write and comes back
    after the last: without one nothing on disk is trusted, and all is written anew.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "files"
        self._manifest = folder / "manifest.json"

    def update_to(self, snapshot: Snapshot, wanted: Iterable[TreeEntry]) -> CheckoutCounts:
        """Make the folder hold exactly the wanted files; what somebody else changed in it is put right."""
        target = {entry.raw_path: entry for entry in wanted}
        for entry in target.values():
            if entry.unsafe or not entry.is_regular:
                raise ValueError(f"{entry.path!r} is no plain file with a safe path: it can't be checked out")
        manifest = self._trusted()
        disk = self._disk()
        kept = {
            raw_path: (blob_id, stamp)
            for raw_path, (blob_id, stamp) in manifest.items()
            if disk.files.get(raw_path) == stamp and raw_path in target and target[raw_path].blob_id == blob_id
        }
        stale = [raw_path for raw_path in disk.files if raw_path not in kept]
        missing = [entry for raw_path, entry in target.items() if raw_path not in kept]
        emptied = set(disk.folders) - folders_of(kept)
        if stale or emptied or missing or not self._manifest.exists():
            self._manifest.unlink(missing_ok=True)
            self._remove(stale, emptied)
            self._save({**kept, **self._write_all(snapshot, missing)})
        return CheckoutCounts(len(missing), len(stale), len(kept))

    def _trusted(self) -> dict[bytes, tuple[str, _Stamp]]:
        """What the manifest says. Without one, or without a folder of our own, start from an empty folder."""
        try:
            saved = json.loads(self._manifest.read_text())
        except (FileNotFoundError, ValueError):
            saved = None
        if saved is not None and saved.get("form") == _FORM and self.root.is_dir() and not self.root.is_symlink():
            return {
                path.encode("utf-8", "surrogateescape"): (blob_id, _Stamp(*stamp))
                for path, (blob_id, *stamp) in saved["files"].items()
            }
        self._manifest.unlink(missing_ok=True)
        if self.root.is_symlink() or self.root.is_file():
            self.root.unlink()
        elif self.root.exists():
            shutil.rmtree(self.root)
        self.root.mkdir(parents=True)
        return {}

    def _save(self, files: dict[bytes, tuple[str, _Stamp]]) -> None:
        saved = {path.decode("utf-8", "surrogateescape"): [blob_id, *stamp] for path, (blob_id, stamp) in files.items()}
        self._manifest.write_text(json.dumps({"form": _FORM, "files": saved}))

    def _disk(self) -> _Disk:
        top = os.fsencode(self.root)
        disk = _Disk()
        for folder, folder_names, file_names, descriptor in os.fwalk(top):
            prefix = folder[len(top) + 1 :] + b"/" if len(folder) > len(top) else b""
            for name in (*folder_names, *file_names):
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    disk.folders.append(prefix + name)
                else:
                    disk.files[prefix + name] = _Stamp.of(found)
        return disk

    def _remove(self, stale: Iterable[bytes], emptied: Iterable[bytes]) -> None:
        for raw_path in stale:
            with self._folder_of(raw_path) as (folder, name):
                os.unlink(name, dir_fd=folder)
        # Longer paths first: a folder is empty only after those in it are gone.
        for raw_path in sorted(emptied, key=len, reverse=True):
            with self._folder_of(raw_path) as (folder, name):
                os.rmdir(name, dir_fd=folder)

    def _write_all(self, snapshot: Snapshot, entries: Iterable[TreeEntry]) -> dict[bytes, tuple[str, _Stamp]]:
        written = {}
        for entry, blob in snapshot.read(entries, keep_up_to=None):
            assert blob.content is not None
            written[entry.raw_path] = (entry.blob_id, self._write(entry.raw_path, parser_input(blob.content).utf8))
        return written

    def _write(self, raw_path: bytes, content: bytes) -> _Stamp:
        with self._folder_of(raw_path, create=True) as (folder, name):
            descriptor = os.open(name, _NEW_FILE, 0o644, dir_fd=folder)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            # The umask may have taken something away.
            os.fchmod(descriptor, 0o644)
            stamp = _Stamp.of(os.fstat(descriptor))
        assert stamp is not None
        return stamp

    @contextmanager
    def _folder_of(self, raw_path: bytes, create: bool = False) -> Iterator[tuple[int, bytes]]:
        """The opened folder of a path, and the last name in it."""
        *folders, name = raw_path.split(b"/")
        opened = os.open(self.root, _FOLDER)
        try:
            for folder in folders:
                inner = _enter(opened, folder, create)
                os.close(opened)
                opened = inner
            yield opened, name
        finally:
            os.close(opened)


def _enter(parent: int, name: bytes, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=parent)
    return os.open(name, _FOLDER, dir_fd=parent)

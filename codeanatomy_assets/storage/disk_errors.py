"""Disks that refuse: what Python, git, delta-rs, Spark and SQLite say of a full or read-only one, in one line."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from codeanatomy_assets.errors import CodeAnatomyError, causes

FULL = ("No space left on device", "database or disk is full", "Disk quota exceeded")
READ_ONLY = ("Read-only file system", "attempt to write a readonly database")
# SQLite's words for a folder it can't write its journal to, and for many another thing: the disk is asked.
MAYBE_READ_ONLY = ("unable to open database file", "disk I/O error")
DENIED = (errno.EACCES, errno.EPERM)


class DiskRefused(CodeAnatomyError):
    """A folder can't be written to: full, read-only or not ours. What was built before is as it was."""


def refusal(error: BaseException, written: Iterable[Path]) -> DiskRefused | None:
    """The error as one that names folder and remedy, if a disk is behind it; `written` are the command's folders."""
    folders = [_nearest(folder) for folder in (*written, Path(tempfile.gettempdir()))]
    for cause in causes(error):
        said = str(cause)
        if any(words in said for words in FULL):
            return _full(min(folders, key=_room))
        if any(words in said for words in READ_ONLY):
            return _not_writable(next(filter(_is_read_only, folders), folders[0]), "it is on a read-only file system")
        if any(words in said for words in MAYBE_READ_ONLY) and any(map(_is_read_only, folders)):
            return _not_writable(next(filter(_is_read_only, folders)), "it is on a read-only file system")
        if isinstance(cause, OSError) and cause.errno in DENIED and _is_below(cause.filename, folders):
            return _not_writable(Path(cause.filename), "permission is denied")
    return None


def _full(folder: Path) -> DiskRefused:
    return DiskRefused(
        f"no space is left for {folder}: free some (`codeanatomy vacuum` lets old commits go), or name a folder on"
        " another disk; what was built before is as it was"
    )


def _not_writable(folder: Path, why: str) -> DiskRefused:
    return DiskRefused(
        f"{folder} can't be written to, {why}: make it writable, or name another folder; what was built before can"
        " still be read"
    )


def _is_below(name: object, folders: Iterable[Path]) -> bool:
    """Whether a path lies in a folder that is written: others are only read."""
    return isinstance(name, str | Path) and any(Path(name).is_relative_to(folder) for folder in folders)


def _nearest(folder: Path) -> Path:
    """The folder, or the one above it that is there."""
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())


def _room(folder: Path) -> int:
    """How many bytes its disk has left; none if it can't hold another file."""
    disk = os.statvfs(folder)
    is_out_of_files = disk.f_files > 0 and disk.f_favail == 0
    return 0 if is_out_of_files else disk.f_bavail * disk.f_frsize


def _is_read_only(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)

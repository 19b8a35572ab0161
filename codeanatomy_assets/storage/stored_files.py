"""The files under the tables' root, wherever that is: listed, read and deleted through delta-rs' own storage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs


@dataclass(frozen=True)
class StoredFile:
    """One file; its path starts below the tables' root."""

    path: str
    size: int
    modified: datetime

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class StoredFiles:
    """The files of all tables, by their paths below the root."""

    def __init__(self, root: str, options: Mapping[str, str]) -> None:
        self._root = root
        self._files = fs.PyFileSystem(DeltaStorageHandler(root, dict(options)))

    def folders(self, folder: str = "") -> list[str]:
        """The folders directly below."""
        found = self._files.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        return [entry.path for entry in found if entry.type is fs.FileType.Directory]

    def below(self, folder: str) -> list[StoredFile]:
        """Every file in a folder, at any depth."""
        found = self._files.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
        return [StoredFile(each.path, each.size, each.mtime) for each in found if each.type is fs.FileType.File]

    def read(self, path: str) -> bytes:
        with self._files.open_input_stream(path) as stream:
            content: bytes = stream.read()
        return content

    def read_column(self, path: str, column: str) -> pa.ChunkedArray:
        return pq.read_table(path, columns=[column], filesystem=self._files).column(column)

    def delete(self, path: str) -> None:
        """Delete a file; one that is gone already is as good."""
        try:
            self._files.delete_file(path)
        except FileNotFoundError:
            return

    def remove_empty(self, folder: str) -> None:
        """Folders of a file system stay when their files are gone; an object store has none."""
        local = Path(self._root, folder)
        for current, _, _ in os.walk(local, topdown=False) if local.is_dir() else ():
            if not os.listdir(current):
                os.rmdir(current)

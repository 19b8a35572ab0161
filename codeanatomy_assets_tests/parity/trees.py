"""Trees of files as histories have them, and a folder brought from one to the next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

Tree = Mapping[str, bytes]


def write_tree(folder: Path, before: Tree, after: Tree) -> None:
    """Write what differs; folders that lose their last file go too."""
    for path in before.keys() - after.keys():
        (folder / path).unlink()
    for path, content in after.items():
        if before.get(path) != content:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    for path in before.keys() - after.keys():
        left = (folder / path).parent
        while left != folder and left.is_dir() and not any(left.iterdir()):
            left.rmdir()
            left = left.parent

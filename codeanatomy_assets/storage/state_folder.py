"""The state folder: where everything of one repository's graph lives, and whose it is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from codeanatomy_assets.errors import BadInput

FORMAT = 1
MARKER = "codeanatomy-state.json"
# Dagster's storage, the lock, and what a run killed while claiming the folder left, may come before the claim.
OURS_BEFORE_CLAIM = ("lock", "dagster", "spark.log", "work", ".gitignore")


@dataclass(frozen=True)
class StateFolder:
    """Paths inside a state folder. Only `claim` and the writers under the lock create any."""

    root: Path

    @property
    def marker(self) -> Path:
        return self.root / MARKER

    @property
    def tables(self) -> Path:
        return self.root / "tables"

    @property
    def attempts(self) -> Path:
        return self.root / "attempts"

    @property
    def work(self) -> Path:
        """Scratch space of running attempts; whatever is here when a run starts is a dead run's."""
        return self.root / "work"

    @property
    def checkout(self) -> Path:
        return self.root / "checkout"

    @property
    def repository_store(self) -> Path:
        return self.root / "repository.git"

    @property
    def published(self) -> Path:
        """Where publish_job writes, a folder for each commit."""
        return self.root / "published"

    @property
    def dagster_home(self) -> Path:
        return self.root / "dagster"

    def exists(self) -> bool:
        return self.marker.is_file()

    def owner(self) -> dict[str, str] | None:
        """What the marker says; None for a folder that is no state yet."""
        if not self.exists():
            return None
        told: dict[str, str] = json.loads(self.marker.read_text())
        if int(told["format"]) > FORMAT:
            raise BadInput(
                f"state folder {self.root} was written by a newer version (format {told['format']},"
                f" this one reads up to {FORMAT}): upgrade codeanatomy, or use another --state"
            )
        return told

    def check_owner(self, repository: str, same_history: Callable[[str], bool]) -> None:
        """Refuse a folder that holds another repository's graph, or something else altogether."""
        told = self.owner()
        if told is None:
            if set("[]") & set(str(self.root.absolute())):
                raise BadInput(f"{self.root}: Delta tables can't lie below a path with [ or ]: name another --state")
            if self.root.exists() and not self.root.is_dir():
                raise BadInput(f"{self.root} is not a folder: name another --state")
            if self.root.is_dir() and any(not _is_before_claim(entry.name) for entry in self.root.iterdir()):
                raise BadInput(f"{self.root} is not empty and no CodeAnatomy state: name another --state")
            return
        if told["repository"] != repository and not same_history(told["repository"]):
            raise BadInput(
                f"state folder {self.root} belongs to repository {told['repository']}, not to {repository}:"
                " use another --state for this one"
            )

    def claim(self, repository: str, kind: str, version: str) -> None:
        """Make the folder this repository's state (again: a repository may have moved); kind is git or folder."""
        self.root.mkdir(parents=True, exist_ok=True)
        told = {"format": str(FORMAT), "repository": repository, "kind": kind, "written_by": version}
        if self.owner() != told:
            write_atomically(self.marker, json.dumps(told, indent=1))
        (self.root / ".gitignore").write_text("*\n")


def _is_before_claim(name: str) -> bool:
    return name in OURS_BEFORE_CLAIM or name.startswith(f".{MARKER}.")


def write_atomically(path: Path, text: str) -> None:
    """Replace a small file so that a reader, or a crash, sees the old text or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)

"""States for tests: a real repository built in process, on the test process's Spark session."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts import identity
from codeanatomy_assets.orchestration.build import build
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.summary import report
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.delta_store import Attempt, DeltaStore, Scope
from codeanatomy_assets.storage.ledger import Ledger, LedgerRow
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets_tests.git_repositories import GitRepo


class Quiet:
    """Progress that is kept for the test to look at."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def advance(self, label: str, done: int, total: int) -> None:
        pass


@dataclass
class BuiltState:
    """A repository, its state folder, and what is in it.

    Builds that are not recorded have the same rows without Dagster's record, which takes a quarter of a small build.
    """

    repo: GitRepo
    settings: Settings
    engine: SparkEngine
    progress: Quiet
    is_recorded: bool = True

    @classmethod
    def create(cls, folder: Path, engine: SparkEngine, **settings: Any) -> BuiltState:
        repo = GitRepo.create(folder / "repo")
        return cls(repo, Settings(repo=repo.folder, state=folder / "state", **settings), engine, Quiet())

    def unrecorded(self) -> BuiltState:
        return replace(self, is_recorded=False)

    def build(self, revision: str | None = None, full: bool = False) -> dict[str, Any]:
        if self.is_recorded:
            lock = StateLock(self.settings.state)
            return build(self.settings, self.progress, revision, full, lambda: self.engine, lock)
        before = open_ledger(self.settings).last()
        built = build_directly(self.settings, self.engine, self.progress, revision, full)
        return report(built, "noop" if built == before else None)

    def build_directly(self) -> None:
        self.unrecorded().build()

    def commit(self, files: dict[str, str], message: str = "a commit") -> dict[str, Any]:
        """Commit these files and build the commit."""
        self.repo.commit_files(files, message)
        return self.build()

    def last(self) -> LedgerRow:
        return open_ledger(self.settings).resolve(None)

    def rows(self, dataset: str, commit: str | None = None) -> list[dict[str, Any]]:
        """A dataset as the ledger's last row has it, or an earlier commit's."""
        rows: list[dict[str, Any]] = self.arrow(dataset, commit).to_pylist()
        return rows

    def arrow(self, dataset: str, commit: str | None = None) -> pa.Table:
        return delta_reads.read_light(open_ledger(self.settings).resolve(commit).state, catalog.table(dataset))

    def ledger_rows(self) -> list[LedgerRow]:
        return open_ledger(self.settings).rows()

    def ledger_state(self, commit: str | None) -> TableState:
        return open_ledger(self.settings).resolve(commit).state

    def at(self, folder: Path) -> BuiltState:
        """The same state, with the repository looked for elsewhere."""
        return replace(self, settings=replace(self.settings, repo=folder))

    def copy(self, folder: Path) -> BuiltState:
        """Repository and state copied: for a test that writes to what others have built."""
        shutil.copytree(self.repo.folder, folder / "repo", symlinks=True)
        shutil.copytree(self.settings.state, folder / "state")
        repo = GitRepo(folder / "repo", list(self.repo.commits))
        settings = replace(self.settings, repo=repo.folder, state=folder / "state")
        return BuiltState(repo, settings, self.engine, Quiet())

    def lose_slices(self, dataset: str, *paths: str) -> None:
        """Write files' rows out of a dataset, as a fault would, and make that the last built state."""
        table, last = catalog.table(dataset), self.last()
        store = DeltaStore(self.settings.tables_root, self.engine.session)
        attempt = Attempt(last.attempt + 1, last.commit)
        scope = Scope.of(map(self.file_id, paths))
        spoilt = store.replace_files(last.state, table, table.arrow_schema().empty_table(), scope, attempt)
        Ledger(store).append(replace(last, state=last.state.advanced(spoilt.ref)), last, attempt)

    def file_id(self, path: str) -> str:
        return identity.FILE.of(self.settings.repo_id, path)

    def versions(self) -> dict[str, int]:
        return {name: ref.version for name, ref in self.last().state.refs.items()}


class FirstBuilds:
    """States at their first commit, each built once a test process."""

    def __init__(self, folders: pytest.TempPathFactory, engine: SparkEngine) -> None:
        self._folders = folders
        self._engine = engine
        self._built: dict[str, BuiltState] = {}

    def of(self, files: dict[str, str]) -> BuiltState:
        key = repr(sorted(files.items()))
        if key not in self._built:
            built = BuiltState.create(self._folders.mktemp("first-build"), self._engine)
            built.commit(files)
            self._built[key] = built
        return self._built[key]

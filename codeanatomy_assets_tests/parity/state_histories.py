"""Histories of trees built commit by commit in one state, each step compared with a build from scratch."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from codeanatomy_assets import catalog
from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.verify import Difference, slice_digests, verified
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.parity.bulk_ways import BULK_SETTINGS, bulk_ways
from codeanatomy_assets_tests.parity.trees import Tree, write_tree
from codeanatomy_assets_tests.states import BuiltState, Quiet

Digests = dict[str, dict[str, str]]


@dataclass(frozen=True)
class StateStep:
    """One commit: what it touched, what it truly changed, and what is wrong with the result."""

    changed: int
    impacted: frozenset[str]
    truly_changed: frozenset[str]
    differences: tuple[Difference, ...]
    digest: str
    clean_digest: str | None
    files: int
    seconds: float
    is_refresh: bool

    @property
    def missed(self) -> frozenset[str]:
        """Files with other rows than before that no reason names."""
        return frozenset() if self.is_refresh else self.truly_changed - self.impacted

    @property
    def is_equal(self) -> bool:
        return not list(self.complaints())

    def complaints(self) -> Iterator[str]:
        yield from (f"not impacted, and yet changed: {path}" for path in sorted(self.missed))
        for difference in self.differences:
            yield from difference.lines()
        if self.clean_digest not in (None, self.digest) and not self.differences:
            yield "other rows than a clean build, in slices that were not found"


@dataclass
class StateReplay:
    """A repository and its state; `step` commits a tree, builds it and compares.

    In bulk, the state is built by the ways of a large one, and compared with a clean one of the ways for its size.
    """

    folder: Path
    engine: SparkEngine
    settings: dict[str, object] = field(default_factory=dict)
    present: Tree = field(default_factory=dict)
    last: LedgerRow | None = None
    digests: Digests = field(default_factory=dict)
    clean: dict[str, Digests] = field(default_factory=dict)
    indexer: WarmIndexer | None = None
    is_bulk: bool = False

    def __post_init__(self) -> None:
        self.repo = GitRepo.create(self.folder / "repo")
        told = {**self.settings, **(BULK_SETTINGS if self.is_bulk else {})}
        self.state = Settings(repo=self.repo.folder, state=self.folder / "state", **told)  # type: ignore[arg-type]

    def step(self, tree: Tree, is_checked: bool = True) -> StateStep:
        """Commit a tree and build it; checked, compare every dataset with a build from scratch."""
        write_tree(self.repo.folder, self.present, tree)
        self.repo.commit()
        return self._built(tree, is_checked)

    def switch(self, commit: str, tree: Tree) -> StateStep:
        """Go to a commit that is there already, whose tree this is, and build that very commit."""
        self.repo.switch(commit)
        return self._built(tree, is_checked=True)

    def _built(self, tree: Tree, is_checked: bool) -> StateStep:
        changed = [path for path in self.present.keys() | tree.keys() if self.present.get(path) != tree.get(path)]
        self.present = dict(tree)
        started = time.monotonic()
        built = self._build()
        seconds = time.monotonic() - started
        before, self.digests = self.digests, digests_of(built.state)
        differences, clean_digest = self._compared(built) if is_checked else ((), None)
        view = BuiltState(self.repo, self.state, self.engine, Quiet())
        paths = {row["file_id"]: row["path"] for row in view.rows("repo_snapshot")}
        if self.last is not None:
            paths |= {row["file_id"]: row["path"] for row in view.rows("repo_snapshot", self.last.commit)}
        rows = [row for row in view.rows("inc_impacted_files") if row["commit"] == built.commit]
        self.last = built
        return StateStep(
            changed=len(changed),
            impacted=frozenset(row["path"] for row in rows),
            truly_changed=frozenset(paths[file_id] for file_id in _changed(before, self.digests)),
            differences=differences,
            digest=digest_of(self.digests),
            clean_digest=clean_digest,
            files=len(tree),
            seconds=seconds,
            is_refresh=any(row["reason_kind"] == "full_refresh" for row in rows),
        )

    def _build(self) -> LedgerRow:
        with bulk_ways() if self.is_bulk else nullcontext():
            return build_directly(self.state, self.engine, Quiet(), indexer=self.indexer)

    def _compared(self, built: LedgerRow) -> tuple[tuple[Difference, ...], str]:
        """What differs from a clean build. Its digests are kept: trees come again, when a commit is reverted."""
        key = hashlib.sha256(repr(sorted(self.present.items())).encode()).hexdigest()
        differences: tuple[Difference, ...] = ()
        # The digests are what `verified` compares: where they differ it finds the rows.
        if self.clean.get(key) != self.digests:
            clean_folder = self.folder / "clean"
            try:
                clean_state = replace(self.state, state=clean_folder, light_write_rows=Settings.light_write_rows)
                clean = build_directly(clean_state, self.engine, Quiet())
                self.clean[key] = digests_of(clean.state)
                if self.clean[key] != self.digests:
                    differences = verified(built, clean).differences
            finally:
                shutil.rmtree(clean_folder, ignore_errors=True)
        return differences, digest_of(self.clean[key])


def digests_of(state: TableState) -> Digests:
    return {table.name: slice_digests(state, table) for table in catalog.state_tables()}


def _changed(before: Digests, after: Digests) -> set[str]:
    return {
        owner
        for name in before.keys() | after.keys()
        for owner in before.get(name, {}).keys() | after.get(name, {}).keys()
        if before.get(name, {}).get(owner) != after.get(name, {}).get(owner)
    }


def digest_of(digests: Digests) -> str:
    return hashlib.sha256(
        repr(sorted((name, sorted(each.items())) for name, each in digests.items())).encode()
    ).hexdigest()

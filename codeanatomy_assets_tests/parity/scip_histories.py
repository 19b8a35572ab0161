"""Histories of trees replayed in waves on one warm indexer, each step compared with indexing everything."""

from __future__ import annotations

import io
import random
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codeanatomy_assets.contracts.syntax import IMPORTS
from codeanatomy_assets.extraction.outside_packages import outside_packages
from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, ScipIndexer, Surroundings
from codeanatomy_assets.extraction.scip_waves import Change, Imports, Waves
from codeanatomy_assets.extraction.syntax_tree import collect
from codeanatomy_assets.extraction.words import words_of
from codeanatomy_assets.transforms.module_roots import module_index, source_roots
from codeanatomy_assets.transforms.names import ModuleLookup, changed_answers, resolved_rows
from codeanatomy_assets_tests import corpora
from codeanatomy_assets_tests.parity.trees import Tree, write_tree
from codeanatomy_assets_tests.scip_trees import cold_answers, rows_of

Answer = IndexedFile | FailedFile


@dataclass(frozen=True)
class Check:
    """What a step is compared with: all files, or those of the bound and a few outside; a cold indexer or this one."""

    outside: int | None = None
    is_cold: bool = False


EVERYTHING = Check()


@dataclass
class StepResult:
    """One step's counts, and what the waves got wrong: paths with what differs."""

    changed: int
    bound: int
    reindexed: int
    truly_changed: int
    checked: int
    waves: int
    missed: list[str]
    moved: frozenset[str]
    reasons: dict[str, str]
    is_refresh: bool = False

    def counts(self) -> dict[str, Any]:
        rules: dict[str, int] = {}
        for reason in self.reasons.values():
            rule = "mentions" if reason.startswith("mentions") else reason.removeprefix("widened by ").split()[0]
            rules[rule] = rules.get(rule, 0) + 1
        return {
            "changed": self.changed,
            "bound": self.bound,
            "reindexed": self.reindexed,
            "truly_changed": self.truly_changed,
            "checked": self.checked,
            "waves": self.waves,
            "missed": self.missed,
            "rules": rules,
            "is_refresh": self.is_refresh,
        }


class Names:
    """The import graph of a tree, made by the project's own transforms; import rows are kept by content."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, bytes], list[dict[str, Any]]] = {}

    def index(self, tree: Tree) -> Any:
        return module_index((path, path) for path in tree)

    def graph(self, tree: Tree) -> dict[str, Imports]:
        lookup = ModuleLookup(self.index(tree))
        return {path: self._imports(path, content, lookup) for path, content in tree.items()}

    def _imports(self, path: str, content: bytes, lookup: ModuleLookup) -> Imports:
        if (path, content) not in self._rows:
            rows = collect(path, path, content)[IMPORTS.name]
            self._rows[path, content] = [dict(zip(IMPORTS.column_names, row, strict=True)) for row in rows]
        resolved = list(resolved_rows(self._rows[path, content], lookup))
        found = [row for row in resolved if row["target_file_id"]]
        return Imports(
            frozenset(row["target_file_id"] for row in found),
            frozenset(row["target_file_id"] for row in found if row["is_star"] and row["target_kind"] == "module"),
            frozenset(key for row in resolved for key in row["looked_up"]),
            frozenset(row["module"].split(".")[0] for row in resolved if row["module"] and not row["target_file_id"]),
        )


@dataclass
class Replay:
    """A tree on disk, its warm indexer, and what is known of every file."""

    folder: Path
    tree: dict[str, bytes]
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    site_packages: Path | None = None
    names: Names = field(default_factory=Names)
    answers: dict[str, Answer] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        write_tree(self.folder, {}, self.tree)
        self.graph = self.names.graph(self.tree)
        self.indexer = self._open()
        self.answers = {answer.path: answer for answer in self.indexer.index(sorted(self.tree))}
        self._note_fingerprints(self.answers, {}, {})

    def _open(self) -> ScipIndexer:
        return ScipIndexer(
            self.folder, Surroundings(search_roots=source_roots(self.tree), site_packages=self.site_packages)
        )

    def close(self) -> None:
        self.indexer.close()

    def step(self, tree: Tree, check: Check = EVERYTHING) -> StepResult:
        before, self.tree = self.tree, dict(tree)
        write_tree(self.folder, before, self.tree)
        if source_roots(before) != source_roots(self.tree):
            return self._refresh(before)
        change = self._change(before)
        self.indexer.update(sorted(change.changed), sorted(change.added), sorted(change.deleted))
        interfaces = {
            path: answer.interface if isinstance(answer, IndexedFile) else () for path, answer in self.answers.items()
        }
        waves = Waves(change, interfaces, lambda path: words_of(before[path]), self.indexer.index)
        files = list(waves.run())
        old = dict(self.answers)
        self.answers = {path: answer for path, answer in old.items() if path in self.tree}
        self.answers |= {each.answer.path: each.answer for each in files}
        checked = self._checked(check, waves)
        missed = sorted(self._difference(checked))
        self.answers |= checked
        moved = self._note_fingerprints(self.answers, old, before)
        return StepResult(
            changed=len(change.touched),
            bound=len(waves.bound),
            reindexed=len(files),
            truly_changed=len(moved),
            checked=len(checked),
            waves=max((each.wave for each in files), default=0),
            missed=missed,
            moved=frozenset(moved),
            reasons={path: str(reason) for path, reason in waves.indexed.items()},
        )

    def _change(self, before: Tree) -> Change:
        graph_before, self.graph = self.graph, self.names.graph(self.tree)
        return Change(
            graph_before,
            self.graph,
            changed=frozenset(path for path in before.keys() & self.tree.keys() if before[path] != self.tree[path]),
            added=frozenset(self.tree.keys() - before.keys()),
            deleted=frozenset(before.keys() - self.tree.keys()),
            moved=changed_answers(self.names.index(before), self.names.index(self.tree)),
            failed=frozenset(path for path, answer in self.answers.items() if isinstance(answer, FailedFile)),
            search_roots=source_roots(self.tree),
            outside=outside_packages(self.indexer.surroundings.site_packages),
        )

    def _checked(self, check: Check, waves: Waves) -> dict[str, Answer]:
        if check.is_cold:
            return cold_answers(self.folder, sorted(self.tree), self.indexer.surroundings)
        asked = set(self.tree)
        if check.outside is not None:
            outside = sorted(self.tree.keys() - waves.bound)
            sample = self.chance.sample(outside, min(check.outside, len(outside)))
            asked = set(waves.bound - waves.indexed.keys()) | set(sample)
        return {answer.path: answer for answer in self.indexer.index(sorted(asked))}

    def _difference(self, checked: Mapping[str, Answer]) -> Iterator[str]:
        for path, truth in checked.items():
            known = self.answers.get(path)
            if known is None:
                yield f"{path}: never indexed"
            elif known != truth:
                yield from _what_differs(known, truth, self.tree[path])

    def _note_fingerprints(self, now: Mapping[str, Answer], old: Mapping[str, Answer], before: Tree) -> set[str]:
        """The files of this tree whose resolution fingerprint is another one, or new."""
        moved: set[str] = set()
        for path, answer in now.items():
            if answer == old.get(path) and before.get(path) == self.tree[path]:
                continue
            fingerprint = str(rows_of(answer, self.tree[path]).fingerprint["fingerprint"])
            if self.fingerprints.get(path) != fingerprint:
                moved.add(path)
            self.fingerprints[path] = fingerprint
        for path in self.fingerprints.keys() - now.keys():
            del self.fingerprints[path]
        return moved

    def _refresh(self, before: Tree) -> StepResult:
        """Other search roots are other surroundings: everything is indexed, and nothing is to be proven."""
        self.indexer.close()
        self.indexer, self.graph = self._open(), self.names.graph(self.tree)
        old = self.answers
        self.answers = {answer.path: answer for answer in self.indexer.index(sorted(self.tree))}
        moved = self._note_fingerprints(self.answers, old, before)
        count = len(self.tree)
        return StepResult(0, count, count, len(moved), 0, 0, [], frozenset(moved), {}, is_refresh=True)


def _what_differs(known: Answer, truth: Answer, source: bytes) -> Iterator[str]:
    if isinstance(known, FailedFile) or isinstance(truth, FailedFile):
        yield f"{truth.path}: one of them failed"
        return
    ours, theirs = rows_of(known, source), rows_of(truth, source)
    if ours.fingerprint["fingerprint"] != theirs.fingerprint["fingerprint"] or ours.occurrences != theirs.occurrences:
        text = {(row["bstart"], row["symbol"]) for row in ours.occurrences}
        other = {(row["bstart"], row["symbol"]) for row in theirs.occurrences}
        yield f"{truth.path}: occurrences {sorted(text ^ other)[:4]}"
    mine, right = ({entry.path: entry for entry in answer.interface} for answer in (known, truth))
    entries = sorted(path for path in mine.keys() | right.keys() if mine.get(path) != right.get(path))
    if entries:
        yield f"{truth.path}: entries {entries[:6]}"


def released_tree(name: str, version: str) -> dict[str, bytes]:
    """The Python files of a release, below the archive's own folder."""
    with tarfile.open(fileobj=io.BytesIO(corpora.fetch(name, version).read_bytes())) as archive:
        files = [member for member in archive if member.isfile() and member.name.endswith((".py", ".pyi"))]
        return {member.name.partition("/")[2]: _content(archive, member) for member in files}


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    content = archive.extractfile(member)
    assert content is not None
    return content.read()


def one_file_commits(
    before: Tree, after: Tree, most: int, chance: random.Random
) -> Iterator[tuple[str, dict[str, bytes]]]:
    """A release as commits of one file each, in the order of paths, drawn if too many; the rest in a last one."""
    tree = dict(before)
    touched = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    for path in sorted(chance.sample(touched, min(most, len(touched)))):
        if path in after:
            tree[path] = after[path]
        else:
            del tree[path]
        yield path, dict(tree)
    if len(touched) > most:
        yield "(the rest)", dict(after)


def replayed(folder: Path, trees: Sequence[Tree], checks: Iterable[Check]) -> Iterator[StepResult]:
    """Every step of a history; the first tree is the start."""
    replay = Replay(folder, dict(trees[0]))
    try:
        for tree, check in zip(trees[1:], checks, strict=True):
            yield replay.step(tree, check)
    finally:
        replay.close()

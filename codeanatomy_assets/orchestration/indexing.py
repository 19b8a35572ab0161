"""Indexing for a run: which files the indexer is asked for, and its answers on their way to Spark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import takewhile
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa

from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED, PY_MODULE_INDEX
from codeanatomy_assets.contracts.symbols import PY_INTERFACE, SCIP_FINGERPRINTS
from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets.extraction.checkout import Checkout
from codeanatomy_assets.extraction.encoding import UTF_8_AS_STORED, parser_input
from codeanatomy_assets.extraction.outside_packages import outside_packages
from codeanatomy_assets.extraction.scip_documents import document_digest
from codeanatomy_assets.extraction.scip_index import FailedFile, InterfaceEntry, Limits, ScipIndexer, Surroundings
from codeanatomy_assets.extraction.scip_shards import index_side_by_side, processes_for
from codeanatomy_assets.extraction.scip_staged import STAGED, entry_of_row, staged_answer
from codeanatomy_assets.extraction.scip_waves import Answer, Change, Imports, Reason, Waves
from codeanatomy_assets.extraction.words import words_of
from codeanatomy_assets.orchestration.writing_run import NOT_UTF8, StagedFiles, StagedParts, WritingRun
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.staging import Staged
from codeanatomy_assets.transforms import module_roots, names

IMPORT_COLUMNS = ("file_id", "target_file_id", "target_kind", "is_star", "looked_up", "module")


@dataclass(frozen=True)
class Indexed:
    """The indexer's answers, staged, and the files they are about: all of them, and those with a new document.

    None for the whole repository.
    """

    documents: StagedFiles
    files: frozenset[str] | None = None
    new_documents: frozenset[str] | None = None


def surroundings(settings: Settings, roots: Sequence[str]) -> Surroundings:
    return Surroundings(
        python_version=settings.python_version,
        search_roots=tuple(roots),
        site_packages=Path(settings.site_packages) if settings.site_packages else None,
    )


def index_candidates(run: WritingRun) -> Indexed:
    """Index what this run has to: everything, the chosen files, or the waves that the change sets off."""
    if run.ahead is not None:
        return Indexed(run.read_staged(run.ahead.result()))
    run.update_checkout()
    indexing = _Indexing(run)
    touched = run.touched_files(Stage.SYMBOLS)
    return Indexed(run.staged(STAGED, indexing.everything())) if touched is None else indexing.some(touched)


def index_ahead(run: WritingRun) -> None:
    """Begin to index, if that is everything in an update: the indexer and Spark's parsing take a core each."""
    if run.moves_commit and run.refreshes(Stage.SYMBOLS):
        run.ahead = _IndexingAhead(run)


class _IndexingAhead:
    """An index of everything that is staged by a thread of its own."""

    def __init__(self, run: WritingRun) -> None:
        self._ended = Event()
        self._indexing: _Indexing | None = None
        self._pool = ThreadPoolExecutor(1, "indexing")
        self._parts = self._pool.submit(self._stage, run)

    def result(self) -> StagedParts:
        return self._parts.result()

    def end(self) -> None:
        """Index nothing further: an indexer that is at a file is ended."""
        self._ended.set()
        if not self._parts.done() and self._indexing is not None:
            self._indexing.interrupt()
        self._pool.shutdown(cancel_futures=True)

    def _stage(self, run: WritingRun) -> StagedParts:
        run.update_checkout()
        self._indexing = _Indexing(run)
        with closing(self._indexing.everything()) as answers:
            return run.stage(STAGED, takewhile(lambda _: not self._ended.is_set(), answers))


class _Indexing:
    def __init__(self, run: WritingRun) -> None:
        self.run = run
        self.files = run.readable_files()
        self.by_path = {path: file_id for file_id, path in self.files.items()}
        self.folder = Checkout(run.folder.checkout).root
        self.seen: set[str] = set()
        self.new: set[str] = set()
        self.reasons: dict[str, Reason] = {}
        self.bound = 0
        self._indexers: list[ScipIndexer] = []

    def interrupt(self) -> None:
        """End the indexers that are at work, from another thread."""
        for indexer in list(self._indexers):
            indexer.interrupt()

    def everything(self) -> Generator[Staged]:
        yield from self._staged(self._indexed(self.by_path))

    def some(self, touched: frozenset[str]) -> Indexed:
        """The chosen files, or the waves; files that went are in both scopes."""
        gone = touched - self.files.keys()
        is_chosen = self.run.chosen is not None
        answers = self._of_paths(touched) if is_chosen else self._waves(touched)
        documents = self.run.staged(STAGED, self._staged(answers))
        self.run.figures["indexed"] = {
            "files": len(self.seen),
            "bound": self.bound,
            "reasons": dict(Counter(reason.rule for reason in self.reasons.values())),
        }
        self.run.wave_reasons = self.reasons
        return Indexed(documents, frozenset(self.seen) | gone, frozenset(self.new) | gone)

    def _staged(self, answers: Iterable[Answer]) -> Iterator[Staged]:
        for answer in answers:
            file_id = self.by_path[answer.path]
            source = self._source(answer.path)
            is_known = self._is_known(answer, file_id, source)
            self.seen.add(file_id)
            if not is_known:
                self.new.add(file_id)
            yield staged_answer(answer, file_id, source, is_known)

    def _is_known(self, answer: Answer, file_id: str, source: bytes) -> bool:
        """Whether the stored rows are this very document's. A refresh takes nothing for known."""
        if self.run.refreshes(Stage.SYMBOLS) or self.run.chosen is not None or isinstance(answer, FailedFile):
            return False
        known = self.known.get(file_id)
        return known is not None and known["document_sha256"] == document_digest(source, answer.document)

    @cached_property
    def known(self) -> dict[str, dict[str, Any]]:
        columns = ("file_id", "document_sha256", "failure")
        rows = self.run.read_previous_light(SCIP_FINGERPRINTS, columns=columns).to_pylist()
        return {row["file_id"]: row for row in rows}

    def _of_paths(self, file_ids: Iterable[str]) -> Iterator[Answer]:
        return self._indexed(self.files[file_id] for file_id in file_ids if file_id in self.files)

    def _waves(self, touched: frozenset[str]) -> Iterator[Answer]:
        if not touched:
            return
        with self._indexer() as indexer:
            waves = Waves(
                self._change(touched),
                _StoredInterfaces(self.run),
                lambda path: words_of(parser_input(self._source(path)).utf8),
                lambda paths: self._asked([indexer], paths),
            )
            self.bound = len(waves.bound)
            for reindexed in waves.run():
                self.reasons[self.by_path[reindexed.answer.path]] = reindexed.reason
                yield reindexed.answer

    def _indexed(self, paths: Iterable[str]) -> Iterator[Answer]:
        listed = sorted(paths)
        if listed:
            further = processes_for(len(listed), self.run.settings.index_processes) - 1
            with ExitStack() as opened:
                self._indexers = [opened.enter_context(self._indexer())]
                self._indexers += [opened.enter_context(ScipIndexer(*self._opening)) for _ in range(further)]
                yield from self._asked(self._indexers, listed)

    def _asked(self, indexers: Sequence[ScipIndexer], paths: Iterable[str]) -> Iterator[Answer]:
        """Ask for those whose path the indexer can be told; the others are failures that say so."""
        listed = list(paths)
        tellable = [path for path in listed if not path.startswith(NOT_UTF8)]
        yield from index_side_by_side(indexers, tellable, partial(self.run.progress.advance, "indexing"))
        yield from (FailedFile(path, "path_not_utf8") for path in listed if path.startswith(NOT_UTF8))

    def _indexer(self) -> AbstractContextManager[ScipIndexer]:
        """The caller's warm indexer, brought to this checkout, or one for this run alone."""
        if self.run.indexer is None:
            return ScipIndexer(*self._opening)
        return self.run.indexer.serving(*self._opening, self.run.checked_out())

    @cached_property
    def _opening(self) -> tuple[Path, Surroundings, Limits]:
        """What an indexer over this checkout is opened with."""
        settings = self.run.settings
        limits = Limits(settings.index_silent_seconds, settings.index_memory_megabytes)
        return self.folder, surroundings(settings, module_roots.source_roots(self.by_path)), limits

    def _source(self, path: str) -> bytes:
        if path.startswith(NOT_UTF8):
            return b""
        stored = self._stored_otherwise.get(path)
        return (self.folder / path).read_bytes() if stored is None else stored

    @cached_property
    def _stored_otherwise(self) -> dict[str, bytes]:
        """path → stored bytes of the few files that the checkout has in another encoding."""
        others = [row for row in self.run.readable_rows() if row["encoding"] not in UTF_8_AS_STORED]
        return {path: content for _, path, content in self.run.contents(others)}

    def _change(self, touched: frozenset[str]) -> Change:
        before_index = self.run.read_previous_light(PY_MODULE_INDEX)
        after_index = self.run.read_light(PY_MODULE_INDEX)
        old = dict(zip(*(before_index.column(name).to_pylist() for name in ("file_id", "path")), strict=True))
        came = touched & self.files.keys() - old.keys()
        before, after = self._imports(old)
        return Change(
            before=before,
            after=after,
            changed=frozenset(self.files[file_id] for file_id in touched & self.files.keys() & old.keys()),
            added=frozenset(self.files[file_id] for file_id in came),
            deleted=frozenset(old[file_id] for file_id in old.keys() - self.files.keys()),
            moved=names.changed_answers(before_index, after_index),
            failed=frozenset(
                self.files[file_id] for file_id, row in self.known.items() if row["failure"] and file_id in self.files
            ),
            search_roots=tuple(module_roots.source_roots(self.by_path)),
            outside=outside_packages(self._opening[1].site_packages),
        )

    def _imports(self, old: Mapping[str, str]) -> tuple[dict[str, Imports], dict[str, Imports]]:
        """Each file's imports in the ledger's state, and now: those without differing rows are read once."""
        rows = self.run.read_light(PY_IMPORTS_RESOLVED, columns=IMPORT_COLUMNS)
        after = _imports(rows, self.files.keys(), self.files)
        differing = self.run.written[PY_IMPORTS_RESOLVED.name].owners | (old.keys() ^ self.files.keys())
        rows = self.run.read_previous_light(PY_IMPORTS_RESOLVED, differing & old.keys(), IMPORT_COLUMNS)
        same = {old[file_id]: after[old[file_id]] for file_id in old.keys() - differing}
        return {**same, **_imports(rows, differing & old.keys(), old)}, after


class _StoredInterfaces(Mapping[str, Sequence[InterfaceEntry]]):
    """The interface entries of the ledger's state by path, read file by file until all are asked for."""

    def __init__(self, run: WritingRun) -> None:
        self._run = run
        paths = run.read_previous_light(PY_MODULE_INDEX).select(["file_id", "path"]).to_pylist()
        self._ids = {row["path"]: row["file_id"] for row in paths}

    def __getitem__(self, path: str) -> Sequence[InterfaceEntry]:
        if "_all" in self.__dict__:
            return self._all[path]
        rows = self._run.read_previous_light(PY_INTERFACE, (self._ids[path],)).to_pylist()
        return [entry_of_row(row) for row in rows]

    def items(self) -> Any:
        return self._all.items()

    @cached_property
    def _all(self) -> dict[str, list[InterfaceEntry]]:
        paths = {file_id: path for path, file_id in self._ids.items()}
        entries: dict[str, list[InterfaceEntry]] = {path: [] for path in self._ids}
        for row in self._run.read_previous_light(PY_INTERFACE).to_pylist():
            entries[paths[row["file_id"]]].append(entry_of_row(row))
        return entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def _imports(resolved: pa.Table, files: Collection[str], paths: Mapping[str, str]) -> dict[str, Imports]:
    """These files' imports by path, as the waves want them; a file without any has an entry too."""
    targets, stars, looked_up, outside = (defaultdict[str, set[str]](set) for _ in range(4))
    for row in zip(*(resolved.column(name).to_pylist() for name in IMPORT_COLUMNS), strict=True):
        file_id, target, target_kind, is_star, asked, module = row
        looked_up[file_id].update(asked)
        if target is None and module is not None:
            outside[file_id].add(module.split(".")[0])
        if target is not None:
            targets[file_id].add(paths[target])
            if is_star and target_kind == "module":
                stars[file_id].add(paths[target])
    found = (targets, stars, looked_up, outside)
    return {paths[each]: Imports(*(frozenset(of.get(each, ())) for of in found)) for each in files}

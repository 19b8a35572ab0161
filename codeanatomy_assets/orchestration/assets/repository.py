"""The repository stage: the commit's files, and what it did to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.repository import FILE_CHANGES, REPO_SNAPSHOT
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.extraction.git_trees import TreeEntry
from codeanatomy_assets.extraction.private_store import Changes
from codeanatomy_assets.extraction.source_files import describe_all
from codeanatomy_assets.orchestration.assets.stage_assets import stage_assets
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.views import MOST_FILES_IN_MEMORY, one_task
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage.delta_store import Scope
from codeanatomy_assets.transforms import repository

DEPS = {REPO_SNAPSHOT.name: [], FILE_CHANGES.name: [REPO_SNAPSHOT.name]}


def repository_stage(run: WritingRun, tables: Sequence[Table]) -> Iterator[Produced]:
    changes = _changes(run)
    entries, scope = _to_describe(run, changes)
    rows = describe_all(run.snapshot, entries, run.settings.repo_id, run.settings.max_file_bytes)
    yield Produced(REPO_SNAPSHOT, run.replace(REPO_SNAPSHOT, _arrow(run, rows, len(entries)), scope))
    if run.stays_on_commit:
        yield Produced(FILE_CHANGES)
        return
    renames = run.spark.createDataFrame([*_renamed(changes)], "new_path string, old_path string")
    with one_task(run.spark, scope.size <= MOST_FILES_IN_MEMORY):
        changed = repository.file_changes(run.changes(REPO_SNAPSHOT), renames, run.commit)
        yield Produced(FILE_CHANGES, run.replace(FILE_CHANGES, changed, Scope.of((run.commit,))))


def _changes(run: WritingRun) -> Changes | None:
    """What git says changed since the ledger's commit; None when the whole tree is to be looked at."""
    base = run.last.commit if run.last and run.moves_commit else None
    return run.snapshot.changes_since(base)


def _renamed(changes: Changes | None) -> list[tuple[str, str]]:
    return list(changes.renamed.items()) if changes else []


def _to_describe(run: WritingRun, changes: Changes | None) -> tuple[Sequence[TreeEntry], Scope]:
    if run.chosen is not None:
        entries = [entry for entry in run.snapshot.entries() if _file_id(run, entry) in run.chosen]
        return entries, Scope.of(run.chosen)
    if changes is None or run.refreshes(Stage.REPOSITORY):
        return run.snapshot.entries(), run.scope(None)
    present = [*changes.added, *changes.modified]
    return present, Scope.of(_file_id(run, entry) for entry in (*present, *changes.deleted))


def _file_id(run: WritingRun, entry: TreeEntry) -> str:
    return identity.FILE.of(run.settings.repo_id, entry.path)


def _arrow(run: WritingRun, rows: Iterator[dict[str, object]], total: int) -> pa.Table:
    described = []
    for row in rows:
        described.append(row)
        run.progress.advance("reading files", len(described), total)
    return pa.Table.from_pylist(described, schema=REPO_SNAPSHOT.arrow_schema())


ASSETS = stage_assets(Stage.REPOSITORY, DEPS, repository_stage)

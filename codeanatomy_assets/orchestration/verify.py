"""Verifying a state: each built commit against a build from scratch, row by row."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.build import with_known_repository
from codeanatomy_assets.orchestration.fingerprints import stage_fingerprints
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import moved_stages, open_ledger
from codeanatomy_assets.orchestration.progress import Progress
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.table_state import TableState

if TYPE_CHECKING:
    from codeanatomy_assets.storage.spark_session import SparkEngine

SHOWN_ROWS = 3


@dataclass(frozen=True)
class Difference:
    """One file's slice of one dataset that is not the same in two states, with its first rows that differ."""

    dataset: str
    path: str
    only_left: tuple[str, ...]
    only_right: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        yield f"{self.dataset} of {self.path}:"
        yield from (f"  only in the state:       {row}" for row in self.only_left)
        yield from (f"  only in a clean build:   {row}" for row in self.only_right)


@dataclass(frozen=True)
class Verified:
    """One commit compared: nothing in `differences` means that the promise is kept."""

    commit: str
    datasets: int
    rows: int
    differences: tuple[Difference, ...]

    def lines(self) -> Iterator[str]:
        if not self.differences:
            yield f"{short(self.commit)} equals a clean build: {self.rows} rows in {self.datasets} datasets"
            return
        yield f"{short(self.commit)} differs from a clean build, first in:"
        for difference in self.differences:
            yield from difference.lines()


def verify(
    settings: Settings, engine: SparkEngine, progress: Progress, commits: int = 1, most: int = 20
) -> Iterator[Verified]:
    """The last built commits, newest first, each against a build from scratch in a temporary state."""
    from codeanatomy_assets.orchestration.direct import build_directly

    settings = with_known_repository(settings)
    for row in _comparable(settings, _last_built(settings, commits), progress):
        folder = Path(tempfile.mkdtemp(prefix="codeanatomy-verify-"))
        try:
            progress.say(f"building {short(row.commit)} from scratch")
            clean = build_directly(replace(settings, state=folder, tables_uri=""), engine, progress, row.commit)
            yield verified(row, clean, settings.storage_options, most)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _last_built(settings: Settings, commits: int) -> list[LedgerRow]:
    """One row per commit: the last that was written for it."""
    if settings.worktree:
        raise BadInput("a plain folder has no commits to verify: name the state of a git repository with --state")
    rows = {row.commit: row for row in open_ledger(settings).kept_rows()}
    if not rows:
        raise BadInput(f"nothing is built in {settings.state} yet: run `codeanatomy build REPO`")
    newest = sorted(rows.values(), key=lambda row: row.sequence, reverse=True)
    return newest[:commits]


def _comparable(settings: Settings, rows: Sequence[LedgerRow], progress: Progress) -> Iterator[LedgerRow]:
    """Those that this code and these settings built: of others a clean build may well have other rows."""
    for place, row in enumerate(rows):
        moved = moved_stages(stage_fingerprints(settings, row.fingerprints), row)
        if not moved:
            yield row
        elif place:
            progress.say(f"{short(row.commit)} was built by other code or settings: left out")
        else:
            raise BadInput(
                f"{short(row.commit)} was built by other code or settings of the {moved[0]} stage: "
                "`codeanatomy build` brings the state up to date"
            )


def verified(row: LedgerRow, clean: LedgerRow, options: Mapping[str, str] | None = None, most: int = 20) -> Verified:
    tables = [table for table in catalog.state_tables() if table.storage_name in row.state.refs]
    differences = tuple(differences_of(row.state, clean.state, tables, options, most))
    return Verified(row.commit, len(tables), sum(clean.counts.values()), differences)


def differences_of(
    left: TableState,
    right: TableState,
    tables: Sequence[Table],
    options: Mapping[str, str] | None = None,
    most: int = 20,
) -> Iterator[Difference]:
    """The first slices that differ, dataset by dataset."""
    found = 0
    for table in tables:
        ours, theirs = slice_digests(left, table, options), slice_digests(right, table, options)
        for file_id in sorted(ours.keys() | theirs.keys()):
            if ours.get(file_id) != theirs.get(file_id):
                yield _difference(left, right, table, file_id, options)
                found += 1
                if found == most:
                    return


def slice_digests(state: TableState, table: Table, options: Mapping[str, str] | None = None) -> dict[str, str]:
    """Each file's rows as one hash, whatever their order; read batch by batch."""
    rows: dict[str, int] = defaultdict(int)
    for batch in delta_reads.stream(state, table, options):
        for row in batch.to_pylist():
            # A sum does not depend on the order, and tells two equal rows from one.
            digest = hashlib.sha256(repr(list(row.values())).encode()).digest()
            rows[row[table.owner_column]] += int.from_bytes(digest[:16])
    return {owner: f"{total:x}" for owner, total in rows.items()}


def _difference(
    left: TableState, right: TableState, table: Table, file_id: str, options: Mapping[str, str] | None
) -> Difference:
    ours, theirs = (
        Counter(repr(row) for row in delta_reads.read_light(state, table, (file_id,), options).to_pylist())
        for state in (left, right)
    )
    return Difference(
        table.name,
        _path(left, file_id, options) or _path(right, file_id, options) or file_id,
        tuple(sorted((ours - theirs).elements())[:SHOWN_ROWS]),
        tuple(sorted((theirs - ours).elements())[:SHOWN_ROWS]),
    )


def _path(state: TableState, file_id: str, options: Mapping[str, str] | None) -> str | None:
    rows: list[dict[str, Any]] = delta_reads.read_light(state, REPO_SNAPSHOT, (file_id,), options).to_pylist()
    return rows[0]["path"] if rows else None

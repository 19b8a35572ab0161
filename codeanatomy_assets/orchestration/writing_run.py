"""One writing run, from the lock to the ledger row: what every stage reads from and writes through."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from codeanatomy_assets import __version__, catalog
from codeanatomy_assets.contracts.arrow_frames import frame_of
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.contracts.repository import FILE_CHANGES, REPO_SNAPSHOT
from codeanatomy_assets.contracts.table import Layout, Stage, Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.extraction.checkout import Checkout
from codeanatomy_assets.extraction.private_store import PrivateStore, Snapshot
from codeanatomy_assets.extraction.scip_waves import Reason
from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES, moved_parts, stage_fingerprints
from codeanatomy_assets.orchestration.plan import Plan, Target, check_owner, moved_stages, open_ledger, write_limits
from codeanatomy_assets.orchestration.progress import Progress
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import attempts, delta_reads, staging, value_lookups
from codeanatomy_assets.storage.data_files import DataFiles
from codeanatomy_assets.storage.delta_store import Attempt, DeltaStore, Scope, Written
from codeanatomy_assets.storage.ledger import Ledger, LedgerRow
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets.storage.table_state import TableRef, TableState, buckets_for
from codeanatomy_assets.transforms.collected_rows import Collect, collected_files, collecting, flattened, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from codeanatomy_assets.storage.spark_session import SparkEngine

ROOTS = "module_roots"
NOT_UTF8 = "//"
ROWS_PER_COMPACTION = 50
# Rows take some ten times their source's bytes: past this they stay with Spark.
FETCHED_SOURCE_BYTES = 8_000_000
STATE_TABLES = tuple(table for table in catalog.TABLES if table.layout is not Layout.APPEND)


@dataclass(frozen=True)
class StagedParts:
    """Rows that Python put into a folder."""

    folder: Path
    schema: pa.Schema
    bytes: int


class Ahead(Protocol):
    """Work of a later stage that goes on beside an earlier one's."""

    def result(self) -> StagedParts: ...

    def end(self) -> None: ...


@dataclass(frozen=True)
class StagedFiles:
    """Files on their way to Spark, and how many bytes they are."""

    rows: DataFrame
    bytes: int


@dataclass
class WritingRun:
    """The state as this run found it, as it has it now, and what it is to do."""

    settings: Settings
    progress: Progress
    engine: SparkEngine
    lock: StateLock
    folder: StateFolder
    store: DeltaStore
    ledger: Ledger
    attempt: Attempt
    snapshot: Snapshot
    last: LedgerRow | None
    previous: TableState
    state: TableState
    fingerprints: dict[str, str]
    refreshed: frozenset[Stage]
    refreshed_because: str
    moves_commit: bool
    chosen: frozenset[str] | None = None
    starts_empty: frozenset[str] = frozenset()
    indexer: WarmIndexer | None = None
    ahead: Ahead | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    written: dict[str, Written] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    done: set[Stage] = field(default_factory=set)
    wave_reasons: dict[str, Reason] = field(default_factory=dict)
    impacted: frozenset[str] | None = None
    plans: dict[str, dict[str, Any]] = field(default_factory=dict)
    _counted: dict[tuple[TableRef, str], int] = field(default_factory=dict)
    _tracked: dict[TableRef, dict[str, dict[str, Any]]] = field(default_factory=dict)

    @property
    def commit(self) -> str:
        return self.snapshot.commit

    @property
    def spark(self) -> SparkSession:
        return self.engine.session()

    @property
    def mode(self) -> str:
        if not self.moves_commit:
            return "rebuild"
        return "full" if BUILT_STAGES[0] in self.refreshed else "incremental"

    @property
    def stays_on_commit(self) -> bool:
        """The ledger's commit built anew: the record of what that commit changed stands."""
        return self.last is not None and self.last.commit == self.commit

    @property
    def is_noop(self) -> bool:
        """Nothing to do after all: another run built this very state while this one waited for the lock."""
        return self.moves_commit and not self.refreshed and self.stays_on_commit and not self.starts_empty

    def refreshes(self, stage: Stage) -> bool:
        """Whether all files are rebuilt in this stage, whatever changed."""
        return stage in self.refreshed

    def read(self, table: Table, owners: Iterable[str] | None = None) -> DataFrame:
        """A dataset as this run has it now."""
        return delta_reads.read(self.spark, self.state, table, owners)

    def read_files(self, table: Table) -> DataFrame | None:
        """The whole dataset, past Delta's reader where its data files hold just its rows."""
        return delta_reads.read_files(self.spark, self.state, table, self.store.options)

    def read_light(
        self,
        table: Table,
        owners: Iterable[str] | None = None,
        where: str = "",
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        return delta_reads.read_light(self.state, table, owners, self.store.options, where, columns)

    def read_previous(self, table: Table) -> DataFrame:
        """A dataset as the ledger has it, before this run."""
        return delta_reads.read(self.spark, self.previous, table)

    def read_previous_light(
        self, table: Table, owners: Iterable[str] | None = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        return delta_reads.read_light(self.previous, table, owners, self.store.options, columns=columns)

    def previous_owners_listing(self, table: Table, column: str, values: Iterable[str]) -> frozenset[str]:
        """Those whose list in this column held one of these values, before this run."""
        return value_lookups.owners_listing(self.previous, table, column, values, self.store.options)

    @property
    def tracked(self) -> Mapping[str, dict[str, Any]]:
        """`repo_snapshot` as this run has it now, by file_id: each version is read once."""
        ref = self.state.ref(REPO_SNAPSHOT)
        if ref not in self._tracked:
            self._tracked = {ref: {row["file_id"]: row for row in self.read_light(REPO_SNAPSHOT).to_pylist()}}
        return self._tracked[ref]

    def readable_files(self) -> dict[str, str]:
        """file_id → path of the Python files whose text is analysed."""
        return {file_id: row["path"] for file_id, row in self.tracked.items() if is_readable(row)}

    def python_files(self) -> set[str]:
        """The files that have a partition key: Python by name, whether or not they can be read."""
        return {file_id for file_id, row in self.tracked.items() if row["is_python"]}

    def found_roots(self, fingerprint: str) -> None:
        """Note where module names start; when that moved, names may have all over the repository."""
        known = self.last.fingerprints.get(ROOTS) if self.last else None
        self.fingerprints[ROOTS] = fingerprint
        if known != fingerprint:
            position = BUILT_STAGES.index(Stage.SYMBOLS)
            self.refreshed |= frozenset(BUILT_STAGES[position:])
            self.refreshed_because = self.refreshed_because or "the source roots moved"

    def changes(self, table: Table) -> DataFrame:
        """What this run did to a dataset so far, against the ledger's state, netted: its rows, with `delta`."""
        if self.written[table.name].way == "spark":
            return delta_reads.changes(self.spark, table, self.previous, self.state)
        netted = delta_reads.changes_light(table, self.previous, self.state, self.store.options)
        rows = [{**row, "delta": delta} for row, delta in netted]
        schema = table.arrow_schema().append(pa.field("delta", pa.int64()))
        return frame_of(self.spark, pa.Table.from_pylist(rows, schema=schema))

    def replace(
        self, table: Table, rows: DataFrame | pa.Table | DataFiles, scope: Scope, is_bulk: bool = False
    ) -> Written:
        """Swap slices of a dataset, and read it with them from here on."""
        written = self.store.replace_files(self.state, table, rows, scope, self.attempt, is_bulk=is_bulk)
        self.state = self.state.advanced(written.ref)
        self.written[table.name] = written
        return written

    def replace_collected(
        self, staged: StagedFiles, collect: Collect, scopes: Mapping[Table, frozenset[str] | None]
    ) -> Iterator[tuple[Table, Written]]:
        """Collect rows of several datasets from staged files at once, and swap each dataset's slices.

        A few files are computed and fetched once for all datasets. Of many, workers write a first build's rows as they
        make them; all others are kept by Spark and written one by one.
        """
        collected = collected_files(staged.rows, list(scopes), collect)
        scoped = {table: self.scope(files) for table, files in scopes.items()}
        few = max(scope.size for scope in scoped.values()) <= self.store.limits.owners
        if few and staged.bytes <= FETCHED_SOURCE_BYTES:
            fetched = collected.toArrow()
            for table, scope in scoped.items():
                yield table, self.replace(table, flattened(fetched, table), scope)
            return
        if all(scope.is_everything and self.store.is_empty(self.state, table) for table, scope in scoped.items()):
            made = self.store.make_ahead(self.state, list(scoped), staged.rows, collecting(list(scoped), collect))
            for table, scope in scoped.items():
                yield table, self.replace(table, made[table.name], scope)
            return
        collected.persist()
        try:
            for table, scope in scoped.items():
                yield table, self.replace(table, rows_of(collected, table), scope)
        finally:
            collected.unpersist()

    def scope(self, files: frozenset[str] | None) -> Scope:
        """The scope of a write over these files; None for all of them."""
        return Scope.everything(self.file_count) if files is None else Scope.of(files)

    @cached_property
    def file_count(self) -> int:
        return sum(entry.is_python for entry in self.snapshot.entries())

    def touched_files(self, stage: Stage) -> frozenset[str] | None:
        """The files whose rows this stage has to look at; None for all of them."""
        if self.chosen is not None:
            return self.chosen
        if self.refreshes(stage):
            return None
        rows = self.read_light(FILE_CHANGES, (self.commit,)).to_pylist()
        return frozenset(row["file_id"] for row in rows if stage.value in row["stages_touched"])

    def rebuilt_files(self, stage: Stage) -> frozenset[str] | None:
        """The files whose relationships and graph this run makes anew: those impacted; None for all of them."""
        if self.refreshes(stage):
            return None
        if self.impacted is not None:
            return self.impacted
        if self.chosen is not None:
            return self.chosen
        rows = self.read_light(IMPACTED_FILES, (self.commit,)).to_pylist()
        return frozenset(row["file_id"] for row in rows)

    def sources(self, files: frozenset[str] | None) -> StagedFiles:
        """Bytes of the readable Python files among these, as rows (file_id, path, content)."""
        return self.staged(staging.SOURCES, self.contents(self.readable_rows(files)))

    def readable_rows(self, files: frozenset[str] | None = None) -> list[dict[str, Any]]:
        """Rows of the snapshot, of these files or of all, whose text is analysed."""
        chosen = self.tracked.keys() if files is None else sorted(files & self.tracked.keys())
        return [row for row in map(self.tracked.__getitem__, chosen) if is_readable(row)]

    def staged(self, schema: pa.Schema, rows: Iterable[staging.Staged]) -> StagedFiles:
        """Rows that Python made, as a DataFrame that executors can read wherever they are."""
        return self.read_staged(self.stage(schema, rows))

    def stage(self, schema: pa.Schema, rows: Iterable[staging.Staged]) -> StagedParts:
        folder = self.folder.work / f"staged-{self.attempt.number}-{time.monotonic_ns()}"
        return StagedParts(folder, schema, staging.stage(folder, schema, rows))

    def read_staged(self, parts: StagedParts) -> StagedFiles:
        return StagedFiles(staging.read_staged(self.spark, parts.folder, parts.schema, parts.bytes), parts.bytes)

    def contents(self, rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, bytes]]:
        """(file_id, path, bytes) of rows of the snapshot."""
        by_blob: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            by_blob.setdefault(row["blob_id"], []).append(row)
        done = 0
        for blob in self.snapshot.store.read_blobs(by_blob, self.settings.max_file_bytes) if by_blob else ():
            for row in by_blob[blob.blob_id]:
                assert blob.content is not None, f"{row['path']} is over the size limit but not marked so"
                yield row["file_id"], row["path"], blob.content
                done += 1
                self.progress.advance("reading sources", done, len(rows))

    def update_checkout(self) -> None:
        """The private checkout at the commit: the readable Python files whose path the indexer can be told."""
        readable = self.checked_out()
        Checkout(self.folder.checkout).update_to(
            self.snapshot, [entry for entry in self.snapshot.entries() if entry.path in readable]
        )

    def checked_out(self) -> dict[str, str]:
        """path → blob id of what the private checkout holds once it is at the commit."""
        rows = self.readable_rows()
        return {row["path"]: row["blob_id"] for row in rows if not row["path"].startswith(NOT_UTF8)}

    def count(self, table: Table) -> int:
        """Rows of a dataset now: those that the ledger tells of a table that this run left alone are not counted."""
        known = self.last.counts.get(table.name) if self.last else None
        if known is not None and self.last and self.last.state.refs.get(table.storage_name) == self.state.ref(table):
            return known
        key = (self.state.ref(table), table.name)
        if key not in self._counted:
            self._counted[key] = delta_reads.count_rows(self.state, table, self.store.options)
        return self._counted[key]

    def count_stored(self, table: Table) -> int:
        """Rows of the Delta table that holds a dataset."""
        return delta_reads.count_stored(self.state.ref(table), self.store.options)

    def finish(self, summary: dict[str, Any]) -> LedgerRow:
        """Write the ledger row: from here on the commit is built."""
        missing = [stage for stage in BUILT_STAGES if stage not in self.done]
        if self.moves_commit and missing:
            raise BadInput(f"the {missing[0]} stage did not run in this update: launch update_job whole")
        counted = [table for table in catalog.state_tables() if table.stage in BUILT_STAGES]
        row = LedgerRow(
            commit=self.commit,
            tree_id=self.snapshot.tree_id,
            mode=self.mode,
            attempt=self.attempt.number,
            state=self.state,
            counts={table.name: self.count(table) for table in counted},
            fingerprints=self.fingerprints,
            summary=summary,
        )
        self.last = self.ledger.append(row, self.last, self.attempt)
        self.snapshot.store.keep_only({self.commit})
        if self.last.sequence % ROWS_PER_COMPACTION == 0:
            self.snapshot.store.compact()
        return self.last

    def close(self) -> None:
        """Clear the scratch space and let the next run in. Safe to call whatever happened before."""
        if self.ahead is not None:
            self.ahead.end()
        if self.lock.held:
            try:
                attempts.clear_work(self.folder)
            finally:
                self.lock.release()


def begin_update(
    plan: Plan,
    settings: Settings,
    engine: SparkEngine,
    lock: StateLock,
    progress: Progress,
    indexer: WarmIndexer | None = None,
) -> WritingRun:
    """Start the run that moves the state to the plan's target: lock, recover, fetch."""
    run = _begin(settings, engine, lock, progress, plan.target, None, plan.full)
    run.indexer = indexer
    return run


def begin_rebuild(
    settings: Settings,
    engine: SparkEngine,
    lock: StateLock,
    progress: Progress,
    files: frozenset[str] | None,
    everything: bool,
) -> WritingRun:
    """Start a run at the ledger's commit, which it does not move: over chosen files, those of the commit, or all."""
    return _begin(settings, engine, lock, progress, None, files, everything)


def _begin(
    settings: Settings,
    engine: SparkEngine,
    lock: StateLock,
    progress: Progress,
    target: Target | None,
    chosen: frozenset[str] | None,
    full: bool,
) -> WritingRun:
    folder = StateFolder(settings.state)
    delta_reads.forget()
    lock.acquire("codeanatomy build", settings.lock_wait_seconds, progress.say)
    try:
        if target is None:
            open_ledger(settings).resolve(None)
        else:
            check_owner(settings, target, open_ledger(settings).last())
            folder.claim(str(target.location), target.kind, __version__)
        attempts.clear_work(folder)
        folder.work.mkdir(parents=True)
        engine.launch((lock.descriptor,))
        store = DeltaStore(settings.tables_root, engine.session, settings.storage_options, write_limits(settings))
        ledger = Ledger(store)
        snapshot = _snapshot(PrivateStore(folder.repository_store), target, ledger)
        known = ledger.last()
        fingerprints = stage_fingerprints(settings, known.fingerprints if known else {})
        attempt = attempts.begin_attempt(folder, snapshot.commit, "update" if target else "rebuild")
        buckets = None if target is None else _buckets(ledger, snapshot, fingerprints, full)
        recovered = attempts.recover(store, ledger, STATE_TABLES, attempt, buckets)
        if recovered.restored:
            progress.say(f"recovered {len(recovered.restored)} tables from a run that died")
        if recovered.last is not None and ROOTS in recovered.last.fingerprints:
            fingerprints[ROOTS] = recovered.last.fingerprints[ROOTS]
        moved = moved_stages(fingerprints, recovered.last)
        if target is None and recovered.starts_empty:
            raise BadInput(f"table {min(recovered.starts_empty)} is lost: run update_job, which makes it anew")
        if target is None and moved:
            raise BadInput(
                f"the {moved[0]} stage's code or settings changed since the last build: run update_job first"
            )
        return WritingRun(
            settings=settings,
            progress=progress,
            engine=engine,
            lock=lock,
            folder=folder,
            store=store,
            ledger=ledger,
            attempt=attempt,
            snapshot=snapshot,
            last=recovered.last,
            previous=recovered.previous,
            state=recovered.working,
            fingerprints=fingerprints,
            refreshed=_refreshed(full, moved, recovered.starts_empty),
            refreshed_because=_because(full, fingerprints, recovered),
            moves_commit=target is not None,
            chosen=chosen,
            starts_empty=recovered.starts_empty,
        )
    except BaseException:
        lock.release()
        raise


def _snapshot(store: PrivateStore, target: Target | None, ledger: Ledger) -> Snapshot:
    if target is not None:
        return target.snapshot(store)
    last = ledger.resolve(None)
    held = store.snapshot(last.commit)
    if held is None:
        raise BadInput(f"the sources of commit {last.commit} are no longer held: run update_job first")
    return held


def _buckets(ledger: Ledger, snapshot: Snapshot, fingerprints: dict[str, str], full: bool) -> int | None:
    """Tables are laid out anew when everything is rebuilt anyway."""
    last = ledger.last()
    if last is not None and not full and BUILT_STAGES[0] not in moved_stages(fingerprints, last):
        return None
    return buckets_for(sum(entry.is_python for entry in snapshot.entries()))


def _refreshed(full: bool, moved: tuple[Stage, ...], starts_empty: frozenset[str]) -> frozenset[Stage]:
    """The first stage that must be rebuilt whole, and all after it."""
    for position, stage in enumerate(BUILT_STAGES):
        lost = any(table.storage_name in starts_empty for table in catalog.of_stage(stage) if table.bucketed)
        if full or stage in moved or lost:
            return frozenset(BUILT_STAGES[position:])
    return frozenset()


def _because(full: bool, fingerprints: dict[str, str], recovered: attempts.Recovered) -> str:
    """Why stages are rebuilt whole, if they are: asked for, first build, a lost table, or which fingerprint moved."""
    if recovered.last is None:
        return "this was the first build"
    if full:
        return "it was asked for"
    moved = [f"{part} moved" for part in moved_parts(fingerprints, recovered.last.fingerprints)]
    return ", ".join([*moved, *(f"table {name} lost or of another shape" for name in sorted(recovered.starts_empty))])


def is_readable(row: dict[str, Any]) -> bool:
    """A snapshot row whose text is analysed."""
    return bool(row["is_python"]) and row["skip_reason"] is None

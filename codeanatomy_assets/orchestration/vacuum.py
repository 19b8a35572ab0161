"""The vacuum run: lets go what is past the retention, from the lock to the last file. No JVM, no Dagster.

In this order, so that a crash at any moment leaves every kept commit readable (docs/adr/0019): rows of commits
that are let go; the ledger row, from which on nobody resolves them; only then files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.table import Layout, Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.extraction.private_store import PrivateStore
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import open_ledger, open_store
from codeanatomy_assets.orchestration.progress import Progress
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import attempts, delta_reads
from codeanatomy_assets.storage.delta_store import Attempt, DeltaStore, Scope
from codeanatomy_assets.storage.ledger import KEPT_FROM, Ledger, LedgerRow, kept_from
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.retention import Retention
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets.storage.table_state import table_path
from codeanatomy_assets.storage.vacuum import (
    Garbage,
    Grace,
    compact_ledger,
    find_garbage,
    find_ledger_garbage,
    oldest_versions,
    remove,
)

BY_COMMIT = tuple(table for table in catalog.TABLES if table.layout is Layout.BY_COMMIT)
NAMES = frozenset(table.storage_name for table in catalog.TABLES if table.layout is not Layout.APPEND)
UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(frozen=True)
class Kept:
    """What the ledger keeps once `coming`, the row of this vacuum, is its last one."""

    coming: LedgerRow
    first: int
    rows: tuple[LedgerRow, ...]
    let_go: tuple[str, ...]

    @property
    def commits(self) -> frozenset[str]:
        return frozenset(row.commit for row in self.rows)

    def with_state_of(self, coming: LedgerRow) -> Kept:
        return replace(self, coming=coming, rows=(*self.rows[:-1], coming))


def retention_of(settings: Settings, commits: int | None, days: float | None, grace_hours: float) -> Retention:
    """What the options ask for; one of them alone is the whole rule. Without any, the settings' retention."""
    if min(commits or 0, days or 0, grace_hours) < 0:
        raise BadInput("--keep-commits, --keep-days and --grace-hours can't be negative: 0 is the least")
    if commits is None and days is None:
        return Retention(settings.retain_commits, settings.retain_days, grace_hours)
    return Retention(commits or 0, days or 0.0, grace_hours)


def vacuum(settings: Settings, progress: Progress, retention: Retention, dry_run: bool = False) -> dict[str, Any]:
    """Let go what is past the retention; returns the report. A dry run only looks, and takes no lock."""
    last = open_ledger(settings).resolve(None)
    store = open_store(settings)
    if dry_run:
        return _look(store, retention)
    folder = StateFolder(settings.state)
    lock = StateLock(settings.state)
    try:
        lock.acquire("codeanatomy vacuum", settings.lock_wait_seconds, progress.say)
        delta_reads.forget()
        attempts.clear_work(folder)
        attempt = attempts.begin_attempt(folder, last.commit, "vacuum")
        report = _run(store, attempt, retention, progress)
        if folder.repository_store.exists():
            PrivateStore(folder.repository_store).compact()
        return report
    finally:
        lock.close()


def _look(store: DeltaStore, retention: Retention) -> dict[str, Any]:
    now = datetime.now(UTC)
    ledger = Ledger(store)
    kept = _kept(ledger.rows(), retention, now)
    dropped = {table.name: sum(rows.values()) for table, rows in _rows_to_drop(store, kept).items()}
    garbage = _garbage(store, ledger, kept, _grace(retention, now)) + find_ledger_garbage(store, _grace(retention, now))
    return {**_report(kept, dropped, garbage), "dry_run": True, "ledger_row": None}


def _run(store: DeltaStore, attempt: Attempt, retention: Retention, progress: Progress) -> dict[str, Any]:
    ledger = Ledger(store)
    attempts.recover(store, ledger, (), attempt)
    now = datetime.now(UTC)
    grace = _grace(retention, now)
    kept = _kept(ledger.rows(), retention, now)
    last = ledger.resolve(None)
    dropped: dict[str, int] = {}
    for table, rows in _rows_to_drop(store, kept).items():
        empty = table.arrow_schema().empty_table()
        written = store.replace_files(kept.coming.state, table, empty, Scope.of(rows), attempt)
        kept = kept.with_state_of(replace(kept.coming, state=kept.coming.state.advanced(written.ref)))
        dropped[table.name] = sum(rows.values())
    garbage = _garbage(store, ledger, kept, grace)
    report = _report(kept, dropped, garbage)
    is_row_due = bool(kept.let_go or dropped or garbage.files)
    if is_row_due:
        freed = {KEPT_FROM: kept.first, "freed_files": len(garbage.files), "freed_bytes": garbage.bytes}
        row = replace(kept.coming, attempt=attempt.number, summary={**last.summary, **freed})
        ledger.append(row, last, attempt)
    remove(store, garbage, lambda done, total: progress.advance("deleting files", done, total))
    compact_ledger(store, attempt)
    of_ledger = find_ledger_garbage(store, grace)
    remove(store, of_ledger, lambda *_: None)
    report |= {"files": len((garbage + of_ledger).files), "bytes": (garbage + of_ledger).bytes}
    return {**report, "dry_run": False, "ledger_row": kept.coming.sequence if is_row_due else None}


def _kept(rows: Sequence[LedgerRow], retention: Retention, now: datetime) -> Kept:
    # The state ends being the last row's now, not when this row gets its time: a second may pass in between.
    following = replace(rows[-1], mode="vacuum").follows(rows[-1])
    coming = replace(following, built_at=now.isoformat(timespec="seconds"))
    first_until_now = kept_from(rows)
    # What an earlier vacuum let go stays gone, also when more is to be kept from now on.
    first = max(first_until_now, retention.kept_from([*rows, coming], now))
    newest = {row.commit: row.sequence for row in (*rows, coming)}
    let_go = tuple(commit for commit, number in newest.items() if first_until_now <= number < first)
    return Kept(coming, first, tuple(row for row in (*rows, coming) if row.sequence >= first), let_go)


def _rows_to_drop(store: DeltaStore, kept: Kept) -> dict[Table, dict[str, int]]:
    """Per dataset keyed by commit, the rows of each commit that is no longer kept."""
    found: dict[Table, dict[str, int]] = {}
    for table in BY_COMMIT:
        ref = kept.coming.state.refs.get(table.storage_name)
        if ref is None or not attempts.has_shape(ref, table_path(store.root, table, kept.coming.state.buckets)):
            continue  # of an older contract: the next build begins it anew
        if delta_reads.latest_version(ref.path, store.options) != ref.version:
            continue  # lost, or left ahead by a run that died: the one is begun anew, the other recovered
        opened = delta_reads.open_table(ref, store.options)
        counted = delta_reads.query(opened, 'SELECT "commit", count(*) AS n FROM t GROUP BY "commit"').to_pylist()
        rows = {row["commit"]: row["n"] for row in counted if row["commit"] not in kept.commits}
        if rows:
            found[table] = rows
    return found


def _garbage(store: DeltaStore, ledger: Ledger, kept: Kept, grace: Grace) -> Garbage:
    known = {name for row in ledger.rows() for name in row.state.refs}
    return find_garbage(store, NAMES | known, oldest_versions(store, kept.rows), grace)


def _grace(retention: Retention, now: datetime) -> Grace:
    return Grace(retention.young_since(now), retention.grace_hours == 0)


def _report(kept: Kept, dropped: Mapping[str, int], garbage: Garbage) -> dict[str, Any]:
    """The object that `--json` prints."""
    return {
        "commit": kept.coming.commit,
        "kept_from": kept.first,
        "kept_commits": list({row.commit: None for row in kept.rows}),
        "let_go": list(kept.let_go),
        "rows_removed": dict(dropped),
        "tables_removed": list(garbage.tables),
        "files": len(garbage.files),
        "bytes": garbage.bytes,
    }


def report_as_text(report: Mapping[str, Any]) -> str:
    would = "would be " if report["dry_run"] else ""
    kept, gone = report["kept_commits"], report["let_go"]
    lines = [f"kept: {_counted(len(kept), 'commit')}, {short(kept[0])} and later"]
    if gone:
        lines.append(f"{would}let go: {_counted(len(gone), 'commit')}, up to {short(gone[-1])}")
    if report["rows_removed"]:
        rows = _counted(sum(report["rows_removed"].values()), "row")
        lines.append(f"{would}removed: {rows} of {_counted(len(report['rows_removed']), 'dataset')} kept by commit")
    lines += [f"{would}removed: table {folder}" for folder in report["tables_removed"]]
    lines.append(f"{would}freed: {_size(report['bytes'])} in {_counted(report['files'], 'file')}")
    return "\n".join(lines)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _size(number: float) -> str:
    for unit in UNITS[:-1]:
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} {UNITS[-1]}"

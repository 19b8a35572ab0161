"""Attempts: a number of its own for every writing run, and the repair of what a dead one left."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.delta_store import Attempt, DeltaStore
from codeanatomy_assets.storage.ledger import Ledger, LedgerRow
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets.storage.table_state import TableRef, TableState, table_path

KEPT_ATTEMPTS = 50


@dataclass(frozen=True)
class Recovered:
    """Where a run starts from."""

    last: LedgerRow | None
    working: TableState
    restored: tuple[str, ...]
    starts_empty: frozenset[str]


def begin_attempt(folder: StateFolder, commit: str, run: str) -> Attempt:
    """A number that no earlier attempt had, even if the record of them was lost: transaction ids rely on it."""
    folder.attempts.mkdir(parents=True, exist_ok=True)
    known = sorted(int(entry.stem) for entry in folder.attempts.glob("*.json"))
    number = max(int(time.time() * 1000), known[-1] + 1 if known else 0)
    record = {"commit": commit, "run": run, "pid": os.getpid()}
    with (folder.attempts / f"{number}.json").open("x") as out:
        json.dump(record, out)
    for old in known[:-KEPT_ATTEMPTS]:
        (folder.attempts / f"{old}.json").unlink()
    return Attempt(number, commit)


def clear_work(folder: StateFolder) -> None:
    """Remove a dead run's scratch files. Under the lock: whatever is there belongs to nobody."""
    if folder.work.exists():
        shutil.rmtree(folder.work)


def recover(
    store: DeltaStore, ledger: Ledger, tables: Iterable[Table], attempt: Attempt, buckets: int | None = None
) -> Recovered:
    """Undo what a dead run left, so that every table is what the ledger says, and say where to start.

    A table ahead of the ledger is restored, which makes a new version: a ledger row closes the repair.
    A table missing, behind, or of another shape than today's contract starts empty.
    """
    last = ledger.last()
    repaired, restored = _repair_known(store, last, attempt) if last else ({}, [])
    if last and restored:
        state = replace(last.state, refs=repaired)
        summary = {**last.summary, "restored": restored}
        closing = replace(last, state=state, mode="recovery", attempt=attempt.number, summary=summary)
        last = ledger.append(closing, last, attempt)
    wanted = buckets or (last.state.buckets if last else 1)
    refs: dict[str, TableRef] = {}
    starts_empty: set[str] = set()
    for table in tables:
        known = last.state.refs.get(table.storage_name) if last else None
        if known is not None and known.path == table_path(store.root, table, wanted) and _is_intact(store, known):
            refs[known.name] = known
        elif table.storage_name not in refs:
            refs[table.storage_name] = _emptied(store, table, wanted, attempt, restored)
            starts_empty.add(table.storage_name)
    return Recovered(last, TableState(refs, wanted), tuple(restored), frozenset(starts_empty))


def _repair_known(store: DeltaStore, last: LedgerRow, attempt: Attempt) -> tuple[dict[str, TableRef], list[str]]:
    refs: dict[str, TableRef] = {}
    restored: list[str] = []
    for name, ref in last.state.refs.items():
        latest = delta_reads.latest_version(ref.path, store.options)
        ahead = latest is not None and latest > ref.version
        refs[name] = store.restore(ref, attempt) if ahead else ref
        if ahead:
            restored.append(name)
    return refs, restored


def _is_intact(store: DeltaStore, ref: TableRef) -> bool:
    return delta_reads.latest_version(ref.path, store.options) == ref.version


def _emptied(store: DeltaStore, table: Table, buckets: int, attempt: Attempt, restored: list[str]) -> TableRef:
    """The table as it was created, before any row."""
    ref = store.create_missing((table,), buckets).ref(table)
    if ref.version == 0 or delta_reads.count_rows(TableState({ref.name: ref}, buckets), table, store.options) == 0:
        return ref
    restored.append(ref.name)
    return store.restore(ref.at(0), attempt)

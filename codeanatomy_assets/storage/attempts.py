"""Attempts: a number of its own for every writing run, and the repair of what a dead one left."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from deltalake.exceptions import TableNotFoundError

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.delta_store import Attempt, DeltaStore
from codeanatomy_assets.storage.ledger import Ledger, LedgerRow
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets.storage.table_state import TableRef, TableState, is_of_schema, table_path

KEPT_ATTEMPTS = 50


@dataclass(frozen=True)
class Recovered:
    """Where a run starts from.

    `previous` is the state that the run's changes are told against: the ledger's, and for a table the
    ledger does not know, or knows but is lost, the empty one.
    """

    last: LedgerRow | None
    working: TableState
    previous: TableState
    restored: tuple[str, ...]
    starts_empty: frozenset[str]


def begin_attempt(folder: StateFolder, commit: str, run: str) -> Attempt:
    """A number that no earlier attempt had, even if the record of them was lost: transaction ids rely on it."""
    folder.attempts.mkdir(parents=True, exist_ok=True)
    known = sorted(int(entry.stem) for entry in folder.attempts.glob("*.json"))
    number = max(time.time_ns() // 1_000, known[-1] + 1 if known else 0)
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
    A table missing, behind, or of another shape than today's contract starts empty; missing or behind, at
    a path of its own, so that no version which the ledger names comes to mean other rows.
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
    previous: dict[str, TableRef] = {}
    starts_empty: set[str] = set()
    for table in {table.storage_name: table for table in tables}.values():
        path = table_path(store.root, table, wanted)
        known = last.state.refs.get(table.storage_name) if last else None
        if known is not None and has_shape(known, path) and _is_intact(store, known):
            refs[known.name] = previous[known.name] = known
            continue
        if known is not None and has_shape(known, path):
            path = f"{path}-{attempt.number}"
        emptied = _emptied(store, table, path, attempt, restored)
        refs[emptied.name] = emptied
        # A table of another bucket count still tells what was there; of another schema it has not today's columns.
        is_readable = known is not None and is_of_schema(known, table) and _is_intact(store, known)
        previous[emptied.name] = known if known is not None and is_readable else emptied
        starts_empty.add(emptied.name)
    told_against = TableState(previous, last.state.buckets if last else wanted)
    return Recovered(last, TableState(refs, wanted), told_against, tuple(restored), frozenset(starts_empty))


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


def has_shape(ref: TableRef, path: str) -> bool:
    """Whether a table is of the shape that this path stands for: there, or begun anew beside it."""
    return ref.path == path or ref.path.startswith(f"{path}-")


def _is_intact(store: DeltaStore, ref: TableRef) -> bool:
    return delta_reads.latest_version(ref.path, store.options) == ref.version


def _emptied(store: DeltaStore, table: Table, path: str, attempt: Attempt, restored: list[str]) -> TableRef:
    """The table as it was created, before any row; at a path of its own where vacuum cut that version off."""
    ref = store.ensure(table, path)
    if not _can_begin_again(store, ref):
        return store.ensure(table, f"{path}-{attempt.number}")
    if ref.version == 0 or delta_reads.count_stored(ref, store.options) == 0:
        return ref
    restored.append(ref.name)
    return store.restore(ref.at(0), attempt)


def _can_begin_again(store: DeltaStore, ref: TableRef) -> bool:
    try:
        delta_reads.open_table(ref.at(0), store.options)
    except TableNotFoundError:
        return False
    return True

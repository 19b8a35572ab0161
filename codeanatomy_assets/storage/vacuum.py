"""Vacuum: which files no kept row of the ledger needs, and taking them away in an order that a crash can't hurt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties

from codeanatomy_assets.contracts.ledger import GRAPH_COMMITS
from codeanatomy_assets.storage.delta_log import HINT, LOG, LogEntry, LogUnreadable, TableLog, described
from codeanatomy_assets.storage.delta_store import ATTEMPT_KEY, Attempt, DeltaStore
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.stored_files import StoredFile, StoredFiles
from codeanatomy_assets.storage.table_state import table_path

# A checkpoint of a small table is about as large as a dozen entries of its log.
LOG_BYTES_WORTH_A_CHECKPOINT = 65_536
LEDGER_FILES_WORTH_COMPACTING = 10
# What `table_path` and recovery make: nothing else under the root is ours to remove.
_SHAPE = re.compile(r"v\d+(-b\d+)?(-\d+)?")


@dataclass(frozen=True)
class Garbage:
    """What can go, in the order in which it has to: `checkpoints` are written first, (folder, version) each."""

    files: tuple[StoredFile, ...] = ()
    checkpoints: tuple[tuple[str, int], ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)

    def __add__(self, other: Garbage) -> Garbage:
        return Garbage(self.files + other.files, self.checkpoints + other.checkpoints, self.tables + other.tables)


@dataclass(frozen=True)
class Grace:
    """Files as young as `since` stay; `is_none` if a reader has no time at all."""

    since: datetime
    is_none: bool

    def is_over(self, file: StoredFile) -> bool:
        return self.is_none or file.modified < self.since


def oldest_versions(store: DeltaStore, rows: Iterable[LedgerRow]) -> dict[str, int]:
    """The oldest version of each table that one of the rows names, by the table's folder below the root."""
    oldest: dict[str, int] = {}
    for ref in (ref for row in rows for ref in row.state.refs.values()):
        folder = ref.path.removeprefix(f"{store.root}/")
        oldest[folder] = min(ref.version, oldest.get(folder, ref.version))
    return oldest


def find_garbage(store: DeltaStore, names: Iterable[str], kept: Mapping[str, int], grace: Grace) -> Garbage:
    """What no version from the kept ones on needs, in the tables of these names.

    A folder that `kept` does not name goes whole. Versions after a kept one stay too, so that the change feed
    between any two of them can be read.
    """
    files = StoredFiles(store.root, store.options)
    found = Garbage()
    for folder in (folder for name in sorted(names) for folder in files.folders(name)):
        if _SHAPE.fullmatch(folder.rpartition("/")[2]):
            listed = files.below(folder)
            if folder in kept:
                found += _of_table(store, TableLog(files, folder, listed), listed, kept[folder], grace)
            elif all(grace.is_over(file) for file in listed):
                found += Garbage(tuple(_log_first(files, folder, listed)), (), (folder,))
    return found


def find_ledger_garbage(store: DeltaStore, grace: Grace) -> Garbage:
    """What the ledger itself no longer needs: a reader takes its newest version, at the moment it looks."""
    files = StoredFiles(store.root, store.options)
    folder = _ledger_path(store).removeprefix(f"{store.root}/")
    listed = files.below(folder)
    log = TableLog(files, folder, listed)
    settled = [entry.version for entry in log.entries if entry.kind == "json" and grace.is_over(entry.file)]
    return _of_table(store, log, listed, max(settled), grace) if settled else Garbage()


def remove(store: DeltaStore, garbage: Garbage, on_removed: Callable[[int, int], None]) -> None:
    """Take it away. Whatever is left when this is broken off, the next vacuum finds again."""
    files = StoredFiles(store.root, store.options)
    for folder, version in garbage.checkpoints:
        DeltaTable(f"{store.root}/{folder}", version=version, storage_options=store.options).create_checkpoint()
    for number, file in enumerate(garbage.files, start=1):
        files.delete(file.path)
        on_removed(number, len(garbage.files))
    for folder in {file.path.split("/", 1)[0] for file in garbage.files}:
        files.remove_empty(folder)


def compact_ledger(store: DeltaStore, attempt: Attempt) -> bool:
    """Put the ledger's rows, each of which came as a file, into one; whether there was anything to do."""
    table = DeltaTable(_ledger_path(store), storage_options=store.options)
    if len(table.file_uris()) < LEDGER_FILES_WORTH_COMPACTING:
        return False
    table.optimize.compact(
        commit_properties=CommitProperties(custom_metadata={ATTEMPT_KEY: attempt.mark}, max_commit_retries=0),
        post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
    )
    return True


def _of_table(store: DeltaStore, log: TableLog, listed: Sequence[StoredFile], oldest: int, grace: Grace) -> Garbage:
    """What a table can do without whose versions are kept from one on."""
    if not log.entries or log.latest < oldest:
        return Garbage()  # lost: recovery will begin it anew, and until then nothing here is certain
    present, needed = log.needed_since(oldest)
    opened = DeltaTable(f"{store.root}/{log.folder}", version=oldest, storage_options=store.options)
    if {unquote(uri).rpartition("/")[2] for uri in opened.file_uris()} != {path.rpartition("/")[2] for path in present}:
        raise LogUnreadable(f"{log.folder} at version {oldest} is read in two ways: nothing of it was deleted")
    data = [
        file
        for file in listed
        if file.folder != f"{log.folder}/{LOG}" and _about(file).removeprefix(f"{log.folder}/") not in needed
    ]
    entries, checkpoints = _of_log(log, oldest, grace)
    drafts = [file for file in listed if file.folder == f"{log.folder}/{LOG}" and file.name.endswith(".tmp")]
    return Garbage(tuple(file for file in (*data, *drafts, *entries) if grace.is_over(file)), checkpoints)


def _of_log(log: TableLog, oldest: int, grace: Grace) -> tuple[list[StoredFile], tuple[tuple[str, int], ...]]:
    """Entries before a checkpoint that the oldest version can be read from, and the checkpoint, if it is to be made.

    A reader that came before the checkpoint was there reads the entries: they stay until its grace is over.
    """
    settled = max((each for each, file in log.checkpoints.items() if each <= oldest and grace.is_over(file)), default=0)
    before = [entry for entry in log.entries if entry.version < oldest]
    is_worth_it = sum(entry.file.size for entry in before) >= LOG_BYTES_WORTH_A_CHECKPOINT
    is_made = oldest not in log.checkpoints and is_worth_it
    cut = oldest if is_made and grace.is_none else settled
    return [entry.file for entry in before if entry.version < cut], ((log.folder, oldest),) if is_made else ()


def _log_first(files: StoredFiles, folder: str, listed: Sequence[StoredFile]) -> list[StoredFile]:
    """All files of a table, in an order in which what is left is an older version of it, or none.

    A build may come to this path again before the rest is gone: it must find a table that can be read, or none.
    """
    log = TableLog(files, folder, listed)
    hints = [file for file in listed if file.name == HINT]
    log_files = [*hints, *(entry.file for entry in sorted(log.entries, key=_newest_first))]
    known = set(log_files)
    return [*log_files, *(file for file in listed if file not in known)]


def _newest_first(entry: LogEntry) -> tuple[int, bool]:
    """A version's entry goes before its checkpoint, which alone is still a whole version."""
    return (-entry.version, entry.kind != "json")


def _about(file: StoredFile) -> str:
    return f"{file.folder}/{described(file.name)}"


def _ledger_path(store: DeltaStore) -> str:
    return table_path(store.root, GRAPH_COMMITS, 1)

"""The ledger `graph_commits`: which table versions make up each built commit. Its last row is the state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, write_deltalake
from deltalake.exceptions import CommitFailedError

from codeanatomy_assets.contracts.ledger import GRAPH_COMMITS
from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.delta_store import ATTEMPT_KEY, Attempt, DeltaStore
from codeanatomy_assets.storage.table_state import TableRef, TableState, table_path

SHORTEST_ABBREVIATION = 4
LAST = "ORDER BY sequence DESC LIMIT 1"
# In a summary: the first row whose state vacuum kept.
KEPT_FROM = "kept_from"


class LedgerMoved(CodeAnatomyError):
    """The ledger, or a table, was moved by somebody else while this run held the lock."""


@dataclass(frozen=True)
class LedgerRow:
    """One finished attempt."""

    commit: str
    tree_id: str
    mode: str
    attempt: int
    state: TableState
    counts: Mapping[str, int] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    parent: str | None = None
    sequence: int = 0
    built_at: str = ""

    @property
    def built_by(self) -> str:
        """How the commit itself was built: a repair or vacuum after it keeps what the build said."""
        return str(self.summary.get("mode", self.mode))

    def follows(self, previous: LedgerRow | None) -> LedgerRow:
        """This row in its place after the ledger's last one."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        if previous is None:
            return replace(self, sequence=1, parent=None, built_at=at)
        parent = previous.parent if self.commit == previous.commit else previous.commit
        return replace(self, sequence=previous.sequence + 1, parent=parent, built_at=at)


class Ledger:
    """Reads need no JVM; the one write is an append by compare-and-set."""

    def __init__(self, store: DeltaStore) -> None:
        self._store = store
        self._path = table_path(store.root, GRAPH_COMMITS, 1)

    def last(self) -> LedgerRow | None:
        rows = self._select(LAST)
        return rows[0] if rows else None

    def rows(self) -> list[LedgerRow]:
        """All rows, oldest first, also those whose state is gone."""
        return self._select("ORDER BY sequence")

    def kept_rows(self) -> list[LedgerRow]:
        """The rows whose state can be read, oldest first: those that no vacuum let go."""
        rows = self.rows()
        first = kept_from(rows)
        return [row for row in rows if row.sequence >= first]

    def resolve(self, commit: str | None) -> LedgerRow:
        """The state a built commit stands for: its newest row. Abbreviations are taken; None is the last."""
        rows = [self.last()] if commit is None else self.rows()
        built = [row for row in rows if row is not None]
        if not built:
            raise BadInput("nothing is built in this state yet: run `codeanatomy build REPO` first")
        if commit is None:
            return built[-1]
        exact = [row for row in built if row.commit == commit]
        found = exact or [row for row in built if _abbreviates(commit, row.commit)]
        meant = sorted({row.commit for row in found})
        if len(meant) > 1:
            raise BadInput(f"{commit} is ambiguous in the ledger: give more digits of one of {', '.join(meant)}")
        if not found:
            raise BadInput(f"commit {commit} is not built: `codeanatomy status` lists those that are")
        if found[-1].sequence < kept_from(built):
            raise BadInput(
                f"commit {commit} is past the retention: it was built at {found[-1].built_at}, and vacuum has let it"
                " go since: build it again (`codeanatomy build REPO --commit`), or ask for a later one"
            )
        return found[-1]

    def append(self, row: LedgerRow, previous: LedgerRow | None, attempt: Attempt) -> LedgerRow:
        """Write the row, last, if the ledger is where the run found it and all new versions are its own."""
        self._check_ours(row, previous, attempt)
        placed = row.follows(previous)
        self._store.create_missing((GRAPH_COMMITS,), 1)
        handle = DeltaTable(self._path, storage_options=self._store.options)
        last = max((found.sequence for found in self._rows(handle, LAST)), default=0)
        if last != placed.sequence - 1:
            raise LedgerMoved(f"the ledger moved to row {last} during this run: run it again")
        try:
            write_deltalake(
                handle,
                pa.Table.from_pylist([self._encode(placed)], schema=GRAPH_COMMITS.arrow_schema()),
                mode="append",
                commit_properties=CommitProperties(custom_metadata={ATTEMPT_KEY: attempt.mark}, max_commit_retries=0),
                post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
            )
        except CommitFailedError as error:
            raise LedgerMoved("another run wrote the ledger during this one: run it again") from error
        return placed

    def _check_ours(self, row: LedgerRow, previous: LedgerRow | None, attempt: Attempt) -> None:
        """Every table is where this run left it, and nobody else's commit counts since the ledger's version."""
        for name, ref in row.state.refs.items():
            latest = delta_reads.latest_version(ref.path, self._store.options)
            if previous and previous.state.refs.get(name) == ref and (latest is None or latest < ref.version):
                continue  # lost before this run, which did not write it: recovery begins it anew
            if latest != ref.version:
                raise LedgerMoved(f"{name} is at version {latest}, this run left it at {ref.version}: run it again")
            known = previous.state.refs.get(name) if previous else None
            if known is None or known.path != ref.path:
                continue
            foreign = [mark for mark in self._store.marks_since(known) if mark != attempt.mark]
            if foreign:
                raise LedgerMoved(f"{name} has commits of {foreign[0]} after the ledger's version: run it again")

    def _select(self, clause: str) -> list[LedgerRow]:
        handle = delta_reads.open_latest(self._path, self._store.options)
        return [] if handle is None else self._rows(handle, clause)

    def _rows(self, handle: DeltaTable, clause: str) -> list[LedgerRow]:
        return [self._decode(row) for row in delta_reads.query(handle, f"SELECT * FROM t {clause}").to_pylist()]

    def _encode(self, row: LedgerRow) -> dict[str, Any]:
        versions = [
            {"table": ref.name, "path": ref.path.removeprefix(f"{self._store.root}/"), "version": ref.version}
            for ref in sorted(row.state.refs.values(), key=lambda ref: ref.name)
        ]
        return {
            "sequence": row.sequence,
            "commit": row.commit,
            "parent": row.parent,
            "attempt": row.attempt,
            "mode": row.mode,
            "built_at": row.built_at,
            "tree_id": row.tree_id,
            "buckets": row.state.buckets,
            "versions": versions,
            "counts": [{"name": name, "rows": count} for name, count in row.counts.items()],
            "fingerprints": [{"name": name, "value": value} for name, value in row.fingerprints.items()],
            "summary": json.dumps(row.summary),
        }

    def _decode(self, told: dict[str, Any]) -> LedgerRow:
        refs = {
            entry["table"]: TableRef(entry["table"], f"{self._store.root}/{entry['path']}", entry["version"])
            for entry in told["versions"]
        }
        return LedgerRow(
            commit=told["commit"],
            tree_id=told["tree_id"],
            mode=told["mode"],
            attempt=told["attempt"],
            state=TableState(refs, told["buckets"]),
            counts={entry["name"]: entry["rows"] for entry in told["counts"]},
            fingerprints={entry["name"]: entry["value"] for entry in told["fingerprints"]},
            summary=json.loads(told["summary"]),
            parent=told["parent"],
            sequence=told["sequence"],
            built_at=told["built_at"],
        )


def kept_from(rows: Sequence[LedgerRow]) -> int:
    """The number of the first row whose state vacuum left, of all rows of the ledger."""
    return max((row.summary.get(KEPT_FROM, 1) for row in rows), default=1)


def _abbreviates(short: str, commit: str) -> bool:
    return len(short) >= SHORTEST_ABBREVIATION and commit.startswith(short)

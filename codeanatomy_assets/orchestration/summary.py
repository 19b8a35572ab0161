"""The summary of a build: one object that the command prints, the ledger keeps and the UI shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.contracts.repository import FILE_CHANGES
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.ledger import KEPT_FROM, LedgerRow, kept_from
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.state_folder import StateFolder

# What runs that moved to no commit noted in the ledger's summary: it is theirs, not the build's.
OF_REPAIRS = (KEPT_FROM, "freed_files", "freed_bytes", "restored", "rebuilt")


def summarise(run: WritingRun) -> dict[str, Any]:
    """What the run found and did, as the ledger keeps it."""
    changes = run.read_light(FILE_CHANGES, (run.commit,)).to_pylist()
    reasons = {
        (row["file_id"], row["reason_kind"]) for row in run.read_light(IMPACTED_FILES, (run.commit,)).to_pylist()
    }
    python = [row for row in run.tracked.values() if row["is_python"]]
    return {
        "mode": run.mode,
        "files": len(python),
        "skipped": dict(Counter(row["skip_reason"] for row in python if row["skip_reason"])),
        "changed": dict(Counter(row["change_kind"] for row in changes)),
        "impacted": len({file_id for file_id, _ in reasons}),
        "reasons": dict(Counter(kind for _, kind in reasons)),
        "refreshed_stages": [stage.value for stage in BUILT_STAGES if stage in run.refreshed],
        "rows_written": {name: written.rows for name, written in run.written.items() if written.owners},
        "seconds": dict(run.seconds),
        **run.figures,
    }


def report(row: LedgerRow, mode: str | None = None) -> dict[str, Any]:
    """The object that `--json` prints for a ledger row; a no-op did nothing of what the row tells."""
    told = {name: value for name, value in row.summary.items() if name not in OF_REPAIRS}
    if mode == "noop":
        told |= {"mode": "noop", "impacted": 0}
        told |= {name: {} for name in ("changed", "reasons", "rows_written", "seconds")} | {"refreshed_stages": []}
        told.pop("indexed", None)
    versions = {table.name: row.state.refs[table.storage_name].version for table in catalog.state_tables()}
    return {"commit": row.commit, **told, "rows": dict(row.counts), "versions": versions}


def as_text(built: dict[str, Any], command: Callable[[str], str]) -> str:
    """A build's report for a person, and what to do next."""
    commit = short(built["commit"])
    if built["mode"] == "noop":
        return f"{commit} is built already: nothing to do ({built['files']} Python files)"
    lines = [f"{commit} built ({built['mode']}): {built['files']} Python files, {built['impacted']} rebuilt"]
    lines += [f"  reason {reason}: {count}" for reason, count in sorted(built["reasons"].items())]
    if "indexed" in built:
        indexed = built["indexed"]
        lines.append(f"  indexed again: {indexed['files']} of {indexed['bound']} files that could see the change")
    lines += [f"  not analysed, {reason}: {count}" for reason, count in sorted(built["skipped"].items())]
    lines += [f"  {name}: {count} rows" for name, count in built["rows"].items()]
    lines += [f"  {stage}: {seconds:.1f} s" for stage, seconds in built["seconds"].items()]
    lines += [
        "next:",
        f"  {command('status')}      what is built",
        f"  {command('impact')}      which files this commit touched, and why",
        f"  {command('export OUT')}  the datasets as Parquet files",
        f"  {command('ui')}          lineage, runs and Materialize buttons in the browser",
    ]
    return "\n".join(lines)


def status(settings: Settings) -> dict[str, Any]:
    """What a state folder holds."""
    folder = StateFolder(settings.state)
    owner = folder.owner()
    rows = open_ledger(settings).rows() if owner else []
    first = kept_from(rows)
    lock = StateLock(folder.root)
    return {
        "state": str(settings.state),
        "repository": owner["repository"] if owner else None,
        "in_use_by": lock.holder() if owner and lock.is_taken() else None,
        "built": [
            {
                "sequence": row.sequence,
                "commit": row.commit,
                "mode": row.mode,
                "built_at": row.built_at,
                "is_kept": row.sequence >= first,
            }
            for row in rows
        ],
        "rows": dict(rows[-1].counts) if rows else {},
    }


def status_as_text(found: dict[str, Any]) -> str:
    if not found["built"]:
        return f"nothing is built in {found['state']} yet: run `codeanatomy build REPO`"
    lines = [f"repository {found['repository']}", f"state      {found['state']}"]
    lines += [f"in use by  {found['in_use_by']}"] if found["in_use_by"] else []
    lines += [
        f"  {row['sequence']:>4}  {short(row['commit'])}  {row['built_at']}  {row['mode']}"
        + ("" if row["is_kept"] else "  (past the retention)")
        for row in found["built"][-10:]
    ]
    lines += [f"  {name}: {count} rows" for name, count in found["rows"].items()]
    return "\n".join(lines)

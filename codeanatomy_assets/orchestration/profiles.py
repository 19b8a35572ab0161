"""Records of how a commit was built: plans of rules and transforms, what each stage took, what writes had to read."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.ledger import PLAN_ARTIFACTS, PRUNING_METRICS, RUN_PROFILES
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES, code_fingerprint
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.rules.compiler import CompiledRule
from codeanatomy_assets.storage.delta_store import Scope
from codeanatomy_assets.storage.pruning import Scanned, scanned
from codeanatomy_assets.transforms import graph

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_EXPLAINED = 20_000


def note_rule(run: WritingRun, rule: CompiledRule, rows: DataFrame) -> None:
    """Keep a rule's plan for the record of this commit."""
    lineage = {
        "columns": {column: [list(origin) for origin in origins] for column, origins in rule.lineage.items()},
        "depends_on": [list(origin) for origin in sorted(rule.depends_on)],
    }
    run.plans[rule.name] = {
        "name": rule.name,
        "kind": "rule",
        "canonical_sql": rule.canonical_sql,
        "tree": rule.tree,
        "lineage": json.dumps(lineage),
        "policy_hash": _digest([code_fingerprint(module) for module in ("rules.compiler", "rules.running")]),
        "schema_hash": _digest([catalog.table(name).fingerprint() for name in rule.tables]),
        "plan_hash": rule.fingerprint,
        "explained": _explained(rows),
    }


def note_transform(run: WritingRun, table: Table, rows: DataFrame) -> None:
    reads = graph.READS[table.name]
    code = code_fingerprint("transforms.graph")
    run.plans[table.name] = {
        "name": table.name,
        "kind": "transform",
        "canonical_sql": None,
        "tree": None,
        "lineage": json.dumps({"tables": list(dict.fromkeys(reads))}),
        "policy_hash": code,
        "schema_hash": _digest([catalog.dataset(name).fingerprint() for name in dict.fromkeys(reads)]),
        "plan_hash": _digest([code, table.fingerprint()]),
        "explained": _explained(rows),
    }


def write_profiles(run: WritingRun) -> None:
    """Write what was noted, and what each stage took: before the ledger row, which names the versions."""
    scope = Scope.of((run.commit,))
    plans = [{"commit": run.commit, **run.plans[name]} for name in sorted(run.plans)]
    if plans:
        run.replace(PLAN_ARTIFACTS, pa.Table.from_pylist(plans, schema=PLAN_ARTIFACTS.arrow_schema()), scope)
    rows = [_profile(run, stage, seconds) for stage, seconds in run.seconds.items()]
    run.replace(RUN_PROFILES, pa.Table.from_pylist(rows, schema=RUN_PROFILES.arrow_schema()), scope)
    pruned = [_pruning(run, name) for name in sorted(run.written) if catalog.dataset(name).bucketed]
    if pruned:
        run.replace(PRUNING_METRICS, pa.Table.from_pylist(pruned, schema=PRUNING_METRICS.arrow_schema()), scope)


def pruned_read(run: WritingRun, table: Table) -> Scanned:
    """What the slices that this run swapped lay in, before it did."""
    owners = None if run.mode == "full" else run.written[table.name].owners
    return scanned(run.previous, table, owners, run.store.options)


def _pruning(run: WritingRun, name: str) -> dict[str, Any]:
    found = pruned_read(run, catalog.dataset(name))
    return {
        "commit": run.commit,
        "dataset": name,
        "slices": len(run.written[name].owners),
        "files_scanned": found.files,
        "files_present": found.all_files,
        "bytes_scanned": found.bytes,
        "bytes_present": found.all_bytes,
    }


def _profile(run: WritingRun, stage: str, seconds: float) -> dict[str, Any]:
    known = {each.value: each for each in BUILT_STAGES}
    return {
        "commit": run.commit,
        "stage": stage,
        "attempt": run.attempt.number,
        "mode": run.mode,
        "fingerprint": run.fingerprints.get(stage),
        "is_refreshed": stage in known and run.refreshes(known[stage]),
        "seconds": seconds,
        "settings_hash": run.settings.result_fingerprint(),
    }


def _explained(rows: DataFrame) -> str:
    plan = rows._jdf.queryExecution().simpleString()
    return str(plan)[:MOST_EXPLAINED]


def _digest(parts: list[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

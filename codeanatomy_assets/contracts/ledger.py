"""Contracts of the ledger: which versions of which tables make up each built commit."""

from __future__ import annotations

from codeanatomy_assets.contracts.columns import COMMIT
from codeanatomy_assets.contracts.table import Column, Layout, Stage, Table
from codeanatomy_assets.contracts.types import BOOLEAN, DOUBLE, INT, LONG, STRING, Array, Struct

TABLE_VERSION = Struct((("table", STRING), ("path", STRING), ("version", LONG)))
COUNT = Struct((("name", STRING), ("rows", LONG)))
FINGERPRINT = Struct((("name", STRING), ("value", STRING)))
MODES = ("full", "incremental", "recovery", "rebuild", "vacuum")

GRAPH_COMMITS = Table(
    "graph_commits",
    Stage.LEDGER,
    doc="One row per finished attempt: the last row is the state; a reader resolves a commit to table versions here.",
    key=("sequence",),
    layout=Layout.APPEND,
    columns=(
        Column("sequence", LONG, "Position in the ledger, from 1, without gaps."),
        COMMIT,
        Column("parent", STRING, "The commit built before it; null for the first.", nullable=True),
        Column("attempt", LONG, "The attempt that wrote the versions new in this row."),
        Column("mode", STRING, "How it came about.", False, MODES),
        Column("built_at", STRING, "UTC, ISO 8601."),
        Column("tree_id", STRING, "Git's tree of the commit, or the digest of a plain folder."),
        Column("buckets", INT, "Buckets of the tables keyed by file."),
        Column("versions", Array(TABLE_VERSION), "Every table's path and version in this state."),
        Column("counts", Array(COUNT), "Rows per dataset."),
        Column("fingerprints", Array(FINGERPRINT), "Fingerprints per stage that the state was built with."),
        Column("summary", STRING, "What the build reported, as JSON."),
    ),
    example={"sequence": 7, "commit": "9f2c…", "mode": "incremental", "attempt": 12},
)

PLAN_ARTIFACTS = Table(
    "plan_artifacts",
    Stage.LEDGER,
    doc="How each rule and transform was run at a commit: what it means, where its columns come from, Spark's plan.",
    key=("commit", "name"),
    layout=Layout.BY_COMMIT,
    columns=(
        COMMIT,
        Column("name", STRING, "The rule or the dataset that a transform makes."),
        Column("kind", STRING, "What it is.", False, ("rule", "transform")),
        Column("canonical_sql", STRING, "What a rule means, whatever its formatting; null of transforms.", True),
        Column("tree", STRING, "The rule's canonical syntax tree as JSON; null of transforms.", True),
        Column("lineage", STRING, "Column → table and column it is made of, and what it depends on, as JSON."),
        Column("policy_hash", STRING, "Hash of the code that compiles and runs it."),
        Column("schema_hash", STRING, "Hash of the contracts of the tables it reads."),
        Column("plan_hash", STRING, "The rule's fingerprint; of a transform, of its code."),
        Column("explained", STRING, "Spark's plan as it explains it, cut at 20,000 characters."),
    ),
    example={"name": "rel_calls", "kind": "rule"},
)

RUN_PROFILES = Table(
    "run_profiles",
    Stage.LEDGER,
    doc="What a commit was built with and what it took, stage by stage.",
    key=("commit", "stage"),
    layout=Layout.BY_COMMIT,
    columns=(
        COMMIT,
        Column("stage", STRING, "The stage; `checks` for all checks together."),
        Column("attempt", LONG, "The attempt that built it."),
        Column("mode", STRING, "How the commit came about.", False, MODES),
        Column("fingerprint", STRING, "Of the stage's code, contracts and settings; null for checks.", True),
        Column("is_refreshed", BOOLEAN, "All files were rebuilt in this stage."),
        Column("seconds", DOUBLE, "Wall seconds."),
        Column("settings_hash", STRING, "Of the settings that can change a row."),
    ),
    example={"stage": "symbols", "seconds": 2.4},
)

PRUNING_METRICS = Table(
    "pruning_metrics",
    Stage.LEDGER,
    doc="How much of each written table a commit had to read to swap its slices, against all that the table has.",
    key=("commit", "dataset"),
    layout=Layout.BY_COMMIT,
    columns=(
        COMMIT,
        Column("dataset", STRING, "The dataset that was written; that of all rules together is `relationships`."),
        Column("slices", LONG, "Slices that were swapped."),
        Column("files_scanned", LONG, "Data files that buckets and statistics can't rule out for these slices."),
        Column("files_present", LONG, "Data files that the table had."),
        Column("bytes_scanned", LONG, "Bytes of the files scanned."),
        Column("bytes_present", LONG, "Bytes of all of them."),
    ),
    example={"dataset": "cpg_edges", "slices": 3, "files_scanned": 2, "files_present": 64},
)

TABLES = (PLAN_ARTIFACTS, RUN_PROFILES, PRUNING_METRICS, GRAPH_COMMITS)

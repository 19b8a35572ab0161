"""Contracts of the ledger: which versions of which tables make up each built commit."""

from __future__ import annotations

from codeanatomy_assets.contracts.columns import COMMIT
from codeanatomy_assets.contracts.table import Column, Layout, Stage, Table
from codeanatomy_assets.contracts.types import INT, LONG, STRING, Array, Struct

TABLE_VERSION = Struct((("table", STRING), ("path", STRING), ("version", LONG)))
COUNT = Struct((("name", STRING), ("rows", LONG)))
FINGERPRINT = Struct((("name", STRING), ("value", STRING)))
MODES = ("full", "incremental", "recovery", "rebuild", "maintenance")

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

TABLES = (GRAPH_COMMITS,)

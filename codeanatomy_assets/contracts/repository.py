"""Contracts of the repository stage: what is tracked, and what a commit changed."""

from __future__ import annotations

from codeanatomy_assets.contracts.columns import COMMIT, FILE_ID, PATH
from codeanatomy_assets.contracts.table import Column, Layout, Stage, Table
from codeanatomy_assets.contracts.types import BOOLEAN, LONG, STRING, Array

SKIP_REASONS = ("too_large", "symlink", "submodule", "undecodable", "nul_bytes", "unsafe_path")
CHANGE_KINDS = ("added", "modified", "deleted", "renamed")

REPO_SNAPSHOT = Table(
    "repo_snapshot",
    Stage.REPOSITORY,
    doc="One row per tracked file of the commit: what it is and whether it is read as Python.",
    key=("file_id",),
    columns=(
        FILE_ID,
        PATH,
        Column("git_mode", STRING, "Git's mode: 100644, 100755, 120000 (symlink), 160000 (submodule)."),
        Column("blob_id", STRING, "Git's object id; for a plain folder the id git would give."),
        Column("sha256", STRING, "Hash of the bytes; null for a submodule.", nullable=True),
        Column("size", LONG, "Bytes; 0 for a submodule."),
        Column("encoding", STRING, "Text encoding by BOM and PEP 263; null unless Python.", nullable=True),
        Column("is_python", BOOLEAN, "A regular file named `*.py` or `*.pyi`, whether or not it can be read."),
        Column("skip_reason", STRING, "Why its content is not analysed; null if it is.", True, SKIP_REASONS),
    ),
    example={"path": "src/app/urls.py", "git_mode": "100644", "size": 1204, "encoding": "utf-8", "is_python": True},
)

FILE_CHANGES = Table(
    "inc_file_changes",
    Stage.REPOSITORY,
    doc="What a commit did to each tracked file, against the commit built before it.",
    key=("commit", "file_id"),
    layout=Layout.BY_COMMIT,
    columns=(
        COMMIT,
        FILE_ID,
        PATH,
        Column(
            "change_kind", STRING, "`renamed` is the new path's row; the old path's is `deleted`.", False, CHANGE_KINDS
        ),
        Column("old_path", STRING, "Where a renamed file came from, by git's similarity.", nullable=True),
        Column("old_sha256", STRING, "Content before; null when added.", nullable=True),
        Column("new_sha256", STRING, "Content after; null when deleted.", nullable=True),
        Column("stages_touched", Array(STRING), "Stages that read what changed: none of them for a README."),
    ),
    example={
        "commit": "9f2c…",
        "path": "src/app/urls.py",
        "change_kind": "modified",
        "stages_touched": ["repository", "syntax"],
    },
)

TABLES = (REPO_SNAPSHOT, FILE_CHANGES)

"""Contracts of the impact stage: what a commit changed for others, and which files it touches, with reasons."""

from __future__ import annotations

from codeanatomy_assets.contracts.columns import COMMIT, FILE_ID, PATH
from codeanatomy_assets.contracts.table import Column, Layout, Stage, Table
from codeanatomy_assets.contracts.types import BOOLEAN, INT, STRING

EXPORT_CHANGES = ("added", "removed", "altered")
CALLER_REASONS = ("caller_symbol", "caller_qname", "override")
IMPORTER_REASONS = ("import_name", "import_star", "import_module", "reexport")
REASON_KINDS = (
    "changed_file",
    "added_file",
    "deleted_file",
    "scip_changed",
    *CALLER_REASONS,
    *IMPORTER_REASONS,
    "full_refresh",
)

VIA = Column("via_file_id", STRING, "The file through which the change reaches it; null for its own.", nullable=True)
DISTANCE = Column("distance", INT, "Files between it and a change: 0 for a file that changed itself.")
REFERENCE = Column("reason_ref", STRING, "What exactly: a name, symbol or module; empty where the kind says it all.")

CHANGED_EXPORTS = Table(
    "inc_changed_exports",
    Stage.IMPACT,
    doc="What importers see differently since the commit built before: names added, removed or altered.",
    key=("commit", "file_id", "entry_path"),
    layout=Layout.BY_COMMIT,
    columns=(
        COMMIT,
        FILE_ID,
        PATH,
        Column("entry_path", STRING, "The name as dim_exported_defs has it."),
        Column("change", STRING, "What happened to it.", False, EXPORT_CHANGES),
        Column("qname", STRING, "Its qualified name."),
        Column("symbol", STRING, "The symbol it leads to, new or else old.", nullable=True),
        Column("is_public", BOOLEAN, "A star import takes it, or took it."),
        Column("is_enumerable", BOOLEAN, "False where the module's names can't all be told from its text."),
    ),
    example={"entry_path": "Router.resolve", "change": "altered", "qname": "app.urls.Router.resolve"},
)


def _impacted(name: str, doc: str, reasons: tuple[str, ...]) -> Table:
    return Table(
        name,
        Stage.IMPACT,
        doc=doc,
        key=("commit", "file_id", "reason_kind", "reason_ref"),
        layout=Layout.BY_COMMIT,
        columns=(
            COMMIT,
            FILE_ID,
            PATH,
            Column("reason_kind", STRING, "Why it is rebuilt.", False, reasons),
            REFERENCE,
            VIA,
            DISTANCE,
        ),
        example={"path": "app/views.py", "reason_kind": reasons[0], "reason_ref": "app.urls.Router", "distance": 1},
    )


IMPACTED_CALLERS = _impacted(
    "inc_impacted_callers",
    "Files that name a symbol or qualified name whose definitions changed, or a class whose bases did.",
    CALLER_REASONS,
)
IMPACTED_IMPORTERS = _impacted(
    "inc_impacted_importers",
    "Files that import what changed: by name, by module, by star, or through a re-export.",
    IMPORTER_REASONS,
)
IMPACTED_FILES = _impacted(
    "inc_impacted_files",
    "Every file that a commit's build rebuilt, once per reason: a file without a row was not touched.",
    REASON_KINDS,
)

TABLES = (CHANGED_EXPORTS, IMPACTED_CALLERS, IMPACTED_IMPORTERS, IMPACTED_FILES)

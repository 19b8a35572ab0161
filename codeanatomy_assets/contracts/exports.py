"""Contracts of the symbols stage's exports: what a module offers importers, and the names things go by."""

from __future__ import annotations

from codeanatomy_assets.contracts.columns import FILE_ID, ORDINAL
from codeanatomy_assets.contracts.identity import IdRecipe
from codeanatomy_assets.contracts.table import Column, Stage, Table
from codeanatomy_assets.contracts.types import BOOLEAN, INT, STRING, Array

EXPORT = IdRecipe("exp", ("file_id", "entry_path", "ordinal"))

BINDINGS = ("module", "definition", "variable", "import", "star", "member", "local", "star_name")
TARGET_KINDS = ("definition", "variable", "module", "external", "unresolved")
NAMED_KINDS = ("module", "definition", "call", "import")
NAME_SOURCES = ("own", "import", "star", "local", "builtin")
# The entry that stands for the module itself, and the one of a star import.
MODULE_ENTRY = "<module>"
STAR_ENTRY = "*"

DIM_EXPORTED_DEFS = Table(
    "dim_exported_defs",
    Stage.SYMBOLS,
    doc="A module's names, its classes' members and its local definitions, each followed to what defines it.",
    key=("export_id",),
    columns=(
        FILE_ID,
        Column("export_id", STRING, "Id from file, entry path and ordinal."),
        Column(
            "entry_path",
            STRING,
            "`name`, `Class.member`; `<module>` for the module itself, `*module` for a star import.",
        ),
        Column("name", STRING, "The last part of the entry path."),
        ORDINAL,
        Column("qname", STRING, "The module's name and the entry path; of a script its path in angle brackets first."),
        Column("qname_id", STRING, "Id of the qualified name."),
        Column(
            "binding",
            STRING,
            "How the module comes by the name; `star_name` through a star, `member` in a class body, `local` inside a "
            "function, `star` for the star import itself.",
            False,
            BINDINGS,
        ),
        Column("kind", STRING, "`function` or `class` where this file defines it, else null.", nullable=True),
        Column("def_id", STRING, "The definition, where this file has it.", nullable=True),
        Column("own_symbol", STRING, "The indexer's symbol of what is bound here, if it has one.", nullable=True),
        Column("own_symbol_id", STRING, "Id of that symbol.", nullable=True),
        Column("is_effective", BOOLEAN, "No later unconditional binding of the same entry replaces it."),
        Column("source_file_id", STRING, "Of an import or star the file it takes from, if it is here.", nullable=True),
        Column("source_module", STRING, "Of an import or star the module it names.", nullable=True),
        Column("source_name", STRING, "The name taken from there; null for a module or star.", nullable=True),
        Column("submodule_file_id", STRING, "The submodule that `from a import b` may mean.", nullable=True),
        Column("assigned_from", STRING, "Of a variable the chain of names it is assigned from.", nullable=True),
        Column("is_public", BOOLEAN, "A star import takes it: listed in `__all__`, or without one no underscore."),
        Column("is_enumerable", BOOLEAN, "False on the module's row if its names can't all be told from its text."),
        Column("signature", STRING, "Hash of its header, or of `__all__` on the module's row.", nullable=True),
        Column("target_kind", STRING, "What the name leads to, re-exports followed.", False, TARGET_KINDS),
        Column("target_file_id", STRING, "The file that has it; null outside the repository.", nullable=True),
        Column("target_def_id", STRING, "The function or class it leads to; null for others.", nullable=True),
        Column("target_entry", STRING, "Entry path in the target file; null for modules and outside.", nullable=True),
        Column("target_qname", STRING, "Qualified name of what it leads to; null if unresolved.", nullable=True),
        Column("target_qname_id", STRING, "Id of that name.", nullable=True),
        Column("symbol", STRING, "The indexer's symbol of what it leads to, if that lies here.", nullable=True),
        Column("symbol_id", STRING, "Id of that symbol.", nullable=True),
        Column("hops", INT, "Modules between this name and what it leads to."),
        Column(
            "looked_up",
            Array(STRING),
            "What the way there depended on, found or not: `file_id name`; all its names or stars behind `file_id *`.",
        ),
    ),
    example={
        "entry_path": "Router",
        "qname": "app.Router",
        "binding": "import",
        "target_kind": "definition",
        "target_qname": "app.urls.Router",
        "hops": 1,
    },
)

DIM_QUALIFIED_NAMES = Table(
    "dim_qualified_names",
    Stage.SYMBOLS,
    doc="Every qualified name that a file defines, imports or may call by; the DISTINCT of names is the global entity.",
    key=("file_id", "subject_id", "qname_id", "source"),
    columns=(
        FILE_ID,
        Column("qname_id", STRING, "Id of the qualified name."),
        Column("qname", STRING, "Absolute dotted name: `pkg.mod.Class.method`, `builtins.len`, `numpy.array`."),
        Column("name", STRING, "Its last part."),
        Column("subject_kind", STRING, "What goes by this name.", False, NAMED_KINDS),
        Column("subject_id", STRING, "The module, definition, call or import clause."),
        Column(
            "source",
            STRING,
            "How the name was found; `own` for what the file is or defines.",
            False,
            NAME_SOURCES,
        ),
    ),
    example={"qname": "numpy.array", "name": "array", "subject_kind": "call", "source": "import"},
)

TABLES = (DIM_EXPORTED_DEFS, DIM_QUALIFIED_NAMES)

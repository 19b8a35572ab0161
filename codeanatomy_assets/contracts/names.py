"""Contracts of the symbols stage's names: which module a file is, and which file an import reaches."""

from __future__ import annotations

from codeanatomy_assets.contracts.columns import FILE_ID, PATH, SCOPE_ID
from codeanatomy_assets.contracts.identity import IdRecipe
from codeanatomy_assets.contracts.syntax import IMPORT_KINDS
from codeanatomy_assets.contracts.table import Column, Stage, Table
from codeanatomy_assets.contracts.types import BOOLEAN, STRING, Array

RESOLVED_IMPORT = IdRecipe("rimp", ("import_id", "target_kind", "module", "name"))

MODULE_KINDS = ("module", "package", "script")
TARGET_KINDS = ("module", "parent", "submodule", "star_submodule")
RESOLUTIONS = ("internal", "ambiguous", "local_directory", "namespace", "stdlib", "external", "unresolved")
UNRESOLVED_REASONS = ("beyond_top_level", "no_module_name", "not_found")

PY_MODULE_INDEX = Table(
    "py_module_index",
    Stage.SYMBOLS,
    doc="The module names of every Python file: its own, and others it can be reached by.",
    key=("module_id",),
    columns=(
        FILE_ID,
        Column("module_id", STRING, "Id from file and module name; of a script from the file alone."),
        PATH,
        Column("module", STRING, "The dotted name from `root`; null for a script.", nullable=True),
        Column("kind", STRING, "`script`: it has no name from any root.", False, MODULE_KINDS),
        Column("is_package", BOOLEAN, "The file is an `__init__`."),
        Column("is_stub", BOOLEAN, "The file is a `.pyi`."),
        Column(
            "root",
            STRING,
            "The search root the name starts at; empty for the repository's; null for a script.",
            nullable=True,
        ),
        Column("is_alternate", BOOLEAN, "A further name, from a root further up; a file has one row without it."),
        Column("is_primary", BOOLEAN, "Of all files that share this name, the one an absolute import takes."),
    ),
    example={
        "path": "src/app/urls.py",
        "module": "app.urls",
        "kind": "module",
        "root": "src",
        "is_alternate": False,
        "is_primary": True,
    },
)

PY_IMPORTS_RESOLVED = Table(
    "py_imports_resolved",
    Stage.SYMBOLS,
    doc="Every import with absolute names: the module each clause names, and the parents and submodules it loads.",
    key=("resolved_id",),
    columns=(
        FILE_ID,
        Column("resolved_id", STRING, "Id from clause, target kind, module and name."),
        Column("import_id", STRING, "The clause, in cst_imports."),
        SCOPE_ID,
        Column("kind", STRING, "The kind of the clause.", False, IMPORT_KINDS),
        Column(
            "target_kind",
            STRING,
            "The module the clause names (one row each), a parent of `import a.b.c`, the submodule that "
            "`from a import b` may mean, or one that a star may take from a package.",
            False,
            TARGET_KINDS,
        ),
        Column("module", STRING, "Absolute name of this row's module; null if it has none.", nullable=True),
        Column("name", STRING, "The name taken from the module; of a submodule row, its last part.", nullable=True),
        Column("bound_name", STRING, "The local name that this module or its member gets here.", nullable=True),
        Column("is_star", BOOLEAN, "`from … import *`."),
        Column("is_type_checking", BOOLEAN, "Stands under `if TYPE_CHECKING`."),
        Column("is_conditional", BOOLEAN, "Stands under if, try, for, while, with or match."),
        Column(
            "resolution",
            STRING,
            "`ambiguous`: a file here under a standard-library name, or outside the package it is taken from; "
            "`local_directory`: only by folder, as the indexer and a script do; `namespace`: a folder here without "
            "`__init__`, so no file.",
            False,
            RESOLUTIONS,
        ),
        Column(
            "reason",
            STRING,
            "Why it is unresolved, or why Python refuses a relative import that the folder answers.",
            True,
            UNRESOLVED_REASONS,
        ),
        Column("target_file_id", STRING, "The file it reaches; null outside the repository.", nullable=True),
        Column(
            "looked_up",
            Array(STRING),
            "On the clause's `module` row, all that the clause's rows depend on, found or not: module names, paths "
            "without suffix behind `/`, and `/path/*` for a folder's list. Empty on the others.",
        ),
    ),
    example={
        "kind": "from",
        "target_kind": "submodule",
        "module": "app.urls",
        "name": "urls",
        "bound_name": "urls",
        "resolution": "internal",
    },
)

TABLES = (PY_MODULE_INDEX, PY_IMPORTS_RESOLVED)

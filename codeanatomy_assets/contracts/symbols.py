"""Contracts of the symbols stage: what names mean across files, as the indexer and the import graph tell it."""

from __future__ import annotations

from codeanatomy_assets.contracts.columns import BEND, BSTART, FILE_ID
from codeanatomy_assets.contracts.identity import IdRecipe
from codeanatomy_assets.contracts.table import Column, Stage, Table
from codeanatomy_assets.contracts.types import BOOLEAN, INT, STRING, Array, Struct

# A local symbol means something in its own file only: same prefix as the global ones, one part more.
LOCAL_SYMBOL = IdRecipe("sym", ("file_id", "symbol"))

OCCURRENCE_ROLES = ("definition", "read")
SYMBOL_KINDS = ("module", "type", "method", "term", "parameter", "type_parameter", "meta", "local")

RELATIONSHIP = Struct((("symbol_id", STRING), ("symbol", STRING), ("kinds", Array(STRING))))
RELATIONSHIP_KINDS = ("definition", "implementation", "reference", "type_definition")

MRO_CLASS = Struct((("path", STRING), ("local_qname", STRING), ("name", STRING)))

SYMBOL_ID = Column("symbol_id", STRING, "Id of the symbol: of its text, for a local of its file and canonical text.")
SYMBOL = Column("symbol", STRING, "The symbol in SCIP's notation; locals renumbered by their first position.")
SYMBOL_PARTS = (
    Column("symbol_kind", STRING, "What the last part of the symbol is.", False, SYMBOL_KINDS),
    Column("package", STRING, "The package it belongs to, with its version; null for locals.", nullable=True),
    Column("module", STRING, "The module it belongs to; null for locals.", nullable=True),
    Column("descriptor", STRING, "The path inside the module, in SCIP's notation; null for locals.", nullable=True),
)

SCIP_FINGERPRINTS = Table(
    "scip_fingerprints",
    Stage.SYMBOLS,
    doc="One row per indexed file: what its names resolve to, as one hash, or why it could not be indexed.",
    key=("file_id",),
    columns=(
        FILE_ID,
        Column("fingerprint", STRING, "sha256 over occurrences and relationships; null on failure.", nullable=True),
        Column("document_sha256", STRING, "sha256 of document and source; null on failure.", nullable=True),
        Column("indexer", STRING, "The indexer and its version."),
        Column("failure", STRING, "Why there is no document: the same reason in two processes.", nullable=True),
    ),
    example={"indexer": "scip-python 0.6.6", "failure": None},
)

SCIP_OCCURRENCES = Table(
    "scip_occurrences",
    Stage.SYMBOLS,
    doc="Every place where the indexer knows what a name means.",
    key=("file_id", "bstart", "bend", "symbol_id", "role"),
    columns=(
        FILE_ID,
        SYMBOL_ID,
        SYMBOL,
        *SYMBOL_PARTS,
        Column("role", STRING, "Whether the name is defined here or read.", False, OCCURRENCE_ROLES),
        BSTART,
        BEND,
        Column("enclosing_bstart", INT, "First byte of the defined function or class.", nullable=True),
        Column("enclosing_bend", INT, "One past its last byte.", nullable=True),
    ),
    example={"symbol": "scip-python python repository 0 `app.urls`/Router#resolve().", "role": "read"},
)

SCIP_SYMBOLS = Table(
    "scip_symbols",
    Stage.SYMBOLS,
    doc="Every symbol a file defines or mentions, with what it implements.",
    key=("file_id", "symbol_id"),
    columns=(
        FILE_ID,
        SYMBOL_ID,
        SYMBOL,
        *SYMBOL_PARTS,
        Column("name", STRING, "The last part's name; null for locals.", nullable=True),
        Column("is_defined_here", BOOLEAN, "This file defines it; else it is another file's or external."),
        Column(
            "relationships",
            Array(RELATIONSHIP),
            f"Symbols it relates to, in order of their text; kinds are of {', '.join(RELATIONSHIP_KINDS)}.",
        ),
    ),
    example={"symbol_kind": "method", "package": "repository 0", "module": "app", "descriptor": "Router#resolve()."},
)

PY_INTERFACE = Table(
    "py_interface",
    Stage.SYMBOLS,
    doc="What a file offers to other files, name by name, with a fingerprint of what they can see of it.",
    schema_version=2,
    key=("file_id", "entry_path"),
    columns=(
        FILE_ID,
        Column(
            "entry_path",
            STRING,
            "`name`, `Class.member`, `f.<locals>.Class.<mro>`; `<all>`, `<module>` for the file.",
        ),
        Column("name", STRING, "The name users write: of the entry, of the class for `<mro>`; empty for the module."),
        Column("kind", STRING, "Its kinds of declaration, joined by `+`; `mro`, `all`, `module` or `synthesized`."),
        Column("type_fingerprint", STRING, "Hash of declarations and type, inferred returns and bases in full names."),
        Column("is_return_inferred", BOOLEAN, "A function without return annotation."),
        Column("is_open", BOOLEAN, "Callers' arguments are tried on a body, which is then part of the fingerprint."),
        Column("is_cut", BOOLEAN, "The type was too deep to be written out: equal fingerprints prove nothing."),
        Column("is_noreturn", BOOLEAN, "A call of it never returns."),
        Column("mentions", Array(STRING), "The words of the open bodies, sorted; empty if there are none."),
        Column(
            "reaches",
            Array(STRING),
            "Classes (`full.name@path`) and files (`@path`) of the repository that its type leads to, and packages "
            "beside it (`<outside> name`); of `<mro>` the class itself, first, then its bases and metaclass, and "
            "`typing.Protocol` if it is one.",
        ),
        Column(
            "mro",
            Array(MRO_CLASS),
            "Of `<mro>` the classes in the order that members are looked up, itself first: of this repository by path "
            "and place in the file, others with their full name alone, `<unknown>` for a base not known.",
        ),
    ),
    example={"entry_path": "Router.resolve", "name": "resolve", "kind": "function", "is_return_inferred": True},
)

TABLES = (SCIP_FINGERPRINTS, SCIP_OCCURRENCES, SCIP_SYMBOLS, PY_INTERFACE)

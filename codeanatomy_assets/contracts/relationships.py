"""Contracts of the relationships stage: what the rules found, in one shape, in one Delta table."""

from __future__ import annotations

from codeanatomy_assets.contracts.columns import BEND, BSTART, FILE_ID
from codeanatomy_assets.contracts.identity import IdRecipe
from codeanatomy_assets.contracts.table import Column, Stage, Table
from codeanatomy_assets.contracts.types import DOUBLE, STRING

RELATIONSHIP = IdRecipe("rel", ("rule", "via_id", "src_id", "dst_id", "resolution_method"))

STORED_IN = "relationships"
ORIGINS = ("cst", "scip", "cst+scip")
CONFIDENCES = ("certain", "likely", "possible", "none")
RESOLUTION_METHODS = (
    "span",  # an occurrence of the indexer on the very same bytes
    "definition",  # the symbol's definition in the repository
    "constructor",  # a class called: its `__init__`, by the order of lookup
    "alias",  # a local name assigned from another one
    "decorator",  # applied by the scope that holds the decorated definition
    "property",  # an attribute read that runs a function
    "candidate",  # a qualified name by imports, stars, definitions or builtins
    "reexport",  # a qualified name followed through other modules
    "import",  # the module an import clause names
    "mro",  # the order in which members of bases are looked up
    "unresolved",
)
UNRESOLVED_REASONS = (
    "no_occurrence",  # the indexer says nothing about this name
    "not_indexed",  # the file could not be indexed
    "dynamic",  # the callee is no name: a call's result, a subscript
    "parameter",  # called through a parameter or another local value
    "external",  # it lies outside the repository
    "builtin",  # a builtin of Python
    "not_found",  # named here, defined nowhere
    "no_definition",  # a symbol of the repository that no function or class defines
)

COLUMNS = (
    FILE_ID,
    Column("rel_id", STRING, "Id from rule, what it is seen on, both ends and method: moves with no blank line."),
    Column("rule", STRING, "The rule, which is the dataset's name."),
    Column("via_id", STRING, "The reference, call, clause, definition or type expression it is seen on."),
    Column("src_id", STRING, "Where it starts: a definition, call, reference, clause, type expression or module."),
    Column("dst_id", STRING, "Where it leads: a definition, module, symbol or qualified name.", nullable=True),
    Column("dep_file_id", STRING, "The file the target was found in, if it is another one.", nullable=True),
    BSTART,
    BEND,
    Column("origin", STRING, "Whose word it is: the syntax's, the indexer's, or both.", False, ORIGINS),
    Column("resolution_method", STRING, "How the target was found.", False, RESOLUTION_METHODS),
    Column("confidence", STRING, "How sure that is.", False, CONFIDENCES),
    Column("score", DOUBLE, "The same as a number from 0 to 1; candidates of one name share it."),
    Column(
        "unresolved_reason",
        STRING,
        "Why there is no target here: set exactly when `dst_id` is null.",
        True,
        UNRESOLVED_REASONS,
    ),
)


def relationship(name: str, doc: str) -> Table:
    """The dataset of one rule."""
    return Table(
        name,
        Stage.RELATIONSHIPS,
        doc=doc,
        key=("rel_id",),
        columns=COLUMNS,
        stored_in=STORED_IN,
        example={"rule": name, "resolution_method": "definition", "confidence": "certain", "score": 1.0},
    )


# All rules at once: how they are written when all of them run.
ALL_RULES = Table(STORED_IN, Stage.RELATIONSHIPS, doc="The rows of all rules.", key=("rel_id",), columns=COLUMNS)

"""Contracts of the syntax stage: what a file's bytes and path alone say.

Names are as written: an import keeps its level, a qualified name starts inside the file. Who a name
belongs to across files is the symbols stage's work.
"""

from __future__ import annotations

from codeanatomy_assets.contracts.columns import BEND, BSTART, FILE_ID, ORDINAL, SCOPE_ID
from codeanatomy_assets.contracts.table import Column, Stage, Table
from codeanatomy_assets.contracts.types import BOOLEAN, INT, STRING, Array, Struct

DEF_KINDS = ("function", "class", "lambda")
REF_CONTEXTS = ("load", "store", "delete", "parameter", "attribute", "keyword", "export")
REF_BINDINGS = ("local", "enclosing", "global", "class", "builtin", "unresolved", "member")
REF_USAGES = (
    "value",
    "callee",
    "decorator",
    "base",
    "metaclass",
    "annotation",
    "all_assign",
    "all_add",
    "all_remove",
    "all_opaque",
)
IMPORT_KINDS = ("import", "from", "star", "dynamic")
TYPE_EXPR_ROLES = ("parameter", "return", "variable", "alias", "bound")
PARSE_ERROR_KINDS = ("error", "missing", "too_deep")
CALLEE_KINDS = ("name", "attribute", "other")

PARAMETER = Struct(
    (("name", STRING), ("kind", STRING), ("annotation", STRING), ("default", STRING), ("bstart", INT), ("bend", INT))
)
ARGUMENT = Struct((("kind", STRING), ("name", STRING), ("bstart", INT), ("bend", INT)))
CANDIDATE = Struct((("qname", STRING), ("level", INT), ("source", STRING)))

DEFS = Table(
    "cst_defs",
    Stage.SYNTAX,
    doc="Functions, classes and lambdas, each with what its header says.",
    key=("def_id",),
    columns=(
        FILE_ID,
        Column("def_id", STRING, "Id from kind, path inside the file and ordinal: moves with no blank line."),
        Column("kind", STRING, "What it is.", False, DEF_KINDS),
        Column("name", STRING, "Its name; a lambda is `<lambda1>`, numbered in its container."),
        Column("local_qname", STRING, "Path inside the file: `Class.method`, `outer.inner`."),
        ORDINAL,
        Column("parent_def_id", STRING, "The definition whose body holds it; null at module level.", nullable=True),
        Column("parent_kind", STRING, "`module`, or the kind of the container."),
        Column("is_async", BOOLEAN, "`async def`."),
        Column("is_conditional", BOOLEAN, "Stands under if, try, for, while, with or match of its container."),
        Column("decorators", Array(STRING), "Decorator expressions as written, without `@`, outermost first."),
        Column("bases", Array(STRING), "Base class expressions as written; keywords (`metaclass=M`) left out."),
        Column(
            "parameters",
            Array(PARAMETER),
            "In order, with their names' spans; kind is positional_only, positional, vararg, keyword_only or kwarg.",
        ),
        Column("returns", STRING, "The return annotation as written.", nullable=True),
        Column("type_parameters", Array(STRING), "PEP 695 parameters as written."),
        Column("docstring", STRING, "The first statement if it is a plain string, its value dedented.", nullable=True),
        Column("name_bstart", INT, "First byte of the name; of `lambda` for a lambda."),
        Column("name_bend", INT, "One past the name's last byte."),
        Column("body_bstart", INT, "First byte of the body."),
        BSTART,
        BEND,
    ),
    example={"kind": "function", "name": "resolve", "local_qname": "Router.resolve", "is_async": False},
)

NAME_REFS = Table(
    "cst_name_refs",
    Stage.SYNTAX,
    doc="Every place a name is read, bound, deleted, a parameter, passed as keyword or exported by `__all__`.",
    key=("ref_id",),
    columns=(
        FILE_ID,
        Column("ref_id", STRING, "Id from enclosing definition, context, text and ordinal."),
        SCOPE_ID,
        Column("name", STRING, "The identifier: for an attribute the last part."),
        Column("dotted", STRING, "The whole chain `a.b.c` if it is names and dots only, else null.", nullable=True),
        Column("context", STRING, "How the name is used.", False, REF_CONTEXTS),
        Column("binding", STRING, "Which scope binds it; `member` for attributes and keywords.", False, REF_BINDINGS),
        Column(
            "binding_scope_id",
            STRING,
            "The definition whose scope binds it; null for module, builtin and member.",
            True,
        ),
        Column("usage", STRING, "The role of the expression that this name ends.", False, REF_USAGES),
        Column(
            "usage_id",
            STRING,
            "The call, definition or type expression it is callee, base, decorator of.",
            nullable=True,
        ),
        Column("assigned_from", STRING, "For a store: the chain of names on the right, if it is one.", nullable=True),
        Column("assigned_bstart", INT, "First byte of that chain's last name.", nullable=True),
        Column("assigned_bend", INT, "One past that name's last byte.", nullable=True),
        ORDINAL,
        BSTART,
        BEND,
    ),
    example={"name": "Router", "dotted": "urls.Router", "context": "attribute", "binding": "member"},
)

CALLSITES = Table(
    "cst_callsites",
    Stage.SYNTAX,
    doc="Every call expression, with its callee's name, its arguments and the names it may go by.",
    key=("call_id",),
    columns=(
        FILE_ID,
        Column("call_id", STRING, "Id from enclosing definition, callee text and ordinal."),
        SCOPE_ID,
        Column("callee_text", STRING, "The callee as written, white space folded, cut at 200 characters."),
        Column("callee_kind", STRING, "A name, an attribute, or any other expression.", False, CALLEE_KINDS),
        Column("callee_name", STRING, "The callee's last name; null for other expressions.", nullable=True),
        Column("callee_bstart", INT, "First byte of the callee's last name, of the whole callee if it has none."),
        Column("callee_bend", INT, "One past it."),
        Column("arguments", Array(ARGUMENT), "In order; kind is positional, keyword, star or double_star."),
        Column(
            "candidates",
            Array(CANDIDATE),
            "Names the callee may go by through imports, definitions and builtins; a relative one keeps its level.",
        ),
        ORDINAL,
        BSTART,
        BEND,
    ),
    example={
        "callee_text": "np.array",
        "callee_name": "array",
        "candidates": [{"qname": "numpy.array", "level": 0, "source": "import"}],
    },
)

IMPORTS = Table(
    "cst_imports",
    Stage.SYNTAX,
    doc="Every imported name: one row per clause of an import statement, and per dynamic import of a literal.",
    key=("import_id",),
    columns=(
        FILE_ID,
        Column("import_id", STRING, "Id from enclosing definition, clause text and ordinal."),
        SCOPE_ID,
        Column(
            "kind",
            STRING,
            "`import a.b`, `from a import b`, `from a import *`, or `import_module('a')`.",
            False,
            IMPORT_KINDS,
        ),
        Column("level", INT, "Leading dots of a relative import."),
        Column("module", STRING, "The module as written without the dots; empty for `from . import b`."),
        Column("name", STRING, "The name taken from it; null for `import`, star and dynamic.", nullable=True),
        Column("alias", STRING, "The name after `as`.", nullable=True),
        Column(
            "bound_name",
            STRING,
            "The name it binds here: `a` for `import a.b`; null for star and dynamic.",
            nullable=True,
        ),
        Column("is_type_checking", BOOLEAN, "Stands under `if TYPE_CHECKING`."),
        Column("is_conditional", BOOLEAN, "Stands under if, try, for, while, with or match."),
        Column("module_bstart", INT, "First byte of the module's text, dots included."),
        Column("module_bend", INT, "One past it."),
        Column("name_bstart", INT, "First byte of the imported name; of the module for `import`.", nullable=True),
        Column("name_bend", INT, "One past it.", nullable=True),
        ORDINAL,
        BSTART,
        BEND,
    ),
    example={"kind": "from", "level": 1, "module": "core", "name": "Router", "alias": "R", "bound_name": "R"},
)

TYPE_EXPRS = Table(
    "cst_type_exprs",
    Stage.SYNTAX,
    doc="Every annotation, type alias value and type parameter bound.",
    key=("type_expr_id",),
    columns=(
        FILE_ID,
        Column("type_expr_id", STRING, "Id from enclosing definition, role, text and ordinal."),
        SCOPE_ID,
        Column("role", STRING, "What it annotates.", False, TYPE_EXPR_ROLES),
        Column("annotated_def_id", STRING, "The function, for a parameter or return; else null.", nullable=True),
        Column(
            "annotated_name",
            STRING,
            "The parameter, variable, alias or type parameter; null for a return.",
            nullable=True,
        ),
        Column("text", STRING, "As written, quotes of a forward reference included."),
        Column("is_quoted", BOOLEAN, "A forward reference in quotes."),
        ORDINAL,
        BSTART,
        BEND,
    ),
    example={"role": "parameter", "annotated_name": "request", "text": "HttpRequest"},
)

PARSE_ERRORS = Table(
    "cst_parse_errors",
    Stage.SYNTAX,
    doc="What the grammar could not read: the file's other rows come from the rest of it.",
    key=("error_id",),
    columns=(
        FILE_ID,
        Column("error_id", STRING, "Id from kind, text and ordinal."),
        Column(
            "kind", STRING, "Unexpected text, a missing token, or nesting past the limit.", False, PARSE_ERROR_KINDS
        ),
        Column("text", STRING, "The text (its first 80 characters), or the missing token."),
        ORDINAL,
        BSTART,
        BEND,
    ),
    example={"kind": "error", "text": "print 'hello'"},
)

TABLES = (DEFS, NAME_REFS, CALLSITES, IMPORTS, TYPE_EXPRS, PARSE_ERRORS)

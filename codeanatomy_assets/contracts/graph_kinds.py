"""The kinds of node and edge that the graph has, each with what it is made of and an example.

A newcomer's edge kind is one declaration here and a rule that makes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from codeanatomy_assets.contracts import exports, names, relationships, repository, symbols, syntax

EXAMPLE_FILES = {
    "app/base.py": 'class Shape:\n    """Anything with an area."""\n\n    def area(self) -> float: ...\n',
    "app/square.py": (
        "from app.base import Shape\n\n\n"
        "class Square(Shape):\n    def area(self) -> float:\n        return side() ** 2\n\n\n"
        "def side() -> float:\n    return abs(-3.0)\n"
    ),
    "app/broken.py": "x = = 1\n",
}


@dataclass(frozen=True)
class ExampleNode:
    """A node of EXAMPLE_FILES; its span is that of `text`, the first behind `after`."""

    label: str
    name: str
    qualified_name: str | None = None
    path: str | None = None
    text: str = ""
    after: str = ""


@dataclass(frozen=True)
class NodeKind:
    """One kind of node: the rows of `dataset` that it is made of, and how they are named.

    `title`, `qualified` and `where` are SQL over the dataset. `local_qname` is the column behind the module's name.
    Kinds without `title` are put together with rows of `further` datasets by transforms/graph_nodes.py.
    """

    name: str
    doc: str
    dataset: str
    id_column: str
    examples: tuple[ExampleNode, ...]
    title: str = ""
    qualified: str = "null"
    local_qname: str = "null"
    where: str = "true"
    further: tuple[str, ...] = ()
    is_whole_file: bool = False
    is_global: bool = False


@dataclass(frozen=True)
class EdgeKind:
    """One kind of edge and the node kinds it joins: made of the rows of `rules`, or of structure if there are none."""

    name: str
    src_kinds: tuple[str, ...]
    dst_kinds: tuple[str, ...]
    doc: str
    examples: tuple[tuple[str, str], ...]
    rules: tuple[str, ...] = ()


def _last_part(column: str, separator: str) -> str:
    return f"element_at(split({column}, '{separator}'), -1)"


NODE_KINDS = (
    NodeKind(
        "PY_FILE",
        "A tracked Python file, whether or not it can be read.",
        repository.REPO_SNAPSHOT.name,
        "file_id",
        (
            ExampleNode("file square", "square.py", path="app/square.py"),
            ExampleNode("file broken", "broken.py", path="app/broken.py"),
        ),
        title=_last_part("path", "/"),
        where="is_python",
        is_whole_file=True,
    ),
    NodeKind(
        "PY_MODULE",
        "What a readable file is to importers, by its own name; it holds what stands at module level.",
        names.PY_MODULE_INDEX.name,
        "module_id",
        (
            ExampleNode("module square", "square", "app.square", "app/square.py"),
            ExampleNode("module base", "base", "app.base", "app/base.py"),
        ),
        title=f"coalesce({_last_part('module', '[.]')}, {_last_part('path', '/')})",
        qualified="coalesce(module, concat('<', path, '>'))",
        where="not is_alternate",
        is_whole_file=True,
    ),
    NodeKind(
        "CST_DEF",
        "A function, class or lambda.",
        syntax.DEFS.name,
        "def_id",
        (
            ExampleNode(
                "def side", "side", "app.square.side", "app/square.py", "def side() -> float:\n    return abs(-3.0)"
            ),
            ExampleNode(
                "def Square",
                "Square",
                "app.square.Square",
                "app/square.py",
                "class Square(Shape):\n    def area(self) -> float:\n        return side() ** 2",
            ),
            ExampleNode(
                "def Square.area",
                "area",
                "app.square.Square.area",
                "app/square.py",
                "def area(self) -> float:\n        return side() ** 2",
            ),
            ExampleNode("def Shape", "Shape", "app.base.Shape", "app/base.py", EXAMPLE_FILES["app/base.py"].rstrip()),
            ExampleNode("def Shape.area", "area", "app.base.Shape.area", "app/base.py", "def area(self) -> float: ..."),
        ),
        title="name",
        local_qname="local_qname",
    ),
    NodeKind(
        "CST_CALLSITE",
        "A call expression.",
        syntax.CALLSITES.name,
        "call_id",
        (
            ExampleNode("call side", "side", path="app/square.py", text="side()"),
            ExampleNode("call abs", "abs", path="app/square.py", text="abs(-3.0)"),
        ),
        title="coalesce(callee_name, callee_text)",
    ),
    NodeKind(
        "CST_REF",
        "A place where a name is read, bound, deleted, a parameter, passed as keyword or exported.",
        syntax.NAME_REFS.name,
        "ref_id",
        (ExampleNode("ref Shape", "Shape", path="app/square.py", text="Shape", after="class Square("),),
        title="name",
    ),
    NodeKind(
        "CST_IMPORT_ALIAS",
        "One clause of an import statement, or a dynamic import of a literal.",
        syntax.IMPORTS.name,
        "import_id",
        (ExampleNode("import Shape", "Shape", path="app/square.py", text="Shape"),),
        title="coalesce(bound_name, if(kind = 'star', '*', module))",
    ),
    NodeKind(
        "TYPE_EXPR",
        "An annotation, a type alias value or a type parameter bound; its name is its text, cut at 200 characters.",
        syntax.TYPE_EXPRS.name,
        "type_expr_id",
        (ExampleNode("type float", "float", path="app/square.py", text="float", after="def side() -> "),),
        title="left(text, 200)",
    ),
    NodeKind(
        "SCIP_SYMBOL",
        "What the indexer says a name means; `local N` means something in one file only.",
        symbols.SCIP_SYMBOLS.name,
        "symbol_id",
        (
            ExampleNode("symbol side", "side", "scip-python python example 0 `app.square`/side()."),
            ExampleNode("symbol Shape", "Shape", "scip-python python example 0 `app.base`/Shape#"),
            ExampleNode("symbol Square.area", "area", "scip-python python example 0 `app.square`/Square#area()."),
            ExampleNode("symbol Shape.area", "area", "scip-python python example 0 `app.base`/Shape#area()."),
        ),
        further=(relationships.STORED_IN,),
        is_global=True,
    ),
    NodeKind(
        "PY_QUALIFIED_NAME",
        "An absolute dotted name that something goes by, is imported by or may be called by, here or outside.",
        exports.DIM_QUALIFIED_NAMES.name,
        "qname_id",
        (ExampleNode("name builtins.abs", "abs", "builtins.abs"),),
        further=(names.PY_IMPORTS_RESOLVED.name, relationships.STORED_IN),
        is_global=True,
    ),
    NodeKind(
        "DIAG",
        "What could not be read: a parse error, a file without index, a file left out.",
        syntax.PARSE_ERRORS.name,
        "error_id",
        (ExampleNode("diagnostic", "error", path="app/broken.py", text="=", after="x = "),),
        further=(symbols.SCIP_FINGERPRINTS.name, repository.REPO_SNAPSHOT.name),
    ),
)
NODE_KIND = {kind.name: kind for kind in NODE_KINDS}
GLOBAL_KINDS = tuple(kind.name for kind in NODE_KINDS if kind.is_global)
SCOPES = ("CST_DEF", "PY_MODULE")

EDGE_KINDS = (
    EdgeKind(
        "CONTAINS",
        ("PY_FILE", *SCOPES),
        ("PY_MODULE", "CST_DEF", "CST_CALLSITE", "CST_REF", "CST_IMPORT_ALIAS", "TYPE_EXPR"),
        "A file holds its module; a module or definition holds what stands directly in its body or header.",
        (
            ("module square", "def Square"),
            ("file square", "module square"),
            ("module base", "def Shape"),
            ("def Shape", "def Shape.area"),
            ("module square", "def side"),
            ("module square", "import Shape"),
            ("module square", "ref Shape"),
            ("module square", "type float"),
            ("def Square", "def Square.area"),
            ("def Square.area", "call side"),
            ("def side", "call abs"),
        ),
    ),
    EdgeKind(
        "PY_DEFINES_SYMBOL",
        ("CST_DEF",),
        ("SCIP_SYMBOL",),
        "The definition is where the symbol comes from.",
        (("def side", "symbol side"),),
        rules=("rel_def_symbol",),
    ),
    EdgeKind(
        "PY_REFERENCES_SYMBOL",
        ("CST_REF", "TYPE_EXPR"),
        ("SCIP_SYMBOL",),
        "The name, or a name in the type expression, means the symbol.",
        (("ref Shape", "symbol Shape"),),
        rules=("rel_name_symbol", "rel_annotation_symbol"),
    ),
    EdgeKind(
        "PY_IMPORTS_SYMBOL",
        ("CST_IMPORT_ALIAS",),
        ("SCIP_SYMBOL",),
        "The clause takes the symbol from another module.",
        (("import Shape", "symbol Shape"),),
        rules=("rel_import_symbol",),
    ),
    EdgeKind(
        "PY_IMPORTS_MODULE",
        ("CST_IMPORT_ALIAS",),
        ("PY_MODULE", "PY_QUALIFIED_NAME"),
        "The clause names the module: one of this repository, or by name one outside.",
        (("import Shape", "module base"),),
        rules=("rel_import_module",),
    ),
    EdgeKind(
        "PY_CALLS_SYMBOL",
        ("CST_CALLSITE",),
        ("SCIP_SYMBOL",),
        "The callee's name means the symbol.",
        (("call side", "symbol side"),),
        rules=("rel_callsite_symbol",),
    ),
    EdgeKind(
        "PY_CALLS_QNAME",
        ("CST_CALLSITE",),
        ("PY_QUALIFIED_NAME",),
        "The callee may go by the qualified name.",
        (("call abs", "name builtins.abs"),),
        rules=("rel_callsite_qname",),
    ),
    EdgeKind(
        "CALLS",
        SCOPES,
        ("CST_DEF",),
        "The calling definition or module to the called definition; the prop `via` names the call.",
        (("def Square.area", "def side"),),
        rules=("rel_calls",),
    ),
    EdgeKind(
        "INHERITS",
        ("CST_DEF",),
        ("CST_DEF", "SCIP_SYMBOL"),
        "A class to a base class: its definition in this repository, or the symbol of one outside.",
        (("def Square", "def Shape"),),
        rules=("rel_inherits",),
    ),
    EdgeKind(
        "OVERRIDES",
        ("CST_DEF",),
        ("CST_DEF",),
        "A method to the one of a base class that it stands in for.",
        (("def Square.area", "def Shape.area"),),
        rules=("rel_overrides",),
    ),
    EdgeKind(
        "HAS_ANNOTATION",
        SCOPES,
        ("TYPE_EXPR",),
        "A function to the annotations of its parameters and return; a scope to those of its variables.",
        (("def side", "type float"),),
    ),
    EdgeKind(
        "SCIP_SYMBOL_IMPLEMENTATION",
        ("SCIP_SYMBOL",),
        ("SCIP_SYMBOL",),
        "The indexer says that the symbol implements the other one.",
        (("symbol Square.area", "symbol Shape.area"),),
    ),
    EdgeKind(
        "HAS_DIAGNOSTIC",
        ("PY_FILE",),
        ("DIAG",),
        "The file has the problem.",
        (("file broken", "diagnostic"),),
    ),
)
EDGE_KIND = {kind.name: kind for kind in EDGE_KINDS}
KIND_OF_RULE = {rule: kind.name for kind in EDGE_KINDS for rule in kind.rules}

"""The strongest proof of scopes: on real files, CPython's own symtable and ast say the same."""

from __future__ import annotations

import ast
import symtable
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeanatomy_assets.contracts.syntax import CALLSITES, DEFS, IMPORTS, NAME_REFS
from codeanatomy_assets.extraction.encoding import parser_input
from codeanatomy_assets.extraction.scopes import Scope, ScopeKind
from codeanatomy_assets.extraction.syntax_tree import walked
from codeanatomy_assets_tests.extraction.syntax_rows import FILE_ID, Row, all_rows, real_files

SEED = 20240611
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Found = tuple[str, bool]


class SymtableNames:
    """Each name of a file with its scope as symtable tells it, in the order CPython's compiler visits."""

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self.module = symtable.symtable(source, "m.py", "exec")
        self.lines = [0]
        for line in source.encode().split(b"\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)
        self.future = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in self.tree.body
        )
        # What a function binds under `global` is the module's, though the module's own table may not list it.
        self.bound_by_functions = {
            name for node in ast.walk(self.tree) if isinstance(node, ast.Global) for name in node.names
        }
        self.children = {self.module.get_id(): iter(self.module.get_children())}
        self.found: dict[int, Found] = {}
        self.in_f_string = 0
        self.in_class: list[str] = []
        self.visit(self.tree, [self.module])

    def enter(self, tables: list[symtable.SymbolTable]) -> list[symtable.SymbolTable]:
        table = next(self.children[tables[-1].get_id()])
        self.children[table.get_id()] = iter(table.get_children())
        return [*tables, table]

    def visit_all(self, nodes: list[ast.AST | None], tables: list[symtable.SymbolTable]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node, tables)

    def visit(self, node: ast.AST, tables: list[symtable.SymbolTable]) -> None:
        if isinstance(node, ast.Name):
            self.name(node, tables)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            self.function(node, tables)
        elif isinstance(node, ast.ClassDef):
            self.visit_all([*node.bases, *node.keywords, *node.decorator_list], tables)
            self.in_class.append(node.name)
            self.visit_all([*node.body], self.enter(tables))
            self.in_class.pop()
        elif isinstance(node, COMPREHENSIONS):
            self.comprehension(node, tables)
        elif isinstance(node, ast.NamedExpr):
            self.visit(node.value, tables)
            around = list(tables)
            while around[-1].get_name() in ("listcomp", "setcomp", "dictcomp", "genexpr"):
                around.pop()
            self.visit(node.target, around)
        elif isinstance(node, ast.AnnAssign):
            annotation = None if self.future else node.annotation
            self.visit_all([node.target, annotation, node.value], tables)
        else:
            is_f_string = isinstance(node, ast.JoinedStr)
            self.in_f_string += is_f_string
            self.visit_all([*ast.iter_child_nodes(node)], tables)
            self.in_f_string -= is_f_string

    def function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, tables: list[symtable.SymbolTable]
    ) -> None:
        self.visit_all([*node.args.defaults, *node.args.kw_defaults], tables)
        if isinstance(node, ast.Lambda):
            self.visit(node.body, self.enter(tables))
            return
        if not self.future:
            given = [*node.args.posonlyargs, *node.args.args]
            rest = [node.args.vararg, node.args.kwarg, *node.args.kwonlyargs]
            annotations: list[ast.AST | None] = [each.annotation for each in (*given, *rest) if each]
            self.visit_all([*annotations, node.returns], tables)
        self.visit_all([*node.decorator_list], tables)
        self.visit_all([*node.body], self.enter(tables))

    def comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp,
        tables: list[symtable.SymbolTable],
    ) -> None:
        first, *others = node.generators
        self.visit(first.iter, tables)
        inside = self.enter(tables)
        self.visit_all([first.target, *first.ifs, *others], inside)
        self.visit_all([node.value, node.key] if isinstance(node, ast.DictComp) else [node.elt], inside)

    def name(self, node: ast.Name, tables: list[symtable.SymbolTable]) -> None:
        # Before Python 3.12 the offsets inside f-strings are not the file's; private names are mangled.
        is_private = self.in_class and node.id.startswith("__") and not node.id.endswith("__")
        if self.in_f_string or is_private or node.id in ("__class__", "__module__", "__qualname__"):
            return
        offset = self.lines[node.lineno - 1] + node.col_offset
        self.found[offset] = self.described(node.id, tables[-1])

    def described(self, name: str, table: symtable.SymbolTable) -> Found:
        symbol = table.lookup(name)
        if table.get_type() == "module" or symbol.is_global():
            if symbol.is_declared_global() or name in self.bound_by_functions:
                return "module", True
            try:
                return "module", self.module.lookup(name).is_local()
            except KeyError:
                return "module", False
        return ("own" if symbol.is_local() else "outer"), True


def described(scope: Scope, name: str) -> Found:
    binding = scope.binding(name)
    if binding.scope is None:
        return "module", False
    if binding.scope.kind is ScopeKind.MODULE:
        return "module", True
    return ("own" if binding.scope is scope else "outer"), True


def readable(paths: list[Path]) -> Iterator[tuple[Path, str]]:
    for path in paths:
        content = path.read_bytes()
        if b"\r" in content or b"\f" in content or not content.isascii():
            continue
        try:
            ast.parse(content)
        except SyntaxError:
            continue
        yield path, content.decode()


def compare(source: str) -> tuple[int, list[str]]:
    """How many names were compared, and those that symtable binds elsewhere."""
    theirs = SymtableNames(source).found
    walk = walked(FILE_ID, parser_input(source.encode()))
    ours = {
        bstart: (name, described(scope, name))
        for bstart, _, scope, name, _, context, *_ in walk.references
        if context in ("load", "store", "delete")
    }
    pairs = [(offset, found, ours.get(offset, ("", None))) for offset, found in theirs.items()]
    return len(pairs), [f"{at} {ours[0]}: {found} not {ours[1]}" for at, found, ours in pairs if found != ours[1]]


def test_every_name_is_bound_where_symtable_says() -> None:
    print(f"seed {SEED}")
    compared = 0
    differences: list[str] = []
    for path, source in readable(real_files(160, SEED)):
        count, different = compare(source)
        compared += count
        differences += [f"{path}:{each}" for each in different]
    assert not differences, f"{len(differences)} of {compared}: " + "\n".join(differences[:20])
    assert compared > 50_000


RARE_SCOPES = [
    "class C:\n    x = 1\n    def m(self): return x\n    y = [x for _ in x]\n    z = lambda: x\n",
    (
        "x = 1\ndef f():\n    x = 2\n    def g():\n        global x\n        x\n"
        "        def h(): return x\n        return h\n"
    ),
    "def f():\n    x = 1\n    class C:\n        x = x\n        def m(self): return x\n        y = [x for _ in x]\n",
    (
        "def f():\n    x = 1\n    def g():\n        def h():\n            nonlocal x\n"
        "            x = 2\n        return x\n"
    ),
    "def f(y):\n    a = [z := x for x in y]\n    b = [[w := z for z in x] for x in y]\n    return a, b, z, w\n",
    "[z := x for x in range(3)]\nz\n",
    "def f(y):\n    global z\n    [z := x for x in y]\n    return z\n",
    "class C:\n    global g\n    g = 1\n    def m(self): return g\n    del g\n",
    "def f(a, b=lambda a: a, *c):\n    return lambda d=a: [d for e in c for d in e if a]\n",
    "def f():\n    try: ...\n    except E as e: e\n    def g(): return e, E\n    for e in e: ...\n    else: e\n",
    "def f(x):\n    del x\n    def g(): return x, y\n    import y.z, w as v\n    return y, z, w, v\n",
    "def f():\n    class x: ...\n    def y(): return x, y\n    with a as (b, c[d]), e as g.h: return b, c, d, g\n",
    (
        "def f():\n    def g():\n        return (x for x in (y for y in x) if (lambda: x + y))\n"
        "    x = y = 1\n    x: int\n    z: int\n    z\n"
    ),
    (
        "def f():\n    match a:\n        case {'k': b, **c} | [b, *c] if b: return b, c\n"
        "        case K(d, e=g.h) as i: return d, e, g, i\n"
    ),
    "async def f(y):\n    async for x in y: await x\n    return {x: y async for x, y in y}, {*x, *[x for y in x]}\n",
]


@pytest.mark.parametrize("source", RARE_SCOPES)
def test_what_real_files_seldom_do_is_bound_where_symtable_says(source: str) -> None:
    count, different = compare(source)
    assert count and not different


@pytest.mark.parametrize("part", range(4))
def test_definitions_names_calls_and_imports_are_those_of_ast(part: int) -> None:
    print(f"seed {SEED + part}")
    for path, source in readable(real_files(40, SEED + part)):
        tree = ast.parse(source)
        rows = all_rows(source)
        assert definitions_here(rows[DEFS.name]) == definitions_of(tree), path
        assert imports_here(rows[IMPORTS.name]) == imports_of(tree), path
        nodes = Counter(type(node) for node in ast.walk(tree))
        assert len(rows[CALLSITES.name]) == nodes[ast.Call], path
        contexts = Counter(row["context"] for row in rows[NAME_REFS.name])
        assert contexts["attribute"] == nodes[ast.Attribute], path
        assert contexts["parameter"] == nodes[ast.arg], path
        assert contexts["keyword"] == keywords_of(tree), path
        assert contexts["load"] + contexts["store"] + contexts["delete"] == nodes[ast.Name] + captures_of(tree), path


def definitions_here(rows: list[Row]) -> list[tuple[object, ...]]:
    found = [
        (
            row["local_qname"],
            row["kind"],
            row["is_async"],
            [(parameter["name"], parameter["kind"]) for parameter in row["parameters"]],
            len(row["decorators"]),
            len(row["bases"]),
            row["docstring"],
        )
        for row in rows
        if row["kind"] != "lambda"
    ]
    return sorted(found, key=repr)


def definitions_of(tree: ast.Module) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = prefix
            if isinstance(child, ast.ClassDef):
                inside = f"{prefix}{child.name}."
                counts = len(child.decorator_list), len(child.bases)
                found.append((prefix + child.name, "class", False, [], *counts, ast.get_docstring(child)))
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = f"{prefix}{child.name}."
                is_async = isinstance(child, ast.AsyncFunctionDef)
                header = is_async, parameters_of(child.args), len(child.decorator_list), 0
                found.append((prefix + child.name, "function", *header, ast.get_docstring(child)))
            visit(child, inside)

    visit(tree, "")
    return sorted(found, key=repr)


def parameters_of(arguments: ast.arguments) -> list[tuple[str, str]]:
    found = [(each.arg, "positional_only") for each in arguments.posonlyargs]
    found += [(each.arg, "positional") for each in arguments.args]
    found += [(arguments.vararg.arg, "vararg")] if arguments.vararg else []
    found += [(each.arg, "keyword_only") for each in arguments.kwonlyargs]
    found += [(arguments.kwarg.arg, "kwarg")] if arguments.kwarg else []
    return found


def imports_here(rows: list[Row]) -> Counter[tuple[object, ...]]:
    return Counter(
        (row["level"], row["module"], "*" if row["kind"] == "star" else row["name"], row["alias"])
        for row in rows
        if row["kind"] != "dynamic"
    )


def imports_of(tree: ast.Module) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update((0, alias.name, None, alias.asname) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update((node.level, node.module or "", alias.name, alias.asname) for alias in node.names)
    return found


def keywords_of(tree: ast.Module) -> int:
    passed = sum(isinstance(node, ast.keyword) and node.arg is not None for node in ast.walk(tree))
    return passed + sum(len(node.kwd_attrs) for node in ast.walk(tree) if isinstance(node, ast.MatchClass))


def captures_of(tree: ast.Module) -> int:
    """Names that ast keeps as plain strings."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            count += node.name is not None
        elif isinstance(node, ast.MatchMapping):
            count += node.rest is not None
    return count

"""Fingerprints: what a stage's rows depend on beside the repository, so that a change rebuilds it.

Code is fingerprinted by its syntax tree without docstrings, with the project modules it imports:
formatting and comments move nothing.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.graph_kinds import EDGE_KINDS, NODE_KINDS
from codeanatomy_assets.contracts.graph_props import PROPS
from codeanatomy_assets.contracts.identity import IdRecipe
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.rules import registry
from codeanatomy_assets.rules.compiler import compile_rule
from codeanatomy_assets.settings import Settings

PACKAGE = "codeanatomy_assets"
ROOT = Path(__file__).parents[1]
# What carries rows from outside to a table, stage by stage; what these import is followed.
CODE: dict[Stage, tuple[str, ...]] = {
    Stage.REPOSITORY: ("extraction.source_files", "extraction.encoding", "transforms.repository"),
    Stage.SYNTAX: ("extraction.syntax_tree", "transforms.collected_rows"),
    Stage.SYMBOLS: (
        "transforms.module_roots",
        "transforms.names",
        "transforms.export_sources",
        "extraction.scip_index",
        "extraction.scip_staged",
        "extraction.scip_waves",
    ),
    Stage.IMPACT: ("transforms.impact",),
    Stage.RELATIONSHIPS: ("rules.running", "rules.compiler", "rules.scoping"),
    Stage.GRAPH: ("transforms.graph",),
}
LIBRARIES: dict[Stage, tuple[str, ...]] = {
    Stage.SYNTAX: ("tree-sitter", "tree-sitter-python"),
    Stage.RELATIONSHIPS: ("sqlglot",),
}
IDENTITY = "contracts.identity"
RULES = "rules"
RULES_TEXT = "rules_text"
SETTINGS = "settings"
VERSION_DIGITS = 16
BUILT_STAGES = tuple(CODE)


def stage_fingerprints(settings: Settings, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """One per stage, each joined with those before it: a moved one moves all that it feeds; and the parts of each.

    `known` are those of the state at hand: what they were made from may be unchanged, and need no compiling.
    """
    fingerprints: dict[str, str] = _rules(known or {})
    upstream = fingerprints[SETTINGS] = settings.result_fingerprint()
    for stage in BUILT_STAGES:
        parts = _parts(stage, fingerprints[RULES])
        fingerprints |= {f"{stage}.{part}": digest for part, digest in parts.items()}
        upstream = fingerprints[stage.value] = _hashed([upstream, *parts.values()])
    return fingerprints


def _parts(stage: Stage, rules: str) -> dict[str, str]:
    """What a stage's rows depend on of its own, by what a person would say changed."""
    parts = {
        "contracts": _hashed([table.fingerprint() for table in catalog.of_stage(stage)]),
        "code": _hashed([code_fingerprint(module) for module in CODE[stage]]),
    }
    if stage in LIBRARIES:
        parts["libraries"] = _hashed([f"{library}={version(library)}" for library in LIBRARIES[stage]])
    if stage is Stage.SYMBOLS:
        parts["driver"] = _hashed([_digest(path) for path in _driver_files()])
    if stage is Stage.RELATIONSHIPS:
        parts["rules"] = rules
    if stage is Stage.GRAPH:
        parts["kinds"] = _graph_declarations()
    return parts


def code_version(table: Table) -> str:
    """Of one dataset: moves when what makes its rows does, settings and other datasets apart; for Dagster to show."""
    if table.stage not in BUILT_STAGES:
        return table.fingerprint()[:VERSION_DIGITS]
    rule = compile_rule(registry.rule(table.name)).fingerprint if table.stage is Stage.RELATIONSHIPS else ""
    parts = _parts(table.stage, rule) | {"contracts": table.fingerprint()}
    return _hashed(list(parts.values()))[:VERSION_DIGITS]


def moved_parts(now: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
    """The parts that differ, for people: `syntax.code`, `settings`. None when the state tells no parts."""
    told = [SETTINGS, *(name for name in now if "." in name)]
    return [name for name in told if name in known and known[name] != now[name]]


def _hashed(parts: list[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _rules(known: Mapping[str, str]) -> dict[str, str]:
    """What the rules mean, beside the text that says it: as long as the text stands, it need not be compiled."""
    text = [[rule.name, rule.edge_kind, rule.owner.name, rule.sql] for rule in registry.all_rules()]
    contracts = [table.fingerprint() for table in catalog.TABLES]
    code = [code_fingerprint(module) for module in CODE[Stage.RELATIONSHIPS]]
    digest = hashlib.sha256(json.dumps([text, contracts, code, version("sqlglot")]).encode()).hexdigest()
    if known.get(RULES_TEXT) == digest and RULES in known:
        return {RULES_TEXT: digest, RULES: known[RULES]}
    meant = [[rule.name, rule.edge_kind, compile_rule(rule).fingerprint] for rule in registry.all_rules()]
    return {RULES_TEXT: digest, RULES: hashlib.sha256(json.dumps(meant).encode()).hexdigest()}


def _graph_declarations() -> str:
    """The kinds of node, edge and prop as the graph is made of them: without docs and examples."""
    meant = [
        {name: repr(value) for name, value in vars(each).items() if name not in ("doc", "examples", "example")}
        for each in (*NODE_KINDS, *EDGE_KINDS, *PROPS)
    ]
    return hashlib.sha256(json.dumps(meant, sort_keys=True).encode()).hexdigest()


def _driver_files() -> list[Path]:
    return sorted((ROOT / "extraction" / "scip_driver").glob("*.js*"))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def code_fingerprint(module: str) -> str:
    """Of a module and every project module it imports, directly or not, and of the id recipes they name."""
    reached = sorted(_reached(module))
    code = {name: _normalised(name) for name in reached if not _is_contract(name)}
    named = {word for name in code for word in _words(name)}
    recipes = {word: [recipe.prefix, *recipe.parts] for word, recipe in _recipes(reached) if word in named}
    return hashlib.sha256(json.dumps([code, recipes, _normalised(IDENTITY, functions_only=True)]).encode()).hexdigest()


def _is_contract(module: str) -> bool:
    """Contracts have fingerprints of their own, without the docs in them."""
    return module.split(".")[0] == "contracts"


def _recipes(modules: Iterable[str]) -> Iterator[tuple[str, IdRecipe]]:
    for name in modules:
        if _is_contract(name):
            for word, value in vars(import_module(f"{PACKAGE}.{name}")).items():
                if isinstance(value, IdRecipe):
                    yield word, value


def _words(module: str) -> Iterator[str]:
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _reached(module: str) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imports(name))
    return found


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_source(module).read_bytes())


def _source(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(module: str) -> Iterator[str]:
    """The project modules a module imports: `from package.folder import module` names one, or a name in it."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            base = str(node.module).removeprefix(PACKAGE).removeprefix(".")
            below = [f"{base}.{alias.name}".removeprefix(".") for alias in node.names]
            yield from [name for name in below if _source(name).exists()] or ([base] if base else [])


def _normalised(module: str, functions_only: bool = False) -> str:
    tree = ast.parse(_source(module).read_bytes())
    if functions_only:
        tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return normalised(tree)


def normalised(tree: ast.Module) -> str:
    """A digest of a module's code: comments, docstrings and layout have no part in it."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            body[0] = ast.Pass()
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)

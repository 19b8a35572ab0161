"""Fingerprints: what a stage's rows depend on beside the repository, so that a change rebuilds it.

Code is fingerprinted by its syntax tree without docstrings, with the project modules it imports:
formatting and comments move nothing.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from codeanatomy_assets.contracts import catalog
from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets.settings import Settings

PACKAGE = "codeanatomy_assets"
ROOT = Path(__file__).parents[1]
# What carries rows from outside to a table, stage by stage; what these import is followed.
CODE: dict[Stage, tuple[str, ...]] = {
    Stage.REPOSITORY: ("extraction.source_files", "extraction.encoding"),
    Stage.SYNTAX: ("extraction.syntax_tree",),
    Stage.SYMBOLS: ("transforms.module_roots", "transforms.names", "extraction.scip_index", "extraction.scip_staged"),
}
LIBRARIES: dict[Stage, tuple[str, ...]] = {
    Stage.SYNTAX: ("tree-sitter", "tree-sitter-python"),
}
# Contracts have fingerprints of their own, without the docs in them; the recipe of ids is code.
IDENTITY = ("contracts.identity",)
BUILT_STAGES = tuple(CODE)


def stage_fingerprints(settings: Settings) -> dict[str, str]:
    """One per stage, each joined with those before it: a moved one moves all that it feeds."""
    fingerprints: dict[str, str] = {}
    upstream = settings.result_fingerprint()
    for stage in BUILT_STAGES:
        parts = [
            upstream,
            *(table.fingerprint() for table in catalog.of_stage(stage)),
            *(code_fingerprint(module) for module in CODE[stage]),
            *(f"{library}={version(library)}" for library in LIBRARIES.get(stage, ())),
            *(_digest(path) for path in _driver_files() if stage is Stage.SYMBOLS),
        ]
        upstream = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        fingerprints[stage.value] = upstream
    return fingerprints


def _driver_files() -> list[Path]:
    return sorted((ROOT / "extraction" / "scip_driver").glob("*.js*"))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def code_fingerprint(module: str) -> str:
    """Of a module and every project module it imports, directly or not."""
    trees = {name: _normalised(name) for name in sorted(_reached(module))}
    return hashlib.sha256(json.dumps(trees).encode()).hexdigest()


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


def _imports(module: str) -> Iterable[str]:
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{PACKAGE}."):
            base = node.module.removeprefix(f"{PACKAGE}.")
            # `from package.folder import module` names modules; `from package.module import name` does not.
            below = [f"{base}.{alias.name}" for alias in node.names]
            named = [name for name in below if _source(name).exists()] or [base]
            yield from (name for name in named if name in IDENTITY or not name.startswith("contracts"))


def _normalised(module: str) -> str:
    tree = ast.parse(_source(module).read_bytes())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            body[0] = ast.Pass()
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)

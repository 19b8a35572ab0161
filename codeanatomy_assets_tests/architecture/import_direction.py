"""The rules of who may import what and who may read the environment, checked over a folder of sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

PACKAGE = "codeanatomy_assets"
FOR_EVERYONE = frozenset({"errors", "toolchain"})
MIDDLE = frozenset({"extraction", "transforms", "rules", "storage"})

# A unit is a module or folder directly under the package; it may import itself, what is for everyone, and these.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "__init__": frozenset(),
    "errors": frozenset(),
    "toolchain": frozenset(),
    "toolchain_network": frozenset(),
    "toolchain_install": frozenset({"toolchain_network"}),
    "settings": frozenset(),
    "contracts": frozenset(),
    **{unit: frozenset({"contracts", "settings"}) for unit in MIDDLE},
    "catalog": frozenset({"contracts", "rules"}),
    "catalog_docs": frozenset({"catalog", "contracts", "rules"}),
    "graph_picture": frozenset({"contracts"}),
    "graph_docs": frozenset({"contracts", "graph_picture"}),
    "orchestration": frozenset({"catalog", "contracts", "settings"}) | MIDDLE,
    "definitions": frozenset({"contracts", "settings", "orchestration"}),
    "reading": frozenset({"catalog", "contracts", "settings", "orchestration", "storage"}),
    "cli_arguments": frozenset({"settings"}),
    "cli_history": frozenset({"cli_arguments", "settings", "orchestration"}),
    "cli": frozenset({"catalog", "cli_arguments", "cli_history", "contracts", "settings", "orchestration"}) | MIDDLE,
}
MAY_IMPORT_DAGSTER = frozenset({"orchestration", "definitions"})
MAY_NOT_IMPORT_SPARK = frozenset({"extraction", "errors", "toolchain", "settings"})
READS_ENVIRONMENT = "settings.py"
SETS_ENVIRONMENT = "storage/spark_session.py"
ENVIRONMENT_NAMES = frozenset({"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"})


def violations(package_folder: Path) -> list[str]:
    """One sentence per broken rule: the file, the line, and what stands there."""
    found: list[str] = []
    for path in sorted(package_folder.rglob("*.py")):
        module = path.relative_to(package_folder)
        tree = ast.parse(path.read_bytes(), str(path))
        found += [f"{module}:{line}: {text}" for line, text in _import_violations(module, tree)]
        found += [f"{module}:{line}: {text}" for line, text in _environment_violations(module, tree)]
    return found


def _import_violations(module: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    unit = module.parts[0].removesuffix(".py")
    if unit not in MAY_IMPORT:
        yield 1, f"{unit} is not in MAY_IMPORT: say there what it may import"
        return
    for line, target in _imported_modules(module, tree):
        root, _, rest = target.partition(".")
        if root == PACKAGE:
            imported = rest.partition(".")[0] or "__init__"
            if imported not in MAY_IMPORT[unit] | FOR_EVERYONE | {unit, "__init__"}:
                yield line, f"{unit} may not import {PACKAGE}.{imported}"
        elif root.split("_")[0] == "dagster" and unit not in MAY_IMPORT_DAGSTER:
            yield line, f"{unit} may not import {root}: only orchestration and definitions do"
        elif root in {"pyspark", "delta"} and unit in MAY_NOT_IMPORT_SPARK:
            yield line, f"{unit} may not import {root}"


def _imported_modules(module: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every import wherever it stands: at the top, in a function, under TYPE_CHECKING, or by import_module("…")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            # `from codeanatomy_assets import storage` names the unit in the alias; `__version__` there is no unit.
            units = [f"{source}.{alias.name}" for alias in node.names if alias.name in MAY_IMPORT]
            yield from ((node.lineno, name) for name in (units if source == PACKAGE else [source]))
        elif isinstance(node, ast.Call) and _called_name(node) in {"import_module", "__import__"}:
            texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            yield from ((node.lineno, text) for text in texts[:1])


def _absolute(module: Path, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    package = [PACKAGE, *module.parent.parts]
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def _called_name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _environment_violations(module: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    if module.as_posix() == READS_ENVIRONMENT:
        return
    allowed = _environment_writes(tree) if module.as_posix() == SETS_ENVIRONMENT else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            for alias in node.names:
                if alias.name in ENVIRONMENT_NAMES:
                    yield node.lineno, f"imports os.{alias.name}: only {READS_ENVIRONMENT} reads the environment"
        elif _is_environment(node) and node not in allowed:
            yield node.lineno, f"uses os.{node.attr}: only {READS_ENVIRONMENT} reads the environment"


def _is_environment(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ENVIRONMENT_NAMES
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    )


def _environment_writes(tree: ast.Module) -> set[ast.AST]:
    """The `os.environ` of each `os.environ[…] = …` and `del os.environ[…]`."""
    return {
        target.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.Delete)
        for target in node.targets
        if isinstance(target, ast.Subscript)
    }

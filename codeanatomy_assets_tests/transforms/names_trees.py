"""Small repositories as {path: source}, random ones too, and what the names transforms make of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.syntax import IMPORTS
from codeanatomy_assets.extraction.syntax_tree import collect
from codeanatomy_assets.transforms.module_roots import module_index
from codeanatomy_assets.transforms.names import ModuleLookup, resolved_rows

Row = dict[str, Any]
Tree = dict[str, str]

NAMES = ("aa", "bb", "cc", "dd")
# Modules, and now and then a script that no import can name.
STEMS = (*NAMES * 3, "run-me")
# A plain top, two source roots, tests, and a folder that no name can hold.
BASES = ("", "", "", "src", "lib/src", "tests", "my-dir")
STUB_BASES = (*BASES, "typings")


def file_id(path: str) -> str:
    return identity.FILE.of("repo", path)


def index_of(paths: Iterable[str]) -> pa.Table:
    return module_index((file_id(path), path) for path in paths)


def names_of(*paths: str) -> dict[str, str | None]:
    """Each file's own module name."""
    return {row["path"]: row["module"] for row in index_of(paths).to_pylist() if not row["is_alternate"]}


def import_rows(path: str, source: str) -> list[Row]:
    rows = collect(file_id(path), path, source.encode())[IMPORTS.name]
    return [dict(zip(IMPORTS.column_names, row, strict=True)) for row in rows]


def resolved_of(files: Mapping[str, str], only: Iterable[str] | None = None) -> list[Row]:
    """The resolved imports of all files, or of `only` these, over the index of all."""
    lookup = ModuleLookup(index_of(files))
    chosen = files if only is None else sorted(only)
    return [row for path in chosen for row in resolved_rows(import_rows(path, files[path]), lookup)]


def readable(files: Mapping[str, str], importer: str) -> list[tuple[str, str | None, str, str | None]]:
    """(target kind, module, resolution, target's path) of an importer's rows."""
    paths = {file_id(path): path for path in files}
    return [
        (row["target_kind"], row["module"], row["resolution"], paths.get(row["target_file_id"]))
        for row in resolved_of(files, [importer])
    ]


def random_path(rng: random.Random, bases: tuple[str, ...], stubs: bool) -> str:
    base = rng.choice(bases)
    folders = [rng.choice(NAMES) for _ in range(rng.choice((0, 1, 1, 2, 2, 3)))]
    if stubs and folders and rng.random() < 0.05:
        folders[0] += "-stubs"
    is_top = bool(base) and not folders
    stem = "__init__" if (folders or is_top) and rng.random() < 0.45 else rng.choice(STEMS if is_top else NAMES)
    suffix = ".pyi" if stubs and rng.random() < 0.2 else ".py"
    return "/".join([*([base] if base else []), *folders, stem + suffix])


def random_paths(rng: random.Random, bases: tuple[str, ...] = BASES, stubs: bool = False) -> list[str]:
    count = rng.randint(3, 16)
    return sorted({random_path(rng, bases, stubs) for _ in range(count)})


def random_imports(rng: random.Random) -> str:
    return "".join(_random_import(rng) + "\n" for _ in range(rng.randint(0, 4)))


def _random_import(rng: random.Random) -> str:
    module = ".".join(rng.choice((*NAMES, *NAMES, "src", "tests", "json")) for _ in range(rng.randint(1, 3)))
    dots = "." * rng.choice((0, 0, 1, 1, 2, 3))
    return rng.choice(
        (
            f"import {module}",
            f"import {module} as other",
            f"from {dots}{module} import {rng.choice(NAMES)}",
            f"from {dots or '.'} import {rng.choice(NAMES)}",
            f"from {dots}{module} import *",
            f"from {dots or '.'} import *",
            f"__import__('{module}')",
        )
    )


def random_tree(rng: random.Random) -> Tree:
    return {path: random_imports(rng) for path in random_paths(rng, STUB_BASES, stubs=True)}


def edited(rng: random.Random, tree: Tree) -> Tree:
    """The tree after one to three edits: add, delete, rename, rewrite, module to package and back, `__init__`."""
    after = dict(tree)
    for _ in range(rng.randint(1, 3)):
        edit = rng.choice(("add", "add", "delete", "rename", "rewrite", "turn", "init"))
        if edit == "add" or not after:
            after[random_path(rng, STUB_BASES, stubs=True)] = random_imports(rng)
            continue
        path = rng.choice(sorted(after))
        if edit == "delete":
            del after[path]
        elif edit == "rename":
            after[random_path(rng, STUB_BASES, stubs=True)] = after.pop(path)
        elif edit == "rewrite":
            after[path] = random_imports(rng)
        elif edit == "turn":
            after[_turned(path)] = after.pop(path)
        elif "/" in path:
            after[path.rpartition("/")[0] + "/__init__.py"] = ""
    return after


def _turned(path: str) -> str:
    stem, suffix = path.rsplit(".", 1)
    return f"{stem.removesuffix('/__init__')}.{suffix}" if stem.endswith("/__init__") else f"{stem}/__init__.{suffix}"

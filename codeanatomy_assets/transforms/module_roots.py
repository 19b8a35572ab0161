"""Paths → `py_module_index`: where module names start, and which names a file has.

Roots, in the order they are searched
- `typings` at the top of the repository, while it holds Python: the indexer's folder of stubs;
- the repository itself (the empty path);
- source roots: `src` at the top, then `*/src` by path, each if it has no `__init__`, holds a file that
  can be named from it, and does not lie in a package.

Names
- From each root that holds it a file has the name of its path: folders and stem joined by dots, all of
  them identifiers, case kept. Folders without `__init__` are parts like any other (namespace packages),
  so `tests/test_a.py` is `tests.test_a` and `setup.py` is `setup`.
- An `__init__` is named after its folder; a root's own `__init__` has no name from that root.
- `x-stubs` directly below a root is named `x` (PEP 561).
- The name from the innermost root is the file's own; those from roots further up are alternates:
  `src/a/b.py` is `a.b`, alternately `src.a.b`.
- A file without a name from any root is a script, and has no module name.

The primary file of a name
- Below one root: stubs folder (`x-stubs`) before package before module, `.pyi` before `.py`. A package
  wins over the module beside it as at run time, a stub over its source as in the indexer.
- Over several roots: `typings`; then, folder by folder from the top, a package before one without
  `__init__`; then, below such a folder, a stub; and last the root searched first.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.names import PY_MODULE_INDEX

REPOSITORY_ROOT = ""
STUB_ROOT = "typings"
SOURCE_FOLDER = "src"
STUBS_SUFFIX = "-stubs"


def location_of(path: str) -> str:
    """The path without suffix, of an `__init__` its folder's: what an import looks for in a folder."""
    stem = path.removesuffix(".pyi") if _is_stub(path) else path.removesuffix(".py")
    folder, _, name = stem.rpartition("/")
    return folder if name == "__init__" else stem


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def joined(folder: str, *parts: str) -> str:
    return "/".join((folder, *parts) if folder else parts)


def search_order(root: str) -> tuple[bool, bool, int, str]:
    """The order in which roots are searched."""
    return root != STUB_ROOT, root != REPOSITORY_ROOT, root.count("/"), root


def source_roots(paths: Iterable[str]) -> tuple[str, ...]:
    """The src layouts found: what the indexer gets as extra search paths."""
    known = frozenset(paths)
    packages = {folder_of(path) for path in known if _is_init(path)}
    candidates: dict[str, list[str]] = defaultdict(list)
    for path in known:
        parts = path.split("/")
        for depth in (0, 1):
            if len(parts) > depth + 1 and parts[depth] == SOURCE_FOLDER:
                candidates["/".join(parts[: depth + 1])].append(path)
    found = [
        root
        for root, files in candidates.items()
        if root not in packages
        and folder_of(root) not in packages
        and any(_name_below(root, path) is not None for path in files)
    ]
    return tuple(sorted(found, key=search_order))


def module_roots(paths: Iterable[str]) -> tuple[str, ...]:
    """Every root that names start at, in the order they are searched."""
    known = frozenset(paths)
    stubs = (STUB_ROOT,) if any(path.startswith(f"{STUB_ROOT}/") for path in known) else ()
    return (*stubs, REPOSITORY_ROOT, *source_roots(known))


def roots_fingerprint(roots: Sequence[str]) -> str:
    """Moves when a root comes, goes or changes its place: names all over the repository then do too."""
    return hashlib.sha256(json.dumps(list(roots)).encode()).hexdigest()


@dataclass(frozen=True)
class _Name:
    """One name of one file."""

    file_id: str
    path: str
    root: str
    module: str

    def place_below_root(self) -> tuple[bool, bool, bool]:
        """The order of files that share a name from one root."""
        top = _below(self.root, self.path).split("/")[0]
        return not top.endswith(STUBS_SUFFIX), not _is_init(self.path), not _is_stub(self.path)

    def place_among_roots(self, packages: frozenset[str]) -> tuple[object, ...]:
        """The order of the first files of several roots."""
        folders = _folders_between(self.root, location_of(self.path))
        without_init = tuple(folder not in packages for folder in folders)
        is_stub_that_counts = _is_stub(self.path) and any(without_init)
        return self.root != STUB_ROOT, without_init, not is_stub_that_counts, search_order(self.root)


def module_index(files: Iterable[tuple[str, str]]) -> pa.Table:
    """`py_module_index` of a repository from (file_id, path) of all its Python files.

    One small row per name of a file, made on the driver: meant for up to some hundred thousand files.
    """
    by_path = sorted((path, file_id) for file_id, path in files)
    paths = [path for path, _ in by_path]
    roots = module_roots(paths)
    names = {path: list(_names(file_id, path, roots)) for path, file_id in by_path}
    primary = _primary((name for of_file in names.values() for name in of_file), paths)
    rows = [row for path, file_id in by_path for row in _rows(file_id, path, names[path], primary)]
    return pa.Table.from_pylist(rows, schema=PY_MODULE_INDEX.arrow_schema())


def _names(file_id: str, path: str, roots: Sequence[str]) -> Iterator[_Name]:
    """The file's own name first: roots inside each other are prefixes, so the longest is the innermost."""
    for root in sorted(roots, key=len, reverse=True):
        module = _name_below(root, path)
        if module is not None:
            yield _Name(file_id, path, root, module)


def _name_below(root: str, path: str) -> str | None:
    if root and not path.startswith(f"{root}/"):
        return None
    parts = _below(root, location_of(path)).split("/")
    parts[0] = parts[0].removesuffix(STUBS_SUFFIX) if len(parts) > 1 or _is_init(path) else parts[0]
    return ".".join(parts) if all(part.isidentifier() for part in parts) else None


def _primary(names: Iterable[_Name], paths: Sequence[str]) -> dict[str, _Name]:
    packages = frozenset(folder_of(path) for path in paths if _is_init(path))
    below_root: dict[tuple[str, str], _Name] = {}
    for name in names:
        key = (name.module, name.root)
        if key not in below_root or name.place_below_root() < below_root[key].place_below_root():
            below_root[key] = name
    shared: dict[str, list[_Name]] = defaultdict(list)
    for (module, _), name in below_root.items():
        shared[module].append(name)
    return {
        module: of_roots[0] if len(of_roots) == 1 else min(of_roots, key=lambda name: name.place_among_roots(packages))
        for module, of_roots in shared.items()
    }


def _rows(file_id: str, path: str, names: Sequence[_Name], primary: dict[str, _Name]) -> Iterator[dict[str, Any]]:
    for place, name in enumerate(names or [None]):
        module = name.module if name else None
        yield {
            "file_id": file_id,
            "module_id": identity.MODULE.of(file_id, module),
            "path": path,
            "module": module,
            "kind": "script" if name is None else "package" if _is_init(path) else "module",
            "is_package": _is_init(path),
            "is_stub": _is_stub(path),
            "root": name.root if name else None,
            "is_alternate": place > 0,
            "is_primary": name is not None and primary[name.module] == name,
        }


def _below(root: str, path: str) -> str:
    return path[len(root) + 1 :] if root else path


def _folders_between(root: str, location: str) -> list[str]:
    """The folders below the root that hold the location, from the top."""
    parts = _below(root, location).split("/")
    return [joined(root, *parts[:length]) for length in range(1, len(parts))]


def _is_init(path: str) -> bool:
    return path.rpartition("/")[2] in ("__init__.py", "__init__.pyi")


def _is_stub(path: str) -> bool:
    return path.endswith(".pyi")

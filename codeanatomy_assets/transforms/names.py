"""Imports and the module index → `py_imports_resolved`, who imports whom, and whose imports a change can move.

Which file a module name means
- Absolute: the primary file of the name (module_roots.py); else a folder of that name without `__init__`
  (a namespace, no file; one of `typings` only if it holds what is asked); else the name looked for in the
  importer's folder and those above it, the nearest first, as the indexer does and a script would; else
  outside. A name of the standard library is not looked for in folders, and beats a namespace; a file here
  under such a name is `ambiguous`.
- Missing below a module that is a file here: `unresolved`, not `external`.
- Relative: by folder from the importer's own. Where Python would refuse it (above the top of the
  importer's name, or an importer without a name) the folder still answers, as in the indexer, with the
  reason beside it.

Which rows a clause gives
- `module`, always one: what stands after `import`, `from` or in the literal.
- `parent`: for `import a.b.c` and absolute dynamic imports, `a` and `a.b`: the packages beside the file
  that was found, whatever other roots hold under their names; on their own if it was not found.
- `submodule`: for `from a import b`, the file `a.b` in the folder of the package that `a` means, or of any
  root if `a` is a namespace; `ambiguous` if the package lacks it and the name means a file elsewhere
  (another root's package, or a source that a stubs folder leaves out).
- `star_submodule`: for a star over a package, its direct submodules, because `__all__` may name them.
- One target a row: of files that share a name the primary alone; the others stand in the module index.

A clause's rows depend on the clause, the importer's path, the roots, and the answers to what it looked up.
So a clause is to be resolved again when one of these answers changed (`changed_answers`): each row
has what it looked up.
The rules are a walk over dictionaries, in Python workers: as joins they would be eight, each with cases of
its own, and testable with Spark alone. The module index travels to the workers with the function.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED, RESOLVED_IMPORT
from codeanatomy_assets.contracts.spelling import same_name
from codeanatomy_assets.transforms.module_roots import (
    STUB_ROOT,
    STUBS_SUFFIX,
    folder_of,
    joined,
    location_of,
    module_roots,
    search_order,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# As the indexer's Python has it: these left with 3.12.
STANDARD_LIBRARY = sys.stdlib_module_names - {"asynchat", "asyncore", "distutils", "imp", "smtpd"}
READ_OF_IMPORTS = (
    "file_id import_id scope_id kind level module name alias bound_name is_type_checking is_conditional".split()
)

Row = dict[str, Any]


@dataclass(frozen=True)
class ModuleFile:
    """A file of the repository by its own name."""

    file_id: str
    path: str
    module: str | None
    is_package: bool

    @property
    def locations(self) -> tuple[str, ...]:
        return (location_of(self.path),)

    def is_before(self, other: ModuleFile) -> bool:
        """Which of two files an import from their folder takes: package before module, stub before source."""
        return (not self.is_package, not self.path.endswith(".pyi")) < (
            not other.is_package,
            not other.path.endswith(".pyi"),
        )


@dataclass(frozen=True)
class Folder:
    """Python below it and no `__init__`: one folder by path, of a name those of all roots in their order."""

    locations: tuple[str, ...]


Answer = ModuleFile | Folder | None


class ModuleLookup:
    """What a module index answers: by name, by path without suffix, and the direct submodules of a folder."""

    def __init__(self, modules: pa.Table) -> None:
        self.files: dict[str, ModuleFile] = {}
        self._by_name: dict[str, ModuleFile] = {}
        self._by_location: dict[str, ModuleFile] = {}
        self._submodules: dict[str, set[str]] = defaultdict(set)
        self._folders: set[str] = {""}
        self._namespaces: dict[str, Folder] = {}
        rows = modules.to_pylist()
        self.roots = sorted(module_roots(row["path"] for row in rows))
        for row in rows:
            if not row["is_alternate"]:
                self._add_file(ModuleFile(row["file_id"], row["path"], row["module"], row["is_package"]))
        for row in rows:
            if row["is_primary"]:
                self._by_name[row["module"]] = self.files[row["file_id"]]
        self._add_namespaces(row for row in rows if row["module"] is not None)

    def _add_file(self, file: ModuleFile) -> None:
        self.files[file.file_id] = file
        [location] = file.locations
        known = self._by_location.get(location)
        if known is None or file.is_before(known):
            self._by_location[location] = file
        name = location.rpartition("/")[2]
        if name.isidentifier():
            self._submodules[folder_of(location)].add(name)
        self._folders.update(_parents(location, "/"))

    def _add_namespaces(self, rows: Iterable[Row]) -> None:
        folders: dict[str, set[tuple[object, bool, str]]] = defaultdict(set)
        for row in rows:
            above = zip(_parents(row["module"], "."), _parents(location_of(row["path"]), "/"), strict=False)
            for name, location in above:
                if name not in self._by_name:
                    is_stubs = location.endswith(STUBS_SUFFIX)
                    folders[name].add((search_order(row["root"]), not is_stubs, location))
        for name, found in folders.items():
            self._namespaces[name] = Folder(tuple(location for *_, location in sorted(found)))

    def named(self, module: str) -> Answer:
        return self._by_name.get(module) or self._namespaces.get(module)

    def at(self, location: str) -> Answer:
        return self._by_location.get(location) or (Folder((location,)) if location in self._folders else None)

    def submodules(self, location: str) -> list[str]:
        return sorted(self._submodules.get(location, ()))

    def answers(self) -> dict[str, object]:
        """Every question with an answer, as `looked_up` has it, and the answer."""
        names = {name: self.named(name) for name in self._by_name.keys() | self._namespaces.keys()}
        locations = {f"/{at}": self.at(at) for at in self._by_location.keys() | self._folders}
        lists = {f"/{folder}/*": self.submodules(folder) for folder in self._submodules}
        folders = {f"/{folder}/": True for folder in self._folders}
        return {**names, **locations, **lists, **folders}


def changed_answers(before: pa.Table, after: pa.Table) -> frozenset[str]:
    """What two module indexes of one repository, with the same roots, answer differently."""
    if _in_order(before).equals(_in_order(after)):
        return frozenset()
    old, new = ModuleLookup(before).answers(), ModuleLookup(after).answers()
    return frozenset(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))


def _in_order(modules: pa.Table) -> pa.Table:
    return modules.sort_by("module_id").combine_chunks()


@dataclass
class _Resolved:
    """What a clause's module turned out to be."""

    module: str | None
    resolution: str
    answer: Answer = None
    reason: str | None = None


@dataclass
class _Clause:
    """One row of cst_imports on its way to its resolved rows, noting all it looks up."""

    row: Mapping[str, Any]
    lookup: ModuleLookup
    looked_up: set[str] = field(default_factory=set)

    @property
    def importer(self) -> ModuleFile:
        try:
            return self.lookup.files[self.row["file_id"]]
        except KeyError:
            raise ValueError(
                f"import {self.row['import_id']} belongs to file {self.row['file_id']}, which py_module_index lacks: "
                "build the index over all Python files before resolving imports"
            ) from None

    def named(self, module: str) -> Answer:
        self.looked_up.add(module)
        return self.lookup.named(module)

    def at(self, location: str) -> Answer:
        self.looked_up.add(f"/{location}")
        return self.lookup.at(location)

    def note_way(self, module: str, is_found: bool) -> None:
        """What stands at the names before a dotted one decides whether it is reached at all, for the indexer too.

        A file beside a folder hides it, a folder before another one too: of what was not found, all places count.
        """
        prefixes = [*_parents(module, "."), *([] if is_found else [module])]
        self.looked_up.update(prefixes)
        if is_found or "." not in module:
            return
        folders = [folder_of(self.importer.path)]
        while folders[-1]:
            folders.append(folder_of(folders[-1]))
        for folder in {*self.lookup.roots, *folders}:
            for prefix in prefixes:
                place = joined(folder, *prefix.split("."))
                self.looked_up.update((f"/{place}", f"/{place}/"))

    def package_at(self, location: str) -> Answer:
        """The folder as a package, or as a plain folder: never the module beside it."""
        answer = self.at(location)
        return answer if isinstance(answer, ModuleFile) and answer.is_package else Folder((location,))

    def submodules(self, location: str) -> list[str]:
        self.looked_up.add(f"/{location}/*")
        return self.lookup.submodules(location)


def resolved_rows(imports: Iterable[Mapping[str, Any]], lookup: ModuleLookup) -> Iterator[Row]:
    """`py_imports_resolved` of rows of cst_imports."""
    for written in imports:
        row = {**written, "module": same_name(written["module"])}
        clause = _Clause(row, lookup)
        leaf = _relative(clause) if row["level"] else _absolute(clause, row["module"])
        if not row["level"]:
            clause.note_way(row["module"], isinstance(leaf.answer, ModuleFile))
        others = [*_parent_rows(clause, leaf), *_submodule_rows(clause, leaf)]
        bound = None if _binds_top_package(row) else row["bound_name"]
        yield _row(clause, "module", leaf, row["name"], bound) | {"looked_up": sorted(clause.looked_up)}
        yield from others


def _absolute(clause: _Clause, module: str) -> _Resolved:
    top, *below = module.split(".")
    answer = clause.named(module)
    if isinstance(answer, ModuleFile):
        return _Resolved(module, "ambiguous" if top in STANDARD_LIBRARY else "internal", answer)
    if top in STANDARD_LIBRARY:
        return _Resolved(module, "stdlib")
    if answer is not None and _ends_the_search(clause, answer):
        return _Resolved(module, "namespace", answer)
    nearby = _in_folders_above(clause, module)
    if isinstance(nearby, ModuleFile):
        return _Resolved(module, "local_directory", nearby)
    if answer is not None or nearby is not None:
        return _Resolved(module, "namespace", answer or nearby)
    if below and isinstance(clause.named(top), ModuleFile):
        return _Resolved(module, "unresolved", reason="not_found")
    return _Resolved(module, "external")


def _ends_the_search(clause: _Clause, namespace: Folder) -> bool:
    """A namespace does, but one of stubs only if it holds what is asked of it."""
    if any(not _is_local_stub(location) for location in namespace.locations):
        return True
    if clause.row["kind"] in ("from", "star"):
        return _held(clause, namespace, same_name(clause.row["name"] or "*")) is not None
    return any(clause.submodules(location) for location in namespace.locations)


def _is_local_stub(path: str) -> bool:
    return path.startswith(f"{STUB_ROOT}/")


def _in_folders_above(clause: _Clause, module: str) -> Answer:
    """The name looked for in the importer's folder, then in those above it, short of the repository's own."""
    folder = folder_of(clause.importer.path)
    while folder:
        answer = clause.at(joined(folder, *module.split(".")))
        if answer is not None:
            return answer
        folder = folder_of(folder)
    return None


def _relative(clause: _Clause) -> _Resolved:
    level, below = clause.row["level"], [part for part in clause.row["module"].split(".") if part]
    folder = _climbed(folder_of(clause.importer.path), level - 1)
    module, refused = _relative_name(clause.importer, level, below)
    if folder is None:
        return _Resolved(module, "unresolved", reason=refused)
    answer = clause.at(joined(folder, *below)) if below else clause.package_at(folder)
    if answer is None:
        return _Resolved(module, "unresolved", reason=refused or "not_found")
    if isinstance(answer, Folder):
        return _Resolved(module, "namespace", answer, refused)
    return _Resolved(module or answer.module, "local_directory" if refused else "internal", answer, refused)


def _climbed(folder: str, levels: int) -> str | None:
    for _ in range(levels):
        if not folder:
            return None
        folder = folder_of(folder)
    return folder


def _relative_name(importer: ModuleFile, level: int, below: list[str]) -> tuple[str | None, str | None]:
    """The absolute name as Python makes it from the importer's own, or why it refuses."""
    if importer.module is None:
        return None, "no_module_name"
    package = importer.module.split(".")
    if not importer.is_package:
        package.pop()
    kept = package[: max(len(package) - (level - 1), 0)]
    return (".".join([*kept, *below]), None) if kept else (None, "beyond_top_level")


def _parent_rows(clause: _Clause, leaf: _Resolved) -> Iterator[Row]:
    """The packages that `import a.b.c` loads on its way."""
    if clause.row["kind"] not in ("import", "dynamic") or clause.row["level"] or leaf.module is None:
        return
    for place, name in enumerate(reversed(_parents(leaf.module, "."))):
        bound = clause.row["bound_name"] if place == 0 and _binds_top_package(clause.row) else None
        yield _row(clause, "parent", _parent(clause, leaf, name), None, bound)


def _binds_top_package(row: Mapping[str, Any]) -> bool:
    """`import a.b.c` binds `a`; with an alias it binds `a.b.c`."""
    return row["kind"] == "import" and row["alias"] is None and "." in row["module"]


def _parent(clause: _Clause, leaf: _Resolved, name: str) -> _Resolved:
    if leaf.module is None or leaf.answer is None:
        return _by_name_alone(clause, name)
    depth = leaf.module.count(".") - name.count(".")
    answer = clause.package_at(leaf.answer.locations[0].rsplit("/", depth)[0])
    if isinstance(answer, Folder):
        return _Resolved(name, "namespace", answer)
    return _Resolved(name, _of_package_around(clause, leaf), answer)


def _by_name_alone(clause: _Clause, name: str) -> _Resolved:
    """A parent of what was not found: in the roots, then in the importer's folder and those above it."""
    answer, standard = clause.named(name), name.split(".")[0] in STANDARD_LIBRARY
    if isinstance(answer, ModuleFile):
        return _Resolved(name, "ambiguous" if standard else "internal", answer)
    if standard:
        return _Resolved(name, "stdlib")
    nearby = _in_folders_above(clause, name) if answer is None else None
    if isinstance(nearby, ModuleFile):
        return _Resolved(name, "local_directory", nearby)
    return _Resolved(name, "external") if answer is None else _Resolved(name, "namespace", answer)


def _submodule_rows(clause: _Clause, leaf: _Resolved) -> Iterator[Row]:
    if clause.row["kind"] == "from":
        found = _submodule(clause, leaf, clause.row["name"])
        if found is not None:
            yield _row(clause, "submodule", found, clause.row["name"], clause.row["bound_name"])
    elif clause.row["kind"] == "star" and isinstance(leaf.answer, ModuleFile) and leaf.answer.is_package:
        for name in clause.submodules(leaf.answer.locations[0]):
            found = _submodule(clause, leaf, name)
            if found is not None:
                yield _row(clause, "star_submodule", found, name, None)


def _submodule(clause: _Clause, leaf: _Resolved, name: str) -> _Resolved | None:
    """The file that a package or namespace holds under a name, if it holds one."""
    if leaf.answer is None:
        return None
    name = same_name(name)
    held = _held(clause, leaf.answer, name)
    if held is not None:
        module = f"{leaf.module}.{name}" if leaf.module else held.module
        return _Resolved(module, _of_package_around(clause, leaf), held, leaf.reason)
    if clause.row["level"] or not isinstance(leaf.answer, ModuleFile):
        return None
    elsewhere = clause.named(f"{leaf.module}.{name}")
    if not isinstance(elsewhere, ModuleFile) or not _may_lie_elsewhere(clause, leaf.answer, elsewhere):
        return None
    return _Resolved(f"{leaf.module}.{name}", "ambiguous", elsewhere)


def _held(clause: _Clause, holder: ModuleFile | Folder, name: str) -> ModuleFile | None:
    if isinstance(holder, ModuleFile) and not holder.is_package:
        return None
    answers = (clause.at(joined(location, name)) for location in holder.locations)
    return next((answer for answer in answers if isinstance(answer, ModuleFile)), None)


def _may_lie_elsewhere(clause: _Clause, holder: ModuleFile, submodule: ModuleFile) -> bool:
    """Whether a submodule that is not in its package's folder counts.

    A stub of a package may leave out what the source has. The indexer prefers stubs in `typings`, and among
    files below namespaces the folder that holds the name asked for.
    """
    if _is_local_stub(submodule.path) or holder.is_package and holder.path.endswith(".pyi"):
        return True
    folders = _parents(holder.locations[0], "/")[: (holder.module or "").count(".")]
    return any(isinstance(clause.package_at(folder), Folder) for folder in folders)


def _of_package_around(clause: _Clause, leaf: _Resolved) -> str:
    """How what lies beside or below a namespace was found; beside a file, as the file was."""
    if isinstance(leaf.answer, ModuleFile):
        return leaf.resolution
    by_name = clause.row["level"] == 0 and clause.lookup.named(clause.row["module"]) == leaf.answer
    by_dots = clause.row["level"] > 0 and leaf.reason is None
    return "internal" if by_name or by_dots else "local_directory"


def _row(clause: _Clause, target_kind: str, target: _Resolved, name: str | None, bound: str | None) -> Row:
    row = clause.row
    return {
        "file_id": row["file_id"],
        "resolved_id": RESOLVED_IMPORT.of(row["import_id"], target_kind, target.module, name),
        "import_id": row["import_id"],
        "scope_id": row["scope_id"],
        "kind": row["kind"],
        "target_kind": target_kind,
        "module": target.module,
        "name": name,
        "bound_name": bound,
        "is_star": row["kind"] == "star",
        "is_type_checking": row["is_type_checking"],
        "is_conditional": row["is_conditional"],
        "resolution": target.resolution,
        "reason": target.reason,
        "target_file_id": target.answer.file_id if isinstance(target.answer, ModuleFile) else None,
        "looked_up": [],
    }


def _parents(name: str, separator: str) -> list[str]:
    """What stands above a dotted name or a path, the nearest first."""
    parts = name.split(separator)
    return [separator.join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]


def imports_resolved(imports: DataFrame, modules: pa.Table) -> DataFrame:
    """`py_imports_resolved` of rows of cst_imports, of any files of the index `modules`."""
    lookup = ModuleLookup(modules)
    schema = PY_IMPORTS_RESOLVED.arrow_schema()

    def resolve(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pylist(list(resolved_rows(batch.to_pylist(), lookup)), schema=schema)

    return imports.select(*READ_OF_IMPORTS).mapInArrow(resolve, PY_IMPORTS_RESOLVED.spark_schema())

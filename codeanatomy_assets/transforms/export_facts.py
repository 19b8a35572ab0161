"""A file's own rows → its export facts, and the qualified names it defines, imports and may call by.

Facts are what the file alone says: which names it binds and how, equal bindings once. Where they lead across
modules is followed by `exports`. Bindings of one entry keep the order of the source. A binding is effective unless a
later unconditional definition or import of the same entry replaces it; assignments replace nothing, as they
stand in branches as often as not (`try: import x`, `except ImportError: x = None`).
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.exports import MODULE_ENTRY, STAR_ENTRY

SIGNATURE_DIGITS = 32
DYNAMIC_NAMES = "__getattr__"
HEADER = ("kind", "is_async", "decorators", "bases", "returns", "type_parameters")
PARAMETER_HEADER = ("name", "kind", "annotation", "default")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """One binding of a file, as its own text and the indexer's view of it say."""

    entry_path: str
    binding: str
    kind: str | None = None
    def_id: str | None = None
    own_symbol: str | None = None
    own_symbol_id: str | None = None
    is_effective: bool = True
    source_file_id: str | None = None
    source_module: str | None = None
    source_name: str | None = None
    submodule_file_id: str | None = None
    assigned_from: str | None = None
    is_public: bool = False
    is_enumerable: bool = True
    signature: str | None = None

    @property
    def name(self) -> str:
        return self.entry_path.rpartition(".")[2] if self.binding != "star" else STAR_ENTRY

    @property
    def is_module_name(self) -> bool:
        """A name of the module itself, which importers can ask for."""
        return self.binding in ("definition", "variable", "import")


@dataclass(frozen=True)
class FileSources:
    """The rows of one file that its facts are made of."""

    file_id: str
    module: Row
    defs: Sequence[Row] = ()
    refs: Sequence[Row] = ()
    imports: Sequence[Row] = ()
    clauses: Sequence[Row] = ()
    calls: Sequence[Row] = ()
    definitions: Sequence[Row] = ()

    @property
    def prefix(self) -> str:
        return module_prefix(self.module["module"], self.module["path"])


def module_prefix(module: str | None, path: str) -> str:
    """What qualified names of a file start with: its module name, of a script its path in angle brackets."""
    return module if module is not None else f"<{path}>"


@dataclass
class _Bound:
    """A fact with its place in the source, and whether it always happens."""

    fact: Fact
    at: int
    is_conditional: bool


@dataclass
class _Symbols:
    """The symbols that the indexer defines in the file, by span."""

    rows: Sequence[Row]
    by_span: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in sorted(self.rows, key=lambda row: row["symbol"], reverse=True):
            self.by_span[row["bstart"], row["bend"]] = (row["symbol"], row["symbol_id"])

    def at(self, bstart: int, bend: int) -> tuple[str | None, str | None]:
        return self.by_span.get((bstart, bend), (None, None))


def facts_of(sources: FileSources) -> list[Fact]:
    """The file's facts: the module's own first, then by entry, bindings of one entry in source order."""
    symbols = _Symbols(sources.definitions)
    bound = [*_definitions(sources, symbols), *_variables(sources, symbols), *_imports(sources)]
    listed = _AllNames.of(sources.refs)
    by_entry: dict[str, list[_Bound]] = defaultdict(list)
    for each in sorted(bound, key=lambda each: (each.fact.entry_path, each.at)):
        by_entry[each.fact.entry_path].append(each)
    facts = [_module_fact(sources, listed, DYNAMIC_NAMES in by_entry)]
    for entry in sorted(by_entry):
        facts += [replace(fact, is_public=listed.shows(fact)) for fact in _with_effect(by_entry[entry])]
    return list(dict.fromkeys(facts))


def _with_effect(bound: Sequence[_Bound]) -> Iterator[Fact]:
    last = max((place for place, each in enumerate(bound) if _replaces(each)), default=0)
    for place, each in enumerate(bound):
        yield replace(each.fact, is_effective=place >= last)


def _replaces(bound: _Bound) -> bool:
    return not bound.is_conditional and bound.fact.binding != "variable"


def _definitions(sources: FileSources, symbols: _Symbols) -> Iterator[_Bound]:
    parents = {row["def_id"]: row for row in sources.defs}
    for row in sources.defs:
        if row["kind"] == "lambda":
            continue
        symbol, symbol_id = symbols.at(row["name_bstart"], row["name_bend"])
        fact = Fact(
            entry_path=row["local_qname"],
            binding=_definition_binding(row, parents),
            kind=row["kind"],
            def_id=row["def_id"],
            own_symbol=symbol,
            own_symbol_id=symbol_id,
            signature=_signature([*(row[name] for name in HEADER), _parameters(row)]),
        )
        yield _Bound(fact, row["name_bstart"], row["is_conditional"])


def _parameters(row: Row) -> list[list[Any]]:
    return [[parameter[name] for name in PARAMETER_HEADER] for parameter in row["parameters"]]


def _definition_binding(row: Row, parents: Mapping[str, Row]) -> str:
    binding, parent = "definition", parents.get(row["parent_def_id"])
    while parent is not None:
        if parent["kind"] != "class":
            return "local"
        binding, parent = "member", parents.get(parent["parent_def_id"])
    return binding


def _variables(sources: FileSources, symbols: _Symbols) -> Iterator[_Bound]:
    classes = {row["def_id"]: row for row in sources.defs if row["kind"] == "class"}
    parents = {row["def_id"]: row for row in sources.defs}
    for row in sources.refs:
        if row["context"] != "store" or row["binding"] not in ("global", "class"):
            continue
        holder = classes.get(row["binding_scope_id"] or row["scope_id"]) if row["binding"] == "class" else None
        if row["binding"] == "class" and holder is None:
            continue
        entry = f"{holder['local_qname']}.{row['name']}" if holder else row["name"]
        binding = "variable"
        if holder:
            binding = "local" if _definition_binding(holder, parents) == "local" else "member"
        symbol, symbol_id = symbols.at(row["bstart"], row["bend"])
        fact = Fact(
            entry_path=entry,
            binding=binding,
            own_symbol=symbol,
            own_symbol_id=symbol_id,
            assigned_from=row["assigned_from"],
            signature=_signature(["variable", row["assigned_from"]]),
        )
        yield _Bound(fact, row["bstart"], True)


def _imports(sources: FileSources) -> Iterator[_Bound]:
    places = {row["import_id"]: row["bstart"] for row in sources.clauses}
    by_clause: dict[str, list[Row]] = defaultdict(list)
    for row in sources.imports:
        if row["scope_id"] is None:
            by_clause[row["import_id"]].append(row)
    for import_id, rows in by_clause.items():
        submodules = {row["name"]: row["target_file_id"] for row in rows if row["target_kind"].endswith("submodule")}
        for row in rows:
            if row["target_kind"].endswith("submodule"):
                continue
            if row["is_star"]:
                yield from (_Bound(fact, places[import_id], True) for fact in _star(row, submodules))
            elif row["bound_name"] is not None:
                fact = Fact(
                    entry_path=row["bound_name"],
                    binding="import",
                    source_file_id=row["target_file_id"],
                    source_module=row["module"],
                    source_name=row["name"],
                    submodule_file_id=submodules.get(row["name"]),
                )
                yield _Bound(fact, places[import_id], row["is_conditional"])


def _star(row: Row, submodules: Mapping[str, str | None]) -> Iterator[Fact]:
    """The star itself, and the submodules that its package may list in `__all__`."""
    source = {"source_file_id": row["target_file_id"], "source_module": row["module"]}
    yield Fact(entry_path=f"{STAR_ENTRY}{row['module'] or ''}", binding="star", **source)
    for name, file_id in sorted(submodules.items()):
        entry = f"{STAR_ENTRY}{row['module'] or ''}/{name}"
        yield Fact(entry_path=entry, binding="star", source_name=name, submodule_file_id=file_id, **source)


@dataclass(frozen=True)
class _AllNames:
    """What `__all__` lists; `taken_from` are other lists it takes over; opaque if there is more."""

    exists: bool
    names: frozenset[str]
    taken_from: tuple[str, ...]
    is_opaque: bool

    @classmethod
    def of(cls, refs: Iterable[Row]) -> _AllNames:
        touches = sorted((row for row in refs if row["context"] == "export"), key=lambda row: row["bstart"])
        named = {usage: {row["name"] for row in touches if row["usage"] == usage} for usage in _LISTING}
        opaque = [row["dotted"] for row in touches if row["usage"] == "all_opaque"]
        taken = tuple(dotted for dotted in opaque if dotted is not None and dotted.endswith(".__all__"))
        names = (named["all_assign"] | named["all_add"]) - named["all_remove"]
        return cls(bool(touches), frozenset(names), taken, len(taken) < len(opaque))

    def shows(self, fact: Fact) -> bool:
        """Whether a star import takes the name. What an opaque list may hold counts as listed."""
        if not fact.is_module_name:
            return False
        if not self.exists:
            return not fact.name.startswith("_")
        return fact.name in self.names or self.is_opaque and not fact.name.startswith("_")


_LISTING = ("all_assign", "all_add", "all_remove")


def _module_fact(sources: FileSources, listed: _AllNames, is_dynamic: bool) -> Fact:
    """`source_name` keeps the listed names that other lists and submodules are looked up for."""
    kept = json.dumps([sorted(listed.names), list(listed.taken_from)]) if listed.exists else None
    return Fact(
        entry_path=MODULE_ENTRY,
        binding="module",
        source_name=kept,
        is_enumerable=not (listed.is_opaque or is_dynamic),
        signature=_signature([listed.exists, sorted(listed.names), list(listed.taken_from), listed.is_opaque]),
    )


def _signature(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:SIGNATURE_DIGITS]


def qualified_names_of(sources: FileSources) -> list[dict[str, Any]]:
    """`dim_qualified_names` of the file: what it is and defines, imports, and may call by."""
    found = dict.fromkeys(_names(sources))
    return [
        {
            "file_id": sources.file_id,
            "qname_id": identity.QNAME.of(qname),
            "qname": qname,
            "name": qname.rpartition(".")[2],
            "subject_kind": kind,
            "subject_id": subject,
            "source": source,
        }
        for kind, subject, qname, source in found
    ]


def _names(sources: FileSources) -> Iterator[tuple[str, str, str, str]]:
    prefix = sources.prefix
    yield "module", sources.module["module_id"], prefix, "own"
    for row in sources.defs:
        yield "definition", row["def_id"], f"{prefix}.{row['local_qname']}", "own"
    for row in sources.imports:
        if row["target_kind"] == "module" and row["module"]:
            qname = f"{row['module']}.{row['name']}" if row["name"] else row["module"]
            yield "import", row["import_id"], qname, "star" if row["is_star"] else "import"
    for row in sources.calls:
        for candidate in row["candidates"]:
            qname = absolute_name(sources, candidate)
            if qname is not None:
                yield "call", row["call_id"], qname, candidate["source"]


def absolute_name(sources: FileSources, candidate: Row) -> str | None:
    """A candidate's name from the top: None where its dots lead above it."""
    if candidate["source"] == "local":
        return f"{sources.prefix}.{candidate['qname']}"
    if candidate["level"] == 0:
        return str(candidate["qname"])
    module = sources.module["module"]
    if module is None:
        return None
    package = module.split(".")
    climbed = candidate["level"] - (1 if sources.module["is_package"] else 0)
    kept = package[: len(package) - climbed]
    return ".".join([*kept, candidate["qname"]]) if kept and climbed <= len(package) else None

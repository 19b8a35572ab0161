"""Export facts of many files → `dim_exported_defs`: every name followed to what defines it.

A name leads where its binding says: to the definition, or for an import to what that name leads to in the
module it is taken from, through re-exports, stars, aliases (`g = f`) and cycles. The way is walked from the
facts alone, never from rows that were followed before, so that a loop of re-exports whose definition went
ends nowhere, as in a build from scratch. Each row keeps what its walk asked for (`looked_up`), found or not:
when a fact changes, the rows that asked for it are walked again, and no others.

Names behind a star are those that the module shows: listed in `__all__`, or without one those that don't
start with an underscore; shown through its own stars too. A name that is bound here hides the star's.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pyarrow as pa

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.exports import DIM_EXPORTED_DEFS, EXPORT, MODULE_ENTRY
from codeanatomy_assets.transforms.export_facts import Fact

ALL_NAMES = "*"
STARS = "* imports"
FACT_FIELDS = tuple(each.name for each in fields(Fact))
# What a change of does not send walkers another way: the file's own rows alone show it.
SEEN_AT_HOME = ("signature",)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ModuleFacts:
    """A file's facts, ready to be asked."""

    file_id: str
    prefix: str
    facts: tuple[Fact, ...]
    by_entry: Mapping[str, tuple[Fact, ...]]
    stars: tuple[Fact, ...]
    listed: frozenset[str] | None
    taken_from: tuple[str, ...]

    @classmethod
    def of(cls, file_id: str, prefix: str, facts: Iterable[Fact]) -> ModuleFacts:
        kept = tuple(facts)
        by_entry: dict[str, list[Fact]] = defaultdict(list)
        for fact in kept:
            by_entry[fact.entry_path].append(fact)
        stated = next((fact.source_name for fact in kept if fact.binding == "module"), None)
        names, taken_from = json.loads(stated) if stated else (None, [])
        return cls(
            file_id,
            prefix,
            kept,
            {entry: tuple(found) for entry, found in by_entry.items()},
            tuple(fact for fact in kept if fact.binding == "star"),
            None if names is None else frozenset(names),
            tuple(taken_from),
        )

    def shown_alone(self) -> set[str]:
        """The names that it shows by its own words, not by those of others."""
        return {fact.name for fact in self.facts if fact.is_public} | (self.listed or frozenset())

    def passes_on(self, name: str) -> bool:
        """Whether it shows a name that a star brought it."""
        return name in self.listed if self.listed is not None else not name.startswith("_")

    def module_names(self, name: str) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.by_entry.get(name, ()) if fact.is_module_name and fact.is_effective)


@dataclass(frozen=True)
class Target:
    """What a name leads to."""

    kind: str
    file_id: str | None = None
    def_id: str | None = None
    entry: str | None = None
    qname: str | None = None
    symbol: str | None = None
    symbol_id: str | None = None
    hops: int = 0

    def further(self, hops: int = 1) -> Target:
        return replace(self, hops=self.hops + hops) if hops else self


class Facts:
    """Facts by file: those at hand, others loaded when they are first asked for; None if there is no such file."""

    def __init__(
        self, known: Mapping[str, ModuleFacts | None], load: Callable[[str], ModuleFacts | None] | None = None
    ) -> None:
        self._known = dict(known)
        self._load = load
        self._shown: dict[str, Shown] = {}

    def of(self, file_id: str) -> ModuleFacts | None:
        if file_id not in self._known and self._load is not None:
            self._known[file_id] = self._load(file_id)
        return self._known.get(file_id)

    def shown(self, file_id: str) -> Shown:
        if file_id not in self._shown:
            self._shown[file_id] = shown_by(file_id, self, self._shown)
        return self._shown[file_id]


@dataclass(frozen=True)
class Shown:
    """The names that a star takes from a module, and all that was asked for to tell."""

    names: frozenset[str]
    asked: frozenset[str]


def shown_by(file_id: str, facts: Facts, known: Mapping[str, Shown]) -> Shown:
    """Names go from module to module along stars and lists that are taken over, until no module gets a new one.

    Whose list a module takes over is told by names that it binds or imports, not by stars.
    """
    asked: set[str] = set()
    names: dict[str, set[str]] = {}
    takers: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    due = [file_id]
    while due:
        each = due.pop()
        if each in names:
            continue
        if each in known:
            names[each] = set(known[each].names)
            asked |= known[each].asked
            continue
        walk = _Walk(facts, asked, follows_stars=False)
        module = walk.asked(each, ALL_NAMES)
        names[each] = module.shown_alone() if module is not None else set()
        for source, is_star in walk.shows_too(module) if module is not None else ():
            takers[source].append((each, is_star))
            due.append(source)
    fresh = dict(names)
    while fresh:
        source, new = fresh.popitem()
        for taker, is_star in takers[source]:
            module = facts.of(taker)
            assert module is not None
            taken = {name for name in new if not is_star or module.passes_on(name)} - names[taker]
            if taken:
                names[taker] |= taken
                fresh[taker] = fresh.get(taker, set()) | taken
    return Shown(frozenset(names[file_id]), frozenset(asked))


@dataclass
class _Walk:
    """One name on its way, noting all it asks for.

    Each walk starts with nothing but facts, so that its end depends on them alone, and not on walks before it.
    """

    facts: Facts
    looked_up: set[str] = field(default_factory=set)
    follows_stars: bool = True
    # Names that are being followed, and what others led to, if the way met none of the former.
    above: set[tuple[str, str]] = field(default_factory=set)
    followed: dict[tuple[str, str], list[Target]] = field(default_factory=dict)
    loops_met: int = 0

    def asked(self, file_id: str, entry: str) -> ModuleFacts | None:
        self.looked_up.add(f"{file_id} {entry}")
        return self.facts.of(file_id)

    def named(self, file_id: str, name: str) -> list[Target]:
        """What a module's name leads to; nothing if it has none, or on the second visit of a loop."""
        key = (file_id, name)
        if key in self.above:
            self.loops_met += 1
            return []
        if key not in self.followed:
            loops_met = self.loops_met
            targets = self._nearest(file_id, name)
            if self.loops_met > loops_met:
                return targets
            self.followed[key] = targets
        return self.followed[key]

    def _nearest(self, file_id: str, name: str) -> list[Target]:
        """Led to by the module, if it binds the name, or else by the modules behind stars that show it."""
        begun = {(file_id, name)}
        self.above |= begun
        found: list[Target] = []
        ring, hops = [file_id], 0
        while ring:
            further: list[str] = []
            for module in filter(None, [self.asked(each, name) for each in ring]):
                bound = module.module_names(name)
                targets = [target for fact in bound for target in self.led_by(module, fact)]
                if not bound and self.follows_stars:
                    targets = self.starred_submodules(module, name)
                    further += self.behind_stars(module, name)
                found += [target.further(hops) for target in targets]
            ahead = {(each, name): each for each in further if (each, name) not in begun}
            self.loops_met += len(ahead.keys() & self.above)
            ring, hops = [each for key, each in ahead.items() if key not in self.above], hops + 1
            begun |= {(each, name) for each in ring}
            self.above |= begun
        self.above -= begun
        return _distinct(found)

    def behind_stars(self, module: ModuleFacts, name: str) -> Iterator[str]:
        """The modules that the module's stars take this name from."""
        self.asked(module.file_id, STARS)
        for star in module.stars:
            source = star.source_file_id if star.source_name is None else None
            if source is not None and name in self.shown(source):
                yield source

    def starred_submodules(self, module: ModuleFacts, name: str) -> list[Target]:
        """The module of this name, if a star brings it because a package's `__all__` lists it."""
        return [
            target.further()
            for star in module.stars
            if star.source_file_id is not None and star.source_name == name and star.submodule_file_id is not None
            if self.lists(star.source_file_id, name)
            for target in self.module(star.submodule_file_id)
        ]

    def lists(self, file_id: str, name: str) -> bool:
        """Whether a package's `__all__` lists a name that it does not bind: a submodule, then."""
        module = self.asked(file_id, ALL_NAMES)
        return module is not None and name in (module.listed or ()) and not module.module_names(name)

    def led_by(self, module: ModuleFacts, fact: Fact) -> list[Target]:
        if fact.binding == "import":
            return self.imported(fact)
        if fact.assigned_from is not None:
            alias = [
                target.further()
                for target in self.chain(module, fact.assigned_from.split("."))
                if target.kind in ("definition", "module")
            ]
            if alias:
                return alias
        return [own_target(module, fact)]

    def imported(self, fact: Fact) -> list[Target]:
        if fact.source_file_id is None and fact.submodule_file_id is None:
            return [_outside(fact)]
        if fact.source_name is None and fact.source_file_id is not None:
            return [target.further() for target in self.module(fact.source_file_id)]
        found: list[Target] = []
        if fact.source_file_id is not None and fact.source_name is not None:
            found = self.named(fact.source_file_id, fact.source_name)
        if not found and fact.submodule_file_id is not None:
            found = self.module(fact.submodule_file_id)
        return [target.further() for target in found]

    def module(self, file_id: str) -> list[Target]:
        module = self.asked(file_id, MODULE_ENTRY)
        return [] if module is None else [Target("module", file_id, qname=module.prefix)]

    def chain(self, module: ModuleFacts, names: list[str]) -> list[Target]:
        """What `a.b.c` leads to, read in this module: through modules and classes, as far as they are known."""
        found = self.named(module.file_id, names[0])
        for name in names[1:]:
            found = _distinct(target for holder in found for target in self.member(holder, name))
        return found

    def member(self, holder: Target, name: str) -> list[Target]:
        if holder.file_id is None:
            return []
        if holder.kind == "module":
            return self.named(holder.file_id, name)
        if holder.kind != "definition" or holder.entry is None:
            return []
        entry = f"{holder.entry}.{name}"
        module = self.asked(holder.file_id, entry)
        facts = module.by_entry.get(entry, ()) if module is not None else ()
        return [own_target(module, fact) for fact in facts if module is not None and fact.is_effective]

    def shown(self, file_id: str) -> frozenset[str]:
        """The names that a star takes from a module."""
        shown = self.facts.shown(file_id)
        self.looked_up |= shown.asked
        return shown.names

    def shows_too(self, module: ModuleFacts) -> Iterator[tuple[str, bool]]:
        """The modules whose names this one shows beside its own, and whether by a star."""
        for star in module.stars:
            if star.source_file_id is not None and star.source_name is None:
                yield star.source_file_id, True
        for dotted in module.taken_from:
            for target in self.chain(module, dotted.split(".")[:-1]):
                if target.kind == "module" and target.file_id is not None:
                    yield target.file_id, False


def own_target(module: ModuleFacts, fact: Fact) -> Target:
    kind = "definition" if fact.def_id is not None else "variable"
    return Target(
        kind,
        module.file_id,
        fact.def_id,
        fact.entry_path,
        f"{module.prefix}.{fact.entry_path}",
        fact.own_symbol,
        fact.own_symbol_id,
    )


def _outside(fact: Fact) -> Target:
    if fact.source_module is None:
        return Target("unresolved")
    return Target(
        "external", qname=f"{fact.source_module}.{fact.source_name}" if fact.source_name else fact.source_module
    )


def _distinct(targets: Iterable[Target]) -> list[Target]:
    """Each thing once, by the shortest way."""
    found: dict[tuple[object, ...], Target] = {}
    for target in targets:
        key = (target.kind, target.file_id, target.def_id, target.entry, target.qname)
        if key not in found or target.hops < found[key].hops:
            found[key] = target
    return list(found.values())


def exported_rows(module: ModuleFacts, facts: Facts) -> Iterator[dict[str, Any]]:
    """`dim_exported_defs` of one file."""
    ordinals: dict[str, int] = defaultdict(int)
    for fact in module.facts:
        walk = _Walk(facts)
        for target in _targets(module, fact, walk) or [Target("unresolved")]:
            yield _row(module, fact, target, walk.looked_up, ordinals)
    for name, walk, targets in _star_names(module, facts):
        shown = Fact(entry_path=name, binding="star_name", is_public=module.passes_on(name))
        for target in targets:
            yield _row(module, shown, target, walk.looked_up, ordinals)


def _targets(module: ModuleFacts, fact: Fact, walk: _Walk) -> list[Target]:
    if fact.binding == "module":
        return [Target("module", module.file_id, qname=module.prefix)]
    if fact.binding == "star":
        if fact.source_file_id is None:
            return [_outside(fact)]
        # Kept on the star's own row too: there may be no name yet that would have it.
        walk.shown(fact.source_file_id)
        return walk.module(fact.source_file_id)
    if fact.is_module_name:
        walk.above.add((module.file_id, fact.entry_path))
    return walk.led_by(module, fact)


def _star_names(module: ModuleFacts, facts: Facts) -> Iterator[tuple[str, _Walk, list[Target]]]:
    """The names that the file's stars bring it, beside those it binds itself."""
    asking = _Walk(facts)
    names: set[str] = set()
    for star in module.stars:
        if star.source_file_id is not None and star.source_name is None:
            names |= asking.shown(star.source_file_id)
    for name in sorted(names):
        if not module.module_names(name):
            walk = _Walk(facts, set(asking.looked_up))
            yield name, walk, walk.named(module.file_id, name) or [Target("unresolved")]


def _row(
    module: ModuleFacts, fact: Fact, target: Target, looked_up: Iterable[str], ordinals: dict[str, int]
) -> dict[str, Any]:
    ordinal = ordinals[fact.entry_path]
    ordinals[fact.entry_path] += 1
    is_module = fact.binding == "module"
    qname = module.prefix if is_module else f"{module.prefix}.{fact.entry_path}"
    own = f"{module.file_id} "
    return {
        **{name: getattr(fact, name) for name in FACT_FIELDS},
        "file_id": module.file_id,
        "export_id": EXPORT.of(module.file_id, fact.entry_path, ordinal),
        "name": fact.name,
        "ordinal": ordinal,
        "qname": qname,
        "qname_id": identity.QNAME.of(qname),
        "target_kind": target.kind,
        "target_file_id": target.file_id,
        "target_def_id": target.def_id,
        "target_entry": target.entry,
        "target_qname": target.qname,
        "target_qname_id": identity.QNAME.of(target.qname) if target.qname is not None else None,
        "symbol": target.symbol,
        "symbol_id": target.symbol_id,
        "hops": target.hops,
        "looked_up": sorted(key for key in looked_up if not key.startswith(own)),
    }


def exported_table(modules: Iterable[ModuleFacts], facts: Facts) -> pa.Table:
    """`dim_exported_defs` of these files."""
    rows = [row for module in modules for row in exported_rows(module, facts)]
    return pa.Table.from_pylist(rows, schema=DIM_EXPORTED_DEFS.arrow_schema())


def facts_of_rows(rows: Iterable[Row]) -> dict[str, ModuleFacts]:
    """The facts that stored rows were made from: a binding with several targets is one fact."""
    by_file: dict[str, dict[Fact, None]] = defaultdict(dict)
    prefixes: dict[str, str] = {}
    ordered = sorted(
        rows, key=lambda row: (row["file_id"], row["entry_path"] != MODULE_ENTRY, row["entry_path"], row["ordinal"])
    )
    for row in ordered:
        file_id = row["file_id"]
        if row["binding"] == "module":
            prefixes[file_id] = row["qname"]
        if row["binding"] == "star_name":
            continue
        fact = Fact(**{name: row[name] for name in FACT_FIELDS})
        by_file[file_id][fact] = None
    return {file_id: ModuleFacts.of(file_id, prefixes[file_id], facts) for file_id, facts in by_file.items()}


def changed_keys(before: ModuleFacts | None, after: ModuleFacts | None) -> frozenset[str]:
    """What walks may have asked of a file that they would be told differently now."""
    some = before or after
    if some is None:
        return frozenset()
    old, new = _answers(before), _answers(after)
    return frozenset(f"{some.file_id} {key}" for key in old.keys() | new.keys() if old.get(key) != new.get(key))


def _answers(module: ModuleFacts | None) -> dict[str, object]:
    if module is None:
        return {}
    entries: dict[str, object] = {entry: [_away(fact) for fact in facts] for entry, facts in module.by_entry.items()}
    names = sorted({(fact.name, fact.is_public) for fact in module.facts if fact.is_module_name and fact.is_effective})
    stars = [(star.source_file_id, star.source_name, star.submodule_file_id) for star in module.stars]
    entries[STARS] = stars
    entries[ALL_NAMES] = [names, stars, sorted(module.listed) if module.listed is not None else None, module.taken_from]
    entries[MODULE_ENTRY] = module.prefix
    return entries


def _away(fact: Fact) -> tuple[object, ...]:
    return tuple(getattr(fact, name) for name in FACT_FIELDS if name not in SEEN_AT_HOME)

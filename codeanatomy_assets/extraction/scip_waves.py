"""Which files to index again after a change, in waves: those that consult something that changed, and no others.

Why it is sound. A file's document and interface follow from its own bytes, from where its imports lead, and
from the interface entries it consults in other files. An entry is consulted by its owner (a module or a class)
and its name. So it is enough to know, for the state before, which owners a file can get hold of and which names
it can ask them for, both too many rather than too few:
- owners: the file itself, the files its imports reach, and whatever the types of consulted entries lead to
  (`reaches`): classes, their bases and metaclass, modules;
- names: every identifier-like word of its bytes, strings and type comments included, and the words of open
  bodies it may call, because callers' arguments are tried on those, in installed packages too. Other comments
  and docstrings name nothing;
- names that are asked for without being written (the rules below).
A file for which no such pair changed, came or went evaluates exactly as before.

What acts without being named, on files that hold the owner
- `dunder`: operators, calls, iteration, context managers, descriptors, `__getattr__`: members with underscores
  on both sides; of a module `__getattr__` alone;
- `mro`: what a class hands down: order of bases, metaclass, generated behaviour, members of an enumeration;
- `protocol`: members that a protocol, of the repository or the standard library, compares;
- `match`: class patterns ask for members by position, in files that have such patterns;
- `module`: the module's own name and nature;
- `star`: everything of a module, for files that take all its names;
- `cut`: an entry too deep to write out counts as changed, and who consults one holds everything.
What acts without being consulted
- `resolution`: an import's way to its file changed;
- `star_cycle`: stars that import each other are bound in an order that any of them changes;
- `failed`: a file without document shows no entries: it is always indexed, all its observers with it if it
  observes the change itself, and who consults it holds everything;
- what lies outside may lead back: who imports an installed package, or a stub that the indexer brings along, that
  imports by a name which the repository has, observes all files of that name and holds everything;
- `whole_repository`: a module under a standard-library name, `__builtins__.pyi`, `typings/`, `*-stubs/`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from codeanatomy_assets.extraction.outside_packages import STANDARD_LIBRARY, OutsidePackages
from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, InterfaceEntry
from codeanatomy_assets.extraction.words import CLASS_PATTERNS

Answer = IndexedFile | FailedFile
Entries = Sequence[InterfaceEntry]
Indexer = Callable[[Sequence[str]], Iterable[Answer]]

BUILTINS_STUB = "__builtins__.pyi"
STUB_FOLDER = "typings"
STUBS_SUFFIX = "-stubs"
# Members, dunders apart, of all protocols in the standard library's stubs of scip-python 0.6.6.
STANDARD_PROTOCOL_MEMBERS = frozenset(
    """aclose adjustable arraysize avoids_symlink_attacks close closed commit createDocument createDocumentType
    cursor description detach dnd_end execute executemany fetchall fetchmany fetchone fileno finalize find_spec
    flush get_all getbuffer hasFeature implementation inverse is_dir is_file items iterdir iteritems joinpath json
    keys load_module max_count mode monotonic name open parent parse read read_bytes read_text readable readinto
    readline readlines resolution rowcount run search seek seekable setinputsizes setoutputsize step tell timetuple
    value value_parser write writelines""".split()
)
OUTSIDE = "<outside> "
PROTOCOL = "typing.Protocol"
_MRO = "<mro>"
_ASKED_OF_MODULES = frozenset({"__getattr__", "<module>"})


@dataclass(frozen=True)
class Imports:
    """Of one file: the files its imports reach, those it takes all names from, and all that was looked up.

    `outside` are the first names of modules that the repository does not have. Parents, submodules and submodules that
    a star may take are targets; a star is from the module it names.
    """

    targets: frozenset[str] = frozenset()
    stars: frozenset[str] = frozenset()
    looked_up: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Change:
    """What happened between two trees of one repository with the same search roots.

    `before` and `after` have every Python file of their tree; `moved` is what the module index answers
    differently now (module names and paths, as in `looked_up`).
    """

    before: Mapping[str, Imports]
    after: Mapping[str, Imports]
    changed: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    search_roots: tuple[str, ...] = ()
    outside: OutsidePackages = field(default_factory=OutsidePackages)

    @property
    def touched(self) -> frozenset[str]:
        return self.changed | self.added | self.deleted

    @cached_property
    def _here(self) -> frozenset[str]:
        """The first names of all modules of the repository."""
        paths = self.before.keys() | self.after.keys()
        return frozenset(top for path in paths for top in _tops(path, self.search_roots))

    @cached_property
    def led_back(self) -> dict[str, frozenset[str]]:
        """File → names of the repository that packages outside import, of the files that import those packages."""
        here = self._here
        found: dict[str, frozenset[str]] = {}
        for tree in (self.before, self.after):
            for path, imports in tree.items():
                names = self.outside.imported_by(imports.outside) & here
                if names:
                    found[path] = found.get(path, frozenset()) | names
        return found

    def leads_back(self, package: str) -> bool:
        return not self.outside.imported_by({package}).isdisjoint(self._here)


@dataclass(frozen=True)
class Reason:
    """Why a file was indexed: it changed itself, names something that did, or a rule says so."""

    rule: str
    via: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        if self.rule == "mentions":
            return f"mentions {self.name} of {self.via}"
        if self.via is None:
            return self.rule
        return f"widened by {self.rule} from {self.via}" + (f" ({self.name})" if self.name else "")


_FAILED = Reason("failed")


@dataclass(frozen=True)
class Reindexed:
    """One file of a wave: its answer, why it was asked, and in which wave, counted from one."""

    answer: Answer
    reason: Reason
    wave: int


@dataclass(frozen=True)
class _Changed:
    """An entry that differs, came or went: who is asked for it, and by what name."""

    owner: str
    name: str
    file: str
    is_protocols: bool


@dataclass
class _Holdings:
    """What one file can get hold of, and what it can ask for."""

    words: set[str]
    owners: set[str]
    stars: frozenset[str]
    holds_everything: bool = False


class Waves:
    """One run over one change. `bound` is known at once; `run` yields each file of the waves, once."""

    def __init__(
        self,
        change: Change,
        interfaces: Mapping[str, Entries],
        words: Callable[[str], Collection[str]],
        index: Indexer,
    ) -> None:
        self._change = change
        self._interfaces = interfaces
        self._words = words
        self._index = index
        self._observers = _observers(change)
        self._first = dict(_first_wave(change))
        acting = {path for path, reason in self._first.items() if reason != _FAILED}
        self._reach_of_the_change = self._everything_that_observes({*acting, *change.deleted})
        self.bound = self._reach_of_the_change | self._first.keys()
        self.indexed: dict[str, Reason] = {}

    @cached_property
    def _consulted(self) -> _Consulted:
        """Made when an entry changed: it reads the interfaces of the whole repository."""
        return _Consulted(self._interfaces, self._change, self._words)

    def run(self) -> Iterator[Reindexed]:
        wave, due = 0, self._first
        while due:
            wave += 1
            self.indexed.update(due)
            changed: dict[str, list[_Changed]] = defaultdict(list)
            if wave == 1:
                for path in sorted(self._change.deleted):
                    self._note_changes(path, (), changed)
            opaque: list[str] = []
            for answer in self._index(sorted(due)):
                yield Reindexed(answer, due[answer.path], wave)
                if isinstance(answer, FailedFile):
                    opaque.append(answer.path)
                self._note_changes(answer.path, answer.interface if isinstance(answer, IndexedFile) else (), changed)
            due = self._next_wave(changed, opaque)

    def _note_changes(self, path: str, now: Entries, changed: dict[str, list[_Changed]]) -> None:
        for each in _changes(path, self._interfaces.get(path, ()), now):
            changed[each.owner].append(each)

    def _next_wave(self, changed: Mapping[str, Sequence[_Changed]], opaque: Sequence[str]) -> dict[str, Reason]:
        due: dict[str, Reason] = {}
        for path in opaque:
            if path in self._reach_of_the_change:
                due |= {each: Reason("failed", path) for each in self._everything_that_observes({path})}
        if changed:
            for path in sorted(self.bound - self.indexed.keys()):
                reason = self._consulted.reason_of(path, changed)
                if reason is not None:
                    due[path] = reason
        return {path: reason for path, reason in due.items() if path not in self.indexed}

    def _everything_that_observes(self, seeds: Collection[str]) -> frozenset[str]:
        return _closure(seeds, self._observers) & self._change.after.keys()


def _observers(change: Change) -> dict[str, set[str]]:
    """File → the files that import it, in either tree."""
    observers: dict[str, set[str]] = defaultdict(set)
    for tree in (change.before, change.after):
        for path, imports in tree.items():
            for target in imports.targets | imports.stars:
                observers[target].add(path)
    for path, names in change.led_back.items():
        for name in names:
            observers[outside_owner(name)].add(path)
    for path in change.before.keys() | change.after.keys():
        observers[path].update(outside_owner(top) for top in _tops(path, change.search_roots))
    return observers


def outside_owner(name: str) -> str:
    """What stands for a package outside, among owners; among observers, for all that import by this name."""
    return f"{OUTSIDE}{name}"


def _tops(path: str, search_roots: Sequence[str]) -> Iterator[str]:
    """The first names by which a file can be imported: from the repository and from each root that holds it."""
    for root in ("", *search_roots):
        if not root or path.startswith(f"{root}/"):
            below = path[len(root) + 1 :] if root else path
            yield below.split("/")[0].removesuffix(".pyi").removesuffix(".py")


def _closure(seeds: Iterable[str], edges: Mapping[str, Collection[str]]) -> frozenset[str]:
    reached, pending = set(seeds), list(seeds)
    while pending:
        new = [each for each in edges.get(pending.pop(), ()) if each not in reached]
        reached.update(new)
        pending += new
    return frozenset(reached)


def _first_wave(change: Change) -> Iterator[tuple[str, Reason]]:
    """The files to index whatever else they depend on; a later reason is the better one."""
    present = change.after.keys()
    for path in sorted(change.touched):
        if acts_everywhere(path, change.search_roots):
            yield from ((each, Reason("whole_repository", path)) for each in present)
            break
    yield from ((path, _FAILED) for path in sorted(change.failed & present))
    yield from _star_cycles(change)
    for path, imports in change.after.items():
        before = change.before.get(path, Imports())
        for key in sorted((imports.looked_up | before.looked_up) & change.moved)[:1]:
            yield path, Reason("resolution", key)
    yield from ((path, Reason("changed")) for path in sorted(change.changed & present))
    yield from ((path, Reason("added")) for path in sorted(change.added & present))


def acts_everywhere(path: str, search_roots: Sequence[str] = ()) -> bool:
    """Whether a file can change what the builtins, the standard library or any import means."""
    parts = path.split("/")
    if parts[-1] == BUILTINS_STUB or parts[0] == STUB_FOLDER:
        return True
    return any(top.endswith(STUBS_SUFFIX) or top in STANDARD_LIBRARY for top in _tops(path, search_roots))


def _star_cycles(change: Change) -> Iterator[tuple[str, Reason]]:
    stars: dict[str, set[str]] = defaultdict(set)
    for tree in (change.before, change.after):
        for path, imports in tree.items():
            stars[path] |= imports.stars
    for path in sorted(change.touched):
        reached = _closure(stars[path], stars)
        now, then = (tree.get(path, Imports()).stars for tree in (change.after, change.before))
        if now != then or path in reached:
            in_cycles = (each for each in sorted(reached) if each in _closure(stars[each], stars))
            yield from ((each, Reason("star_cycle", path)) for each in in_cycles if each in change.after)


def _changes(path: str, before: Entries, now: Entries) -> Iterator[_Changed]:
    """An entry that is cut off proves nothing by being equal."""
    old, new = {entry.path: entry for entry in before}, {entry.path: entry for entry in now}
    owners = (_Owners(path, before), _Owners(path, now))
    for entry_path in sorted(old.keys() | new.keys()):
        versions = (old.get(entry_path), new.get(entry_path))
        is_cut = any(entry is not None and entry.is_cut for entry in versions)
        if versions[0] == versions[1] and not is_cut:
            continue
        asked = {of.asked(entry) for of, entry in zip(owners, versions, strict=True) if entry is not None}
        for owner, name in sorted(asked):
            is_protocols = any(owner in of.protocols for of in owners)
            yield _Changed(owner, name, path, is_protocols)


class _Owners:
    """Who is asked for an entry: its class, by the name that types call it, or its file."""

    def __init__(self, path: str, entries: Entries) -> None:
        self.file = f"@{path}"
        headers = [entry for entry in entries if entry.kind == "mro"]
        self._classes = {entry.path.removesuffix(f".{_MRO}"): entry.reaches[0] for entry in headers}
        self.protocols = {entry.reaches[0] for entry in headers if PROTOCOL in entry.reaches}

    def asked(self, entry: InterfaceEntry) -> tuple[str, str]:
        """The owner, and the name that it is asked for. The keys of a dictionary with types may have dots."""
        prefix = entry.path.rpartition(".")[0]
        while prefix and prefix not in self._classes:
            prefix = prefix.rpartition(".")[0]
        name = entry.path.removeprefix(f"{prefix}.") if prefix else entry.path
        return self._classes[prefix] if prefix else self.file, _word(name.split("#")[0])


def _word(name: str) -> str:
    """The word by which a name is found in a text; a class's header and a module's own are words that nobody writes."""
    if name == "<all>":
        return "__all__"
    if name.isidentifier() or name.startswith("<"):
        return name
    parts = re.findall(r"\w+", name)
    return parts[-1] if parts else _MRO


def _is_class(owner: str) -> bool:
    return not owner.startswith("@")


class _Consulted:
    """Which entries of the state before a file can have consulted."""

    def __init__(
        self,
        interfaces: Mapping[str, Entries],
        change: Change,
        words: Callable[[str], Collection[str]],
    ) -> None:
        self._change = change
        self._words = words
        self._asked_for: dict[str, dict[str, list[InterfaceEntry]]] = defaultdict(lambda: defaultdict(list))
        self._unnamed_entries: dict[str, list[InterfaceEntry]] = defaultdict(list)
        protocol_members: set[str] = set()
        for path, entries in interfaces.items():
            owners = _Owners(path, entries)
            for entry in entries:
                owner, name = owners.asked(entry)
                self._asked_for[owner][name].append(entry)
                if owner in owners.protocols:
                    protocol_members.add(name)
        self._protocol_members = frozenset(protocol_members - {_MRO})
        for owner, names in self._asked_for.items():
            for name, asked in names.items():
                if self._unnamed(owner, name) is not None:
                    self._unnamed_entries[owner] += asked
        self._holdings: dict[str, _Holdings] = {}

    def reason_of(self, path: str, changed: Mapping[str, Sequence[_Changed]]) -> Reason | None:
        """Why a file can see one of the changes, if it can."""
        held = self._holdings_of(path)
        for owner in sorted(changed if held.holds_everything else held.owners & changed.keys()):
            for each in changed[owner]:
                if owner in held.stars:
                    return Reason("star", each.file, each.name)
                if each.name in held.words:
                    return Reason("mentions", each.file, each.name)
                rule = "protocol" if each.is_protocols else self._unnamed(owner, each.name)
                if rule is None and _is_class(owner) and CLASS_PATTERNS in held.words:
                    rule = "match"
                if rule is not None:
                    return Reason(rule, each.file, each.name)
        return None

    def _unnamed(self, owner: str, name: str) -> str | None:
        if name in self._protocol_members or name in STANDARD_PROTOCOL_MEMBERS:
            return "protocol"
        if not _is_class(owner):
            return "module" if name in _ASKED_OF_MODULES else None
        if name == _MRO:
            return "mro"
        return "dunder" if name.startswith("_") and name.endswith("_") else None

    def _holdings_of(self, path: str) -> _Holdings:
        if path not in self._holdings:
            self._holdings[path] = self._found_holdings(path)
        return self._holdings[path]

    def _found_holdings(self, path: str) -> _Holdings:
        imports = self._change.before.get(path, Imports())
        itself, stars = f"@{path}", frozenset(f"@{target}" for target in imports.stars)
        owners = {itself, *stars, *(f"@{each}" for each in imports.targets), *map(outside_owner, imports.outside)}
        held = _Holdings(set(self._words(path)), owners, stars)
        count = (0, 0)
        while count != (len(held.words), len(held.owners)):
            count = (len(held.words), len(held.owners))
            pending = list(held.owners)
            while pending:
                owner = pending.pop()
                if owner.startswith(OUTSIDE):
                    self._hold_outside(held, owner.removeprefix(OUTSIDE))
                held.holds_everything |= owner.rpartition("@")[2] in self._change.failed
                for entry in self._entries(owner, owner == itself or owner in stars, held.words):
                    held.words.update(entry.mentions)
                    held.holds_everything |= entry.is_cut
                    new = [each for each in entry.reaches if each not in held.owners]
                    held.owners.update(new)
                    pending += new
        return held

    def _hold_outside(self, held: _Holdings, package: str) -> None:
        """By what a package outside asks whatever it is given; one that leads back may ask for anything."""
        is_led_back = self._change.leads_back(package)
        held.holds_everything |= is_led_back
        held.words |= self._change.outside.words_asked_by({package}, is_led_back)

    def _entries(self, owner: str, is_whole: bool, words: set[str]) -> Iterator[InterfaceEntry]:
        """What an owner may be asked for by these words; a file consults all of itself and of what a star brings."""
        known = self._asked_for.get(owner, {})
        is_whole |= _is_class(owner) and CLASS_PATTERNS in words
        for name in list(known) if is_whole else list(known.keys() & words):
            yield from known[name]
        yield from self._unnamed_entries.get(owner, ())

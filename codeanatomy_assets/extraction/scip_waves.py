"""Which files to index again after a change, in waves: those that consult something that changed, and no others.

Why it is sound. A file's document and interface follow from its own bytes, from where its imports lead, and
from the interface entries it consults in other files. An entry is consulted by its owner (a module or a class)
and its name. So it is enough to know, for the state before, which owners a file can get hold of and which names
it can ask them for, both too many rather than too few:
- owners: the file itself, the files its imports reach, and whatever the types of consulted entries lead to
  (`reaches`): classes, their bases and metaclass, modules;
- names: every identifier-like word of its bytes, strings and type comments included, and the words of open
  bodies it may call, because callers' arguments are tried on those. Other comments and docstrings name nothing;
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
- `whole_repository`: a module under a standard-library name, `__builtins__.pyi`, `typings/`, `*-stubs/`.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, InterfaceEntry

Answer = IndexedFile | FailedFile
Entries = Sequence[InterfaceEntry]
Indexer = Callable[[Sequence[str]], Iterable[Answer]]

# `_typeshed` and `typing_extensions` are modules of the indexer's standard library, though not of Python's.
STANDARD_LIBRARY = sys.stdlib_module_names | {"_typeshed", "typing_extensions", "mypy_extensions"}
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
PROTOCOL = "typing.Protocol"
CLASS_PATTERNS = "match case"
_MRO = "<mro>"
_ASKED_OF_MODULES = frozenset({"__getattr__", "<module>"})
_MATCH = re.compile(r"(?:^|[\n\r])\s*match\b")
_CASE = re.compile(r"(?:^|[\n\r])\s*case\b")
_ASCII_WORDS = re.compile(r"\w+", re.ASCII)
_ANY_WORDS = re.compile(r"\w+")
# Marks that combine are part of identifiers and yet no word characters for `re`.
_RUNS = re.compile(r"[^\x00-/:-@\[-^`{-\x7f]+")


# As the indexer's tokenizer parts a text. Whatever it may part otherwise is `odd`: quotes without an end, signs that
# no token starts with (it takes those for one token up to the next space), letters beyond ASCII in code.
_LEXEMES = re.compile(
    r"""(?P<comment>\#[^\r\n]*)
    |(?P<string>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}
        |(?!\"{3})\"(?:\\(?:\r\n|.)|[^\"\\\r\n])*\"|(?!'{3})'(?:\\(?:\r\n|.)|[^'\\\r\n])*')
    |(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<line_end>\r\n|\r|\n)
    |(?P<code>(?:[A-Za-z0-9_ \t\f.,:;+*/%@&|^~<>=-]|!=|\\(?:\r\n|\r|\n))+)|(?P<odd>.)""",
    re.DOTALL | re.VERBOSE,
)
_TYPE_COMMENT = "type:"
_PLAIN_PREFIXES = frozenset({"", "r", "R", "u", "U"})


def words_of(source: bytes) -> frozenset[str]:
    """Every identifier-like word of a file that can name something, and `CLASS_PATTERNS` if it may have such."""
    text = source.decode("utf-8", errors="replace")
    marks = {CLASS_PATTERNS} if _MATCH.search(text) and _CASE.search(text) else set()
    text = _evaluated(text.removeprefix("\ufeff"))
    if text.isascii():
        return frozenset(_ASCII_WORDS.findall(text)) | marks
    return frozenset(_ANY_WORDS.findall(text)) | frozenset(_RUNS.findall(text)) | marks


def _evaluated(text: str) -> str:
    """The text without its comments, those of types apart, and its docstrings; all of it if anything in it is odd."""
    kept: list[str] = []
    line, depth = "", 0
    statement: int | None = None
    for lexeme in _LEXEMES.finditer(text):
        kind, token = str(lexeme.lastgroup), lexeme.group()
        if kind == "odd":
            return text
        if kind == "comment":
            token = token if _TYPE_COMMENT in token else ""
        elif kind == "line_end":
            if depth == 0:
                _drop(kept, statement)
                line, statement = "", None
        elif kind == "string":
            statement = len(kept) if depth == 0 and line.strip() in _PLAIN_PREFIXES else None
            line += token[0]
        elif token.strip() or kind != "code":
            depth = max(depth + (kind == "open") - (kind == "close"), 0)
            line, statement = line + token, None
        kept.append(token)
    _drop(kept, statement)
    return "".join(kept)


def _drop(kept: list[str], place: int | None) -> None:
    if place is not None:
        kept[place] = ""


@dataclass(frozen=True)
class Imports:
    """Of one file: the files its imports reach, those it takes all names from, and all that was looked up.

    Parents, submodules and submodules that a star may take are targets; a star is from the module it names.
    """

    targets: frozenset[str] = frozenset()
    stars: frozenset[str] = frozenset()
    looked_up: frozenset[str] = frozenset()


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

    @property
    def touched(self) -> frozenset[str]:
        return self.changed | self.added | self.deleted


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
        return _Consulted(self._interfaces, self._change.before, self._words, self._change.failed)

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
    return observers


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
    for root in ("", *search_roots):
        below = path[len(root) + 1 :] if root and path.startswith(f"{root}/") else path
        top = below.split("/")[0].removesuffix(".pyi").removesuffix(".py")
        if top.endswith(STUBS_SUFFIX) or top in STANDARD_LIBRARY:
            return True
    return False


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
        asked = {of.owner(entry) for of, entry in zip(owners, versions, strict=True) if entry is not None}
        for owner in sorted(asked):
            is_protocols = any(owner in of.protocols for of in owners)
            yield _Changed(owner, _name(entry_path), path, is_protocols)


class _Owners:
    """Who is asked for an entry: its class, by the name that types call it, or its file."""

    def __init__(self, path: str, entries: Entries) -> None:
        self.file = f"@{path}"
        headers = [entry for entry in entries if entry.kind == "mro"]
        self._classes = {entry.path.removesuffix(f".{_MRO}"): entry.reaches[0] for entry in headers}
        self.protocols = {entry.reaches[0] for entry in headers if PROTOCOL in entry.reaches}

    def owner(self, entry: InterfaceEntry) -> str:
        prefix = entry.path.rpartition(".")[0]
        return self._classes[prefix] if prefix else self.file


def _name(entry_path: str) -> str:
    """What the owner is asked for: a class's header and a module's own by names that nobody can write."""
    if entry_path == "<all>":
        return "__all__"
    return entry_path.rpartition(".")[2].split("#")[0]


def _is_class(owner: str) -> bool:
    return not owner.startswith("@")


class _Consulted:
    """Which entries of the state before a file can have consulted."""

    def __init__(
        self,
        interfaces: Mapping[str, Entries],
        imports: Mapping[str, Imports],
        words: Callable[[str], Collection[str]],
        failed: frozenset[str],
    ) -> None:
        self._imports = imports
        self._words = words
        self._failed = failed
        self._asked_for: dict[str, dict[str, list[InterfaceEntry]]] = defaultdict(lambda: defaultdict(list))
        self._unnamed_entries: dict[str, list[InterfaceEntry]] = defaultdict(list)
        protocol_members: set[str] = set()
        for path, entries in interfaces.items():
            owners = _Owners(path, entries)
            for entry in entries:
                owner, name = owners.owner(entry), _name(entry.path)
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
        if name in self._protocol_members:
            return "protocol"
        if not _is_class(owner):
            return "module" if name in _ASKED_OF_MODULES else None
        if name == _MRO:
            return "mro"
        if name.startswith("_") and name.endswith("_"):
            return "dunder"
        return "protocol" if name in STANDARD_PROTOCOL_MEMBERS else None

    def _holdings_of(self, path: str) -> _Holdings:
        if path not in self._holdings:
            self._holdings[path] = self._found_holdings(path)
        return self._holdings[path]

    def _found_holdings(self, path: str) -> _Holdings:
        imports = self._imports.get(path, Imports())
        itself, stars = f"@{path}", frozenset(f"@{target}" for target in imports.stars)
        held = _Holdings(set(self._words(path)), {itself, *stars, *(f"@{each}" for each in imports.targets)}, stars)
        count = (0, 0)
        while count != (len(held.words), len(held.owners)):
            count = (len(held.words), len(held.owners))
            pending = list(held.owners)
            while pending:
                owner = pending.pop()
                held.holds_everything |= owner.rpartition("@")[2] in self._failed
                for entry in self._entries(owner, owner == itself or owner in stars, held.words):
                    held.words.update(entry.mentions)
                    held.holds_everything |= entry.is_cut
                    new = [each for each in entry.reaches if each not in held.owners]
                    held.owners.update(new)
                    pending += new
        return held

    def _entries(self, owner: str, is_whole: bool, words: set[str]) -> Iterator[InterfaceEntry]:
        """What an owner may be asked for by these words; a file consults all of itself and of what a star brings."""
        known = self._asked_for.get(owner, {})
        is_whole |= _is_class(owner) and CLASS_PATTERNS in words
        for name in list(known) if is_whole else list(known.keys() & words):
            yield from known[name]
        yield from self._unnamed_entries.get(owner, ())

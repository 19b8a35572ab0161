"""Waves find every file whose answer a change can move, by name or unnamed, and leave the others alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from codeanatomy_assets.extraction import scip_waves
from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, InterfaceEntry
from codeanatomy_assets.extraction.scip_waves import Change, Imports, Reason, Waves, acts_everywhere
from codeanatomy_assets.extraction.words import CLASS_PATTERNS, words_of
from codeanatomy_assets_tests.parity.scip_histories import Check, Replay, released_tree, replayed
from codeanatomy_assets_tests.parity.scip_programs import Programs

SEED = 20261116
BOUND_ONLY = Check(outside=2)
CHAIN = {
    "base.py": "class Base:\n    def step(self):\n        return 1\n\ndef helper():\n    return Base()\n",
    "sub.py": "from base import Base\nclass Sub(Base):\n    pass\n",
    "caller.py": "from sub import Sub\nSub().step()\n",
    "namer.py": "from base import helper\nhelper().step()\n",
    "a.py": "def f(): ...\ndef g(): ...\n",
    "b.py": "",
    "hub.py": "from a import *\nfrom b import *\n",
    "use.py": "from hub import *\nf()\ng()\n",
    "stranger.py": "x = 1\n",
}


@dataclass(frozen=True)
class Case:
    """An edit of lib.py, the other files whose document it moves, and files that are not asked."""

    name: str
    files: dict[str, str]
    old: str
    new: str
    moves: frozenset[str]
    spares: frozenset[str] = frozenset()


def case(name: str, moves: str, old: str, new: str, spares: str = "", **files: str) -> Case:
    """Each case has its own folder, which `here.` stands for."""
    folder = f"case_{name}"
    placed = {f"{folder}/{module}.py": text.replace("here.", f"{folder}.") for module, text in files.items()}
    found = (frozenset(f"{folder}/{module}.py" for module in each.split()) for each in (moves, spares))
    return Case(folder, placed, old, new, *found)


TWO = "class One:\n    def foo(self): ...\nclass Two:\n    def foo(self): ...\n"
BOTH = TWO + "class Both:\n    one = One()\n    two = Two()\n"
CASES = [
    case(
        "operator",
        "user",
        "-> One",
        "-> Two",
        spares="other",
        lib=TWO + "class Sum:\n    def __add__(self, other) -> One: ...\n    def bar(self): ...\n",
        maker="from here.lib import Sum\ndef make(): return Sum()\n",
        user="from here.maker import make\n(make() + 1).foo\n",
        other="from here.lib import One\nOne().foo\n",
    ),
    case(
        "context",
        "user",
        "-> bool",
        "-> None",
        lib="class Held:\n    def __enter__(self): ...\n    def __exit__(self, *rest) -> bool: ...\n",
        maker="from here.lib import Held\ndef make(): return Held()\n",
        user=f"from here.maker import make\n{TWO}x = Two()\nwith make():\n    x = One()\n    raise SystemExit\nx.foo\n",
    ),
    case(
        "bases",
        "user",
        "class Sub(One)",
        "class Sub(Two)",
        lib=TWO + "class Sub(One): ...\ndef make() -> Sub: ...\n",
        user="from here.lib import make, One\nheld = make()\nheld.foo\n",
    ),
    case(
        "narrowing",
        "user",
        "class Sub(One)",
        "class Sub(Two)",
        lib=TWO + "class Sub(One): ...\ndef make() -> Sub: ...\n",
        user="from here.lib import make, One\nheld = make()\nif isinstance(held, One): ...\nelse:\n    held.foo\n",
    ),
    case(
        "metaclass",
        "user",
        "metaclass=Meta",
        "metaclass=Other",
        lib="class Meta(type):\n    def foo(cls): ...\nclass Other(type):\n    def foo(cls): ...\n"
        "class Made(metaclass=Meta): ...\nmade = Made\n",
        user="from here.lib import made\nmade.foo()\n",
    ),
    # The indexer's walk goes on behind such a call: today it moves nothing, and must not be missed if it did.
    case(
        "never",
        "",
        "-> NoReturn",
        "-> None",
        lib="from typing import NoReturn\ndef end() -> NoReturn: ...\n",
        middle="from here.lib import end as halt\n",
        user=f"from here.middle import halt\n{TWO}def f(x: int):\n    held = One()\n    halt()\n    held.foo\n",
    ),
    case(
        "enumeration",
        "user",
        "RED = 1",
        "RED = 1\n    BLUE = 2",
        lib="import enum\nclass Color(enum.Enum):\n    RED = 1\n",
        user="from here.lib import Color\ndef f(c: Color):\n    if c is Color.RED:\n        return\n    c.value\n",
    ),
    case(
        "protocol",
        "user",
        "def ready(self): ...",
        "def late(self): ...",
        lib="class Thing:\n    def ready(self): ...\n",
        rules="from typing import Protocol\nclass Ready(Protocol):\n    def ready(self): ...\n",
        chooser="from typing import overload\nfrom here.rules import Ready\n" + TWO + "@overload\n"
        "def choose(x: Ready) -> One: ...\n@overload\ndef choose(x: object) -> Two: ...\ndef choose(x): ...\n",
        user="from here.lib import Thing\nfrom here.chooser import choose\nchoose(Thing()).foo\n",
    ),
    case(
        "grown_protocol",
        "user",
        "def ready(self): ...",
        "def ready(self): ...\n    def late(self): ...",
        lib="from typing import Protocol\nclass Ready(Protocol):\n    def ready(self): ...\n",
        chooser="from typing import overload\nfrom here.lib import Ready\n" + TWO + "@overload\n"
        "def choose(x: Ready) -> One: ...\n@overload\ndef choose(x: object) -> Two: ...\ndef choose(x): ...\n",
        user="from here.chooser import choose\nclass Thing:\n    def ready(self): ...\nchoose(Thing()).foo\n",
    ),
    case(
        "pattern",
        "user",
        "left: One",
        "left: Two",
        lib=TWO + "class Pair:\n    __match_args__ = ('left',)\n    left: One\n",
        user="from here.lib import Pair\ndef f(x: Pair):\n    match x:\n        case Pair(y):\n            y.foo\n",
    ),
    case(
        "body",
        "user",
        "return given.one",
        "return given.two",
        lib="def pick(given):\n    return given.one\n",
        middle="from here.lib import pick\n",
        user="from here.middle import pick\n" + BOTH + "pick(Both()).foo\n",
    ),
    case(
        "made_function",
        "user",
        "return x.one",
        "return x.two",
        lib="def wrap(f):\n    def inner(x):\n        return x.one\n    return inner\n",
        middle="from here.lib import wrap\nchosen = wrap(1)\n",
        user=f"from here.middle import chosen\n{BOTH}chosen(Both()).foo\n",
    ),
    case(
        "inside_a_body",
        "user",
        "-> One",
        "-> Two",
        lib=TWO + "def turn(x) -> One: ...\n",
        middle="from here.lib import turn\ndef wrap(f):\n    def inner(x):\n        if x.one:\n"
        "            return x.no\n        return turn(x)\n    return inner\n",
        third="from here.middle import wrap\nchosen = wrap(1)\n",
        user="from here.third import chosen\nchosen(1).foo\n",
    ),
    case(
        "unnamed_class",
        "user",
        "'foo bar'",
        "'bar'",
        lib="import collections\ndef make():\n    return collections.namedtuple('P', 'foo bar')(1, 2)\n",
        user="from here.lib import make\nmake().foo\n",
    ),
    case(
        "fields",
        "user",
        "left: One",
        "left: Two",
        lib=TWO + "from dataclasses import dataclass\n@dataclass\nclass Base:\n    left: One\n",
        sub="from dataclasses import dataclass\nfrom here.lib import Base\n@dataclass\nclass Sub(Base):\n    y: int\n",
        user="from here.sub import Sub\ndef f(x: Sub):\n    x.left.foo\n",
    ),
    case(
        "lazy_module",
        "user",
        "return One()",
        "return Two()",
        lib=TWO + "def __getattr__(name):\n    return One()\n",
        user="import here.lib\nhere.lib.anything.foo\n",
    ),
    case(
        "text",
        "user",
        "class Late",
        "class Later",
        lib="class Late:\n    def foo(self): ...\n",
        user="import here.lib as lib\ndef f(x: 'lib.Late'):\n    x.foo\n",
    ),
    case(
        "all",
        "user",
        "['f']",
        "['f', '_g']",
        spares="other",
        lib="__all__ = ['f']\ndef f(): ...\ndef _g(): ...\n",
        user="from here.lib import *\n_g()\n",
        other="from here.lib import f\nf()\n",
    ),
]


@pytest.fixture(scope="module")
def cases_replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    tree = {path: text.encode() for each in CASES for path, text in each.files.items()}
    replay = Replay(tmp_path_factory.mktemp("cases") / "tree", tree)
    yield replay
    replay.close()


@pytest.mark.parametrize("each", CASES, ids=lambda each: str(each.name))
def test_what_acts_unnamed_reaches_its_users(each: Case, cases_replay: Replay) -> None:
    lib = f"{each.name}/lib.py"
    before = cases_replay.tree
    assert each.files[lib].count(each.old) == 1
    result = cases_replay.step({**before, lib: each.files[lib].replace(each.old, each.new).encode()}, BOUND_ONLY)
    assert result.missed == []
    assert each.moves <= result.moved
    assert not each.spares & result.reasons.keys()
    back = cases_replay.step(before, BOUND_ONLY)
    assert back.missed == [] and each.moves <= back.moved


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Replay]:
    replay = Replay(tmp_path / "tree", {path: text.encode() for path, text in CHAIN.items()})
    yield replay
    replay.close()


def test_a_comment_docstring_or_blank_line_elsewhere_changes_no_other_file(chain: Replay) -> None:
    for prefix in ("# Base helper step\n", '"""Base helper."""\n', "\n\n"):
        result = chain.step({**chain.tree, "base.py": prefix.encode() + chain.tree["base.py"]})
        assert result.missed == []
        assert result.moved == {"base.py"} and result.reasons == {"base.py": "changed"}


def test_renaming_an_exported_function_changes_exactly_the_files_that_name_it(chain: Replay) -> None:
    result = chain.step({**chain.tree, "base.py": chain.tree["base.py"].replace(b"helper", b"assist")})
    assert result.missed == []
    assert result.moved == {"base.py", "namer.py"}
    assert result.reasons == {"base.py": "changed", "namer.py": "mentions helper of base.py"}


def test_an_override_added_in_a_subclass_changes_the_unchanged_callers(chain: Replay) -> None:
    result = chain.step({**chain.tree, "sub.py": chain.tree["sub.py"].replace(b"pass", b"def step(self): return 2")})
    assert result.missed == []
    assert result.moved == {"sub.py", "caller.py"} == result.reasons.keys()


def test_a_name_moved_behind_a_star_import_changes_the_stars_users(chain: Replay) -> None:
    result = chain.step({**chain.tree, "a.py": b"def g(): ...\n", "b.py": b"def f(): ...\n"})
    assert result.missed == []
    assert {"a.py", "b.py", "use.py"} <= result.moved
    assert "stranger.py" not in result.reasons and "base.py" not in result.reasons


def test_a_module_that_comes_turns_or_goes_reaches_who_looked_it_up(chain: Replay) -> None:
    chain.step({**chain.tree, "late.py": b"from coming import thing\nthing.foo\n"})
    thing = b"class thing:\n    def foo(self): ...\n"
    for tree in ({"coming.py": thing}, {"coming/__init__.py": thing}, {}):
        kept = {path: text for path, text in chain.tree.items() if not path.startswith("coming")}
        result = chain.step({**kept, **tree}, Check(is_cold=not tree))
        assert result.missed == [] and "late.py" in result.reasons


@pytest.mark.parametrize("fault", ["unnamed", "strings"])
def test_the_comparison_catches_a_rule_that_is_off(
    fault: str, cases_replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = next(case for case in CASES if case.name == ("case_operator" if fault == "unnamed" else "case_text"))
    before, lib = cases_replay.tree, f"{each.name}/lib.py"
    cases_replay.step({**before, lib: each.files[lib].replace(each.old, each.new).encode()}, BOUND_ONLY)
    if fault == "unnamed":
        monkeypatch.setattr(scip_waves._Consulted, "_unnamed", lambda *_: None)
    else:
        without_strings = "codeanatomy_assets_tests.parity.scip_histories.words_of"
        monkeypatch.setattr(without_strings, lambda source: words_of(source.split(b"'")[0]))
    result = cases_replay.step(before, BOUND_ONLY)
    assert any(missed.startswith(f"{each.name}/user.py") for missed in result.missed)


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_random_programs_are_followed_edit_by_edit(seed: int, tmp_path: Path) -> None:
    print(f"seed {seed}")
    programs = Programs(seed)
    replay = Replay(tmp_path / "tree", programs.tree())
    try:
        for _ in range(5):
            edit = programs.edit()
            assert replay.step(programs.tree()).missed == [], edit
    finally:
        replay.close()


def test_releases_are_followed_as_commits(tmp_path: Path) -> None:
    versions = ("2.1.1", "2.1.2", "2.2.0")
    replay = Replay(tmp_path / "tree", released_tree("itsdangerous", versions[0]))
    try:
        for place, version in enumerate(versions[1:]):
            assert replay.step(released_tree("itsdangerous", version), Check(is_cold=place == 1)).missed == []
    finally:
        replay.close()


def entry(path: str, fingerprint: str = "0", reaches: tuple[str, ...] = ()) -> InterfaceEntry:
    return InterfaceEntry(path, "variable", fingerprint, False, False, False, False, (), reaches)


def wave_over(change: Change, failing: Sequence[str] = ()) -> dict[str, Reason]:
    """Which files are asked, and why, when every file has the one entry `x`, another one after its change."""

    def index(paths: Sequence[str]) -> Iterator[IndexedFile | FailedFile]:
        for path in paths:
            moved = "1" if path in change.touched else "0"
            yield FailedFile(path, "why") if path in failing else IndexedFile(path, b"", (entry("x", moved),))

    waves = Waves(change, {path: (entry("x"),) for path in change.before}, lambda path: words_of(b"x"), index)
    asked = [each.answer.path for each in waves.run()]
    assert sorted(asked) == sorted(waves.indexed)
    assert waves.indexed.keys() <= waves.bound
    return waves.indexed


GRAPH = {
    "a.py": Imports(),
    "b.py": Imports(frozenset({"a.py"})),
    "c.py": Imports(frozenset({"b.py"})),
    "d.py": Imports(),
}


def test_a_wave_stops_where_nothing_changed() -> None:
    reasons = wave_over(Change(GRAPH, GRAPH, changed=frozenset({"a.py"})))
    assert {path: str(reason) for path, reason in reasons.items()} == {"a.py": "changed", "b.py": "mentions x of a.py"}


def test_a_file_without_document_is_always_asked_and_its_observers_follow_a_change_it_observes() -> None:
    elsewhere = Change(GRAPH, GRAPH, changed=frozenset({"d.py"}), failed=frozenset({"b.py"}))
    assert wave_over(elsewhere, failing=["b.py"]).keys() == {"d.py", "b.py"}
    observed = Change(GRAPH, GRAPH, changed=frozenset({"a.py"}), failed=frozenset({"b.py"}))
    assert wave_over(observed, failing=["b.py"]).keys() == {"a.py", "b.py", "c.py"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("typing.py", True),
        ("src/os/__init__.py", True),
        ("__builtins__.pyi", True),
        ("typings/x.pyi", True),
        ("six-stubs/__init__.pyi", True),
        ("pkg/typing.py", False),
        ("setup.py", False),
    ],
)
def test_what_can_change_the_standard_library_reaches_the_whole_repository(path: str, expected: bool) -> None:
    assert acts_everywhere(path, ("src",)) is expected
    after = {**GRAPH, path: Imports()}
    asked = wave_over(Change(GRAPH, after, added=frozenset({path}), search_roots=("src",)))
    assert asked.keys() == (after.keys() if expected else {path})


def test_words_are_found_in_strings_and_any_script() -> None:
    assert {"bar", "naïve", "数", "x1"} <= words_of("x = 'bar' naïve 数=x1 “quoted”".encode())
    assert CLASS_PATTERNS in words_of(b"match x:\n    case P(a): ...\n")
    assert CLASS_PATTERNS not in words_of(b"# match the case\n")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a  # b\n", "a"),
        ("a = []  # type: b\n", "a type b"),
        ('def a():\n    """b\n    # c"""\n    return "d"  # e\n', "def a return d"),
        ("'a'\nr'b'  # c\nf'd'\n'e'; f\n", "r f d e"),
        ('x = [\n    "a",\n    "b"\n]\n', "x a b"),
        ("x = \\\n'a'\n", "x a"),
        ("x = '#'; a\n'''b\\'''#''' # c\n'd' 'e'\r'f'\r\n", "x a d e"),
    ],
)
def test_comments_and_docstrings_name_nothing(source: str, expected: str) -> None:
    assert words_of(source.encode()) == set(expected.split())


@pytest.mark.parametrize("odd", ["'b", '"""b', "$'b", "é = 1", "x!", "\\ b"])
def test_a_text_that_may_be_parted_otherwise_is_taken_whole(odd: str) -> None:
    assert {"a", "doc"} <= words_of(f"# a\n'doc'\n{odd}\n".encode())


def test_a_docstring_that_speaks_of_a_changed_name_brings_no_file_into_a_wave(tmp_path: Path) -> None:
    before = {
        "lib.py": b"class A:\n    def march(self): return 1\na = A()\n",
        "says.py": b'from lib import a\ndef f():\n    """Marches by `march`."""  # and march again\n    return a\n',
        "calls.py": b"from lib import a\na.march()\n",
        "hints.py": b"from lib import a\nx = a  # type: ignore  # march\n",
    }
    after = {**before, "lib.py": before["lib.py"].replace(b"1", b"''")}
    (step,) = replayed(tmp_path / "tree", [before, after], [Check()])
    assert step.missed == []
    assert step.reasons.keys() == {"lib.py", "calls.py", "hints.py"}

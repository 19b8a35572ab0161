"""Interface entries: what changes one, and what leaves it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeanatomy_assets.extraction.scip_index import IndexedFile, InterfaceEntry
from codeanatomy_assets_tests.scip_trees import cold_answers, write_tree

LIBRARY = """
import functools
from collections import namedtuple
from dataclasses import dataclass
from helper import Thing, make

LIMIT = 10
Pair = namedtuple("Pair", "left right")
__all__ = ["Shape", "area"]

def area(shape):
    return shape.size

def typed(x: int) -> str:
    return str(x)

def inferred(x: int):
    return Thing()

def stop():
    raise SystemExit

def maker():
    class Local:
        mark = 1
    return Local()

def decorate(function):
    def inner(argument):
        return function(argument)
    return inner

class Shape(Thing):
    size = 1
    def __init__(self):
        self.owner = make()
    @property
    def double(self):
        return make()
    class Inner:
        deep = Thing

@dataclass
class Record:
    name: str

bound = functools.partial(typed, 1)
"""
HELPER = "class Thing:\n    pass\nclass Other:\n    pass\ndef make():\n    return Thing()\n"


@pytest.fixture(scope="module")
def entries_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, InterfaceEntry]:
    return read(tmp_path_factory.mktemp("interface"), LIBRARY, HELPER)


def read(folder: Path, library: str, helper: str = HELPER) -> dict[str, InterfaceEntry]:
    answer = cold_answers(write_tree(folder, {"library.py": library, "helper.py": helper}), ["library.py"])[
        "library.py"
    ]
    assert isinstance(answer, IndexedFile), answer
    return {entry.path: entry for entry in answer.interface}


def changed(before: dict[str, InterfaceEntry], after: dict[str, InterfaceEntry]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def test_entries_cover_names_members_nested_and_local_classes(entries_of: dict[str, InterfaceEntry]) -> None:
    expected = {
        "<all>": "all",
        "<module>": "module",
        "LIMIT": "variable",
        "Thing": "import",
        "Pair.left": "variable",
        "Pair.<mro>": "mro",
        "Shape": "class",
        "Shape.<mro>": "mro",
        "Shape.owner": "variable",
        "Shape.double": "function",
        "Shape.Inner.deep": "variable",
        "maker.<locals>.Local.mark": "variable",
        "maker.<locals>.Local.<mro>": "mro",
        "Record.__init__": "synthesized",
    }
    assert {path: entries_of[path].kind for path in expected} == expected


def test_entries_say_what_is_inferred_open_and_never_returns(entries_of: dict[str, InterfaceEntry]) -> None:
    assert entries_of["area"].is_open and entries_of["area"].is_return_inferred
    assert "size" in entries_of["area"].mentions
    assert not entries_of["typed"].is_open and not entries_of["typed"].is_return_inferred
    assert entries_of["inferred"].is_return_inferred and not entries_of["inferred"].is_open
    assert entries_of["decorate"].is_open
    assert entries_of["stop"].is_noreturn and not entries_of["typed"].is_noreturn
    assert not any(entry.is_cut for entry in entries_of.values())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("return shape.size", "return shape.weight", {"area"}),
        ("return shape.size", "# why\n    return shape.size  # so", set()),
        ("def area(shape):\n", 'def area(shape):\n    """Of a shape."""\n', set()),
        ("return str(x)", "return repr(x)", set()),
        ("-> str", "-> bytes", {"typed", "bound"}),
        ("def inferred(x: int):\n    return Thing()", "def inferred(x: int):\n    return 1", {"inferred"}),
        ("mark = 1", "mark = ''", {"maker.<locals>.Local.mark"}),
        ("def double(self):\n        return make()", "def double(self):\n        return 1", {"Shape.double"}),
        ("class Shape(Thing)", "class Shape", {"Shape.<mro>"}),
        ('["Shape", "area"]', '["Shape"]', {"<all>", "area"}),
        ('"left right"', '"left"', {"Pair.right", "Pair.__new__", "Pair.<mro>"}),
        ("raise SystemExit", "return", {"stop"}),
        ("LIMIT = 10", "LIMIT = 10\nEXTRA = 1", {"EXTRA"}),
    ],
)
def test_an_edit_changes_exactly_these_entries(
    old: str, new: str, expected: set[str], entries_of: dict[str, InterfaceEntry], tmp_path: Path
) -> None:
    assert LIBRARY.count(old) == 1
    difference = changed(entries_of, read(tmp_path, LIBRARY.replace(old, new)))
    assert expected <= difference
    unexpected = {path for path in difference - expected if not path.startswith(("Pair.__", "Pair._"))}
    assert unexpected == set()


def test_a_change_elsewhere_reaches_inferred_types_and_properties(
    entries_of: dict[str, InterfaceEntry], tmp_path: Path
) -> None:
    other = read(tmp_path, LIBRARY, HELPER.replace("return Thing()", "return Other()"))
    assert changed(entries_of, other) == {"make", "Shape.owner", "Shape.double"}


def test_a_type_too_deep_to_write_out_says_so(tmp_path: Path) -> None:
    deep = "x: " + "list[" * 20 + "int" + "]" * 20 + "\n"
    assert read(tmp_path, deep)["x"].is_cut


def test_two_classes_of_one_name_are_told_apart(tmp_path: Path) -> None:
    entries = read(tmp_path, "if input():\n    class A:\n        x = 1\nelse:\n    class A:\n        y = 1\n")
    assert {"A.x", "A#2.y", "A.<mro>", "A#2.<mro>"} <= entries.keys()

"""Export references: what each touch of `__all__` says."""

from __future__ import annotations

import pytest

from codeanatomy_assets.contracts.syntax import NAME_REFS
from codeanatomy_assets_tests.extraction.syntax_rows import rows_of


def exports(source: str) -> list[tuple[str, str, str | None]]:
    rows = rows_of(source, NAME_REFS)
    return [(row["usage"], row["name"], row["dotted"]) for row in rows if row["context"] == "export"]


@pytest.mark.parametrize(
    "source",
    [
        "__all__ = ['a', 'b']",
        "__all__ = ('a', 'b')",
        "__all__ = 'a', 'b'",
        "__all__: list[str] = ['a', 'b']",
        "__all__ = x = ['a', \n # why\n 'b']",
        "__all__ = ['a'] + ('b',)",
        "__all__ = sorted(['a', 'b'])",
        "if x:\n    __all__ = ['a', 'b']",
        "__all__ = [*['a'], 'b']",
    ],
)
def test_a_literal_assignment_exports_its_strings(source: str) -> None:
    assert exports(source + "\n") == [("all_assign", "a", None), ("all_assign", "b", None)]


@pytest.mark.parametrize(
    "source",
    [
        "__all__ += ['a', 'b']",
        "__all__.extend(('a', 'b'))",
        "__all__.append('a'); __all__.append('b')",
        "__all__ = __all__ + ['a', 'b']",
        "__all__ = [*__all__, 'a', 'b']",
        "__all__.insert(0, 'a'); __all__.insert(1, 'b')",
    ],
)
def test_what_is_added_is_told_from_what_is_assigned(source: str) -> None:
    assert exports(source + "\n") == [("all_add", "a", None), ("all_add", "b", None)]


def test_what_is_removed_is_said() -> None:
    assert exports("__all__.remove('a')\n") == [("all_remove", "a", None)]


def test_another_module_s_exports_are_opaque_and_named() -> None:
    assert exports("__all__ = ['a'] + core.__all__ + b.c.__all__\n") == [
        ("all_assign", "a", None),
        ("all_opaque", "__all__", "core.__all__"),
        ("all_opaque", "__all__", "b.c.__all__"),
    ]
    assert exports("__all__ += core.__all__\n") == [("all_opaque", "__all__", "core.__all__")]
    assert exports("__all__.extend(core.__all__)\n") == [("all_opaque", "__all__", "core.__all__")]


@pytest.mark.parametrize(
    "source",
    [
        "__all__ = make()",
        "__all__ = [n for n in dir() if n]",
        "__all__ += make()",
        "__all__ -= ['a']",
        "del __all__",
        "__all__[0] = 'a'",
        "__all__, x = y",
        "change(__all__)",
        "x = __all__",
        "__all__.pop()",
        "__all__.extend(f(x) for x in y)",
        "from m import __all__",
        "for __all__ in x: ...",
    ],
)
def test_anything_else_that_may_change_it_is_opaque_once(source: str) -> None:
    assert exports(source + "\n") == [("all_opaque", "__all__", None)]


@pytest.mark.parametrize(
    "source",
    [
        "for n in __all__: ...",
        "x = [n for n in __all__]",
        "if 'a' in __all__: ...",
        "print(len(__all__))",
        "x = __all__[0]",
        "__all__: list[str]",
        "def f():\n    __all__ = ['a']",
        "x.__all__ = ['a']",
        "__all__.sort()",
    ],
)
def test_reading_it_exports_nothing(source: str) -> None:
    assert exports(source + "\n") == []


def test_an_export_spans_the_literal_and_is_bound_if_the_module_binds_it() -> None:
    source = "__all__ = ['a', 'gone']\na = 1\n"
    rows = [row for row in rows_of(source, NAME_REFS) if row["context"] == "export"]
    assert [source[row["bstart"] : row["bend"]] for row in rows] == ["'a'", "'gone'"]
    assert [row["binding"] for row in rows] == ["global", "unresolved"]

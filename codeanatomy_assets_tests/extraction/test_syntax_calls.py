"""cst_callsites: callees, arguments, and the names a callee may go by."""

from __future__ import annotations

import pytest

from codeanatomy_assets.contracts.identity import CALL
from codeanatomy_assets.contracts.syntax import CALLSITES, DEFS
from codeanatomy_assets_tests.extraction.syntax_rows import FILE_ID, Row, all_rows, rows_of, the


def calls(source: str) -> list[Row]:
    return rows_of(source, CALLSITES)


def candidates(source: str) -> list[tuple[str, int, str]]:
    """Those of the last call in the source."""
    found = max(calls(source), key=lambda row: row["bstart"])["candidates"]
    return [(each["qname"], each["level"], each["source"]) for each in found]


def test_the_callee_s_span_is_its_last_name() -> None:
    source = "a.b.c()\nd()\ne()[0]()\n(f)()\n"
    found = [
        (row["callee_kind"], row["callee_name"], source[row["callee_bstart"] : row["callee_bend"]])
        for row in calls(source)
    ]
    assert found == [
        ("attribute", "c", "c"),
        ("name", "d", "d"),
        ("other", None, "e()[0]"),
        ("name", "e", "e"),
        ("name", "f", "f"),
    ]


def test_arguments_are_kept_as_written_with_their_kinds() -> None:
    source = "f(a, *b, # why\n k=c, **d)\nf(x for x in y)\n"
    first, second = calls(source)
    assert [(each["kind"], each["name"], source[each["bstart"] : each["bend"]]) for each in first["arguments"]] == [
        ("positional", None, "a"),
        ("star", None, "*b"),
        ("keyword", "k", "k=c"),
        ("double_star", None, "**d"),
    ]
    assert [each["kind"] for each in second["arguments"]] == ["positional"]


def test_white_space_in_the_callee_is_folded_and_long_callees_are_cut() -> None:
    row = the(calls("(a\n   .b)(1)\n"), callee_name="b")
    assert row["callee_text"] == "(a .b)"
    longest = max(len(row["callee_text"]) for row in calls("a" + ".b(1)" * 100 + "\n"))
    assert longest == 200


def test_an_id_follows_the_contract_s_recipe_and_counts_in_its_definition() -> None:
    rows = all_rows("f(f(1))\ndef g():\n    f(); f()\n")
    for row in rows[CALLSITES.name]:
        assert row["call_id"] == CALL.of(FILE_ID, row["scope_id"], row["callee_text"], row["ordinal"])
    assert [row["ordinal"] for row in rows[CALLSITES.name]] == [0, 1, 0, 1]
    assert rows[CALLSITES.name][2]["scope_id"] == the(rows[DEFS.name], name="g")["def_id"]


def test_a_call_in_a_header_belongs_to_the_definition_around() -> None:
    rows = all_rows("class C:\n    @dec()\n    def m(self, x=default()): ...\n")
    class_id = the(rows[DEFS.name], name="C")["def_id"]
    assert [row["scope_id"] for row in rows[CALLSITES.name]] == [class_id, class_id]


def test_a_decorator_without_call_is_no_call() -> None:
    assert calls("@a.b\ndef f(): ...\n") == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numpy as np\nnp.array()", [("numpy.array", 0, "import")]),
        ("import a.b.c\na.b.c.f()", [("a.b.c.f", 0, "import")]),
        ("from .core import f as g\ng()", [("core.f", 1, "import")]),
        ("from . import x\nx.y()", [("x.y", 1, "import")]),
        ("from ..p import C\nC.m()", [("p.C.m", 2, "import")]),
        ("try:\n    import a as m\nexcept E:\n    import b as m\nm.f()", [("a.f", 0, "import"), ("b.f", 0, "import")]),
        ("def g():\n    from m import f\n    f()", [("m.f", 0, "import")]),
        ("def g():\n    from m import f\nf()", []),
        ("def f(): ...\nf()", [("f", 0, "local")]),
        ("class C: ...\nC()", [("C", 0, "local")]),
        ("class C:\n    def m(self): ...\nC.m()", [("C.m", 0, "local")]),
        ("class C:\n    class D:\n        def m(self): ...\nC.D.m()", [("C.D.m", 0, "local")]),
        ("class C: ...\nC.m()", []),
        ("class C:\n    from m import f\nC.f()", [("m.f", 0, "import")]),
        ("def outer():\n    def inner(): ...\nouter.inner()", []),
        ("def outer():\n    def inner(): ...\n    inner()", [("outer.inner", 0, "local")]),
        ("def f(): ...\ndef g():\n    def f(): ...\n    f()", [("g.f", 0, "local")]),
        ("len()", [("builtins.len", 0, "builtin")]),
        ("str.join()", [("builtins.str.join", 0, "builtin")]),
        ("def g(len):\n    len()", []),
        ("len = 1\nlen()", []),
        ("from m import *\nfrom ..n import *\nf()", [("m.f", 0, "star"), ("n.f", 2, "star")]),
        ("from . import *\nx.f()", [("x.f", 1, "star")]),
        ("from os import *\nopen()", [("os.open", 0, "star"), ("builtins.open", 0, "builtin")]),
        ("from m import *\ndef f(): ...\nf()", [("f", 0, "local")]),
        ("nowhere()", []),
        ("def g():\n    global f\n    def f(): ...\nf()", [("g.f", 0, "local")]),
        ("x().y", []),
        ("super()", [("builtins.super", 0, "builtin")]),
        ("import a\ndef g(a):\n    a.f()", []),
        ("if x:\n    def f(): ...\nelse:\n    from m import f\nf()", [("f", 0, "local"), ("m.f", 0, "import")]),
    ],
)
def test_candidates_come_from_what_the_first_name_is_bound_to(
    source: str, expected: list[tuple[str, int, str]]
) -> None:
    assert candidates(source + "\n") == expected


def test_a_call_on_what_a_call_gives_has_no_candidate() -> None:
    assert the(calls("class C(B):\n    def m(self): super().m()\n"), callee_name="m")["candidates"] == []


def test_a_call_through_a_method_s_first_parameter_may_reach_its_class() -> None:
    source = (
        "class C:\n    def m(self): ...\n    def n(self):\n        self.m()\n        self.absent()\n"
        "        def inner():\n            self.m()\n"
        "    @classmethod\n    def k(cls):\n        cls.m()\n"
        "    @staticmethod\n    def s(self):\n        self.m()\n"
        "    def o(self, other):\n        other.m()\n"
        "    def p[T](self):\n        self.m()\n"
        "def f(self):\n    self.m()\n"
    )
    found = [[each["qname"] for each in row["candidates"]] for row in calls(source)]
    assert found == [["C.m"], [], ["C.m"], ["C.m"], [], [], ["C.m"], []]

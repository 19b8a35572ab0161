"""cst_defs: definitions, their names, headers and docstrings."""

from __future__ import annotations

import pytest

from codeanatomy_assets.contracts.identity import DEF
from codeanatomy_assets.contracts.syntax import DEFS
from codeanatomy_assets_tests.extraction.syntax_rows import FILE_ID, Row, rows_of, the


def defs(source: str) -> list[Row]:
    return rows_of(source, DEFS)


def test_nested_definitions_carry_their_path_and_container() -> None:
    rows = defs("class A:\n    def m(self):\n        def inner(): ...\n        class B: ...\ndef f(): ...\n")
    assert [row["local_qname"] for row in rows] == ["A", "A.m", "A.m.inner", "A.m.B", "f"]
    method = the(rows, name="m")
    assert method["parent_def_id"] == the(rows, name="A")["def_id"]
    assert [row["parent_kind"] for row in rows] == ["module", "class", "function", "function", "module"]


def test_lambdas_are_numbered_in_their_container_in_order_of_appearance() -> None:
    rows = defs("x = lambda: (lambda: 1)\ny = [lambda: 2 for _ in z]\ndef f(k=lambda: 3):\n    return lambda: 4\n")
    found = [row["local_qname"] for row in rows if row["kind"] == "lambda"]
    assert found == ["<lambda1>", "<lambda1>.<lambda1>", "<lambda2>", "<lambda3>", "f.<lambda1>"]


def test_equals_are_told_apart_by_their_ordinal() -> None:
    source = (
        "if a:\n    def f(): ...\nelse:\n    def f(): return lambda: 1\n"
        "def f(): return lambda: 2\nclass C:\n    @overload\n    def f(self): ...\n    def f(self): ...\nclass f: ...\n"
    )
    rows = defs(source)
    found = [(row["kind"], row["local_qname"], row["ordinal"]) for row in rows]
    assert found == [
        ("function", "f", 0),
        ("function", "f", 1),
        ("lambda", "f.<lambda1>", 0),
        ("function", "f", 2),
        ("lambda", "f.<lambda1>", 1),
        ("class", "C", 0),
        ("function", "C.f", 0),
        ("function", "C.f", 1),
        ("class", "f", 0),
    ]
    assert [row["is_conditional"] for row in rows] == [True, True, False, False, False, False, False, False, False]


def test_an_id_follows_the_contract_s_recipe() -> None:
    for row in defs("class C:\n    def é(self): ...\n    def é(self): ...\n"):
        assert row["def_id"] == DEF.of(FILE_ID, row["kind"], row["local_qname"], row["ordinal"])


def test_parameters_have_kinds_annotations_defaults_and_the_name_s_span() -> None:
    source = "def f(a, b: int = 1, /, c=2, *args: str, d, e: 'X' = g(), **kw): ...\n"
    parameters = the(defs(source), name="f")["parameters"]
    assert [(p["name"], p["kind"], p["annotation"], p["default"]) for p in parameters] == [
        ("a", "positional_only", None, None),
        ("b", "positional_only", "int", "1"),
        ("c", "positional", None, "2"),
        ("args", "vararg", "str", None),
        ("d", "keyword_only", None, None),
        ("e", "keyword_only", "'X'", "g()"),
        ("kw", "kwarg", None, None),
    ]
    assert [source[p["bstart"] : p["bend"]] for p in parameters] == [p["name"] for p in parameters]
    bare_star = the(defs("def f(a, *, b): ...\n"), name="f")["parameters"]
    assert [p["kind"] for p in bare_star] == ["positional", "keyword_only"]
    of_lambda = defs("lambda x, *a, y=1, **k: x\n")[0]["parameters"]
    assert [p["kind"] for p in of_lambda] == ["positional", "vararg", "keyword_only", "kwarg"]


def test_the_header_of_a_class_and_a_function_is_kept_as_written() -> None:
    source = "@a.b\n@c(1)\nclass D[T: int, *Ts](Base[T], m.Mixin, metaclass=M, **kw): ...\nasync def f[K]() -> K: ...\n"
    rows = defs(source)
    class_ = the(rows, kind="class")
    assert class_["decorators"] == ["a.b", "c(1)"]
    assert class_["bases"] == ["Base[T]", "m.Mixin"]
    assert class_["type_parameters"] == ["T: int", "*Ts"]
    function = the(rows, kind="function")
    assert (function["is_async"], function["returns"], function["type_parameters"]) == (True, "K", ["K"])


def test_a_span_starts_at_the_keyword_behind_the_decorators() -> None:
    source = "@d\nasync def f():\n    # why\n    return 1\n\n\nx = 1\n"
    row = the(defs(source), name="f")
    assert source[row["bstart"] : row["bend"]] == "async def f():\n    # why\n    return 1"
    assert source[row["name_bstart"] : row["name_bend"]] == "f"
    assert source[row["body_bstart"] : row["bend"]] == "return 1"
    source = "x = lambda a: a + 1"
    row = defs(source)[0]
    assert source[row["name_bstart"] : row["name_bend"]] == "lambda"
    assert source[row["body_bstart"] : row["bend"]] == "a + 1"


@pytest.mark.parametrize(
    ("body", "docstring"),
    [
        ('"""One.\n\n        Two.\n    """', "One.\n\nTwo."),
        ("'a' \"b\"\n", "ab"),
        ("('a'\n     'b')\n", "ab"),
        (r"'tab\tstop \u00e9 \q'", "tab     stop é \\q"),
        (r"r'raw\n'", "raw\\n"),
        ("u'text'", "text"),
        ("# first\n    'after a comment'", "after a comment"),
        ("'doc'; x = 1", "doc"),
        ("f'no {x}'", None),
        ("'a' f'b'", None),
        ("b'bytes'", None),
        ("'a', 'b'", None),
        ("'a' + 'b'", None),
        ("x = 'a'", None),
        ("x = 1\n    'late'", None),
        (r"'\N{no such name}'", None),
        (r"'\ud800'", "?"),
        ("''", ""),
    ],
)
def test_a_docstring_is_the_value_of_a_plain_first_string(body: str, docstring: str | None) -> None:
    assert the(defs(f"def f():\n    {body}\n"), name="f")["docstring"] == docstring


def test_a_docstring_keeps_no_carriage_return() -> None:
    assert the(defs("def f():\r\n    '''a\r\n    b'''\r\n"), name="f")["docstring"] == "a\nb"

"""cst_type_exprs: annotations, aliases and bounds."""

from __future__ import annotations

from codeanatomy_assets.contracts.identity import TYPE_EXPR
from codeanatomy_assets.contracts.syntax import DEFS, TYPE_EXPRS
from codeanatomy_assets_tests.extraction.syntax_rows import FILE_ID, all_rows, rows_of, the


def test_every_role_is_collected_with_what_it_annotates() -> None:
    source = (
        "def f[T: Bound](a: int, *b: str, c: 'C' = 1, **d: a.b[C]) -> 'R':\n    x: int = 1\n    self.x: List[int]\n"
        "type X[U] = list[U]\nY: TypeAlias = dict\nZ: typing.TypeAlias = 'Fwd'\n"
    )
    found = [(row["role"], row["annotated_name"], row["text"], row["is_quoted"]) for row in rows_of(source, TYPE_EXPRS)]
    assert found == [
        ("bound", "T", "Bound", False),
        ("parameter", "a", "int", False),
        ("parameter", "b", "str", False),
        ("parameter", "c", "'C'", True),
        ("parameter", "d", "a.b[C]", False),
        ("return", None, "'R'", True),
        ("variable", "x", "int", False),
        ("variable", "self.x", "List[int]", False),
        ("alias", "X", "list[U]", False),
        ("variable", "Y", "TypeAlias", False),
        ("alias", "Y", "dict", False),
        ("variable", "Z", "typing.TypeAlias", False),
        ("alias", "Z", "'Fwd'", True),
    ]


def test_parameters_and_returns_name_their_function_and_stand_around_it() -> None:
    rows = all_rows("class C:\n    def m(self, a: int) -> str:\n        x: int = 1\n")
    method = the(rows[DEFS.name], name="m")["def_id"]
    class_ = the(rows[DEFS.name], name="C")["def_id"]
    found = [(row["role"], row["annotated_def_id"], row["scope_id"]) for row in rows[TYPE_EXPRS.name]]
    assert found == [("parameter", method, class_), ("return", method, class_), ("variable", None, method)]


def test_an_id_follows_the_contract_s_recipe() -> None:
    rows = rows_of("def f(a: int, b: int) -> int: ...\nx: int\n", TYPE_EXPRS)
    for row in rows:
        assert row["type_expr_id"] == TYPE_EXPR.of(FILE_ID, row["scope_id"], row["role"], row["text"], row["ordinal"])
    assert [row["ordinal"] for row in rows] == [0, 1, 0, 0]


def test_a_span_selects_the_text() -> None:
    source = "def f(é: 'Ünï' = 1) -> a [ b ]: ...\n"
    for row in rows_of(source, TYPE_EXPRS):
        assert source.encode()[row["bstart"] : row["bend"]].decode() == row["text"]

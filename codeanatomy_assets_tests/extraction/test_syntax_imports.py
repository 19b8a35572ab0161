"""cst_imports: clauses of import statements and dynamic imports of a literal."""

from __future__ import annotations

import pytest

from codeanatomy_assets.contracts.identity import IMPORT
from codeanatomy_assets.contracts.syntax import DEFS, IMPORTS
from codeanatomy_assets_tests.extraction.syntax_rows import FILE_ID, Row, all_rows, rows_of, the


def imports(source: str) -> list[Row]:
    return rows_of(source, IMPORTS)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import a", [("import", 0, "a", None, None, "a")]),
        ("import a.b.c", [("import", 0, "a.b.c", None, None, "a")]),
        ("import a.b.c as d, e", [("import", 0, "a.b.c", None, "d", "d"), ("import", 0, "e", None, None, "e")]),
        ("from a.b import c as d", [("from", 0, "a.b", "c", "d", "d")]),
        ("from . import a", [("from", 1, "", "a", None, "a")]),
        ("from .. . a.b import c", [("from", 3, "a.b", "c", None, "c")]),
        (
            "from ...a import (\n    b, # why\n    c as d,\n)",
            [("from", 3, "a", "b", None, "b"), ("from", 3, "a", "c", "d", "d")],
        ),
        ("from a import *", [("star", 0, "a", None, None, None)]),
        ("from .. import *", [("star", 2, "", None, None, None)]),
        ("from __future__ import annotations as x", [("from", 0, "__future__", "annotations", "x", "x")]),
        ("from a \\\n  import b", [("from", 0, "a", "b", None, "b")]),
        ("__import__('a.b')", [("dynamic", 0, "a.b", None, None, None)]),
        ("import importlib\nimportlib.import_module('a')", [("dynamic", 0, "a", None, None, None)]),
        ("import importlib as i\ni.import_module('.a.b', __name__)", [("dynamic", 1, "a.b", None, None, None)]),
        ("from importlib import import_module as im\nim('..a')", [("dynamic", 2, "a", None, None, None)]),
        (
            "from importlib import import_module\nimport_module('.a', package='p.q')",
            [("dynamic", 0, "p.q.a", None, None, None)],
        ),
        ("from importlib import import_module\nimport_module('..a', 'p.q')", [("dynamic", 0, "p.a", None, None, None)]),
        ("from importlib import import_module\nimport_module(name='a')", [("dynamic", 0, "a", None, None, None)]),
        ("from importlib import import_module\nimport_module(a)", []),
        ("from importlib import import_module\nimport_module(f'{a}')", []),
        ("import_module('a')", []),
        ("def __import__(x): ...\n__import__('a')", []),
    ],
)
def test_each_clause_is_a_row(source: str, expected: list[tuple[object, ...]]) -> None:
    columns = ("kind", "level", "module", "name", "alias", "bound_name")
    found = [tuple(row[column] for column in columns) for row in imports(source + "\n")]
    assert [each for each in found if "importlib" not in str(each[2])] == expected


def test_spans_cover_the_clause_the_module_and_the_name() -> None:
    source = (
        "import a.b as c\nfrom ..m import d as e, f\nfrom .m import *\n__import__('x.y')\nfrom __future__ import g\n"
    )
    found = [
        tuple(
            source[row[f"{part}bstart"] : row[f"{part}bend"]] if row[f"{part}bstart"] is not None else None
            for part in ("", "module_", "name_")
        )
        for row in imports(source)
    ]
    assert found == [
        ("a.b as c", "a.b", "a.b"),
        ("d as e", "..m", "d"),
        ("f", "..m", "f"),
        ("*", ".m", None),
        ("__import__('x.y')", "x.y", None),
        ("g", "__future__", "g"),
    ]


def test_conditions_and_type_checking_are_said() -> None:
    source = (
        "import a\nif x:\n    import b\ntry:\n    import c\nexcept E:\n    import d\n"
        "if TYPE_CHECKING:\n    import e\nelse:\n    import f\n"
        "if not typing.TYPE_CHECKING:\n    import g\nelse:\n    import h\n"
        "with x:\n    import i\ndef k():\n    import j\n"
    )
    found = {row["module"]: (row["is_conditional"], row["is_type_checking"]) for row in imports(source)}
    assert found == {
        "a": (False, False),
        "b": (True, False),
        "c": (True, False),
        "d": (True, False),
        "e": (True, True),
        "f": (True, False),
        "g": (True, False),
        "h": (True, True),
        "i": (True, False),
        "j": (False, False),
    }


def test_an_import_in_a_function_belongs_to_it() -> None:
    rows = all_rows("def f():\n    import a\n")
    assert rows[IMPORTS.name][0]["scope_id"] == the(rows[DEFS.name], name="f")["def_id"]


def test_an_id_is_made_from_scope_statement_and_ordinal() -> None:
    rows = imports("from .m import a as b\nimport a.b as c\nfrom .m import a as b\n")
    texts = ["from .m import a as b", "import a.b as c", "from .m import a as b"]
    for row, text in zip(rows, texts, strict=True):
        assert row["import_id"] == IMPORT.of(FILE_ID, None, text, row["ordinal"])
    assert [row["ordinal"] for row in rows] == [0, 0, 1]

"""Every rule of resolved imports by name, on repositories of a few files."""

from __future__ import annotations

import pytest

from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED
from codeanatomy_assets.transforms.names import ModuleLookup, resolved_rows
from codeanatomy_assets_tests.transforms.names_trees import (
    file_id,
    import_rows,
    index_of,
    readable,
    resolved_of,
)

PACKAGE = {"a/__init__.py": "", "a/b/__init__.py": "", "a/b/c.py": "", "a/d.py": ""}


def rows_in_m(source: str, files: dict[str, str] | None = None) -> list[tuple[str, str | None, str, str | None]]:
    return readable({**(PACKAGE if files is None else files), "m.py": source}, "m.py")


def test_a_dotted_import_gives_its_module_and_every_parent() -> None:
    assert rows_in_m("import a.b.c") == [
        ("module", "a.b.c", "internal", "a/b/c.py"),
        ("parent", "a", "internal", "a/__init__.py"),
        ("parent", "a.b", "internal", "a/b/__init__.py"),
    ]


def test_a_dotted_import_binds_the_top_package_and_with_an_alias_the_module() -> None:
    bound = {
        source: [(row["module"], row["bound_name"]) for row in resolved_of({**PACKAGE, "m.py": source}, ["m.py"])]
        for source in ("import a.d", "import a.d as e")
    }
    assert bound == {"import a.d": [("a.d", None), ("a", "a")], "import a.d as e": [("a.d", "e"), ("a", None)]}


def test_a_name_from_a_package_may_be_its_submodule_and_both_are_rows() -> None:
    assert rows_in_m("from a import d") == [
        ("module", "a", "internal", "a/__init__.py"),
        ("submodule", "a.d", "internal", "a/d.py"),
    ]
    assert rows_in_m("from a import thing") == [("module", "a", "internal", "a/__init__.py")]


def test_a_name_from_a_module_is_no_submodule_although_a_folder_has_the_modules_name() -> None:
    assert rows_in_m("from a import b", {"a.py": "", "a/b.py": ""}) == [("module", "a", "internal", "a.py")]


def test_a_star_over_a_package_takes_along_what_all_may_name() -> None:
    assert rows_in_m("from a import *") == [
        ("module", "a", "internal", "a/__init__.py"),
        ("star_submodule", "a.b", "internal", "a/b/__init__.py"),
        ("star_submodule", "a.d", "internal", "a/d.py"),
    ]
    assert rows_in_m("from a.d import *") == [("module", "a.d", "internal", "a/d.py")]


@pytest.mark.parametrize(
    ("importer", "source", "expected"),
    [
        ("a/m.py", "from . import d", [("module", "a"), ("submodule", "a.d")]),
        ("a/m.py", "from .b import c", [("module", "a.b"), ("submodule", "a.b.c")]),
        ("a/b/m.py", "from .. import d", [("module", "a"), ("submodule", "a.d")]),
        ("a/b/m.py", "from ..d import x", [("module", "a.d")]),
        ("a/b/__init__.py", "from .c import x", [("module", "a.b.c")]),
        ("a/b/m.py", "from .. import *", [("module", "a"), ("star_submodule", "a.b"), ("star_submodule", "a.d")]),
        ("a/m.py", "import importlib\nimportlib.import_module('.d')", [("module", "importlib"), ("module", "a.d")]),
    ],
)
def test_relative_levels_count_from_the_importers_package(
    importer: str, source: str, expected: list[tuple[str, str]]
) -> None:
    rows = readable({**PACKAGE, importer: source}, importer)
    assert [(kind, module) for kind, module, _, _ in rows] == expected
    assert {target is not None for _, module, _, target in rows if module != "importlib"} == {True}


def test_a_relative_import_in_a_source_root_has_the_name_from_that_root() -> None:
    files = {"src/a/__init__.py": "", "src/a/b.py": "", "src/a/m.py": "from .b import x"}
    assert readable(files, "src/a/m.py") == [("module", "a.b", "internal", "src/a/b.py")]


def reasons(files: dict[str, str], importer: str) -> list[tuple[str | None, str, str | None]]:
    return [(row["module"], row["resolution"], row["reason"]) for row in resolved_of(files, [importer])]


def test_dots_that_lead_above_the_repository_are_an_unresolved_row() -> None:
    assert reasons({"a/m.py": "from ... import x"}, "a/m.py") == [(None, "unresolved", "beyond_top_level")]
    assert reasons({"my-dir/m.py": "from ...y import x"}, "my-dir/m.py") == [(None, "unresolved", "no_module_name")]


def test_a_relative_import_that_finds_nothing_is_unresolved() -> None:
    assert reasons({**PACKAGE, "a/m.py": "from .gone import x"}, "a/m.py") == [("a.gone", "unresolved", "not_found")]


def test_a_relative_import_that_python_refuses_is_answered_by_the_folder_with_the_reason() -> None:
    top = {"src/x.py": "", "src/a/m.py": "from ..x import y"}
    assert reasons(top, "src/a/m.py") == [("x", "local_directory", "beyond_top_level")]
    script = {"my-dir/x.py": "", "my-dir/m.py": "from .x import y\nfrom .gone import y"}
    assert reasons(script, "my-dir/m.py") == [
        (None, "local_directory", "no_module_name"),
        (None, "unresolved", "no_module_name"),
    ]


def test_an_import_from_the_own_folder_never_means_a_module_beside_that_folder() -> None:
    files = {"a.py": "", "a/m.py": "from . import x", "a/x.py": ""}
    assert readable(files, "a/m.py") == [("module", "a", "namespace", None), ("submodule", "a.x", "internal", "a/x.py")]


def test_a_folder_without_init_is_a_namespace_without_a_file() -> None:
    files = {"n/x.py": "", "src/n/y.py": "", "src/n/x.py": ""}
    assert rows_in_m("import n.x", files) == [
        ("module", "n.x", "internal", "n/x.py"),
        ("parent", "n", "namespace", None),
    ]
    assert rows_in_m("from n import y", files) == [
        ("module", "n", "namespace", None),
        ("submodule", "n.y", "internal", "src/n/y.py"),
    ]


def test_the_alternate_name_reaches_the_same_file() -> None:
    files = {"src/a.py": ""}
    assert rows_in_m("import src.a\nimport a", files) == [
        ("module", "src.a", "internal", "src/a.py"),
        ("parent", "src", "namespace", None),
        ("module", "a", "internal", "src/a.py"),
    ]


def test_the_stub_is_the_one_target_beside_its_source() -> None:
    assert rows_in_m("import a", {"a.py": "", "a.pyi": ""}) == [("module", "a", "internal", "a.pyi")]


def test_parents_are_those_beside_the_file_that_was_found() -> None:
    files = {"a/__init__.py": "", "src/a/__init__.py": "", "src/a/b.py": ""}
    assert rows_in_m("import a.b", files) == [
        ("module", "a.b", "internal", "src/a/b.py"),
        ("parent", "a", "internal", "src/a/__init__.py"),
    ]
    assert rows_in_m("from a import b", files) == [("module", "a", "internal", "a/__init__.py")]


def test_a_submodule_that_the_packages_stub_leaves_out_is_ambiguous() -> None:
    files = {"a/__init__.py": "", "a/b.py": "", "a-stubs/__init__.pyi": ""}
    assert rows_in_m("from a import b", files) == [
        ("module", "a", "internal", "a-stubs/__init__.pyi"),
        ("submodule", "a.b", "ambiguous", "a/b.py"),
    ]


def test_what_is_not_in_the_repository_is_kept_as_standard_library_or_external() -> None:
    assert rows_in_m("import os.path\nimport numpy.linalg\nfrom requests import get") == [
        ("module", "os.path", "stdlib", None),
        ("parent", "os", "stdlib", None),
        ("module", "numpy.linalg", "external", None),
        ("parent", "numpy", "external", None),
        ("module", "requests", "external", None),
    ]


def test_a_module_missing_from_a_package_here_is_unresolved_and_its_parents_stand() -> None:
    files = {**PACKAGE, "m.py": "import a.b._speedups"}
    assert reasons(files, "m.py") == [
        ("a.b._speedups", "unresolved", "not_found"),
        ("a", "internal", None),
        ("a.b", "internal", None),
    ]


def test_a_file_under_a_standard_library_name_is_ambiguous_and_a_folder_is_not_seen() -> None:
    files = {"json.py": "", "platform/x.py": "", "pkg/types.py": ""}
    assert rows_in_m("import json\nimport platform", files) == [
        ("module", "json", "ambiguous", "json.py"),
        ("module", "platform", "stdlib", None),
    ]
    assert readable({**files, "pkg/m.py": "import types"}, "pkg/m.py") == [("module", "types", "stdlib", None)]


def test_an_absolute_name_is_last_looked_for_in_the_importers_folder_and_those_above() -> None:
    files = {
        "tests/help.py": "",
        "tests/unit/m.py": "import help\nfrom tools import x",
        "tests/tools/x.py": "",
        "help2.py": "",
    }
    assert readable(files, "tests/unit/m.py") == [
        ("module", "help", "local_directory", "tests/help.py"),
        ("module", "tools", "namespace", None),
        ("submodule", "tools.x", "local_directory", "tests/tools/x.py"),
    ]
    nearer = {**files, "tests/unit/help.py": ""}
    assert readable(nearer, "tests/unit/m.py")[0] == ("module", "help", "local_directory", "tests/unit/help.py")
    rooted = {**files, "help.py": ""}
    assert readable(rooted, "tests/unit/m.py")[0] == ("module", "help", "internal", "help.py")


def test_a_script_reaches_modules_by_absolute_names_and_its_own_folder() -> None:
    files = {**PACKAGE, "my-dir/near.py": "", "my-dir/run.py": "import a.d\nimport near"}
    assert readable(files, "my-dir/run.py") == [
        ("module", "a.d", "internal", "a/d.py"),
        ("parent", "a", "internal", "a/__init__.py"),
        ("module", "near", "local_directory", "my-dir/near.py"),
    ]


def test_a_dynamic_import_of_a_literal_is_a_row_with_its_parents() -> None:
    assert rows_in_m("__import__('a.d')") == [
        ("module", "a.d", "internal", "a/d.py"),
        ("parent", "a", "internal", "a/__init__.py"),
    ]


def test_how_an_import_stands_is_carried_along() -> None:
    source = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from a import d\n"
        "def f():\n    from a.d import *\n"
        "try:\n    import a\nexcept ImportError:\n    pass\n"
    )
    rows = [row for row in resolved_of({**PACKAGE, "m.py": source}, ["m.py"]) if row["module"] != "typing"]
    stands = [
        (r["module"], r["is_type_checking"], r["is_conditional"], r["is_star"], bool(r["scope_id"])) for r in rows
    ]
    assert stands == [
        ("a", True, True, False, False),
        ("a.d", True, True, False, False),
        ("a.d", False, False, True, True),
        ("a", False, True, False, False),
    ]


def test_two_clauses_alike_have_rows_of_their_own_and_every_row_fits_the_contract() -> None:
    rows = resolved_of(
        {**PACKAGE, "m.py": "import a.b\nimport a.b\nfrom a import *\nfrom .. import y\nfrom a import d"}
    )
    assert len({row["resolved_id"] for row in rows}) == len(rows)
    for row in rows:
        assert tuple(row) == PY_IMPORTS_RESOLVED.column_names
        for column in PY_IMPORTS_RESOLVED.columns:
            assert row[column.name] is not None or column.nullable, column.name
            assert not column.values or row[column.name] in (*column.values, None)


def test_the_module_row_names_all_that_was_looked_up() -> None:
    files = {"a/__init__.py": "", "tests/m.py": "from a import b\nimport gone.x"}
    looked_up = [row["looked_up"] for row in resolved_of(files, ["tests/m.py"]) if row["target_kind"] == "module"]
    places = [f"{place}{end}" for place in ("/gone", "/gone/x", "/tests/gone", "/tests/gone/x") for end in ("", "/")]
    assert looked_up == [["/a/b", "a", "a.b"], [*sorted(places), "gone", "gone.x"]]


def test_an_importer_that_the_index_lacks_is_an_error_that_says_so() -> None:
    lookup = ModuleLookup(index_of(["a.py"]))
    with pytest.raises(ValueError, match=f"{file_id('my-dir/m.py')}, which py_module_index lacks"):
        list(resolved_rows(import_rows("my-dir/m.py", "import b"), lookup))

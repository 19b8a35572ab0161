"""Every rule from path to module name, and which file a shared name means."""

from __future__ import annotations

import pytest

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.names import PY_MODULE_INDEX
from codeanatomy_assets.transforms.module_roots import module_roots, roots_fingerprint, source_roots
from codeanatomy_assets_tests.transforms.names_trees import file_id, index_of, names_of


def primary_of(module: str, *paths: str) -> str:
    rows = [row for row in index_of(paths).to_pylist() if row["module"] == module and row["is_primary"]]
    assert len(rows) == 1, rows
    return str(rows[0]["path"])


def test_a_path_from_the_repository_root_is_its_dotted_name() -> None:
    assert names_of("a/__init__.py", "a/b.py", "setup.py") == {
        "a/__init__.py": "a",
        "a/b.py": "a.b",
        "setup.py": "setup",
    }


def test_a_src_folder_without_init_is_a_root_and_the_longer_name_an_alternate() -> None:
    rows = index_of(["src/a/__init__.py", "src/a/b.py"]).to_pylist()
    assert [(row["module"], row["root"], row["is_alternate"]) for row in rows] == [
        ("a", "src", False),
        ("src.a", "", True),
        ("a.b", "src", False),
        ("src.a.b", "", True),
    ]
    assert all(row["is_primary"] for row in rows)


def test_src_folders_of_top_level_projects_are_roots_after_the_outer_one() -> None:
    paths = ["src/a.py", "my-lib/src/b.py", "app/src/c/d.py", "x/y/src/e.py"]
    assert source_roots(paths) == ("src", "app/src", "my-lib/src")
    assert names_of(*paths) == {
        "src/a.py": "a",
        "my-lib/src/b.py": "b",
        "app/src/c/d.py": "c.d",
        "x/y/src/e.py": "x.y.src.e",
    }


@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(["src/__init__.py", "src/a.py"], id="a package called src"),
        pytest.param(["app/__init__.py", "app/src/a.py"], id="src inside a package"),
        pytest.param(["src/my-tool/run.py"], id="nothing in src can be named"),
        pytest.param(["a/b.py"], id="no src"),
    ],
)
def test_what_is_no_source_root(paths: list[str]) -> None:
    assert module_roots(paths) == ("",)


def test_a_folder_without_init_is_a_part_of_the_name() -> None:
    assert names_of("ns/deep/a.py", "tests/conftest.py", "tests/test_a.py") == {
        "ns/deep/a.py": "ns.deep.a",
        "tests/conftest.py": "tests.conftest",
        "tests/test_a.py": "tests.test_a",
    }


@pytest.mark.parametrize("path", ["my-script.py", "my-dir/a.py", "a/2nd.py", "a.b.py", "//a%FF.py"])
def test_a_path_with_a_part_that_is_no_identifier_is_a_script(path: str) -> None:
    [row] = index_of([path]).to_pylist()
    assert (row["module"], row["kind"], row["root"], row["is_primary"]) == (None, "script", None, False)
    assert row["module_id"] == identity.MODULE.of(file_id(path), None)


def test_the_init_at_the_top_has_no_name_but_is_a_package() -> None:
    [row] = index_of(["__init__.py"]).to_pylist()
    assert (row["module"], row["kind"], row["is_package"]) == (None, "script", True)


def test_a_script_inside_a_source_root_has_no_name_from_any_root() -> None:
    assert names_of("src/a.py", "src/my-tool/run.py")["src/my-tool/run.py"] is None


def test_a_stub_shares_the_name_of_its_source_and_is_the_primary() -> None:
    assert names_of("a.py", "a.pyi") == {"a.py": "a", "a.pyi": "a"}
    assert primary_of("a", "a.py", "a.pyi") == "a.pyi"
    assert primary_of("a", "a/__init__.py", "a/__init__.pyi") == "a/__init__.pyi"


def test_a_package_wins_over_the_module_and_the_stub_beside_it() -> None:
    assert primary_of("a", "a.py", "a.pyi", "a/__init__.py") == "a/__init__.py"


def test_a_folder_without_init_does_not_win_over_the_module_beside_it() -> None:
    assert primary_of("a", "a.py", "a/b.py") == "a.py"


def test_of_two_roots_the_one_searched_first_wins() -> None:
    assert primary_of("a", "a.py", "src/a.py") == "a.py"
    assert primary_of("a", "src/a.py", "lib/src/a.pyi") == "src/a.py"


def test_a_package_in_a_later_root_wins_over_a_namespace_in_an_earlier_one() -> None:
    assert primary_of("a.b", "a/b.py", "src/a/__init__.py", "src/a/b.py") == "src/a/b.py"


def test_between_namespaces_of_two_roots_a_package_inside_wins_then_a_stub_then_the_first_root() -> None:
    assert primary_of("n.p.x", "n/p/x.py", "src/n/p/__init__.py", "src/n/p/x.py") == "src/n/p/x.py"
    assert primary_of("n.x", "n/x.py", "src/n/x.pyi") == "src/n/x.pyi"
    assert primary_of("n.x", "n/x.py", "src/n/x/__init__.py") == "n/x.py"


def test_typings_at_the_top_is_searched_first() -> None:
    paths = ["typings/a.pyi", "a/__init__.py", "src/b.py"]
    assert module_roots(paths) == ("typings", "", "src")
    assert primary_of("a", *paths) == "typings/a.pyi"
    assert source_roots(paths) == ("src",)


def test_a_stubs_folder_is_named_after_its_package_and_wins_below_its_root() -> None:
    paths = ["a/__init__.py", "a/b.py", "a-stubs/__init__.pyi", "a-stubs/b.pyi"]
    assert names_of(*paths)["a-stubs/b.pyi"] == "a.b"
    assert primary_of("a", *paths) == "a-stubs/__init__.pyi"
    assert names_of("a-stubs.py") == {"a-stubs.py": None}


def test_case_is_kept() -> None:
    assert names_of("A/b.py", "a/B.py") == {"A/b.py": "A.b", "a/B.py": "a.B"}


def test_the_roots_fingerprint_moves_with_roots_alone() -> None:
    before = roots_fingerprint(module_roots(["src/a.py", "b.py"]))
    assert before == roots_fingerprint(module_roots(["src/other.py", "c/d.py"]))
    assert before != roots_fingerprint(module_roots(["b.py"]))
    assert before != roots_fingerprint(module_roots(["src/a.py", "typings/a.pyi"]))


def test_the_index_does_not_depend_on_the_order_of_files_and_fills_the_contract() -> None:
    paths = ["src/a/b.py", "my-dir/c.py", "src/a/__init__.pyi", "d.py"]
    index = index_of(paths)
    assert index == index_of(reversed(paths))
    assert index.schema == PY_MODULE_INDEX.arrow_schema()
    assert len(set(index["module_id"].to_pylist())) == index.num_rows
    assert index_of([]).num_rows == 0

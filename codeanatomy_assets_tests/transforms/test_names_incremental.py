"""Which imports are resolved again after a change, and the transforms on Spark."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED
from codeanatomy_assets.contracts.syntax import IMPORTS
from codeanatomy_assets.storage.value_lookups import owners_listing
from codeanatomy_assets.transforms.module_roots import module_roots
from codeanatomy_assets.transforms.names import changed_answers, imports_resolved
from codeanatomy_assets_tests.storage.light_states import LightState
from codeanatomy_assets_tests.storage.scratch_tables import new_attempt
from codeanatomy_assets_tests.transforms.names_trees import (
    Row,
    Tree,
    edited,
    file_id,
    import_rows,
    index_of,
    random_tree,
    resolved_of,
)

SEED = 20240613


def nothing(_: str) -> bool:
    return False


def must_be_resolved_again(
    rows: Iterable[Row], before: Tree, after: Tree, ignored: Callable[[str], bool] = nothing
) -> set[str]:
    """By the same comparison as an update makes, without a table."""
    changed = {key for key in changed_answers(index_of(before), index_of(after)) if not ignored(key)}
    importers = {row["file_id"] for row in rows if not changed.isdisjoint(row["looked_up"])}
    return {path for path in after if file_id(path) in importers}


def by_id(rows: Iterable[Row]) -> dict[str, Row]:
    return {row["resolved_id"]: row for row in rows}


@dataclass
class Walked:
    """What happened on a walk through random histories."""

    steps: int = 0
    roots_changed: int = 0
    files: int = 0
    resolved_again: int = 0
    differences: list[tuple[Tree, Tree]] = field(default_factory=list)


def walk(seed: int, trees: int, ignored: Callable[[str], bool] = nothing) -> Walked:
    """Every step resolved from the one before it, and compared with all of it resolved."""
    rng, walked = random.Random(seed), Walked()
    for _ in range(trees):
        after = random_tree(rng)
        for _ in range(12):
            before, after = after, edited(rng, after)
            if module_roots(before) != module_roots(after):
                walked.roots_changed += 1
                continue
            rows = resolved_of(before)
            rewritten = {path for path, source in after.items() if before.get(path) != source}
            again = must_be_resolved_again(rows, before, after, ignored) | rewritten
            kept = {file_id(path) for path in after.keys() - again}
            got = [row for row in rows if row["file_id"] in kept] + resolved_of(after, again)
            walked.steps += 1
            walked.files += len(after)
            walked.resolved_again += len(again)
            if by_id(got) != by_id(resolved_of(after)):
                walked.differences.append((before, after))
    return walked


def test_resolving_the_importers_of_what_changed_equals_resolving_everything() -> None:
    print(f"seed {SEED}")
    walked = walk(SEED, trees=30)
    print({name: value for name, value in vars(walked).items() if name != "differences"})
    assert not walked.differences, walked.differences[0]
    assert walked.steps > 200 and walked.roots_changed > 20
    assert walked.resolved_again < 0.4 * walked.files


@pytest.mark.parametrize(
    "ignored",
    [
        pytest.param(lambda key: not key.startswith("/"), id="names"),
        pytest.param(lambda key: key.startswith("/") and not key.endswith("/*"), id="paths"),
        pytest.param(lambda key: key.endswith("/*"), id="lists of submodules"),
    ],
)
def test_the_comparison_fails_when_a_kind_of_lookup_is_ignored(ignored: Callable[[str], bool]) -> None:
    assert walk(SEED, trees=12, ignored=ignored).differences


BASE = {"a/__init__.py": "", "a/b.py": "", "n/x.py": "", "tests/unit/m.py": "", "other.py": "import os\nimport a.b\n"}


@pytest.mark.parametrize(
    ("statement", "came"),
    [
        pytest.param("from a import c", {"a/c.py"}, id="a new module is the submodule a from-import means"),
        pytest.param("import a.c.d", {"a/c.py"}, id="a new module is a parent"),
        pytest.param("from a.c import d", {"a/c/d.py"}, id="a new module makes its folder a namespace"),
        pytest.param("import n.x", {"n/__init__.py"}, id="a new parent init"),
        pytest.param("from n import x", {"n/__init__.py"}, id="a namespace becomes a package"),
        pytest.param("import requests", {"requests.py"}, id="a module shadows an external one"),
        pytest.param("import json", {"json.py"}, id="a module shadows the standard library"),
        pytest.param("from a import *", {"a/c.py"}, id="a star over the package"),
        pytest.param("import helpers", {"tests/helpers.py"}, id="a module in a folder above"),
        pytest.param("from .helpers import x", {"tests/unit/helpers.py"}, id="a relative name begins to resolve"),
        pytest.param("import a.b", {"a/b.pyi"}, id="a stub comes beside its source"),
        pytest.param("import a.b", {"a/b/__init__.py"}, id="a package comes beside its module"),
    ],
)
def test_an_importer_is_resolved_again_when(statement: str, came: set[str]) -> None:
    before = {**BASE, "tests/unit/m.py": statement}
    after = {**before, **dict.fromkeys(came, "")}
    assert "tests/unit/m.py" in must_be_resolved_again(resolved_of(before), before, after)
    assert "tests/unit/m.py" in must_be_resolved_again(resolved_of(after), after, before), "and when it goes"


@pytest.mark.parametrize("first", ["typings/__init__.py", "typings/run-me.py"])
def test_the_ways_looked_along_are_the_same_before_and_after_the_first_stub(first: str) -> None:
    before = {"main.py": "import ext.mod", first: ""}
    after = {**before, "typings/x.pyi": ""}
    assert module_roots(before) == module_roots(after)
    assert by_id(resolved_of(before, ["main.py"])) == by_id(resolved_of(after, ["main.py"]))


@pytest.mark.parametrize("came", ["tests/os.py", "other2.py", "b.py", "tests/unit/deep/helpers.py"])
def test_an_importer_is_left_alone_when_nothing_it_looks_up_changed(came: str) -> None:
    before = {**BASE, "tests/unit/m.py": "import os, helpers\nfrom a import b, thing\n"}
    assert must_be_resolved_again(resolved_of(before), before, {**before, came: ""}) == set()


def cst_imports(spark: SparkSession, tree: Mapping[str, str]) -> DataFrame:
    rows = [row for path, source in tree.items() for row in import_rows(path, source)]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=IMPORTS.arrow_schema())).repartition(2)


def test_indexes_with_the_same_rows_in_another_order_answer_alike() -> None:
    index = index_of(frozenset({"app/__init__.py", "app/urls.py", "tools.py"}))
    turned = index.take(list(reversed(range(index.num_rows))))
    assert not turned.equals(index)
    assert changed_answers(index, turned) == frozenset()
    assert changed_answers(index, index.slice(1)) != frozenset()


def test_spark_gives_the_rows_of_the_rules_in_the_contracts_schema(spark: SparkSession) -> None:
    tree = random_tree(random.Random(SEED))
    resolved = imports_resolved(cst_imports(spark, tree), index_of(tree))
    assert resolved.schema == PY_IMPORTS_RESOLVED.spark_schema()
    assert by_id(row.asDict() for row in resolved.collect()) == by_id(resolved_of(tree))


def test_the_importers_found_in_the_stored_table_are_those_whose_answers_changed(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    before = {**BASE, "tests/unit/m.py": "from a import c\n", "lone.py": "import a\n"}
    after = {**before, "a/c.py": ""}
    state = LightState(tmp_path, tables=(PY_IMPORTS_RESOLVED,))
    for old, new in ((before, after), (after, before), (before, before), (tree := random_tree(rng), edited(rng, tree))):
        state.write(resolved_of(old), new_attempt(), PY_IMPORTS_RESOLVED)
        keys = changed_answers(index_of(old), index_of(new))
        found = owners_listing(state.state, PY_IMPORTS_RESOLVED, "looked_up", keys)
        changed = must_be_resolved_again(resolved_of(old), old, new)
        assert found & {*map(file_id, new)} == {file_id(path) for path in changed}

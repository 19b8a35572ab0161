"""CALLS edges of a build of all programs, judged against what the programs do when they run."""

from __future__ import annotations

import pytest

from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.calls.all_programs import ALL_PROGRAMS, CATEGORIES
from codeanatomy_assets_tests.calls.judging import (
    STRICT,
    Score,
    combined_tree,
    found_by_category,
    mistakes,
    printable,
    scores,
)
from codeanatomy_assets_tests.states import BuiltState

# The README's figures; of categories that are not here, all calls are found and none is wrong.
PRECISION = {"star": 0.93}
RECALL = {
    "property": 0.94,
    "method": 0.94,
    "classmethod_staticmethod": 0.88,
    "star": 0.93,
    "conditional_import": 0.90,
    "alias": 0.89,
    "returned": 0.74,
    "closure": 0.72,
    "parameter": 0.58,
    "callback_by_name": 0.55,
    "container": 0.50,
    "lambda": 0.46,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, engine: SparkEngine) -> BuiltState:
    built = BuiltState.create(tmp_path_factory.mktemp("calls"), engine)
    built.repo.commit_files(combined_tree(ALL_PROGRAMS), "all programs")
    build_directly(built.settings, engine, built.progress)
    return built


@pytest.fixture(scope="module")
def judged(built: BuiltState) -> dict[str, Score]:
    names = {row["node_id"]: row["qualified_name"] for row in built.rows("cpg_nodes") if row["qualified_name"]}
    calls = [row for row in built.rows("cpg_edges") if row["edge_kind"] == "CALLS"]
    edges = {(names[row["src_node_id"]], names[row["dst_node_id"]]) for row in calls}
    return scores(found_by_category(CATEGORIES, edges))


@pytest.mark.parametrize("category", STRICT)
def test_these_categories_are_exact(judged: dict[str, Score], category: str) -> None:
    found = mistakes(judged, (category,))
    assert found == [], "\n".join(found)


def test_precision_and_recall_by_category(judged: dict[str, Score]) -> None:
    print(printable(judged))
    print("\n".join(mistakes(judged, CATEGORIES)))
    assert {category: round(score.precision, 2) for category, score in judged.items()} == {
        category: PRECISION.get(category, 1.0) for category in CATEGORIES
    }
    assert {category: round(score.recall, 2) for category, score in judged.items()} == {
        category: RECALL.get(category, 1.0) for category in CATEGORIES
    }


def test_every_call_site_has_a_row_that_resolves_or_says_why(built: BuiltState) -> None:
    calls = built.rows("rel_calls")
    assert {row["call_id"] for row in built.rows("cst_callsites")} <= {row["via_id"] for row in calls}
    assert [row for row in calls if not row["dst_id"] and not row["unresolved_reason"]] == []

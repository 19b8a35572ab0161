"""Judging counts what is right, wrong, missed and tolerated, each by its category."""

from __future__ import annotations

import pytest

from codeanatomy_assets_tests.calls.all_programs import ALL_PROGRAMS, CATEGORIES
from codeanatomy_assets_tests.calls.judging import combined_tree, found_by_category, mistakes, printable, scores
from codeanatomy_assets_tests.calls.program import program

ONE = program(
    "one",
    "--- main.py\n",
    calls="main -> main.a, main.b",
    untraced="main -> main.C",
    indirect="main -> main.wrapper",
    possible="main -> main.other",
)


def test_right_wrong_missed_and_tolerated_edges_are_counted() -> None:
    found = {("one.main", f"one.main.{name}") for name in ("a", "C", "wrapper", "other", "z")}
    score = scores({"direct": [(ONE, found)]})["direct"]
    assert (score.precision, score.recall) == (2 / 3, 2 / 3)
    assert mistakes({"direct": score}, ["direct"]) == [
        "direct: wrong one.main -> one.main.z",
        "direct: missed one.main -> one.main.b",
    ]


def test_a_graph_with_all_wanted_and_tolerated_edges_makes_no_mistake() -> None:
    edges = [edge for each in ALL_PROGRAMS for edge in each.wanted | each.tolerated]
    judged = scores(found_by_category(CATEGORIES, edges))
    assert mistakes(judged, CATEGORIES) == []
    assert {(score.precision, score.recall) for score in judged.values()} == {(1.0, 1.0)}
    assert len(printable(judged).splitlines()) == len(CATEGORIES) + 2


def test_an_edge_into_another_program_is_wrong_in_the_category_of_its_caller() -> None:
    judged = scores(found_by_category(CATEGORIES, [("star_plain.main", "direct_chain.main.parse")]))
    assert [category for category, score in judged.items() if score.wrong] == ["star"]


def test_an_empty_graph_misses_everything_and_says_nothing_wrong() -> None:
    judged = scores(found_by_category(CATEGORIES, []))
    assert {(score.precision, score.recall) for score in judged.values()} == {(1.0, 0.0)}


def test_the_combined_tree_has_a_package_for_each_program() -> None:
    tree = combined_tree(ALL_PROGRAMS)
    assert {path.partition("/")[0] for path in tree} == {each.package for each in ALL_PROGRAMS}
    assert all(f"{each.package}/__init__.py" in tree for each in ALL_PROGRAMS)


def test_two_programs_of_one_name_are_refused() -> None:
    with pytest.raises(AssertionError, match="two programs are named one"):
        combined_tree([ONE, ONE])

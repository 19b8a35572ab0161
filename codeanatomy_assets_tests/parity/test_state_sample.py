"""What the long proof of parity makes, counts and writes down; its first steps are run again in the long sample."""

from __future__ import annotations

from itertools import islice

from codeanatomy_assets_tests.parity.state_soak import Extent, figures, histories, imprecise


def test_a_history_is_made_the_same_way_each_time() -> None:
    first, second = ([dict(tree) for _, tree in islice(next(histories(Extent(1, 3)))[2], 3)] for _ in range(2))
    assert first == second


def test_commits_with_another_row_anywhere_are_counted_as_differing() -> None:
    step = {
        "kind": "random",
        "package": "p",
        "strategy": "hybrid",
        "changed": 1,
        "impacted": 3,
        "truly_changed": 1,
        "is_refresh": False,
        "clean_digest": "x",
        "missed": [],
    }
    told = figures([step, {**step, "missed": ["cpg_edges of a.py"]}])["random all hybrid"]
    assert (told["differing"], told["rebuilt_per_truly_changed_median"]) == (1, 3)


def test_more_than_three_files_rebuilt_for_one_that_changed_is_complained_of_in_real_histories() -> None:
    told = {"rebuilt_per_truly_changed_median": 3.01}
    assert imprecise({"release all hybrid": told, "release all import_closure": told}) == [
        "release all hybrid: 3.01 files rebuilt for one that truly changed, at the median, of at most 3.0"
    ]
    assert imprecise({"release all hybrid": {"rebuilt_per_truly_changed_median": 3.0}}) == []

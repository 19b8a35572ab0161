"""What the long proof of parity makes, counts and writes down; its first steps are run again in the long sample."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from codeanatomy_assets_tests.parity.soak_record import RESULTS
from codeanatomy_assets_tests.parity.state_soak import Extent, figures, histories


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


@pytest.mark.parametrize("name", ["state_soak", "scip_soak"])
def test_results_name_code_seed_and_revision(name: str) -> None:
    result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    assert result["code"] and result["seed"] and result["revision"]

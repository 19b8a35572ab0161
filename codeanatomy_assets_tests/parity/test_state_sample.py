"""The first steps of the long proof of parity, run again: equal to clean builds, and to what it wrote down."""

from __future__ import annotations

import json
import warnings
from itertools import islice
from pathlib import Path

import pytest

from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.parity.soak_record import RESULTS, code_digest
from codeanatomy_assets_tests.parity.state_histories import StateReplay
from codeanatomy_assets_tests.parity.state_soak import Extent, code, figures, histories

# As many of the long proof's steps are run again.
COMMITS = 3


def recorded() -> dict[str, str]:
    """Step → digest as the long proof wrote it down, if this very code made it."""
    result = json.loads((RESULTS / "state_soak.json").read_text(encoding="utf-8"))
    if result["code"] != code_digest(code()):
        told = f"stale: state_soak.json is of code {result['code']}, {result['date']}; `make soak` brings it up to date"
        warnings.warn(told, stacklevel=2)
        return {}
    return {step["key"]: step["digest"] for step in result["steps"]}


def test_random_commits_equal_clean_builds_and_the_record(tmp_path: Path, engine: SparkEngine) -> None:
    known = recorded()
    replay = StateReplay(tmp_path, engine)
    _, _, trees = next(histories(Extent(1, COMMITS)))
    for key, tree in trees:
        step = replay.step(tree)
        assert list(step.complaints()) == []
        assert step.digest == step.clean_digest
        assert not known or known[key] == step.digest


def test_a_history_is_made_the_same_way_each_time() -> None:
    first, second = (
        [dict(tree) for _, tree in islice(next(histories(Extent(1, COMMITS)))[2], COMMITS)] for _ in range(2)
    )
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

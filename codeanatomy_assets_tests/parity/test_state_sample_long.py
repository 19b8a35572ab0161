"""A sample of the proof of parity, in one warm process: its first commits and a release, each against a clean build."""

from __future__ import annotations

import json
import warnings
from contextlib import closing
from pathlib import Path

import pytest

from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.parity.repositories import Repositories
from codeanatomy_assets_tests.parity.scip_histories import released_tree
from codeanatomy_assets_tests.parity.soak_record import RESULTS, stale
from codeanatomy_assets_tests.parity.state_histories import StateReplay, StateStep
from codeanatomy_assets_tests.parity.state_soak import Extent, code, histories

pytestmark = pytest.mark.slow

SAMPLE = Extent(histories=2, steps=14)
RELEASES = ("2.1.2", "2.2.0")
FEWEST_REPEATED = 3
SEED = 20261117
BULK_COMMITS = 2


class SmallRepositories(Repositories):
    """Of some twenty modules."""

    module_names = ("alpha", "beta")


def recorded() -> dict[str, str]:
    """Step → digest as the long proof wrote it down, if this very code made it."""
    told = stale("state_soak", code())
    if told:
        warnings.warn(told, stacklevel=2)
        return {}
    result = json.loads((RESULTS / "state_soak.json").read_text(encoding="utf-8"))
    return {step["key"]: step["digest"] for step in result["steps"]}


def assert_equal(step: StateStep, told: str = "") -> None:
    assert list(step.complaints()) == [], told
    assert step.digest == step.clean_digest, told


def test_commits_of_the_long_proof_and_a_release_equal_clean_builds_and_the_record(
    tmp_path: Path, engine: SparkEngine
) -> None:
    known = recorded()
    repeated = []
    with closing(WarmIndexer()) as indexer:
        for name, _, trees in histories(SAMPLE):
            replay = StateReplay(tmp_path / name, engine, indexer=indexer)
            for key, tree in trees:
                step = replay.step(tree)
                assert_equal(step, key)
                if key in known:
                    assert known[key] == step.digest, f"{key} gave other rows than the long proof wrote down"
                    repeated.append(key)
        assert not known or len(repeated) >= FEWEST_REPEATED
        released = StateReplay(tmp_path / "released", engine, indexer=indexer)
        first, second = (released_tree("itsdangerous", version) for version in RELEASES)
        released.step(first, is_checked=False)
        step = released.step(second)
        assert_equal(step, "release")
        assert step.impacted


def test_random_commits_built_by_the_ways_of_large_repositories_equal_clean_builds_from_memory(
    tmp_path: Path, engine: SparkEngine
) -> None:
    replay = StateReplay(tmp_path, engine, is_bulk=True)
    made = SmallRepositories(SEED)
    for number in range(BULK_COMMITS):
        told = made.edit() if number else "first"
        assert_equal(replay.step(made.tree()), f"seed {SEED}, commit {number}: {told}")

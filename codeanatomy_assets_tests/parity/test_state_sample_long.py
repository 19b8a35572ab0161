"""A sample of the proof of parity, in one warm process: random commits and a release, each against a clean build."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.parity.repositories import Repositories
from codeanatomy_assets_tests.parity.scip_histories import released_tree
from codeanatomy_assets_tests.parity.state_histories import StateReplay

SEED = 20261117
COMMITS = 24
RELEASES = ("2.1.2", "2.2.0")
BULK_COMMITS = 2


class SmallRepositories(Repositories):
    """Of some twenty modules."""

    module_names = ("alpha", "beta")


@pytest.mark.slow
def test_random_commits_and_a_release_equal_clean_builds(tmp_path: Path, engine: SparkEngine) -> None:
    with closing(WarmIndexer()) as indexer:
        _build_and_compare(StateReplay(tmp_path / "random", engine, indexer=indexer), COMMITS)
        released = StateReplay(tmp_path / "released", engine, indexer=indexer)
        first, second = (released_tree("itsdangerous", version) for version in RELEASES)
        released.step(first, is_checked=False)
        step = released.step(second)
        assert list(step.complaints()) == []
        assert step.impacted


@pytest.mark.slow
def test_random_commits_built_by_the_ways_of_large_repositories_equal_clean_builds_from_memory(
    tmp_path: Path, engine: SparkEngine
) -> None:
    _build_and_compare(StateReplay(tmp_path, engine, is_bulk=True), BULK_COMMITS)


def _build_and_compare(replay: StateReplay, commits: int) -> None:
    made = SmallRepositories(SEED)
    for number in range(commits):
        told = made.edit() if number else "first"
        step = replay.step(made.tree())
        assert list(step.complaints()) == [], f"seed {SEED}, commit {number}: {told}"
        assert step.digest == step.clean_digest

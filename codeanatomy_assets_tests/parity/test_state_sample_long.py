"""A longer sample of the proof of parity, in one warm process: random commits, each against a build from scratch."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.parity.repositories import Repositories
from codeanatomy_assets_tests.parity.state_histories import StateReplay

SEED = 20261117
COMMITS = 20
BULK_COMMITS = 2


class SmallRepositories(Repositories):
    """Of some twenty modules."""

    module_names = ("alpha", "beta")


@pytest.mark.slow
def test_random_commits_equal_clean_builds(tmp_path: Path, engine: SparkEngine) -> None:
    with closing(WarmIndexer()) as indexer:
        _build_and_compare(StateReplay(tmp_path, engine, indexer=indexer), COMMITS)


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

"""The same jobs on a cluster: full build and update give the local rows, and a lost worker is survived."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.cluster.standalone import Cluster, standalone_cluster
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.parity.state_histories import digests_of
from codeanatomy_assets_tests.states import BuiltState, Quiet

pytestmark = pytest.mark.slow

FILES = 8
BUILD_SECONDS = 400


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    """Two commits; the second changes what a file that it leaves alone calls."""
    repo = GitRepo.create(tmp_path_factory.mktemp("history") / "repo")
    repo.commit_files({f"app/module_{number}.py": _module(number) for number in range(FILES)})
    repo.commit_files({"app/module_0.py": _module(0).replace("def area", "def surface")})
    return repo


def _module(number: int) -> str:
    base = f"from app.module_{number - 1} import Shape_{number - 1}\n" if number else ""
    above = f"(Shape_{number - 1})" if number else ""
    methods = "".join(f"    def part_{each}(self):\n        return self.area() * {each}\n" for each in range(8))
    return f"{base}class Shape_{number}{above}:\n    def area(self):\n        return {number}\n{methods}"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("on-cluster") / "state"


def build(cluster: Cluster, repo: GitRepo, state: Path, commit: str) -> subprocess.Popen[str]:
    """The real command, with all but the smallest tables written by executors, of one gigabyte each."""
    environment = {
        **os.environ,
        "CODEANATOMY_SPARK_MASTER": cluster.url,
        "CODEANATOMY_LIGHT_WRITE_ROWS": "100",
        "CODEANATOMY_SPARK_CONF": '{"spark.executor.memory": "1g", "spark.network.timeout": "60s"}',
    }
    command = [sys.executable, "-m", "codeanatomy_assets.cli", "build", str(repo.folder), "--commit", commit]
    return subprocess.Popen(
        [*command, "--state", str(state)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finished(process: subprocess.Popen[str]) -> str:
    try:
        told, _ = process.communicate(timeout=BUILD_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0, told
    return told


def differing(engine: SparkEngine, repo: GitRepo, state: Path, local: Path) -> set[str]:
    """Datasets whose rows are others than those of a local build of the same commit."""
    on_cluster = BuiltState(repo, Settings(repo=repo.folder, state=state), engine, Quiet())
    commit = on_cluster.last().commit
    repo.run("checkout", "--quiet", commit)
    built = replace(on_cluster, settings=replace(on_cluster.settings, state=local))
    built.build_directly()
    ours, theirs = digests_of(on_cluster.last().state), digests_of(built.last().state)
    return {name for name in ours if ours[name] != theirs[name]}


def test_a_full_build_on_the_cluster_has_the_local_rows(
    cluster: Cluster, repo: GitRepo, state: Path, engine: SparkEngine, tmp_path: Path
) -> None:
    assert "built (full)" in finished(build(cluster, repo, state, repo.commits[0]))
    assert differing(engine, repo, state, tmp_path / "local") == set()
    assert all(cluster.tasks_finished(number) for number in range(len(cluster.workers))), "both workers did their share"


def test_an_update_that_loses_a_worker_ends_with_the_local_rows(
    cluster: Cluster, repo: GitRepo, state: Path, engine: SparkEngine, tmp_path: Path
) -> None:
    before = cluster.tasks_finished(0)
    running = build(cluster, repo, state, repo.commits[1])
    deadline = time.monotonic() + BUILD_SECONDS
    while cluster.tasks_finished(0) <= before and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert running.poll() is None, "the update ended before its worker could be lost"
    cluster.lose(0)
    assert "built (incremental)" in finished(running)
    assert differing(engine, repo, state, tmp_path / "local") == set()

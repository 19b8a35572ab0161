"""The run queue of a state's instance: two writers are never let in at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.run_coordinator import QueuedRunCoordinator
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon

from codeanatomy_assets.orchestration.build import PROJECT_FOLDER, dagster_instance, write_instance_config
from codeanatomy_assets.settings import Settings
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.orchestration.watched_repositories import Watched


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Watched]:
    settings = Settings(state=tmp_path / "state")
    with dagster_instance(settings) as instance:
        yield Watched(GitRepo(tmp_path), settings, instance)


def let_in(queue: Watched) -> list[str]:
    """The runs that the queue would launch now."""
    daemon = QueuedRunCoordinatorDaemon(interval_seconds=1)
    with daemon:
        runs = daemon._get_runs_to_dequeue(queue.instance, queue.instance.get_concurrency_config(), None)
    return [run.run_id for run in runs]


def test_of_two_queued_runs_one_is_let_in(queue: Watched) -> None:
    first = queue.run(dg.DagsterRunStatus.QUEUED)
    queue.run(dg.DagsterRunStatus.QUEUED, job_name="full_refresh_job")
    assert let_in(queue) == [first.run_id]


@pytest.mark.parametrize("status", [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED])
def test_none_is_let_in_beside_one_that_runs(queue: Watched, status: dg.DagsterRunStatus) -> None:
    queue.run(status, job_name="__ASSET_JOB")
    queue.run(dg.DagsterRunStatus.QUEUED)
    assert let_in(queue) == []


def test_the_instance_that_the_ui_is_served_from_has_the_same_queue(tmp_path: Path) -> None:
    home = write_instance_config(Settings(state=tmp_path / "state"))
    served, project = (yaml.safe_load((folder / "dagster.yaml").read_text()) for folder in (home, PROJECT_FOLDER))
    assert {**served, "storage": None} == {**project, "storage": None}
    assert served["concurrency"]["runs"] == {"max_concurrent_runs": 1}
    with dg.DagsterInstance.from_config(str(home)) as instance:
        assert isinstance(instance.run_coordinator, QueuedRunCoordinator)

"""A repository under the commit sensor's eyes: ledger rows and runs are planted, no JVM is started."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test

from codeanatomy_assets import __version__
from codeanatomy_assets.orchestration.fingerprints import stage_fingerprints
from codeanatomy_assets.orchestration.plan import open_ledger, open_store
from codeanatomy_assets.orchestration.project import build_definitions
from codeanatomy_assets.orchestration.sensors import RUN_KEY, commit_sensor
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.delta_store import Attempt
from codeanatomy_assets.storage.ledger import Ledger, LedgerRow
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets_tests.git_repositories import GitRepo


@dataclass
class Watched:
    """A repository, its state and its instance; `tick` is one look of the sensor at them."""

    repo: GitRepo
    settings: Settings
    instance: dg.DagsterInstance
    cursor: str | None = None
    now: float = 1_000_000.0

    @classmethod
    def create(cls, folder: Path, instance: dg.DagsterInstance, **settings: Any) -> Watched:
        repo = GitRepo.create(folder / "repo")
        return cls(repo, Settings(repo=repo.folder, state=folder / "state", **settings), instance)

    def commits(self, *names: str) -> list[str]:
        return [self.repo.commit_files({f"{name}.py": f"{name} = 1\n"}, name) for name in names]

    def built(self, commit: str) -> LedgerRow:
        """The ledger says that this commit is built, by the code and settings at hand."""
        StateFolder(self.settings.state).claim(str(self.settings.repo), "git", __version__)
        ledger = Ledger(open_store(self.settings))
        last = open_ledger(self.settings).last()
        number = last.sequence + 1 if last else 1
        row = LedgerRow(commit, commit, "incremental", number, TableState({}, 1), {}, stage_fingerprints(self.settings))
        return ledger.append(row, last, Attempt(number, commit))

    def tick(self) -> SensorExecutionData:
        """One evaluation as the daemon makes it: requests are resolved, the cursor is kept."""
        reference = self.instance.get_ref()
        context = dg.build_sensor_context(self.instance, self.cursor, repository_def=_project(), instance_ref=reference)
        looked = commit_sensor(self.settings, lambda: self.now).evaluate_tick(context)
        self.cursor = looked.cursor
        return looked

    def asked(self) -> dg.RunRequest:
        """The one update that the sensor asks for now."""
        looked = self.tick()
        assert looked.run_requests is not None and len(looked.run_requests) == 1, looked.skip_message
        return looked.run_requests[0]

    def asked_commit(self) -> str:
        return commit_of(self.asked())

    def skipped(self) -> str:
        """Why the sensor asks for nothing now."""
        looked = self.tick()
        assert not looked.run_requests
        assert looked.skip_message
        return looked.skip_message

    def run(
        self,
        status: dg.DagsterRunStatus,
        request: dg.RunRequest | None = None,
        job_name: str = "update_job",
        tags: dict[str, str] | None = None,
    ) -> dg.DagsterRun:
        """A run in the instance, of this request if there is one."""
        keyed = {**request.tags, RUN_KEY: str(request.run_key)} if request else {}
        here = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("codeanatomy"), "codeanatomy")
        run: dg.DagsterRun = create_run_for_test(
            self.instance,
            job_name=job_name,
            status=status,
            tags={**keyed, **(tags or {})},
            remote_job_origin=RemoteJobOrigin(here, job_name),
        )
        return run

    def ran(self, request: dg.RunRequest, succeeded: bool = True) -> None:
        """The request's run came to its end; one that succeeded has built its commit."""
        self.run(dg.DagsterRunStatus.SUCCESS if succeeded else dg.DagsterRunStatus.FAILURE, request)
        if succeeded:
            self.built(commit_of(request))


@cache
def _project() -> dg.RepositoryDefinition:
    """Where requests find their job; it is the same for every state."""
    return build_definitions(Settings()).get_repository_def()


def commit_of(request: dg.RunRequest) -> str:
    commit: str = request.run_config["resources"]["session"]["config"]["commit"]
    return commit

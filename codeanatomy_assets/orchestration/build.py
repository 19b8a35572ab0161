"""Running the project's jobs in process, recorded in the state's Dagster instance: what the command is a front of."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from codeanatomy_assets.errors import CodeAnatomyError, causes
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import Plan, decide, open_ledger
from codeanatomy_assets.orchestration.progress import Progress
from codeanatomy_assets.orchestration.summary import report
from codeanatomy_assets.settings import Settings, from_environment, to_environment
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.state_folder import StateFolder, write_atomically

if TYPE_CHECKING:
    import dagster as dg

    from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
    from codeanatomy_assets.storage.spark_session import SparkEngine

PROJECT_FOLDER = Path(__file__).parents[2]
# A run on a range of keys plans and records every key of every asset; Dagster hands them to the storage in batches.
EVENT_BATCH_SIZE = "1000"


def build(
    settings: Settings,
    progress: Progress,
    revision: str | None = None,
    full: bool = False,
    engine: Callable[[], SparkEngine] | None = None,
    lock: StateLock | None = None,
) -> dict[str, Any]:
    """Bring the state to a revision; returns the report. A no-op imports neither Dagster nor pyspark."""
    plan = decide(settings, revision, full)
    if plan.mode == "noop":
        assert plan.last is not None
        return report(plan.last, "noop")
    with opened_project(settings, progress, engine, lock) as project, user_errors():
        for line in project.died:
            progress.say(line)
        run = project.run_update(update_request(plan))
    # Another process may have built the commit while this one waited for the state.
    has_built = run.asset_materializations_for_node(f"{BUILT_STAGES[0]}_stage")
    return report(open_ledger(settings).resolve(None), None if has_built else "noop")


def settings_of_state() -> Settings:
    return with_known_repository(from_environment())


def with_known_repository(settings: Settings) -> Settings:
    """The repository is the one that the state was built from, once it was: a state belongs to one."""
    owner = StateFolder(settings.state).owner()
    if owner is None:
        return settings
    return replace(settings, repo=Path(owner["repository"]), worktree=owner["kind"] == "folder")


@dataclass(frozen=True)
class UpdateRequest:
    """A run of update_job, as whoever starts it words it."""

    partition_key: str
    run_config: dict[str, Any]
    tags: dict[str, str]


def update_request(plan: Plan, commit: str | None = None) -> UpdateRequest:
    """The update that a plan takes, or to another commit on the way to its target.

    It names the commit, so that a HEAD that moves meanwhile changes nothing; a folder has none to name.
    """
    from codeanatomy_assets.orchestration.partitions import ALL, IMPACTED, NEEDED_TAG

    target = commit or plan.target.commit
    is_commit = plan.target.repository is not None and set(target) != {"0"}
    # Everything is built because the state needs it, not because it was asked for: the run looks again under the lock.
    needed = {NEEDED_TAG: "true"} if plan.mode == "full" and not plan.full else {}
    return UpdateRequest(
        partition_key=ALL if plan.mode == "full" else IMPACTED,
        run_config={"resources": {"session": {"config": {"commit": target if is_commit else "", "full": plan.full}}}},
        tags={"codeanatomy/commit": short(target), **needed},
    )


@dataclass(frozen=True)
class Project:
    """The project, opened to run its jobs in this process, the instance that records them, and who died there."""

    definitions: dg.Definitions
    instance: dg.DagsterInstance
    died: list[str]

    def run_update(self, request: UpdateRequest, raise_on_error: bool = True) -> dg.ExecuteInProcessResult:
        import dagster as dg
        from dagster._core.utils import make_new_run_id

        from codeanatomy_assets.orchestration.resources import UPDATE_JOB
        from codeanatomy_assets.orchestration.stuck_runs import PROCESS_TAG, process_mark

        run_id = make_new_run_id()
        try:
            return self.definitions.resolve_job_def(UPDATE_JOB).execute_in_process(
                instance=self.instance,
                partition_key=request.partition_key,
                run_config={**request.run_config, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                tags={**request.tags, PROCESS_TAG: process_mark(run_id)},
                run_id=run_id,
                raise_on_error=raise_on_error,
            )
        except dg.DagsterExecutionInterruptedError:
            # Dagster records an interrupt that stops a step, not one that comes while resources start.
            run = self.instance.get_run_by_id(run_id)
            if run is not None and not run.is_finished:
                self.instance.report_run_failed(run, "It was interrupted before it wrote anything: launch it again")
            raise


@contextmanager
def opened_project(
    settings: Settings,
    progress: Progress,
    engine: Callable[[], SparkEngine] | None = None,
    lock: StateLock | None = None,
    indexer: WarmIndexer | None = None,
) -> Iterator[Project]:
    """The state's instance with the project; runs there whose process is gone are reported failed."""
    from codeanatomy_assets.orchestration.partitions import CONTROL_KEYS, FILES
    from codeanatomy_assets.orchestration.project import build_definitions
    from codeanatomy_assets.orchestration.stuck_runs import report_dead_runs

    settings.state.mkdir(parents=True, exist_ok=True)
    definitions = build_definitions(settings, progress, engine, lock, indexer)
    with dagster_instance(settings) as instance:
        instance.add_dynamic_partitions(str(FILES.name), list(CONTROL_KEYS))
        yield Project(definitions, instance, report_dead_runs(instance, StateLock(settings.state)))
        # What a dead run left behind may have held the state until this one's turn came: only now is it known as dead.
        report_dead_runs(instance, StateLock(settings.state))


@contextmanager
def dagster_instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """The state's Dagster instance, configured by the project's dagster.yaml, stored under the state folder."""
    import dagster as dg
    from dagster._core.instance import InstanceRef

    home = StateFolder(settings.state).dagster_home
    home.mkdir(parents=True, exist_ok=True)
    reference = InstanceRef.from_dir(str(home), config_dir=str(PROJECT_FOLDER), overrides={"storage": _storage(home)})
    with dg.DagsterInstance.from_ref(reference) as instance:
        yield instance


def serve_ui(settings: Settings, port: int) -> NoReturn:
    """Become the Dagster UI and its daemon for this state, on loopback: signals reach them without a go-between."""
    from codeanatomy_assets.orchestration.stuck_runs import report_dead_runs

    settings = replace(with_known_repository(settings), sensor_on=True)
    home = write_instance_config(settings)
    with dagster_instance(settings) as instance:
        for line in report_dead_runs(instance, StateLock(settings.state)):
            print(line, file=sys.stderr, flush=True)
        reconcile_with_ledger(instance, settings)
    command = [sys.executable, "-m", "dagster", "dev", "-m", "codeanatomy_assets.definitions"]
    environment = {**to_environment(settings), "DAGSTER_HOME": str(home), "DAGSTER_EVENT_BATCH_SIZE": EVENT_BATCH_SIZE}
    os.chdir(home)
    # A script's background job ignores the interrupt by which the UI ends its processes.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execve(sys.executable, [*command, "-h", "127.0.0.1", "-p", str(port)], environment)


def reconcile_with_ledger(instance: dg.DagsterInstance, settings: Settings) -> None:
    """The keys of the files that the last built commit has: a run killed after its row may not have come to that."""
    from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
    from codeanatomy_assets.orchestration.partitions import reconcile
    from codeanatomy_assets.storage.delta_reads import read_light

    last = open_ledger(settings).last()
    if last is not None:
        rows = read_light(last.state, REPO_SNAPSHOT, None, settings.storage_options).to_pylist()
        reconcile(instance, {row["file_id"] for row in rows if row["is_python"]})


def write_instance_config(settings: Settings) -> Path:
    """The project's dagster.yaml with this state's storage in it, where DAGSTER_HOME can point."""
    import yaml

    home = StateFolder(settings.state).dagster_home
    home.mkdir(parents=True, exist_ok=True)
    config = yaml.safe_load((PROJECT_FOLDER / "dagster.yaml").read_text())
    config["storage"] = _storage(home)
    write_atomically(home / "dagster.yaml", yaml.safe_dump(config))
    return home


def _storage(home: Path) -> dict[str, Any]:
    module = "codeanatomy_assets.orchestration.event_storage"
    return {"custom": {"module": module, "class": "StateStorage", "config": {"base_dir": str(home)}}}


@contextmanager
def user_errors() -> Iterator[None]:
    """Bring an error meant for the user, and Ctrl-C, out of the wrapping that Dagster gives it."""
    import dagster as dg

    try:
        yield
    except dg.DagsterExecutionInterruptedError:
        raise KeyboardInterrupt from None
    except Exception as error:
        meant = next((cause for cause in causes(error) if isinstance(cause, CodeAnatomyError)), None)
        if meant is None:
            raise
        raise meant from None

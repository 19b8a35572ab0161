"""The jobs as they are pressed: defaults that work, what they can be told, and how a failure reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.cli_history import DEFAULT_GRACE_HOURS
from codeanatomy_assets.orchestration.build import dagster_instance
from codeanatomy_assets.orchestration.failures import why_it_failed
from codeanatomy_assets.orchestration.jobs import VacuumConfig
from codeanatomy_assets.orchestration.partitions import IMPACTED
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.project import build_definitions
from codeanatomy_assets.orchestration.resources import Strategy, UpdateConfig
from codeanatomy_assets.settings import STRATEGIES, Settings
from codeanatomy_assets.storage.delta_store import Attempt, DeltaStore, Scope
from codeanatomy_assets.storage.ledger import Ledger
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.states import BuiltState

FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": "def a(): ...\n",
    "pkg/b.py": "import pkg.a\n\n\ndef b(): ...\n",
    "pkg/c.py": "import pkg.b\n",
}


@pytest.fixture(scope="module")
def pressed(tmp_path_factory: pytest.TempPathFactory, engine: SparkEngine) -> BuiltState:
    """One state for all jobs: a commit that is built."""
    built = BuiltState.create(tmp_path_factory.mktemp("jobs"), engine)
    built.commit(FILES)
    return built


@pytest.fixture(scope="module")
def instance(pressed: BuiltState) -> Iterator[dg.DagsterInstance]:
    with dagster_instance(pressed.settings) as instance:
        yield instance


def press(
    built: BuiltState,
    instance: dg.DagsterInstance,
    job: str,
    config: dict[str, Any] | None = None,
    key: str | None = None,
) -> dg.ExecuteInProcessResult:
    """Launch a job with nothing told beside this, on a partition if it has any."""
    lock = StateLock(built.settings.state)
    definitions = build_definitions(built.settings, built.progress, lambda: built.engine, lock)
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    return definitions.resolve_job_def(job).execute_in_process(
        instance=instance, partition_key=key, run_config={**(config or {}), **quiet}, raise_on_error=False
    )


def update(built: BuiltState, instance: dg.DagsterInstance, **told: Any) -> dg.ExecuteInProcessResult:
    config = {"resources": {"session": {"config": told}}} if told else None
    return press(built, instance, "update_job", config, IMPACTED)


def done(result: dg.ExecuteInProcessResult) -> None:
    assert result.success, why_it_failed(result)


def first_lines(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    """How each failed step's error begins in the event log, as the UI shows it."""
    events = [entry.dagster_event for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)]
    return [str(event.step_failure_data.error_display_string).splitlines()[0] for event in events if event]


def test_update_job_just_pressed_builds_head_and_then_has_nothing_to_do(
    pressed: BuiltState, instance: dg.DagsterInstance
) -> None:
    head = pressed.repo.commit_files({"pkg/a.py": "def a(x): ...\n"})
    done(update(pressed, instance))
    assert (pressed.last().commit, pressed.last().mode) == (head, "incremental")
    before = pressed.versions(), pressed.last().sequence
    done(update(pressed, instance))
    assert (pressed.versions(), pressed.last().sequence) == before


def test_update_job_takes_a_commit_and_a_strategy(pressed: BuiltState, instance: dg.DagsterInstance) -> None:
    target = pressed.repo.commit_files({"pkg/a.py": "def a(x, y): ...\n"})
    pressed.repo.commit_files({"pkg/a.py": "def a(x, y, z): ...\n"})
    done(update(pressed, instance, commit=target, strategy="import_closure"))
    assert pressed.last().commit == target
    impacted = {row["path"] for row in pressed.rows("inc_impacted_files") if row["commit"] == target}
    assert impacted == {"pkg/a.py", "pkg/b.py", "pkg/c.py"}
    done(update(pressed, instance))
    last = pressed.last().commit
    assert {row["path"] for row in pressed.rows("inc_impacted_files") if row["commit"] == last} == {"pkg/a.py"}


def test_a_strategy_is_one_of_the_settings_own_or_as_set() -> None:
    assert [each.value for each in Strategy] == ["", *STRATEGIES]
    settings = Settings(strategy="symbol_closure")
    assert UpdateConfig().settings(settings) == settings
    assert UpdateConfig(strategy=Strategy.hybrid).settings(settings) == replace(settings, strategy="hybrid")


def test_full_refresh_job_just_pressed_rebuilds_everything_at_head(
    pressed: BuiltState, instance: dg.DagsterInstance
) -> None:
    sequence = pressed.last().sequence
    done(press(pressed, instance, "full_refresh_job", key=IMPACTED))
    assert (pressed.last().commit, pressed.last().mode) == (pressed.repo.head(), "full")
    assert (pressed.last().sequence, pressed.last().summary["reasons"]) == (sequence + 1, {"full_refresh": 4})


def test_publish_job_just_pressed_writes_the_graph_below_the_state(
    pressed: BuiltState, instance: dg.DagsterInstance
) -> None:
    done(press(pressed, instance, "publish_job"))
    folder = pressed.settings.state / "published" / pressed.last().commit
    assert {path.name for path in folder.iterdir()} == {"cpg_nodes.parquet", "cpg_edges.parquet", "cpg_props.parquet"}
    assert pq.read_table(folder / "cpg_nodes.parquet").num_rows == pressed.last().counts["cpg_nodes"]


def test_publish_job_takes_a_commit_a_folder_and_formats(
    pressed: BuiltState, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    first = pressed.ledger_rows()[0].commit
    told = {"commit": first[:10], "folder": str(tmp_path / "out"), "formats": ["jsonl", "graphml"]}
    done(press(pressed, instance, "publish_job", {"ops": {"publish_graph": {"config": told}}}))
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"cpg_nodes.jsonl", "cpg_edges.jsonl", "cpg_props.jsonl", "graph.graphml"}


def test_a_failure_begins_with_what_happened_and_what_to_do(pressed: BuiltState, instance: dg.DagsterInstance) -> None:
    told = {"ops": {"publish_graph": {"config": {"commit": "feedbeef"}}}}
    failed = press(pressed, instance, "publish_job", told)
    said = "commit feedbeef is not built: built are "
    assert not failed.success
    [first] = first_lines(instance, failed.run_id)
    assert first.startswith(f"dagster._core.definitions.events.Failure: {said}{short(pressed.repo.commits[-1])}")
    assert why_it_failed(failed).startswith(said)
    refused = update(pressed, instance, commit="no-such-branch")
    (line,) = first_lines(instance, refused.run_id)
    assert "has no commit 'no-such-branch': pass a branch, tag or commit id" in line


@pytest.mark.parametrize("job", ["update_job", "full_refresh_job"])
def test_a_run_on_no_partition_is_told_which_to_choose(
    pressed: BuiltState, instance: dg.DagsterInstance, job: str
) -> None:
    refused = press(pressed, instance, job)
    assert why_it_failed(refused) == (
        f"{job} was launched on no partition: choose __impacted__ for what changed, or __all__ for everything"
    )


def test_a_run_beside_another_writer_fails_with_the_holders_name(
    pressed: BuiltState, instance: dg.DagsterInstance
) -> None:
    pressed.repo.commit_files({"pkg/a.py": "def a(x, y, z, w): ...\n"})
    with StateLock(pressed.settings.state).holding("codeanatomy watch"):
        failed = update(pressed, instance)
    (line,) = first_lines(instance, failed.run_id)
    assert "is in use by codeanatomy watch (process" in line
    assert "wait for it to end" in line


def test_an_error_that_is_nobodys_input_is_told_too(
    pressed: BuiltState, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the JVM is gone")

    monkeypatch.setattr(Ledger, "append", broken)
    failed = update(pressed, instance)
    assert not failed.success
    assert "the JVM is gone" in why_it_failed(failed)


def test_vacuum_job_just_pressed_keeps_what_the_settings_keep(
    pressed: BuiltState, instance: dg.DagsterInstance
) -> None:
    kept = {row.commit: pressed.rows("cst_defs", row.commit) for row in pressed.ledger_rows()}
    done(press(pressed, instance, "vacuum_job"))
    assert {commit: pressed.rows("cst_defs", commit) for commit in kept} == kept
    assert VacuumConfig().grace_hours == DEFAULT_GRACE_HOURS


def test_vacuum_job_takes_what_to_keep_and_a_dry_run(pressed: BuiltState, instance: dg.DagsterInstance) -> None:
    first, last = pressed.ledger_rows()[0], pressed.last()
    told = {"keep_commits": 1, "grace_hours": 0.0, "dry_run": True}
    done(press(pressed, instance, "vacuum_job", {"ops": {"vacuum_state": {"config": told}}}))
    assert "would be freed:" in pressed.progress.lines[-1]
    assert (pressed.ledger_state(first.commit), pressed.last()) == (first.state, last)


def test_verify_job_just_pressed_compares_the_last_commit(pressed: BuiltState, instance: dg.DagsterInstance) -> None:
    pressed.build()
    done(press(pressed, instance, "verify_job"))
    assert f"{pressed.last().commit[:12]} equals a clean build" in pressed.progress.lines[-1]


def test_verify_job_fails_with_the_first_rows_that_differ(pressed: BuiltState, instance: dg.DagsterInstance) -> None:
    table, key = catalog.table("cst_defs"), pressed.file_id("pkg/b.py")
    last = pressed.last()
    store = DeltaStore(pressed.settings.tables_root, pressed.engine.session)
    attempt = Attempt(last.attempt + 1, last.commit)
    spoilt = store.replace_files(last.state, table, table.arrow_schema().empty_table(), Scope.of((key,)), attempt)
    Ledger(store).append(replace(last, state=last.state.advanced(spoilt.ref)), last, attempt)
    failed = press(pressed, instance, "verify_job", {"ops": {"verify_commits": {"config": {"commits": 1}}}})
    (line,) = first_lines(instance, failed.run_id)
    assert f"{last.commit[:12]} differs from a clean build, first in:" in line
    assert "cst_defs of pkg/b.py" in why_it_failed(failed).splitlines()[1]

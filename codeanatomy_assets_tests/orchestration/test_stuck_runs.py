"""Runs whose process is gone are reported failed; those that live, or may, are left alone."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from codeanatomy_assets.orchestration.build import dagster_instance
from codeanatomy_assets.orchestration.stuck_runs import (
    PROCESS_TAG,
    UNMARKED_SECONDS,
    process_mark,
    report_dead_runs,
)
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets_tests.crashes.crash_site import Kill, run_killed
from codeanatomy_assets_tests.orchestration.watched_repositories import Watched
from codeanatomy_assets_tests.states import BuiltState

STARTED, STARTING, FAILURE = (
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.FAILURE,
)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with dg.DagsterInstance.ephemeral() as instance:
        watched = Watched.create(tmp_path, instance)
        watched.built(*watched.commits("first"))
        yield watched


def reported(watched: Watched, later: float = 0.0) -> list[str]:
    return report_dead_runs(watched.instance, StateLock(watched.settings.state), time.time() + later)


def status(watched: Watched, run: dg.DagsterRun) -> dg.DagsterRunStatus:
    found = watched.instance.get_run_by_id(run.run_id)
    assert found is not None
    return found.status


def marked(watched: Watched, run: dg.DagsterRun, mark: str) -> dg.DagsterRun:
    watched.instance.add_run_tags(run.run_id, {PROCESS_TAG: mark})
    return run


def dead_mark(run: dg.DagsterRun) -> str:
    """The mark of a process that lived, and was killed."""
    with subprocess.Popen(["sleep", "60"]) as process:
        started_at = Path("/proc", str(process.pid), "stat").read_text().rpartition(")")[2].split()[19]
        process.kill()
    return f"{socket.gethostname()}:{process.pid}:{started_at}:{run.run_id}"


@pytest.mark.parametrize("at", [STARTED, STARTING, dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.NOT_STARTED])
def test_a_run_of_a_killed_process_is_reported_failed_with_what_to_do(
    watched: Watched, at: dg.DagsterRunStatus
) -> None:
    run = watched.run(at)
    marked(watched, run, dead_mark(run))
    (told,) = reported(watched)
    assert "is gone: it was killed, or the machine went down" in told
    assert status(watched, run) is FAILURE
    (event,) = (entry for entry in watched.instance.all_logs(run.run_id) if entry.dagster_event)
    assert "Launch update_job" in str(event.dagster_event and event.dagster_event.message)
    assert reported(watched) == []


def test_a_run_of_a_living_process_is_left_alone_however_old_it_is(watched: Watched) -> None:
    run = watched.run(STARTED)
    marked(watched, run, process_mark(run.run_id))
    assert reported(watched, later=1_000_000) == []
    assert status(watched, run) is STARTED


def test_a_process_id_that_is_used_again_is_another_process(watched: Watched) -> None:
    run = watched.run(STARTED)
    marked(watched, run, f"{socket.gethostname()}:{os.getpid()}:1:{run.run_id}")
    assert len(reported(watched)) == 1


def test_a_run_that_was_just_launched_and_is_in_no_process_yet_is_left_alone(watched: Watched) -> None:
    run = watched.run(STARTED)
    assert reported(watched, later=UNMARKED_SECONDS - 60) == []
    assert status(watched, run) is STARTED


def test_a_re_executed_run_does_not_die_of_the_mark_it_inherited(watched: Watched) -> None:
    before = watched.run(FAILURE)
    run = watched.run(STARTING, tags={PROCESS_TAG: dead_mark(before)})
    assert reported(watched) == []
    assert status(watched, run) is STARTING


@pytest.mark.parametrize("mark", [None, "another-host:1:2:{run_id}"])
def test_a_silent_run_that_cannot_be_asked_is_dead_when_nobody_holds_the_state(
    watched: Watched, mark: str | None
) -> None:
    run = watched.run(STARTED)
    if mark:
        marked(watched, run, mark.format(run_id=run.run_id))
    with StateLock(watched.settings.state).holding("codeanatomy build"):
        assert reported(watched, later=2 * UNMARKED_SECONDS) == []
    assert reported(watched) == []
    (told,) = reported(watched, later=2 * UNMARKED_SECONDS)
    assert "and nobody holds the state" in told
    assert status(watched, run) is FAILURE


def test_a_dead_run_whose_children_still_hold_the_state_is_reported_when_they_have_ended(watched: Watched) -> None:
    lock = StateLock(watched.settings.state)
    run = watched.run(STARTED)
    mark = dead_mark(run)
    marked(watched, run, mark)
    with lock.holding("codeanatomy build"):
        signed = lock.path.read_text().replace(f'"pid": {os.getpid()}', f'"pid": {mark.split(":")[1]}')
        lock.path.write_text(signed)
        assert reported(watched) == []
    assert len(reported(watched)) == 1


def test_queued_and_finished_runs_are_none_of_its_business(watched: Watched) -> None:
    runs = [watched.run(each) for each in (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.SUCCESS)]
    assert reported(watched, later=1_000_000) == []
    assert [status(watched, run) for run in runs] == [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.SUCCESS]


@pytest.mark.slow
def test_a_killed_build_is_reported_failed_by_the_next(built: BuiltState) -> None:
    built.repo.commit_files({"m.py": "def f(): ...\n"})
    run_killed(built, Kill("written:cst_defs"))
    with dagster_instance(built.settings) as instance:
        (killed,) = instance.get_runs()
        assert killed.status is STARTED
        built.build()
        found = {run.run_id: run.status for run in instance.get_runs()}
        assert found.pop(killed.run_id) is FAILURE
        assert list(found.values()) == [dg.DagsterRunStatus.SUCCESS]
    assert any(f"run {killed.run_id[:8]} of update_job is reported failed" in line for line in built.progress.lines)

"""The commit sensor: which update it asks for, when it asks again, and why it asks for none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.sensor_definition import SensorExecutionData

from codeanatomy_assets.orchestration import fingerprints, resources
from codeanatomy_assets.orchestration.build import dagster_instance
from codeanatomy_assets.orchestration.catching_up import PAUSES
from codeanatomy_assets.orchestration.partitions import ALL, IMPACTED
from codeanatomy_assets.orchestration.plan import decide
from codeanatomy_assets.orchestration.project import build_definitions
from codeanatomy_assets.orchestration.sensors import INTERVAL_SECONDS, RUN_KEY, commit_sensor
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.orchestration.watched_repositories import Watched, commit_of
from codeanatomy_assets_tests.states import BuiltState

QUEUED, STARTED, CANCELED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELED,
)


@pytest.fixture(scope="module")
def kept_instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dagster_instance(Settings(state=tmp_path_factory.mktemp("instance"))) as instance:
        yield instance


@pytest.fixture
def instance(kept_instance: dg.DagsterInstance) -> dg.DagsterInstance:
    """A stored instance without runs: requests on partitions are resolved only where keys are stored."""
    for run in kept_instance.get_runs():
        kept_instance.delete_run(run.run_id)
    return kept_instance


@pytest.fixture
def watched(tmp_path: Path, instance: dg.DagsterInstance) -> Watched:
    """A repository whose one commit is built."""
    watched = Watched.create(tmp_path, instance)
    watched.built(*watched.commits("first"))
    return watched


def test_a_new_commit_is_asked_for_once(watched: Watched) -> None:
    (second,) = watched.commits("second")
    request = watched.asked()
    assert (commit_of(request), request.partition_key) == (second, IMPACTED)
    assert request.run_key == f"{second}-1"
    assert request.tags["codeanatomy/why"] == "a new commit"
    watched.ran(request)
    assert watched.skipped() == f"{second[:12]} is built: nothing new"


def test_nothing_new_is_skipped_with_the_commit_that_is_built(watched: Watched) -> None:
    assert watched.skipped() == f"{watched.repo.head()[:12]} is built: nothing new"


def test_a_state_without_a_build_is_built_whole_at_head(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    watched = Watched.create(tmp_path, instance)
    _, head = watched.commits("first", "second")
    request = watched.asked()
    assert (commit_of(request), request.partition_key) == (head, ALL)
    assert request.tags["codeanatomy/why"] == "nothing is built yet"


def test_commits_are_built_in_turn_and_none_is_lost(watched: Watched) -> None:
    waiting = watched.commits("second", "third", "fourth")
    seen = []
    for comes in ((), ("fifth",), (), ()):
        request = watched.asked()
        seen.append(commit_of(request))
        waiting += watched.commits(*comes)
        watched.ran(request)
    assert seen == waiting
    assert "nothing new" in watched.skipped()


def test_a_merge_is_one_commit_of_its_branch(watched: Watched) -> None:
    watched.repo.branch("side")
    watched.commits("aside", "farther")
    watched.repo.switch("main")
    (on_main,) = watched.commits("on_main")
    merged = watched.repo.merge("side")
    first, second = watched.asked(), None
    watched.ran(first)
    second = watched.asked()
    assert [commit_of(first), commit_of(second)] == [on_main, merged]


def test_past_the_limit_one_update_covers_the_rest_and_says_so(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    watched = Watched.create(tmp_path, instance, sensor_commits=2)
    watched.built(*watched.commits("first"))
    second, third, _, _, sixth = watched.commits("second", "third", "fourth", "fifth", "sixth")
    requests = []
    for _ in range(3):
        requests.append(watched.asked())
        watched.ran(requests[-1])
    assert [commit_of(request) for request in requests] == [second, third, sixth]
    assert requests[-1].tags["codeanatomy/why"] == "3 commits at once, after 2 in turn"
    assert requests[-1].tags["codeanatomy/commits"] == "3"
    assert "nothing new" in watched.skipped()
    seventh, eighth = watched.commits("seventh", "eighth")
    assert watched.asked_commit() == seventh != eighth


def test_rewritten_history_is_one_update_straight_to_head(watched: Watched) -> None:
    watched.built(*watched.commits("second"))
    watched.repo.run("reset", "--quiet", "--hard", "HEAD~1")
    *_, head = watched.commits("other", "another")
    request = watched.asked()
    assert commit_of(request) == head
    assert "history was rewritten, or another branch is out" in request.tags["codeanatomy/why"]


def test_a_ledger_commit_that_is_gone_from_the_repository_is_one_update_to_head(watched: Watched) -> None:
    watched.built("f" * 40)
    head = watched.commits("second", "third")[-1]
    assert watched.asked_commit() == head


def test_switching_to_and_fro_gets_a_new_key_each_time(watched: Watched) -> None:
    watched.repo.branch("side")
    (side,) = watched.commits("side")
    watched.repo.switch("main")
    (main,) = watched.commits("main")
    keys = []
    for branch in ("side", "main", "side", "main"):
        watched.repo.switch(branch)
        request = watched.asked()
        keys.append(request.run_key)
        watched.ran(request)
    assert [str(key).partition("-")[0] for key in keys] == [side, main, side, main]
    assert len(set(keys)) == 4


def test_a_missing_repository_is_skipped_with_its_path_and_found_again(watched: Watched) -> None:
    (second,) = watched.commits("second")
    away = watched.repo.folder.rename(watched.repo.folder.with_name("away"))
    assert watched.skipped() == f"repository {watched.repo.folder} does not exist: check the path"
    away.rename(watched.repo.folder)
    assert watched.asked_commit() == second


def test_a_folder_that_is_no_repository_is_skipped_with_the_remedy(watched: Watched) -> None:
    shutil.rmtree(watched.repo.folder / ".git")
    assert "is not a git repository" in watched.skipped()


@pytest.mark.parametrize("status", [QUEUED, STARTED])
@pytest.mark.parametrize("job_name", ["update_job", "full_refresh_job", "__ASSET_JOB"])
def test_a_run_that_writes_keeps_the_sensor_waiting(
    watched: Watched, status: dg.DagsterRunStatus, job_name: str
) -> None:
    (second,) = watched.commits("second")
    run = watched.run(status, job_name=job_name)
    assert watched.skipped() == f"run {run.run_id[:8]} of {job_name} is {status.value.lower()}: HEAD waits"
    watched.instance.delete_run(run.run_id)
    assert watched.asked_commit() == second


def test_its_own_run_keeps_it_from_asking_for_the_next(watched: Watched) -> None:
    watched.commits("second", "third")
    watched.run(QUEUED, watched.asked())
    assert "is queued: HEAD waits" in watched.skipped()


@pytest.mark.parametrize("job_name", ["verify_job", "publish_job"])
def test_a_run_that_only_reads_does_not_hold_it_up(watched: Watched, job_name: str) -> None:
    (second,) = watched.commits("second")
    watched.run(STARTED, job_name=job_name)
    assert watched.asked_commit() == second


def test_a_state_in_use_is_skipped_with_the_holders_name(watched: Watched) -> None:
    (second,) = watched.commits("second")
    with StateLock(watched.settings.state).holding("codeanatomy build"):
        assert "the state is in use by codeanatomy build (process" in watched.skipped()
    assert watched.asked_commit() == second


def test_moved_code_is_an_update_at_the_same_commit(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "version", lambda _: "99")
    request = watched.asked()
    assert (commit_of(request), request.partition_key) == (watched.repo.head(), IMPACTED)
    assert request.tags["codeanatomy/why"] == "code or settings of the syntax stage changed"


def test_a_run_of_other_code_than_the_sensors_is_not_asked_for_over_and_over(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other_code:
        other_code.setattr(fingerprints, "version", lambda _: "99")
        watched.built(watched.repo.head())
    request = watched.asked()
    watched.run(dg.DagsterRunStatus.SUCCESS, request)
    assert "reload the code location" in watched.skipped()
    assert "reload the code location" in watched.skipped()
    (second,) = watched.commits("second")
    assert watched.asked_commit() == second


def test_a_failed_update_is_asked_for_three_times_more_with_growing_pauses(watched: Watched) -> None:
    (second,) = watched.commits("second")
    request = watched.asked()
    keys = {request.run_key}
    for pause in PAUSES:
        watched.ran(request, succeeded=False)
        assert "failed, last in run" in watched.skipped()
        watched.now += pause - 1
        assert "it is asked for again in 1 s" in watched.skipped()
        watched.now += 1
        request = watched.asked()
        assert commit_of(request) == second
        keys.add(request.run_key)
    assert len(keys) == 1 + len(PAUSES)
    watched.ran(request, succeeded=False)
    watched.now += 1_000_000
    assert f"the update to {second[:12]} failed 4 times" in watched.skipped()
    assert "when HEAD moves; launch update_job to try now" in watched.skipped()


def given_up(watched: Watched) -> None:
    """The next commit fails as often as it may."""
    for pause in (*PAUSES, 0.0):
        watched.ran(watched.asked(), succeeded=False)
        watched.skipped()
        watched.now += pause


def test_when_head_moves_one_update_goes_past_the_commit_that_failed(watched: Watched) -> None:
    second, _ = watched.commits("second", "third")
    given_up(watched)
    assert f"the update to {second[:12]} failed 4 times" in watched.skipped()
    (fourth,) = watched.commits("fourth")
    request = watched.asked()
    assert commit_of(request) == fourth
    assert request.tags["codeanatomy/why"] == f"3 commits at once: {second[:12]} failed 4 times"
    watched.ran(request)
    assert "nothing new" in watched.skipped()


def test_a_commit_that_was_given_up_is_asked_for_again_by_other_code(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    (second,) = watched.commits("second")
    given_up(watched)
    monkeypatch.setattr(fingerprints, "version", lambda _: "99")
    assert watched.asked_commit() == second


def test_a_given_up_commit_is_asked_for_again_when_head_went_away_and_came_back(watched: Watched) -> None:
    (second,) = watched.commits("second")
    given_up(watched)
    watched.repo.run("checkout", "--quiet", "HEAD~1")
    assert "nothing new" in watched.skipped()
    watched.repo.switch("main")
    assert watched.asked_commit() == second


def test_a_failure_of_one_commit_is_not_held_against_the_next(watched: Watched) -> None:
    second, third = watched.commits("second", "third")
    watched.ran(watched.asked(), succeeded=False)
    watched.skipped()
    watched.built(second)
    assert watched.asked_commit() == third


def test_a_canceled_run_is_asked_for_again_after_a_pause(watched: Watched) -> None:
    (second,) = watched.commits("second")
    watched.run(CANCELED, watched.asked())
    assert "asked for again in 30 s" in watched.skipped()
    watched.now += PAUSES[0]
    assert watched.asked_commit() == second


def test_a_request_that_no_run_came_of_is_made_again_under_a_new_key(watched: Watched) -> None:
    watched.commits("second")
    first, again = watched.asked(), watched.asked()
    assert commit_of(first) == commit_of(again)
    assert first.run_key != again.run_key


@pytest.mark.parametrize("cursor", [None, "", "not ours", '{"head": "abc", "branch": "main"}', "[1]"])
def test_a_cursor_that_was_reset_uses_no_key_twice(watched: Watched, cursor: str | None) -> None:
    watched.commits("second")
    request = watched.asked()
    watched.ran(request, succeeded=False)
    watched.cursor = cursor
    assert watched.asked().run_key not in {None, request.run_key}


def test_commits_that_the_command_built_in_between_are_not_asked_for(watched: Watched) -> None:
    second, third = watched.commits("second", "third")
    watched.ran(watched.asked(), succeeded=False)
    watched.built(second)
    watched.built(third)
    assert "nothing new" in watched.skipped()


def test_an_empty_repository_and_then_all_of_its_commits(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    watched = Watched.create(tmp_path, instance)
    request = watched.asked()
    assert (commit_of(request), request.partition_key) == ("", ALL)
    watched.built("0" * 40)
    assert "nothing new" in watched.skipped()
    first, second = watched.commits("first", "second")
    for commit in (first, second):
        request = watched.asked()
        assert commit_of(request) == commit
        watched.ran(request)


def test_a_state_of_another_repository_is_skipped(watched: Watched, tmp_path: Path) -> None:
    other = Watched.create(tmp_path / "other", watched.instance)
    other.commits("other")
    owner = json.loads((watched.settings.state / "codeanatomy-state.json").read_text())
    (watched.settings.state / "codeanatomy-state.json").write_text(
        json.dumps({**owner, "repository": str(other.repo.folder)})
    )
    assert watched.asked_commit() == other.repo.head(), "the state's own repository counts, not the settings'"


def test_the_sensor_is_on_where_the_settings_say_so_and_looks_every_fifteen_seconds() -> None:
    served, loaded = (commit_sensor(Settings(sensor_on=on)) for on in (True, False))
    assert served.default_status is dg.DefaultSensorStatus.RUNNING
    assert loaded.default_status is dg.DefaultSensorStatus.STOPPED
    assert served.minimum_interval_seconds == INTERVAL_SECONDS == 15


def test_two_commits_in_a_row_are_built_by_what_the_sensor_asks_for(built: BuiltState) -> None:
    built.commit({"pkg/a.py": "def a(): ...\n", "pkg/b.py": "from pkg.a import a\n\na()\n"})
    commits = [built.repo.commit_files({"pkg/a.py": f"def a(x={number}): ...\n"}, "another") for number in range(2)]
    lock = StateLock(built.settings.state)
    project = build_definitions(built.settings, built.progress, lambda: built.engine, lock)
    sensor = project.resolve_sensor_def("commit_sensor")
    with dagster_instance(built.settings) as instance:

        def tick(cursor: str | None) -> SensorExecutionData:
            repository, reference = project.get_repository_def(), instance.get_ref()
            return sensor.evaluate_tick(
                dg.build_sensor_context(instance, cursor, repository_def=repository, instance_ref=reference)
            )

        cursor = None
        for commit in commits:
            looked = tick(cursor)
            assert looked.run_requests, looked.skip_message
            (request,) = looked.run_requests
            result = project.resolve_job_def("update_job").execute_in_process(
                instance=instance,
                partition_key=request.partition_key,
                run_config={**request.run_config, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                tags={**request.tags, RUN_KEY: str(request.run_key)},
            )
            assert result.success
            assert (built.last().commit, built.last().mode) == (commit, "incremental")
            cursor = looked.cursor
        assert "nothing new" in str(tick(cursor).skip_message)
        sequences = [row.commit for row in built.ledger_rows()][1:]
        assert sequences == commits
    assert replace(built.settings, sensor_on=True).result_fingerprint() == built.settings.result_fingerprint()


def test_a_run_that_was_overtaken_while_it_waited_is_told_from_one_that_goes_back(tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "repo")
    first, second, third = (repo.commit_files({"a.py": f"x = {number}\n"}) for number in range(3))
    plan = decide(Settings(repo=repo.folder, state=tmp_path / "state"), first)

    def is_overtaken(target: str, built: str | None) -> bool:
        last = None if built is None else _row(built)
        return resources._is_overtaken(replace(plan, target=replace(plan.target, commit=target), last=last))

    assert is_overtaken(first, second) and is_overtaken(second, third)
    assert not is_overtaken(second, first) and not is_overtaken(second, second) and not is_overtaken(first, None)
    repo.run("reset", "--quiet", "--hard", second)
    assert not is_overtaken(second, third), "HEAD itself went back"


def _row(commit: str) -> LedgerRow:
    return LedgerRow(commit=commit, tree_id=commit, mode="full", attempt=1, state=TableState({}, 1))

"""Recovery: whatever a dead run left, the next one starts from what the ledger says, and repairs once."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from codeanatomy_assets.contracts.table import Column
from codeanatomy_assets.contracts.types import STRING
from codeanatomy_assets.storage import attempts, delta_reads
from codeanatomy_assets.storage.attempts import begin_attempt, clear_work
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets_tests.storage.light_states import LightState
from codeanatomy_assets_tests.storage.odd_rows import EVENTS, FIRST_RULE, SECOND_RULE, THINGS, file_id, thing
from codeanatomy_assets_tests.storage.scratch_tables import new_attempt

BASE = [thing(1), thing(2)]


@pytest.fixture
def state(tmp_path: Path) -> LightState:
    """A state with one commit built."""
    state = LightState(tmp_path / "tables")
    state.build("c1", BASE)
    return state


def test_a_sound_state_is_left_alone(state: LightState) -> None:
    last, version = state.ledger.last(), state.version()
    found = state.begin(new_attempt())
    assert (found.last, found.restored, found.starts_empty) == (last, (), frozenset())
    assert last is not None and found.working == last.state == found.previous
    assert (state.version(), len(state.ledger.rows())) == (version, 1)


def test_a_table_ahead_is_restored_once_and_a_ledger_row_closes_the_repair(state: LightState) -> None:
    first = state.ledger.last()
    state.write([thing(3)], new_attempt("c2"))
    state.write([thing(4)], new_attempt("c2"))

    attempt = new_attempt("c2")
    found = state.begin(attempt)
    assert found.restored == ("things",)
    assert found.starts_empty == frozenset()
    assert state.rows() == BASE
    closing = state.ledger.last()
    assert closing is not None and first is not None and closing == found.last
    assert (closing.mode, closing.commit, closing.sequence, closing.parent) == ("recovery", "c1", 2, None)
    assert closing.attempt == attempt.number and closing.summary["restored"] == ["things"]
    assert closing.state.ref(THINGS).version == 4

    again = state.begin(new_attempt("c2"))
    assert (again.restored, again.last, state.version()) == ((), closing, 4)


def test_after_recovery_the_same_run_can_finish(state: LightState) -> None:
    state.write([thing(3)], new_attempt("c2"))
    attempt = new_attempt("c2")
    state.begin(attempt)
    assert state.write([thing(3)], attempt).owners == {file_id(1), file_id(2), file_id(3)}
    assert state.finish("c2", attempt).sequence == 3
    assert state.rows() == [thing(3)]
    assert state.rows(state.ledger.resolve("c1").state) == BASE


def test_a_run_that_died_while_it_repaired_is_repaired_too(state: LightState) -> None:
    first = state.ledger.last()
    assert first is not None
    state.write([thing(3)], new_attempt("c2"))
    state.store.restore(first.state.ref(THINGS), new_attempt("c2"))
    found = state.begin(new_attempt("c2"))
    assert (found.restored, len(state.ledger.rows()), state.rows()) == (("things",), 2, BASE)


def test_a_first_build_that_died_leaves_empty_tables_behind(tmp_path: Path) -> None:
    state = LightState(tmp_path / "tables")
    state.write(BASE, new_attempt("c1"))
    found = state.begin(new_attempt("c1"))
    assert (found.last, found.restored, found.starts_empty) == (None, ("things",), frozenset({"things"}))
    assert state.rows() == [] == state.rows(found.previous)
    version = state.version()
    assert state.begin(new_attempt("c1")).restored == ()
    assert state.version() == version
    attempt = new_attempt("c1")
    state.begin(attempt)
    state.write(BASE, attempt)
    assert state.finish("c1", attempt).sequence == 1


def test_a_missing_table_starts_empty_where_no_version_can_be_mistaken(state: LightState) -> None:
    lost = state.state.ref(THINGS)
    shutil.rmtree(lost.path)
    attempt = new_attempt("c2")
    found = state.begin(attempt)
    assert (found.starts_empty, found.restored) == (frozenset({"things"}), ())
    assert found.working.ref(THINGS).path != lost.path
    assert found.previous.ref(THINGS) == found.working.ref(THINGS).at(0)
    state.write([thing(7)], attempt)
    state.finish("c2", attempt)
    assert state.begin(new_attempt()).starts_empty == frozenset()
    assert delta_reads.latest_version(state.ledger.resolve("c1").state.ref(THINGS).path) is None


def test_a_table_behind_starts_empty_and_keeps_what_is_left_of_its_history(state: LightState) -> None:
    state.build("c2", [thing(3)])
    behind = Path(state.state.ref(THINGS).path)
    (behind / "_delta_log" / f"{2:020}.json").unlink()
    attempt = new_attempt("c3")
    found = state.begin(attempt)
    assert (found.starts_empty, state.rows()) == (frozenset({"things"}), [])
    state.write([thing(8)], attempt)
    state.write([thing(9)], replace(attempt, number=attempt.number + 1_000_000))
    assert state.rows(state.ledger.resolve("c1").state) == BASE


def test_a_lost_table_beside_one_that_a_dead_run_left_ahead_is_recovered_too(tmp_path: Path) -> None:
    state = LightState(tmp_path / "tables", tables=(THINGS, EVENTS))
    state.build("c1", BASE)
    shutil.rmtree(state.state.ref(EVENTS).path)
    dead = new_attempt("c2")
    state.begin(dead)
    state.write([thing(5)], dead)
    found = state.begin(new_attempt("c2"))
    assert (found.restored, found.starts_empty) == (("things",), frozenset({EVENTS.name}))
    assert state.rows() == LightState.rows(state, state.ledger.resolve("c1").state)
    assert state.begin(new_attempt("c2")).restored == ()


def test_a_dataset_that_the_ledger_does_not_know_starts_empty(state: LightState) -> None:
    state.tables = (THINGS, EVENTS)
    found = state.begin(new_attempt())
    assert (found.starts_empty, found.restored) == (frozenset({"inc_events"}), ())
    assert found.working.ref(EVENTS).version == 0
    assert state.rows() == BASE


def test_rows_that_a_dead_run_left_in_a_dataset_unknown_to_the_ledger_are_gone(state: LightState) -> None:
    state.tables = (THINGS, EVENTS)
    state.begin(new_attempt())
    state.write([{"commit": "c2", "file_id": file_id(1), "text": None}], new_attempt("c2"), EVENTS)
    found = state.begin(new_attempt())
    assert (found.starts_empty, found.restored) == (frozenset({"inc_events"}), ("inc_events",))
    assert state.rows(table=EVENTS) == []


def test_a_shared_table_is_emptied_of_all_its_datasets(tmp_path: Path) -> None:
    state = LightState(tmp_path / "tables", tables=(FIRST_RULE, SECOND_RULE))
    state.write([{"file_id": file_id(1), "rule": "rel_second", "src_id": "s"}], new_attempt(), SECOND_RULE)
    found = state.begin(new_attempt())
    assert found.restored == ("rel_all",)
    assert state.rows(table=SECOND_RULE) == []


def test_another_bucket_count_starts_empty_beside_the_old_table_and_is_told_against_it(state: LightState) -> None:
    old = state.state
    attempt = new_attempt("c2")
    found = state.begin(attempt, buckets=8)
    assert (found.starts_empty, found.working.buckets) == (frozenset({"things"}), 8)
    assert found.previous.ref(THINGS) == old.ref(THINGS)
    state.write([thing(5)], attempt)
    state.finish("c2", attempt)
    assert state.rows(state.ledger.resolve("c1").state) == BASE

    back = state.begin(new_attempt("c3"), buckets=2)
    assert (back.restored, state.rows()) == (("things",), [])
    assert state.rows(state.ledger.resolve("c1").state) == BASE


def test_another_schema_starts_empty_and_is_not_told_against_columns_that_it_has_not(state: LightState) -> None:
    wider = replace(
        THINGS,
        schema_version=THINGS.schema_version + 1,
        columns=(*THINGS.columns, Column("more", STRING, "New.", True)),
    )
    found = attempts.recover(state.store, state.ledger, [wider], new_attempt("c2"))
    assert found.starts_empty == {"things"}
    assert found.previous.ref(wider) == found.working.ref(wider)
    assert delta_reads.read_light(found.previous, wider).num_rows == 0
    # A commit that was built before can still be read: what came later is null there.
    built = state.ledger.resolve("c1").state
    assert [row["more"] for row in delta_reads.read_light(built, wider).to_pylist()] == [None] * len(BASE)
    assert sum(batch.num_rows for batch in delta_reads.stream(built, wider)) == len(BASE)


def test_an_attempt_number_never_comes_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = StateFolder(tmp_path)
    numbers = [begin_attempt(folder, "c", "update").number for _ in range(3)]
    shutil.rmtree(folder.attempts)
    numbers.append(begin_attempt(folder, "c", "update").number)
    monkeypatch.setattr("time.time_ns", lambda: 1_000)
    numbers.append(begin_attempt(folder, "c", "update").number)
    assert numbers == sorted(set(numbers))
    told = json.loads((folder.attempts / f"{numbers[-1]}.json").read_text())
    assert told["commit"] == "c" and told["run"] == "update"


def test_the_records_of_old_attempts_are_dropped(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    for _ in range(attempts.KEPT_ATTEMPTS + 5):
        last = begin_attempt(folder, "c", "update")
    kept = sorted(int(path.stem) for path in folder.attempts.glob("*.json"))
    assert len(kept) == attempts.KEPT_ATTEMPTS + 1 and kept[-1] == last.number


def test_scratch_files_of_a_dead_run_are_removed(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    clear_work(folder)
    (folder.work / "sources").mkdir(parents=True)
    clear_work(folder)
    assert not folder.work.exists()

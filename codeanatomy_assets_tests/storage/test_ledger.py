"""The ledger: commits resolve to versions, and a row is written by compare-and-set or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.storage import delta_reads, ledger
from codeanatomy_assets.storage.delta_store import Attempt
from codeanatomy_assets.storage.ledger import LedgerMoved, LedgerRow
from codeanatomy_assets_tests.storage.light_states import LightState
from codeanatomy_assets_tests.storage.odd_rows import THINGS, as_bag, thing
from codeanatomy_assets_tests.storage.scratch_tables import new_attempt

FIRST, SECOND, OTHER = "abcd1" + "0" * 35, "abcd2" + "0" * 35, "f00d" + "0" * 36


@pytest.fixture
def state(tmp_path: Path) -> LightState:
    return LightState(tmp_path / "tables")


def test_a_built_commit_resolves_by_name_and_by_abbreviation(state: LightState) -> None:
    rows = [state.build(commit, [thing(1, text=commit)]) for commit in (FIRST, SECOND, OTHER)]
    assert [row.sequence for row in state.ledger.rows()] == [1, 2, 3]
    assert [row.parent for row in state.ledger.rows()] == [None, FIRST, SECOND]
    assert state.ledger.resolve(None) == rows[2] == state.ledger.last()
    assert state.ledger.resolve(FIRST) == rows[0] == state.ledger.resolve("abcd1")
    assert as_bag(state.rows(state.ledger.resolve("abcd2").state)) == as_bag([thing(1, text=SECOND)])


def test_a_commit_built_twice_resolves_to_its_newest_row(state: LightState) -> None:
    state.build(FIRST, [thing(1)])
    state.build(SECOND, [thing(2)])
    again = state.build(FIRST, [thing(1)])
    assert state.ledger.resolve(FIRST) == again
    assert again.parent == SECOND


@pytest.mark.parametrize(
    ("commit", "told"),
    [
        ("abcd", rf"abcd is ambiguous in the ledger: give more digits of one of {FIRST}, {SECOND}"),
        ("abc", "commit abc is not built: `codeanatomy status` lists those that are"),
        ("dead" * 10, "is not built: `codeanatomy status` lists"),
        ("", "is not built"),
    ],
)
def test_a_commit_that_cannot_be_resolved_is_bad_input_with_a_remedy(state: LightState, commit: str, told: str) -> None:
    state.build(FIRST, [thing(1)])
    state.build(SECOND, [thing(1)])
    with pytest.raises(BadInput, match=told):
        state.ledger.resolve(commit)


def test_before_the_first_build_every_commit_is_bad_input(state: LightState) -> None:
    assert state.ledger.last() is None
    assert state.ledger.rows() == []
    for commit in (None, FIRST):
        with pytest.raises(BadInput, match=r"nothing is built in .*: run `codeanatomy build REPO` first"):
            state.ledger.resolve(commit)


def test_of_two_rows_with_one_predecessor_the_second_is_refused(state: LightState) -> None:
    first = state.build(FIRST, [thing(1)])
    state.ledger.append(state.row(SECOND, new_attempt()), first, new_attempt())
    with pytest.raises(LedgerMoved, match="the ledger moved to row 2"):
        state.ledger.append(state.row(OTHER, new_attempt()), first, new_attempt())
    with pytest.raises(LedgerMoved, match="the ledger moved to row 2"):
        state.ledger.append(state.row(OTHER, new_attempt()), None, new_attempt())
    assert [row.commit for row in state.ledger.rows()] == [FIRST, SECOND]


def test_a_row_that_comes_in_between_is_noticed(state: LightState, monkeypatch: pytest.MonkeyPatch) -> None:
    first = state.build(FIRST, [thing(1)])

    def after_somebody_else(handle: Any, *arguments: Any, **options: Any) -> None:
        monkeypatch.undo()
        state.ledger.append(state.row(SECOND, new_attempt()), first, new_attempt())
        write_deltalake(handle, *arguments, **options)

    monkeypatch.setattr(ledger, "write_deltalake", after_somebody_else)
    with pytest.raises(LedgerMoved, match="another run wrote the ledger"):
        state.ledger.append(state.row(OTHER, new_attempt()), first, new_attempt())
    assert [row.commit for row in state.ledger.rows()] == [FIRST, SECOND]


def test_no_row_is_written_over_a_table_that_moved(state: LightState) -> None:
    first = state.build(FIRST, [thing(1)])
    attempt = new_attempt()
    row = state.row(SECOND, attempt)
    state.write([thing(2)], new_attempt())
    with pytest.raises(LedgerMoved, match="things is at version 2, this run left it at 1"):
        state.ledger.append(row, first, attempt)
    with pytest.raises(LedgerMoved, match="things has commits of attempt-"):
        state.ledger.append(state.row(SECOND, attempt), first, attempt)
    assert state.ledger.last() == first


def test_a_row_survives_the_trip_to_disk_whole(state: LightState) -> None:
    attempt = Attempt(7, FIRST)
    written = LedgerRow(
        commit=FIRST,
        tree_id="t",
        mode="full",
        attempt=7,
        state=state.state,
        counts={"things": 3},
        fingerprints={"syntax": "é"},
        summary={"nested": [{"a": None}], "text": "日本"},
    )
    placed = state.ledger.append(written, None, attempt)
    assert state.ledger.last() == placed
    assert placed.summary == written.summary and placed.state == state.state


def test_the_state_can_move_to_another_folder(state: LightState, tmp_path: Path) -> None:
    state.build(FIRST, [thing(1)])
    shutil.move(tmp_path / "tables", tmp_path / "elsewhere")
    moved = LightState(tmp_path / "elsewhere")
    found = moved.ledger.resolve(FIRST)
    assert found.state.ref(THINGS).path.startswith(str(tmp_path / "elsewhere"))
    assert delta_reads.read_light(found.state, THINGS).num_rows == 1

"""What the crash matrix holds, and what a crash site takes for a kill at the place it was meant for."""

from __future__ import annotations

from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES
from codeanatomy_assets_tests.crashes.crash_site import Kill
from codeanatomy_assets_tests.crashes.killed_command import ALONE, GROUP
from codeanatomy_assets_tests.crashes.matrix import kills

INSIDE = Kill("inside:syntax", delay=0.5)


def test_a_kill_while_the_stage_is_at_work_fell_inside() -> None:
    assert INSIDE.fell_where_meant(["in repository", "after repository", "in syntax", "killed at inside:syntax"])


def test_a_kill_when_the_stage_is_over_did_not_fall_inside() -> None:
    assert not INSIDE.fell_where_meant(["in syntax", "after syntax", "killed at inside:syntax"])
    assert not INSIDE.fell_where_meant(["in syntax", "after syntax", "in symbols", "killed at inside:syntax"])


def test_a_command_that_was_not_killed_did_not_fall_inside() -> None:
    assert not INSIDE.fell_where_meant([])


def test_other_places_are_met_by_dying_there() -> None:
    assert Kill("before_ledger").fell_where_meant(["killed at before_ledger"])


def test_the_matrix_kills_forty_groups_and_moves_head_in_half_of_all_kills() -> None:
    listed = kills()
    assert sum(kill.mode == GROUP for kill in listed) >= 40
    assert 2 * sum(kill.head_moves for kill in listed) >= len(listed)
    assert {(kill.mode, kill.head_moves) for kill in listed} == {
        (mode, moves) for mode in (GROUP, ALONE) for moves in (True, False)
    }


def test_the_matrix_kills_a_group_at_both_borders_and_inside_of_every_stage() -> None:
    grouped = {kill.place for kill in kills() if kill.mode == GROUP}
    alone = {kill.place for kill in kills() if kill.mode == ALONE}
    for stage in BUILT_STAGES:
        assert f"inside:{stage.value}" in grouped
        assert {f"before:{stage.value}", f"after:{stage.value}"} & grouped
    assert any(place.startswith("inside:") for place in alone)

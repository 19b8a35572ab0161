"""Builds killed for real, at the worst moments: the next one ends right, with no manual repair."""

from __future__ import annotations

import pytest

from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.crashes.crash_site import CrashSite, Kill
from codeanatomy_assets_tests.crashes.killed_command import ALONE, GROUP, LIGHT, SPARK

pytestmark = pytest.mark.slow

# On a busy machine a writer may name its data files before its death comes.
MOST_TRIES = 3
BEFORE_THE_LEDGER_ROW = (
    Kill("written:cst_callsites", GROUP),
    Kill("data_files:cst_name_refs", ALONE, LIGHT, head_moves=True),
    Kill("data_files:relationships", GROUP, SPARK),
    Kill("data_files:cpg_edges", ALONE, SPARK, head_moves=True),
    Kill("restored_one", GROUP, LIGHT, earlier="before_ledger"),
    Kill("before_ledger", ALONE, LIGHT, head_moves=True),
)


@pytest.fixture(scope="module")
def site(engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> CrashSite:
    """One state that goes through all of it."""
    return CrashSite.create(tmp_path_factory.mktemp("crashes"), engine, "tests")


@pytest.mark.parametrize("kill", BEFORE_THE_LEDGER_ROW, ids=lambda kill: kill.name)
def test_a_killed_update_is_repaired_once_and_the_next_builds_are_right(site: CrashSite, kill: Kill) -> None:
    is_between = kill.place.startswith("data_files") and (kill.mode == GROUP or kill.way == LIGHT)
    for _ in range(MOST_TRIES):
        outcome = site.suffer(kill)
        print(outcome)
        assert outcome.wrong == []
        if not is_between or outcome.unnamed_data_files:
            break
    if kill.place != "data_files:cpg_edges":
        assert not outcome.is_commit_built
    if is_between:
        assert outcome.unnamed_data_files, "the kill came too late to be between data files and log entry"
    else:
        assert outcome.restored
    if kill.place == "data_files:relationships":
        assert outcome.reasons_found_again, "the kill came before the impact stage was done"


@pytest.mark.parametrize("place", ["after_ledger", "before_events"])
def test_a_commit_is_built_from_its_ledger_row_on(site: CrashSite, place: str) -> None:
    outcome = site.suffer(Kill(place, GROUP))
    assert outcome.wrong == []
    assert (outcome.is_commit_built, outcome.restored) == (True, 0)


def test_a_first_build_that_was_killed_starts_over(site: CrashSite) -> None:
    outcome = site.suffer(Kill("written:cst_defs", ALONE, is_first_build=True))
    assert outcome.wrong == []
    assert site.built.last().mode == "full"

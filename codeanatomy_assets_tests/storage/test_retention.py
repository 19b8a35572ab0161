"""Retention: which rows of the ledger are kept, at the borders of count, age and grace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.retention import Retention
from codeanatomy_assets.storage.table_state import TableState

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
NOTHING = TableState({}, 1)


def rows(*told: tuple[str, float]) -> list[LedgerRow]:
    """Rows of these commits, each built so many hours ago."""
    return [
        LedgerRow(commit, "", "full", 1, NOTHING, sequence=number, built_at=(NOW - timedelta(hours=hours)).isoformat())
        for number, (commit, hours) in enumerate(told, start=1)
    ]


def kept_from(told: list[LedgerRow], commits: int = 0, days: float = 0, grace_hours: float = 0) -> int:
    return Retention(commits, days, grace_hours).kept_from(told, NOW)


LONG_AGO = rows(("a", 900), ("b", 800), ("c", 700), ("d", 600))


@pytest.mark.parametrize(("commits", "first"), [(1, 4), (2, 3), (3, 2), (4, 1), (9, 1)])
def test_the_last_commits_are_kept(commits: int, first: int) -> None:
    assert kept_from(LONG_AGO, commits=commits) == first


def test_the_last_row_is_always_kept() -> None:
    assert kept_from(LONG_AGO) == 4
    assert kept_from(LONG_AGO[:1]) == 1


def test_a_commit_that_was_built_again_counts_once_and_by_its_newest_row() -> None:
    told = rows(("a", 900), ("b", 800), ("a", 700), ("c", 600), ("c", 500))
    assert [kept_from(told, commits=number) for number in (1, 2, 3)] == [5, 3, 2]


def test_what_is_younger_than_the_days_is_kept_whatever_its_number() -> None:
    told = rows(("a", 24.1), ("b", 24), ("c", 23.9), ("d", 1))
    assert kept_from(told, days=1) == 3
    assert kept_from(told, commits=1, days=1) == 3
    assert kept_from(told, commits=3, days=1) == 2


def test_what_was_the_state_within_the_grace_is_kept() -> None:
    told = rows(("a", 50), ("b", 40), ("c", 0.5), ("d", 0.1))
    assert kept_from(told, commits=1) == 4
    assert kept_from(told, commits=1, grace_hours=0.2) == 3
    assert kept_from(told, commits=1, grace_hours=1) == 2
    assert kept_from(told, commits=1, grace_hours=41) == 1


def test_a_clock_that_was_set_back_keeps_more_never_less() -> None:
    told = rows(("a", 50), ("b", 2), ("c", 30), ("d", 29))
    assert kept_from(told, days=1) == 2

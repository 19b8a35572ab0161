"""Retention: which rows of the ledger stay readable. Those from one on are kept, never a choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from codeanatomy_assets.storage.ledger import LedgerRow


@dataclass(frozen=True)
class Retention:
    """How much history is kept: a row that any of the three keeps, stays.

    `grace_hours` is for readers: what was the state that recently may still be read by somebody, and no file
    that young is deleted.
    """

    commits: int
    days: float
    grace_hours: float

    def kept_from(self, rows: Sequence[LedgerRow], now: datetime) -> int:
        """The number of the oldest row that is kept, of rows in the ledger's order."""
        kept = (self._by_count(rows), self._by_age(rows, now), self._by_grace(rows, now))
        return min(kept)

    def young_since(self, now: datetime) -> datetime:
        return now - timedelta(hours=self.grace_hours)

    def _by_count(self, rows: Sequence[LedgerRow]) -> int:
        """The newest row of each of the last commits: what an older row of the same commit says, nobody asks for."""
        newest = sorted({row.commit: row.sequence for row in rows}.values())
        return newest[-max(self.commits, 1) :][0]

    def _by_age(self, rows: Sequence[LedgerRow], now: datetime) -> int:
        since = now - timedelta(days=self.days)
        return next((row.sequence for row in rows if _time(row) > since), rows[-1].sequence)

    def _by_grace(self, rows: Sequence[LedgerRow], now: datetime) -> int:
        """A row was the state until the next one was written."""
        since = self.young_since(now)
        return next((row.sequence for row, following in pairwise(rows) if _time(following) > since), rows[-1].sequence)


def _time(row: LedgerRow) -> datetime:
    return datetime.fromisoformat(row.built_at)

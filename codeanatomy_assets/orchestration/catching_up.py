"""Catching up with a repository: which update comes next, and when one that failed is asked for again.

The sensor and `codeanatomy watch` share this. What is built is the ledger's to say; a loop only
remembers what it asked for last.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Self

from codeanatomy_assets.extraction.git_history import GitRepository
from codeanatomy_assets.extraction.private_store import NO_COMMIT
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import Plan

# Seconds before an update that failed is asked for again; after the last it waits for another HEAD.
PAUSES = (30.0, 120.0, 600.0)


@dataclass(frozen=True)
class Step:
    """One update to be made: the commit, why that one, how many commits it covers, and the turns taken with it."""

    commit: str
    why: str
    commits: int = 1
    in_turn: int = 0


@dataclass(frozen=True)
class Memory:
    """What a loop asked for last, and how that ended. `asked` counts all requests: no two have one key."""

    asked: int = 0
    commit: str = ""
    head: str = ""
    sequence: int = 0
    code: str = ""
    is_open: bool = False
    run: str = ""
    failures: int = 0
    failed_at: float = 0.0
    in_turn: int = 0

    @classmethod
    def read(cls, text: str | None) -> Self:
        """As it was written; text that somebody else wrote is forgotten."""
        try:
            return cls(**json.loads(text or "{}"))
        except (ValueError, TypeError):
            return cls()

    def text(self) -> str:
        return json.dumps(asdict(self))

    @property
    def key(self) -> str:
        return f"{self.commit}-{self.asked}"

    def asking(self, step: Step, plan: Plan) -> Self:
        """This step is asked for now."""
        same = self._is_about(step, plan)
        return replace(
            self,
            asked=self.asked + 1,
            commit=step.commit,
            head=plan.target.commit,
            sequence=_sequence(plan),
            code=_code(plan),
            is_open=True,
            run="",
            failures=self.failures if same else 0,
            failed_at=self.failed_at if same else 0.0,
            in_turn=step.in_turn,
        )

    def done(self) -> Self:
        """The update that was asked for last ended well."""
        return replace(self, is_open=False, failures=0)

    def failed(self, run: str, now: float) -> Self:
        return replace(self, is_open=False, run=run, failures=self.failures + 1, failed_at=now)

    def lost(self) -> Self:
        """Nobody knows of the update that was asked for last: it never came about."""
        return replace(self, is_open=False, commit="")

    def at_rest(self) -> Self:
        """HEAD is built: turns and failures are of the past."""
        return type(self)(asked=self.asked)

    def why_not_now(self, step: Step, plan: Plan, now: float) -> str | None:
        """Why this step, asked for before, is not asked for now."""
        if not self._is_about(step, plan):
            return None
        if self.failures == 0:
            if self.sequence != _sequence(plan):
                return None
            return (
                f"an update to {short(step.commit)} ended without building it: this process has other code or settings "
                "than the runs, reload the code location"
            )
        if self.failures > len(PAUSES):
            return (
                f"the update to {short(step.commit)} failed {self.failures} times{self._last_run}: it is asked for "
                "again when HEAD moves; launch update_job to try now"
            )
        left = self.failed_at + PAUSES[self.failures - 1] - now
        if left <= 0:
            return None
        return f"the update to {short(step.commit)} failed{self._last_run}: it is asked for again in {left:.0f} s"

    def gave_up_on(self, step: Step, plan: Plan) -> bool:
        """Whether HEAD has moved on from a commit that failed as often as it may."""
        return (
            self._is_about(step, plan)
            and self.failures > len(PAUSES)
            and plan.target.commit not in (self.head, step.commit)
        )

    def _is_about(self, step: Step, plan: Plan) -> bool:
        return self.commit == step.commit and self.code == _code(plan)

    @property
    def _last_run(self) -> str:
        return f", last in run {self.run}" if self.run else ""


def next_step(plan: Plan, memory: Memory, limit: int) -> Step:
    """The update that brings the state nearer to the plan's target, which is not built.

    Commits of HEAD's own line are built in turn, `limit` of them at most; one update covers what is left.
    """
    head, last, repository = plan.target.commit, plan.last, plan.target.repository
    if last is None:
        return Step(head, "nothing is built yet")
    if repository is None:
        return Step(head, "the folder's files changed")
    if last.commit == head:
        return Step(head, _why_again(plan))
    line = commits_between(repository, last.commit, head)
    if not line:
        return Step(head, f"{short(last.commit)} is not below HEAD: history was rewritten, or another branch is out")
    step = Step(line[0], f"next of {len(line)} commits", 1, memory.in_turn + 1)
    if len(line) == 1:
        return replace(step, why="a new commit")
    if memory.gave_up_on(step, plan):
        return Step(head, f"{len(line)} commits at once: {short(line[0])} failed {memory.failures} times", len(line))
    if memory.in_turn >= limit:
        return Step(head, f"{len(line)} commits at once, after {limit} in turn", len(line))
    return step


def commits_between(repository: GitRepository, base: str, head: str) -> list[str]:
    """The commits of head's own line after the base, oldest first; none when the base is not below head."""
    if head == NO_COMMIT:
        return []
    if base == NO_COMMIT:
        return repository.first_parent_commits(None, head)
    return repository.first_parent_commits(base, head) if repository.is_ancestor(base, head) else []


def _why_again(plan: Plan) -> str:
    if plan.moved:
        return f"code or settings of the {plan.moved[0]} stage changed"
    return "a table is lost"


def _sequence(plan: Plan) -> int:
    return plan.last.sequence if plan.last else 0


def _code(plan: Plan) -> str:
    return hashlib.sha256(json.dumps(plan.fingerprints, sort_keys=True).encode()).hexdigest()[:12]

"""The stages of a run: each computes the rows of its datasets and writes them, and they are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.checks import Violation
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.checking import IntegrityBroken, violations
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES
from codeanatomy_assets.orchestration.progress import timed
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage.delta_store import Written


@dataclass(frozen=True)
class Produced:
    """What a stage did for one dataset: `written` is None for one that this run left as it is."""

    table: Table
    written: Written | None = None


Body = Callable[[WritingRun, Sequence[Table]], Iterator[Produced]]
BODIES: dict[Stage, Body] = {}


def run_stage(run: WritingRun, stage: Stage, tables: Sequence[Table]) -> tuple[list[Produced], list[Violation]]:
    """Compute datasets of a stage and check what was written of them."""
    with timed(run.seconds, stage.value):
        produced = list(BODIES[stage](run, tables))
    with timed(run.seconds, "checks"):
        broken = violations(run, stage, [done.table for done in produced])
    run.done.add(stage)
    return produced, broken


def rebuild_downstream(run: WritingRun, stage: Stage, produced: Sequence[Produced]) -> None:
    """Compute what later stages have of the files whose slices differed: they were made from other rows."""
    written = [done.written for done in produced if done.written is not None and done.table.bucketed]
    run.chosen = frozenset[str]().union(*(each.owners for each in written))
    for later in BUILT_STAGES[BUILT_STAGES.index(stage) + 1 :]:
        _, broken = run_stage(run, later, catalog.of_stage(later))
        if broken:
            raise IntegrityBroken(broken)

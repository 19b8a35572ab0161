"""The contracts' checks over what a stage wrote: in memory for a small update, as SQL without a JVM for a large one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from codeanatomy_assets.contracts.checks import Violation
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.orchestration import checking_few, checking_many
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.transforms import checks_light

# Up to here rows are judged in memory; SQL has its price for each question, and takes less for each row.
MOST_FILES_IN_MEMORY = 1_000
MOST_ROWS_IN_MEMORY = 100_000


class IntegrityBroken(CodeAnatomyError):
    """Rows that break what the contracts promise: the commit is not closed, the state stays as it was."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        first = violations[0]
        more = f", and {len(violations) - 1} more checks" if len(violations) > 1 else ""
        super().__init__(
            f"{first.table}: check {first.check} is broken by {first.rows} rows, e.g. {first.example}{more}: nothing "
            "was published, the last commit stays readable. This is a fault of the program: report it with the commit"
        )
        self.violations = list(violations)


def violations(run: WritingRun, stage: Stage, tables: Iterable[Table]) -> list[Violation]:
    """What is broken in the slices that this run wrote of these datasets."""
    written = {table: run.written[table.name].owners for table in _stored(stage, tables) if table.name in run.written}
    told = [table for table, owners in written.items() if owners and not table.bucketed]
    of_commit = [each for table in told for each in checks_light.row_offences(table, _of_commit(run, table), {})]
    of_files = {table: owners for table, owners in written.items() if owners and table.bucketed}
    return [*checks_light.violations(of_commit), *_of_files(run, stage, of_files)]


def _of_commit(run: WritingRun, table: Table) -> pa.Table:
    return run.read_light(table, (run.commit,))


def _of_files(run: WritingRun, stage: Stage, written: dict[Table, frozenset[str]]) -> list[Violation]:
    if not written:
        return []
    rows = sum(run.written[table.name].rows for table in written)
    if max(map(len, written.values())) <= MOST_FILES_IN_MEMORY and rows <= MOST_ROWS_IN_MEMORY:
        return checks_light.violations(checking_few.offences(run, stage, written))
    return checking_many.violations(run, stage, written)


def _stored(stage: Stage, tables: Iterable[Table]) -> list[Table]:
    """The datasets as they are written: those of the rules together."""
    return [ALL_RULES, *tables] if stage is Stage.RELATIONSHIPS else list(tables)

"""Checks that inform and block nothing: what a person would want to hear about a commit that was built all right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import dagster as dg

from codeanatomy_assets.contracts import graph
from codeanatomy_assets.contracts.ledger import GRAPH_COMMITS
from codeanatomy_assets.contracts.symbols import SCIP_FINGERPRINTS
from codeanatomy_assets.contracts.syntax import PARSE_ERRORS
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.orchestration.catching_up import commits_between
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import Plan, Target, find_target, open_ledger
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.rules import registry
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.table_state import TableState

CALLS = registry.rule("rel_calls").table
# Points of a share: one file of calls without a target is no news in a large repository.
TOLERATED_RISE = 0.005
AT_HEAD = "at_head"
AT_HEAD_DOC = "The graph is of the repository's HEAD: told by every update, and by the sensor when HEAD moves."


@dataclass(frozen=True)
class Told:
    """A check's answer: whether all is well, in a sentence, and the figures behind it."""

    passed: bool
    sentence: str
    figures: dict[str, int | float]


@dataclass(frozen=True)
class InformingCheck:
    """One check of a dataset against the commit built before."""

    table: Table
    name: str
    doc: str
    look: Callable[[WritingRun], Told]

    @property
    def spec(self) -> dg.AssetCheckSpec:
        return dg.AssetCheckSpec(self.name, asset=self.table.name, description=self.doc)

    def result(self, run: WritingRun) -> dg.AssetCheckResult:
        return _result(self.table, self.name, self.look(run))


def checks_for(table: Table) -> Iterator[InformingCheck]:
    return (check for check in CHECKS if check.table == table)


def _unresolved_calls(run: WritingRun) -> Told:
    before, now = (_unresolved_share(state, run) for state in (run.previous, run.state))
    if before is None or now is None:
        return Told(True, "There is no commit before to compare with.", {"share": now or 0.0})
    rose = now - before > TOLERATED_RISE
    sentence = f"{now:.1%} of the calls lead to no known target, {before:.1%} did at the commit before."
    return Told(not rose, sentence, {"share": now, "share_before": before})


def _unresolved_share(state: TableState, run: WritingRun) -> float | None:
    opened = delta_reads.open_table(state.ref(CALLS), run.store.options)
    sql = f"SELECT count(*) AS n, count(dst_id) AS resolved FROM t WHERE rule = '{CALLS.name}'"
    counted = delta_reads.query(opened, sql).to_pylist()[0]
    return 1 - counted["resolved"] / counted["n"] if counted["n"] else None


def _parse_errors(run: WritingRun) -> Told:
    return _fewer(run, PARSE_ERRORS, "true", "parse errors")


def _not_indexed(run: WritingRun) -> Told:
    return _fewer(run, SCIP_FINGERPRINTS, "failure IS NOT NULL", "files that could not be indexed")


def _of_head(run: WritingRun) -> Told:
    return _head_told(run.settings, run.commit)


def _head_told(settings: Settings, built: str | None) -> Told:
    """What can't be told now is no failure of the update."""
    if settings.worktree:
        return Told(True, "The graph is of the folder as this update found it.", {})
    try:
        return at_head(find_target(settings, None), built)
    except CodeAnatomyError as error:
        return Told(False, f"HEAD can't be told: {error}", {})


def _fewer(run: WritingRun, table: Table, where: str, what: str) -> Told:
    before, now = (_count(state, table, where, run) for state in (run.previous, run.state))
    is_first = run.last is None
    sentence = f"{now} {what}" + ("." if is_first else f", {before} at the commit before.")
    return Told(is_first or now <= before, sentence, {"rows": now, "rows_before": before})


def _count(state: TableState, table: Table, where: str, run: WritingRun) -> int:
    opened = delta_reads.open_table(state.ref(table), run.store.options)
    return int(delta_reads.query(opened, f"SELECT count(*) AS n FROM t WHERE {where}").column("n")[0].as_py())


CHECKS = (
    InformingCheck(
        CALLS,
        "unresolved_calls",
        f"The share of calls without a known target rose by no more than {TOLERATED_RISE:.1%} since the commit before.",
        _unresolved_calls,
    ),
    InformingCheck(PARSE_ERRORS, "no_new_parse_errors", "No more parse errors than the commit before.", _parse_errors),
    InformingCheck(
        SCIP_FINGERPRINTS,
        "no_new_failures",
        "No more files that could not be indexed than at the commit before.",
        _not_indexed,
    ),
    *(InformingCheck(table, AT_HEAD, AT_HEAD_DOC, _of_head) for table in graph.TABLES),
)


def at_head_spec() -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(AT_HEAD, asset=GRAPH_COMMITS.name, description=AT_HEAD_DOC)


def at_head(target: Target, built: str | None) -> Told:
    """Whether the commit that is built is the target, which is HEAD, and how far behind it is."""
    head = target.commit
    if built == head:
        return Told(True, f"The graph is of HEAD, {short(head)}.", {"commits_behind": 0})
    if built is None or target.repository is None:
        return Told(False, f"HEAD is {short(head)} and is not built.", {})
    behind = len(commits_between(target.repository, built, head))
    told = f"{behind} commits behind" if behind else "on another line than"
    return Told(False, f"The graph is of {short(built)}, {told} HEAD, {short(head)}.", {"commits_behind": behind})


def at_head_result(settings: Settings) -> dg.AssetCheckResult:
    """Told when the row is written."""
    last = open_ledger(settings).last()
    return _result(GRAPH_COMMITS, AT_HEAD, _head_told(settings, last.commit if last else None))


def at_head_evaluations(plan: Plan) -> list[dg.AssetCheckEvaluation]:
    """The same of the ledger and of the graph's datasets, for who is in no run and knows the plan."""
    told = at_head(plan.target, plan.last.commit if plan.last else None)
    return [
        dg.AssetCheckEvaluation(
            asset_key=dg.AssetKey(table.name),
            check_name=AT_HEAD,
            passed=told.passed,
            severity=dg.AssetCheckSeverity.WARN,
            description=told.sentence,
            metadata={name: dg.MetadataValue.int(int(value)) for name, value in told.figures.items()},
        )
        for table in (GRAPH_COMMITS, *graph.TABLES)
    ]


def _result(table: Table, name: str, told: Told) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=told.passed,
        asset_key=table.name,
        check_name=name,
        severity=dg.AssetCheckSeverity.WARN,
        description=told.sentence,
        metadata=dict(told.figures),
    )

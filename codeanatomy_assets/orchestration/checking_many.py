"""The checks of many files: questions that delta-rs's engine answers with counts, whatever the size of the tables.

Spark took more than half of a large build's time for the same checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from codeanatomy_assets.contracts.checks import Violation, border_checks
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.graph_props import prop_problem
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.table import BUCKET, Stage, Table
from codeanatomy_assets.orchestration.checking_few import contents_of
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets.transforms import checks_light, checks_sql
from codeanatomy_assets.transforms.checks_sql import Question

Ask = Callable[[str], pa.Table]
# The tables that questions name, beside the dataset itself.
NAMED = {"snapshot": REPO_SNAPSHOT, "nodes": CPG_NODES, "edges": CPG_EDGES}


def violations(run: WritingRun, stage: Stage, written: dict[Table, frozenset[str]]) -> list[Violation]:
    """What is broken in these files' slices of these datasets."""
    found: list[Violation] = []
    for table, owners in written.items():
        where, ask = _where(run, table, owners), partial(_asked, run, table)
        questions = [checks_sql.row_question(table, where), checks_sql.key_question(table, where)]
        if table == CPG_EDGES:
            questions.append(checks_sql.edge_question(where))
        if table == CPG_PROPS:
            questions.append(checks_sql.prop_question(where))
            found += of_types(ask(checks_sql.distinct_props(where)))
        found += [each for question in questions if question for each in answers(ask, question)]
    found += checks_light.violations(_off_borders(run, written))
    if stage is Stage.GRAPH and CPG_NODES in written and run.mode != "full":
        found += answers(partial(_asked, run, CPG_EDGES), checks_sql.removed_end_question())
    return sorted(found, key=lambda violation: (violation.table, violation.check))


def _where(run: WritingRun, table: Table, owners: frozenset[str]) -> str:
    """All files are read without a list of them."""
    conditions = [f"rule = '{table.name}'"] if table.stored_in else []
    if len(owners) < run.file_count:
        conditions.append(delta_reads.owned_by(owners, table, run.state.buckets))
    return " AND ".join(conditions) or "true"


def _asked(run: WritingRun, table: Table, sql: str) -> pa.Table:
    tables = {"t": (run.state, table), **{name: (run.state, named) for name, named in NAMED.items()}}
    if CPG_NODES.storage_name in run.previous.refs:
        tables["before"] = (run.previous, CPG_NODES)
    return delta_reads.query_all({name: _opened(run, *found) for name, found in tables.items() if name in sql}, sql)


def _opened(run: WritingRun, state: TableState, table: Table) -> DeltaTable:
    return delta_reads.open_table(state.ref(table), run.store.options)


def answers(ask: Ask, question: Question) -> Iterator[Violation]:
    """The checks of a question that rows break."""
    (counts,) = ask(question.counts()).to_pylist()
    for check, count in zip(question.broken, counts.values(), strict=True):
        if count:
            (example,) = ask(question.example(check)).to_pylist()
            yield Violation(question.table, check, count, _text(example))


def of_types(props: pa.Table) -> Iterator[Violation]:
    """Props as the catalog does not have them."""
    names = ("entity_kind", "prop_key", "value_type", "prop_value")
    broken: list[tuple[str, int]] = []
    for *told, times in zip(*(props.column(name).to_pylist() for name in (*names, "times")), strict=True):
        if None in told or prop_problem(*told) is not None:
            broken.append((_text(dict(zip(names, told, strict=True))), times))
    if broken:
        yield Violation(CPG_PROPS.name, "typed_by_catalog", sum(times for _, times in broken), min(broken)[0])


def _off_borders(run: WritingRun, written: dict[Table, frozenset[str]]) -> Iterator[checks_light.Offence]:
    """Spans that begin or end inside a word, a bucket of files at a time: each file is read once for all datasets."""
    bordered = {table: _where(run, table, owners) for table, owners in written.items() if border_checks(table)}
    for bucket in range(run.state.buckets) if bordered else ():
        rows = {table: _spans(run, table, f"{BUCKET} = {bucket} AND {where}") for table, where in bordered.items()}
        files = frozenset(chain.from_iterable(each.column("file_id").to_pylist() for each in rows.values()))
        contents = contents_of(run, files)
        for table, spans in rows.items():
            yield from checks_light.border_offences(table, spans, contents)


def _spans(run: WritingRun, table: Table, where: str) -> pa.Table:
    names = dict.fromkeys(["file_id", *(name for check in border_checks(table) for name in check.columns)])
    return _asked(run, table, f"SELECT {', '.join(names)} FROM t WHERE {where}")


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)

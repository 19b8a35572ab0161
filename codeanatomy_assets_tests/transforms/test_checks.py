"""Every generated check sees the violation that is planted for it, in memory and asked in SQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts import graph, relationships
from codeanatomy_assets.contracts.checks import OF_ROWS, Check, Holds, Violation, border_checks, checks_of, row_checks
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.syntax import CALLSITES, PARSE_ERRORS
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration.checking_many import answers, of_types
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.transforms import checks_light, checks_sql
from codeanatomy_assets.transforms.checks_borders import Borders
from codeanatomy_assets_tests.transforms.graph_samples import arrow
from codeanatomy_assets_tests.transforms.planted_rows import CONTENT, OWNER, SIZES, broken_rows, good_row

Row = dict[str, Any]

BY_NAME: dict[str, Table] = {table.name: table for table in (*catalog.TABLES, relationships.ALL_RULES, *graph.TABLES)}
ALL_CHECKS = [check for table in BY_NAME.values() for check in checks_of(table)]
# What the variant in SQL is planted with: between them they have every kind of check.
PLANTED = (CALLSITES, relationships.ALL_RULES, *graph.TABLES)


def name_of(check: Check) -> str:
    return f"{check.table}-{check.name}"


def of_rows(check: Check) -> bool:
    return check.holds in OF_ROWS | {Holds.UNIQUE}


@pytest.mark.parametrize("table", BY_NAME.values(), ids=lambda table: table.name)
def test_a_row_that_holds_to_its_contract_breaks_nothing(table: Table) -> None:
    rows = arrow(table, [good_row(table)])
    assert checks_light.row_offences(table, rows, SIZES) == []
    assert checks_light.border_offences(table, rows, {OWNER: (CONTENT, "utf-8")}) == []


@pytest.mark.parametrize("check", [c for c in ALL_CHECKS if of_rows(c)], ids=name_of)
def test_a_planted_violation_is_seen(check: Check) -> None:
    table = BY_NAME[check.table]
    rows = broken_rows(table, check)
    found = checks_light.violations(checks_light.row_offences(table, arrow(table, rows), SIZES))
    counts = {violation.check: violation.rows for violation in found}
    assert counts.get(check.name) == (1 if check.holds is Holds.UNIQUE else len(rows))


@pytest.mark.parametrize("check", [c for c in ALL_CHECKS if c.holds is Holds.BORDERS], ids=name_of)
def test_a_planted_span_inside_a_word_is_seen(check: Check) -> None:
    table = BY_NAME[check.table]
    rows = arrow(table, broken_rows(table, check))
    found = checks_light.violations(checks_light.border_offences(table, rows, {OWNER: (CONTENT, "utf-8")}))
    assert {violation.check: violation.rows for violation in found} == {check.name: 2}


def test_names_of_checks_are_fit_for_asset_checks_and_unique_in_a_dataset() -> None:
    names = [name_of(check) for check in ALL_CHECKS]
    assert len(names) == len(set(names))
    assert all(check.name.replace("_", "").isalnum() and check.doc for check in ALL_CHECKS)


def test_the_planted_tables_have_every_kind_of_check() -> None:
    assert {check.holds for table in PLANTED for check in checks_of(table)} == set(Holds)


class Tables:
    """Delta tables that questions are asked of."""

    def __init__(self, folder: Path, **rows: pa.Table) -> None:
        for name, found in rows.items():
            write_deltalake(str(folder / name), found)
        self.opened = {name: DeltaTable(str(folder / name)) for name in rows}

    def __call__(self, sql: str) -> pa.Table:
        return delta_reads.query_all(self.opened, sql)


def snapshot() -> pa.Table:
    return arrow(REPO_SNAPSHOT, [{**good_row(REPO_SNAPSHOT), "size": SIZES[OWNER]}])


def asked_of_rows(ask: Tables, table: Table) -> list[Violation]:
    questions = [checks_sql.row_question(table, "true"), checks_sql.key_question(table, "true")]
    found = [violation for question in questions if question for violation in answers(ask, question)]
    return found + (list(of_types(ask(checks_sql.distinct_props("true")))) if table == CPG_PROPS else [])


@pytest.mark.parametrize("table", PLANTED, ids=lambda table: table.name)
def test_asked_in_sql_the_same_violations_are_seen(table: Table, tmp_path: Path) -> None:
    planted = [row for check in checks_of(table) if of_rows(check) for row in broken_rows(table, check)]
    rows = arrow(table, planted)
    found = asked_of_rows(Tables(tmp_path, t=rows, snapshot=snapshot()), table)
    light = checks_light.violations(checks_light.row_offences(table, rows, SIZES))
    assert counted(found) == counted(light)
    assert {violation.check for violation in found} == {check.name for check in checks_of(table) if of_rows(check)}
    assert all(json.loads(violation.example) for violation in found)


@pytest.mark.parametrize("table", BY_NAME.values(), ids=lambda table: table.name)
def test_asked_in_sql_good_rows_of_every_dataset_break_nothing(table: Table, tmp_path: Path) -> None:
    assert asked_of_rows(Tables(tmp_path, t=arrow(table, [good_row(table)]), snapshot=snapshot()), table) == []
    nobody = Tables(tmp_path / "empty", t=arrow(table, []), snapshot=arrow(REPO_SNAPSHOT, []))
    assert asked_of_rows(nobody, table) == []


def counted(violations: list[Violation]) -> dict[tuple[str, str], int]:
    return {(violation.table, violation.check): violation.rows for violation in violations}


def node(node_id: str, kind: str, file_id: str = OWNER) -> Row:
    path = None if kind == "SCIP_SYMBOL" else "a.py"
    return {**good_row(CPG_NODES), "node_id": node_id, "node_kind": kind, "path": path, "file_id": file_id}


def edge(edge_id: str, kind: str, src: str, dst: str) -> Row:
    return {**good_row(CPG_EDGES), "edge_id": edge_id, "edge_kind": kind, "src_node_id": src, "dst_node_id": dst}


def prop(entity_kind: str, entity_id: str, key: str, **changed: str) -> Row:
    return {**good_row(CPG_PROPS), "entity_kind": entity_kind, "entity_id": entity_id, "prop_key": key, **changed}


NODES = [
    node("f", "CST_DEF"),
    node("g", "CST_DEF", "file_b"),
    node("m", "PY_MODULE"),
    node("r", "CST_REF"),
    node("s", "SCIP_SYMBOL"),
    node("t", "SCIP_SYMBOL", "file_b"),
]
EDGES = [
    edge("1", "CALLS", "f", "g"),
    edge("2", "CALLS", "m", "f"),
    edge("3", "PY_REFERENCES_SYMBOL", "r", "s"),
    edge("4", "CALLS", "gone", "g"),
    edge("5", "CALLS", "f", "gone"),
    edge("6", "PY_REFERENCES_SYMBOL", "r", "t"),  # another file's contribution is not this file's
    edge("7", "CALLS", "f", "s"),
    edge("8", "CALLS", "r", "g"),
    edge("9", "NOTHING", "f", "g"),
]
BROKEN_ENDS = {("cpg_edges", "src_exists"): 1, ("cpg_edges", "dst_exists"): 2, ("cpg_edges", "kinds_declared"): 3}


def test_an_edge_without_both_ends_or_between_other_kinds_is_seen() -> None:
    found = checks_light.edge_offences(arrow(CPG_EDGES, EDGES), NODES)
    assert counted(checks_light.violations(found)) == BROKEN_ENDS


PROPS = [
    prop("node", "f", "is_async"),
    prop("edge", "1", "via"),
    prop("node", "s", "kind"),
    prop("node", "gone", "kind"),
    prop("node", "1", "via"),  # an edge's id is no node's
    prop("node", "t", "kind"),  # a node of another file
    prop("node", "f", "severity"),  # a prop of another kind
]
BROKEN_PROPS = {("cpg_props", "entity_has_prop"): 4}


def test_a_prop_without_its_entity_or_of_another_kind_is_seen() -> None:
    tables = (arrow(CPG_PROPS, PROPS), arrow(CPG_NODES, NODES), arrow(CPG_EDGES, EDGES))
    assert counted(checks_light.violations(checks_light.prop_offences(*tables))) == BROKEN_PROPS


def test_an_edge_to_a_node_that_an_update_removed_is_seen() -> None:
    found = checks_light.violations(checks_light.removed_end_offences(EDGES, {"m", "g"}))
    assert counted(found) == {("cpg_edges", "src_exists"): 1, ("cpg_edges", "dst_exists"): 4}


def test_asked_in_sql_ends_props_and_removed_nodes_are_seen_alike(tmp_path: Path) -> None:
    nodes, edges = arrow(CPG_NODES, NODES), arrow(CPG_EDGES, EDGES)
    of_edges = Tables(tmp_path / "edges", t=edges, nodes=nodes)
    assert counted(list(answers(of_edges, checks_sql.edge_question("true")))) == BROKEN_ENDS
    of_props = Tables(tmp_path / "props", t=arrow(CPG_PROPS, PROPS), nodes=nodes, edges=edges)
    assert counted(list(answers(of_props, checks_sql.prop_question("true")))) == BROKEN_PROPS
    left = arrow(CPG_NODES, [row for row in NODES if row["node_id"] not in ("m", "g")])
    of_removed = Tables(tmp_path / "removed", edges=edges, nodes=left, before=nodes)
    assert counted(list(answers(of_removed, checks_sql.removed_end_question()))) == {
        ("cpg_edges", "src_exists"): 1,
        ("cpg_edges", "dst_exists"): 4,
    }


def test_asked_in_sql_only_the_slices_in_question_are_looked_at(tmp_path: Path) -> None:
    ask = Tables(tmp_path, t=arrow(CPG_EDGES, EDGES), nodes=arrow(CPG_NODES, NODES))
    only = checks_sql.edge_question("edge_id IN ('1', '4')")
    assert counted(list(answers(ask, only))) == {("cpg_edges", "src_exists"): 1}


@pytest.mark.parametrize(
    ("content", "encoding", "bstart", "bend", "holds"),
    [
        (b"ab cd", None, 0, 2, True),
        (b"ab cd", None, 3, 5, True),
        (b"ab cd", None, 1, 2, False),
        (b"ab cd", None, 3, 4, False),
        (b"ab cd", None, 2, 3, True),
        (b"a.b", None, 2, 3, True),
        (b"ab", None, 0, 3, False),
        (b"1if", None, 1, 3, True),
        (b"1_0or", None, 3, 5, True),
        (b"1if", None, 1, 2, False),
        (b"10", None, 1, 2, False),
        (b"a1b", None, 2, 3, False),
        (b" 0xf", None, 3, 4, False),
        (b" 0xfor", None, 4, 6, True),
        (b"infx", None, 3, 4, False),
        ("é = 1".encode(), "utf-8", 0, 2, True),
        ("é = 1".encode(), "utf-8", 0, 1, False),
        ("né = 1".encode(), "utf-8", 1, 3, False),
        ("«x»".encode("latin-1"), "latin-1", 1, 2, True),
        ("éx".encode("latin-1"), "latin-1", 1, 2, False),
        (b"\xef\xbb\xbfab", "utf-8-sig", 3, 5, True),
        (b"\xef\xbb\xbfab", "utf-8-sig", 2, 5, False),
        ("x = 'ア'; y".encode("shift_jis"), "shift_jis", 4, 8, True),
    ],
)
def test_a_span_lies_on_borders_of_words_and_characters(
    content: bytes, encoding: str | None, bstart: int, bend: int, holds: bool
) -> None:
    assert Borders(content, encoding).holds(bstart, bend) is holds


def test_parse_errors_may_stand_anywhere_and_a_lone_offset_lies_in_the_file() -> None:
    assert border_checks(PARSE_ERRORS) == ()
    assert "body_bstart_inside_file" in {check.name for check in row_checks(BY_NAME["cst_defs"])}

"""Every generated check sees the violation that is planted for it, with Spark and without."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts import graph, relationships
from codeanatomy_assets.contracts.checks import OF_ROWS, Check, Holds, Violation, border_checks, checks_of, row_checks
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.syntax import CALLSITES, PARSE_ERRORS
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.transforms import checks, checks_light
from codeanatomy_assets.transforms.checks_borders import Borders
from codeanatomy_assets_tests.transforms.graph_samples import arrow, frame
from codeanatomy_assets_tests.transforms.planted_rows import CONTENT, OWNER, SIZES, broken_rows, good_row

Row = dict[str, Any]

BY_NAME: dict[str, Table] = {table.name: table for table in (*catalog.TABLES, relationships.ALL_RULES, *graph.TABLES)}
ALL_CHECKS = [check for table in BY_NAME.values() for check in checks_of(table)]
# What the Spark variant is planted with: between them they have every kind of check.
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


@pytest.fixture(scope="module")
def sizes(spark: SparkSession) -> DataFrame:
    return frame(spark, REPO_SNAPSHOT, [{**good_row(REPO_SNAPSHOT), "size": SIZES[OWNER]}])


def test_with_spark_the_same_violations_are_seen(spark: SparkSession, sizes: DataFrame) -> None:
    offences: list[DataFrame] = []
    expected: list[checks_light.Offence] = []
    for table in PLANTED:
        planted = [row for check in checks_of(table) if of_rows(check) for row in broken_rows(table, check)]
        offences.append(checks.row_offences(table, frame(spark, table, planted), sizes))
        expected += checks_light.row_offences(table, arrow(table, planted), SIZES)
    light = checks_light.violations(expected)
    assert counted(checks.violations(offences)) == counted(light)
    assert {(v.table, v.check) for v in light} == {
        (c.table, c.name) for t in PLANTED for c in checks_of(t) if of_rows(c)
    }


def test_the_checks_of_every_dataset_are_sql_that_spark_takes(spark: SparkSession, sizes: DataFrame) -> None:
    for table in BY_NAME.values():
        rows = frame(spark, table, [])
        assert checks.row_offences(table, rows, sizes).columns == ["table", "check", "example"]


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


def test_with_spark_ends_props_removed_nodes_and_borders_are_seen_alike(spark: SparkSession) -> None:
    nodes, edges, props = (
        frame(spark, table, rows) for table, rows in ((CPG_NODES, NODES), (CPG_EDGES, EDGES), (CPG_PROPS, PROPS))
    )
    borders = [row for check in border_checks(CALLSITES) for row in broken_rows(CALLSITES, check)]
    contents = pa.table({"file_id": [OWNER], "content": [CONTENT], "encoding": ["utf-8"]})
    found = checks.violations(
        [
            checks.edge_offences(edges, nodes),
            checks.prop_offences(props, nodes, edges),
            checks.border_offences(CALLSITES, frame(spark, CALLSITES, borders), spark.createDataFrame(contents)),
        ]
    )
    light = checks_light.border_offences(CALLSITES, arrow(CALLSITES, borders), {OWNER: (CONTENT, "utf-8")})
    assert counted(found) == {**BROKEN_ENDS, **BROKEN_PROPS, **counted(checks_light.violations(light))}
    removed = nodes.where("node_id in ('m', 'g')")
    assert counted(checks.violations([checks.removed_end_offences(edges, removed)])) == {
        ("cpg_edges", "src_exists"): 1,
        ("cpg_edges", "dst_exists"): 4,
    }


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

"""Rows that hold to a contract, and rows that break one given check of it."""

from __future__ import annotations

from typing import Any

from codeanatomy_assets.contracts.checks import Check, Holds, span_pairs
from codeanatomy_assets.contracts.graph import CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.table import Column, Table
from codeanatomy_assets.contracts.types import Array

Row = dict[str, Any]

OWNER = "file_a"
CONTENT = b"name = other\n"
SIZES = {OWNER: len(CONTENT)}


def good_row(table: Table) -> Row:
    """A row that breaks nothing."""
    row = {column.name: _good_value(column) for column in table.columns}
    for bstart, bend in span_pairs(table):
        row |= {bstart: 0, bend: 4}
    if "file_id" in row:
        row["file_id"] = OWNER
    if "unresolved_reason" in row:
        row["unresolved_reason"] = table.column("unresolved_reason").values[0]
    if table == CPG_NODES:
        row |= {"node_kind": "PY_FILE", "path": "a.py"}
    if table == CPG_PROPS:
        row |= {"entity_kind": "node", "prop_key": "size", "value_type": "int", "prop_value": "13"}
    return row


def _good_value(column: Column) -> Any:
    if column.nullable:
        return None
    if isinstance(column.type, Array):
        return []
    if column.values:
        return column.values[0]
    return {"string": "x", "binary": b"", "boolean": False, "double": 1.0}.get(column.type.ddl, 0)


def broken_rows(table: Table, check: Check) -> list[Row]:
    """Rows of which the check says that they can't be."""
    good = good_row(table)
    first, last = check.columns[0], check.columns[-1]
    if check.holds is Holds.UNIQUE:
        return [good, dict(good)]
    changed: dict[Holds, list[Row]] = {
        Holds.NOT_NULL: [{first: None}],
        Holds.ONE_OF: [{first: "nothing declared"}],
        Holds.SPAN: [{first: 4, last: 3}, {first: -1}, {first: None}, {last: None}],
        Holds.INSIDE: [{first: 14}, {"file_id": "file_gone", first: 1}],
        Holds.EITHER: [{first: None, last: None}, {first: "x", last: "x"}],
        Holds.PLACED: [{last: None}, {first: "SCIP_SYMBOL"}],
        Holds.TYPED: [
            {"prop_key": "nothing"},
            {"entity_kind": "edge"},
            {"value_type": "string"},
            {"prop_value": '"13"'},
            {"prop_value": "true"},
            {"prop_value": "[1"},
            {"prop_key": "kind", "value_type": "string", "prop_value": "function"},
            {"prop_key": "kind", "value_type": "string", "prop_value": '"function'},
            {"prop_key": "is_async", "value_type": "boolean", "prop_value": "1"},
            {"prop_key": "bases", "value_type": "json", "prop_value": '"A"'},
            {"prop_key": "bases", "value_type": "json", "prop_value": '["A"'},
        ],
        Holds.BORDERS: [{first: 1, last: 4}, {first: 0, last: 3}],
    }
    return [{**good, **each} for each in changed[check.holds]]

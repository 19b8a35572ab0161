"""All rules' examples in one run: the ids of each carry a tag of its own, so that none sees another's rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.rules.compiler import SOURCES, compile_rule
from codeanatomy_assets.rules.rule import Example, Rule
from codeanatomy_assets.rules.running import run

SEPARATOR = "\t"
Outcome = list[dict[str, Any]]


def views_of(spark: SparkSession, rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, DataFrame]:
    """Every table that rules may read, with these rows."""
    return {table.name: _frame(spark, table, rows.get(table.name, [])) for table in SOURCES}


def _frame(spark: SparkSession, table: Table, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=table.arrow_schema()), schema=table.spark_schema())


def outcomes(spark: SparkSession, rules: Iterable[Rule]) -> dict[tuple[str, str], Outcome]:
    """What each rule makes of each of its examples, by rule's and example's name."""
    rules = list(rules)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for rule in rules:
        for example in rule.examples:
            for row in example.rows:
                rows[row.table.name].append(_tagged(row.complete(), _tag(rule, example)))
    found: dict[tuple[str, str], Outcome] = {(rule.name, each.name): [] for rule in rules for each in rule.examples}
    for made in run(spark, [compile_rule(rule) for rule in rules], views_of(spark, rows)).collect():
        rule_name, example_name, _ = made["file_id"].split(SEPARATOR)
        if made["rule"] == rule_name:
            found[rule_name, example_name].append(_untagged(made.asDict()))
    return found


def _tag(rule: Rule, example: Example) -> str:
    return f"{rule.name}{SEPARATOR}{example.name}{SEPARATOR}"


def _tagged(value: Any, tag: str, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _tagged(part, tag, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_tagged(part, tag, name) for part in value]
    is_id = name.endswith("_id") or name == "path"
    return f"{tag}{value}" if is_id and value is not None else value


def _untagged(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.rpartition(SEPARATOR)[2] if isinstance(value, str) else value for name, value in row.items()}


def matches(row: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(row[name] == value for name, value in wanted.items())

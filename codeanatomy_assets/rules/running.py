"""Running compiled rules over DataFrames: one DataFrame of relationships, nothing left registered behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from codeanatomy_assets.rules.compiler import CompiledRule
from codeanatomy_assets.rules.rule import SCOPE_TABLE, RuleError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run(
    spark: SparkSession,
    rules: Iterable[CompiledRule],
    views: Mapping[str, DataFrame],
    scope: DataFrame | None = None,
) -> DataFrame:
    """The rows of all these rules over the tables given by name; with a scope, of its files (`file_id`) alone."""
    found = [_run_one(spark, rule, views, scope) for rule in rules]
    if not found:
        raise ValueError("no rules to run")
    return reduce(lambda before, rows: before.unionAll(rows), found)


def _run_one(
    spark: SparkSession,
    rule: CompiledRule,
    views: Mapping[str, DataFrame],
    scope: DataFrame | None,
) -> DataFrame:
    absent = [name for name in rule.tables if name not in views]
    if absent:
        raise RuleError(rule.name, f"reads {', '.join(absent)}, which was not given; given: {', '.join(sorted(views))}")
    given = {name: views[name] for name in rule.tables}
    if scope is not None:
        given[SCOPE_TABLE] = scope
    # Spark binds a DataFrame to a name in braces for this statement only.
    return spark.sql(rule.template(scope is not None), None, **given)

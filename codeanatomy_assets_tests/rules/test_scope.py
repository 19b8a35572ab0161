"""Over random tables: a compiled rule is the rule as written, and a scoped one is the whole, filtered to its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import reduce
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.arrow_frames import frame_of
from codeanatomy_assets.contracts.lookups import Lookup
from codeanatomy_assets.rules.compiler import SOURCES, CompiledRule, compile_rule
from codeanatomy_assets.rules.registry import all_rules
from codeanatomy_assets.rules.rule import AUTHORED, RuleError
from codeanatomy_assets.rules.running import run
from codeanatomy_assets.transforms.looking_up import LookingUp
from codeanatomy_assets_tests.rules.example_runs import views_of
from codeanatomy_assets_tests.rules.random_tables import FILES, random_tables
from codeanatomy_assets_tests.rules.small_rules import VALID, rule_of

SEED = 20
ROWS = 60
IN_SCOPE = frozenset(FILES[:2])

Rows = Counter[tuple[Any, ...]]


@pytest.fixture(scope="module")
def compiled() -> list[CompiledRule]:
    return [compile_rule(rule) for rule in all_rules()]


@pytest.fixture(scope="module")
def views(quick_spark: SparkSession) -> Iterator[dict[str, DataFrame]]:
    """Random tables, and the names that rules' SQL has for them and for the id functions."""
    print(f"random tables of seed {SEED}")
    frames = views_of(quick_spark, random_tables(SOURCES, Random(SEED), ROWS))
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    quick_spark.sql(f"CREATE TEMPORARY FUNCTION qname_id(q STRING) RETURNS STRING RETURN {identity.QNAME.sql('q')}")
    yield frames
    quick_spark.sql("DROP TEMPORARY FUNCTION qname_id")
    for name in frames:
        quick_spark.catalog.dropTempView(name)


@pytest.fixture(scope="module")
def whole(quick_spark: SparkSession, compiled: list[CompiledRule], views: dict[str, DataFrame]) -> Rows:
    return counted(run(quick_spark, compiled, views), ("rule", *AUTHORED))


def counted(rows: DataFrame, columns: tuple[str, ...]) -> Rows:
    return Counter(tuple(row[name] for name in columns) for row in rows.collect())


def test_a_compiled_rule_is_the_rule_as_written(quick_spark: SparkSession, whole: Rows) -> None:
    def as_written(name: str, sql: str) -> DataFrame:
        return quick_spark.sql(sql).selectExpr(f"'{name}' AS rule", *AUTHORED)

    written = [as_written(rule.name, rule.sql) for rule in all_rules()]
    assert counted(reduce(lambda left, right: left.unionAll(right), written), ("rule", *AUTHORED)) == whole


def test_a_scoped_rule_is_the_whole_filtered_to_its_files(
    quick_spark: SparkSession, compiled: list[CompiledRule], views: dict[str, DataFrame], whole: Rows
) -> None:
    scope = quick_spark.createDataFrame([(file,) for file in sorted(IN_SCOPE)], "file_id string")
    scoped = counted(run(quick_spark, compiled, views, scope), ("rule", *AUTHORED))
    assert scoped == Counter({row: times for row, times in whole.items() if row[1] in IN_SCOPE})


@pytest.mark.parametrize("files", [frozenset(FILES[:1]), frozenset(FILES[1:3])])
def test_rows_that_lookups_find_are_all_that_a_scoped_rule_needs(
    quick_spark: SparkSession, compiled: list[CompiledRule], whole: Rows, files: frozenset[str]
) -> None:
    rows = {
        table.name: pa.Table.from_pylist(made, schema=table.arrow_schema())
        for table, made in zip(SOURCES, random_tables(SOURCES, Random(SEED), ROWS).values(), strict=True)
    }

    def find(name: str, column: str, values: Collection[str]) -> pa.Table:
        return rows[name].filter(pc.field(column).isin(list(values)))

    lookups = frozenset[Lookup]().union(*(rule.lookups for rule in compiled))
    looking_up = LookingUp(files, lookups, find)
    found = {table.name: looking_up.rows(table) for table in SOURCES}
    assert all(found[name] is not None for name in found)
    assert sum(each.num_rows for each in found.values() if each) < 0.9 * sum(each.num_rows for each in rows.values())
    frames = {table.name: frame_of(quick_spark, found[table.name], table.spark_schema()) for table in SOURCES}
    scope = quick_spark.createDataFrame([(file,) for file in sorted(files)], "file_id string")
    made = counted(run(quick_spark, compiled, frames, scope), ("rule", *AUTHORED))
    assert made == Counter({row: times for row, times in whole.items() if row[1] in files})


def test_the_random_tables_try_every_rule_and_both_outcomes(whole: Rows) -> None:
    resolved = {row[0] for row in whole if row[4] is not None}
    assert resolved == {rule.name for rule in all_rules()}
    assert len({row[-1] for row in whole}) >= 5
    assert {row[1] for row in whole} == set(FILES)


def test_running_leaves_no_view_behind(
    quick_spark: SparkSession, compiled: list[CompiledRule], views: dict[str, DataFrame]
) -> None:
    def known() -> set[str]:
        return {row["viewName"] for row in quick_spark.sql("SHOW VIEWS").collect()}

    before = known()
    run(quick_spark, compiled[:1], views)
    assert known() == before >= set(views)


def test_a_table_that_is_not_given_is_named(quick_spark: SparkSession) -> None:
    with pytest.raises(RuleError, match="rule rel_tried: reads cst_callsites, scip_occurrences, which was not given"):
        run(quick_spark, [compile_rule(rule_of(VALID))], {})

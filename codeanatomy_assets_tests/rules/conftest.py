"""Rules are tried on a handful of rows: adaptive plans and compiled code would cost more than the rows do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

FOR_FEW_ROWS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture(scope="module")
def quick_spark(spark: SparkSession) -> Iterator[SparkSession]:
    """The shared session, set for a few rows while a module's tests run."""
    before = {name: spark.conf.get(name, None) for name in FOR_FEW_ROWS}
    for name, value in FOR_FEW_ROWS.items():
        spark.conf.set(name, value)
    yield spark
    for name, told in before.items():
        spark.conf.unset(name) if told is None else spark.conf.set(name, told)

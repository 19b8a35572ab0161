"""Arrow rows on their way to Spark: all of them arrive, however the table is cut into chunks."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

import codeanatomy_assets
from codeanatomy_assets import catalog
from codeanatomy_assets.contracts import arrow_frames
from codeanatomy_assets.contracts.arrow_frames import frame_of
from codeanatomy_assets.contracts.table import Table

SCHEMA = StructType([StructField("x", LongType())])


@pytest.mark.parametrize(
    "sizes", [(), (0,), (0, 0), (2,), (2, 3), (0, 3), (3, 0), (2, 0, 3), (2, 0, 0, 3, 0, 1), (1, 0) * 9]
)
@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_chunks_without_rows_take_none_of_the_others_with_them(
    spark: SparkSession, sizes: tuple[int, ...], schema: StructType | None
) -> None:
    chunks = [pa.array(range(size), pa.int64()) for size in sizes]
    rows = pa.table({"x": pa.chunked_array(chunks, pa.int64())})
    found = sorted(row.x for row in frame_of(spark, rows, schema).collect())
    assert found == sorted(rows.column("x").to_pylist())


@pytest.mark.parametrize("table", catalog.TABLES, ids=lambda table: table.name)
def test_every_dataset_can_be_without_rows(spark: SparkSession, table: Table) -> None:
    schema = table.arrow_schema()
    for rows in (schema.empty_table(), pa.Table.from_batches([], schema)):
        assert frame_of(spark, rows, table.spark_schema()).isEmpty()
        assert frame_of(spark, rows).isEmpty()


def test_no_other_code_hands_arrow_rows_to_spark() -> None:
    root = Path(codeanatomy_assets.__file__).parent
    others = [path for path in root.rglob("*.py") if path != Path(str(arrow_frames.__file__))]
    handing = re.compile(r"createDataFrame\((?!\[)")
    assert [path.name for path in others if handing.search(path.read_text(encoding="utf-8"))] == []

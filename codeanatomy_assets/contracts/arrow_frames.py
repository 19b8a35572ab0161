"""Arrow rows as a DataFrame: the one way in from memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def frame_of(spark: SparkSession, rows: pa.Table, schema: StructType | None = None) -> DataFrame:
    """These rows for Spark, which drops, without a word, all that follows an empty chunk of a table."""
    whole = rows.combine_chunks() if rows.num_rows else rows.schema.empty_table()
    return spark.createDataFrame(whole) if schema is None else spark.createDataFrame(whole, schema)

"""What Python read on its way to Spark: executors get bytes as rows of staged files, never the checkout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES_PER_PART = 1_000_000
TASKS_PER_CORE = 4
SPARK_TYPES = {pa.string(): "string", pa.binary(): "binary"}
SOURCES = pa.schema([("file_id", pa.string()), ("path", pa.string()), ("content", pa.binary())])

Staged = tuple[str | bytes | None, ...]


def stage(folder: Path, schema: pa.Schema, rows: Iterable[Staged]) -> int:
    """Write rows as Parquet parts of about equal bytes, holding one part at a time; returns all their bytes."""
    folder.mkdir(parents=True)
    total = 0
    for number, (part, size) in enumerate(_parts(rows)):
        pq.write_table(pa.table(list(zip(*part, strict=True)), schema=schema), folder / f"part-{number:05}.parquet")
        total += size
    return total


def read_staged(spark: SparkSession, folder: Path, schema: pa.Schema, size: int) -> DataFrame:
    """The staged rows; more than one part's worth is spread so that no core waits for another's last files."""
    ddl = ", ".join(f"{field.name} {SPARK_TYPES[field.type]}" for field in schema)
    rows = spark.read.schema(ddl).parquet(str(folder))
    if size <= BYTES_PER_PART:
        return rows
    return rows.repartition(spark.sparkContext.defaultParallelism * TASKS_PER_CORE)


def _parts(rows: Iterable[Staged]) -> Iterator[tuple[list[Staged], int]]:
    part: list[Staged] = []
    size = 0
    for row in rows:
        part.append(row)
        size += sum(len(value) for value in row if value is not None)
        if size >= BYTES_PER_PART:
            yield part, size
            part, size = [], 0
    if part:
        yield part, size

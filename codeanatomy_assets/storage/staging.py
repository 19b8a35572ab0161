"""Source texts on their way to Spark: executors get bytes as rows of staged files, never the checkout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES_PER_PART = 1_000_000
SOURCES = pa.schema([("file_id", pa.string()), ("path", pa.string()), ("content", pa.binary())])

Source = tuple[str, str, bytes]


def stage_sources(folder: Path, sources: Iterable[Source]) -> int:
    """Write sources as Parquet parts of about equal bytes, holding one part at a time; returns how many."""
    folder.mkdir(parents=True)
    staged = 0
    for number, part in enumerate(_parts(sources)):
        pq.write_table(pa.table(list(zip(*part, strict=True)), schema=SOURCES), folder / f"part-{number:05}.parquet")
        staged += len(part)
    return staged


def read_sources(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.schema("file_id string, path string, content binary").parquet(str(folder))


def _parts(sources: Iterable[Source]) -> Iterator[list[Source]]:
    part: list[Source] = []
    size = 0
    for source in sources:
        part.append(source)
        size += len(source[2])
        if size >= BYTES_PER_PART:
            yield part
            part, size = [], 0
    if part:
        yield part

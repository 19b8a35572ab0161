"""Sources → the syntax datasets: every file is parsed once, in Python workers, for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from codeanatomy_assets.contracts.syntax import TABLES
from codeanatomy_assets.contracts.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Collect = Callable[[str, str, bytes], Mapping[str, Sequence[Any]]]


def parsed_files(sources: DataFrame, collect: Collect) -> DataFrame:
    """One row per file of `sources` (file_id, path, content), each syntax dataset a list of rows in it.

    `collect` comes from the extraction layer: a function of a file's bytes and path alone.
    """
    schema = _parsed_schema()

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file_id, path, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield parsed_record(collect(file_id, path, content), file_id, schema)

    ddl = "file_id string, " + ", ".join(f"{table.name} {_rows_ddl(table)}" for table in TABLES)
    return sources.select("file_id", "path", "content").mapInArrow(parse, ddl)


def rows_of(parsed: DataFrame, table: Table) -> DataFrame:
    """One dataset's rows out of the parsed files."""
    return parsed.selectExpr(f"inline({table.name})")


def parsed_record(collected: Mapping[str, Sequence[Any]], file_id: str, schema: pa.Schema) -> pa.RecordBatch:
    lists = [pa.array([collected[table.name]], schema.field(table.name).type) for table in TABLES]
    return pa.RecordBatch.from_arrays([pa.array([file_id]), *lists], schema=schema)


def _parsed_schema() -> pa.Schema:
    lists = [pa.field(table.name, pa.list_(pa.struct(list(table.arrow_schema())))) for table in TABLES]
    return pa.schema([pa.field("file_id", pa.string()), *lists])


def _rows_ddl(table: Table) -> str:
    return "array<struct<" + ",".join(f"`{c.name}`:{c.type.ddl}" for c in table.columns) + ">>"

"""Datasets as DataFrames for rules and graph: the impacted files' slices, and whole what is looked up in all files.

Planning over a Delta table costs about a second for each place that a query names it, so that ten rules over
a few hundred rows would take minutes. Few rows travel to Spark from memory; of many, each table is scanned
once and kept by Spark until the stage is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.arrow_frames import frame_of
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration.writing_run import WritingRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Up to here rows travel to Spark from memory.
MOST_FILES_IN_MEMORY = 1_000
MOST_ROWS_IN_MEMORY = 150_000
# Up to here one task without compiled code is done before Spark has planned for more.
MOST_ROWS_OF_ONE_TASK = 40_000
ONE_TASK = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass(frozen=True)
class Views:
    """DataFrames by dataset; `are_small` if all of them are in memory and have few rows."""

    frames: Mapping[str, DataFrame]
    are_small: bool


@contextmanager
def views(
    run: WritingRun,
    columns: Mapping[str, Iterable[str]],
    files: frozenset[str] | None,
    whole: Collection[str] = (),
) -> Iterator[Views]:
    """Datasets as this run has them now: slices of these files, of all files for those in `whole`.

    `columns` are those read of each; queries in this block are planned for the number of rows there are.
    """
    frames: dict[str, DataFrame] = {}
    kept: list[DataFrame] = []
    most = 0
    for name, read in columns.items():
        table = dataset(name)
        owners = None if name in whole else files
        wanted = [column for column in table.column_names if column in set(read)]
        if _fits_in_memory(run, table, owners):
            rows = run.read_light(table, owners).select(wanted)
            most = max(most, rows.num_rows)
            schema = table.spark_schema()
            picked = type(schema)([schema[column] for column in wanted])
            # One partition needs no exchange before a join.
            frames[name] = frame_of(run.spark, rows, picked).coalesce(1)
        else:
            frames[name] = run.read(table, owners).select(*wanted).persist()
            kept.append(frames[name])
    are_small = not kept and most <= MOST_ROWS_OF_ONE_TASK
    try:
        with one_task(run.spark, are_small):
            yield Views(frames, are_small)
    finally:
        for frame in kept:
            frame.unpersist()


def dataset(name: str) -> Table:
    """By name, the table of all rules among them."""
    return ALL_RULES if name == ALL_RULES.name else catalog.table(name)


def _fits_in_memory(run: WritingRun, table: Table, files: frozenset[str] | None) -> bool:
    if files is not None:
        return len(files) <= MOST_FILES_IN_MEMORY
    return run.count_stored(table) <= MOST_ROWS_IN_MEMORY


@contextmanager
def one_task(spark: SparkSession, is_small: bool) -> Iterator[None]:
    """Plan queries for a few rows: all in one partition, nothing compiled, broadcast or planned again half-way.

    Queries of ten rules over some hundred rows cost 9 s as Spark plans them for bulk, and 3 s so.
    """
    if not is_small:
        yield
        return
    before = {name: spark.conf.get(name, None) for name in ONE_TASK}
    try:
        for name, value in ONE_TASK.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, known in before.items():
            if known is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, known)


def scope_of(run: WritingRun, files: frozenset[str] | None) -> DataFrame | None:
    """The files as a table of their ids; None for all of them."""
    if files is None:
        return None
    return run.spark.createDataFrame([(file_id,) for file_id in sorted(files)], "file_id string")

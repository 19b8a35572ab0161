"""Datasets as DataFrames for rules and graph: the impacted files' slices, and what is looked up in other files.

Planning over a Delta table costs about a second for each place that a query names it, so that ten rules over
a few hundred rows would take minutes. Few rows travel to Spark from memory. Of many, whole tables are read from
their data files, past Delta's reader; slices are scanned once and kept by Spark until the stage is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from codeanatomy_assets.catalog import dataset
from codeanatomy_assets.contracts.arrow_frames import frame_of
from codeanatomy_assets.contracts.lookups import Lookup
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage.value_lookups import holding
from codeanatomy_assets.transforms.looking_up import LookingUp

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Up to here rows travel to Spark from memory: of all datasets of a stage together, because it holds them all at once.
# Those of 6,000 small files took 2.4 GB of its heap, and on a machine of 8 GB it has one.
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
    """DataFrames by dataset; `are_few` if all of them are in memory and few: what is made of them is fetched.

    `are_small` if they have so few rows that queries are planned for one task; `are_many` if they are whole datasets
    and not few: what is made of them is for Spark to write.
    """

    frames: Mapping[str, DataFrame]
    are_few: bool
    are_small: bool
    are_many: bool


@contextmanager
def views(
    run: WritingRun,
    columns: Mapping[str, Iterable[str]],
    files: frozenset[str] | None,
    lookups: Collection[Lookup] = (),
) -> Iterator[Views]:
    """Datasets as this run has them now: slices of these files, and what lookups find in others.

    `columns` are those read of each; queries in this block are planned for the number of rows there are.
    """
    frames: dict[str, DataFrame] = {}
    kept: list[DataFrame] = []
    most, total, is_bulk = 0, 0, False
    wanted = {name: _in_order(dataset(name), {*read, *dataset(name).key}) for name, read in columns.items()}
    looking_up = None
    if files is not None and len(files) <= MOST_FILES_IN_MEMORY:
        looking_up = LookingUp(files, lookups, partial(_found, run, wanted))
    looked_up = {lookup.table for lookup in lookups}
    for name, read in wanted.items():
        rows = looking_up.rows(dataset(name)) if looking_up else None
        owners = None if name in looked_up else files
        if rows is None and _fits_in_memory(run, dataset(name), owners, total):
            rows = run.read_light(dataset(name), owners, columns=read)
        if rows is not None:
            most, total = max(most, rows.num_rows), total + rows.num_rows
            schema = dataset(name).spark_schema()
            # One partition needs no exchange before a join.
            frames[name] = frame_of(run.spark, rows, type(schema)([schema[column] for column in read])).coalesce(1)
            continue
        is_bulk = True
        scanned = run.read_files(dataset(name)) if owners is None else None
        if scanned is not None:
            frames[name] = scanned.select(*read)
        else:
            frames[name] = run.read(dataset(name), owners).select(*read).persist()
            kept.append(frames[name])
    are_few = not is_bulk and total <= MOST_ROWS_IN_MEMORY
    are_small = are_few and most <= MOST_ROWS_OF_ONE_TASK
    try:
        with one_task(run.spark, are_small):
            yield Views(frames, are_few, are_small, are_many=files is None and not are_few)
    finally:
        for frame in kept:
            frame.unpersist()


def whole_frame(run: WritingRun, table: Table, files: frozenset[str] | None) -> DataFrame:
    """All columns of these files' slices, or of the whole dataset; few rows from memory."""
    if _fits_in_memory(run, table, files):
        return frame_of(run.spark, run.read_light(table, files), table.spark_schema())
    return run.read(table, files)


def _found(
    run: WritingRun, columns: Mapping[str, Sequence[str]], name: str, by: str, values: Collection[str]
) -> pa.Table:
    """Rows of a dataset whose column has one of these values: the owner's finds its bucket first."""
    table = dataset(name)
    if by == table.owner_column or not values:
        return run.read_light(table, values, columns=columns[name])
    where = holding(run.state, table, by, values, run.store.options)
    return run.read_light(table, where=where, columns=columns[name])


def _in_order(table: Table, columns: set[str]) -> list[str]:
    return [column for column in table.column_names if column in columns]


def _fits_in_memory(run: WritingRun, table: Table, files: frozenset[str] | None, beside: int = 0) -> bool:
    """Whether slices, or a whole dataset, fit there beside the rows that are in memory already."""
    if files is not None:
        return len(files) <= MOST_FILES_IN_MEMORY
    return beside + run.count_stored(table) <= MOST_ROWS_IN_MEMORY


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

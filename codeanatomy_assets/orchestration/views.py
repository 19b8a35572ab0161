"""Datasets as DataFrames for rules and graph: the impacted files' slices, and whole what is looked up in all files."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage import delta_reads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Up to here rows travel to Spark from memory: a Delta scan costs more than a few slices are worth.
MOST_FILES_IN_MEMORY = 300
MOST_ROWS_IN_MEMORY = 60_000


def views(
    run: WritingRun, names: Iterable[str], files: frozenset[str] | None, whole: Collection[str] = ()
) -> dict[str, DataFrame]:
    """By name, datasets as this run has them now: slices of these files, of all files for those in `whole`."""
    return {name: _view(run, _table(name), None if name in whole else files) for name in dict.fromkeys(names)}


def _table(name: str) -> Table:
    return ALL_RULES if name == ALL_RULES.name else catalog.table(name)


def _view(run: WritingRun, table: Table, files: frozenset[str] | None) -> DataFrame:
    if not _fits_in_memory(run, table, files):
        return run.read(table, files)
    rows = run.read_light(table, files)
    return run.spark.createDataFrame(rows if rows.num_rows else [], table.spark_schema())


def _fits_in_memory(run: WritingRun, table: Table, files: frozenset[str] | None) -> bool:
    if files is not None:
        return len(files) <= MOST_FILES_IN_MEMORY
    return delta_reads.count_rows(run.state, table, run.store.options) <= MOST_ROWS_IN_MEMORY


def scope_of(run: WritingRun, files: frozenset[str] | None) -> DataFrame | None:
    """The files as a table of their ids; None for all of them."""
    if files is None:
        return None
    return run.spark.createDataFrame([(file_id,) for file_id in sorted(files)], "file_id string")

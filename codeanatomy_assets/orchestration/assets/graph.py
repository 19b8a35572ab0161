"""The graph stage: nodes, edges and props of the impacted files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.assets.stage_assets import stage_assets
from codeanatomy_assets.orchestration.profiles import note_transform
from codeanatomy_assets.orchestration.progress import watched
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.views import Views, views
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.transforms import graph

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def graph_stage(run: WritingRun, tables: Sequence[Table]) -> Iterator[Produced]:
    files = run.rebuilt_files(Stage.GRAPH)
    if files is not None and not files:
        yield from (Produced(table) for table in tables)
        return
    columns = {name: catalog.dataset(name).column_names for table in tables for name in graph.READS[table.name]}
    with watched(run.spark, run.progress, "writing the graph"), views(run, columns, files, graph.LOOKUPS) as read:
        for table, rows in _made(run, tables, read):
            yield Produced(table, run.replace(table, rows, run.scope(files), read.are_many))


def _made(run: WritingRun, tables: Sequence[Table], read: Views) -> Iterator[tuple[Table, DataFrame | pa.Table]]:
    """Each dataset's rows. Few are fetched, side by side: planning is most of the work."""
    if not read.are_few:
        for table in tables:
            rows = graph.TRANSFORMS[table.name](read.frames)
            note_transform(run, table, rows)
            yield table, rows
        return
    with ThreadPoolExecutor(len(tables)) as pool:
        jobs = [pool.submit(_fetched, run, table, read.frames) for table in tables]
        yield from ((table, job.result()) for table, job in zip(tables, jobs, strict=True))


def _fetched(run: WritingRun, table: Table, frames: Mapping[str, DataFrame]) -> pa.Table:
    rows = graph.TRANSFORMS[table.name](frames)
    note_transform(run, table, rows)
    return rows.toArrow()


def _deps() -> dict[str, list[str]]:
    """The datasets each is made of: of all rules where it reads their one table."""
    rules = [table.name for table in catalog.of_stage(Stage.RELATIONSHIPS)]
    return {
        table.name: [
            IMPACTED_FILES.name,
            *(each for name in graph.READS[table.name] for each in (rules if name == ALL_RULES.name else [name])),
        ]
        for table in catalog.of_stage(Stage.GRAPH)
    }


ASSETS = stage_assets(Stage.GRAPH, {name: list(dict.fromkeys(deps)) for name, deps in _deps().items()}, graph_stage)

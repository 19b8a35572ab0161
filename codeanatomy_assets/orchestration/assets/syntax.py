"""The syntax stage: the files whose text changed, parsed once for all of its datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codeanatomy_assets.contracts import syntax as contracts
from codeanatomy_assets.contracts.repository import FILE_CHANGES, REPO_SNAPSHOT
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.extraction.syntax_tree import collect_file
from codeanatomy_assets.orchestration.assets.stage_assets import stage_assets
from codeanatomy_assets.orchestration.indexing import index_ahead
from codeanatomy_assets.orchestration.progress import watched
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.writing_run import WritingRun

DEPS = {table.name: [REPO_SNAPSHOT.name, FILE_CHANGES.name] for table in contracts.TABLES}


def syntax_stage(run: WritingRun, tables: Sequence[Table]) -> Iterator[Produced]:
    files = run.touched_files(Stage.SYNTAX)
    if files is not None and not files:
        yield from (Produced(table) for table in tables)
        return
    index_ahead(run)
    sources = run.sources(files)
    with watched(run.spark, run.progress, "parsing and writing"):
        for table, written in run.replace_collected(sources, collect_file, dict.fromkeys(tables, files)):
            yield Produced(table, written)


ASSETS = stage_assets(Stage.SYNTAX, DEPS, syntax_stage)

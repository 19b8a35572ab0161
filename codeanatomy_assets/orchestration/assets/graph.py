"""The graph stage: nodes, edges and props of the impacted files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.assets.stage_assets import Produced, stage_assets
from codeanatomy_assets.orchestration.progress import watched
from codeanatomy_assets.orchestration.views import views
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.transforms import graph


def graph_stage(run: WritingRun, tables: Sequence[Table]) -> Iterator[Produced]:
    files = run.rebuilt_files(Stage.GRAPH)
    if files is not None and not files:
        yield from (Produced(table) for table in tables)
        return
    names = [name for table in tables for name in graph.READS[table.name]]
    read = views(run, names, files, graph.LOOKED_UP)
    with watched(run.spark, run.progress, "writing the graph"):
        for table in tables:
            rows = graph.TRANSFORMS[table.name](read)
            yield Produced(table, run.replace(table, rows, run.scope(files)))


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

"""The relationships stage: all rules over the impacted files, written in one commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.assets.stage_assets import Produced, stage_assets
from codeanatomy_assets.orchestration.progress import watched
from codeanatomy_assets.orchestration.views import scope_of, views
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.rules import registry
from codeanatomy_assets.rules.compiler import CompiledRule, compile_rule
from codeanatomy_assets.rules.running import run as run_rules

# Tables that rules look things up in across files; all others are joined on the owner's file.
LOOKED_UP = ("dim_exported_defs", "py_interface", "repo_snapshot", "scip_symbols", "cst_defs", "py_module_index")


def compiled(tables: Sequence[Table]) -> list[CompiledRule]:
    return [compile_rule(registry.rule(table.name)) for table in tables]


def relationships_stage(run: WritingRun, tables: Sequence[Table]) -> Iterator[Produced]:
    files = run.rebuilt_files(Stage.RELATIONSHIPS)
    if files is not None and not files:
        yield from (Produced(table) for table in tables)
        return
    rules = compiled(tables)
    names = [name for rule in rules for name in rule.tables]
    found = run_rules(run.spark, rules, views(run, names, files, LOOKED_UP), scope_of(run, files))
    with watched(run.spark, run.progress, "relating"):
        if len(tables) == len(catalog.of_stage(Stage.RELATIONSHIPS)):
            written = run.replace(ALL_RULES, found, run.scope(files))
            yield from (Produced(table, written) for table in tables)
            return
        for table in tables:
            rows = found.where(f"rule = '{table.name}'")
            yield Produced(table, run.replace(table, rows, run.scope(files)))


def _deps() -> dict[str, list[str]]:
    """What each rule reads, and the files it is run for."""
    tables = catalog.of_stage(Stage.RELATIONSHIPS)
    return {rule.name: [*rule.tables, IMPACTED_FILES.name] for rule in compiled(tables)}


ASSETS = stage_assets(Stage.RELATIONSHIPS, _deps(), relationships_stage)

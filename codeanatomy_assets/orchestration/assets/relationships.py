"""The relationships stage: all rules over the impacted files, written in one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.contracts.lookups import Lookup
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.assets.stage_assets import stage_assets
from codeanatomy_assets.orchestration.profiles import note_rule
from codeanatomy_assets.orchestration.progress import watched
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.views import Views, scope_of, views
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.rules import registry
from codeanatomy_assets.rules.compiler import CompiledRule, compile_rule
from codeanatomy_assets.rules.running import run as run_rules
from codeanatomy_assets.storage.data_files import DataFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Of few rows planning is most of the work; of many, two rules would wait for each other's tasks.
RULES_AT_ONCE = 2


def compiled(tables: Sequence[Table]) -> list[CompiledRule]:
    return [compile_rule(registry.rule(table.name)) for table in tables]


def relationships_stage(run: WritingRun, tables: Sequence[Table]) -> Iterator[Produced]:
    files = run.rebuilt_files(Stage.RELATIONSHIPS)
    if files is not None and not files:
        yield from (Produced(table) for table in tables)
        return
    rules = compiled(tables)
    columns, lookups = columns_read(rules), frozenset[Lookup]().union(*(rule.lookups for rule in rules))
    with watched(run.spark, run.progress, "relating"), views(run, columns, files, lookups) as read:
        found = _related(run, rules, files, read)
        if len(tables) == len(catalog.of_stage(Stage.RELATIONSHIPS)):
            written = run.replace(ALL_RULES, found, run.scope(files), read.are_many)
            yield from (Produced(table, written) for table in tables)
            return
        for table in tables:
            rows = _of_rule(found, table)
            yield Produced(table, run.replace(table, rows, run.scope(files)))


def _related(
    run: WritingRun, rules: Sequence[CompiledRule], files: frozenset[str] | None, read: Views
) -> DataFrame | pa.Table | DataFiles:
    """The rows of these rules. Few are fetched.

    Many are computed rule by rule: one plan of all rules together takes Spark minutes to make. Where there are none
    yet, a rule's rows are written as the data files that they stay in; else they are set aside, to be compared.
    """
    scope = scope_of(run, files)
    # Of few files the slices are the scope, but for owners of which rows of other files are looked up too.
    looked_up = {lookup.table for rule in rules for lookup in rule.lookups}
    scopes = [scope if not read.are_few or looked_up & _owners(rule) else None for rule in rules]
    is_first = files is None and run.store.is_empty(run.state, ALL_RULES)
    make = _fetched if read.are_few else _written if is_first else _set_aside
    with ThreadPoolExecutor(RULES_AT_ONCE if read.are_few else 1) as pool:
        jobs = [pool.submit(make, run, rule, read.frames, each) for rule, each in zip(rules, scopes, strict=True)]
        made = [job.result() for job in jobs]
    if read.are_few:
        return pa.concat_tables(made)
    if is_first:
        return DataFiles.of(made)
    return run.spark.read.schema(ALL_RULES.spark_schema()).parquet(*made)


def _fetched(run: WritingRun, rule: CompiledRule, frames: Mapping[str, DataFrame], scope: DataFrame | None) -> pa.Table:
    rows = run_rules(run.spark, [rule], frames, scope)
    found: pa.Table = rows.toArrow()
    note_rule(run, rule, rows)
    return found.cast(ALL_RULES.arrow_schema())


def _written(
    run: WritingRun, rule: CompiledRule, frames: Mapping[str, DataFrame], scope: DataFrame | None
) -> DataFiles:
    rows = run_rules(run.spark, [rule], frames, scope)
    files = run.store.write_ahead(run.state, ALL_RULES, rows)
    note_rule(run, rule, rows)
    return files


def _set_aside(run: WritingRun, rule: CompiledRule, frames: Mapping[str, DataFrame], scope: DataFrame | None) -> str:
    """The folder that the rule's rows were written to, for as long as this run takes."""
    folder = str(run.folder.work / f"related-{run.attempt.number}" / rule.name)
    rows = run_rules(run.spark, [rule], frames, scope)
    rows.write.parquet(folder)
    note_rule(run, rule, rows)
    return folder


def columns_read(rules: Sequence[CompiledRule]) -> dict[str, set[str]]:
    """The columns that these rules look at, and the owner's, by table."""
    read: dict[str, set[str]] = {}
    for rule in rules:
        for table, columns in rule.reads.items():
            read.setdefault(table, {"file_id"}).update(columns)
    return read


def _owners(rule: CompiledRule) -> frozenset[str]:
    return frozenset(table.name for table in (rule.rule.owner, *rule.rule.further_owners))


def _of_rule(found: DataFrame | pa.Table, table: Table) -> DataFrame | pa.Table:
    if isinstance(found, pa.Table):
        return found.filter(pc.field("rule") == table.name)
    return found.where(f"rule = '{table.name}'")


def _deps() -> dict[str, list[str]]:
    """What each rule reads, and the files it is run for."""
    tables = catalog.of_stage(Stage.RELATIONSHIPS)
    return {rule.name: [*rule.tables, IMPACTED_FILES.name] for rule in compiled(tables)}


LINEAGE = {rule.name: rule.lineage for rule in compiled(catalog.of_stage(Stage.RELATIONSHIPS))}
ASSETS = stage_assets(Stage.RELATIONSHIPS, _deps(), relationships_stage, LINEAGE)

"""Exports for a run: which files' names are to be followed again, and the facts they are followed through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from codeanatomy_assets.contracts.exports import DIM_EXPORTED_DEFS, DIM_QUALIFIED_NAMES
from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets.orchestration.stages import Produced
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.transforms.export_sources import (
    SOURCES,
    Source,
    fetched_facts,
    gather_light,
    gathered_files,
    gathered_names,
)
from codeanatomy_assets.transforms.exports import (
    Facts,
    ModuleFacts,
    changed_keys,
    exported_table,
    facts_of_rows,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Past this many files the rows are gathered by Spark and all facts are followed anew.
LIGHT_FILES = 1_000


def follow_exports(run: WritingRun) -> Iterator[Produced]:
    """Exports and qualified names of the files whose rows changed, and exports of those that asked for them."""
    files = None if run.refreshes(Stage.SYMBOLS) else _rewritten(run)
    if files is not None and len(files) <= LIGHT_FILES:
        yield from _of_change(run, files)
    elif run.file_count <= LIGHT_FILES:
        yield from _of_few(run)
    else:
        yield from _everything(run)


def _rewritten(run: WritingRun) -> frozenset[str]:
    """The files with other rows than before in a dataset that facts are made of."""
    sources = [source.table.name for source in SOURCES.values()]
    written = [run.written[name].owners for name in sources if name in run.written]
    return (run.chosen or frozenset()).union(*written)


def _everything(run: WritingRun) -> Iterator[Produced]:
    gathered = gathered_files(lambda source: _whole(run, source)).persist()
    try:
        facts = fetched_facts(gathered)
        names = gathered_names(gathered)
        everything = run.scope(None)
        exported = exported_table((facts[file_id] for file_id in sorted(facts)), Facts(facts))
        yield Produced(DIM_EXPORTED_DEFS, run.replace(DIM_EXPORTED_DEFS, exported, everything))
        yield Produced(DIM_QUALIFIED_NAMES, run.replace(DIM_QUALIFIED_NAMES, names, everything))
    finally:
        gathered.unpersist()


def _whole(run: WritingRun, source: Source) -> DataFrame:
    files = run.read_files(source.table)
    return (run.read(source.table) if files is None else files).where(source.where)


def _of_few(run: WritingRun) -> Iterator[Produced]:
    """All files of a small repository, without Spark's cost of reading seven tables."""
    gathered = gather_light(lambda source: _read_light(run, source, None))
    facts = Facts(gathered.facts)
    exported = exported_table((gathered.facts[file_id] for file_id in sorted(gathered.facts)), facts)
    yield Produced(DIM_EXPORTED_DEFS, run.replace(DIM_EXPORTED_DEFS, exported, run.scope(None)))
    yield Produced(DIM_QUALIFIED_NAMES, run.replace(DIM_QUALIFIED_NAMES, gathered.names, run.scope(None)))


def _of_change(run: WritingRun, files: frozenset[str]) -> Iterator[Produced]:
    gathered = gather_light(lambda source: _read_light(run, source, files))
    before = _stored(run, files)
    keys = frozenset[str]().union(*(changed_keys(before.get(each), gathered.facts.get(each)) for each in files))
    asking = _asking(run, keys) - files
    known: dict[str, ModuleFacts | None] = {file_id: gathered.facts.get(file_id) for file_id in files}
    known |= _stored(run, asking)
    known |= _stored(run, _sources(known.values()) - known.keys())
    facts = Facts(known, lambda file_id: _stored(run, (file_id,)).get(file_id))
    walked = [module for module in map(facts.of, sorted(files | asking)) if module is not None]
    scope = run.scope(files | asking)
    yield Produced(DIM_EXPORTED_DEFS, run.replace(DIM_EXPORTED_DEFS, exported_table(walked, facts), scope))
    yield Produced(DIM_QUALIFIED_NAMES, run.replace(DIM_QUALIFIED_NAMES, gathered.names, run.scope(files)))


def _read_light(run: WritingRun, source: Source, files: Iterable[str] | None) -> pa.Table:
    """A few files' rows. The filter is SQL for both engines: DataFusion knows Spark's names for what it uses."""
    return delta_reads.read_light(run.state, source.table, files, run.store.options, source.where)


def _stored(run: WritingRun, files: Iterable[str]) -> dict[str, ModuleFacts]:
    rows = run.read_previous_light(DIM_EXPORTED_DEFS, files).to_pylist()
    return facts_of_rows(rows)


def _sources(modules: Iterable[ModuleFacts | None]) -> set[str]:
    """The files that these take names from: most of what the walks will ask for, read at once."""
    facts = [fact for module in modules if module is not None for fact in module.facts]
    return {fact.source_file_id for fact in facts if fact.source_file_id is not None}


def _asking(run: WritingRun, keys: frozenset[str]) -> frozenset[str]:
    """The files with a name whose way led past one of these facts."""
    return run.previous_owners_listing(DIM_EXPORTED_DEFS, "looked_up", keys)

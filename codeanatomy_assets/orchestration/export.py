"""Publishing: datasets of a built commit as files, streamed in bounded memory, without a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts import graph
from codeanatomy_assets.contracts.table import Layout, Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.export_formats import WRITERS
from codeanatomy_assets.orchestration.export_graphml import write_graphml
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import open_store
from codeanatomy_assets.orchestration.revisions import built_commit
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import LedgerRow

BUNDLED = (*graph.TABLES, *(table for table in catalog.TABLES if table.layout is Layout.BY_COMMIT))
GRAPHML = "graphml"
FORMATS = (*WRITERS, GRAPHML)


def export_commits(
    settings: Settings,
    out: Path,
    commits: Sequence[str],
    datasets: Sequence[str] | None,
    formats: Sequence[str] = ("parquet",),
    bundle: bool = False,
) -> Iterator[str]:
    """Export several built commits at once, each to a folder of its name; one or none as `export` does."""
    rows = {row.commit: row for row in (built_commit(settings, commit) for commit in commits)}
    if len(rows) <= 1:
        yield from export(settings, out, commits[0] if commits else None, datasets, formats, bundle)
        return
    for commit in rows:
        yield from export(settings, out / short(commit), commit, datasets, formats, bundle)


def export(
    settings: Settings,
    out: Path,
    commit: str | None,
    datasets: Sequence[str] | None,
    formats: Sequence[str] = ("parquet",),
    bundle: bool = False,
) -> Iterator[str]:
    """Write datasets as they were at a built commit, a file each and format; yields a line for each file.

    A bundle is the graph and the commit's own records: of datasets kept by commit no other commit's rows.
    GraphML is one file, of the whole graph, whatever datasets are named.
    """
    row = built_commit(settings, commit)
    if bundle and datasets:
        raise BadInput("--bundle has its own datasets: leave out --dataset, or --bundle")
    tables = _chosen(row, [table.name for table in BUNDLED] if bundle else datasets, formats)
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out} is a file: name a folder to export to")
    out.mkdir(parents=True, exist_ok=True)
    options = open_store(settings).options
    for table in tables:
        for name in (name for name in formats if name in WRITERS):
            path = out / f"{table.name}.{name}"
            count = WRITERS[name](_batches(row, table, options, bundle), table, path)
            yield f"{path}: {count} rows at {short(row.commit)}"
    if GRAPHML in formats:
        yield _graphml(row, out / "graph.graphml", options)


def _batches(row: LedgerRow, table: Table, options: Mapping[str, str], bundle: bool) -> Iterable[pa.RecordBatch]:
    if bundle and table.layout is Layout.BY_COMMIT:
        batches: list[pa.RecordBatch] = delta_reads.read_light(row.state, table, (row.commit,), options).to_batches()
        return batches
    return delta_reads.stream(row.state, table, options)


def _chosen(row: LedgerRow, datasets: Sequence[str] | None, formats: Sequence[str]) -> list[Table]:
    """The datasets to write; refuses what there is not before anything is written."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise BadInput(f"no format {', '.join(unknown)}: known are {', '.join(FORMATS)}")
    tables = [_known(name) for name in datasets] if datasets else list(catalog.read_tables())
    needed = [*(tables if datasets else []), *(graph.TABLES if GRAPHML in formats else ())]
    absent = [table.name for table in needed if table.storage_name not in row.state.refs]
    if absent:
        raise BadInput(f"{short(row.commit)} was built before there was {absent[0]}: export another commit of it")
    return [table for table in tables if table.storage_name in row.state.refs]


def _known(name: str) -> Table:
    known = {table.name: table for table in catalog.read_tables()}
    if name not in known:
        raise BadInput(f"no dataset {name}: known are {', '.join(known)}")
    return known[name]


def _graphml(row: LedgerRow, path: Path, options: Mapping[str, str]) -> str:
    rows = sum(delta_reads.count_rows(row.state, table, options) for table in graph.TABLES)
    nodes, edges = write_graphml(lambda table: delta_reads.stream(row.state, table, options), path, rows)
    return f"{path}: {nodes} nodes and {edges} edges at {short(row.commit)}"

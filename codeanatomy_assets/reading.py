"""Reading built graphs from Python, without a JVM: the graph, a dataset or SQL at any kept commit, as Arrow tables.

    from codeanatomy_assets.reading import graph_at
    graph_at(".codeanatomy").edges.num_rows

`commit` is an id, its first digits, or a name that the repository knows; None is the commit built last.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration import query as sql_query
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.revisions import built_commit
from codeanatomy_assets.settings import Settings, from_environment
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import LedgerRow


@dataclass(frozen=True)
class Graph:
    """The graph of one commit, with the columns of docs/datasets.md: a global node once per file that mentions it."""

    commit: str
    nodes: pa.Table
    edges: pa.Table
    props: pa.Table


@dataclass(frozen=True)
class BuiltCommit:
    """A commit that can be read: when and how it was built (`full` or `incremental`), and after which one."""

    commit: str
    parent: str | None
    built_at: str
    mode: str
    sequence: int


def commits(state: Path | str) -> list[BuiltCommit]:
    """The commits inside the retention, in the order they were built; of one built again, the last time."""
    newest = {row.commit: row for row in open_ledger(_settings(state)).kept_rows()}
    rows = sorted(newest.values(), key=lambda row: row.sequence)
    return [BuiltCommit(row.commit, row.parent, row.built_at, row.built_by, row.sequence) for row in rows]


def graph_at(state: Path | str, commit: str | None = None) -> Graph:
    """The whole graph at a commit, in memory."""
    settings = _settings(state)
    row = built_commit(settings, commit)
    nodes, edges, props = (_read(settings, row, table.name) for table in (CPG_NODES, CPG_EDGES, CPG_PROPS))
    return Graph(row.commit, nodes, edges, props)


def dataset(state: Path | str, name: str, commit: str | None = None) -> pa.Table:
    """A dataset as it was at a commit. Those kept by commit hold the rows of all commits up to it."""
    settings = _settings(state)
    return _read(settings, built_commit(settings, commit), name)


def query(state: Path | str, sql: str, commit: str | None = None) -> pa.Table:
    """The answer to a query over the datasets at a commit, each under its name; DataFusion's SQL."""
    return sql_query.query(_settings(state), sql, commit).rows


def _read(settings: Settings, row: LedgerRow, name: str) -> pa.Table:
    table = catalog.BY_NAME.get(name)
    if table is None or table.storage_name not in row.state.refs:
        known = ", ".join(each.name for each in catalog.TABLES if each.storage_name in row.state.refs)
        raise BadInput(f"no dataset {name} at {short(row.commit)}: there are {known}")
    return delta_reads.read_light(row.state, table, None, settings.storage_options)


def _settings(state: Path | str) -> Settings:
    return from_environment(state=Path(state))

"""SQL over all datasets at one built commit, through delta-rs: without a JVM, and it can't write a table."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.ledger import GRAPH_COMMITS
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.plain_text import short, table_of
from codeanatomy_assets.orchestration.revisions import built_commit
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.table_state import table_path

EVERY_ROW = "true"
_COMMENT = r"(\s|--[^\n]*\n|/\*.*?\*/)*"
# What only reads: of the rest, some would write files, and none would find the tables it names.
_READS = re.compile(rf"{_COMMENT}(EXPLAIN\s+((ANALYZE|VERBOSE)\s+)*)?(SELECT|WITH|VALUES|DESCRIBE|\()", re.I | re.S)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Answer:
    """Rows of a query, and the commit that they are of."""

    commit: str
    rows: pa.Table


def query(settings: Settings, sql: str, revision: str | None = None) -> Answer:
    """Run one query over the datasets as they were at a built commit, each under its own name; the ledger as it is."""
    row = built_commit(settings, revision)
    if not _READS.match(sql):
        raise BadInput("only queries are run here: begin with SELECT, WITH, VALUES, DESCRIBE or EXPLAIN")
    words = {word.lower() for word in _WORD.findall(sql)}
    builder = _registered(row, settings.storage_options, words)
    if GRAPH_COMMITS.name in words:
        ledger = table_path(settings.tables_root, GRAPH_COMMITS, 1)
        builder.register(GRAPH_COMMITS.name, DeltaTable(ledger, storage_options=dict(settings.storage_options)))
    try:
        found = pa.RecordBatchReader.from_stream(builder.execute(sql)).read_all()
    except (DeltaError, pa.ArrowException, OSError) as error:
        known = ", ".join(table.name for table in (*_datasets(row), GRAPH_COMMITS))
        raise BadInput(f"the query failed: {str(error).strip()}\ndatasets at {short(row.commit)}: {known}") from error
    return Answer(row.commit, found.cast(pa.schema([(each.name, _plain(each.type)) for each in found.schema])))


def table_versions(settings: Settings, revision: str | None) -> dict[str, Any]:
    """Where each dataset of a built commit lies, and at which version: for SQL by time travel elsewhere."""
    row = built_commit(settings, revision)
    tables = {}
    for table in _datasets(row):
        ref = row.state.ref(table)
        tables[table.name] = {"path": ref.path, "version": ref.version, "where": _condition(table)}
    return {"commit": row.commit, "tables": tables}


def versions_as_text(found: Mapping[str, Any]) -> str:
    lines = [f"commit     {found['commit']}"]
    for name, at in found["tables"].items():
        where = f"  where {at['where']}" if at["where"] != EVERY_ROW else ""
        lines.append(f"  {name}: version {at['version']} of {at['path']}{where}")
    return "\n".join(lines)


def as_json(answer: Answer) -> str:
    told = {"commit": answer.commit, "columns": answer.rows.column_names, "rows": answer.rows.to_pylist()}
    return json.dumps(told, default=str)


def as_csv(answer: Answer) -> str:
    """Lists and structs as JSON; a null is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(answer.rows.column_names)
    writer.writerows([_cell(value) for value in row.values()] for row in answer.rows.to_pylist())
    return out.getvalue().removesuffix("\n")


def as_table(answer: Answer) -> str:
    """Columns side by side, for a terminal."""
    rows = [[_cell(value) for value in row.values()] for row in answer.rows.to_pylist()]
    return "\n".join(table_of([answer.rows.column_names, *rows]))


def _datasets(row: LedgerRow) -> list[Table]:
    return [table for table in catalog.read_tables() if table.storage_name in row.state.refs]


def _condition(table: Table) -> str:
    """What picks a dataset's rows out of a Delta table that several share."""
    return f"rule = '{table.name}'" if table.stored_in else EVERY_ROW


def _registered(row: LedgerRow, options: Mapping[str, str], words: set[str]) -> QueryBuilder:
    """The datasets that the query could mean by these words, as views with the contract's columns."""
    builder = QueryBuilder()
    stored: set[str] = set()
    for table in (table for table in _datasets(row) if table.name in words):
        opened = delta_reads.open_table(row.state.ref(table), options)
        if table.storage_name not in stored:
            stored.add(table.storage_name)
            builder.register(f"stored_{table.storage_name}", opened)
        present = {each.name for each in opened.schema().fields}
        columns = ", ".join(f'"{name}"' for name in table.column_names if name in present)
        stored_as = f"stored_{table.storage_name}"
        builder.execute(f"CREATE VIEW {table.name} AS SELECT {columns} FROM {stored_as} WHERE {_condition(table)}")
    return builder


def _plain(type_: pa.DataType) -> pa.DataType:
    """Types as the contracts have them: the engine's views of text and bytes are its own affair."""
    if pa.types.is_list(type_):
        return pa.list_(_plain(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([(each.name, _plain(each.type)) for each in type_])
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(type_, type_)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)

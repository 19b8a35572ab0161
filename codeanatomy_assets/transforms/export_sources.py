"""The rows that export facts are made of, file by file: from Spark for many files, from Arrow for a few."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from codeanatomy_assets.contracts.exports import DIM_QUALIFIED_NAMES
from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED, PY_MODULE_INDEX
from codeanatomy_assets.contracts.symbols import SCIP_OCCURRENCES
from codeanatomy_assets.contracts.syntax import CALLSITES, DEFS, IMPORTS, NAME_REFS
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.transforms.export_facts import Fact, FileSources, facts_of, qualified_names_of
from codeanatomy_assets.transforms.exports import ModuleFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FACTS_SCHEMA = pa.schema([("file_id", pa.string()), ("prefix", pa.string()), ("facts", pa.string())])
FILES_PER_RECORD_BATCH = 32


@dataclass(frozen=True)
class Source:
    """The columns and rows of a dataset that facts are made of; `where` is SQL that both engines read."""

    table: Table
    columns: tuple[str, ...]
    where: str = "true"


SOURCES: dict[str, Source] = {
    "module": Source(PY_MODULE_INDEX, ("module_id", "path", "module", "is_package"), "NOT is_alternate"),
    "defs": Source(
        DEFS,
        (
            *("def_id", "kind", "local_qname", "parent_def_id", "is_conditional", "name_bstart", "name_bend"),
            *("is_async", "decorators", "bases", "returns", "type_parameters", "parameters"),
        ),
    ),
    "refs": Source(
        NAME_REFS,
        (
            *("name", "dotted", "context", "binding", "scope_id", "binding_scope_id", "usage"),
            *("assigned_from", "bstart", "bend"),
        ),
        "(context = 'store' AND binding IN ('global', 'class')) OR context = 'export'",
    ),
    "imports": Source(
        PY_IMPORTS_RESOLVED,
        (
            *("import_id", "scope_id", "target_kind", "module", "name", "bound_name", "is_star", "is_conditional"),
            "target_file_id",
        ),
    ),
    "clauses": Source(IMPORTS, ("import_id", "bstart")),
    "calls": Source(CALLSITES, ("call_id", "candidates"), "cardinality(candidates) > 0"),
    "definitions": Source(
        SCIP_OCCURRENCES, ("symbol", "symbol_id", "bstart", "bend"), "role = 'definition' AND symbol_kind <> 'local'"
    ),
}


@dataclass(frozen=True)
class Gathered:
    """Facts and qualified names of some files."""

    facts: dict[str, ModuleFacts]
    names: pa.Table | DataFrame


def gather_light(read: Callable[[Source], pa.Table]) -> Gathered:
    """Facts and names of the files whose rows `read` gives, in memory."""
    by_file: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for name, source in SOURCES.items():
        for row in read(source).to_pylist():
            by_file[row["file_id"]][name].append(row)
    files = [_file_sources(file_id, rows) for file_id, rows in by_file.items() if rows["module"]]
    names = [row for file in files for row in qualified_names_of(file)]
    return Gathered(
        {file.file_id: ModuleFacts.of(file.file_id, file.prefix, facts_of(file)) for file in files},
        pa.Table.from_pylist(names, schema=DIM_QUALIFIED_NAMES.arrow_schema()),
    )


def _file_sources(file_id: str, rows: Mapping[str, list[Mapping[str, Any]]]) -> FileSources:
    others = {name: rows.get(name, ()) for name in SOURCES if name != "module"}
    return FileSources(file_id, rows["module"][0], **others)


def gathered_files(read: Callable[[Source], DataFrame]) -> DataFrame:
    """One row per file: its facts as JSON, and its qualified names as a list of rows."""
    from functools import reduce

    from pyspark.sql import functions as F

    parts = [
        read(source).select(
            "file_id", F.lit(name).alias("source"), F.to_json(F.struct(*source.columns), {"ignoreNullFields": "false"})
        )
        for name, source in SOURCES.items()
    ]
    united = reduce(lambda left, right: left.union(right), parts).toDF("file_id", "source", "row")
    grouped = united.groupBy("file_id").agg(F.collect_list(F.struct("source", "row")).alias("rows"))
    names = ",".join(f"`{column.name}`:{column.type.ddl}" for column in DIM_QUALIFIED_NAMES.columns)
    return grouped.mapInArrow(
        _gather_batches, f"file_id string, prefix string, facts string, names array<struct<{names}>>"
    )


def _gather_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    struct = pa.struct(list(DIM_QUALIFIED_NAMES.arrow_schema()))
    schema = FACTS_SCHEMA.append(pa.field("names", pa.list_(struct)))
    for batch in batches:
        for start in range(0, batch.num_rows, FILES_PER_RECORD_BATCH):
            part = batch.slice(start, FILES_PER_RECORD_BATCH).to_pylist()
            rows = [row for row in (_gathered_row(file["file_id"], file["rows"]) for file in part) if row]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _gathered_row(file_id: str, rows: list[dict[str, str]]) -> dict[str, Any] | None:
    by_source: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_source[row["source"]].append(json.loads(row["row"]))
    if not by_source["module"]:
        return None
    file = _file_sources(file_id, by_source)
    facts = json.dumps([list(asdict(fact).values()) for fact in facts_of(file)])
    return {"file_id": file_id, "prefix": file.prefix, "facts": facts, "names": qualified_names_of(file)}


def fetched_facts(gathered: DataFrame) -> dict[str, ModuleFacts]:
    """All facts on the driver: some fifty small records a file, meant for up to some hundred thousand files."""
    rows = gathered.select("file_id", "prefix", "facts").toArrow().to_pylist()
    return {
        row["file_id"]: ModuleFacts.of(
            row["file_id"], row["prefix"], (Fact(*fact) for fact in json.loads(row["facts"]))
        )
        for row in rows
    }


def gathered_names(gathered: DataFrame) -> DataFrame:
    return gathered.selectExpr("inline(names)")

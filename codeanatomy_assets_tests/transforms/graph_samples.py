"""The examples of the graph's contracts as datasets: syntax and names for real, meanings and relationships by hand."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from codeanatomy_assets.contracts import exports, identity, names, relationships, repository, symbols, syntax
from codeanatomy_assets.contracts.graph_kinds import EXAMPLE_FILES
from codeanatomy_assets.contracts.graph_props import PROPS, PropKey
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.extraction.scip_documents import symbol_parts
from codeanatomy_assets.extraction.syntax_tree import collect
from codeanatomy_assets_tests.transforms.names_trees import file_id, index_of, resolved_of

Row = dict[str, Any]
Rows = dict[str, list[Row]]

READ = (
    repository.REPO_SNAPSHOT,
    *syntax.TABLES,
    *names.TABLES,
    symbols.SCIP_FINGERPRINTS,
    symbols.SCIP_SYMBOLS,
    *exports.TABLES,
    relationships.ALL_RULES,
)
UNREADABLE = "app/huge.py"
NOT_INDEXED = "app/odd.py"
SCRIPT = "my-scripts/run-it.py"
OTHER_FILES = {
    NOT_INDEXED: "import numpy as np\nx = lambda: np.array([1])\n",
    SCRIPT: "def main(): ...\nmain()\n",
}
REEXPORTED = "numpy.array"


def prop_path(prop: PropKey) -> str:
    """Where the example of a prop stands: a folder of its own, and the file that a leading comment names."""
    source, folder = prop.example[0], f"p{PROPS.index(prop)}"
    return f"{folder}/{source.removeprefix('# ') if source.startswith('# ') else 'm.py'}"


def sample_files() -> dict[str, str]:
    return {**EXAMPLE_FILES, **OTHER_FILES, **{prop_path(prop): prop.example[0] for prop in PROPS}}


def sample_rows() -> Rows:
    """Every dataset that the graph reads, of all sample files."""
    files = sample_files()
    rows: Rows = defaultdict(list)
    for path, source in files.items():
        rows["repo_snapshot"].append(snapshot_row(path, source))
        for table in syntax.TABLES:
            collected = collect(file_id(path), path, source.encode())[table.name]
            rows[table.name] += [dict(zip(table.column_names, row, strict=True)) for row in collected]
        failure = "the indexer gave up" if path == NOT_INDEXED else None
        rows["scip_fingerprints"].append({"file_id": file_id(path), "indexer": "scip-python", "failure": failure})
    rows["repo_snapshot"].append(snapshot_row(UNREADABLE, "", size=2**40, skip_reason="too_large"))
    rows["repo_snapshot"].append(snapshot_row("README.md", "", is_python=False, encoding=None))
    rows["py_module_index"] = index_of(files).to_pylist()
    rows["py_imports_resolved"] = resolved_of(files)
    rows["scip_symbols"] = list(_symbol_rows())
    rows["dim_qualified_names"] = list(_own_names(rows))
    rows["dim_exported_defs"] = [_export_row()]
    rows["relationships"] = list(_relationship_rows(rows))
    return rows


def snapshot_row(path: str, source: str, **changed: Any) -> Row:
    content = source.encode()
    told = {"git_mode": "100644", "blob_id": "b", "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    return {"file_id": file_id(path), "path": path, **told, "encoding": "utf-8", "is_python": True, **changed}


def views(spark: SparkSession, rows: Mapping[str, list[Row]]) -> dict[str, DataFrame]:
    return {table.name: frame(spark, table, rows.get(table.name, [])) for table in READ}


def frame(spark: SparkSession, table: Table, rows: list[Row]) -> DataFrame:
    return spark.createDataFrame(arrow(table, rows), table.spark_schema())


def arrow(table: Table, rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=table.arrow_schema())


def symbol(module: str, descriptor: str) -> str:
    return f"scip-python python example 0 {module}/{descriptor}"


SIDE = symbol("`app.square`", "side().")
SHAPE = symbol("`app.base`", "Shape#")
SQUARE_AREA = symbol("`app.square`", "Square#area().")
SHAPE_AREA = symbol("`app.base`", "Shape#area().")


def symbol_row(path: str, text: str, implements: str | None = None) -> Row:
    parts = symbol_parts(text)
    relation = {"symbol_id": identity.SYMBOL.of(implements), "symbol": implements, "kinds": ["implementation"]}
    return {
        "file_id": file_id(path),
        "symbol_id": symbols.LOCAL_SYMBOL.of(file_id(path), text)
        if parts.kind == "local"
        else identity.SYMBOL.of(text),
        "symbol": text,
        "symbol_kind": parts.kind,
        "package": parts.package,
        "module": parts.module,
        "descriptor": parts.descriptor,
        "name": parts.name,
        "is_defined_here": True,
        "relationships": [relation] if implements else [],
    }


def _symbol_rows() -> list[Row]:
    found = [
        symbol_row("app/square.py", SIDE),
        symbol_row("app/square.py", SHAPE),
        symbol_row("app/square.py", SQUARE_AREA, SHAPE_AREA),
        symbol_row("app/base.py", SHAPE),
        symbol_row("app/base.py", SHAPE_AREA),
        symbol_row("app/square.py", "local 0"),
        symbol_row("app/base.py", "local 0"),
    ]
    of_props = [prop for prop in PROPS if prop.kinds == ("SCIP_SYMBOL",)]
    return found + [symbol_row(prop_path(prop), symbol("m", "f().")) for prop in of_props]


def _own_names(rows: Rows) -> list[Row]:
    modules = {row["file_id"]: row for row in rows["py_module_index"] if not row["is_alternate"]}
    named: list[tuple[str, str, str, str, str]] = []
    for owner, row in modules.items():
        named.append((owner, _module_name(row), "module", row["module_id"], "own"))
    for row in rows["cst_defs"]:
        prefix = _module_name(modules[row["file_id"]])
        named.append((row["file_id"], f"{prefix}.{row['local_qname']}", "definition", row["def_id"], "own"))
    for row in rows["cst_callsites"]:
        for candidate in row["candidates"]:
            named.append((row["file_id"], candidate["qname"], "call", row["call_id"], candidate["source"]))
    keys = ("file_id", "qname", "subject_kind", "subject_id", "source")
    told = [dict(zip(keys, each, strict=True)) for each in named]
    return [{**each, "qname_id": identity.QNAME.of(each["qname"]), "name": "from the text"} for each in told]


def _module_name(row: Row) -> str:
    return str(row["module"] or f"<{row['path']}>")


def _export_row() -> Row:
    """A re-export in another file: the only place that has the text of the name it leads to."""
    row: Row = {column.name: None for column in exports.DIM_EXPORTED_DEFS.columns}
    told = {"qname": "app.odd.array", "target_qname": REEXPORTED}
    ids = {"qname_id": identity.QNAME.of("app.odd.array"), "target_qname_id": identity.QNAME.of(REEXPORTED)}
    return {**row, "file_id": file_id(NOT_INDEXED), **told, **ids}


def relationship_row(rule: str, path: str, src: str, dst: str | None, via: str = "", **changed: Any) -> Row:
    told: Row = {
        "file_id": file_id(path),
        "rel_id": relationships.RELATIONSHIP.of(rule, via or src, src, dst, "span"),
        "rule": rule,
        "via_id": via or src,
        "src_id": src,
        "dst_id": dst,
        "bstart": 0,
        "bend": 1,
        "origin": "cst+scip",
        "resolution_method": "span" if dst else "unresolved",
        "confidence": "certain" if dst else "none",
        "score": 1.0 if dst else 0.0,
        "unresolved_reason": None if dst else "not_found",
    }
    return {**told, **changed}


def _relationship_rows(rows: Rows) -> list[Row]:
    here = "app/square.py"
    ids = {
        (row["file_id"], row.get("local_qname") or row.get("name") or row.get("callee_text")): next(
            row[key] for key in ("def_id", "ref_id", "call_id") if key in row
        )
        for dataset in ("cst_name_refs", "cst_callsites", "cst_defs")
        for row in rows[dataset]
    }
    module = {row["path"]: row["module_id"] for row in rows["py_module_index"]}
    here_id, base_id = file_id(here), file_id("app/base.py")
    side, square, area = (ids[here_id, name] for name in ("side", "Square", "Square.area"))
    shape, shape_area = ids[base_id, "Shape"], ids[base_id, "Shape.area"]
    ref = next(row["ref_id"] for row in rows["cst_name_refs"] if row["name"] == "Shape" and row["file_id"] == here_id)
    calls = {row["callee_text"]: row["call_id"] for row in rows["cst_callsites"] if row["file_id"] == here_id}
    clause = next(row["import_id"] for row in rows["cst_imports"] if row["file_id"] == here_id)
    type_id = next(row["type_expr_id"] for row in rows["cst_type_exprs"] if row["annotated_def_id"] == side)
    script = {row["callee_text"]: row["call_id"] for row in rows["cst_callsites"] if row["file_id"] == file_id(SCRIPT)}
    sym, qname = identity.SYMBOL.of, identity.QNAME.of
    return [
        relationship_row("rel_def_symbol", here, side, sym(SIDE)),
        relationship_row("rel_name_symbol", here, ref, sym(SHAPE)),
        relationship_row("rel_annotation_symbol", here, type_id, None),
        relationship_row("rel_import_symbol", here, clause, sym(SHAPE)),
        relationship_row("rel_import_module", here, clause, module["app/base.py"]),
        relationship_row("rel_callsite_symbol", here, calls["side"], sym(SIDE)),
        relationship_row("rel_callsite_qname", here, calls["abs"], qname("builtins.abs")),
        relationship_row("rel_callsite_qname", SCRIPT, script["main"], qname(REEXPORTED)),
        relationship_row("rel_calls", here, area, side, calls["side"]),
        relationship_row("rel_inherits", here, square, shape),
        relationship_row("rel_overrides", here, area, shape_area),
    ]

"""Written rows → rows that break a check: with Spark, all checks of all datasets in one job.

Each function gives (table, check, example) for every offending row; `violations` counts them all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from codeanatomy_assets.contracts.checks import Check, Holds, Violation, border_checks, row_checks
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_PROPS
from codeanatomy_assets.contracts.graph_kinds import EDGE_KINDS, GLOBAL_KINDS
from codeanatomy_assets.contracts.graph_props import EDGE, NODE, PROPS, VALUE_TYPE_OF_KEY
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.transforms.checks_borders import off_border

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIZE = "size_of_file"
_OFFENCE = "table string, check string, example string"
_OF_TYPE = {
    "string": """(startswith(prop_value, '"') AND get_json_object(prop_value, '$') IS NOT NULL)""",
    "int": "prop_value RLIKE '^-?(0|[1-9][0-9]*)$'",
    "boolean": "prop_value IN ('true', 'false')",
    "json": "(prop_value RLIKE '^[\\\\[{]' AND get_json_object(prop_value, '$') IS NOT NULL)",
}


def violations(offences: Sequence[DataFrame]) -> list[Violation]:
    """What is broken, counted: as many rows as there are broken checks, whatever the size of the tables."""
    from pyspark.sql import functions as F

    united = reduce(lambda left, right: left.unionByName(right), offences)
    counted = united.groupBy("table", "check").agg(F.count("*").alias("n"), F.min("example").alias("example"))
    rows = counted.orderBy("table", "check").collect()
    return [Violation(row["table"], row["check"], row["n"], row["example"]) for row in rows]


def row_offences(table: Table, rows: DataFrame, sizes: DataFrame) -> DataFrame:
    """Rows of a dataset that break a check of their own, and keys that two rows share.

    `sizes` is `repo_snapshot`, or its file_id and size.
    """
    from pyspark.sql import functions as F

    checks = row_checks(table)
    if any(check.holds is Holds.INSIDE for check in checks):
        known = sizes.select("file_id", F.col("size").alias(_SIZE))
        rows = rows.join(F.broadcast(known), "file_id", "left")
    broken = {check.name: _condition(check) for check in checks}
    return _named(table, rows, broken).unionByName(_repeated_keys(table, rows))


def edge_offences(edges: DataFrame, nodes: DataFrame) -> DataFrame:
    """Edges with an end that is no node, or of a kind that the edge's does not declare.

    `edges` are those written, `nodes` all that there are now: an edge may lead to any file.
    """
    with_ends = _with_end(_with_end(edges, nodes, "src"), nodes, "dst")
    broken = {
        "src_exists": "src_kind IS NULL",
        "dst_exists": "dst_kind IS NULL",
        "kinds_declared": f"src_kind IS NOT NULL AND dst_kind IS NOT NULL AND NOT ({_declared_ends()})",
    }
    return _named(CPG_EDGES, with_ends, broken)


def removed_end_offences(edges: DataFrame, removed: DataFrame) -> DataFrame:
    """Edges, of any file, that name a node that an update removed (`node_id`): the rest of the graph dangles."""
    from pyspark.sql import functions as F

    gone = F.broadcast(removed.select("node_id").distinct())
    from_gone = edges.join(gone, F.col("src_node_id") == F.col("node_id"), "left_semi")
    to_gone = edges.join(gone, F.col("dst_node_id") == F.col("node_id"), "left_semi")
    return _named(CPG_EDGES, from_gone, {"src_exists": "true"}).unionByName(
        _named(CPG_EDGES, to_gone, {"dst_exists": "true"})
    )


def prop_offences(props: DataFrame, nodes: DataFrame, edges: DataFrame) -> DataFrame:
    """Props whose node or edge is not of the same file, or of a kind that has no such prop: all three as written."""
    from pyspark.sql import functions as F

    of_nodes = nodes.selectExpr(f"'{NODE}' AS entity_kind", "node_id AS entity_id", "file_id", "node_kind AS kind")
    of_edges = edges.selectExpr(f"'{EDGE}' AS entity_kind", "edge_id AS entity_id", "file_id", "edge_kind AS kind")
    found = props.join(of_nodes.unionByName(of_edges), ["entity_kind", "entity_id", "file_id"], "left")
    known = [f"{prop.entity_kind} {kind} {prop.key}" for prop in PROPS for kind in prop.kinds]
    has_prop = F.concat_ws(" ", "entity_kind", "kind", "prop_key").isin(known)
    return _named(CPG_PROPS, found.where(F.col("kind").isNull() | ~has_prop), {"entity_has_prop": "true"})


def border_offences(table: Table, rows: DataFrame, contents: DataFrame) -> DataFrame:
    """Spans that begin or end inside a word; `contents` has file_id, content and encoding of the files."""
    from pyspark.sql import functions as F

    checks = border_checks(table)
    spans = [f"struct('{c.name}' AS check, {c.columns[0]} AS bstart, {c.columns[1]} AS bend)" for c in checks]
    gathered = rows.selectExpr("file_id", f"inline(array({', '.join(spans)}))").where("bstart IS NOT NULL")
    by_file = gathered.groupBy("file_id").agg(F.collect_list(F.struct("check", "bstart", "bend")).alias("spans"))

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([(name, pa.string()) for name in ("table", "check", "example")])
        for batch in batches:
            found = [
                {"table": table.name, "check": check, "example": example}
                for file in batch.to_pylist()
                for check, example in off_border(file)
            ]
            yield pa.RecordBatch.from_pylist(found, schema=schema)

    joined = by_file.join(contents.select("file_id", "content", "encoding"), "file_id")
    return joined.mapInArrow(look, _OFFENCE)


def _named(table: Table, rows: DataFrame, broken: dict[str, str]) -> DataFrame:
    """A row for every condition that holds of a row. Few do: the rest is dropped before anything is built."""
    names = ", ".join(f"if({condition}, '{name}', null)" for name, condition in broken.items())
    named = rows.selectExpr("*", f"filter(array({names}), name -> name IS NOT NULL) AS broken_checks")
    shown = ", ".join(table.column_names)
    return named.where("size(broken_checks) > 0").selectExpr(
        f"'{table.name}' AS table", "explode(broken_checks) AS check", f"to_json(struct({shown})) AS example"
    )


def _repeated_keys(table: Table, rows: DataFrame) -> DataFrame:
    repeated = rows.groupBy(*table.key).count().where("count > 1")
    example = f"to_json(struct({', '.join(table.key)}))"
    return repeated.selectExpr(f"'{table.name}' AS table", "'unique_key' AS check", f"{example} AS example")


def _condition(check: Check) -> str:
    """SQL that is true of a row that breaks the check."""
    first, last = check.columns[0], check.columns[-1]
    values = ", ".join(f"'{value}'" for value in check.values)
    return {
        Holds.NOT_NULL: f"{first} IS NULL",
        Holds.ONE_OF: f"{first} NOT IN ({values})",
        Holds.SPAN: f"({first} IS NULL) <> ({last} IS NULL) OR {first} < 0 OR {first} > {last}",
        Holds.INSIDE: f"{first} IS NOT NULL AND coalesce({first} > {_SIZE}, true)",
        Holds.EITHER: f"({first} IS NULL) = ({last} IS NULL)",
        Holds.PLACED: f"({last} IS NULL) <> coalesce({first} IN ({values}), false)",
        Holds.TYPED: f"NOT coalesce({_typed_by_catalog()}, false)",
    }[check.holds]


def _typed_by_catalog() -> str:
    """SQL that is true of a prop as the catalog has it: few cases, because keys of one type share one."""
    keys: dict[tuple[str, str], list[str]] = {}
    for (entity, key), value_type in VALUE_TYPE_OF_KEY.items():
        keys.setdefault((entity, value_type), []).append(key)
    return " OR ".join(
        f"(entity_kind = '{entity}' AND value_type = '{value_type}' AND prop_key IN ({_quoted(listed)}) "
        f"AND {_OF_TYPE[value_type]})"
        for (entity, value_type), listed in keys.items()
    )


def _with_end(edges: DataFrame, nodes: DataFrame, end: str) -> DataFrame:
    """The edges with the kind of the node at one end. A global node counts if the edge's own file contributes it."""
    from pyspark.sql import functions as F

    kind, id_, owner = f"{end}_kind", f"{end}_id", f"{end}_owner"
    ends = nodes.selectExpr(f"node_id AS {id_}", f"node_kind AS {kind}", f"file_id AS {owner}")
    is_ours = (F.col(owner) == F.col("file_id")) | ~F.col(kind).isin(*GLOBAL_KINDS)
    return edges.join(ends, (F.col(f"{end}_node_id") == F.col(id_)) & is_ours, "left").drop(id_, owner)


def _declared_ends() -> str:
    cases = [
        f"WHEN '{kind.name}' THEN src_kind IN ({_quoted(kind.src_kinds)}) AND dst_kind IN ({_quoted(kind.dst_kinds)})"
        for kind in EDGE_KINDS
    ]
    return f"CASE edge_kind {' '.join(cases)} ELSE false END"


def _quoted(texts: Sequence[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)

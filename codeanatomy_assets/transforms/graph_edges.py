"""Relationships and structure → `cpg_edges` of the files they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.graph import CPG_EDGES, STRUCTURE
from codeanatomy_assets.contracts.graph_kinds import KIND_OF_RULE
from codeanatomy_assets.contracts.names import PY_MODULE_INDEX
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.symbols import SCIP_FINGERPRINTS, SCIP_SYMBOLS
from codeanatomy_assets.contracts.syntax import CALLSITES, DEFS, IMPORTS, NAME_REFS, PARSE_ERRORS, TYPE_EXPRS
from codeanatomy_assets.transforms.graph_nodes import diagnostics, files, implemented

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Views = Mapping[str, "DataFrame"]

# Dataset, its id, and the definition that holds the row: null at module level.
_HELD = (
    (DEFS.name, "def_id", "parent_def_id"),
    (CALLSITES.name, "call_id", "scope_id"),
    (NAME_REFS.name, "ref_id", "scope_id"),
    (IMPORTS.name, "import_id", "scope_id"),
    (TYPE_EXPRS.name, "type_expr_id", "scope_id"),
)
READS = (
    REPO_SNAPSHOT.name,
    PY_MODULE_INDEX.name,
    *(dataset for dataset, _, _ in _HELD),
    PARSE_ERRORS.name,
    SCIP_SYMBOLS.name,
    SCIP_FINGERPRINTS.name,
    ALL_RULES.name,
)
_NO_SPAN = ("cast(null AS int)", "cast(null AS int)")


def edges(views: Views) -> DataFrame:
    """`cpg_edges` of the files in `repo_snapshot`; the inputs are named in READS."""
    structure = [rows for make in STRUCTURAL.values() for rows in make(views)]
    found = reduce(lambda left, right: left.unionByName(right), [_of_rules(views), *structure])
    # What no definition holds stands at module level: only the owner's row knows the module.
    starting = found.join(files(views), "file_id").selectExpr("*", "coalesce(src, module_id) AS src_node_id")
    by_ends = identity.STRUCTURE_EDGE.sql("edge_kind", "file_id", "src_node_id", "dst_node_id")
    return starting.selectExpr(
        "*", f"if(rel_id is null, {by_ends}, {identity.RULE_EDGE.sql('edge_kind', 'rel_id')}) AS edge_id"
    ).select(*CPG_EDGES.column_names)


def edge_kind_of_rule(rule: str) -> str:
    """SQL for the edge kind of a rule's rows: null for a rule that no kind names, which the checks refuse."""
    cases = " ".join(f"WHEN '{name}' THEN '{kind}'" for name, kind in KIND_OF_RULE.items())
    return f"CASE {rule} {cases} END"


def _of_rules(views: Views) -> DataFrame:
    return (
        views[ALL_RULES.name]
        .where("dst_id is not null")
        .selectExpr(
            "file_id",
            "rel_id",
            f"{edge_kind_of_rule('rule')} AS edge_kind",
            "src_id AS src",
            "dst_id AS dst_node_id",
            "bstart",
            "bend",
            "origin",
            "resolution_method",
            "confidence",
            "score",
        )
    )


def _structure(
    rows: DataFrame, kind: str, src: str, dst: str, origin: str, span: tuple[str, str] = ("bstart", "bend")
) -> DataFrame:
    return rows.selectExpr(
        "file_id",
        "cast(null AS string) AS rel_id",
        f"'{kind}' AS edge_kind",
        f"{src} AS src",
        f"{dst} AS dst_node_id",
        f"{span[0]} AS bstart",
        f"{span[1]} AS bend",
        f"{origin} AS origin",
        f"'{STRUCTURE}' AS resolution_method",
        "'certain' AS confidence",
        "cast(1.0 AS double) AS score",
    )


def _contains(views: Views) -> Iterator[DataFrame]:
    modules = views[PY_MODULE_INDEX.name].where("not is_alternate")
    yield _structure(modules, "CONTAINS", "file_id", "module_id", "'repository'", _NO_SPAN)
    for dataset, id_column, holder in _HELD:
        yield _structure(views[dataset], "CONTAINS", holder, id_column, "'cst'")


def _annotations(views: Views) -> Iterator[DataFrame]:
    annotated = "coalesce(annotated_def_id, scope_id)"
    yield _structure(views[TYPE_EXPRS.name], "HAS_ANNOTATION", annotated, "type_expr_id", "'cst'")


def _implementations(views: Views) -> Iterator[DataFrame]:
    kind, target = "SCIP_SYMBOL_IMPLEMENTATION", "implemented.symbol_id"
    yield _structure(implemented(views), kind, "symbol_id", target, "'scip'", _NO_SPAN)


def _problems(views: Views) -> Iterator[DataFrame]:
    yield _structure(diagnostics(views), "HAS_DIAGNOSTIC", "file_id", "error_id", "origin")


# The edge kinds that no rule makes, by what makes them.
STRUCTURAL: dict[str, Callable[[Views], Iterator[DataFrame]]] = {
    "CONTAINS": _contains,
    "HAS_ANNOTATION": _annotations,
    "SCIP_SYMBOL_IMPLEMENTATION": _implementations,
    "HAS_DIAGNOSTIC": _problems,
}

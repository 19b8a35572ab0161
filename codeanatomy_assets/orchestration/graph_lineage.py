"""Column lineage of the graph's datasets, derived from the kinds and props that make their rows.

It is written as in lineage.py, which checks it. Named here is only what transforms/graph_nodes.py and
transforms/graph_edges.py put together themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot
from sqlglot import exp

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.graph_kinds import (
    EDGE_KIND,
    EDGE_KINDS,
    GLOBAL_KINDS,
    NODE_KIND,
    NODE_KINDS,
    NodeKind,
)
from codeanatomy_assets.contracts.graph_props import EDGE, NODE, PROPS
from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets.rules.parsing import DIALECT

_DIAGNOSTIC = {
    "file_id": "cst_parse_errors.file_id scip_fingerprints.file_id repo_snapshot.file_id",
    "error_id": "cst_parse_errors.error_id scip_fingerprints.file_id repo_snapshot.file_id",
    "name": "cst_parse_errors.kind repo_snapshot.skip_reason",
    "kind": "",
    "severity": "",
    "message": "cst_parse_errors.kind .text scip_fingerprints.failure repo_snapshot.skip_reason",
    "bstart": "cst_parse_errors.bstart",
    "bend": "cst_parse_errors.bend",
}
# Symbols and qualified names as a file mentions them; of those that relationships reach, exports have the text.
_MENTIONED = {
    "file_id": "scip_symbols.file_id dim_qualified_names.file_id py_imports_resolved.file_id",
    "node_id": "scip_symbols.symbol_id .relationships dim_qualified_names.qname_id py_imports_resolved.module",
    "text": (
        "scip_symbols.symbol .relationships dim_qualified_names.qname py_imports_resolved.module "
        "dim_exported_defs.qname .target_qname .own_symbol .symbol"
    ),
}
# Both ends of the edges that no rule makes, beside those that kinds tell; at module level it is the module.
_STARTS = (
    "py_module_index.file_id .module_id cst_defs.parent_def_id cst_callsites.scope_id cst_name_refs.scope_id "
    "cst_imports.scope_id cst_type_exprs.scope_id .annotated_def_id scip_symbols.symbol_id"
)
_IMPLEMENTED = "scip_symbols.relationships"
_SPAN = ("bstart", "bend")


def written() -> dict[str, dict[str, str]]:
    """The lineage of the three datasets."""
    return {CPG_NODES.name: _nodes(), CPG_EDGES.name: _edges(), CPG_PROPS.name: _props()}


def _nodes() -> dict[str, str]:
    placed = [kind for kind in NODE_KINDS if kind.title]
    spanned = [kind for kind in placed if not kind.is_whole_file]
    qualified = [_read(kind, sql) for kind in placed for sql in (kind.qualified, kind.local_qname)]
    to_global = [rule for kind in EDGE_KINDS if {*kind.dst_kinds} & {*GLOBAL_KINDS} for rule in kind.rules]
    reached = _of(to_global, "dst_id")
    return {
        "node_id": _joined(_ids(placed), _DIAGNOSTIC["error_id"], _MENTIONED["node_id"], reached),
        # Whether what was reached is a symbol or a qualified name, its id tells.
        "node_kind": reached,
        "name": _joined(
            *(_read(kind, kind.title) for kind in placed), _DIAGNOSTIC["name"], _MENTIONED["text"], reached
        ),
        "qualified_name": _joined(*qualified, "py_module_index.module .path", _MENTIONED["text"]),
        "path": "repo_snapshot.path",
        **{end: _joined(_read_of(spanned, end), _DIAGNOSTIC[end], "repo_snapshot.size") for end in _SPAN},
        "file_id": _joined(
            _read_of(placed, "file_id"), _DIAGNOSTIC["file_id"], _MENTIONED["file_id"], _of(to_global, "file_id")
        ),
    }


def _edges() -> dict[str, str]:
    rules = [table.name for table in catalog.of_stage(Stage.RELATIONSHIPS)]
    held = [NODE_KIND[name] for name in EDGE_KIND["CONTAINS"].dst_kinds]
    spanned = [kind for kind in held if not kind.is_whole_file]
    owners = _joined(_read_of(held, "file_id"), "scip_symbols.file_id", _DIAGNOSTIC["file_id"])
    starts = _joined(_STARTS, _DIAGNOSTIC["file_id"])
    ends = _joined(_ids(held), _IMPLEMENTED, _DIAGNOSTIC["error_id"])
    return {
        "edge_id": _joined(_of(rules, "rule", "rel_id"), owners, starts, ends),
        "edge_kind": _of(rules, "rule"),
        "src_node_id": _joined(_of(rules, "src_id"), starts),
        "dst_node_id": _joined(_of(rules, "dst_id"), ends),
        "path": "repo_snapshot.path",
        **{end: _joined(_of(rules, end), _read_of(spanned, end), _DIAGNOSTIC[end]) for end in _SPAN},
        "file_id": _joined(_of(rules, "file_id"), owners),
        **{same: _of(rules, same) for same in ("origin", "resolution_method", "confidence", "score")},
    }


def _props() -> dict[str, str]:
    of_nodes = [(NODE_KIND[name], prop) for prop in PROPS if prop.entity_kind == NODE for name in prop.kinds]
    of_edges = [(EDGE_KIND[name], prop) for prop in PROPS if prop.entity_kind == EDGE for name in prop.kinds]
    kinds = list(dict.fromkeys(kind for kind, _ in of_nodes))
    rules = list(dict.fromkeys(rule for kind, _ in of_edges for rule in kind.rules))
    return {
        "entity_kind prop_key value_type": "",
        "entity_id": _joined(_ids(kinds), _of(rules, "rule", "rel_id")),
        "prop_value": _joined(
            *(_read(kind, prop.source) for kind, prop in of_nodes),
            *(_of(kind.rules, *_columns(prop.source)) for kind, prop in of_edges),
        ),
        "file_id": _joined(_read_of(kinds, "file_id"), _of(rules, "file_id")),
    }


def _read(kind: NodeKind, sql: str) -> str:
    """What an expression over the kind's rows reads."""
    columns = _columns(sql)
    return _joined(*(_DIAGNOSTIC[name] for name in columns)) if kind.name == "DIAG" else _of([kind.dataset], *columns)


def _read_of(kinds: Iterable[NodeKind], sql: str) -> str:
    return _joined(*(_read(kind, sql) for kind in kinds))


def _ids(kinds: Iterable[NodeKind]) -> str:
    return _joined(*(_read(kind, kind.id_column) for kind in kinds))


def _columns(sql: str) -> list[str]:
    return [column.name for column in sqlglot.parse_one(sql, dialect=DIALECT).find_all(exp.Column)]


def _of(datasets: Iterable[str], *columns: str) -> str:
    return _joined(*(f"{dataset}.{column}" for dataset in datasets for column in columns))


def _joined(*origins: str) -> str:
    return " ".join(origins)

"""Datasets of all stages → `cpg_props` of the files they belong to, as the catalog of props declares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.graph import CPG_PROPS
from codeanatomy_assets.contracts.graph_kinds import EDGE_KINDS, NODE_KINDS
from codeanatomy_assets.contracts.graph_props import EDGE, NODE, PROPS, PropKey
from codeanatomy_assets.contracts.relationships import ALL_RULES
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.contracts.symbols import SCIP_FINGERPRINTS
from codeanatomy_assets.transforms.graph_edges import edge_kind_of_rule
from codeanatomy_assets.transforms.graph_nodes import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Views = Mapping[str, "DataFrame"]

_KEYS_OF_KIND = {
    kind.name: tuple(prop for prop in PROPS if prop.entity_kind == entity and kind.name in prop.kinds)
    for entity, kinds in ((NODE, NODE_KINDS), (EDGE, EDGE_KINDS))
    for kind in kinds
}
READS = tuple(
    dict.fromkeys(
        (
            REPO_SNAPSHOT.name,
            SCIP_FINGERPRINTS.name,
            *(kind.dataset for kind in NODE_KINDS if _KEYS_OF_KIND[kind.name]),
            ALL_RULES.name,
        )
    )
)


def props(views: Views) -> DataFrame:
    """`cpg_props` of the files in `repo_snapshot`; the inputs are named in READS."""
    parts = [
        _spread(rows_of(views, kind), NODE, kind.id_column, _KEYS_OF_KIND[kind.name])
        for kind in NODE_KINDS
        if _KEYS_OF_KIND[kind.name]
    ]
    found = reduce(lambda left, right: left.unionByName(right), [*parts, _of_edges(views)])
    return found.select(*CPG_PROPS.column_names)


def _of_edges(views: Views) -> DataFrame:
    resolved = (
        views[ALL_RULES.name].where("dst_id is not null").selectExpr("*", f"{edge_kind_of_rule('rule')} AS edge_kind")
    )
    edge_id = identity.RULE_EDGE.sql("edge_kind", "rel_id")
    return _spread(resolved, EDGE, edge_id, tuple(prop for prop in PROPS if prop.entity_kind == EDGE))


def _spread(rows: DataFrame, entity_kind: str, entity_id: str, keys: Iterable[PropKey]) -> DataFrame:
    """A row for every prop that has a value: no row for a null, nor for the value that its absence stands for."""
    listed = ", ".join(f"struct({_fields(prop)})" for prop in keys)
    wrapped = rows.selectExpr("file_id", f"{entity_id} AS entity_id", f"inline(array({listed}))")
    # The value stands in {"v":…}: a null is left out of it, and leaves {}.
    valued = wrapped.where("wrapped <> '{}'").selectExpr(
        "*", "substr(wrapped, 6, length(wrapped) - 6) AS prop_value", f"'{entity_kind}' AS entity_kind"
    )
    return valued.where("absent is null OR prop_value <> absent").select(*CPG_PROPS.column_names)


def _fields(prop: PropKey) -> str:
    absent = "cast(null AS string)" if prop.default is None else f"'{prop.default}'"
    # Rows of a node kind are of that kind alone; relationships are of all edge kinds.
    of_kind = f"edge_kind IN ({', '.join(repr(kind) for kind in prop.kinds)})" if prop.entity_kind == EDGE else "true"
    return (
        f"'{prop.key}' AS prop_key, to_json(struct(if({of_kind}, {prop.source}, null) AS v)) AS wrapped, "
        f"'{prop.value_type}' AS value_type, {absent} AS absent"
    )

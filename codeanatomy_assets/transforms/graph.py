"""The graph's three datasets as functions of other datasets: what each reads, and who makes it.

Every input is the owner files' own slices, and the rows are theirs. Only `dim_exported_defs` is looked up in
other files too: it holds the text of names and symbols that a relationship reaches through other modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.transforms import graph_edges, graph_nodes, graph_props

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Views = Mapping[str, "DataFrame"]

# By dataset: the datasets it is made of, and the function that makes it of them.
READS: dict[str, tuple[str, ...]] = {
    CPG_NODES.name: graph_nodes.READS,
    CPG_EDGES.name: graph_edges.READS,
    CPG_PROPS.name: graph_props.READS,
}
TRANSFORMS: dict[str, Callable[[Views], DataFrame]] = {
    CPG_NODES.name: graph_nodes.nodes,
    CPG_EDGES.name: graph_edges.edges,
    CPG_PROPS.name: graph_props.props,
}
LOOKUPS = graph_nodes.LOOKUPS

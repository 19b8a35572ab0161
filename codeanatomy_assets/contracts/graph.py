"""Contracts of the graph stage: the three tables that publish the kinds and props, and what holds between them.

The declarations make the rows (transforms/graph*.py), the checks (contracts/checks.py) and the page
docs/graph.md. A node has the id of the thing it stands for. Global kinds (symbols, qualified names) are
contributed by every file that mentions them, each contribution a function of the entity's own text; the
published view is the DISTINCT of the rows without file_id.

What the columns of a node say
- `name`: what a reader calls it. A callsite's is the callee's last name, a clause's the name it binds.
- `qualified_name`: of a module its name, of a definition that and the path inside the file; a script's path in
  angle brackets stands for the name it lacks. Of a symbol its text in SCIP's notation, of a qualified name itself.
  Null for what has no name of its own: files, callsites, references, clauses, type expressions, diagnostics. The
  names that a call may go by are PY_CALLS_QNAME edges.
- `path`, `bstart`, `bend`: null for global kinds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

from codeanatomy_assets.contracts import relationships
from codeanatomy_assets.contracts.columns import BEND, BSTART, FILE_ID, PATH
from codeanatomy_assets.contracts.graph_kinds import EDGE_KIND, EDGE_KINDS, NODE_KIND, NODE_KINDS, EdgeKind, NodeKind
from codeanatomy_assets.contracts.graph_props import EDGE, NODE, PROPS, VALUE_TYPES, PropKey
from codeanatomy_assets.contracts.table import Column, Stage, Table
from codeanatomy_assets.contracts.types import DOUBLE, STRING

# Beside the rules' words: what git tracks, and how structure is known.
ORIGINS = (*relationships.ORIGINS, "repository")
STRUCTURE = "structure"
METHODS = (*(method for method in relationships.RESOLUTION_METHODS if method != "unresolved"), STRUCTURE)
CONFIDENCES = tuple(confidence for confidence in relationships.CONFIDENCES if confidence != "none")

_OPTIONAL_PATH = replace(PATH, doc=f"{PATH.doc} Null for global kinds.", nullable=True)
_OPTIONAL_BSTART = replace(BSTART, nullable=True)
_OPTIONAL_BEND = replace(BEND, nullable=True)

CPG_NODES = Table(
    "cpg_nodes",
    Stage.GRAPH,
    doc="The nodes of the graph. A global node has a row for every file that mentions it, equal but for file_id.",
    key=("node_id", "file_id"),
    columns=(
        Column("node_id", STRING, "The id of the thing itself: def_id, call_id, symbol_id and so on."),
        Column("node_kind", STRING, "What it is.", False, tuple(NODE_KIND)),
        Column("name", STRING, "What a reader calls it."),
        Column(
            "qualified_name",
            STRING,
            "Dotted module name and the path inside it; of a symbol its text; null for what has no name of its own.",
            nullable=True,
        ),
        _OPTIONAL_PATH,
        _OPTIONAL_BSTART,
        _OPTIONAL_BEND,
        FILE_ID,
    ),
    example={"node_kind": "CST_DEF", "name": "side", "qualified_name": "app.square.side", "path": "app/square.py"},
)

CPG_EDGES = Table(
    "cpg_edges",
    Stage.GRAPH,
    doc="The edges of the graph, each owned by the file that it is seen in.",
    key=("edge_id",),
    columns=(
        Column("edge_id", STRING, "Id from the kind and the relationship, or the kind, the file and both ends."),
        Column("edge_kind", STRING, "What it says.", False, tuple(EDGE_KIND)),
        Column("src_node_id", STRING, "The node it starts at."),
        Column("dst_node_id", STRING, "The node it leads to."),
        PATH,
        _OPTIONAL_BSTART,
        _OPTIONAL_BEND,
        FILE_ID,
        Column("origin", STRING, "Whose word it is.", False, ORIGINS),
        Column("resolution_method", STRING, "How it was found; `structure` for what the tree says.", False, METHODS),
        Column("confidence", STRING, "How sure that is.", False, CONFIDENCES),
        Column("score", DOUBLE, "The same as a number from 0 to 1; candidates of one name share it."),
    ),
    example={"edge_kind": "CALLS", "origin": "cst+scip", "resolution_method": "definition", "score": 1.0},
)

CPG_PROPS = Table(
    "cpg_props",
    Stage.GRAPH,
    doc="What else is known of nodes and edges, typed by the catalog of props.",
    key=("entity_kind", "entity_id", "prop_key", "file_id"),
    columns=(
        Column("entity_kind", STRING, "What it is a prop of.", False, (NODE, EDGE)),
        Column("entity_id", STRING, "The node's or edge's id."),
        Column("prop_key", STRING, "Which prop.", False, tuple(dict.fromkeys(prop.key for prop in PROPS))),
        Column("prop_value", STRING, "The value as JSON text."),
        Column("value_type", STRING, "The type that the catalog gives the key.", False, VALUE_TYPES),
        FILE_ID,
    ),
    example={"entity_kind": "node", "prop_key": "returns", "prop_value": '"float"', "value_type": "string"},
)

TABLES = (CPG_NODES, CPG_EDGES, CPG_PROPS)


def declaration_problems(
    node_kinds: Iterable[NodeKind], edge_kinds: Iterable[EdgeKind], props: Iterable[PropKey]
) -> list[str]:
    """What is wrong with a catalog: names declared twice, kinds that there are not, keys of two types."""
    nodes, edges, keys = list(node_kinds), list(edge_kinds), list(props)
    kinds = {NODE: {kind.name for kind in nodes}, EDGE: {kind.name for kind in edges}}
    named = [kind.name for kind in nodes] + [kind.name for kind in edges]
    named += [f"{kind} prop {p.key}" for p in keys for kind in p.kinds]
    named += [rule for kind in edges for rule in kind.rules]
    problems = [f"{name} is declared twice" for name, count in Counter(named).items() if count > 1]
    for edge in edges:
        ends = dict.fromkeys((*edge.src_kinds, *edge.dst_kinds))
        problems += [f"{edge.name} joins {end}, which is no node kind" for end in ends if end not in kinds[NODE]]
    types: dict[tuple[str, str], str] = {}
    for prop in keys:
        problems += [
            f"prop {prop.key} is of {k}, which is no kind" for k in prop.kinds if k not in kinds[prop.entity_kind]
        ]
        if types.setdefault((prop.entity_kind, prop.key), prop.value_type) != prop.value_type:
            problems.append(f"prop {prop.key} is {prop.value_type} for one kind and something else for another")
        if prop.value_type not in VALUE_TYPES:
            problems.append(f"prop {prop.key} has the unknown type {prop.value_type}")
        if prop.key in (*CPG_NODES.column_names, *CPG_EDGES.column_names):
            problems.append(
                f"prop {prop.key} has the name of a column: readers of GraphML would take one for the other"
            )
    return problems


def producer_problems(edge_kinds: Iterable[EdgeKind], rules: Collection[str], structural: Collection[str]) -> list[str]:
    """Edge kinds that nothing makes, and rules that make none.

    `rules` are the datasets of the relationships stage, `structural` the kinds that transforms/graph_edges.py makes.
    """
    declared = {rule for kind in edge_kinds for rule in kind.rules}
    problems = [f"{rule} makes no edge: name it in an edge kind's rules" for rule in sorted(set(rules) - declared)]
    for kind in edge_kinds:
        problems += [
            f"{kind.name} names the rule {rule}, which there is not" for rule in kind.rules if rule not in rules
        ]
        if not kind.rules and kind.name not in structural:
            problems.append(f"{kind.name} has no producer: neither a rule nor structure makes it")
    return problems


def _refuse(problems: list[str]) -> None:
    if problems:
        raise ValueError(f"contracts/graph.py: {'; '.join(problems)}")


_refuse(declaration_problems(NODE_KINDS, EDGE_KINDS, PROPS))

"""The graph of the contracts' own examples: what the page shows is what the transforms make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.graph_kinds import (
    EDGE_KINDS,
    GLOBAL_KINDS,
    NODE_KINDS,
    EdgeKind,
    ExampleNode,
    NodeKind,
)
from codeanatomy_assets.contracts.graph_props import NODE, PROPS, PropKey, prop_problem
from codeanatomy_assets.graph_docs import example_span
from codeanatomy_assets.transforms import checks_light, graph
from codeanatomy_assets_tests.transforms import graph_samples
from codeanatomy_assets_tests.transforms.graph_samples import NOT_INDEXED, REEXPORTED, SCRIPT, UNREADABLE
from codeanatomy_assets_tests.transforms.names_trees import file_id

Row = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """The three tables of the sample files."""

    tables: dict[str, pa.Table]

    @cached_property
    def nodes(self) -> list[Row]:
        rows: list[Row] = self.tables[CPG_NODES.name].to_pylist()
        return rows

    @cached_property
    def edges(self) -> list[Row]:
        rows: list[Row] = self.tables[CPG_EDGES.name].to_pylist()
        return rows

    @cached_property
    def props(self) -> list[Row]:
        rows: list[Row] = self.tables[CPG_PROPS.name].to_pylist()
        return rows

    def node(self, kind: str, example: ExampleNode) -> Row:
        """The node that an example of the contract stands for; of a global one, any contribution."""
        bstart, bend = example_span(example)
        told: Row = {"node_kind": kind, "name": example.name, "qualified_name": example.qualified_name}
        told |= {"path": example.path, "bstart": bstart, "bend": bend}
        return next(row for row in self.nodes if told.items() <= row.items())

    def labelled(self, label: str) -> Row:
        return next(self.node(k.name, example) for k in NODE_KINDS for example in k.examples if example.label == label)


@pytest.fixture(scope="module")
def sample(spark: SparkSession) -> Sample:
    views = graph_samples.views(spark, graph_samples.sample_rows())
    return Sample({name: make(views).toArrow() for name, make in graph.TRANSFORMS.items()})


@pytest.mark.parametrize("kind", NODE_KINDS, ids=lambda kind: kind.name)
def test_the_example_of_a_node_kind_is_in_the_graph(sample: Sample, kind: NodeKind) -> None:
    assert [sample.node(kind.name, example)["name"] for example in kind.examples]


@pytest.mark.parametrize("kind", EDGE_KINDS, ids=lambda kind: kind.name)
def test_the_example_of_an_edge_kind_is_in_the_graph(sample: Sample, kind: EdgeKind) -> None:
    shown = {tuple(sample.labelled(label)["node_id"] for label in ends) for ends in kind.examples}
    made = {(row["src_node_id"], row["dst_node_id"]) for row in sample.edges if row["edge_kind"] == kind.name}
    assert shown and shown <= made


@pytest.mark.parametrize("prop", [p for p in PROPS if p.entity_kind == NODE], ids=lambda p: f"{p.kinds[0]}-{p.key}")
def test_the_example_of_a_prop_is_in_the_graph(sample: Sample, prop: PropKey) -> None:
    owner = file_id(graph_samples.prop_path(prop))
    _, name, value = prop.example
    of_kind = {r["node_id"]: r for r in sample.nodes if r["file_id"] == owner and r["node_kind"] in prop.kinds}
    entities = {node_id for node_id, row in of_kind.items() if row["name"] == name}
    found = [r["prop_value"] for r in sample.props if r["entity_id"] in entities and r["prop_key"] == prop.key]
    assert value in found


def test_a_call_edge_says_which_call_it_goes_through(sample: Sample) -> None:
    [edge] = [row for row in sample.edges if row["edge_kind"] == "CALLS"]
    [prop] = [row for row in sample.props if row["entity_kind"] == "edge"]
    assert prop["entity_id"] == edge["edge_id"]
    assert prop["prop_value"] == f'"{sample.labelled("call side")["node_id"]}"'


def test_the_tables_have_the_published_columns_in_their_order(sample: Sample) -> None:
    for table in (CPG_NODES, CPG_EDGES, CPG_PROPS):
        assert sample.tables[table.name].schema.names == list(table.column_names)
        assert sample.tables[table.name].cast(table.arrow_schema()).schema == table.arrow_schema()


def test_the_sample_passes_every_check_and_has_every_kind(sample: Sample) -> None:
    sizes = {row["file_id"]: row["size"] for row in graph_samples.sample_rows()["repo_snapshot"]}
    offences: list[checks_light.Offence] = []
    for table in (CPG_NODES, CPG_EDGES, CPG_PROPS):
        offences += checks_light.row_offences(table, sample.tables[table.name], sizes)
    offences += checks_light.edge_offences(sample.tables[CPG_EDGES.name], sample.nodes)
    offences += checks_light.prop_offences(*(sample.tables[t.name] for t in (CPG_PROPS, CPG_NODES, CPG_EDGES)))
    assert checks_light.violations(offences) == []
    assert {row["node_kind"] for row in sample.nodes} == {kind.name for kind in NODE_KINDS}
    assert {row["edge_kind"] for row in sample.edges} == {kind.name for kind in EDGE_KINDS}


def test_what_was_not_read_is_a_diagnostic_of_its_file(sample: Sample) -> None:
    kinds = {row["entity_id"]: row["prop_value"] for row in sample.props if row["prop_key"] == "kind"}
    found = {(row["path"], row["name"], kinds[row["node_id"]]) for row in sample.nodes if row["node_kind"] == "DIAG"}
    assert {each for each in found if each[0].startswith("app/")} == {
        ("app/broken.py", "error", '"parse_error"'),
        (NOT_INDEXED, "not_indexed", '"not_indexed"'),
        (UNREADABLE, "too_large", '"skipped"'),
    }
    diagnosed = {row["dst_node_id"]: row["src_node_id"] for row in sample.edges if row["edge_kind"] == "HAS_DIAGNOSTIC"}
    nodes = {row["node_id"]: row["file_id"] for row in sample.nodes if row["node_kind"] == "DIAG"}
    assert diagnosed == nodes


def test_a_file_that_is_too_large_to_count_has_no_span_and_no_module(sample: Sample) -> None:
    [row] = [r for r in sample.nodes if r["path"] == UNREADABLE and r["node_kind"] == "PY_FILE"]
    assert (row["bstart"], row["bend"]) == (None, None)
    assert [r for r in sample.nodes if r["path"] == UNREADABLE and r["node_kind"] == "PY_MODULE"] == []
    assert "README.md" not in {r["path"] for r in sample.nodes}


def test_a_scripts_definitions_are_named_by_its_path_in_angle_brackets(sample: Sample) -> None:
    named = {(r["node_kind"], r["name"]): r["qualified_name"] for r in sample.nodes if r["path"] == SCRIPT}
    assert named["CST_DEF", "main"] == f"<{SCRIPT}>.main"
    assert named["PY_MODULE", "run-it.py"] == f"<{SCRIPT}>"
    owner = file_id(SCRIPT)
    names = {r["qualified_name"]: r["name"] for r in sample.nodes if r["file_id"] == owner and not r["path"]}
    assert names == {f"<{SCRIPT}>": f"<{SCRIPT}>", f"<{SCRIPT}>.main": "main", "main": "main", REEXPORTED: "array"}


def test_a_module_outside_is_a_qualified_name_of_the_file_that_imports_it(sample: Sample) -> None:
    owners = [r["file_id"] for r in sample.nodes if r["node_id"] == identity.QNAME.of("numpy")]
    assert owners == [file_id(NOT_INDEXED)]


def test_contributions_of_a_global_node_are_alike_but_for_the_file(sample: Sample) -> None:
    shared = [r for r in sample.nodes if r["node_id"] == identity.SYMBOL.of(graph_samples.SHAPE_AREA)]
    assert {r["file_id"] for r in shared} == {file_id("app/base.py"), file_id("app/square.py")}
    contributed = {repr({**row, "file_id": None}): row for row in sample.nodes}.values()
    assert len(contributed) == len({row["node_id"] for row in sample.nodes})
    assert {row["node_kind"] for row in contributed if row["path"] is None} == set(GLOBAL_KINDS)


def test_a_local_symbol_of_two_files_is_two_nodes(sample: Sample) -> None:
    assert len({r["node_id"] for r in sample.nodes if r["name"] == "local 0"}) == 2


def test_what_stands_at_module_level_is_held_by_the_module(sample: Sample) -> None:
    kinds = {row["node_id"]: row["node_kind"] for row in sample.nodes}
    held = {(kinds[r["src_node_id"]], kinds[r["dst_node_id"]]) for r in sample.edges if r["edge_kind"] == "CONTAINS"}
    inside = {"CST_DEF", "CST_CALLSITE", "CST_REF", "TYPE_EXPR"}
    assert {("PY_FILE", "PY_MODULE"), ("PY_MODULE", "CST_IMPORT_ALIAS")} <= held
    assert {(scope, kind) for scope in ("PY_MODULE", "CST_DEF") for kind in inside} <= held
    contained = [r["dst_node_id"] for r in sample.edges if r["edge_kind"] == "CONTAINS"]
    assert len(contained) == len(set(contained))


def test_a_relationship_without_target_makes_no_edge(sample: Sample) -> None:
    types = {r["node_id"] for r in sample.nodes if r["node_kind"] == "TYPE_EXPR"}
    assert [r for r in sample.edges if r["src_node_id"] in types] == []


def test_every_prop_is_as_the_catalog_has_it(sample: Sample) -> None:
    assert {prop_problem(r["entity_kind"], r["prop_key"], r["value_type"], r["prop_value"]) for r in sample.props} == {
        None
    }


def test_the_name_in_a_symbols_text_is_read_as_the_indexers_reader_does(spark: SparkSession) -> None:
    from codeanatomy_assets.extraction.scip_documents import symbol_parts

    texts = [
        graph_samples.symbol("m", "f()."),
        graph_samples.symbol("`a.b`", "__init__:"),
        graph_samples.symbol("`a.b`", "C#"),
        graph_samples.symbol("`a.b`", "C#x."),
        graph_samples.symbol("`a.b`", "C#f().(arg)"),
        graph_samples.symbol("`a.b`", "C#[T]"),
        graph_samples.symbol("`a.b`", "`odd name.#`#"),
        graph_samples.symbol("`a.b`", "`tick``ed`()."),
        graph_samples.symbol("`a.b`", "f(+1)."),
        "scip-python python two  words 1.0 m/f().",
    ]
    rows: graph_samples.Rows = {
        "repo_snapshot": [graph_samples.snapshot_row("m.py", "")],
        "scip_symbols": [graph_samples.symbol_row("m.py", text) for text in texts],
    }
    nodes = graph.TRANSFORMS[CPG_NODES.name](graph_samples.views(spark, rows)).toArrow().to_pylist()
    made = {row["qualified_name"]: row["name"] for row in nodes if row["node_kind"] == "SCIP_SYMBOL"}
    assert made == {text: symbol_parts(text).name for text in texts}

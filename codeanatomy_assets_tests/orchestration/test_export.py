"""Exports: any dataset as Parquet or JSON Lines, the graph as GraphML, at any built commit, without a JVM."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from codeanatomy_assets.contracts import graph
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.graph_props import VALUE_TYPE_OF_KEY
from codeanatomy_assets.contracts.syntax import DEFS
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration import export_graphml
from codeanatomy_assets.orchestration.export import BUNDLED, export, export_commits
from codeanatomy_assets.orchestration.export_formats import WRITERS, write_jsonl
from codeanatomy_assets.orchestration.export_graphml import write_graphml
from codeanatomy_assets.settings import Settings
from codeanatomy_assets_tests.histories import History
from codeanatomy_assets_tests.storage.light_states import LightState
from codeanatomy_assets_tests.storage.scratch_tables import new_attempt

Row = dict[str, Any]

NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"
ODD = "a<b>&\"c\" 'd' \x00\x0b\x1b\ufffe\r\n\t é 𝄞 ]]>"
IN_XML = "a<b>&\"c\" 'd' \ufffd\ufffd\ufffd\ufffd\r\n\t é 𝄞 ]]>"


def node(number: int, kind: str, file_id: str, **columns: Any) -> Row:
    blank = dict.fromkeys(CPG_NODES.column_names)
    return {**blank, "node_id": f"n_{number:032x}", "node_kind": kind, "name": "x", "file_id": file_id, **columns}


def edge(number: int, src: int, dst: int) -> Row:
    ends = {"src_node_id": f"n_{src:032x}", "dst_node_id": f"n_{dst:032x}"}
    found = {"origin": "cst", "resolution_method": "definition", "confidence": "likely", "score": 0.5}
    place = {"path": "a.py", "bstart": None, "bend": None, "file_id": "file_a"}
    return {"edge_id": f"edge_{number:032x}", "edge_kind": "CALLS", **ends, **place, **found}


def prop(entity: str, id_: str, key: str, value: Any, file_id: str = "file_a") -> Row:
    told = {"entity_kind": entity, "entity_id": id_, "prop_key": key, "file_id": file_id}
    return {**told, "prop_value": json.dumps(value), "value_type": VALUE_TYPE_OF_KEY[entity, key]}


ROWS: dict[str, list[Row]] = {
    CPG_NODES.name: [
        node(1, "CST_DEF", "file_a", name=ODD, qualified_name="a.f", path="a.py", bstart=0, bend=9),
        node(2, "CST_DEF", "file_b", qualified_name="b.g", path="b.py", bstart=0, bend=9),
        node(300, "SCIP_SYMBOL", "file_a", qualified_name="scip `a`/f()."),
        node(300, "SCIP_SYMBOL", "file_b", qualified_name="scip `a`/f()."),
    ],
    CPG_EDGES.name: [edge(1, 1, 2), edge(2, 2, 2)],
    CPG_PROPS.name: [
        prop("node", f"n_{1:032x}", "docstring", ODD),
        prop("node", f"n_{1:032x}", "is_async", True),
        prop("node", f"n_{1:032x}", "bases", ["A", "<B>"]),
        prop("node", f"n_{1:032x}", "name_bstart", 4),
        prop("node", f"n_{300:032x}", "kind", "method"),
        prop("node", f"n_{300:032x}", "kind", "method", "file_b"),
        prop("edge", f"edge_{1:032x}", "via", "call_1"),
    ],
}


def stream(table: Table) -> Iterable[pa.RecordBatch]:
    """The rows two at a time, as a reader of a large table would get them."""
    yield from pa.Table.from_pylist(ROWS[table.name], schema=table.arrow_schema()).to_batches(max_chunksize=2)


class ReadGraph:
    """GraphML as a reader with declared keys sees it: every `data` typed by its key."""

    def __init__(self, path: Path) -> None:
        root = ElementTree.parse(path).getroot()
        casts: dict[str, Callable[[str], Any]] = {
            "string": str,
            "int": int,
            "long": int,
            "double": float,
            "boolean": lambda text: text == "true",
        }
        self.keys = {key.attrib["id"]: key.attrib for key in root.iter(f"{NAMESPACE}key")}
        self.nodes: dict[str, Row] = {}
        self.edges: dict[tuple[str, str], Row] = {}
        for element in (*root.iter(f"{NAMESPACE}node"), *root.iter(f"{NAMESPACE}edge")):
            entity = element.tag.removeprefix(NAMESPACE)
            data: Row = {}
            for item in element:
                key = self.keys[item.attrib["key"]]
                assert key["for"] == entity and key["attr.name"] not in data
                data[key["attr.name"]] = casts[key["attr.type"]](item.text or "")
            if entity == "node":
                assert element.attrib["id"] not in self.nodes
                self.nodes[element.attrib["id"]] = data
            else:
                self.edges[element.attrib["source"], element.attrib["target"]] = data


@pytest.mark.parametrize("rows_per_part", [1000, 1], ids=["held whole", "spread over parts"])
def test_graphml_has_each_node_once_with_its_typed_props(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_per_part: int
) -> None:
    monkeypatch.setattr(export_graphml, "ROWS_PER_PART", rows_per_part)
    path = tmp_path / "graph.graphml"
    assert write_graphml(stream, path, 13) == (3, 2)
    found = ReadGraph(path)
    first, second, shared = (f"n_{number:032x}" for number in (1, 2, 300))
    assert set(found.nodes) == {first, second, shared}
    assert found.nodes[first] == {
        "node_kind": "CST_DEF",
        "name": IN_XML,
        "qualified_name": "a.f",
        "path": "a.py",
        "bstart": 0,
        "bend": 9,
        "docstring": IN_XML,
        "is_async": True,
        "bases": '["A", "<B>"]',
        "name_bstart": 4,
    }
    assert found.nodes[shared]["kind"] == "method" and "path" not in found.nodes[shared]
    assert set(found.edges) == {(first, second), (second, second)}
    assert found.edges[first, second]["via"] == "call_1" and found.edges[first, second]["score"] == 0.5
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.graphml"]


def test_graphml_declares_every_prop_of_the_catalog_under_a_name_of_its_own(tmp_path: Path) -> None:
    write_graphml(stream, tmp_path / "g", 1)
    keys = ReadGraph(tmp_path / "g").keys.values()
    names = [(key["for"], key["attr.name"]) for key in keys]
    assert len(names) == len(set(names)) and set(VALUE_TYPE_OF_KEY) <= set(names)


def test_an_export_that_breaks_off_leaves_neither_a_file_nor_a_draft(tmp_path: Path) -> None:
    def broken(table: Table) -> Iterable[pa.RecordBatch]:
        yield from stream(CPG_NODES)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        write_graphml(broken, tmp_path / "graph.graphml", 1)
    for name, write in WRITERS.items():
        with pytest.raises(OSError, match="the disk is gone"):
            write(broken(CPG_NODES), CPG_NODES, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_json_lines_hold_one_row_each_whatever_its_text(tmp_path: Path) -> None:
    assert write_jsonl(stream(CPG_NODES), CPG_NODES, tmp_path / "nodes.jsonl") == 4
    lines = (tmp_path / "nodes.jsonl").read_text("utf-8").removesuffix("\n").split("\n")
    assert [json.loads(line) for line in lines] == ROWS[CPG_NODES.name]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A state with two built commits: the second has one node more."""
    settings = Settings(state=tmp_path / "state")
    state = LightState(Path(settings.tables_root), (DEFS, *graph.TABLES))
    for commit, kept in (("aaaa1111", 1), ("bbbb2222", 2)):
        attempt = new_attempt(commit)
        state.begin(attempt)
        state.write(ROWS[CPG_NODES.name][:kept], attempt, CPG_NODES)
        state.finish(commit, attempt)
    return settings


def test_every_format_is_written_at_the_commit_asked_for(settings: Settings, tmp_path: Path) -> None:
    for commit, count in (("aaaa1111", 1), ("bbbb2222", 2)):
        out = tmp_path / commit
        lines = list(export(settings, out, commit, [DEFS.name], ("parquet", "jsonl", "graphml")))
        assert [Path(line.split(": ")[0]).name for line in lines] == [
            "cst_defs.parquet",
            "cst_defs.jsonl",
            "graph.graphml",
        ]
        assert pq.read_table(out / "cst_defs.parquet").num_rows == 0
        assert len(ReadGraph(out / "graph.graphml").nodes) == count


def test_without_a_format_datasets_are_parquet_files(settings: Settings, tmp_path: Path) -> None:
    list(export(settings, tmp_path / "out", None, None))
    assert {entry.suffix for entry in (tmp_path / "out").iterdir()} == {".parquet"}


def test_what_can_not_be_exported_is_refused_before_anything_is_written(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no format csv: known are parquet, jsonl, graphml"):
        list(export(settings, tmp_path / "out", None, None, ("csv",)))
    with pytest.raises(BadInput, match="was built before there was cst_imports"):
        list(export(settings, tmp_path / "out", None, ["cst_imports"], ("jsonl",)))
    assert not (tmp_path / "out").exists()


def test_several_commits_go_to_a_folder_each(settings: Settings, tmp_path: Path) -> None:
    list(export_commits(settings, tmp_path / "out", ["aaaa", "bbbb", "aaaa1111"], [CPG_NODES.name]))
    found = {path.parent.name: pq.read_table(path).num_rows for path in (tmp_path / "out").glob("*/cpg_nodes.parquet")}
    assert found == {"aaaa1111": 1, "bbbb2222": 2}
    list(export_commits(settings, tmp_path / "one", ["aaaa"], [CPG_NODES.name]))
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["cpg_nodes.parquet"]
    with pytest.raises(BadInput, match="is not built"):
        list(export_commits(settings, tmp_path / "none", ["aaaa", "feedbeef"], None))
    assert not (tmp_path / "none").exists()


def test_a_bundle_is_the_graph_and_the_records_of_its_commit_alone(history: History, tmp_path: Path) -> None:
    commit = history.commits[1]
    list(export(history.built.settings, tmp_path / "out", commit, None, ("parquet", "jsonl"), bundle=True))
    names = {table.name for table in BUNDLED}
    assert {path.stem for path in (tmp_path / "out").glob("*.parquet")} == names
    assert {path.stem for path in (tmp_path / "out").glob("*.jsonl")} == names
    assert {"cpg_nodes", "cpg_edges", "cpg_props", "inc_impacted_files", "run_profiles", "plan_artifacts"} <= names
    for table in (table for table in BUNDLED if table not in graph.TABLES):
        rows = pq.read_table(tmp_path / "out" / f"{table.name}.parquet").to_pylist()
        assert {row["commit"] for row in rows} <= {commit}
        kept = [row for row in history.built.rows(table.name) if row["commit"] == commit]
        assert sorted(map(str, rows)) == sorted(map(str, kept))
    assert pq.read_table(tmp_path / "out" / "run_profiles.parquet").num_rows > 0
    with pytest.raises(BadInput, match="leave out --dataset"):
        list(export(history.built.settings, tmp_path / "out", None, ["cst_defs"], bundle=True))

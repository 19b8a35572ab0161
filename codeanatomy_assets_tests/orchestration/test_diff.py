"""`diff`: what commits did to the graph, over a real history and over rows made for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from codeanatomy_assets import cli
from codeanatomy_assets.contracts import graph
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration import diff_report
from codeanatomy_assets.orchestration.diff import GraphDiff, graph_diff
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets_tests.histories import History
from codeanatomy_assets_tests.storage.light_states import LightState
from codeanatomy_assets_tests.storage.odd_rows import Row
from codeanatomy_assets_tests.storage.scratch_tables import new_attempt


def changes(history: History, old: int, new: int) -> set[tuple[str, ...]]:
    """Every change as (change, kind, text, path)."""
    told = listed(history, old, new)
    nodes = {(row["change"], row["kind"], row["name"], row["path"]) for row in told["nodes"]}
    edges = {
        (row["change"], row["kind"], f"{row['src']} -> {row['dst']}", row.get("was", ""), row["path"])
        for row in told["edges"]
    }
    return nodes | edges


def listed(history: History, old: int, new: int, limit: int = 0) -> Row:
    found = graph_diff(history.built.settings, history.commits[old], history.commits[new])
    return diff_report.as_object(found, {}, limit)


def test_a_renamed_function_went_and_came_with_its_edges(history: History) -> None:
    found = changes(history, 0, 1)
    assert {
        ("removed", "CST_DEF", "app.main.old_name", "app/main.py"),
        ("added", "CST_DEF", "app.main.new_name", "app/main.py"),
        ("removed", "CALLS", "app.main.old_name -> app.main.run", "", "app/main.py"),
        ("added", "CALLS", "app.main.new_name -> app.main.run", "", "app/main.py"),
    } <= found
    assert not [change for change in found if change[0] == "rebound"]
    assert {change[-1] for change in found} <= {"app/main.py", None}


def test_a_call_in_an_unchanged_file_that_means_another_function_is_rebound(history: History) -> None:
    found = changes(history, 1, 2)
    assert ("rebound", "CALLS", "app.main.run -> app.other.helper", "app.tools.helper", "app/main.py") in found
    kinds = {change[1] for change in found if change[0] == "rebound" and change[-1] == "app/main.py"}
    assert {"CALLS", "PY_CALLS_SYMBOL", "PY_IMPORTS_SYMBOL"} <= kinds
    assert not [change for change in found if change[1] == "CST_DEF"]


def test_what_only_moved_is_counted_and_left_out(history: History) -> None:
    told = listed(history, 2, 3)
    assert (told["counts"], told["nodes"], told["edges"]) == ({"nodes": {}, "edges": {}}, [], [])
    assert told["moved"] > 20


def test_backwards_everything_is_the_other_way_round(history: History) -> None:
    forwards, backwards = changes(history, 0, 3), changes(history, 3, 0)
    swapped = {"added": "removed", "removed": "added", "rebound": "rebound", "altered": "altered"}
    turned = Counter((swapped[change], kind) for change, kind, *_ in forwards)
    assert turned == Counter((change, kind) for change, kind, *_ in backwards)
    assert ("rebound", "CALLS", "app.main.run -> app.tools.helper", "app.other.helper", "app/main.py") in backwards


@pytest.mark.parametrize(("old", "new"), [(0, 1), (1, 2), (0, 3), (3, 1)])
def test_a_diff_accounts_for_every_id_that_one_side_has_alone(history: History, old: int, new: int) -> None:
    """Against the two graphs themselves, each read whole."""
    found = graph_diff(history.built.settings, history.commits[old], history.commits[new])
    for table, entity, key in ((CPG_NODES, "node", "node_id"), (CPG_EDGES, "edge", "edge_id")):
        before, after = (ids(history, table, key, number) for number in (old, new))
        gone = {change.row[key] for change in found.of(entity) if change.change == "removed"}
        came = {change.row[key] for change in found.of(entity) if change.change == "added"}
        led = [change for change in found.of(entity) if change.change == "rebound"]
        gone |= {change.before[key] for change in led if change.before}
        came |= {change.row[key] for change in led}
        local = renumbered(history, old, new) if entity == "edge" else set()
        assert gone == (before - after) - local
        assert came == (after - before) - local


def ids(history: History, table: Any, key: str, number: int) -> set[str]:
    state = history.built.ledger_state(history.commits[number])
    return set(delta_reads.read_light(state, table).column(key).to_pylist())


def renumbered(history: History, old: int, new: int) -> set[str]:
    """Edges to local symbols that both sides have."""
    found: set[str] = set()
    for number in (old, new):
        state = history.built.ledger_state(history.commits[number])
        where = "qualified_name LIKE 'local %'"
        local = set(delta_reads.read_light(state, CPG_NODES, where=where).column("node_id").to_pylist())
        edges = delta_reads.read_light(state, CPG_EDGES).to_pylist()
        found |= {row["edge_id"] for row in edges if row["dst_node_id"] in local}
    return found


def test_the_limit_cuts_the_lists_and_never_the_counts(history: History) -> None:
    whole, cut = listed(history, 0, 3), listed(history, 0, 3, limit=2)
    assert (len(cut["nodes"]), len(cut["edges"])) == (2, 2)
    assert {name: cut[name] for name in ("counts", "by_kind", "by_file", "moved")} == {
        name: whole[name] for name in ("counts", "by_kind", "by_file", "moved")
    }
    assert sum(whole["counts"]["edges"].values()) == len(whole["edges"])
    assert cut["edges"][0]["change"] == "rebound"


def test_the_command_prints_text_one_object_and_a_page(
    history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = history.commits[0], history.commits[3]
    state = ["--state", str(history.state)]
    page = tmp_path / "diff.html"
    assert cli.main(["diff", old[:8], "HEAD", "--html", str(page), "--limit", "0", *state]) == 0
    text = capsys.readouterr().out
    assert f"{old[:12]} to {new[:12]}: nodes:" in text
    assert "  > CALLS  app.main.run -> app.other.helper (was app.tools.helper)  app/main.py" in text
    assert "  + CST_DEF  app.main.new_name  app/main.py" in text
    shown = PageText(page.read_text())
    assert "app.main.run -> app.other.helper (was app.tools.helper)" in shown.text and shown.outside == []
    assert cli.main(["diff", old, new, "--json", *state]) == 0
    assert json.loads(capsys.readouterr().out)["new"] == new
    assert cli.main(["diff", old, "feedbeef", *state]) == 2
    assert "is not built" in capsys.readouterr().err


def test_a_diff_imports_neither_dagster_nor_pyspark(history: History) -> None:
    script = (
        "import sys\nfrom codeanatomy_assets.cli import main\ncode = main(sys.argv[1:])\n"
        "sys.exit(code or bool({'dagster', 'pyspark'} & set(sys.modules)))"
    )
    arguments = ("diff", history.commits[0], history.commits[1], "--state", str(history.state))
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class PageText(HTMLParser):
    """The text of a page, and the addresses that it would fetch something from."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.outside: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.outside += [str(value) for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def node(name: str, kind: str = "CST_DEF", file: str = "a", **columns: Any) -> Row:
    place = {"path": f"{file}.py", "bstart": 0, "bend": 1} if kind == "CST_DEF" else {}
    blank = dict.fromkeys(CPG_NODES.column_names)
    own = {"node_id": f"{kind}_{name}", "node_kind": kind, "name": name, "qualified_name": f"m.{name}"}
    return {**blank, **own, "file_id": f"file_{file}", **place, **columns}


def edge(number: int, src: str, dst: str, **columns: Any) -> Row:
    ends = {"src_node_id": f"CST_DEF_{src}", "dst_node_id": f"CST_DEF_{dst}"}
    found = {"origin": "cst", "resolution_method": "definition", "confidence": "likely", "score": 0.5}
    place = {"path": "a.py", "bstart": 3, "bend": 4, "file_id": "file_a"}
    return {"edge_id": f"edge_{number}", "edge_kind": "CALLS", **ends, **place, **found, **columns}


def via(number: int, call: str) -> Row:
    told = {"entity_kind": "edge", "entity_id": f"edge_{number}", "prop_key": "via", "file_id": "file_a"}
    return {**told, "prop_value": json.dumps(call), "value_type": "string"}


class Graphs:
    """A state whose commits have the graphs that a test says, written without a JVM."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(state=folder / "state")
        self.light = LightState(Path(self.settings.tables_root), graph.TABLES)
        self.commits: list[str] = []

    def add(self, nodes: list[Row], edges: Sequence[Row] = (), props: Sequence[Row] = ()) -> None:
        commit = f"{len(self.commits):x}" * 40
        attempt = new_attempt(commit)
        self.light.begin(attempt)
        for table, rows in ((CPG_NODES, nodes), (CPG_EDGES, edges), (CPG_PROPS, props)):
            self.light.write(list(rows), attempt, table)
        self.light.finish(commit, attempt)
        self.commits.append(commit)

    def diff(self) -> GraphDiff:
        return graph_diff(self.settings, self.commits[0], self.commits[-1])

    def told(self) -> set[tuple[str, str, str]]:
        told = diff_report.as_object(self.diff(), {}, 0)
        return {(row["change"], row["kind"], row.get("name") or row["dst"]) for row in told["nodes"] + told["edges"]}


@pytest.fixture
def graphs(tmp_path: Path) -> Graphs:
    return Graphs(tmp_path)


def test_a_global_node_counts_once_however_many_files_mention_it(graphs: Graphs) -> None:
    name = "PY_QUALIFIED_NAME"
    graphs.add([node("kept", name, "a"), node("gone", name, "a"), node("gone", name, "b")])
    graphs.add([node("kept", name, "b"), node("kept", name, "c"), node("new", name, "a"), node("new", name, "b")])
    assert graphs.told() == {("removed", name, "m.gone"), ("added", name, "m.new")}
    assert graphs.diff().by_kind("node") == {name: Counter(added=1, removed=1)}


def test_two_calls_in_one_function_are_told_apart_by_where_they_stand(graphs: Graphs) -> None:
    nodes = [node(name) for name in ("f", "a", "b", "c")]
    graphs.add(nodes, [edge(1, "f", "a"), edge(2, "f", "b")], [via(1, "call_1"), via(2, "call_2")])
    graphs.add(nodes, [edge(3, "f", "b"), edge(4, "f", "c")], [via(3, "call_1"), via(4, "call_2")])
    found = {
        (change.before["dst_node_id"], change.row["dst_node_id"])
        for change in graphs.diff().of("edge")
        if change.change == "rebound" and change.before
    }
    assert found == {("CST_DEF_a", "CST_DEF_b"), ("CST_DEF_b", "CST_DEF_c")}
    assert len(graphs.diff().changes) == 2


def test_one_target_more_is_added_beside_the_one_that_is_rebound(graphs: Graphs) -> None:
    nodes = [node(name) for name in ("f", "a", "b", "c")]
    graphs.add(nodes, [edge(1, "f", "a")])
    graphs.add(nodes, [edge(2, "f", "b"), edge(3, "f", "c")])
    assert Counter(change.change for change in graphs.diff().of("edge")) == Counter(rebound=1, added=1)


def test_the_same_target_found_in_another_way_is_altered(graphs: Graphs) -> None:
    nodes = [node("f"), node("a"), node("b", qualified_name="m.b")]
    graphs.add(nodes, [edge(1, "f", "a")])
    graphs.add([*nodes[:2], node("b", qualified_name="n.b")], [edge(2, "f", "a", resolution_method="alias")])
    told = diff_report.as_object(graphs.diff(), {}, 0)
    assert [row["differs"] for row in told["nodes"]] == [{"qualified_name": ["m.b", "n.b"]}]
    assert told["edges"][0]["change"] == "altered"
    assert told["edges"][0]["differs"]["resolution_method"] == ["definition", "alias"]


def test_a_name_that_means_the_local_of_another_number_has_only_moved(graphs: Graphs) -> None:
    locals_ = [node(f"local {number}", "SCIP_SYMBOL", qualified_name=f"local {number}") for number in (0, 1)]
    reads = {"edge_kind": "PY_REFERENCES_SYMBOL"}
    graphs.add([node("f"), locals_[0]], [edge(1, "f", "x", **reads, dst_node_id="SCIP_SYMBOL_local 0")])
    graphs.add([node("f"), *locals_], [edge(2, "f", "x", **reads, dst_node_id="SCIP_SYMBOL_local 1")])
    assert graphs.told() == {("added", "SCIP_SYMBOL", "local 1")}
    assert graphs.diff().moved == 1


def test_names_from_the_repository_steer_neither_page_nor_terminal(graphs: Graphs, tmp_path: Path) -> None:
    graphs.add([node("f")])
    graphs.add([node("f"), node("evil", qualified_name="<script>alert(1)</script>\x1b[2J")])
    told = diff_report.as_object(graphs.diff(), {}, 0)
    diff_report.write_page(told, tmp_path / "page.html")
    page = PageText((tmp_path / "page.html").read_text())
    assert "script" not in page.tags and "<script>alert(1)</script>" in page.text
    assert "\x1b" not in diff_report.as_text(told)


def test_a_commit_from_before_the_graph_is_refused(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path / "state")
    light = LightState(Path(settings.tables_root), ())
    attempt = new_attempt("c0ffee")
    light.begin(attempt)
    light.finish("c0ffee", attempt)
    with pytest.raises(BadInput, match="before there was a graph"):
        graph_diff(settings, "c0ffee", "c0ffee")

"""Reading from Python: the graph and datasets of any kept commit as Arrow tables."""

from __future__ import annotations

import subprocess
import sys

import pytest

from codeanatomy_assets import reading
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets_tests.histories import History


def test_commits_are_listed_in_the_order_they_were_built(history: History) -> None:
    found = reading.commits(history.state)
    assert [each.commit for each in found] == history.commits
    assert [each.mode for each in found] == ["full", "incremental", "incremental", "incremental"]
    assert [each.parent for each in found] == [None, *history.commits[:3]]


def test_the_graph_of_each_commit_is_its_own(history: History) -> None:
    first, last = reading.graph_at(str(history.state), history.commits[0]), reading.graph_at(history.state)
    assert (first.commit, last.commit) == (history.commits[0], history.commits[3])
    for graph in (first, last):
        assert graph.nodes.schema == CPG_NODES.arrow_schema()
        assert graph.edges.schema == CPG_EDGES.arrow_schema()
        assert graph.props.schema == CPG_PROPS.arrow_schema()
    assert "app.main.old_name" in first.nodes.column("qualified_name").to_pylist()
    assert "app.main.old_name" not in last.nodes.column("qualified_name").to_pylist()


def test_a_dataset_and_a_query_agree(history: History) -> None:
    rows = reading.dataset(history.state, "rel_calls", "HEAD~1")
    counted = reading.query(history.state, "SELECT count(*) AS n FROM rel_calls", "HEAD~1")
    assert counted.to_pylist() == [{"n": rows.num_rows}] and rows.num_rows > 0


def test_what_there_is_not_is_refused_with_what_there_is(history: History) -> None:
    with pytest.raises(BadInput, match=r"no dataset cpg_node at .*: there are repo_snapshot, "):
        reading.dataset(history.state, "cpg_node")
    with pytest.raises(BadInput, match="is not built"):
        reading.graph_at(history.state, "feedbeef")


def test_reading_needs_neither_dagster_nor_pyspark(history: History) -> None:
    script = (
        "import sys\nfrom codeanatomy_assets.reading import commits, graph_at, query\n"
        "assert graph_at(sys.argv[1]).nodes.num_rows and commits(sys.argv[1]) and query(sys.argv[1], 'SELECT 1')\n"
        "sys.exit(bool({'dagster', 'pyspark'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script, history.state], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

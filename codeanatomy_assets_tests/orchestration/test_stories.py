"""What materializations tell: figures, reasons, pictures, and checks that inform."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import dagster as dg
import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.graph import CONFIDENCES
from codeanatomy_assets.contracts.ledger import GRAPH_COMMITS
from codeanatomy_assets.orchestration import edge_picture
from codeanatomy_assets.orchestration.build import dagster_instance
from codeanatomy_assets.orchestration.informing_checks import at_head, at_head_evaluations, at_head_result
from codeanatomy_assets.orchestration.plan import decide
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.states import BuiltState

FIRST = {
    "app/tools.py": "def helper(x):\n    return x\n",
    "app/main.py": "from app.tools import helper\n\n\ndef run():\n    return helper(1)\n",
}
GRAPH = ("cpg_nodes", "cpg_edges", "cpg_props")
# Names that lead nowhere, a syntax error, and a renamed function that another file calls.
SECOND = {
    "app/tools.py": "def renamed(x):\n    return x\n",
    "app/lost.py": "def f(x):\n    return x.a(), x.b(), x[0](), unknown()\n",
    "app/broken.py": "def good(): ...\n\ndef bad(:\n    pass\n",
}


@pytest.fixture(scope="module")
def told(engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> BuiltState:
    built = BuiltState.create(tmp_path_factory.mktemp("told"), engine)
    built.commit(FIRST)
    built.commit(SECOND)
    return built


@pytest.fixture(scope="module")
def instance(told: BuiltState) -> Iterator[dg.DagsterInstance]:
    with dagster_instance(told.settings) as instance:
        yield instance


def metadata(instance: dg.DagsterInstance, asset: str) -> dict[str, Any]:
    """Of the update's own materialization of an asset, the last one."""
    records = instance.fetch_materializations(dg.AssetKey(asset), limit=100).records
    found = next(each.asset_materialization for each in records if each.partition_key in ("__impacted__", None))
    assert found is not None
    return {name: value.value for name, value in found.metadata.items()}


def checked(instance: dg.DagsterInstance, asset: str, name: str) -> list[bool]:
    """How a check went, the newest first."""
    key = dg.AssetCheckKey(dg.AssetKey(asset), name)
    records = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    evaluations = [each.event.dagster_event.asset_check_evaluation_data for each in records]  # type: ignore[union-attr]
    assert all(each.severity is dg.AssetCheckSeverity.WARN for each in evaluations)
    return [each.passed for each in evaluations]


def svg(markdown: str) -> ElementTree.Element:
    assert markdown.startswith("![")
    return ElementTree.fromstring(base64.b64decode(markdown.partition("base64,")[2].rstrip(")")))


def texts(picture: ElementTree.Element) -> str:
    return " ".join(element.text or "" for element in picture.iter() if element.tag.endswith("text"))


def test_figures_are_those_of_the_update(told: BuiltState, instance: dg.DagsterInstance) -> None:
    found = metadata(instance, "cst_defs")
    assert found["dagster/row_count"] == len(told.rows("cst_defs"))
    assert found["rows_more"] == len(told.rows("cst_defs")) - len(told.rows("cst_defs", told.repo.commits[0]))
    assert (found["files_rebuilt"], found["files_present"]) == (3, 4)
    assert found["commit"] == told.last().commit
    assert found["delta_version"] == told.versions()["cst_defs"]
    assert found["dagster/uri"].endswith("/cst_defs/v1-b1")
    assert 0 < found["bytes_scanned"] <= found["bytes_present"]
    assert found["preview"].count("\n") == 1 + len(told.rows("cst_defs"))


def test_a_rule_counts_its_own_rows_and_not_those_of_all_rules(told: BuiltState, instance: dg.DagsterInstance) -> None:
    rebuilt = {row["file_id"] for row in told.rows("inc_impacted_files") if row["commit"] == told.last().commit}
    for rule in ("rel_calls", "rel_inherits"):
        written = [row for row in told.rows(rule) if row["file_id"] in rebuilt]
        assert metadata(instance, rule)["rows_written"] == len(written)


def test_every_dataset_tells_its_rows_version_address_and_a_preview(
    told: BuiltState, instance: dg.DagsterInstance
) -> None:
    for table in catalog.TABLES:
        found = metadata(instance, table.name)
        rows = told.last().sequence if table is GRAPH_COMMITS else len(told.rows(table.name))
        assert found["dagster/row_count"] == rows, table.name
        assert found["delta_version"] >= (1 if rows else 0)
        assert table.storage_name in found["dagster/uri"]
        assert found["preview"].startswith("| ")
        assert len(found["preview"].splitlines()) == 2 + min(10, rows), table.name


def test_pruning_is_kept_by_commit(told: BuiltState, instance: dg.DagsterInstance) -> None:
    rows = {row["dataset"]: row for row in told.rows("pruning_metrics") if row["commit"] == told.last().commit}
    assert rows["cst_defs"]["slices"] == 3
    assert rows["cst_defs"]["files_scanned"] == metadata(instance, "cst_defs")["data_files_scanned"] == 1
    assert rows.keys() >= {"repo_snapshot", "relationships", "cpg_nodes", "cpg_edges", "cpg_props"}


def test_a_preview_of_a_rule_has_its_own_rows(instance: dg.DagsterInstance) -> None:
    lines = metadata(instance, "rel_calls")["preview"].splitlines()
    assert len(lines) > 3
    assert all("rel_calls" in line for line in lines[2:])


def test_impacted_files_tell_reasons_and_draw_the_closure(instance: dg.DagsterInstance) -> None:
    found = metadata(instance, "inc_impacted_files")
    assert found["files_impacted"] == 4
    assert "app/main.py ← means something else: helper of app/tools.py ← app/tools.py changed" in found["reasons"]
    assert "app/main.py" in texts(svg(found["closure"]))


def test_edges_draw_their_kinds(told: BuiltState, instance: dg.DagsterInstance) -> None:
    rows = told.rows("cpg_edges")
    kinds = {row["edge_kind"] for row in rows}
    assert len(kinds) > 5
    for name, by in (("edges", "confidence"), ("resolution", "resolution_method")):
        drawn = texts(svg(metadata(instance, "cpg_edges")[name]))
        assert all(word in drawn for word in kinds | {row[by] for row in rows})


def test_a_bar_is_as_long_as_its_share() -> None:
    counts = {("CALLS", CONFIDENCES[0]): 30, ("CALLS", CONFIDENCES[1]): 10, ("CONTAINS", CONFIDENCES[0]): 80}
    drawn = ElementTree.fromstring(edge_picture.drawing(counts))
    widths = [float(e.get("width", 0)) for e in drawn.iter() if e.tag.endswith("rect") and e.get("height") == "14"]
    assert [round(width / max(widths), 3) for width in widths] == [1.0, 0.375, 0.125]
    assert "var(" not in edge_picture.drawing(counts)


@pytest.mark.parametrize(
    ("asset", "name"),
    [("rel_calls", "unresolved_calls"), ("cst_parse_errors", "no_new_parse_errors")],
)
def test_what_got_worse_is_a_warning_that_blocks_nothing(instance: dg.DagsterInstance, asset: str, name: str) -> None:
    assert checked(instance, asset, name) == [False, True]


def test_what_stayed_well_is_said_too(instance: dg.DagsterInstance) -> None:
    assert checked(instance, "scip_fingerprints", "no_new_failures") == [True, True]
    for asset in ("graph_commits", *GRAPH):
        assert checked(instance, asset, "at_head") == [True, True]


def test_a_graph_behind_head_is_told(told: BuiltState, tmp_path: Path) -> None:
    behind = told.copy(tmp_path)
    behind.repo.commit_files({"app/more.py": "x = 1\n"})
    behind.repo.commit_files({"app/more.py": "x = 2\n"})
    plan = decide(behind.settings)
    assert at_head(plan.target, behind.last().commit).figures == {"commits_behind": 2}
    evaluations = at_head_evaluations(plan)
    assert [each.asset_key.to_user_string() for each in evaluations] == ["graph_commits", *GRAPH]
    for evaluation in evaluations:
        assert not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.WARN
        assert "2 commits behind" in str(evaluation.description)


def test_a_head_that_can_not_be_told_fails_no_update(told: BuiltState, tmp_path: Path) -> None:
    """As in a bare repository whose HEAD names a branch that nobody pushed."""
    repo = GitRepo.create(tmp_path / "repo")
    repo.commit_files({"a.py": ""})
    repo.run("symbolic-ref", "HEAD", "refs/heads/nowhere")
    settings = replace(told.settings, repo=repo.folder, state=tmp_path / "state")
    found = at_head_result(settings)
    assert not found.passed and "HEAD can't be told" in str(found.description)
    assert at_head_result(replace(settings, worktree=True)).passed

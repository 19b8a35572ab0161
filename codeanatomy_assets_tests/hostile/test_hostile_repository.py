"""A hostile repository, built and updated from inside it: nothing is run or written, and each threat is a row."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.hostile import hostile_repository
from codeanatomy_assets_tests.hostile.hostile_repository import (
    EDITED,
    LONG_LINE,
    NAMES,
    NEVER_NAMED_INSIDE,
    TOO_DEEP,
    TRAPS,
    Hostile,
)
from codeanatomy_assets_tests.states import BuiltState, Quiet


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    hostile = hostile_repository.create(tmp_path_factory.mktemp("hostile"))
    hostile.build()
    return hostile


@pytest.fixture(scope="module")
def rows(hostile: Hostile, engine: SparkEngine) -> BuiltState:
    """What was built, for reading: the engine is not started for that."""
    return BuiltState(hostile.repo, Settings(repo=hostile.repo.folder, state=hostile.state), engine, Quiet())


def snapshot(rows: BuiltState, path: str) -> dict[str, Any]:
    (found,) = (row for row in rows.rows("repo_snapshot") if row["path"] == path)
    return found


def names_in(rows: BuiltState, path: str) -> list[str]:
    return [row["name"] for row in rows.rows("cst_defs") if row["file_id"] == rows.file_id(path)]


def failure_of(rows: BuiltState, path: str) -> str | None:
    (found,) = (row for row in rows.rows("scip_fingerprints") if row["file_id"] == rows.file_id(path))
    return None if found["failure"] is None else str(found["failure"])


def test_it_is_built_in_spite_of_all(hostile: Hostile, rows: BuiltState) -> None:
    assert hostile.codes == [0, 0], hostile.said
    assert rows.last().commit == hostile.repo.commits[-1]
    assert names_in(rows, "fine.py") == ["fine", "sprung"]
    assert failure_of(rows, "fine.py") is None


def test_its_next_commit_is_an_update_that_rebuilds_what_was_edited(hostile: Hostile, rows: BuiltState) -> None:
    assert [row.mode for row in rows.ledger_rows()] == ["full", "incremental"]
    reasons = [row for row in rows.rows("inc_impacted_files") if row["commit"] == hostile.repo.commits[-1]]
    edited = {row["path"] for row in reasons if row["reason_kind"] == "changed_file"}
    assert set(EDITED) <= edited
    assert not {row["path"] for row in reasons} & {*TOO_DEEP, "long_line.py", "typings/requests/__init__.pyi"}


@pytest.mark.parametrize("place", ["repository and current folder", "home", "outside", "canaries", "temporary folder"])
def test_nothing_is_written_outside_the_state(hostile: Hostile, place: str) -> None:
    assert hostile.after[place] == hostile.before[place]
    assert place == "temporary folder" or place == "home" or hostile.before[place]


def test_git_hooks_filters_and_helpers_are_not_run(hostile: Hostile, tmp_path: Path) -> None:
    assert str(hostile.canaries / "git") not in hostile.after["canaries"]
    shutil.copytree(hostile.repo.folder, tmp_path / "copy", symlinks=True)
    GitRepo(tmp_path / "copy").run("status", "--porcelain")
    assert (hostile.canaries / "git").exists(), "the trap was not armed"


def test_attributes_change_no_byte(hostile: Hostile, rows: BuiltState) -> None:
    stored = hostile.repo.run("cat-file", "blob", "HEAD:fine.py")
    assert snapshot(rows, "fine.py")["sha256"] == hashlib.sha256(stored).hexdigest()
    assert snapshot(rows, ".gitattributes")["skip_reason"] is None


@pytest.mark.parametrize("path", TRAPS)
def test_code_that_tools_would_run_is_read_and_not_run(
    hostile: Hostile, rows: BuiltState, tmp_path: Path, path: str
) -> None:
    canary = hostile.canary_of(path)
    assert str(canary) not in hostile.after["canaries"]
    assert names_in(rows, path) == (["trap", "sprung"] if path in EDITED else ["trap"])
    (tmp_path / "trap.py").write_bytes((hostile.repo.folder / path).read_bytes())
    subprocess.run([sys.executable, "-I", str(tmp_path / "trap.py")], check=True)
    assert canary.exists(), "the trap was not armed"


def test_path_configuration_and_plugins_are_rows_and_not_run(hostile: Hostile, rows: BuiltState) -> None:
    for path in ("evil.pth", "plugin.js", "package.json", "pyrightconfig.json", "pyproject.toml"):
        assert snapshot(rows, path)["is_python"] is False
        assert str(hostile.canary_of(path)) not in hostile.after["canaries"]


def test_configured_paths_lead_nowhere_outside(rows: BuiltState) -> None:
    for dataset in ("py_interface", "scip_symbols", "scip_occurrences", "dim_exported_defs", "dim_qualified_names"):
        assert [row for row in rows.rows(dataset) if NEVER_NAMED_INSIDE in str(row)] == []
    imports = [row for row in rows.rows("py_imports_resolved") if row["file_id"] == rows.file_id("reaches_out.py")]
    assert {row["target_file_id"] for row in imports} == {None}


def test_planted_builtins_and_stubs_are_sources_like_any_other(rows: BuiltState) -> None:
    for path, name in (
        ("__builtins__.pyi", "planted_builtin"),
        ("typings/requests/__init__.pyi", "planted_stub"),
    ):
        assert names_in(rows, path) == [name]
        assert failure_of(rows, path) is None
    assert failure_of(rows, "uses_planted.py") is None


@pytest.mark.parametrize("path", ["linked_file.py", "linked_folder", "climbing.py", "itself.py"])
def test_symlinks_are_rows_and_not_followed(rows: BuiltState, path: str) -> None:
    assert snapshot(rows, path)["skip_reason"] == "symlink"
    assert [row for row in rows.rows("cst_defs") if row["name"] == NEVER_NAMED_INSIDE] == []


@pytest.mark.parametrize("path", ["../escaped.py", ".git/hooks/post-checkout.py", "deps/.."])
def test_paths_that_lead_outside_are_rows_and_not_written(hostile: Hostile, rows: BuiltState, path: str) -> None:
    assert snapshot(rows, path)["skip_reason"] == "unsafe_path"
    assert names_in(rows, path) == []
    assert not any("escaped" in str(file) or "post-checkout" in str(file) for file in hostile.state.rglob("*"))


def test_submodules_are_rows_and_not_fetched(hostile: Hostile, rows: BuiltState) -> None:
    assert snapshot(rows, "deps/vendored")["skip_reason"] == "submodule"
    assert snapshot(rows, ".gitmodules")["skip_reason"] is None
    assert str(hostile.canary_of("submodule")) not in hostile.after["canaries"]


@pytest.mark.parametrize("path", TOO_DEEP)
def test_nesting_without_end_is_a_row_with_the_reason(rows: BuiltState, path: str) -> None:
    assert failure_of(rows, path) == "nested too deeply: RangeError: Maximum call stack size exceeded"
    assert snapshot(rows, path)["skip_reason"] is None


def test_a_line_of_five_megabytes_is_read_whole(rows: BuiltState) -> None:
    assert snapshot(rows, "long_line.py")["size"] == len(LONG_LINE) > 4_890_000
    assert failure_of(rows, "long_line.py") is None
    names = [row["name"] for row in rows.rows("cst_name_refs") if row["file_id"] == rows.file_id("long_line.py")]
    assert names == ["longest"]


@pytest.mark.parametrize(("path", "reason"), [("too_long_line.py", "too_large"), ("nul.py", "nul_bytes")])
def test_what_is_too_much_is_a_row_with_the_reason(rows: BuiltState, path: str, reason: str) -> None:
    assert snapshot(rows, path)["skip_reason"] == reason
    assert [row for row in rows.rows("scip_fingerprints") if row["file_id"] == rows.file_id(path)] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_a_command_is_a_name(rows: BuiltState, name: str) -> None:
    assert names_in(rows, name) == ["here", "sprung"]
    assert failure_of(rows, name) is None


def test_every_file_that_is_read_is_a_node_of_the_graph(rows: BuiltState) -> None:
    read = {row["path"] for row in rows.rows("repo_snapshot") if row["is_python"] and row["skip_reason"] is None}
    assert read - {row["path"] for row in rows.rows("cpg_nodes") if row["node_kind"] == "PY_FILE"} == set()

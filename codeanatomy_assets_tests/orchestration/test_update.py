"""Whole updates over real repositories: what is written, what is left alone, and what a dead run leaves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import Ledger
from codeanatomy_assets_tests.states import BuiltState

FILES = {
    "pkg/__init__.py": "",
    "pkg/core.py": "class Router:\n    def resolve(self, path):\n        return path\n",
    "pkg/views.py": "from pkg.core import Router\n\n\ndef index():\n    return Router().resolve('/')\n",
    "README.md": "read me\n",
}


@pytest.fixture
def built(built: BuiltState) -> BuiltState:
    return built.unrecorded()


@pytest.fixture
def started(built_with: Callable[[dict[str, str]], BuiltState]) -> BuiltState:
    return built_with(FILES).unrecorded()


def owners_changed(built: BuiltState, dataset: str, since: str) -> set[str]:
    """The files whose rows the Change Data Feed says changed since a commit."""
    table = catalog.table(dataset)
    old, new = built.ledger_state(since), built.ledger_state(None)
    return {row[table.owner_column] for row, _ in delta_reads.changes_light(table, old, new)}


def test_a_first_build_is_full_and_holds_every_file(built: BuiltState) -> None:
    report = built.commit(FILES)
    assert report["mode"] == "full"
    assert report["files"] == 3
    assert {row["path"] for row in built.rows("repo_snapshot")} == set(FILES)
    assert {row["local_qname"] for row in built.rows("cst_defs")} == {"Router", "Router.resolve", "index"}
    assert [row["callee_text"] for row in built.rows("cst_callsites")] != []


def test_building_a_commit_twice_is_a_noop_that_writes_nothing(started: BuiltState) -> None:
    before = started.versions(), started.last().sequence
    assert started.build()["mode"] == "noop"
    assert (started.versions(), started.last().sequence) == before


def test_edit_add_delete_and_rename_change_only_those_files_slices(built: BuiltState) -> None:
    names = {f"pkg/m{number:03}.py": f"def f{number}(x):\n    return g{number}(x)\n" for number in range(200)}
    first = built.commit(names)["commit"]
    built.repo.write("pkg/m000.py", "def f0(y):\n    return g0(y, 1)\n")
    built.repo.write("pkg/new.py", "def added():\n    return m()\n")
    built.repo.remove("pkg/m001.py")
    built.repo.move("pkg/m002.py", "pkg/moved.py")
    built.repo.commit()
    report = built.build()
    touched = {built.file_id(f"pkg/{name}.py") for name in ("m000", "new", "m001", "m002", "moved")}
    assert report["mode"] == "incremental"
    assert report["changed"] == {"modified": 1, "added": 1, "deleted": 2, "renamed": 1}
    for dataset in ("repo_snapshot", "cst_name_refs", "cst_callsites"):
        assert owners_changed(built, dataset, first) == touched
    assert owners_changed(built, "cst_defs", first) == touched
    assert owners_changed(built, "cst_imports", first) == set()


def test_a_rename_keeps_its_old_path_and_both_hashes(started: BuiltState) -> None:
    commit = started.last().commit
    content = next(row["sha256"] for row in started.rows("repo_snapshot", commit) if row["path"] == "pkg/core.py")
    started.repo.move("pkg/core.py", "pkg/routing.py")
    started.repo.commit()
    started.build()
    changes = {row["path"]: row for row in started.rows("inc_file_changes") if row["commit"] == started.last().commit}
    renamed, deleted = changes["pkg/routing.py"], changes["pkg/core.py"]
    assert (renamed["change_kind"], renamed["old_path"]) == ("renamed", "pkg/core.py")
    assert renamed["old_sha256"] == renamed["new_sha256"] == content
    assert (deleted["change_kind"], deleted["new_sha256"]) == ("deleted", None)


def test_a_changed_text_file_touches_no_stage_past_the_repository(started: BuiltState) -> None:
    first = started.last().commit
    started.commit({"README.md": "read me again\n"})
    changes = [row for row in started.rows("inc_file_changes") if row["commit"] == started.last().commit]
    assert [(row["path"], row["stages_touched"]) for row in changes] == [("README.md", ["repository"])]
    assert owners_changed(started, "cst_defs", first) == set()
    assert started.commit({"pkg/core.py": "def only(): ...\n"})["refreshed_stages"] == []


def test_going_back_to_an_older_commit_is_an_ordinary_update(started: BuiltState) -> None:
    first = started.last().commit
    started.commit({"pkg/views.py": "def index():\n    return None\n"})
    expected = started.arrow("cst_name_refs", first)
    report = started.build(first)
    assert report["mode"] == "incremental"
    assert sorted(map(str, started.rows("cst_name_refs"))) == sorted(map(str, expected.to_pylist()))


def test_every_built_commit_stays_readable(started: BuiltState) -> None:
    first = started.last().commit
    started.repo.remove("pkg/core.py")
    started.repo.commit()
    started.build()
    assert "Router" in {row["name"] for row in started.rows("cst_defs", first)}
    assert "Router" not in {row["name"] for row in started.rows("cst_defs")}


def test_a_run_that_fails_after_a_write_is_undone_by_the_next(
    started: BuiltState, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = started.last().commit
    before = {name: started.rows(name, first) for name in ("repo_snapshot", "cst_defs")}
    started.repo.write("pkg/core.py", "class Other: ...\n")
    second = started.repo.commit()

    def broken(*_: object) -> None:
        raise CodeAnatomyError("the disk is full: make room")

    with monkeypatch.context() as broken_ledger:
        broken_ledger.setattr(Ledger, "append", broken)
        with pytest.raises(CodeAnatomyError, match="disk is full"):
            started.build()
    assert started.last().commit == first
    assert {name: started.rows(name) for name in before} == before
    report = started.build()
    assert (report["commit"], [row["name"] for row in started.rows("cst_defs")].count("Other")) == (second, 1)
    assert [row.mode for row in started.ledger_rows()] == ["full", "recovery", "incremental"]
    assert started.build()["mode"] == "noop"


def test_a_full_build_gives_the_rows_of_the_updates_before_it(started: BuiltState) -> None:
    started.commit({"pkg/extra.py": "x = 1\n", "pkg/core.py": "def only(): ...\n"})
    datasets = [table.name for table in catalog.state_tables()]
    before = {name: sorted(map(str, started.rows(name))) for name in datasets}
    report = started.build(full=True)
    assert (report["mode"], report["reasons"]) == ("full", {"full_refresh": 4})
    assert {name: sorted(map(str, started.rows(name))) for name in datasets} == before


def test_a_repository_without_commits_is_an_empty_graph(built: BuiltState) -> None:
    report = built.build()
    assert (report["files"], set(report["rows"].values())) == (0, {0})
    assert built.build()["mode"] == "noop"
    assert built.commit(FILES)["files"] == 3


def test_a_repository_without_python_is_an_empty_graph(built: BuiltState) -> None:
    report = built.commit({"README.md": "text\n"})
    assert (report["files"], report["rows"]["cst_defs"]) == (0, 0)


def test_a_moved_repository_keeps_its_state_and_another_one_is_refused(started: BuiltState) -> None:
    moved = started.repo.folder.with_name("moved")
    started.repo.folder.rename(moved)
    assert started.at(moved).build()["mode"] == "noop"
    other = BuiltState.create(moved.with_name("other"), started.engine)
    other.repo.commit_files({"a.py": "a = 1\n"})
    with pytest.raises(BadInput, match="belongs to repository"):
        started.at(other.repo.folder).build()

"""The symbols stage over whole updates: what is indexed again, whose meaning changes, and what a failure leaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.extraction.scip_index import IndexedFile, ScipIndexer
from codeanatomy_assets.extraction.scip_waves import Imports
from codeanatomy_assets.orchestration import indexing
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets_tests.states import BuiltState

PACKAGE = {
    "app/__init__.py": "",
    "app/base.py": "class Base:\n    def run(self):\n        return 1\n",
    "app/child.py": "from app.base import Base\n\n\nclass Child(Base):\n    pass\n",
    "app/caller.py": "from app.child import Child\n\n\ndef call():\n    return Child().run()\n",
    "app/helpers.py": "def first():\n    return 1\n\n\ndef second():\n    return 2\n",
    "app/star.py": "from app.helpers import *\n",
    "app/user.py": "from app.star import first\n\n\ndef use():\n    return first()\n",
    "app/apart.py": "def alone():\n    return len('x')\n",
}


def everything(built: BuiltState) -> dict[str, list[str]]:
    return {table.name: sorted(map(str, built.rows(table.name))) for table in catalog.state_tables()}


def differences(built: BuiltState, folder: Path) -> dict[str, list[str]]:
    """Rows that are not the same in the state and in a clean build of its repository."""
    clean = BuiltState.create(folder, built.engine).at(built.repo.folder)
    clean.build_directly()
    ours, theirs = everything(built), everything(clean)
    return {name: sorted(set(ours[name]) ^ set(theirs[name])) for name in ours if ours[name] != theirs[name]}


def fingerprints(built: BuiltState) -> dict[str, str]:
    paths = {row["file_id"]: row["path"] for row in built.rows("repo_snapshot")}
    return {paths[row["file_id"]]: row["fingerprint"] for row in built.rows("scip_fingerprints")}


def changed_meaning(built: BuiltState, files: dict[str, str | None]) -> set[str]:
    """The files whose fingerprint a commit with these files (None: deleted) changed."""
    before = fingerprints(built)
    for path, content in files.items():
        if content is None:
            built.repo.remove(path)
        else:
            built.repo.write(path, content)
    built.repo.commit()
    built.build_directly()
    after = fingerprints(built)
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


@pytest.fixture
def app(built_with: Callable[[dict[str, str]], BuiltState]) -> BuiltState:
    return built_with(PACKAGE)


def test_a_comment_changes_its_own_file_alone(app: BuiltState) -> None:
    edit: dict[str, str | None] = {"app/base.py": "# why\n" + PACKAGE["app/base.py"]}
    assert changed_meaning(app, edit) == {"app/base.py"}
    assert app.last().summary["indexed"]["reasons"] == {"changed": 1}


def test_imports_of_both_states_are_those_that_reading_both_whole_gives(
    app: BuiltState, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = indexing._Indexing._imports
    compared: list[tuple[bool, bool, bool]] = []

    def compare(self: indexing._Indexing, old: dict[str, str]) -> tuple[dict[str, Imports], dict[str, Imports]]:
        before, after = found(self, old)
        was = indexing._imports(self.run.read_previous_light(PY_IMPORTS_RESOLVED), old, old)
        now = indexing._imports(self.run.read_light(PY_IMPORTS_RESOLVED), self.files, self.files)
        compared.append((before == was, after == now, before == after))
        return before, after

    monkeypatch.setattr(indexing._Indexing, "_imports", compare)
    added = {"app/new.py": "from app import *\n", "app/lone.py": "", "app/apart.py": "import app.base, app.helpers\n"}
    changed_meaning(app, {**added, "app/helpers.py": None})
    changed_meaning(app, {"app/helpers.py": PACKAGE["app/helpers.py"], "app/new.py": None, "app/star.py": "import app"})
    changed_meaning(app, {"app/base.py": PACKAGE["app/base.py"] + "print(1)\n"})
    assert compared == [(True, True, False)] * 2 + [(True, True, True)]


def test_an_added_override_changes_the_unchanged_callers_meaning(app: BuiltState, tmp_path: Path) -> None:
    child = PACKAGE["app/child.py"].replace("    pass", "    def run(self):\n        return 2")
    assert changed_meaning(app, {"app/child.py": child}) == {"app/child.py", "app/caller.py"}
    symbols = {row["symbol"] for row in app.rows("scip_occurrences") if row["file_id"] == app.file_id("app/caller.py")}
    assert any(symbol.endswith("`app.child`/Child#run().") for symbol in symbols)
    assert differences(app, tmp_path / "clean") == {}


def test_a_renamed_export_changes_exactly_the_files_that_name_it(app: BuiltState) -> None:
    helpers = PACKAGE["app/helpers.py"].replace("first", "begin")
    assert changed_meaning(app, {"app/helpers.py": helpers}) == {"app/helpers.py", "app/user.py"}


def test_a_name_moved_behind_a_star_changes_the_stars_users(app: BuiltState) -> None:
    edit: dict[str, str | None] = {
        "app/helpers.py": "from app.more import *\n",
        "app/more.py": PACKAGE["app/helpers.py"],
    }
    assert "app/user.py" in changed_meaning(app, edit)


def test_a_source_root_that_appears_is_a_full_refresh_of_the_stage(app: BuiltState, tmp_path: Path) -> None:
    app.repo.write("src/lib/__init__.py", "x = 1\n")
    app.repo.write("top.py", "from lib import x\n\nprint(x)\n")
    app.repo.commit()
    assert app.build()["refreshed_stages"] == ["symbols", "impact", "relationships", "graph"]
    modules = {row["path"]: row["module"] for row in app.rows("py_module_index") if not row["is_alternate"]}
    assert modules["src/lib/__init__.py"] == "lib"
    assert differences(app, tmp_path / "clean") == {}


def test_a_file_that_can_not_be_indexed_is_a_row_with_the_reason(built: BuiltState) -> None:
    built.repo.write(b"app/\xff.py", "x = 1\n")
    built.commit({"app/a.py": "y = 1\n"})
    failures = {row["failure"] for row in built.rows("scip_fingerprints")}
    assert failures == {None, "path_not_utf8"}


@pytest.mark.parametrize("full", [False, True])
def test_an_indexer_that_dies_fails_the_run_and_leaves_the_state_as_it_was(
    app: BuiltState, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    before = everything(app), app.last().sequence
    app.repo.commit_files({"app/base.py": "class Base: ...\n"})

    def dies(self: ScipIndexer, *_: Any) -> Any:
        self._process._process.kill()
        self._process.receive()

    with monkeypatch.context() as dying:
        dying.setattr(ScipIndexer, "index", dies)
        with pytest.raises(CodeAnatomyError, match="scip-python"):
            app.build(full=full)
    assert (everything(app), app.last().sequence) == before
    assert app.build()["mode"] == "incremental"


def test_a_build_that_fails_while_the_indexer_is_at_work_ends_it(
    app: BuiltState, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Event()

    def slow(self: ScipIndexer, *_: Any) -> Iterator[IndexedFile]:
        asked.set()
        while True:
            yield IndexedFile("app/apart.py", b"", ())
            time.sleep(0.05)

    def fails(*_: Any) -> Any:
        assert asked.wait(60)
        raise CodeAnatomyError("no parsing today")

    with monkeypatch.context() as failing:
        failing.setattr(ScipIndexer, "index", slow)
        failing.setattr(WritingRun, "replace_collected", fails)
        with pytest.raises(CodeAnatomyError, match="no parsing today"):
            app.build(full=True)
    assert asked.is_set()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("indexing")]
    assert not StateFolder(app.settings.state).work.exists()

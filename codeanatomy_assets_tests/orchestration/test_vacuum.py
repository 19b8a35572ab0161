"""The vacuum run: what is let go, what stays readable, and that a crash in the middle hurts nobody."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from codeanatomy_assets import catalog, cli
from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.contracts.repository import FILE_CHANGES, REPO_SNAPSHOT
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.diff import graph_diff
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.revisions import built_commits
from codeanatomy_assets.orchestration.vacuum import BY_COMMIT, _kept, retention_of, vacuum
from codeanatomy_assets.orchestration.verify import verified
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage import vacuum as storage_vacuum
from codeanatomy_assets.storage.delta_store import Scope
from codeanatomy_assets.storage.ledger import Ledger
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.retention import Retention
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets.storage.stored_files import StoredFiles
from codeanatomy_assets_tests.histories import History
from codeanatomy_assets_tests.states import BuiltState, Quiet
from codeanatomy_assets_tests.storage.light_states import LightState
from codeanatomy_assets_tests.storage.odd_rows import Row, arrow
from codeanatomy_assets_tests.storage.scratch_tables import new_attempt

TABLES = (REPO_SNAPSHOT, FILE_CHANGES, IMPACTED_FILES)
COMMITS = [f"{number}" * 40 for number in range(6)]
ONLY_THE_LAST = Retention(commits=1, days=0, grace_hours=0)
LAST_TWO = Retention(commits=2, days=0, grace_hours=0)


def snapshot_rows(number: int) -> list[Row]:
    blank = dict.fromkeys(REPO_SNAPSHOT.column_names)
    paths = ["a.py", "b.py", f"c{number}.py"]
    of = {"is_python": True, "size": number, "git_mode": "100644", "blob_id": f"{number}"}
    return [{**blank, **of, "path": path, "file_id": identity.FILE.of("repository", path)} for path in paths]


def change_rows(commit: str) -> list[Row]:
    blank = dict.fromkeys(FILE_CHANGES.column_names)
    told = {"commit": commit, "path": "a.py", "change_kind": "modified", "stages_touched": ["repository"]}
    return [{**blank, **told, "file_id": identity.FILE.of("repository", "a.py")}]


@dataclass
class SmallState:
    """A state of three tables, in which these commits count as built; written without a JVM."""

    settings: Settings

    @classmethod
    def create(cls, folder: Path, commits: Iterable[str] = COMMITS) -> SmallState:
        state = cls(Settings(state=folder))
        StateFolder(folder).claim("/repo", "git", "test")
        light = LightState(folder / "tables", TABLES)
        for number, commit in enumerate(commits):
            attempt = new_attempt(commit)
            light.begin(attempt)
            light.write(snapshot_rows(number), attempt, REPO_SNAPSHOT)
            written = light.store.replace_files(
                light.state, FILE_CHANGES, arrow(FILE_CHANGES, change_rows(commit)), Scope.of((commit,)), attempt
            )
            light.state = light.state.advanced(written.ref)
            light.finish(commit, attempt)
        return state

    def copy(self, folder: Path) -> SmallState:
        shutil.copytree(self.settings.state, folder)
        return SmallState(replace(self.settings, state=folder))

    def vacuum(self, retention: Retention = LAST_TWO, dry_run: bool = False) -> dict[str, Any]:
        return vacuum(self.settings, Quiet(), retention, dry_run)

    def rows(self, commit: str | None, table: Table = REPO_SNAPSHOT) -> list[Row]:
        ledger = open_ledger(self.settings)
        found: list[Row] = delta_reads.read_light(ledger.resolve(commit).state, table).to_pylist()
        return sorted(found, key=str)

    def readable(self) -> dict[str, list[Row]]:
        """Every commit that the ledger still gives, with its rows: reading them all is the test."""
        return {row.commit: self.rows(row.commit) for row in open_ledger(self.settings).kept_rows()}

    def files(self) -> dict[str, str]:
        root = self.settings.state
        return {
            str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in root.rglob("*")
            if path.is_file()
        }

    def data_files(self) -> set[str]:
        found = {name for name in self.files() if name.endswith(".parquet")}
        return {name for name in found if "_delta_log" not in name and "graph_commits" not in name}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallState:
    monkeypatch.setattr(storage_vacuum, "LOG_BYTES_WORTH_A_CHECKPOINT", 1)
    return SmallState.create(tmp_path / "state")


def expected(commit: str) -> list[Row]:
    return sorted(snapshot_rows(COMMITS.index(commit)), key=str)


def test_what_is_kept_reads_as_before_and_what_is_let_go_is_refused(state: SmallState) -> None:
    report = state.vacuum()
    assert (report["kept_commits"], report["let_go"]) == (COMMITS[4:], COMMITS[:4])
    assert report["bytes"] > 0 and report["ledger_row"] == 7
    assert state.readable() == {commit: expected(commit) for commit in COMMITS[4:]}
    ledger = open_ledger(state.settings)
    last = ledger.resolve(None)
    assert (last.mode, last.commit, last.summary["kept_from"]) == ("vacuum", COMMITS[5], 5)
    assert last.summary["freed_bytes"] > 0
    for commit in COMMITS[:4]:
        with pytest.raises(BadInput, match="is past the retention: it was built at"):
            ledger.resolve(commit)
    assert [row.commit for row in built_commits(state.settings, f"..{COMMITS[5]}")] == COMMITS[4:]
    with pytest.raises(BadInput, match="past the retention"):
        built_commits(state.settings, f"{COMMITS[1]}..{COMMITS[5]}")


def test_records_of_commits_that_are_let_go_are_removed_and_others_stay(state: SmallState) -> None:
    report = state.vacuum()
    assert report["rows_removed"] == {FILE_CHANGES.name: 4}
    assert {row["commit"] for row in state.rows(None, FILE_CHANGES)} == set(COMMITS[4:])
    assert {row["commit"] for row in state.rows(COMMITS[4], FILE_CHANGES)} == set(COMMITS[:5])


def test_a_second_vacuum_has_nothing_to_do_and_writes_no_row(state: SmallState) -> None:
    state.vacuum()
    before = {name: digest for name, digest in state.files().items() if not name.startswith("attempts")}
    report = state.vacuum()
    assert (report["ledger_row"], report["files"], report["let_go"]) == (None, 0, [])
    after = {name: digest for name, digest in state.files().items() if not name.startswith("attempts")}
    assert after == before


def test_a_dry_run_says_what_would_go_and_writes_nothing(state: SmallState) -> None:
    before = state.files()
    told = state.vacuum(dry_run=True)
    assert state.files() == before
    assert told["dry_run"] and told["ledger_row"] is None
    done = state.vacuum()
    for name in ("kept_from", "let_go", "rows_removed"):
        assert told[name] == done[name]
    assert 0 < told["files"] <= done["files"]


def test_within_the_grace_neither_the_last_states_nor_young_files_go(state: SmallState) -> None:
    before = state.data_files()
    report = state.vacuum(replace(ONLY_THE_LAST, grace_hours=1))
    assert (report["let_go"], report["files"], report["ledger_row"]) == ([], 0, None)
    assert state.data_files() == before
    long_ago = time.time() - 7200
    for path in state.settings.state.rglob("*"):
        os.utime(path, (long_ago, long_ago))
    state.vacuum(replace(ONLY_THE_LAST, grace_hours=1))
    assert state.data_files() == before
    assert state.readable() == {commit: expected(commit) for commit in COMMITS}


def test_what_was_let_go_stays_gone_when_more_is_to_be_kept(state: SmallState) -> None:
    state.vacuum()
    assert state.vacuum(Retention(commits=50, days=30, grace_hours=0))["kept_from"] == 5
    with pytest.raises(BadInput, match="past the retention"):
        open_ledger(state.settings).resolve(COMMITS[0])


def test_a_commit_that_was_let_go_can_be_built_again(state: SmallState) -> None:
    state.vacuum()
    light = LightState(state.settings.state / "tables", TABLES)
    attempt = new_attempt(COMMITS[0])
    light.begin(attempt)
    light.write(snapshot_rows(0), attempt, REPO_SNAPSHOT)
    light.finish(COMMITS[0], attempt)
    assert state.rows(COMMITS[0]) == expected(COMMITS[0])


def test_what_a_dead_run_left_is_recovered_first(state: SmallState) -> None:
    light = LightState(state.settings.state / "tables", TABLES)
    attempt = new_attempt("dead")
    light.begin(attempt)
    light.write(snapshot_rows(0), attempt, REPO_SNAPSHOT)
    state.vacuum()
    assert [row.mode for row in open_ledger(state.settings).rows()[-2:]] == ["recovery", "vacuum"]
    assert state.readable()[COMMITS[5]] == expected(COMMITS[5])


def test_a_lost_table_does_not_stop_a_vacuum(state: SmallState) -> None:
    shutil.rmtree(open_ledger(state.settings).resolve(None).state.ref(FILE_CHANGES).path)
    state.vacuum()
    assert state.readable() == {commit: expected(commit) for commit in COMMITS[4:]}


def test_a_table_whose_beginning_was_cut_off_begins_at_a_path_of_its_own(state: SmallState) -> None:
    state.vacuum(ONLY_THE_LAST)
    light = LightState(state.settings.state / "tables", TABLES)
    wider = new_attempt("wider")
    light.begin(wider, buckets=2 * light.state.buckets)
    light.write(snapshot_rows(1), wider, REPO_SNAPSHOT)
    light.finish("wider", wider)
    again = new_attempt("again")
    found = light.begin(again, buckets=light.state.buckets // 2)
    assert found.working.ref(REPO_SNAPSHOT).path.endswith(f"-{again.number}")
    light.write(snapshot_rows(2), again, REPO_SNAPSHOT)
    light.finish("again", again)
    assert state.rows("again") == expected(COMMITS[2])
    assert state.rows("wider") == expected(COMMITS[1])


class Killed(BaseException):
    """Stands for a process that ends here."""


def test_broken_off_at_any_file_every_kept_commit_reads_and_the_next_vacuum_ends_the_work(
    state: SmallState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = state.copy(tmp_path / "whole")
    total = whole.vacuum()["files"]
    original = StoredFiles.delete
    assert total > 20
    for number in range(0, total, 3):
        broken = state.copy(tmp_path / f"broken{number}")
        passing = iter(range(number))

        def delete(self: StoredFiles, path: str, passing: Any = passing) -> None:
            if next(passing, None) is None:
                raise Killed
            original(self, path)

        monkeypatch.setattr(StoredFiles, "delete", delete)
        with pytest.raises(Killed):
            broken.vacuum()
        monkeypatch.setattr(StoredFiles, "delete", original)
        assert broken.readable() == {commit: expected(commit) for commit in COMMITS[4:]}
        broken.vacuum()
        assert broken.readable() == {commit: expected(commit) for commit in COMMITS[4:]}
        assert len(broken.data_files()) == len(whole.data_files())
        shutil.rmtree(broken.settings.state)


def test_broken_off_before_the_ledger_row_nothing_has_happened(
    state: SmallState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "append", die)
        with pytest.raises(Killed):
            state.vacuum()
    assert state.readable() == {commit: expected(commit) for commit in COMMITS}
    state.vacuum()
    assert [row.mode for row in open_ledger(state.settings).rows()[-2:]] == ["recovery", "vacuum"]
    assert state.readable() == {commit: expected(commit) for commit in COMMITS[4:]}


KILLED_VACUUM = """
import os, signal, sys
from codeanatomy_assets.cli import main
from codeanatomy_assets.storage.stored_files import StoredFiles
left, *arguments = sys.argv[1:]
original, passing = StoredFiles.delete, iter(range(int(left)))

def delete(self, path):
    if next(passing, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
    original(self, path)

StoredFiles.delete = delete
sys.exit(main(arguments))
"""


def test_a_killed_vacuum_lets_the_next_run_in(state: SmallState) -> None:
    arguments = ["vacuum", "--keep-commits", "2", "--grace-hours", "0", "--state", str(state.settings.state)]
    killed = subprocess.run([sys.executable, "-c", KILLED_VACUUM, "2", *arguments], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert state.readable() == {commit: expected(commit) for commit in COMMITS[4:]}
    assert cli.main(arguments) == 0
    assert state.vacuum()["files"] == 0


def test_a_state_in_use_is_refused_and_left_alone(state: SmallState) -> None:
    before = state.data_files()
    with StateLock(state.settings.state).holding("codeanatomy build"), pytest.raises(BadInput, match="in use by"):
        state.vacuum()
    assert state.data_files() == before


def test_an_option_alone_is_the_whole_rule() -> None:
    settings = Settings(retain_commits=7, retain_days=3.0)
    assert retention_of(settings, None, None, 1.0) == Retention(7, 3.0, 1.0)
    assert retention_of(settings, 2, None, 1.0) == Retention(2, 0.0, 1.0)
    assert retention_of(settings, None, 1.5, 0.0) == Retention(0, 1.5, 0.0)
    with pytest.raises(BadInput, match="can't be negative"):
        retention_of(settings, -1, None, 1.0)


def test_the_command_reports_as_text_and_as_one_object(
    state: SmallState, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ["--keep-commits", "2", "--grace-hours", "0", "--state", str(state.settings.state)]
    assert cli.main(["vacuum", "--dry-run", *options]) == 0
    said = capsys.readouterr().out
    assert "would be let go: 4 commits, up to 333333333333" in said and "would be freed:" in said
    assert cli.main(["vacuum", "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["kept_commits"] == COMMITS[4:]
    assert cli.main(["status", "--state", str(state.settings.state)]) == 0
    assert "(past the retention)" in capsys.readouterr().out
    assert cli.main(["vacuum", "--state", str(tmp_path / "nowhere")]) == 2
    assert not (tmp_path / "nowhere").exists()


# One of each kind of table: Spark takes seconds for each read.
BY_SPARK = ("repo_snapshot", "cst_defs", "rel_calls", "cpg_nodes", "cpg_edges", "run_profiles")


def everything(history: History, commit: str) -> dict[str, list[str]]:
    """Every dataset of a commit."""
    state = history.built.ledger_state(commit)
    tables = [table for table in catalog.TABLES if table.storage_name in state.refs]
    return {table.name: sorted(map(str, delta_reads.read_light(state, table).to_pylist())) for table in tables}


def told_by_spark(history: History, commit: str, engine: SparkEngine) -> dict[str, list[str]]:
    state = history.built.ledger_state(commit)
    read = {name: delta_reads.read(engine.session(), state, catalog.table(name)).toArrow() for name in BY_SPARK}
    return {name: sorted(map(str, rows.to_pylist())) for name, rows in read.items()}


@pytest.mark.slow
def test_a_real_history_reads_alike_by_both_engines_and_goes_on_after_a_vacuum(
    history: History, engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_vacuum, "LOG_BYTES_WORTH_A_CHECKPOINT", 1)
    copy = history.copy(tmp_path / "state")
    settings, kept = copy.built.settings, copy.commits[2:]
    before = {commit: everything(copy, commit) for commit in kept}
    # The session has opened the tables once, as one that stays up between commits has.
    told_by_spark(copy, kept[0], engine)
    feed = graph_diff(settings, *kept)
    report = vacuum(settings, Quiet(), LAST_TWO)
    assert report["let_go"] == copy.commits[:2] and report["files"] > 50
    for commit in kept:
        after = everything(copy, commit)
        assert told_by_spark(copy, commit, engine) == {name: after[name] for name in BY_SPARK}
        records = {table.name for table in BY_COMMIT} if commit == kept[-1] else set()
        assert {name for name, rows in after.items() if rows != before[commit][name]} <= records
        assert {row["commit"] for row in copy.built.rows("run_profiles")} == set(kept)
    assert graph_diff(settings, *kept).changes == feed.changes
    with pytest.raises(BadInput, match="past the retention"):
        graph_diff(settings, copy.commits[0], kept[0])
    build_directly(settings, engine, Quiet(), copy.commits[0])
    assert verified(copy.built.last(), history.built.ledger_rows()[0]).differences == ()
    assert vacuum(settings, Quiet(), ONLY_THE_LAST)["kept_commits"] == [copy.commits[0]]
    assert verified(copy.built.last(), history.built.ledger_rows()[0]).differences == ()


@pytest.mark.slow
def test_after_five_updates_a_vacuumed_state_is_at_most_three_times_a_clean_one(
    tmp_path: Path, engine: SparkEngine
) -> None:
    built = BuiltState.create(tmp_path, engine)
    source = "from pkg.m{next} import f{next}\n\n\ndef f{number}(x: int) -> int:\n    return f{next}(x)\n"
    files = {f"pkg/m{number}.py": source.format(number=number, next=(number + 1) % 6) for number in range(6)}
    built.repo.commit_files({"pkg/__init__.py": "", **files})
    build_directly(built.settings, engine, Quiet())
    for number in range(5):
        path = f"pkg/m{number % 6}.py"
        built.repo.commit_files({path: f"{files[path]}\n\ndef extra{number}():\n    return f{number % 6}({number})\n"})
        build_directly(built.settings, engine, Quiet())
    clean = replace(built.settings, state=tmp_path / "clean")
    from_scratch = build_directly(clean, engine, Quiet())
    grown = size_of(built.settings.state)
    vacuum(built.settings, Quiet(), ONLY_THE_LAST)
    ratio = size_of(built.settings.state) / size_of(clean.state)
    print(f"state: {grown} bytes, vacuumed {size_of(built.settings.state)}, clean {size_of(clean.state)}: {ratio:.2f}")
    assert ratio <= 3
    assert verified(built.last(), from_scratch).differences == ()


def test_a_second_that_passes_while_a_vacuum_looks_keeps_no_more(history: History) -> None:
    rows = history.built.ledger_rows()
    just_before = datetime.fromisoformat(rows[-1].built_at) + timedelta(seconds=1)
    kept = _kept(rows, ONLY_THE_LAST, just_before)
    assert kept.first == kept.coming.sequence


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())

"""Which files of a table can go: every version that is kept is read alike by both engines, and nothing else stays."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from codeanatomy_assets.storage import delta_reads, vacuum
from codeanatomy_assets.storage.delta_log import LogUnreadable, TableLog, deletion_vector_path
from codeanatomy_assets.storage.stored_files import StoredFiles
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets.storage.vacuum import Garbage, Grace, find_garbage, remove
from codeanatomy_assets_tests.storage.light_states import LightState
from codeanatomy_assets_tests.storage.odd_rows import EVENTS, THINGS, Row, as_bag, files, odd_things, thing
from codeanatomy_assets_tests.storage.scratch_tables import LIGHT, SPARK, ScratchTables, new_attempt

NOW = Grace(datetime.now(UTC), is_none=True)
FOLDER = "things/v1-b4"


@pytest.fixture(autouse=True)
def _cut_every_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vacuum, "LOG_BYTES_WORTH_A_CHECKPOINT", 1)


def history(tables: ScratchTables, ways: tuple[str, ...]) -> list[TableState]:
    """A state after each of these writes; Spark's later ones leave deletion vectors, delta-rs' rewrite files."""
    tables.put(THINGS, [row for owner in range(6) for row in odd_things(owner)], way=ways[0])
    states = [tables.state]
    for number, way in enumerate(ways[1:]):
        owner = number % 6
        tables.put(THINGS, [*odd_things(owner), thing(owner, f"new{number}")], files(owner), way=way, part=str(number))
        states.append(tables.state)
    return states


def clean(tables: ScratchTables, kept: TableState, grace: Grace = NOW) -> Garbage:
    store = tables.store()
    folder = {kept.ref(THINGS).path.removeprefix(f"{store.root}/"): kept.ref(THINGS).version}
    found = find_garbage(store, [THINGS.name], folder, grace)
    remove(store, found, lambda *_: None)
    delta_reads.forget()
    return found


def disk(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "ways", [(LIGHT,) * 7, (SPARK, LIGHT, SPARK, SPARK, LIGHT, SPARK, LIGHT)], ids=["light", "both"]
)
def test_kept_versions_and_the_feed_between_them_read_alike_by_both_engines(
    tables: ScratchTables, ways: tuple[str, ...]
) -> None:
    states = history(tables, ways)
    rows = [tables.rows(THINGS, state) for state in states]
    feeds = [tables.changes(THINGS, states[4], state) for state in states[4:]]
    folder = Path(tables.state.ref(THINGS).path)
    log_before = {name for name in disk(folder / "_delta_log") if name.endswith(".json")}

    found = clean(tables, states[4])

    assert found.files and found.bytes == sum(file.size for file in found.files)
    for number in range(4, 7):
        assert as_bag(tables.rows(THINGS, states[number])) == as_bag(rows[number])
        assert as_bag(tables.rows_by_spark(THINGS, states[number])) == as_bag(rows[number])
        assert tables.changes(THINGS, states[4], states[number]) == feeds[number - 4]
    with pytest.raises(DeltaError):
        delta_reads.read_light(states[3], THINGS)
    gone = log_before - disk(folder / "_delta_log")
    assert gone == {f"{number:020}.json" for number in range(states[4].ref(THINGS).version)}
    assert clean(tables, states[4]) == Garbage()


def test_writing_goes_on_after_the_log_was_cut_by_both_engines(tables: ScratchTables) -> None:
    states = history(tables, (SPARK, SPARK, LIGHT, SPARK))
    clean(tables, states[-1])
    for number, way in enumerate((SPARK, LIGHT, SPARK, LIGHT)):
        before = tables.state
        tables.put(THINGS, [thing(0, f"after{number}")], files(0), way=way, part=f"after{number}")
        assert tables.changes(THINGS, before)
        tables.bag(THINGS)
    assert tables.changes(THINGS, states[-1])


def test_nothing_is_left_that_only_let_go_versions_needed(tables: ScratchTables) -> None:
    states = history(tables, (SPARK, SPARK, SPARK, LIGHT, SPARK))
    folder = Path(tables.state.ref(THINGS).path)
    assert any(folder.rglob("deletion_vector_*.bin")) and any(folder.rglob("_change_data/**/*.parquet"))
    clean(tables, states[-1])
    last = TableLog(StoredFiles(str(tables.root), {}), FOLDER, StoredFiles(str(tables.root), {}).below(FOLDER))
    present, needed = last.needed_since(states[-1].ref(THINGS).version)
    left = {name for name in disk(folder) if not name.startswith("_delta_log") and not name.endswith(".crc")}
    assert left == needed and present < needed
    assert not any(folder.rglob("_change_data/**/*.parquet"))


def test_a_deletion_vector_s_name_is_read_as_spark_writes_it(tables: ScratchTables) -> None:
    history(tables, (SPARK,) * 3)
    folder = Path(tables.state.ref(THINGS).path)
    stored = StoredFiles(str(tables.root), {})
    _, needed = TableLog(stored, FOLDER, stored.below(FOLDER)).needed_since(tables.version(THINGS))
    vectors = {name for name in needed if name.startswith("deletion_vector_")}
    assert vectors and vectors <= {path.name for path in folder.rglob("deletion_vector_*.bin")}
    known = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^"}
    assert deletion_vector_path(known) == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert deletion_vector_path({"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91"}) is None


class TestWithoutAJvm:
    """What needs one engine only."""

    @pytest.fixture
    def state(self, tmp_path: Path) -> LightState:
        return LightState(tmp_path / "tables", (THINGS, EVENTS), buckets=4)

    def build(self, state: LightState, count: int) -> list[list[Row]]:
        contents = [[thing(owner, text=f"{number}") for owner in range(3)] for number in range(count)]
        for number, rows in enumerate(contents):
            state.build(f"c{number}", rows)
        return contents

    def kept(self, state: LightState) -> dict[str, int]:
        last = state.ledger.last()
        assert last is not None
        return vacuum.oldest_versions(state.store, [last])

    def test_files_of_a_killed_write_go_when_they_are_old_enough(self, state: LightState) -> None:
        self.build(state, 2)
        folder = Path(state.state.ref(THINGS).path)
        orphans = [folder / "bucket=1" / "part-00000-orphan.parquet", folder / "_delta_log" / "_commit_x.json.tmp"]
        for orphan in orphans:
            orphan.write_text("half")
        hour = Grace(datetime.now(UTC) - timedelta(hours=1), is_none=False)
        assert find_garbage(state.store, [THINGS.name], self.kept(state), hour).files == ()
        two_hours_ago = time.time() - 7200
        for orphan in orphans:
            os.utime(orphan, (two_hours_ago, two_hours_ago))
        found = find_garbage(state.store, [THINGS.name], self.kept(state), hour)
        assert {file.name for file in found.files} == {orphan.name for orphan in orphans}

    def test_a_table_that_no_row_names_goes_whole_and_other_folders_stay(self, state: LightState) -> None:
        self.build(state, 1)
        root = Path(state.store.root)
        for name in ("things/v1-b8", "things/v1-b4-1234", "things/notes", "elsewhere/v1"):
            (root / name / "_delta_log").mkdir(parents=True)
            (root / name / "_delta_log" / f"{0:020}.json").write_text("{}")
        remove(state.store, find_garbage(state.store, [THINGS.name], self.kept(state), NOW), lambda *_: None)
        assert {path.name for path in (root / "things").iterdir()} == {"v1-b4", "notes"}
        assert (root / "elsewhere" / "v1").is_dir()

    def test_a_young_file_keeps_a_table_that_no_row_names(self, state: LightState) -> None:
        self.build(state, 1)
        (Path(state.store.root) / "things" / "v1-b8").mkdir()
        (Path(state.store.root) / "things" / "v1-b8" / "x.parquet").write_text("x")
        hour = Grace(datetime.now(UTC) - timedelta(hours=1), is_none=False)
        assert find_garbage(state.store, [THINGS.name], self.kept(state), hour).files == ()

    def test_a_table_that_is_being_taken_away_is_always_an_older_version_or_none(self, state: LightState) -> None:
        self.build(state, 5)
        path = state.state.ref(THINGS).path
        DeltaTable(path, version=2).create_checkpoint()
        for version in (0, 1):
            (Path(path) / "_delta_log" / f"{version:020}.json").unlink()
        found = find_garbage(state.store, [THINGS.name], {}, NOW)
        seen: list[int | None] = []
        for number in range(len(found.files)):
            remove(state.store, Garbage(found.files[number : number + 1]), lambda *_: None)
            delta_reads.forget()
            seen.append(delta_reads.latest_version(path))
            if seen[-1] is not None:
                DeltaTable(path).count()
        assert seen[0] == 5 and seen[-1] is None
        assert [version for version in seen if version is not None] == sorted(
            (version for version in seen if version is not None), reverse=True
        )

    def test_a_lost_table_is_left_alone(self, state: LightState) -> None:
        self.build(state, 3)
        folder = Path(state.state.ref(THINGS).path)
        (folder / "_delta_log" / f"{3:020}.json").unlink()
        assert find_garbage(state.store, [THINGS.name], self.kept(state), NOW) == Garbage()

    def test_a_log_with_a_gap_is_refused_and_nothing_is_deleted(self, state: LightState) -> None:
        self.build(state, 4)
        folder = Path(state.state.ref(THINGS).path)
        (folder / "_delta_log" / f"{2:020}.json").unlink()
        before = disk(folder)
        with pytest.raises(LogUnreadable, match="no log entry of version 2"):
            find_garbage(state.store, [THINGS.name], {"things/v1-b4": 1}, NOW)
        assert disk(folder) == before

    def test_readers_that_came_before_a_checkpoint_have_their_log_for_the_grace(self, state: LightState) -> None:
        self.build(state, 4)
        folder = Path(state.state.ref(THINGS).path)
        hour = Grace(datetime.now(UTC) - timedelta(hours=1), is_none=False)
        long_ago = time.time() - 7200
        for path in folder.rglob("*"):
            os.utime(path, (long_ago, long_ago))
        first = find_garbage(state.store, [THINGS.name], self.kept(state), hour)
        remove(state.store, first, lambda *_: None)
        assert first.checkpoints == (("things/v1-b4", 4),)
        assert {f"{number:020}.json" for number in range(5)} <= disk(folder / "_delta_log")
        os.utime(folder / "_delta_log" / f"{4:020}.checkpoint.parquet", (long_ago, long_ago))
        remove(state.store, find_garbage(state.store, [THINGS.name], self.kept(state), hour), lambda *_: None)
        assert {name for name in disk(folder / "_delta_log") if name.endswith(".json")} == {f"{4:020}.json"}
        assert as_bag(state.rows()) == as_bag([thing(owner, text="3") for owner in range(3)])

    def test_a_log_that_is_not_worth_a_checkpoint_stays(
        self, state: LightState, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(vacuum, "LOG_BYTES_WORTH_A_CHECKPOINT", 10**9)
        self.build(state, 3)
        found = find_garbage(state.store, [THINGS.name], self.kept(state), NOW)
        assert found.checkpoints == () and not [file for file in found.files if "_delta_log" in file.path]

    def test_the_ledger_s_small_files_become_one_and_all_its_rows_stay(self, state: LightState) -> None:
        self.build(state, 12)
        before = state.ledger.rows()
        folder = Path(state.store.root) / "graph_commits" / "v1"
        assert vacuum.compact_ledger(state.store, new_attempt())
        remove(state.store, vacuum.find_ledger_garbage(state.store, NOW), lambda *_: None)
        assert state.ledger.rows() == before and len(list(folder.glob("*.parquet"))) == 1
        assert not vacuum.compact_ledger(state.store, new_attempt())
        assert state.build("c12", [thing(1)]).sequence == 13

"""`replace_files`, the one way rows get into a table: the same promises whichever engine commits."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from codeanatomy_assets.storage import delta_store
from codeanatomy_assets.storage.delta_reads import MOST_OWNERS_IN_PREDICATE
from codeanatomy_assets.storage.delta_store import DeltaStore, Scope, TableMoved, WriteLimits, WriteRefused
from codeanatomy_assets.storage.table_state import bucket_of
from codeanatomy_assets_tests.storage.odd_rows import (
    EVENTS,
    FIRST_RULE,
    SECOND_RULE,
    THINGS,
    Row,
    arrow,
    as_bag,
    file_id,
    files,
    odd_things,
    thing,
)
from codeanatomy_assets_tests.storage.scratch_tables import LIGHT, MANY, SPARK, ScratchTables, new_attempt


def test_only_slices_in_scope_are_swapped_and_both_engines_read_every_odd_value_alike(scratch: ScratchTables) -> None:
    first = scratch.put(THINGS, [*odd_things(1), thing(2), thing(2, "b"), thing(3)])
    assert (first.owners, first.rows) == (files(1, 2, 3), len(odd_things(1)) + 3)
    assert first.way == scratch.way

    base = scratch.state
    written = scratch.put(THINGS, [thing(2, text="new"), *odd_things(4)], [file_id(2), file_id(4)])
    assert (written.owners, written.rows) == (files(2, 4), 1 + len(odd_things(4)))
    assert written.ref.version == base.ref(THINGS).version + 1
    assert scratch.bag(THINGS) == as_bag([*odd_things(1), thing(2, text="new"), thing(3), *odd_things(4)])
    assert scratch.changed_owners(THINGS, base) == files(2, 4)


def test_a_deleted_file_leaves_no_row_and_an_owner_without_rows_on_both_sides_is_nothing(
    scratch: ScratchTables,
) -> None:
    scratch.put(THINGS, [thing(1), thing(2), thing(3)], way=LIGHT)
    written = scratch.put(THINGS, [thing(3, text="new")], [file_id(1), file_id(3), file_id("never seen")])
    assert (written.owners, written.rows) == (files(1, 3), 1)
    assert scratch.bag(THINGS) == as_bag([thing(2), thing(3, text="new")])


def test_slices_that_did_not_change_are_not_written(scratch: ScratchTables) -> None:
    scratch.put(THINGS, [*odd_things(1), *odd_things(2), thing(3)], way=LIGHT)
    base = scratch.state
    backwards = [*reversed(odd_things(2)), *reversed(odd_things(1))]
    same = scratch.put(THINGS, backwards, [file_id(1), file_id(2), file_id("never seen")])
    assert (same.owners, same.rows, same.way) == (frozenset(), 0, "none")
    assert scratch.version(THINGS) == base.ref(THINGS).version

    one_fewer = odd_things(2)[:-1]
    some = scratch.put(THINGS, [*odd_things(1), *one_fewer, thing(3)])
    assert some.owners == files(2)
    assert scratch.changed_owners(THINGS, base) == files(2)
    assert scratch.bag(THINGS) == as_bag([*odd_things(1), *one_fewer, thing(3)])


SMALL_DIFFERENCES: tuple[tuple[Row, Row], ...] = (
    ({"text": None}, {"text": ""}),
    ({"text": None}, {"text": "null"}),
    ({"words": []}, {"words": None}),
    ({"words": [None]}, {"words": [""]}),
    ({"words": ["a", "b"]}, {"words": ["a,b"]}),
    ({"words": ["a", "b"]}, {"words": ["b", "a"]}),
    ({"parts": [None]}, {"parts": [{"name": None, "at": None, "tags": None}]}),
    ({"text": "a\nb"}, {"text": "a\\nb"}),
    ({"text": "e\u0301"}, {"text": "\u00e9"}),
    ({"raw": b""}, {"raw": None}),
    ({"big": 2**53}, {"big": 2**53 + 1}),
    ({"ratio": 0.3}, {"ratio": 0.1 + 0.2}),
)


def test_the_smallest_difference_is_one(spark: SparkSession) -> None:
    old = arrow(THINGS, [thing(n, **before) for n, (before, _) in enumerate(SMALL_DIFFERENCES)])
    new = arrow(THINGS, [thing(n, **after) for n, (_, after) in enumerate(SMALL_DIFFERENCES)])
    owners = files(*range(len(SMALL_DIFFERENCES)))
    assert delta_store._differing_owners(THINGS, old, new) == owners
    compared = delta_store._compared_slices(THINGS, spark.createDataFrame(old), spark.createDataFrame(new))
    assert set(compared) == {(owner, 1, True) for owner in owners}


def test_rows_outside_the_scope_are_refused_and_nothing_is_written(scratch: ScratchTables) -> None:
    scratch.put(THINGS, [thing(1), thing(2)], way=LIGHT)
    before = scratch.version(THINGS)
    with pytest.raises(WriteRefused, match=f"rows of 1 owners outside the scope, e.g. {file_id(2)}"):
        scratch.put(THINGS, [thing(1), thing(2, text="new")], [file_id(1)])
    with pytest.raises(WriteRefused, match="things: rows without a file_id"):
        scratch.put(THINGS, [{**thing(1), "file_id": None}], [file_id(1)])
    assert scratch.version(THINGS) == before


def test_an_overwrite_without_a_scope_is_refused(scratch: ScratchTables) -> None:
    scratch.put(THINGS, [thing(1)], way=LIGHT)
    before = scratch.version(THINGS)
    rows = arrow(THINGS, [thing(2)])
    with pytest.raises(TypeError, match="scope"):
        cast(Any, scratch.store()).replace_files(scratch.state, THINGS, rows, attempt=new_attempt())
    with pytest.raises(AttributeError):
        scratch.store().replace_files(scratch.state, THINGS, rows, cast(Any, None), new_attempt())
    with pytest.raises(WriteRefused, match="1 rows for a scope of no owners"):
        scratch.store().replace_files(scratch.state, THINGS, rows, Scope.of(()), new_attempt())
    assert scratch.version(THINGS) == before


def test_a_scope_of_no_owners_writes_nothing(scratch: ScratchTables) -> None:
    assert scratch.put(THINGS, [], []).way == "none"
    assert scratch.version(THINGS) == 0


def test_an_empty_table_filled_with_nothing_stays_empty_and_tells_so(scratch: ScratchTables) -> None:
    written = scratch.put(THINGS, [])
    assert (written.owners, written.rows) == (frozenset(), 0)


def test_a_row_without_an_owner_never_gets_into_an_empty_table(scratch: ScratchTables) -> None:
    with pytest.raises((WriteRefused, PySparkException), match="without a file_id"):
        scratch.put(THINGS, [{**thing(1), "file_id": None}, thing(2)])
    assert scratch.version(THINGS) == 0


def test_everything_is_replaced_when_that_is_said(scratch: ScratchTables) -> None:
    scratch.put(THINGS, [thing(1), thing(2)], way=LIGHT)
    written = scratch.put(THINGS, [thing(2, text="new"), thing(3)])
    assert written.owners == files(1, 2, 3)
    assert scratch.bag(THINGS) == as_bag([thing(2, text="new"), thing(3)])
    emptied = scratch.put(THINGS, [])
    assert (emptied.owners, emptied.rows) == (files(2, 3), 0)
    assert scratch.rows(THINGS) == []


def test_a_replayed_write_is_a_no_op_and_tells_what_it_did(scratch: ScratchTables) -> None:
    scratch.put(THINGS, [thing(1), thing(2), thing(3)], way=LIGHT)
    attempt, scope = new_attempt(), Scope.of([file_id(1), file_id(2)])
    rows = [thing(1, text="new"), thing(2)]
    first = scratch.replace(THINGS, rows, scope, attempt)
    again = scratch.replace(THINGS, rows, scope, attempt)
    assert (again.ref, again.owners, again.way) == (first.ref, first.owners, "replayed")
    assert scratch.version(THINGS) == first.ref.version


def test_a_new_attempt_writes_what_a_restore_undid(scratch: ScratchTables) -> None:
    scratch.put(THINGS, [thing(1)], way=LIGHT)
    base = scratch.state
    dead = scratch.replace(THINGS, [thing(1, text="new")], Scope.of([file_id(1)]))
    scratch.state = base.advanced(scratch.store().restore(base.ref(THINGS), new_attempt()))
    assert scratch.bag(THINGS) == as_bag([thing(1)])
    written = scratch.put(THINGS, [thing(1, text="new")], [file_id(1)])
    assert written.ref.version == dead.ref.version + 2
    assert scratch.bag(THINGS) == as_bag([thing(1, text="new")])


def test_a_second_write_of_one_attempt_needs_a_part_of_its_own(scratch: ScratchTables) -> None:
    attempt = new_attempt()
    scratch.state = scratch.state.advanced(
        scratch.replace(THINGS, [thing(1)], Scope.of([file_id(1)]), attempt, part="a", way=LIGHT).ref
    )
    same = scratch.replace(THINGS, [thing(1)], Scope.of([file_id(1)]), attempt, part="a")
    assert same.way == "none"
    with pytest.raises(WriteRefused, match="wrote it already"):
        scratch.replace(THINGS, [thing(2)], Scope.of([file_id(2)]), attempt, part="a")
    other = scratch.replace(THINGS, [thing(2)], Scope.of([file_id(2)]), attempt, part="b")
    assert other.owners == files(2)


def test_a_stale_state_writes_nothing(scratch: ScratchTables) -> None:
    stale = scratch.state
    scratch.put(THINGS, [thing(1)], [file_id(1)], way=LIGHT)
    with pytest.raises(TableMoved, match="things is at version 1, this run left it at 0"):
        scratch.replace(THINGS, [thing(2)], Scope.of([file_id(2)]), state=stale)
    assert scratch.version(THINGS) == 1
    assert scratch.rows(THINGS) == [thing(1)]


def test_a_commit_that_comes_in_between_is_noticed(tables: ScratchTables, monkeypatch: pytest.MonkeyPatch) -> None:
    def after_somebody_else(handle: Any, *arguments: Any, **options: Any) -> None:
        monkeypatch.undo()
        tables.put(THINGS, [thing(9)], [file_id(9)])
        write_deltalake(handle, *arguments, **options)

    monkeypatch.setattr(delta_store, "write_deltalake", after_somebody_else)
    with pytest.raises(TableMoved, match="was written by another run"):
        tables.replace(THINGS, [thing(1)], Scope.of([file_id(1)]))
    assert tables.rows(THINGS) == [thing(9)]


def test_both_ways_take_turns_on_one_table(tables: ScratchTables) -> None:
    expected = {n: [thing(n, str(m), number=m) for m in range(4)] for n in range(4)}
    tables.put(THINGS, [row for rows in expected.values() for row in rows], way=SPARK)
    for turn, way in enumerate((LIGHT, SPARK, LIGHT)):
        for owner in (turn % 4, (turn + 1) % 4):
            expected[owner] = [thing(owner, str(m), number=m * turn, text=way) for m in range(turn + 1)]
        owners = [file_id(turn % 4), file_id((turn + 1) % 4)]
        rows = [row for owner in (turn % 4, (turn + 1) % 4) for row in expected[owner]]
        assert tables.put(THINGS, rows, owners, way=way).way == way
        assert as_bag(tables.rows(THINGS)) == as_bag([row for rows in expected.values() for row in rows])
    tables.bag(THINGS)


def test_many_versions_and_a_checkpoint_later_both_engines_still_agree(tables: ScratchTables) -> None:
    first = new_attempt()
    tables.state = tables.state.advanced(tables.replace(THINGS, [thing(0)], Scope.of([file_id(0)]), first).ref)
    for number in range(1, 25):
        tables.put(THINGS, [thing(number % 5, number=number)], [file_id(number % 5)])
    assert list(Path(tables.state.ref(THINGS).path).glob("_delta_log/*.checkpoint.parquet"))
    assert tables.bag(THINGS) == as_bag([thing(n % 5, number=n) for n in range(20, 25)])
    with pytest.raises(WriteRefused, match="wrote it already"):
        tables.replace(THINGS, [thing(0)], Scope.of([file_id(0)]), first)
    assert tables.put(THINGS, [thing(9)], [file_id(9)], way=SPARK).owners == files(9)


def test_a_scope_of_too_many_owners_for_a_predicate_swaps_exactly_those(scratch: ScratchTables) -> None:
    size = MOST_OWNERS_IN_PREDICATE + 1
    scratch.put(THINGS, [thing(n) for n in range(size + 20)], way=LIGHT)
    changed = [thing(n, text="new") for n in range(size) if n % 7]
    written = scratch.put(THINGS, changed, [file_id(n) for n in range(size)])
    assert (len(written.owners), written.rows, written.way) == (size, len(changed), scratch.way)
    assert scratch.bag(THINGS) == as_bag([*changed, *(thing(n) for n in range(size, size + 20))])


def test_up_to_the_limits_rows_go_the_light_way_and_past_them_through_spark(spark: SparkSession) -> None:
    rows = arrow(THINGS, [thing(n, text="x" * 50) for n in range(4)])
    owners = Scope.of(file_id(n) for n in range(4))
    light = {
        WriteLimits(rows=4, owners=4): True,
        WriteLimits(rows=3, owners=4): False,
        WriteLimits(rows=4, owners=3): False,
        WriteLimits(bytes=rows.nbytes // 2): False,
    }
    frame = spark.createDataFrame(rows)
    for limits, expected in light.items():
        fetched = DeltaStore("nowhere", lambda: spark, limits=limits)._small_enough(frame, owners)
        assert isinstance(fetched, pa.Table) == expected


def test_arrow_rows_past_the_limits_go_through_spark_too(tmp_path: Path, spark: SparkSession) -> None:
    store = DeltaStore(str(tmp_path), lambda: spark, limits=WriteLimits(rows=2))
    state = store.create_missing((THINGS,), 1)
    rows = arrow(THINGS, [thing(n) for n in range(3)])
    written = store.replace_files(state, THINGS, rows, Scope.everything(3), new_attempt())
    assert (written.way, written.rows) == ("spark", 3)
    small = arrow(THINGS, [thing(1, text="new")])
    after = state.advanced(written.ref)
    assert store.replace_files(after, THINGS, small, Scope.of((file_id(1),)), new_attempt()).way == "light"


def test_slices_of_more_owners_than_delta_rs_takes_in_a_predicate_go_through_spark(
    tmp_path: Path, spark: SparkSession
) -> None:
    tables = ScratchTables(spark, tmp_path)
    tables.put(THINGS, [thing(n) for n in range(1_200)])
    changed = [thing(n, text="new") for n in range(1_100)]
    written = tables.put(THINGS, [*changed, *(thing(n) for n in range(1_100, 1_200))])
    assert (written.way, len(written.owners)) == (SPARK, 1_100)
    assert as_bag(tables.rows(THINGS)) == as_bag([*changed, *(thing(n) for n in range(1_100, 1_200))])
    few = tables.put(THINGS, [thing(7)], [file_id(7)])
    assert few.way == LIGHT


def test_rows_owned_by_a_commit_are_replaced_by_commit(scratch: ScratchTables) -> None:
    def event(commit: str, text: str) -> Row:
        return {"commit": commit, "file_id": file_id(1), "text": text}

    scratch.put(EVENTS, [event("aaaa", "x"), event("aaaa", "y")], ["aaaa"], way=LIGHT)
    scratch.put(EVENTS, [event("bbbb", "x")], ["bbbb"], way=LIGHT)
    written = scratch.put(EVENTS, [event("aaaa", "z")], ["aaaa"])
    assert written.owners == {"aaaa"}
    assert scratch.bag(EVENTS) == as_bag([event("bbbb", "x"), event("aaaa", "z")])


def test_datasets_that_share_a_table_replace_only_their_own_rows(scratch: ScratchTables) -> None:
    def row(rule: str, owner: int, src: str = "s") -> Row:
        return {"file_id": file_id(owner), "rule": rule, "src_id": src}

    first = [row("rel_first", 1), row("rel_first", 2)]
    second = [row("rel_second", 1), row("rel_second", 3)]
    scratch.put(FIRST_RULE, first, way=LIGHT)
    scratch.put(SECOND_RULE, second, way=LIGHT)
    assert as_bag(scratch.rows(FIRST_RULE)) == as_bag(first)
    assert scratch.state.ref(FIRST_RULE) == scratch.state.ref(SECOND_RULE)

    base = scratch.state
    scratch.put(FIRST_RULE, [row("rel_first", 1, "new")], [file_id(1)])
    everything = scratch.put(SECOND_RULE, [row("rel_second", 4)])
    assert everything.owners == files(1, 3, 4)
    assert scratch.bag(FIRST_RULE) == as_bag([row("rel_first", 1, "new"), row("rel_first", 2)])
    assert scratch.bag(SECOND_RULE) == as_bag([row("rel_second", 4)])
    assert len(scratch.changes(FIRST_RULE, base)) == 2
    assert len(scratch.changes(SECOND_RULE, base)) == 3

    before = scratch.version(FIRST_RULE)
    with pytest.raises(Exception, match=r"(?i)predicate|constraint|replaceWhere|condition|rel_second"):
        scratch.put(FIRST_RULE, [row("rel_second", 5)], [file_id(5)])
    assert scratch.version(FIRST_RULE) == before


def test_each_bucket_has_a_folder_of_its_own(tmp_path: Path, spark: SparkSession, way: str) -> None:
    scratch = ScratchTables(spark, tmp_path, buckets=16, way=way)
    scratch.put(THINGS, [thing(n) for n in range(40)])
    folders = {path.parent.name for path in Path(scratch.state.ref(THINGS).path).glob("bucket=*/*.parquet")}
    assert folders == {f"bucket={bucket_of(file_id(n), 16)}" for n in range(40)}
    scratch.put(THINGS, [thing(3, text="new")], [file_id(3), file_id(4)], way=LIGHT)
    assert scratch.bag(THINGS) == as_bag([thing(n) for n in range(40) if n not in (3, 4)] + [thing(3, text="new")])


def test_the_scope_of_everything_says_its_size_only_to_choose_the_way() -> None:
    assert Scope.everything(3).is_everything and Scope.everything(MANY).owners is None
    assert not Scope.of(["a"]).is_everything

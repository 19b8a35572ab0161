"""Netted changes: both engines tell what turns one state into another, whatever lies between them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets_tests.storage.odd_rows import THINGS, as_text, file_id, odd_things, thing
from codeanatomy_assets_tests.storage.scratch_tables import LIGHT, SPARK, ScratchTables, new_attempt


def restore(scratch: ScratchTables, version: int) -> None:
    ref = scratch.state.ref(THINGS)
    scratch.state = scratch.state.advanced(scratch.store().restore(ref.at(version), new_attempt()))


def test_between_equal_versions_nothing_changed(tables: ScratchTables) -> None:
    tables.put(THINGS, [thing(1)])
    assert tables.changes(THINGS, tables.state) == []
    assert delta_reads.changes(tables.spark, THINGS, tables.state, tables.state).columns[-1] == "delta"


def test_changes_are_the_difference_of_the_two_states(scratch: ScratchTables) -> None:
    empty = scratch.state
    scratch.put(THINGS, [*odd_things(1), *odd_things(2), thing(3)], way=LIGHT)
    base = scratch.state
    scratch.put(THINGS, [*odd_things(1)[1:], thing(1, "b")], [file_id(1)])
    scratch.put(THINGS, [thing(4)], [file_id(3), file_id(4)])
    scratch.put(THINGS, [thing(3)], [file_id(3)], way=LIGHT)
    gone, came = odd_things(1)[0], [thing(1, "b"), thing(4)]
    assert scratch.changes(THINGS, base) == sorted([(as_text(gone), -1), *((as_text(row), 1) for row in came)])
    assert sum(delta for _, delta in scratch.changes(THINGS, empty)) == len(scratch.rows(THINGS))


def test_a_row_that_occurs_twice_counts_twice(tables: ScratchTables) -> None:
    tables.put(THINGS, [thing(1), thing(1)], [file_id(1)])
    base = tables.state
    tables.put(THINGS, [thing(1), thing(2), thing(2)], [file_id(1), file_id(2)])
    assert tables.changes(THINGS, base) == sorted([(as_text(thing(1)), -1), (as_text(thing(2)), 2)])


def test_what_a_restore_undid_is_left_out(scratch: ScratchTables) -> None:
    scratch.put(THINGS, [*odd_things(1), *odd_things(2)], way=LIGHT)
    base = scratch.state
    scratch.put(THINGS, [thing(1)], [file_id(1)])
    dead = scratch.state
    restore(scratch, base.ref(THINGS).version)
    assert scratch.changes(THINGS, base) == []
    assert (as_text(thing(1)), -1) in scratch.changes(THINGS, dead)
    scratch.put(THINGS, [thing(2)], [file_id(2)], way=LIGHT)
    assert {as_text(thing(2))} == {text for text, delta in scratch.changes(THINGS, base) if delta > 0}


def test_a_file_emptied_slice_by_slice_is_told_right(tables: ScratchTables) -> None:
    """Spark marks rows deleted and then drops the file: the vector of a dropped file must not be misread."""
    tables = ScratchTables(tables.spark, tables.root / "one bucket", buckets=1)
    tables.put(THINGS, [thing(1), thing(2), thing(3)], way=LIGHT)
    states = [tables.state]
    for owners in ([1], [2, 3]):
        tables.put(THINGS, [thing(n, text="new") for n in owners], map(file_id, owners), way=SPARK)
        states.append(tables.state)
    tables.changes(THINGS, states[1])
    restore(tables, states[1].ref(THINGS).version)
    tables.put(THINGS, [thing(9)], way=SPARK)
    for state in states:
        tables.changes(THINGS, state)


def test_a_table_laid_out_anew_is_compared_with_what_it_was(tmp_path: Path, spark: SparkSession) -> None:
    old = ScratchTables(spark, tmp_path, buckets=2)
    old.put(THINGS, [*odd_things(1), thing(2)])
    new = ScratchTables(spark, tmp_path, buckets=8)
    new.put(THINGS, [*odd_things(1), thing(3)])
    assert new.state.ref(THINGS).path != old.state.ref(THINGS).path
    assert new.changes(THINGS, old.state) == sorted([(as_text(thing(2)), -1), (as_text(thing(3)), 1)])

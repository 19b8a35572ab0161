"""Reads of some slices: the right rows, from the files that can hold them and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeanatomy_assets.storage import delta_reads, value_lookups
from codeanatomy_assets.storage.delta_reads import MOST_OWNERS_IN_PREDICATE
from codeanatomy_assets.storage.pruning import scanned
from codeanatomy_assets.storage.table_state import bucket_of
from codeanatomy_assets_tests.storage.odd_rows import THINGS, as_bag, as_rows, file_id, thing
from codeanatomy_assets_tests.storage.scratch_tables import SPARK, WAYS, ScratchTables

BUCKETS = 16


@pytest.fixture
def wide(tables: ScratchTables) -> ScratchTables:
    """Tables of sixteen buckets, with a few hundred slices."""
    wide = ScratchTables(tables.spark, tables.root / "wide", buckets=BUCKETS)
    wide.put(THINGS, [thing(n, number=n) for n in range(600)])
    return wide


@pytest.mark.parametrize("count", [3, MOST_OWNERS_IN_PREDICATE + 20])
def test_a_scoped_read_touches_only_the_files_that_can_hold_the_slices(wide: ScratchTables, count: int) -> None:
    in_two_buckets = [n for n in range(6_000) if bucket_of(file_id(n), BUCKETS) in (3, 5)]
    wanted = in_two_buckets[:count]
    owners = [file_id(n) for n in wanted]
    rows = delta_reads.read(wide.spark, wide.state, THINGS, owners)
    touched = {path.split("bucket=")[1].split("/")[0] for path in rows.inputFiles()}
    assert touched == {str(bucket_of(owner, BUCKETS)) for owner in owners}
    assert len(wide.spark.read.format("delta").load(wide.state.ref(THINGS).path).inputFiles()) == BUCKETS
    expected = as_bag([thing(n, number=n) for n in wanted if n < 600])
    assert as_bag(as_rows(rows.toArrow())) == expected
    assert as_bag(as_rows(delta_reads.read_light(wide.state, THINGS, owners))) == expected


def test_a_question_may_name_more_values_than_an_engine_takes_in_a_list(wide: ScratchTables) -> None:
    """A list of 30,000 ended the process inside delta-rs, without a word."""
    numbers = range(500, 500 + 40_000)
    expected = as_bag([thing(n, number=n) for n in range(500, 600)])
    owners = [file_id(n) for n in numbers]
    assert as_bag(as_rows(delta_reads.read_light(wide.state, THINGS, owners))) == expected
    named = delta_reads.among("file_id", owners)
    assert as_bag(as_rows(delta_reads.read_light(wide.state, THINGS, where=named))) == expected
    odd = [f"it's {n}" for n in numbers]
    assert delta_reads.read_light(wide.state, THINGS, where=delta_reads.among("text", odd)).num_rows == 0
    assert delta_reads.read_light(wide.state, THINGS, where=delta_reads.among("text", ())).num_rows == 0


def test_rows_are_found_by_what_structs_in_their_lists_hold(tables: ScratchTables) -> None:
    rows = [
        thing(1, parts=[{"name": "a", "words": []}, {"name": "b", "words": None}]),
        thing(2, parts=[{"name": "b", "words": []}]),
        thing(3, parts=[]),
        thing(4, parts=None),
        thing(5, parts=[{"name": None, "words": []}]),
    ]
    tables.put(THINGS, rows)
    found = value_lookups.rows_holding(tables.state, THINGS, ["file_id"], ("parts", "name"), ["b", "c"])
    assert sorted(found.column(0).to_pylist()) == sorted([file_id(1), file_id(2)])
    none = value_lookups.rows_holding(tables.state, THINGS, ["file_id"], ("parts", "name"), ["a"], "number = 7")
    assert none.num_rows == 0


def test_what_is_scanned_is_told_as_spark_scans_it(wide: ScratchTables) -> None:
    rows = wide.spark.read.format("delta").load(wide.state.ref(THINGS).path)
    sizes = {path: Path(path.removeprefix("file:")).stat().st_size for path in rows.inputFiles()}
    told = scanned(wide.state, THINGS, None)
    assert (told.files, told.all_files, told.bytes) == (len(sizes), len(sizes), sum(sizes.values()))
    owners = [file_id(n) for n in range(5)]
    read = delta_reads.read(wide.spark, wide.state, THINGS, owners).inputFiles()
    told = scanned(wide.state, THINGS, owners)
    assert (told.files, told.bytes) == (len(read), sum(sizes[path] for path in read))
    assert 0 < told.files < told.all_files
    assert scanned(wide.state, THINGS, ()).files == 0


def test_a_file_without_statistics_is_scanned_if_its_bucket_is(wide: ScratchTables) -> None:
    bare = ScratchTables(wide.spark, wide.root / "bare", buckets=BUCKETS)
    path = bare.state.ref(THINGS).path
    wide.spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES (delta.dataSkippingNumIndexedCols = 0)")
    bare.state = bare.state.advanced(bare.state.ref(THINGS).at(1))
    bare.put(THINGS, [thing(n) for n in range(600)], way=SPARK)
    wanted = file_id(7)
    told = scanned(bare.state, THINGS, [wanted])
    touched = delta_reads.read(bare.spark, bare.state, THINGS, [wanted])
    assert (told.files, told.all_files) == (1, BUCKETS)
    assert [path for path in touched.inputFiles() if f"bucket={bucket_of(wanted, BUCKETS)}/" in path]
    assert touched.count() == 1


def test_nobodys_slices_are_no_rows(wide: ScratchTables) -> None:
    assert delta_reads.read(wide.spark, wide.state, THINGS, ()).count() == 0
    assert delta_reads.read_light(wide.state, THINGS, ()).num_rows == 0
    assert delta_reads.read_light(wide.state, THINGS, ()).schema == THINGS.arrow_schema()


def test_a_stream_and_a_count_tell_the_same_rows(wide: ScratchTables) -> None:
    streamed = [row for batch in delta_reads.stream(wide.state, THINGS) for row in batch.to_pylist()]
    assert as_bag(streamed) == as_bag(wide.rows(THINGS))
    assert delta_reads.count_rows(wide.state, THINGS) == len(streamed) == 600


@pytest.mark.parametrize("way", WAYS)
def test_data_files_are_read_as_they_are_until_rows_are_deleted_in_place(tables: ScratchTables, way: str) -> None:
    assert delta_reads.read_files(tables.spark, tables.state, THINGS) is None
    tables.put(THINGS, [thing(n, number=n) for n in range(40)], way=way)
    scanned = delta_reads.read_files(tables.spark, tables.state, THINGS)
    assert scanned is not None and as_bag(as_rows(scanned.toArrow())) == tables.bag(THINGS)
    tables.put(THINGS, [thing(3, number=300)], [file_id(3)], way=SPARK)
    rewritten = delta_reads.read_files(tables.spark, tables.state, THINGS)
    assert rewritten is None
    assert len(tables.bag(THINGS)) == 40


def test_data_files_below_a_path_that_looks_like_a_pattern_are_left_to_delta(tables: ScratchTables) -> None:
    odd = ScratchTables(tables.spark, tables.root / "a{b,c}*")
    odd.put(THINGS, [thing(1)])
    assert delta_reads.read_files(odd.spark, odd.state, THINGS) is None
    assert len(odd.rows(THINGS)) == 1


def test_an_earlier_state_reads_as_it_was(wide: ScratchTables) -> None:
    earlier = wide.state
    wide.put(THINGS, [], [file_id(n) for n in range(10)])
    assert delta_reads.count_rows(wide.state, THINGS) == 590
    assert delta_reads.count_rows(earlier, THINGS) == 600
    assert delta_reads.read(wide.spark, earlier, THINGS).count() == 600

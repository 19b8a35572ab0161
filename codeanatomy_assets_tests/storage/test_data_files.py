"""Data files that workers write from Arrow: placed, told to the log as it wants them, and committed once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.storage import data_files, delta_store, pruning
from codeanatomy_assets.storage.data_files import DataFiles, place_sql
from codeanatomy_assets.storage.delta_store import Scope, TableMoved, WriteRefused
from codeanatomy_assets.storage.table_state import bucket_of, buckets_for
from codeanatomy_assets.transforms.collected_rows import collecting
from codeanatomy_assets_tests.storage.odd_rows import (
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


def ahead(tables: ScratchTables, table: Table, rows: list[Row]) -> DataFiles:
    frame = tables.spark.createDataFrame(arrow(table, rows))
    return tables.store().write_ahead(tables.state, table, frame)


def commit(tables: ScratchTables, table: Table, made: DataFiles, owners: Iterable[str] | None = None) -> Any:
    scope = Scope.everything(MANY) if owners is None else Scope.of(owners)
    return tables.store().replace_files(tables.state, table, made, scope, new_attempt())


def fill(tables: ScratchTables, table: Table, rows: list[Row]) -> DataFiles:
    made = ahead(tables, table, rows)
    tables.state = tables.state.advanced(commit(tables, table, made).ref)
    return made


def added(tables: ScratchTables, table: Table) -> list[dict[str, Any]]:
    """What the log tells of each data file, its statistics opened."""
    log = Path(tables.state.ref(table).path) / "_delta_log"
    lines = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text().splitlines()]
    told = [line["add"] for line in lines if "add" in line]
    return [{**add, "stats": json.loads(add["stats"])} for add in told]


@pytest.mark.parametrize("buckets", [1, 2, 32, 256])
def test_a_row_is_placed_in_its_bucket_and_beside_rows_of_its_file(spark: SparkSession, buckets: int) -> None:
    ids = [file_id(n) for n in range(300)]
    rows = spark.createDataFrame(pa.table({"file_id": ids}))
    places = rows.selectExpr("file_id", f"{place_sql('file_id', buckets, 'things')} AS place").toArrow().to_pylist()
    assert {row["file_id"]: row["place"] >> data_files.PLACE_BITS for row in places} == {
        each: bucket_of(each, buckets) for each in ids
    }
    assert len({row["place"] for row in places}) == len(ids)


def test_every_odd_value_is_read_alike_by_both_engines_and_as_it_was_given(tables: ScratchTables) -> None:
    base = tables.state
    rows = [*odd_things(1), *odd_things(2), thing(3)]
    made = fill(tables, THINGS, rows)
    assert (made.rows, made.owners) == (len(rows), files(1, 2, 3))
    assert tables.bag(THINGS) == as_bag(rows)
    assert len(tables.changes(THINGS, base)) == len({*as_bag(rows)})
    assert tables.put(THINGS, rows, way=LIGHT).way == "none"


def test_later_writes_of_either_engine_go_on_from_these_files(tables: ScratchTables) -> None:
    fill(tables, THINGS, [*odd_things(1), thing(2), thing(3)])
    base = tables.state
    tables.put(THINGS, [thing(2, text="light")], [file_id(2)], way=LIGHT)
    tables.put(THINGS, [thing(3, text="spark")], [file_id(3)], way=SPARK)
    assert tables.bag(THINGS) == as_bag([*odd_things(1), thing(2, text="light"), thing(3, text="spark")])
    assert len(tables.changes(THINGS, base)) == 4
    tables.state = base.advanced(tables.store().restore(base.ref(THINGS), new_attempt()))
    assert tables.bag(THINGS) == as_bag([*odd_things(1), thing(2), thing(3)])


def test_a_bucket_is_one_data_file_with_its_rows_file_by_file(tmp_path: Path, spark: SparkSession) -> None:
    tables = ScratchTables(spark, tmp_path, buckets=8)
    rows = [thing(n % 40, str(n)) for n in range(400)]
    made = fill(tables, THINGS, rows)
    assert sorted(file.bucket for file in made.files) == sorted({bucket_of(file_id(n), 8) for n in range(40)})
    for file in made.files:
        path = Path(tables.state.ref(THINGS).path) / file.path
        owners = pq.read_table(path, partitioning=None).column("file_id").to_pylist()
        runs = [owner for owner, before in zip(owners, [None, *owners], strict=False) if owner != before]
        assert len(runs) == len(set(owners)) and set(owners) == file.owners
        assert {bucket_of(owner, 8) for owner in owners} == {file.bucket}
        assert (len(owners), path.stat().st_size) == (file.rows, file.size)


def test_a_data_file_of_many_groups_is_whole(tables: ScratchTables, monkeypatch: pytest.MonkeyPatch) -> None:
    target = data_files.Target(THINGS, tables.state.ref(THINGS).path, {})
    monkeypatch.setattr(data_files, "ROWS_PER_GROUP", 10)
    opened = data_files._OpenFile(target, 0)
    for start in range(0, 95, 5):
        opened.add(arrow(THINGS, [thing(1, str(n), number=n) for n in range(start, start + 5)]))
    told = opened.close()
    path = Path(target.root) / told["path"]
    assert pq.ParquetFile(path).metadata.num_row_groups == 10
    assert pq.read_table(path, partitioning=None).column("number").to_pylist() == list(range(95))
    stats = json.loads(told["stats"])
    assert (told["rows"], stats["minValues"]["number"], stats["maxValues"]["number"]) == (95, 0, 94)


def test_the_log_tells_ends_and_nulls_but_no_long_text(tables: ScratchTables) -> None:
    long = "x" * (data_files.LONGEST_TEXT + 1)
    fill(tables, THINGS, [thing(1, "a", text="short", number=7), thing(1, "b", text=long, number=-3), thing(1, "c")])
    [told] = added(tables, THINGS)
    stats = told["stats"]
    assert stats["numRecords"] == 3
    assert {name: stats["nullCount"][name] for name in ("file_id", "text", "number", "ratio")} == {
        "file_id": 0, "text": 1, "number": 1, "ratio": 3,
    }  # fmt: skip
    assert (stats["minValues"], stats["maxValues"]) == (
        {"file_id": file_id(1), "thing_id": "1/a", "number": -3},
        {"file_id": file_id(1), "thing_id": "1/c", "number": 7},
    )


def test_scoped_reads_are_pruned_by_what_the_log_tells(tmp_path: Path, spark: SparkSession) -> None:
    tables = ScratchTables(spark, tmp_path, buckets=8)
    fill(tables, THINGS, [thing(n) for n in range(60)])
    touched = pruning.scanned(tables.state, THINGS, [file_id(5)])
    assert (touched.files, touched.all_files) == (1, 8)


def test_a_row_without_an_owner_is_refused_before_anything_is_written(tables: ScratchTables) -> None:
    with pytest.raises(PySparkException, match="things: a row without a file_id"):
        ahead(tables, THINGS, [{**thing(1), "file_id": None}])
    assert not list(Path(tables.state.ref(THINGS).path).glob("bucket=*/*.parquet"))


def test_data_files_are_for_a_dataset_without_rows_and_for_all_of_it(tables: ScratchTables) -> None:
    made = ahead(tables, THINGS, [thing(1)])
    with pytest.raises(WriteRefused, match="data files are for a dataset without rows"):
        commit(tables, THINGS, made, [file_id(1)])
    tables.put(THINGS, [thing(2)])
    with pytest.raises(WriteRefused, match="data files are for a dataset without rows"):
        commit(tables, THINGS, made)
    assert tables.rows(THINGS) == [thing(2)]


def test_no_rows_are_no_commit(tables: ScratchTables) -> None:
    written = commit(tables, THINGS, ahead(tables, THINGS, []))
    assert (written.way, written.rows, tables.version(THINGS)) == ("none", 0, 0)


def test_what_was_never_committed_is_not_read(tables: ScratchTables) -> None:
    ahead(tables, THINGS, [thing(1, text="of a run that was killed")])
    tables.put(THINGS, [thing(1)])
    assert tables.bag(THINGS) == as_bag([thing(1)])


def test_a_repeated_commit_is_a_no_op(tables: ScratchTables) -> None:
    attempt, made = new_attempt(), ahead(tables, THINGS, [thing(1), thing(2)])
    store, scope = tables.store(), Scope.everything(MANY)
    first = store.replace_files(tables.state, THINGS, made, scope, attempt)
    again = store.replace_files(tables.state, THINGS, made, scope, attempt)
    assert (again.way, again.ref, again.owners) == ("replayed", first.ref, files(1, 2))
    assert tables.version(THINGS) == 1


def test_a_table_that_another_run_moved_is_refused(tables: ScratchTables, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ahead(tables, THINGS, [thing(1)])

    def after_somebody_else(path: str, **options: Any) -> DeltaTable:
        opened = DeltaTable(path, **options)
        if "version" in options:
            monkeypatch.undo()
            tables.put(THINGS, [thing(9)])
        return opened

    monkeypatch.setattr(delta_store, "DeltaTable", after_somebody_else)
    with pytest.raises(TableMoved, match="was written by another run"):
        commit(tables, THINGS, made)
    assert tables.rows(THINGS) == [thing(9)]


def test_datasets_of_one_table_are_filled_beside_each_other(tables: ScratchTables) -> None:
    def row(rule: str, owner: int) -> Row:
        return {"file_id": file_id(owner), "rule": rule, "src_id": "s"}

    fill(tables, FIRST_RULE, [row("rel_first", 1)])
    fill(tables, SECOND_RULE, [row("rel_second", 1), row("rel_second", 2)])
    assert tables.bag(FIRST_RULE) == as_bag([row("rel_first", 1)])
    assert tables.bag(SECOND_RULE) == as_bag([row("rel_second", 1), row("rel_second", 2)])
    with pytest.raises(PySparkException, match="rel_first: rows of another dataset"):
        ahead(tables, FIRST_RULE, [row("rel_second", 1)])


def test_rows_of_several_datasets_are_made_where_the_files_are(tmp_path: Path, spark: SparkSession) -> None:
    tables = ScratchTables(spark, tmp_path, buckets=8)
    empty, values = file_id(3), list(thing(0).values())[1:]

    def collect(file: Mapping[str, Any]) -> dict[str, list[Any]]:
        owner = file["file_id"]
        return {"things": [] if owner == empty else [(owner, *values)] * 2, "rel_first": []}

    found = spark.createDataFrame(pa.table({"file_id": [file_id(n) for n in range(20)]}))
    both = (THINGS, FIRST_RULE)
    made = tables.store().make_ahead(tables.state, both, found, collecting(both, collect))
    assert made["things"].owners == files(*(n for n in range(20) if n != 3))
    assert made["rel_first"].files == ()
    written = commit(tables, THINGS, made["things"])
    tables.state = tables.state.advanced(written.ref)
    assert (written.rows, len(tables.bag(THINGS))) == (38, 38)


@pytest.mark.parametrize(
    ("buckets", "cores", "tasks"), [(1, 2, 1), (4, 2, 4), (32, 2, 8), (128, 2, 16), (256, 2, 32), (256, 16, 64)]
)
def test_tasks_are_few_and_none_has_too_many_buckets(buckets: int, cores: int, tasks: int) -> None:
    assert data_files.tasks_for(buckets, cores) == tasks


def test_buckets_are_dealt_out_to_tasks_evenly(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "tasks_for", lambda *_: 8)
    rows = data_files.placed(spark.createDataFrame(pa.table({"file_id": [file_id(n) for n in range(600)]})), "t", 32)
    seen = rows.selectExpr(
        f"shiftright(place_of_row, {data_files.PLACE_BITS}) AS bucket", "spark_partition_id() AS task"
    )
    pairs = {(row["bucket"], row["task"]) for row in seen.collect()}
    assert len(pairs) == 32
    assert Counter(task for _, task in pairs) == dict.fromkeys(range(8), 4)


def test_buckets_are_spread_over_tasks_whatever_their_number(tmp_path: Path, spark: SparkSession) -> None:
    count = 500
    tables = ScratchTables(spark, tmp_path, buckets=buckets_for(count))
    made = fill(tables, THINGS, [thing(n, text=str(n)) for n in range(count)])
    assert len(made.files) == buckets_for(count) == 4
    assert pc.sum(pa.array([file.rows for file in made.files])).as_py() == count
    assert tables.bag(THINGS) == as_bag([thing(n, text=str(n)) for n in range(count)])

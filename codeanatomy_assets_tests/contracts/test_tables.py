"""Contracts: every schema that is derived from one declaration agrees, and a wrong declaration is refused."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import sqlglot
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from sqlglot import exp

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.table import BUCKET, Column, Layout, Stage, Table
from codeanatomy_assets.contracts.types import INT, LONG, STRING, Array, Scalar, Struct, Type
from codeanatomy_assets.storage.delta_reads import read_light
from codeanatomy_assets.storage.delta_store import DeltaStore
from codeanatomy_assets.storage.table_state import bucket_of, bucket_sql, buckets_for, owner_predicate, table_path
from codeanatomy_assets_tests.storage.odd_rows import EVENTS, FIRST_RULE, SECOND_RULE, THINGS

TABLES = (*catalog.TABLES, THINGS, EVENTS)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_spark_and_the_arrow_schema_say_the_same(table: Table) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    spark_schema = table.spark_schema()
    assert spark_schema.names == list(table.column_names) == table.arrow_schema().names
    assert [field.dataType.simpleString() for field in spark_schema] == [c.type.ddl for c in table.columns]
    derived = to_arrow_schema(spark_schema)
    assert [_type_text(field.type) for field in derived] == [_type_text(field.type) for field in table.arrow_schema()]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_sqlglot_reads_the_types_as_they_are_meant(table: Table) -> None:
    for column in table.columns:
        parsed = sqlglot.parse_one(table.sqlglot_schema()[column.name], into=exp.DataType, dialect="spark")
        assert isinstance(parsed, exp.DataType)
        assert _from_sqlglot(parsed) == column.type


def test_every_table_is_created_as_declared_and_both_engines_read_it_back(tmp_path: Path, spark: SparkSession) -> None:
    store = DeltaStore(str(tmp_path), lambda: spark)
    state = store.create_missing(TABLES, 4)
    for table in TABLES:
        ref = state.ref(table)
        opened = DeltaTable(ref.path)
        stored = pa.schema(opened.schema().to_arrow())
        assert [(f.name, _type_text(f.type)) for f in stored] == [
            (f.name, _type_text(f.type)) for f in table.stored_arrow_schema()
        ]
        assert opened.metadata().partition_columns == ([BUCKET] if table.bucketed else [])
        assert table.delta_properties().items() <= opened.metadata().configuration.items()
        assert read_light(state, table).schema == table.arrow_schema()
        by_spark = spark.read.format("delta").load(ref.path).select(*table.column_names)
        assert by_spark.schema == table.spark_schema()


def test_a_column_declared_twice_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="contract things: columns declared twice: flag, text"):
        replace(THINGS, columns=(*THINGS.columns, THINGS.column("text"), THINGS.column("flag")))


def test_a_key_of_unknown_columns_is_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match=r"contract things: key names unknown columns \['nothing'\]; known: \['file_id'"
    ):
        replace(THINGS, key=("thing_id", "nothing"))


@pytest.mark.parametrize(("layout", "owner"), [(Layout.BY_FILE, "file_id"), (Layout.BY_COMMIT, "commit")])
def test_a_table_without_its_owners_column_is_refused(layout: Layout, owner: str) -> None:
    with pytest.raises(ValueError, match=f"contract t: {layout} needs a column {owner}"):
        Table("t", Stage.SYNTAX, "No owner.", ("a",), (Column("a", STRING, "A."),), layout)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match="things has no column nothing; known: file_id, thing_id"):
        THINGS.column("nothing")
    with pytest.raises(KeyError, match="no dataset nothing; known: repo_snapshot"):
        catalog.table("nothing")


def test_a_doc_or_an_example_moves_no_fingerprint() -> None:
    reworded = tuple(replace(column, doc="Other words.") for column in THINGS.columns)
    assert replace(THINGS, doc="Other.", columns=reworded, example={"text": "x"}).fingerprint() == THINGS.fingerprint()


@pytest.mark.parametrize(
    "changed",
    [
        replace(THINGS, columns=(*THINGS.columns, Column("more", INT, "More."))),
        replace(THINGS, columns=THINGS.columns[:-1]),
        replace(THINGS, columns=(*THINGS.columns[:-1], replace(THINGS.columns[-1], type=Array(STRING)))),
        replace(THINGS, columns=(*THINGS.columns[:-1], replace(THINGS.columns[-1], nullable=False))),
        replace(THINGS, columns=(*THINGS.columns[:-1], replace(THINGS.columns[-1], values=("a",)))),
        replace(THINGS, columns=(*THINGS.columns[:-1], replace(THINGS.columns[-1], name="other"))),
        replace(THINGS, key=("file_id", "thing_id")),
        replace(THINGS, schema_version=2),
        replace(THINGS, name="others"),
    ],
    ids=["added", "removed", "type", "nullable", "values", "renamed", "key", "version", "name"],
)
def test_what_a_row_can_show_moves_the_fingerprint(changed: Table) -> None:
    assert changed.fingerprint() != THINGS.fingerprint()


def test_a_fingerprint_is_of_the_dataset_alone() -> None:
    assert len({table.fingerprint() for table in TABLES}) == len(TABLES)


def test_the_bucket_is_the_same_in_python_and_in_spark(spark: SparkSession) -> None:
    chosen = random.Random(7)
    ids = [identity.FILE.of("r", f"{chosen.random()}.py") for _ in range(500)] + [
        "file_" + "f" * 32,
        "file_" + "0" * 32,
    ]
    rows = spark.createDataFrame(pa.table({"file_id": ids}))
    for buckets in (1, 2, 7, 64, 256):
        made = rows.selectExpr(f"{bucket_sql(buckets)} AS b").toArrow().column("b").to_pylist()
        assert made == [bucket_of(file_id, buckets) for file_id in ids]
        assert set(made) <= set(range(buckets)) and (buckets > 64 or len(set(made)) == buckets)


def test_buckets_are_a_power_of_two_that_keeps_files_small() -> None:
    assert [buckets_for(files) for files in (0, 1, 128, 129, 256, 257, 10**6)] == [1, 1, 1, 2, 2, 4, 256]


def test_a_new_shape_is_a_new_path() -> None:
    assert table_path("s3://b/t", THINGS, 4) == "s3://b/t/things/v1-b4"
    assert table_path("r", replace(THINGS, schema_version=2), 8) == "r/things/v2-b8"
    assert table_path("r", EVENTS, 4) == table_path("r", EVENTS, 8) == "r/inc_events/v1"
    assert table_path("r", FIRST_RULE, 4) == table_path("r", SECOND_RULE, 4) == "r/rel_all/v1-b4"


def test_an_owner_predicate_takes_ids_and_nothing_else() -> None:
    one = "file_00ff" + "0" * 28
    assert owner_predicate([one, one], THINGS, 16) == f"bucket IN (15) AND file_id IN ('{one}')"
    assert owner_predicate(["c1"], EVENTS, 16) == "commit IN ('c1')"
    for text in ("x' OR '1'='1", "a b", 'a"b', "a\\b", "a;b"):
        with pytest.raises(ValueError, match="not an id"):
            owner_predicate([text], EVENTS, 16)


def test_examples_name_columns_of_their_table() -> None:
    unknown = [(t.name, name) for t in catalog.TABLES for name in t.example if name not in t.column_names]
    outside = [
        (t.name, c.name)
        for t in catalog.TABLES
        for c in t.columns
        if c.values and t.example.get(c.name, c.values[0]) not in (*c.values, None)
    ]
    assert unknown == [] and outside == []


def _type_text(type_: pa.DataType) -> str:
    """An Arrow type without the names of list items and without nullability, which engines choose freely."""
    if pa.types.is_list(type_):
        return f"list<{_type_text(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return (
            "struct<"
            + ",".join(f"{type_.field(n).name}:{_type_text(type_.field(n).type)}" for n in range(type_.num_fields))
            + ">"
        )
    return str(type_)


def _from_sqlglot(parsed: exp.DataType) -> Type:
    if parsed.this is exp.DataType.Type.ARRAY:
        return Array(_from_sqlglot(parsed.expressions[0]))
    if parsed.this is exp.DataType.Type.STRUCT:
        return Struct(tuple((part.name, _from_sqlglot(part.args["kind"])) for part in parsed.expressions))
    return Scalar(parsed.sql(dialect="spark").lower()) if parsed.this is not exp.DataType.Type.BIGINT else LONG

"""Rows found by a value in any column: all of them, from the buckets that can hold one and no others."""

from __future__ import annotations

import random

import pyarrow.parquet as pq
import pytest

from codeanatomy_assets.storage import delta_reads, value_lookups
from codeanatomy_assets.storage.table_state import TableState, bucket_of
from codeanatomy_assets_tests.storage.odd_rows import THINGS, Row, as_bag, as_rows, file_id, thing
from codeanatomy_assets_tests.storage.scratch_tables import SPARK, WAYS, ScratchTables

BUCKETS = 16
SLICES = 200


@pytest.fixture(params=WAYS)
def wide(tables: ScratchTables, request: pytest.FixtureRequest) -> ScratchTables:
    """Tables of sixteen buckets, written one way or the other; each text is in some slices."""
    wide = ScratchTables(tables.spark, tables.root / f"wide-{request.param}", buckets=BUCKETS, way=request.param)
    wide.put(THINGS, [_thing(n) for n in range(SLICES)])
    return wide


def _thing(number: int, text: str | None = None) -> Row:
    text = text or f"it's {number // 2}"
    return thing(number, text=text, words=[text, None], parts=[{"name": text, "at": 1, "tags": []}])


def found(tables: ScratchTables, texts: list[str], state: TableState | None = None) -> list[str]:
    """The rows with one of these texts, after three ways of asking told the same."""
    state = state or tables.state
    where = value_lookups.holding(state, THINGS, "text", texts)
    rows = delta_reads.read_light(state, THINGS, where=where)
    owners = rows.column("file_id").to_pylist()
    held = value_lookups.rows_holding(state, THINGS, ["file_id"], ("parts", "name"), texts)
    assert sorted(held.column(0).to_pylist()) == sorted(owners)
    assert value_lookups.owners_listing(state, THINGS, "words", texts) == frozenset(owners)
    return as_bag(as_rows(rows))


def test_rows_are_found_and_only_in_the_buckets_that_hold_the_value(wide: ScratchTables) -> None:
    assert found(wide, ["it's 3"]) == as_bag([_thing(6), _thing(7)])
    buckets = sorted({bucket_of(file_id(n), BUCKETS) for n in (6, 7)})
    listed = ", ".join(map(str, buckets))
    assert value_lookups.holding(wide.state, THINGS, "text", ["it's 3"]).startswith(f"bucket IN ({listed}) AND ")


def test_a_value_that_nothing_holds_opens_no_data_file(wide: ScratchTables) -> None:
    assert value_lookups.holding(wide.state, THINGS, "text", ["nowhere"]) == "false"
    assert found(wide, ["nowhere"]) == found(wide, []) == []


def test_what_later_commits_moved_is_found_where_it_is_now_and_where_it_was_then(wide: ScratchTables) -> None:
    earlier = wide.state
    assert len(found(wide, ["it's 3"])) == 2
    wide.put(THINGS, [_thing(7, "elsewhere"), _thing(40, "it's 3")], [file_id(7), file_id(40)], way=SPARK)
    wide.put(THINGS, [], [file_id(41)])
    assert found(wide, ["it's 3"]) == as_bag([_thing(6), _thing(40, "it's 3")])
    assert found(wide, ["elsewhere", "it's 20"]) == as_bag([_thing(7, "elsewhere")])
    assert found(wide, ["it's 3"], earlier) == as_bag([_thing(6), _thing(7)])


def test_random_commits_and_questions_find_what_a_scan_finds(wide: ScratchTables) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(3):
        changed = chance.sample(range(SLICES), 5)
        kept = [_thing(n, f"it's {chance.randrange(50)}") for n in changed if chance.random() < 0.7]
        wide.put(THINGS, kept, [file_id(n) for n in changed])
        texts = [f"it's {chance.randrange(120)}" for _ in range(chance.randrange(1, 5))]
        assert found(wide, texts) == as_bag([row for row in wide.rows(THINGS) if row["text"] in texts])


def test_a_data_file_is_looked_into_once(wide: ScratchTables, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def counted(path: str) -> pq.ParquetFile:
        opened.append(path)
        return original(path)

    original = pq.ParquetFile
    monkeypatch.setattr(pq, "ParquetFile", counted)
    for text in ("it's 3", "it's 4", "nowhere"):
        value_lookups.holding(wide.state, THINGS, "text", [text])
    assert len(opened) == len(set(opened)) == BUCKETS
    wide.put(THINGS, [_thing(7, "elsewhere")], [file_id(7)], way="light")
    value_lookups.holding(wide.state, THINGS, "text", ["elsewhere"])
    assert len(opened) == BUCKETS + 1


def test_many_values_are_no_reason_to_look(wide: ScratchTables) -> None:
    texts = [f"it's {n}" for n in range(delta_reads.MOST_LISTED + 1)]
    assert "bucket" not in value_lookups.holding(wide.state, THINGS, "text", texts)
    assert len(found(wide, texts)) == SLICES


def test_of_many_columns_those_asked_about_last_are_remembered(
    wide: ScratchTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(value_lookups, "MOST_REMEMBERED", 2)
    for column in ("text", "thing_id", "text", "words"):
        value_lookups.holding(wide.state, THINGS, column, ["it's 3"])
    path = wide.state.ref(THINGS).path
    assert list(value_lookups._held) == [(path, ("text",)), (path, ("words",))]


def test_owners_are_looked_for_in_their_own_buckets(wide: ScratchTables) -> None:
    where = value_lookups.holding(wide.state, THINGS, "file_id", [file_id(3)])
    assert where.startswith(f"bucket IN ({bucket_of(file_id(3), BUCKETS)}) AND ")
    assert as_bag(as_rows(delta_reads.read_light(wide.state, THINGS, where=where))) == as_bag([_thing(3)])

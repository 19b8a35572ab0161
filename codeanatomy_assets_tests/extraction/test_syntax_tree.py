"""The extractor as a whole: contracts, keys, spans and stable ids, over real files and odd encodings."""

from __future__ import annotations

import codecs
from pathlib import Path

import pyarrow as pa
import pytest

from codeanatomy_assets.contracts.syntax import CALLSITES, DEFS, IMPORTS, NAME_REFS, TABLES
from codeanatomy_assets.extraction.encoding import parser_input
from codeanatomy_assets.extraction.syntax_tree import COLLECTORS, Collector, collect, walked
from codeanatomy_assets.extraction.syntax_walk import Walk
from codeanatomy_assets_tests.extraction.syntax_rows import FILE_ID, Row, all_rows, real_files

SEED = 11
NOT_SPELLED = ("<missing>",)


def misplaced(content: bytes, rows: dict[str, list[Row]], encoding: str = "utf-8") -> list[str]:
    """Names whose span does not select them."""
    spans: list[tuple[str, int, int]] = []
    for row in rows[DEFS.name]:
        name = "lambda" if row["kind"] == "lambda" else row["name"]
        spans.append((name, row["name_bstart"], row["name_bend"]))
        spans += [(each["name"], each["bstart"], each["bend"]) for each in row["parameters"]]
    for row in rows[NAME_REFS.name]:
        if row["context"] != "export":
            spans.append((row["name"], row["bstart"], row["bend"]))
        if row["assigned_from"]:
            last = row["assigned_from"].rpartition(".")[2]
            spans.append((last, row["assigned_bstart"], row["assigned_bend"]))
    for row in rows[CALLSITES.name]:
        if row["callee_name"]:
            spans.append((row["callee_name"], row["callee_bstart"], row["callee_bend"]))
    for row in rows[IMPORTS.name]:
        if row["kind"] == "from":
            spans.append((row["name"], row["name_bstart"], row["name_bend"]))
    return [
        f"{name} at {start}:{end} is {content[start:end]!r}"
        for name, start, end in spans
        if name not in NOT_SPELLED and content[start:end].decode(encoding) != name
    ]


def test_there_is_one_collector_per_contract() -> None:
    assert tuple(each.table for each in COLLECTORS) == TABLES


def test_every_span_selects_its_name_and_every_key_is_unique_in_real_files() -> None:
    print(f"seed {SEED}")
    for path in real_files(250, SEED):
        content = path.read_bytes()
        if len(content) > 60_000:
            continue
        rows = all_rows(content)
        assert misplaced(content, rows) == [], path
        for table in TABLES:
            keys = [tuple(row[name] for name in table.key) for row in rows[table.name]]
            assert len(keys) == len(set(keys)), f"{path}: {table.name}"


def test_rows_keep_the_contract_s_types_nulls_and_words() -> None:
    for path in real_files(25, SEED + 1):
        collected = collect(FILE_ID, str(path), path.read_bytes())
        for table in TABLES:
            columns = list(zip(*collected[table.name], strict=True)) or [()] * len(table.columns)
            for column, values in zip(table.columns, columns, strict=True):
                pa.array(values, column.type.arrow())
                assert column.nullable or None not in values, f"{path}: {table.name}.{column.name}"
                assert not column.values or set(values) <= set(column.values), f"{path}: {table.name}.{column.name}"


def test_a_blank_line_and_a_comment_at_the_top_move_spans_and_no_id() -> None:
    path = max(real_files(400, SEED), key=lambda each: each.stat().st_size)
    content = path.read_bytes()
    head = "\n# é: a comment\n".encode()
    before = all_rows(content)
    after = all_rows(head + content)
    for table in TABLES:
        spans = [name for name in table.column_names if name.endswith(("bstart", "bend"))]
        assert len(before[table.name]) == len(after[table.name])
        for old, new in zip(before[table.name], after[table.name], strict=True):
            assert all(new[name] == (old[name] + len(head) if old[name] is not None else None) for name in spans)
            ids = [name for name in table.column_names if name.endswith("_id")]
            assert [new[name] for name in ids] == [old[name] for name in ids]


def test_rows_depend_on_nothing_but_content_and_file_id() -> None:
    content = Path(__file__).read_bytes()
    assert collect(FILE_ID, "a.py", content) == collect(FILE_ID, "b/c.py", content)


SOURCE = (
    "class Größe:\n\tdef été(self, ñ: 'Ünï' = 'é😀'):\n\t\tnaïve = '😀é'; ß = self.été(ñ=naïve)\n"
    "\t\treturn f'é{ß}ü{naïve.ø}'\n\x0cfrom m import ö as ä\n__all__ = ['Größe']\n"
)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8])
def test_spans_hold_for_every_line_ending_with_and_without_bom(newline: str, bom: bytes) -> None:
    content = bom + SOURCE.replace("\n", newline).encode()
    rows = all_rows(content)
    assert misplaced(content, rows) == []
    assert [row["local_qname"] for row in rows[DEFS.name]] == ["Größe", "Größe.été"]
    assert {name: len(found) for name, found in rows.items()} == {
        name: len(found) for name, found in all_rows(SOURCE).items()
    }


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859-15"])
def test_spans_are_offsets_into_the_stored_bytes_of_other_encodings(encoding: str) -> None:
    text = f"# coding: {encoding}\n" + SOURCE.replace("😀", "§")
    content = text.encode(encoding)
    rows = all_rows(content)
    assert misplaced(content, rows, encoding) == []
    utf8 = all_rows(text.replace(encoding, "utf-8"))
    assert [row["ref_id"] for row in rows[NAME_REFS.name]] == [row["ref_id"] for row in utf8[NAME_REFS.name]]


def test_spans_are_offsets_into_the_stored_bytes_of_shift_jis() -> None:
    content = "# coding: shift_jis\nclass 表示:\n    def 名前(self, 引数='ソ'): return self.名前(引数)\n".encode(
        "shift_jis"
    )
    rows = all_rows(content)
    assert misplaced(content, rows, "shift_jis") == []
    assert [row["local_qname"] for row in rows[DEFS.name]] == ["表示", "表示.名前"]
    argument = rows[CALLSITES.name][0]["arguments"][0]
    assert content[argument["bstart"] : argument["bend"]].decode("shift_jis") == "引数"


def test_a_new_dataset_needs_a_collector_that_claims_its_nodes() -> None:
    def asserted(walk: Walk) -> list[tuple[object, ...]]:
        return [(walk.file_id, place.scope.def_id, walk.text(node)) for node, place in walk.claimed["raise_statement"]]

    collector = Collector(TABLES[0], asserted, claims=("raise_statement",))
    walk = walked(FILE_ID, parser_input(b"def f():\n    raise E\n"))
    (row,) = collector.rows(walk)
    assert row[2] == "raise E" and row[1] is not None

"""cst_parse_errors: what can't be read is said, the rest is read, and no input stops the extractor."""

from __future__ import annotations

import random
import time

import pytest

from codeanatomy_assets.contracts.identity import PARSE_ERROR
from codeanatomy_assets.contracts.syntax import CALLSITES, DEFS, NAME_REFS, PARSE_ERRORS
from codeanatomy_assets.extraction.syntax_tree import collect
from codeanatomy_assets_tests.extraction.syntax_rows import FILE_ID, all_rows, real_files, rows_of

SEED = 7
NOISE: tuple[str, ...] = (
    "(",
    ")",
    "[",
    ":",
    "=",
    "\n",
    "    ",
    "'",
    '"""',
    "\\",
    "*",
    ".",
    ",",
    "@",
    "f'{",
    "}",
    "é",
    "def ",
    "class ",
)
NOISE += ("lambda ", "import ", "from ", "match ", "type ", "del ", "global x", "as ", "for ", "__all__")


def test_the_rest_of_a_broken_file_still_yields_rows() -> None:
    rows = all_rows("def f():\n    return 1\n\nx = = 3\n\nclass C:\n    def m(self): ...\n")
    assert [row["local_qname"] for row in rows[DEFS.name]] == ["f", "C", "C.m"]
    (error,) = rows[PARSE_ERRORS.name]
    assert (error["kind"], error["text"], error["bend"] - error["bstart"]) == ("error", "=", 1)


def test_a_missing_token_is_named() -> None:
    source = "def f(:\n    pass\nfor x in :\n    pass\n"
    found = [(row["kind"], row["text"], row["bstart"] == row["bend"]) for row in rows_of(source, PARSE_ERRORS)]
    assert found == [("missing", ")", True), ("missing", "identifier", True)]
    assert [row["name"] for row in rows_of(source, NAME_REFS)] == ["x"]


@pytest.mark.parametrize(
    "statement", ["print 'hello'", "print >>f, x", "exec 'x' in y", "raise E, 'message'", "a <> b"]
)
def test_python_2_is_an_error_whose_names_are_read(statement: str) -> None:
    rows = all_rows(f"a = 1\n{statement}\nb = 2\n")
    assert [(row["kind"], row["text"]) for row in rows[PARSE_ERRORS.name]] == [("error", statement)]
    assert [row["name"] for row in rows[NAME_REFS.name] if row["context"] == "store"] == ["a", "b"]


@pytest.mark.parametrize(
    "source", ["print(a), b\n", "raise E from x\n", "exec('x')\n", "print\n", "match = type = 1\n"]
)
def test_python_3_is_none(source: str) -> None:
    assert rows_of(source, PARSE_ERRORS) == []


def test_an_error_s_text_is_cut_at_eighty_characters_and_its_id_follows_the_recipe() -> None:
    for row in rows_of("é" * 10 + " ? " + "$ é" * 100 + "\n$\n$\n", PARSE_ERRORS):
        assert len(row["text"]) <= 80
        assert row["error_id"] == PARSE_ERROR.of(FILE_ID, row["kind"], row["text"], row["ordinal"])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\0",
        b"\xff\xfe\x00",
        b"\xef\xbb\xbf",
        b"x = '\xe9'\ny = x\n",
        b"def",
        b"class",
        b"def (",
        b"lambda",
        b"@",
        b"from",
        b"import",
        b"from . import",
        b"import a as",
        b"f(",
        b"a.",
        b".a()",
        b"match x:\n case",
        b"type X[",
        b"type",
        b"x: ",
        b"f'{",
        b"global",
        b"for in",
        b"del",
        b"[x for",
        b"class C(metaclass=",
        b"\\",
        b"'''",
        b"__all__ +=",
        b"__all__.append(",
        b"import importlib\nimportlib.import_module('')",
        b"\r\r\r",
        b"\x0c\x0c",
        b"nonlocal x\nglobal x\nx = 1",
    ],
)
def test_no_fragment_stops_it(content: bytes) -> None:
    collect(FILE_ID, "m.py", content)


def test_no_mutation_of_a_real_file_stops_it() -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    noise = [part.encode() for part in NOISE]
    noise += [b"\xff", b"\0"]
    for path in real_files(60, SEED):
        content = bytearray(path.read_bytes()[:20_000])
        for _ in range(chance.randint(1, 30)):
            at = chance.randrange(len(content) + 1)
            cut = chance.choice((0, 0, 1, 5, 40))
            content[at : at + cut] = chance.choice(noise)
        rows = collect(FILE_ID, "m.py", bytes(content))
        for table, key in ((DEFS, 1), (NAME_REFS, 1), (CALLSITES, 1), (PARSE_ERRORS, 1)):
            ids = [row[key] for row in rows[table.name]]
            assert len(ids) == len(set(ids)), f"{path} repeats an id of {table.name} after mutation"


@pytest.mark.parametrize(
    "content",
    [
        b"(" * 100_000 + b")" * 100_000,
        b"[" * 100_000,
        b"x = " + b"[" * 100_000 + b"]" * 100_000,
        b"f(" * 50_000 + b")" * 50_000,
        b"a" + b".b" * 100_000,
        b"a" + b".b()" * 50_000,
        b"a" + b"()" * 50_000,
        b"1" + b"+1" * 100_000,
        b"x" + b"[0]" * 100_000,
        b"a = " * 50_000 + b"b",
        b"__all__ = " + b"['a'] + " * 20_000 + b"x",
        b"not " * 100_000 + b"x",
        b"x if y else " * 30_000 + b"z",
        b"*" * 50_000,
        b"f'{" * 5_000,
        b"((" * 30_000 + b"f" + b")())" * 30_000,
    ],
    ids=lambda content: content[:12].decode(),
)
def test_deep_nesting_is_read_in_seconds(content: bytes) -> None:
    started = time.process_time()
    collect(FILE_ID, "m.py", content + b"\n")
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "source",
    [
        "lambda: " * 50_000 + "deep",
        "[" * 500 + "deep" + " for x in y]" * 500,
        "lambda x=" * 20_000 + "1" + ": 1" * 20_000,
    ],
    ids=["lambdas", "comprehensions", "defaults"],
)
def test_scopes_nested_past_the_limit_are_reported_and_not_read(source: str) -> None:
    rows = all_rows(source + "\nafter = 1\n")
    assert "after" in [row["name"] for row in rows[NAME_REFS.name]]
    if source.startswith(("lambda: ", "[")):
        assert [row["kind"] for row in rows[PARSE_ERRORS.name]] == ["too_deep"]
        assert "deep" not in [row["name"] for row in rows[NAME_REFS.name]]


def test_a_long_single_line_takes_time_in_proportion() -> None:
    content = b"x = [" + b"'text', 1, name, " * 150_000 + b"]\n"
    started = time.process_time()
    rows = collect(FILE_ID, "m.py", content)
    assert len(rows[NAME_REFS.name]) == 150_001
    assert time.process_time() - started < 20

"""Contracts and rows for storage tests: every type, and the values that engines tend to disagree on."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.columns import COMMIT, FILE_ID
from codeanatomy_assets.contracts.table import Column, Layout, Stage, Table
from codeanatomy_assets.contracts.types import BINARY, BOOLEAN, DOUBLE, INT, LONG, STRING, Array, Struct

Row = dict[str, Any]

PART = Struct((("name", STRING), ("at", INT), ("tags", Array(STRING))))

THINGS = Table(
    "things",
    Stage.SYNTAX,
    doc="Every type a contract can name.",
    key=("thing_id",),
    columns=(
        FILE_ID,
        Column("thing_id", STRING, "Its id."),
        Column("text", STRING, "Any text.", nullable=True),
        Column("number", INT, "A number.", nullable=True),
        Column("big", LONG, "A large number.", nullable=True),
        Column("ratio", DOUBLE, "A fraction.", nullable=True),
        Column("flag", BOOLEAN, "Yes or no.", nullable=True),
        Column("raw", BINARY, "Bytes.", nullable=True),
        Column("words", Array(STRING), "Texts, null among them.", nullable=True),
        Column("parts", Array(PART), "Structs with lists in them.", nullable=True),
    ),
)

EVENTS = Table(
    "inc_events",
    Stage.IMPACT,
    doc="Rows that a commit owns.",
    key=("commit", "file_id"),
    layout=Layout.BY_COMMIT,
    columns=(COMMIT, FILE_ID, Column("text", STRING, "Any text.", nullable=True)),
)


def _rule(name: str) -> Table:
    columns = (FILE_ID, Column("rule", STRING, "The rule."), Column("src_id", STRING, "From."))
    return Table(name, Stage.RELATIONSHIPS, doc="One rule.", key=("src_id",), columns=columns, stored_in="rel_all")


FIRST_RULE, SECOND_RULE = _rule("rel_first"), _rule("rel_second")

ODD_TEXTS: tuple[str | None, ...] = (
    None,
    "",
    " ",
    "null",
    "None",
    "-",
    "3:abc",
    "1:a1:b",
    "0",
    "0042",
    "-7",
    "1e5",
    "tab\tnew\nline\r\nreturn\r",
    'it\'s "quoted" `back` \\slash\\ $dollar %s {brace} ;--',
    "naïve Größe \u017f ß",
    "日本語のテキスト",
    "e\u0301 against \u00e9",
    "👩‍👩‍👧‍👦 🇩🇪 \U0001d518\U0001d52b",
    "\u202eright to left\u202c مرحبا",
    "\x01\x1f\x7f\u0085\u2028\ufeff\ufffd",
)
LONG_TEXT = "ä line of text ✓\n" * 4_000


def file_id(number: int | str) -> str:
    return identity.FILE.of("repository", f"src/file_{number}.py")


def files(*numbers: int | str) -> frozenset[str]:
    return frozenset(file_id(number) for number in numbers)


def thing(owner: int | str, name: str = "a", **values: Any) -> Row:
    """A row of THINGS, plain but for what is given."""
    empty: Row = dict.fromkeys(THINGS.column_names)
    return {**empty, "file_id": file_id(owner), "thing_id": f"{owner}/{name}", **values}


def odd_things(owner: int | str) -> list[Row]:
    """A slice with every odd value in every column, and two rows that are equal."""
    texts = [thing(owner, f"text{n}", text=text, words=[text, None, text]) for n, text in enumerate(ODD_TEXTS)]
    return [
        *texts,
        thing(owner, "long", text=LONG_TEXT, words=[LONG_TEXT], raw=LONG_TEXT.encode()),
        thing(owner, "extremes", number=2**31 - 1, big=2**63 - 1, ratio=1.7976931348623157e308, flag=True),
        thing(owner, "lowest", number=-(2**31), big=-(2**63), ratio=5e-324, flag=False),
        thing(owner, "zero", number=0, big=0, ratio=0.0, raw=b"\x00\xff\xfe"),
        thing(owner, "fraction", ratio=0.1 + 0.2, raw=b""),
        thing(owner, "no words", words=[], parts=[]),
        thing(owner, "null word", words=[None], parts=[None]),
        thing(owner, "null parts", parts=[None, {"name": None, "at": None, "tags": None}]),
        thing(owner, "parts", parts=[{"name": text, "at": n, "tags": [text]} for n, text in enumerate(ODD_TEXTS)]),
        thing(owner, "nested", parts=[{"name": "", "at": 0, "tags": []}, {"name": "x", "at": -1, "tags": [None, ""]}]),
        thing(owner, "twin", text="equal"),
        thing(owner, "twin", text="equal"),
    ]


def arrow(table: Table, rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=table.arrow_schema())


def as_rows(table: pa.Table) -> list[Row]:
    return [dict(row) for row in table.to_pylist()]


def as_text(row: Row) -> str:
    """A row in a form that compares exactly."""
    return repr(list(row.items()))


def as_bag(rows: list[Row]) -> list[str]:
    """Rows in a form that compares exactly, order aside."""
    return sorted(as_text(row) for row in rows)

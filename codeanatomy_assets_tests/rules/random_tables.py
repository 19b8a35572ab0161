"""Small tables with random rows whose values meet: the same few files, spans and labels all over."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from codeanatomy_assets.contracts.table import Column, Table
from codeanatomy_assets.contracts.types import STRING, Array, Struct, Type

FILES = tuple(f"file {n}" for n in range(4))
PATHS = tuple(f"{file}.py" for file in FILES)
# Columns that rules join, compare or branch on, beside those whose values the contract lists.
POOLS: dict[str, tuple[Any, ...]] = {
    "file_id": FILES,
    "target_file_id": (*FILES, None),
    "path": (*PATHS, None),
    "symbol_id": tuple(f"sym {n}" for n in range(6)),
    "own_symbol_id": (*(f"sym {n}" for n in range(6)), None),
    "def_id": tuple(f"def {n}" for n in range(40)),
    "target_def_id": (*(f"def {n}" for n in range(40)), None),
    "usage_id": (*(f"def {n}" for n in range(40)), None),
    "call_id": tuple(f"call {n}" for n in range(20)),
    "subject_id": tuple(f"call {n}" for n in range(20)),
    "import_id": tuple(f"imp {n}" for n in range(6)),
    "qname_id": tuple(f"qn {n}" for n in range(5)),
    "target_qname_id": (*(f"qn {n}" for n in range(5)), None),
    "qname": ("a.b.run", "a.run", "b.run.x"),
    "module": ("a", "a.b", "b", "builtins", None),
    "name": ("run", "__init__", "__own", "<unknown>"),
    "local_qname": ("A.run", "B.run", "A.__init__", "B.__init__", "A", "B"),
    "entry_path": ("A.<mro>", "B.<mro>", "A.run", "B.run", "A.__init__", "B.__init__", "A", "B", "a", "b", "run"),
    "parent_kind": ("class", "module"),
    "failure": (None, None, "crash"),
    "decorators": (("property",), (), ("wrap",)),
    "bases": ((), ("x",), ("x", "y")),
}
# Where the contract allows more values than rules tell apart, the telling ones are drawn more often.
OFTEN: dict[tuple[str, str], tuple[Any, ...]] = {
    ("py_interface", "kind"): ("mro",),
    ("py_interface", "entry_path"): ("A.<mro>", "B.<mro>", "A"),
    ("dim_qualified_names", "subject_kind"): ("call", "call", "module"),
    ("dim_exported_defs", "kind"): ("function", "class", None),
    ("dim_exported_defs", "target_kind"): ("definition", "definition", "variable"),
    ("cst_defs", "kind"): ("function", "function", "class", "lambda"),
    ("cst_name_refs", "usage"): ("base", "decorator", "value", "callee"),
    ("cst_name_refs", "context"): ("load", "store", "attribute", "export"),
}
IN_STRUCTS: dict[str, tuple[Any, ...]] = {"local_qname": ("A", "B"), "path": PATHS}
LONGEST_OFFSET = 5


def random_rows(table: Table, random: Random, count: int) -> list[dict[str, Any]]:
    """Rows of a table, one for each key."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for _ in range(count):
        row = {column.name: _value(table, column, random) for column in table.columns}
        if "local_qname" in row:
            row["name"] = row["local_qname"].rpartition(".")[2]
        rows.setdefault(tuple(row[name] for name in table.key), row)
    return list(rows.values())


def random_tables(tables: Iterable[Table], random: Random, count: int) -> dict[str, list[dict[str, Any]]]:
    return {table.name: random_rows(table, random, count) for table in tables}


def _value(table: Table, column: Column, random: Random) -> Any:
    if column.name in table.key and column.name not in POOLS and column.type == STRING and not column.values:
        return f"{column.name} {random.randrange(10**6)}"
    if (table.name, column.name) in OFTEN:
        return random.choice(OFTEN[table.name, column.name])
    if column.values:
        return random.choice((*column.values, None) if column.nullable else column.values)
    if column.name in POOLS:
        drawn = random.choice(POOLS[column.name])
        return list(drawn) if isinstance(drawn, tuple) else drawn
    if column.nullable and random.random() < 0.3:
        return None
    return _of_type(column.type, column.name, random)


def _of_type(type_: Type, name: str, random: Random) -> Any:
    if isinstance(type_, Array):
        return [_of_type(type_.element, name, random) for _ in range(random.randrange(4))]
    if isinstance(type_, Struct):
        return {part: _of_type(of, part, random) for part, of in type_.fields}
    if name in IN_STRUCTS or name in POOLS:
        return random.choice(IN_STRUCTS.get(name) or POOLS[name])
    kinds = {"string": lambda: random.choice(("builtin", "star", "x")), "boolean": lambda: random.random() < 0.7}
    return kinds.get(type_.ddl, lambda: random.randrange(LONGEST_OFFSET))()

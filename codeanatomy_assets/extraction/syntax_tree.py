"""A file's bytes to the rows of every syntax dataset: a function of the bytes and the file's id alone.

To add a dataset: its contract in contracts/syntax.py, and a collector here that makes its rows from
the walk, in the contract's column order. A collector that needs nodes the walk keeps no facts of
claims their kinds, and finds them in `walk.claimed` with their places.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.contracts.types import Array, Struct
from codeanatomy_assets.extraction import syntax_errors, syntax_expressions, syntax_headers, syntax_statements
from codeanatomy_assets.extraction.encoding import ParserInput, parser_input
from codeanatomy_assets.extraction.syntax_calls import callsite_rows
from codeanatomy_assets.extraction.syntax_defs import definition_rows
from codeanatomy_assets.extraction.syntax_facts import Row
from codeanatomy_assets.extraction.syntax_grammar import parse
from codeanatomy_assets.extraction.syntax_imports import import_rows
from codeanatomy_assets.extraction.syntax_refs import name_ref_rows
from codeanatomy_assets.extraction.syntax_types import type_expr_rows
from codeanatomy_assets.extraction.syntax_walk import Walk

# Imported for what they register: the walk passes through a node kind that nothing handles.
HANDLER_MODULES = (syntax_expressions, syntax_headers, syntax_statements)


@dataclass(frozen=True)
class Collector:
    """How one dataset's rows are made from a walked file."""

    table: Table
    rows: Callable[[Walk], list[Row]]
    claims: tuple[str, ...] = ()


COLLECTORS = (
    Collector(syntax.DEFS, definition_rows),
    Collector(syntax.NAME_REFS, name_ref_rows),
    Collector(syntax.CALLSITES, callsite_rows),
    Collector(syntax.IMPORTS, import_rows),
    Collector(syntax.TYPE_EXPRS, type_expr_rows),
    Collector(syntax.PARSE_ERRORS, syntax_errors.parse_error_rows, claims=syntax_errors.PYTHON_2_KINDS),
)
_CLAIMS = tuple(dict.fromkeys(kind for collector in COLLECTORS for kind in collector.claims))


def collect(file_id: str, path: str, content: bytes) -> dict[str, list[Row]]:
    """Rows per dataset name, in contract column order; structs are dicts. Takes any bytes, never raises.

    The path plays no part yet: a stub is read like any module.
    """
    source = parser_input(content)
    with _no_garbage_collection():
        walk = walked(file_id, source)
        rows = {collector.table.name: collector.rows(walk) for collector in COLLECTORS}
    if source.is_stored:
        return rows
    return {
        collector.table.name: _in_stored_bytes(collector.table, rows[collector.table.name], source)
        for collector in COLLECTORS
    }


def collect_file(file: Mapping[str, Any]) -> dict[str, list[Row]]:
    """The same for a staged source: file_id, path and content."""
    return collect(file["file_id"], file["path"], file["content"])


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Tens of thousands of rows all live to the end: scanning them for garbage on the way takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def walked(file_id: str, source: ParserInput) -> Walk:
    """The file, parsed and walked: what collectors read."""
    return Walk(file_id, source.utf8, parse(source.utf8), _CLAIMS).run()


def _in_stored_bytes(table: Table, rows: list[Row], source: ParserInput) -> list[Row]:
    """The rows with offsets into the file as stored, where the parser saw it transcoded."""
    spans = [at for at, column in enumerate(table.columns) if _is_offset(column.name)]
    nested = [at for at, column in enumerate(table.columns) if _holds_offsets(column.type)]
    moved: list[Row] = []
    for row in rows:
        values = list(row)
        for at in spans:
            offset = values[at]
            values[at] = source.stored_offset(offset) if isinstance(offset, int) else None
        for at in nested:
            parts = values[at]
            assert isinstance(parts, list)
            values[at] = [_part_in_stored_bytes(part, source) for part in parts]
        moved.append(tuple(values))
    return moved


def _part_in_stored_bytes(part: dict[str, object], source: ParserInput) -> dict[str, object]:
    return {
        name: source.stored_offset(value) if _is_offset(name) and isinstance(value, int) else value
        for name, value in part.items()
    }


def _is_offset(name: str) -> bool:
    return name.endswith(("bstart", "bend"))


def _holds_offsets(type_: object) -> bool:
    if not isinstance(type_, Array) or not isinstance(type_.element, Struct):
        return False
    return any(_is_offset(name) for name, _ in type_.element.fields)

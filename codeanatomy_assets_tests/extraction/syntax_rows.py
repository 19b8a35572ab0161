"""Rows of a source text by dataset, and real files to try the syntax extractor on."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import click

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.extraction.syntax_tree import COLLECTORS, collect

FILE_ID = "file_00000000000000000000000000000000"
SITE_PACKAGES = Path(click.__file__).parents[1]
PACKAGES = ("click", "sqlglot", "dagster", "pandas", "sqlalchemy", "numpy", "jinja2", "pydantic")
Row = dict[str, Any]


def rows_of(source: str | bytes, table: Table) -> list[Row]:
    """One dataset's rows, by column name."""
    return all_rows(source)[table.name]


def all_rows(source: str | bytes) -> dict[str, list[Row]]:
    content = source.encode() if isinstance(source, str) else source
    collected = collect(FILE_ID, "m.py", content)
    return {
        each.table.name: [dict(zip(each.table.column_names, row, strict=True)) for row in collected[each.table.name]]
        for each in COLLECTORS
    }


def the(rows: list[Row], **values: object) -> Row:
    """The one row with these values."""
    found = [row for row in rows if all(row[name] == value for name, value in values.items())]
    assert len(found) == 1, f"{len(found)} rows with {values} in {rows}"
    return found[0]


def real_files(count: int, seed: int, packages: tuple[str, ...] = PACKAGES) -> list[Path]:
    """A seeded sample of installed source files."""
    files = _installed(packages)
    return random.Random(seed).sample(files, min(count, len(files)))


@cache
def _installed(packages: tuple[str, ...]) -> list[Path]:
    return sorted(path for package in packages for path in (SITE_PACKAGES / package).rglob("*.py"))

"""`docs/datasets.md`, generated from the contracts: run `python -m codeanatomy_assets.catalog_docs`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.table import Column, Layout, Stage, Table

PATH = Path(__file__).parents[1] / "docs" / "datasets.md"

STAGE_DOCS = {
    Stage.REPOSITORY: "What is tracked, and what a commit changed.",
    Stage.SYNTAX: "What a file's bytes and path alone say.",
    Stage.SYMBOLS: "What names mean across files.",
    Stage.IMPACT: "Which files a commit can affect, and why.",
    Stage.RELATIONSHIPS: "Which thing refers to which.",
    Stage.GRAPH: "The code property graph.",
    Stage.LEDGER: "Which table versions make up each built commit.",
}
LAYOUT_DOCS = {
    Layout.BY_FILE: "Owned by file: a build replaces the rows of a `file_id`, and buckets are of it",
    Layout.BY_COMMIT: "Owned by commit: a build replaces the rows of its `commit`",
    Layout.APPEND: "Append only",
}


def render() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Datasets"
    yield ""
    yield "Generated from `codeanatomy_assets/contracts` by `make docs`; change the contracts, not this page."
    for stage in Stage:
        tables = catalog.of_stage(stage)
        if tables:
            yield from ("", f"## {stage.value.capitalize()}", "", STAGE_DOCS[stage])
        for table in tables:
            yield from _table_lines(table)


def _table_lines(table: Table) -> Iterator[str]:
    yield from ("", f"### {table.name}", "", table.doc, "")
    yield f"- Key: {', '.join(f'`{name}`' for name in table.key)}"
    yield f"- {LAYOUT_DOCS[table.layout]}"
    if table.stored_in:
        yield f"- Stored in the Delta table `{table.stored_in}`, which several datasets share"
    yield f"- Schema version: {table.schema_version}"
    yield from ("", "| column | type | null | values | meaning |", "|---|---|---|---|---|")
    yield from (_column_line(column) for column in table.columns)
    if table.example:
        yield from ("", "An example, in part:", "", "```json", json.dumps(table.example, ensure_ascii=False), "```")


def _column_line(column: Column) -> str:
    values = ", ".join(f"`{value}`" for value in column.values)
    nullable = "yes" if column.nullable else ""
    return (
        f"| `{column.name}` | `{column.type.ddl}` | {nullable} | {values} | {column.doc.replace('|', chr(92) + '|')} |"
    )


def main() -> None:
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(render(), encoding="utf-8")
    print(f"wrote {PATH}")


if __name__ == "__main__":
    main()

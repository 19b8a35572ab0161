"""`docs/datasets.md` says what the contracts say."""

from __future__ import annotations

from codeanatomy_assets import catalog
from codeanatomy_assets.catalog_docs import PATH, render


def test_the_committed_page_is_current() -> None:
    assert PATH.is_file() and PATH.read_text(encoding="utf-8") == render(), f"{PATH.name} is out of date: run make docs"


def test_every_dataset_and_every_column_is_on_the_page() -> None:
    sections = {section.split("\n")[0]: section for section in render().split("\n### ")[1:]}
    for table in catalog.TABLES:
        section = sections[table.name]
        assert table.doc in section
        assert [c.name for c in table.columns if f"| `{c.name}` | `{c.type.ddl}` |" not in section] == []
        assert [value for c in table.columns for value in c.values if f"`{value}`" not in section] == []


def test_every_row_of_a_columns_table_has_five_cells() -> None:
    rows = [line for line in render().splitlines() if line.startswith("| `")]
    assert rows and [row for row in rows if row.replace("\\|", "").count("|") != 6] == []

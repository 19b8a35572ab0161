"""File formats that take any dataset: batches in, one file out, and how many rows it holds.

Each writes a draft and moves it into place: a reader never sees half a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from codeanatomy_assets.contracts.table import Table

Batches = Iterable[pa.RecordBatch]


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """A file beside the path, which takes its place if all goes well."""
    draft = path.with_name(f".{path.name}.part")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_parquet(batches: Batches, table: Table, path: Path) -> int:
    schema = table.arrow_schema()
    count = 0
    with drafted(path) as draft, pq.ParquetWriter(draft, schema) as writer:
        for batch in batches:
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
            count += batch.num_rows
    return count


def write_jsonl(batches: Batches, table: Table, path: Path) -> int:
    """One JSON object a line, with the columns in the contract's order; a null is a null."""
    schema = table.arrow_schema()
    count = 0
    with drafted(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as lines:
        for batch in batches:
            for row in pa.Table.from_batches([batch]).cast(schema).to_pylist():
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += batch.num_rows
    return count


WRITERS: dict[str, Callable[[Batches, Table, Path], int]] = {"parquet": write_parquet, "jsonl": write_jsonl}

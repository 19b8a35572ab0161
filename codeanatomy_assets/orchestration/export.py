"""Publishing: datasets of a built commit as files, streamed in bounded memory, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.table import Layout, Table
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.plan import open_ledger, open_store
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import LedgerRow

EXPORTED = tuple(table for table in catalog.TABLES if table.layout is not Layout.APPEND)


def export(settings: Settings, out: Path, commit: str | None, datasets: Sequence[str] | None) -> Iterator[str]:
    """Write one Parquet file per dataset as it was at a built commit; yields a line for each."""
    row = open_ledger(settings).resolve(commit)
    tables = [_known(name) for name in datasets] if datasets else EXPORTED
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out} is a file: name a folder to export to")
    out.mkdir(parents=True, exist_ok=True)
    absent = [table.name for table in tables if table.storage_name not in row.state.refs]
    if absent and datasets:
        raise BadInput(f"{row.commit[:12]} was built before there was {absent[0]}: export another commit of it")
    for table in (table for table in tables if table.name not in absent):
        path = out / f"{table.name}.parquet"
        count = _write(row, table, path, open_store(settings).options)
        yield f"{path}: {count} rows at {row.commit[:12]}"


def _known(name: str) -> Table:
    known = {table.name: table for table in EXPORTED}
    if name not in known:
        raise BadInput(f"no dataset {name}: known are {', '.join(known)}")
    return known[name]


def _write(row: LedgerRow, table: Table, path: Path, options: dict[str, str]) -> int:
    """Stream batches into a draft, then move it into place: a reader never sees half a file."""
    schema = table.arrow_schema()
    draft = path.with_name(f".{path.name}.part")
    count = 0
    with pq.ParquetWriter(draft, schema) as writer:
        for batch in delta_reads.stream(row.state, table, options):
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
            count += batch.num_rows
    draft.replace(path)
    return count

"""The indexer's answers on their way to Spark: staged as rows of bytes, parsed into the datasets by workers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from codeanatomy_assets.contracts.symbols import PY_INTERFACE, SCIP_FINGERPRINTS, SCIP_OCCURRENCES, SCIP_SYMBOLS
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.extraction.scip_documents import Row, file_rows, interface_rows
from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, InterfaceEntry, MroClass

TABLES = (SCIP_FINGERPRINTS, PY_INTERFACE, SCIP_OCCURRENCES, SCIP_SYMBOLS)
STAGED = pa.schema(
    [
        ("file_id", pa.string()),
        ("path", pa.string()),
        ("source", pa.binary()),
        ("document", pa.binary()),
        ("interface", pa.string()),
        ("failure", pa.string()),
    ]
)


def staged_answer(
    answer: IndexedFile | FailedFile, file_id: str, source: bytes, is_known: bool
) -> tuple[str | bytes | None, ...]:
    """A row of STAGED. Of a document that is known already only the interface is kept: it is not parsed again."""
    if isinstance(answer, FailedFile):
        return file_id, answer.path, None, None, "[]", answer.reason
    interface = json.dumps([asdict(entry) for entry in answer.interface])
    if is_known:
        return file_id, answer.path, None, None, interface, None
    return file_id, answer.path, source, answer.document, interface, None


def collect_staged(file: Mapping[str, Any]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of one staged answer, per dataset."""
    if file["document"] is None and file["failure"] is None:
        return _in_order({PY_INTERFACE: interface_rows(file["file_id"], _entries(file))})
    if file["failure"] is not None:
        rows = file_rows(FailedFile(file["path"], file["failure"]), file["file_id"], b"")
    else:
        answer = IndexedFile(file["path"], file["document"], _entries(file))
        rows = file_rows(answer, file["file_id"], file["source"])
    return _in_order(
        {
            SCIP_FINGERPRINTS: [rows.fingerprint],
            PY_INTERFACE: rows.interface,
            SCIP_OCCURRENCES: rows.occurrences,
            SCIP_SYMBOLS: rows.symbols,
        }
    )


def entry_of_row(row: Mapping[str, Any]) -> InterfaceEntry:
    """A stored row of py_interface as the entry it was made from."""
    return InterfaceEntry(
        path=row["entry_path"],
        kind=row["kind"],
        fingerprint=row["type_fingerprint"],
        is_return_inferred=row["is_return_inferred"],
        is_open=row["is_open"],
        is_cut=row["is_cut"],
        is_noreturn=row["is_noreturn"],
        mentions=tuple(row["mentions"]),
        reaches=tuple(row["reaches"]),
        mro=tuple(MroClass(*(value or "" for value in each.values())) for each in row["mro"]),
    )


def _entries(file: Mapping[str, Any]) -> tuple[InterfaceEntry, ...]:
    return tuple(InterfaceEntry.from_frame(entry) for entry in json.loads(file["interface"]))


def _in_order(rows: Mapping[Table, Sequence[Row]]) -> dict[str, list[tuple[Any, ...]]]:
    return {
        table.name: [tuple(row[name] for name in table.column_names) for row in rows.get(table, ())] for table in TABLES
    }

"""How much of a table a scoped read touches: the files that its predicate can't rule out, against all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from codeanatomy_assets.contracts.table import BUCKET, Table
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.table_state import TableState, bucket_of


@dataclass(frozen=True)
class Scanned:
    """Files and bytes that a read touches, and those that the table has."""

    files: int
    bytes: int
    all_files: int
    all_bytes: int


def scanned(
    state: TableState, table: Table, owners: Iterable[str] | None, storage_options: Mapping[str, str] | None = None
) -> Scanned:
    """Of a read of these owners' slices; None for all of them. A file without statistics is never ruled out."""
    opened = delta_reads.open_table(state.ref(table), storage_options)
    files = pa.table(opened.get_add_actions(flatten=True)).to_pylist()
    touched = files
    if owners is not None:
        listed = sorted(set(owners))
        buckets = {bucket_of(owner, state.buckets) for owner in listed} if table.bucketed else None
        touched = [file for file in files if _may_hold(file, table.owner_column, listed, buckets)]
    return Scanned(len(touched), _bytes(touched), len(files), _bytes(files))


def _may_hold(file: Mapping[str, Any], column: str, owners: Sequence[str], buckets: set[int] | None) -> bool:
    if buckets is not None and file[f"partition.{BUCKET}"] not in buckets:
        return False
    lowest, highest = file.get(f"min.{column}"), file.get(f"max.{column}")
    if lowest is None or highest is None:
        return True
    place = bisect_left(owners, lowest)
    return place < len(owners) and owners[place] <= highest


def _bytes(files: Iterable[Mapping[str, Any]]) -> int:
    return sum(file["size_bytes"] for file in files)

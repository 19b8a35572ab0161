"""Data files that Spark's Python workers write from Arrow, and the one commit that makes them a table's rows.

Where rows are made there are Arrow batches, and Arrow's own writer takes a small part of what Spark's takes. A file
that no commit names is an orphan, as one of Spark's would be: vacuum takes it away.
"""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction
from pyarrow import fs

from codeanatomy_assets.contracts.table import BUCKET, Table
from codeanatomy_assets.storage.table_state import BUCKET_DIGITS, ID_PREFIX_LENGTH

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A bucket's rows are held up to here before they are encoded; of wide rows less.
ROWS_PER_GROUP = 100_000
BYTES_PER_GROUP = 64_000_000
# A task costs some 50 ms whatever it does; of many buckets one would sort too many rows.
LEAST_TASKS_PER_CORE = 4
MOST_TASKS_PER_CORE = 16
BUCKETS_PER_TASK = 8
# Rows of a bucket lie file by file. One number sorts without comparing texts: the bucket, then the id's first digits.
PLACE = "place_of_row"
PLACE_DIGITS = 8
PLACE_BITS = 4 * PLACE_DIGITS
# Longer texts are left out of a data file's statistics: the log would repeat them.
LONGEST_TEXT = 64
TOLD = "dataset string, path string, size long, bucket int, rows long, stats string, owners array<string>"

Rows = Mapping[str, pa.Table]
Make = Callable[[pa.RecordBatch], Rows]


@dataclass(frozen=True)
class DataFile:
    """A data file as the log tells it, and whose rows it has."""

    path: str
    size: int
    bucket: int
    rows: int
    stats: str
    owners: frozenset[str]

    def added(self) -> AddAction:
        return AddAction(self.path, self.size, {BUCKET: str(self.bucket)}, int(time.time() * 1000), True, self.stats)


@dataclass(frozen=True)
class DataFiles:
    """The rows of a write, in data files that are under the table's path already and wait for their commit."""

    files: tuple[DataFile, ...]

    @staticmethod
    def of(parts: Iterable[DataFiles]) -> DataFiles:
        return DataFiles(tuple(file for part in parts for file in part.files))

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def owners(self) -> frozenset[str]:
        return frozenset[str]().union(*(file.owners for file in self.files))


@dataclass(frozen=True)
class Target:
    """A table that workers write data files of: all they need to know of it, wherever they run."""

    table: Table
    root: str
    options: Mapping[str, str]


def place_sql(owner: str, buckets: int, table: str) -> str:
    """Where a row belongs, as a Spark SQL expression; it refuses one without an owner."""
    digits = f"substr({owner}, {ID_PREFIX_LENGTH + 1}, {PLACE_DIGITS})"
    number = f"cast(conv({digits}, 16, 10) as bigint)"
    within = 4 * (PLACE_DIGITS - BUCKET_DIGITS)
    place = f"shiftleft(pmod(shiftright({number}, {within}), {buckets}), {PLACE_BITS}) + {number}"
    return f"coalesce({place}, raise_error('{table}: a row without a {owner}'))"


def placed(rows: DataFrame, table: str, buckets: int, owner: str = "file_id") -> DataFrame:
    """Rows bucket by bucket and, in each, file by file: all of a bucket in one task."""
    from pyspark.sql import functions as F

    tasks = tasks_for(buckets, rows.sparkSession.sparkContext.defaultParallelism)
    marked = rows.selectExpr("*", f"{place_sql(owner, buckets, table)} AS {PLACE}")
    bucket = F.expr(f"cast(shiftright({PLACE}, {PLACE_BITS}) AS int)")
    return marked.repartitionById(tasks, bucket).sortWithinPartitions(PLACE)


def tasks_for(buckets: int, cores: int) -> int:
    """Tasks that buckets are dealt out to in turn."""
    wanted = min(buckets // BUCKETS_PER_TASK, MOST_TASKS_PER_CORE * cores)
    return min(buckets, max(wanted, LEAST_TASKS_PER_CORE * cores))


def written_by_workers(rows: DataFrame, make: Make, targets: Sequence[Target]) -> dict[str, DataFiles]:
    """Write what `make` gives of each batch of placed rows, by dataset; nothing is committed."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writer = _BucketWriter(targets)
        for batch in batches:
            for bucket, part in _by_bucket(batch):
                yield from writer.move_to(bucket)
                writer.add(make(part))
        yield from writer.move_to(None)

    found: dict[str, list[DataFile]] = {target.table.name: [] for target in targets}
    for row in rows.mapInArrow(write, TOLD).collect():
        told = row.asDict()
        owners = frozenset(told.pop("owners"))
        found[told.pop("dataset")].append(DataFile(**told, owners=owners))
    return {name: DataFiles(tuple(files)) for name, files in found.items()}


def batches_as_they_are(table: Table) -> Make:
    """Placed rows of one dataset, made by Spark: only their place is taken off."""

    def take(batch: pa.RecordBatch) -> Rows:
        rows = pa.Table.from_batches([batch]).select(list(table.column_names)).cast(table.arrow_schema())
        if table.stored_in and pc.any(pc.not_equal(rows.column("rule"), table.name)).as_py():
            raise ValueError(f"{table.name}: rows of another dataset")
        return {table.name: rows}

    return take


def _by_bucket(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The stretches of a sorted batch that are of one bucket."""
    buckets = batch.column(PLACE).to_numpy() >> PLACE_BITS
    start = 0
    while start < len(buckets):
        end = start + int((buckets[start:] != buckets[start]).argmax())
        end = len(buckets) if end == start else end
        yield int(buckets[start]), batch.slice(start, end - start)
        start = end


class _BucketWriter:
    """The data files of the bucket at hand, one a dataset that has rows there."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self._targets = {target.table.name: target for target in targets}
        self._files: dict[str, _OpenFile] = {}
        self._bucket: int | None = None

    def move_to(self, bucket: int | None) -> Iterator[pa.RecordBatch]:
        """Tell of the files of the bucket before, once the rows of another begin."""
        if bucket == self._bucket:
            return
        told = [{"dataset": name, **file.close()} for name, file in self._files.items()]
        self._files, self._bucket = {}, bucket
        if told:
            yield from pa.Table.from_pylist(told, schema=_TOLD).to_batches()

    def add(self, rows: Rows) -> None:
        assert self._bucket is not None, "rows before any bucket"
        for name, part in rows.items():
            if part.num_rows:
                if name not in self._files:
                    self._files[name] = _OpenFile(self._targets[name], self._bucket)
                self._files[name].add(part)


_TOLD = pa.schema(
    [
        ("dataset", pa.string()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("bucket", pa.int32()),
        ("rows", pa.int64()),
        ("stats", pa.string()),
        ("owners", pa.list_(pa.string())),
    ]
)


class _OpenFile:
    """One data file while rows come."""

    def __init__(self, target: Target, bucket: int) -> None:
        self._table = target.table
        self._bucket = bucket
        self._path = f"{BUCKET}={bucket}/part-{uuid.uuid4()}.snappy.parquet"
        self._owners: set[str] = set()
        self._statistics = _Statistics()
        self._waiting: list[pa.Table] = []
        self._sink = fs.PyFileSystem(DeltaStorageHandler(target.root, dict(target.options))).open_output_stream(
            self._path
        )
        self._writer = pq.ParquetWriter(
            self._sink, self._table.arrow_schema(), compression="snappy", store_schema=False
        )

    def add(self, rows: pa.Table) -> None:
        self._owners.update(rows.column(self._table.owner_column).unique().to_pylist())
        self._waiting.append(rows)
        held = sum(part.num_rows for part in self._waiting), sum(part.nbytes for part in self._waiting)
        if held[0] >= ROWS_PER_GROUP or held[1] >= BYTES_PER_GROUP:
            self._encode()

    def close(self) -> dict[str, Any]:
        self._encode()
        self._writer.close()
        size = self._sink.tell()
        self._sink.close()
        return {
            "path": self._path,
            "size": size,
            "bucket": self._bucket,
            "rows": self._statistics.rows,
            "stats": self._statistics.told(),
            "owners": sorted(self._owners),
        }

    def _encode(self) -> None:
        if self._waiting:
            whole = pa.concat_tables(self._waiting)
            self._writer.write_table(whole, row_group_size=whole.num_rows)
            self._statistics.add(whole)
            self._waiting = []


class _Statistics:
    """What the log tells of a data file's columns; nothing of nested ones, nor the ends of long texts."""

    def __init__(self) -> None:
        self.rows = 0
        self._nulls: Counter[str] = Counter()
        self._ends: dict[str, tuple[Any, Any]] = {}
        self._untold: set[str] = set()

    def add(self, rows: pa.Table) -> None:
        self.rows += rows.num_rows
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            if not pa.types.is_nested(column.type):
                self._nulls[name] += column.null_count
            if name not in self._untold and (pa.types.is_string(column.type) or pa.types.is_integer(column.type)):
                self._widen(name, *pc.min_max(column).as_py().values())

    def _widen(self, name: str, low: Any, high: Any) -> None:
        if low is None:
            return
        known = self._ends.get(name, (low, high))
        ends = min(low, known[0]), max(high, known[1])
        if any(isinstance(end, str) and len(end) > LONGEST_TEXT for end in ends):
            self._untold.add(name)
            self._ends.pop(name, None)
        else:
            self._ends[name] = ends

    def told(self) -> str:
        return json.dumps(
            {
                "numRecords": self.rows,
                "minValues": {name: low for name, (low, _) in self._ends.items()},
                "maxValues": {name: high for name, (_, high) in self._ends.items()},
                "nullCount": self._nulls,
            }
        )

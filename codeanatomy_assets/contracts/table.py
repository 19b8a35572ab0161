"""What a dataset is: columns, types, key, doc and schema version, and every schema derived from them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from codeanatomy_assets.contracts.types import INT, Type, spark_field

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

BUCKET = "bucket"


class Stage(StrEnum):
    """The pipeline's stages, in the order they run; the word names modules, asset groups and docs."""

    REPOSITORY = "repository"
    SYNTAX = "syntax"
    SYMBOLS = "symbols"
    IMPACT = "impact"
    RELATIONSHIPS = "relationships"
    GRAPH = "graph"
    LEDGER = "ledger"


class Layout(StrEnum):
    """What the rows are owned by, and so what one write replaces."""

    BY_FILE = "by_file"
    BY_COMMIT = "by_commit"
    APPEND = "append"


@dataclass(frozen=True)
class Column:
    """One column: its doc is for people, all else is checked."""

    name: str
    type: Type
    doc: str
    nullable: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """One dataset. Everything that needs its schema derives it from here."""

    name: str
    stage: Stage
    doc: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    layout: Layout = Layout.BY_FILE
    schema_version: int = 1
    stored_in: str = ""
    example: dict[str, object] = field(default_factory=dict, hash=False, compare=False)

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"contract {self.name}: columns declared twice: {', '.join(repeated)}")
        unknown = [name for name in self.key if name not in names]
        if unknown:
            raise ValueError(f"contract {self.name}: key names unknown columns {unknown}; known: {names}")
        if self.layout is not Layout.APPEND and self.owner_column not in names:
            raise ValueError(f"contract {self.name}: {self.layout} needs a column {self.owner_column}")

    @property
    def owner_column(self) -> str:
        return "commit" if self.layout is Layout.BY_COMMIT else "file_id"

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def storage_name(self) -> str:
        """The Delta table that holds it: its own, unless datasets share one."""
        return self.stored_in or self.name

    @property
    def bucketed(self) -> bool:
        return self.layout is Layout.BY_FILE

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name} has no column {name}; known: {', '.join(self.column_names)}")

    def arrow_schema(self) -> pa.Schema:
        """The logical columns, as rows are made and read. All nullable: checks guard nulls, and name the row."""
        import pyarrow as pa

        return pa.schema([pa.field(c.name, c.type.arrow()) for c in self.columns])

    def stored_arrow_schema(self) -> pa.Schema:
        """The columns as the Delta table holds them: tables keyed by file have the bucket beside."""
        import pyarrow as pa

        return self.arrow_schema().append(pa.field(BUCKET, INT.arrow())) if self.bucketed else self.arrow_schema()

    def spark_schema(self) -> StructType:
        from pyspark.sql.types import StructType

        fields = [spark_field(c.name, c.type) for c in self.columns]
        return StructType.fromJson({"type": "struct", "fields": fields})

    def sqlglot_schema(self) -> dict[str, str]:
        return {c.name: c.type.ddl for c in self.columns}

    def delta_properties(self) -> dict[str, str]:
        """Change feed and deletion vectors on, log clean-up off: history is the ledger's to release."""
        return {
            "delta.enableChangeDataFeed": "true" if self.layout is not Layout.APPEND else "false",
            "delta.enableDeletionVectors": "true",
            "delta.enableExpiredLogCleanup": "false",
            "delta.logRetentionDuration": "interval 36500 days",
            "delta.deletedFileRetentionDuration": "interval 36500 days",
            "delta.checkpointInterval": "20",
        }

    def fingerprint(self) -> str:
        """Moves with anything a row can show: never with a doc string or an example."""
        columns = [[c.name, c.type.ddl, c.nullable, list(c.values)] for c in self.columns]
        meaning = [self.name, self.layout.value, self.schema_version, list(self.key), columns]
        return hashlib.sha256(json.dumps(meaning).encode()).hexdigest()

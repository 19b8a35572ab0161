"""Column types: one small vocabulary, rendered as Spark DDL, Arrow and Delta types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Scalar:
    """A type without parts. `ddl` is Spark's name for it, which sqlglot and Delta share."""

    ddl: str

    def spark_json(self) -> Any:
        return {"int": "integer", "bigint": "long"}.get(self.ddl, self.ddl)

    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        return {
            "string": pa.string(),
            "binary": pa.binary(),
            "int": pa.int32(),
            "bigint": pa.int64(),
            "double": pa.float64(),
            "boolean": pa.bool_(),
        }[self.ddl]


@dataclass(frozen=True)
class Struct:
    """Named parts, all nullable."""

    fields: tuple[tuple[str, Type], ...]

    @property
    def ddl(self) -> str:
        return "struct<" + ",".join(f"{name}:{part.ddl}" for name, part in self.fields) + ">"

    def spark_json(self) -> Any:
        return {"type": "struct", "fields": [spark_field(name, part) for name, part in self.fields]}

    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        return pa.struct([pa.field(name, part.arrow()) for name, part in self.fields])


@dataclass(frozen=True)
class Array:
    """A list of one type, in source order."""

    element: Type

    @property
    def ddl(self) -> str:
        return f"array<{self.element.ddl}>"

    def spark_json(self) -> Any:
        return {"type": "array", "elementType": self.element.spark_json(), "containsNull": True}

    def arrow(self) -> pa.DataType:
        import pyarrow as pa

        return pa.list_(pa.field("element", self.element.arrow()))


Type = Scalar | Struct | Array


def spark_field(name: str, type_: Type) -> dict[str, Any]:
    """One field in Spark's own JSON form of a schema, which needs no session to be read."""
    return {"name": name, "type": type_.spark_json(), "nullable": True, "metadata": {}}


STRING = Scalar("string")
BINARY = Scalar("binary")
INT = Scalar("int")
LONG = Scalar("bigint")
DOUBLE = Scalar("double")
BOOLEAN = Scalar("boolean")

"""Ids: one recipe, in Python and in Spark SQL.

An id is a prefix and 32 hex digits of sha256 over length-prefixed parts. The length (in UTF-8 bytes)
keeps ("ab", "c") and ("a", "bc") apart; a missing part is `-`, which no length can be.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

HEX_DIGITS = 32


@dataclass(frozen=True)
class IdRecipe:
    """How one kind of id is made from its parts."""

    prefix: str
    parts: tuple[str, ...]

    def of(self, *values: str | int | None) -> str:
        """The id of these parts, in Python."""
        if len(values) != len(self.parts):
            raise ValueError(f"{self.prefix} id takes {self.parts}, not {len(values)} values")
        encoded = b"".join(_encode(value) for value in values)
        return f"{self.prefix}_{hashlib.sha256(encoded).hexdigest()[:HEX_DIGITS]}"

    def sql(self, *expressions: str) -> str:
        """The same id as a Spark SQL expression over string or integer expressions."""
        if len(expressions) != len(self.parts):
            raise ValueError(f"{self.prefix} id takes {self.parts}, not {len(expressions)} expressions")
        encoded = ", ".join(_encode_sql(expression) for expression in expressions)
        return f"concat('{self.prefix}_', substr(sha2(concat({encoded}), 256), 1, {HEX_DIGITS}))"


def _encode(value: str | int | None) -> bytes:
    if value is None:
        return b"-"
    text = str(value).encode()
    return b"%d:%b" % (len(text), text)


def _encode_sql(expression: str) -> str:
    text = f"cast(({expression}) as string)"
    return f"coalesce(concat(cast(octet_length({text}) as string), ':', {text}), '-')"


FILE = IdRecipe("file", ("repo_id", "path"))
DEF = IdRecipe("def", ("file_id", "kind", "local_qname", "ordinal"))
REF = IdRecipe("ref", ("file_id", "scope_id", "context", "text", "ordinal"))
CALL = IdRecipe("call", ("file_id", "scope_id", "text", "ordinal"))
IMPORT = IdRecipe("imp", ("file_id", "scope_id", "text", "ordinal"))
TYPE_EXPR = IdRecipe("type", ("file_id", "scope_id", "role", "text", "ordinal"))
PARSE_ERROR = IdRecipe("err", ("file_id", "kind", "text", "ordinal"))
MODULE = IdRecipe("mod", ("file_id", "module"))
SYMBOL = IdRecipe("sym", ("symbol",))
QNAME = IdRecipe("qn", ("qname",))
DIAGNOSTIC = IdRecipe("diag", ("file_id", "kind"))
RULE_EDGE = IdRecipe("edge", ("edge_kind", "rel_id"))
STRUCTURE_EDGE = IdRecipe("edge", ("edge_kind", "file_id", "src_node_id", "dst_node_id"))

"""SCIP documents to rows: byte spans, canonical local symbols, the symbol's parts, the resolution fingerprint.

The messages are declared here, with the fields that rows are made of and no others: documentation text
depends on evaluation order and enters no dataset.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]

from codeanatomy_assets.contracts.identity import SYMBOL
from codeanatomy_assets.contracts.symbols import LOCAL_SYMBOL
from codeanatomy_assets.extraction.scip_index import INDEXER, FailedFile, IndexedFile, InterfaceEntry
from codeanatomy_assets.extraction.utf16_spans import ByteSpans

Row = dict[str, Any]

_TYPES = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "codeanatomy.scip"
# Message → field → (number, type, repeated); a type that is a name is another message.
_MESSAGES: dict[str, dict[str, tuple[int, int | str, bool]]] = {
    "Document": {
        "relative_path": (1, _TYPES.TYPE_STRING, False),
        "occurrences": (2, "Occurrence", True),
        "symbols": (3, "SymbolInformation", True),
    },
    "Occurrence": {
        "range": (1, _TYPES.TYPE_INT32, True),
        "symbol": (2, _TYPES.TYPE_STRING, False),
        "symbol_roles": (3, _TYPES.TYPE_INT32, False),
        "enclosing_range": (7, _TYPES.TYPE_INT32, True),
    },
    "SymbolInformation": {"symbol": (1, _TYPES.TYPE_STRING, False), "relationships": (4, "Relationship", True)},
    "Relationship": {
        "symbol": (1, _TYPES.TYPE_STRING, False),
        "is_reference": (2, _TYPES.TYPE_BOOL, False),
        "is_implementation": (3, _TYPES.TYPE_BOOL, False),
        "is_type_definition": (4, _TYPES.TYPE_BOOL, False),
        "is_definition": (5, _TYPES.TYPE_BOOL, False),
    },
}
_DEFINITION_ROLE = 1
_LOCAL = "local "
_RELATIONSHIP_KINDS = ("definition", "implementation", "reference", "type_definition")
_NAME = r"(?:`(?:[^`]|``)*`|[\w$+-]*)"
_DESCRIPTOR = re.compile(
    rf"(?P<method>{_NAME})\([\w$+-]*\)\.|\((?P<parameter>{_NAME})\)|\[(?P<type_parameter>{_NAME})\]"
    rf"|(?P<module>{_NAME})/|(?P<type>{_NAME})\#|(?P<term>{_NAME})\.|(?P<meta>{_NAME}):"
)
# scheme, manager, name and version, each ended by one space; a space inside is doubled.
_PART = "(?:[^ ]|  )*"
_SYMBOL = re.compile(rf"{_PART} {_PART} (?P<package>{_PART}) (?P<version>{_PART}) (?P<rest>.*)", re.DOTALL)


@dataclass(frozen=True)
class SymbolParts:
    """A symbol taken apart; all but the kind are null for a local."""

    kind: str
    package: str | None = None
    module: str | None = None
    descriptor: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class FileRows:
    """One file's rows. With an unchanged document, its occurrences and symbols are as they were: not made again."""

    path: str
    fingerprint: Row
    interface: list[Row]
    is_document_unchanged: bool = False
    occurrences: tuple[Row, ...] = ()
    symbols: tuple[Row, ...] = ()


def file_rows(answer: IndexedFile | FailedFile, file_id: str, source: bytes, known: Row | None = None) -> FileRows:
    """The rows of one answer; `known` is the file's stored row of fingerprints, which saves parsing what is equal."""
    if isinstance(answer, FailedFile):
        return FileRows(answer.path, _fingerprint_row(file_id, None, None, answer.reason), [])
    interface = interface_rows(file_id, answer.interface)
    document_sha256 = document_digest(source, answer.document)
    if known is not None and known["document_sha256"] == document_sha256 and known["indexer"] == INDEXER:
        return FileRows(answer.path, known, interface, is_document_unchanged=True)
    occurrences, symbols = document_rows(answer.document, file_id, source)
    fingerprint = resolution_fingerprint(occurrences, symbols)
    row = _fingerprint_row(file_id, fingerprint, document_sha256, None)
    return FileRows(answer.path, row, interface, False, tuple(occurrences), tuple(symbols))


def document_digest(source: bytes, document: bytes) -> str:
    """Equal digests, equal rows: the source counts too, because the same lines and columns may be other bytes."""
    return hashlib.sha256(hashlib.sha256(source).digest() + document).hexdigest()


def interface_rows(file_id: str, entries: Iterable[InterfaceEntry]) -> list[Row]:
    return [
        {
            "file_id": file_id,
            "entry_path": entry.path,
            "name": _entry_name(entry.path),
            "kind": entry.kind,
            "type_fingerprint": entry.fingerprint,
            "is_return_inferred": entry.is_return_inferred,
            "is_open": entry.is_open,
            "is_cut": entry.is_cut,
            "is_noreturn": entry.is_noreturn,
            "mentions": list(entry.mentions),
            "reaches": list(entry.reaches),
            "mro": [{name: value or None for name, value in each._asdict().items()} for each in entry.mro],
        }
        for entry in entries
    ]


def document_rows(document: bytes, file_id: str, source: bytes) -> tuple[list[Row], list[Row]]:
    """Occurrences in order of place, then symbols in order of text."""
    message: Any = _message_class("Document")()
    message.ParseFromString(document)
    spans = ByteSpans(source)
    placed = sorted(
        ((spans.of(occurrence.range), occurrence) for occurrence in message.occurrences if occurrence.symbol),
        key=lambda pair: pair[0],
    )
    canonical = _canonical_locals(occurrence.symbol for _, occurrence in placed)
    occurrences: dict[tuple[object, ...], Row] = {}
    for (bstart, bend), occurrence in placed:
        symbol = canonical.get(occurrence.symbol, occurrence.symbol)
        role = "definition" if occurrence.symbol_roles & _DEFINITION_ROLE else "read"
        enclosing = spans.of(occurrence.enclosing_range) if occurrence.enclosing_range else (None, None)
        row = {
            **_symbol_columns(file_id, symbol),
            "role": role,
            "bstart": bstart,
            "bend": bend,
            "enclosing_bstart": enclosing[0],
            "enclosing_bend": enclosing[1],
        }
        occurrences.setdefault((bstart, bend, symbol, role), row)
    rows = list(occurrences.values())
    return rows, _symbol_rows(file_id, message, canonical, rows)


def resolution_fingerprint(occurrences: list[Row], symbols: list[Row]) -> str:
    """Moves when a name of the file comes to mean something else, or a symbol of it relates to others."""
    meant = sorted((row["bstart"], row["bend"], row["symbol"], row["role"]) for row in occurrences)
    related = sorted(
        (row["symbol"], [[each["symbol"], each["kinds"]] for each in row["relationships"]]) for row in symbols
    )
    return hashlib.sha256(json.dumps([meant, related], ensure_ascii=False).encode()).hexdigest()


@cache
def symbol_parts(symbol: str) -> SymbolParts:
    """The parts of a symbol in SCIP's notation."""
    if symbol.startswith(_LOCAL):
        return SymbolParts("local")
    match = _SYMBOL.fullmatch(symbol)
    if match is None:
        raise ValueError(f"{symbol!r} is not a SCIP symbol: scheme, manager, package, version and descriptors are due")
    package = f"{match['package']} {match['version']}".replace("  ", " ")
    rest = match["rest"]
    descriptors = list(_DESCRIPTOR.finditer(rest))
    if not descriptors or sum(len(each[0]) for each in descriptors) != len(rest):
        raise ValueError(f"{symbol!r} has descriptors that can't be read")
    first, last = descriptors[0], descriptors[-1]
    module = _unescaped(first["module"]) if first["module"] is not None else None
    descriptor = rest[first.end() :] if module is not None else rest
    kind = str(last.lastgroup)
    # A module is named by its folder alone, or by the `__init__:` that stands for its file.
    if kind == "meta" and last["meta"] == "__init__":
        return SymbolParts("module", package, module, descriptor, module)
    return SymbolParts(kind, package, module, descriptor, _unescaped(last[kind]))


def _symbol_rows(file_id: str, message: Any, canonical: dict[str, str], occurrences: list[Row]) -> list[Row]:
    """One row per symbol with an occurrence or a relationship; a local that occurs nowhere says nothing."""
    relationships: dict[str, dict[str, set[str]]] = {row["symbol"]: {} for row in occurrences}
    for information in message.symbols:
        symbol = canonical.get(information.symbol, information.symbol)
        if not symbol or symbol.startswith(_LOCAL) and symbol not in relationships:
            continue
        related = relationships.setdefault(symbol, {})
        for each in information.relationships:
            kinds = {kind for kind in _RELATIONSHIP_KINDS if getattr(each, f"is_{kind}")}
            related.setdefault(each.symbol, set()).update(kinds)
    defined = {row["symbol"] for row in occurrences if row["role"] == "definition"}
    return [
        {
            **_symbol_columns(file_id, symbol),
            "name": symbol_parts(symbol).name,
            "is_defined_here": symbol in defined,
            "relationships": [
                {"symbol_id": SYMBOL.of(other), "symbol": other, "kinds": sorted(kinds)}
                for other, kinds in sorted(related.items())
            ],
        }
        for symbol, related in sorted(relationships.items())
    ]


def _symbol_columns(file_id: str, symbol: str) -> Row:
    parts = symbol_parts(symbol)
    symbol_id = LOCAL_SYMBOL.of(file_id, symbol) if parts.kind == "local" else SYMBOL.of(symbol)
    return {
        "file_id": file_id,
        "symbol_id": symbol_id,
        "symbol": symbol,
        "symbol_kind": parts.kind,
        "package": parts.package,
        "module": parts.module,
        "descriptor": parts.descriptor,
    }


def _canonical_locals(symbols_by_place: Iterable[str]) -> dict[str, str]:
    canonical: dict[str, str] = {}
    for symbol in symbols_by_place:
        if symbol.startswith(_LOCAL):
            canonical.setdefault(symbol, f"{_LOCAL}{len(canonical)}")
    return canonical


def _entry_name(path: str) -> str:
    if path == "<module>":
        return ""
    if path == "<all>":
        return "__all__"
    parts = [part for part in path.split(".") if part != "<mro>"]
    return parts[-1].split("#")[0]


def _fingerprint_row(file_id: str, fingerprint: str | None, document_sha256: str | None, failure: str | None) -> Row:
    return {
        "file_id": file_id,
        "fingerprint": fingerprint,
        "document_sha256": document_sha256,
        "indexer": INDEXER,
        "failure": failure,
    }


def _unescaped(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


@cache
def _message_class(name: str) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="codeanatomy_scip.proto", package=_PACKAGE, syntax="proto3")
    for message_name, fields in _MESSAGES.items():
        message = file.message_type.add(name=message_name)
        for field_name, (number, type_, is_repeated) in fields.items():
            label = _TYPES.LABEL_REPEATED if is_repeated else _TYPES.LABEL_OPTIONAL
            field = message.field.add(name=field_name, number=number, label=label)
            if isinstance(type_, str):
                field.type = _TYPES.TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{type_}"
            else:
                field.type = type_
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))

"""The catalog of props: which nodes and edges have which, their types, and where each comes from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

NODE = "node"
EDGE = "edge"
VALUE_TYPES = ("string", "int", "boolean", "json")
SEVERITIES = ("error", "warning")
DIAGNOSTIC_KINDS = ("parse_error", "not_indexed", "skipped")


@dataclass(frozen=True)
class PropKey:
    """One prop of some kinds: `source` is SQL over the kind's dataset, of an edge over its relationship.

    A value equal to `default` has no row. The example is a file `m.py`, the name of a node in it, and the value that
    this node has.
    """

    key: str
    kinds: tuple[str, ...]
    value_type: str
    doc: str
    source: str
    example: tuple[str, str, str]
    default: str | None = None
    entity_kind: str = NODE


def _def_props() -> Iterator[PropKey]:
    of = ("CST_DEF",)
    yield PropKey("kind", of, "string", "What it is.", "kind", ("def f(): ...", "f", '"function"'))
    yield PropKey("is_async", of, "boolean", "`async def`.", "is_async", ("async def f(): ...", "f", "true"), "false")
    doc, shown = "Stands under if, try, for, while, with or match.", ("if x:\n    def f(): ...", "f", "true")
    yield PropKey("is_conditional", of, "boolean", doc, "is_conditional", shown, "false")
    doc, shown = "Decorator expressions as written, outermost first.", ("@cache\ndef f(): ...", "f", '["cache"]')
    yield PropKey("decorators", of, "json", doc, "decorators", shown, "[]")
    doc = "Base class expressions as written."
    yield PropKey("bases", of, "json", doc, "bases", ("class A(B): ...", "A", '["B"]'), "[]")
    doc = "In order: name, kind, span of the name, and annotation and default as written if it has them."
    shown = ("def f(a): ...", "f", '[{"name":"a","kind":"positional","bstart":6,"bend":7}]')
    yield PropKey("parameters", of, "json", doc, "parameters", shown, "[]")
    doc, shown = "The return annotation as written.", ("def f() -> int: ...", "f", '"int"')
    yield PropKey("returns", of, "string", doc, "returns", shown)
    doc = "PEP 695 parameters as written."
    yield PropKey("type_parameters", of, "json", doc, "type_parameters", ("def f[T](): ...", "f", '["T"]'), "[]")
    shown = ('def f(): "Does it."', "f", '"Does it."')
    yield PropKey("docstring", of, "string", "The docstring, dedented.", "docstring", shown)
    yield PropKey("name_bstart", of, "int", "First byte of the name.", "name_bstart", ("def f(): ...", "f", "4"))
    yield PropKey("name_bend", of, "int", "One past the name's last byte.", "name_bend", ("def f(): ...", "f", "5"))


def _call_and_ref_props() -> Iterator[PropKey]:
    of: tuple[str, ...] = ("CST_CALLSITE",)
    doc = "The callee as written, cut at 200 characters."
    yield PropKey("callee_text", of, "string", doc, "callee_text", ("a.f(1)", "f", '"a.f"'))
    doc = "A name, an attribute, or any other expression."
    yield PropKey("callee_kind", of, "string", doc, "callee_kind", ("a.f(1)", "f", '"attribute"'))
    yield PropKey("argument_count", of, "int", "How many arguments.", "size(arguments)", ("f(1, 2)", "f", "2"))
    names_of = "transform(filter(arguments, a -> a.kind = 'keyword'), a -> a.name)"
    shown = ("f(1, key=2)", "f", '["key"]')
    yield PropKey("keywords", of, "json", "Names of keyword arguments.", names_of, shown, "[]")
    of = ("CST_REF",)
    yield PropKey("context", of, "string", "How the name is used.", "context", ("x = 1", "x", '"store"'))
    yield PropKey("binding", of, "string", "Which scope binds it.", "binding", ("x = 1", "x", '"global"'))
    doc = "The role of the expression that the name ends."
    yield PropKey("usage", of, "string", doc, "usage", ("class A(B): ...", "B", '"base"'), '"value"')
    doc = "The whole chain `a.b.c`, of an attribute."
    source = "if(dotted = name, null, dotted)"
    yield PropKey("dotted", of, "string", doc, source, ("a.b.c", "c", '"a.b.c"'))


def _import_and_type_props() -> Iterator[PropKey]:
    of: tuple[str, ...] = ("CST_IMPORT_ALIAS",)
    yield PropKey("kind", of, "string", "Which form of import.", "kind", ("from a import b", "b", '"from"'))
    doc = "Leading dots of a relative import."
    yield PropKey("level", of, "int", doc, "level", ("from .a import b", "b", "1"), "0")
    doc = "The module as written, without the dots."
    yield PropKey("module", of, "string", doc, "module", ("from a import b", "b", '"a"'))
    doc = "The name taken from the module."
    yield PropKey("imported_name", of, "string", doc, "name", ("from a import b as c", "c", '"b"'))
    yield PropKey("alias", of, "string", "The name after `as`.", "alias", ("from a import b as c", "c", '"c"'))
    doc, shown = "Stands under `if TYPE_CHECKING`.", ("if TYPE_CHECKING:\n    import a", "a", "true")
    yield PropKey("is_type_checking", of, "boolean", doc, "is_type_checking", shown, "false")
    doc, shown = "Stands under if, try, for, while, with or match.", ("if x:\n    import a", "a", "true")
    yield PropKey("is_conditional", of, "boolean", doc, "is_conditional", shown, "false")
    of = ("TYPE_EXPR",)
    yield PropKey("text", of, "string", "As written, whole.", "text", ("x: list[int]", "list[int]", '"list[int]"'))
    yield PropKey("role", of, "string", "What it annotates.", "role", ("x: int", "int", '"variable"'))
    doc = "The parameter, variable, alias or type parameter."
    yield PropKey("annotated_name", of, "string", doc, "annotated_name", ("x: int", "int", '"x"'))
    doc = "A forward reference in quotes."
    yield PropKey("is_quoted", of, "boolean", doc, "is_quoted", ("x: 'A'", "'A'", "true"), "false")


def _file_and_module_props() -> Iterator[PropKey]:
    of: tuple[str, ...] = ("PY_FILE",)
    shown = ("x = 1", "m.py", f'"{hashlib.sha256(b"x = 1").hexdigest()}"')
    yield PropKey("sha256", of, "string", "Hash of the bytes.", "sha256", shown)
    yield PropKey("size", of, "int", "Bytes.", "size", ("x = 1", "m.py", "5"))
    yield PropKey("encoding", of, "string", "By BOM and PEP 263.", "encoding", ("x = 1", "m.py", '"utf-8"'))
    of = ("PY_MODULE",)
    yield PropKey("kind", of, "string", "Module, package or script.", "kind", ("x = 1", "m", '"module"'))
    doc, shown = "The file is an `__init__`.", ("# m/__init__.py", "m", "true")
    yield PropKey("is_package", of, "boolean", doc, "is_package", shown, "false")
    shown = ("# m.pyi", "m", "true")
    yield PropKey("is_stub", of, "boolean", "The file is a `.pyi`.", "is_stub", shown, "false")
    doc = "The search root that the name starts at; empty for the repository's."
    yield PropKey("root", of, "string", doc, "root", ("x = 1", "m", '""'))


def _symbol_and_diagnostic_props() -> Iterator[PropKey]:
    of: tuple[str, ...] = ("SCIP_SYMBOL",)
    doc = "What the last part of the symbol is."
    yield PropKey("kind", of, "string", doc, "symbol_kind", ("def f(): ...", "f", '"method"'))
    doc = "The package it belongs to, with its version."
    yield PropKey("package", of, "string", doc, "package", ("def f(): ...", "f", '"example 0"'))
    yield PropKey("module", of, "string", "The module it belongs to.", "module", ("def f(): ...", "f", '"m"'))
    doc = "The path inside the module, in SCIP's notation."
    yield PropKey("descriptor", of, "string", doc, "descriptor", ("def f(): ...", "f", '"f()."'))
    of = ("DIAG",)
    doc = f"One of {', '.join(DIAGNOSTIC_KINDS)}."
    yield PropKey("kind", of, "string", doc, "kind", ("x = = 1", "error", '"parse_error"'))
    doc = f"One of {', '.join(SEVERITIES)}."
    yield PropKey("severity", of, "string", doc, "severity", ("x = = 1", "error", '"error"'))
    doc = "What could not be read, or why the file was left out or has no index."
    yield PropKey("message", of, "string", doc, "message", ("x = = 1", "error", '"error: ="'))
    doc, shown = (
        "The call, decorator or base that the edge is seen on.",
        ("def f(): g()\ndef g(): ...", "CALLS", '"call_…"'),
    )
    seen_on = "if(via_id = src_id, null, via_id)"
    yield PropKey("via", ("CALLS", "INHERITS"), "string", doc, seen_on, shown, entity_kind=EDGE)


PROPS = (
    *_file_and_module_props(),
    *_def_props(),
    *_call_and_ref_props(),
    *_import_and_type_props(),
    *_symbol_and_diagnostic_props(),
)
VALUE_TYPE_OF_KEY = {(prop.entity_kind, prop.key): prop.value_type for prop in PROPS}


def prop_problem(entity_kind: str, key: str, value_type: str, value: str, kind: str | None = None) -> str | None:
    """What is wrong with a prop by the catalog, or None; `kind` is the node's or edge's, where it is known."""
    declared = [prop for prop in PROPS if prop.entity_kind == entity_kind and prop.key == key]
    if not declared:
        return f"{entity_kind} prop {key} is not in the catalog"
    if kind is not None and not any(kind in prop.kinds for prop in declared):
        return f"{kind} has no prop {key}"
    if declared[0].value_type != value_type:
        return f"{entity_kind} prop {key} is {declared[0].value_type}, not {value_type}"
    if not _is_of_type(value, value_type):
        return f"{entity_kind} prop {key} has the value {value[:80]}, which is no {value_type}"
    return None


def _is_of_type(text: str, value_type: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    python_type = {str: "string", int: "int", bool: "boolean", list: "json", dict: "json"}.get(type(value))
    return python_type == value_type

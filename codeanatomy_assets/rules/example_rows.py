"""Short ways to write the rows of rules' examples: ids are labels, files are `f` unless said, spans are pairs."""

from __future__ import annotations

from typing import Any

from codeanatomy_assets.contracts import exports, names, repository, symbols, syntax
from codeanatomy_assets.rules.rule import Row

Span = tuple[int, int]
FILE = "f"


def _span(at: Span, prefix: str = "") -> dict[str, int]:
    return {f"{prefix}bstart": at[0], f"{prefix}bend": at[1]}


def indexed(file: str = FILE, failure: str | None = None) -> Row:
    """The indexer read the file, or failed to."""
    return Row(symbols.SCIP_FINGERPRINTS, {"file_id": file, "failure": failure})


def definition(def_id: str, at: Span, kind: str = "function", file: str = FILE, **more: Any) -> Row:
    """A definition whose name stands at a span."""
    values = {"file_id": file, "def_id": def_id, "kind": kind, **_span(at, "name_"), **_span(at)}
    return Row(syntax.DEFS, {**values, **more})


def method(def_id: str, local_qname: str, file: str = FILE) -> Row:
    """A function in a class body."""
    name = local_qname.rpartition(".")[2]
    return definition(def_id, (5, 9), file=file, name=name, local_qname=local_qname, parent_kind="class")


def ref(ref_id: str, at: Span, context: str = "load", file: str = FILE, **more: Any) -> Row:
    values = {"binding": "global", "usage": "value", "file_id": file, "ref_id": ref_id, "context": context, **_span(at)}
    return Row(syntax.NAME_REFS, {**values, **more})


def call(call_id: str, callee: Span, file: str = FILE, builtin: bool = False, **more: Any) -> Row:
    """A call whose callee's last name stands at a span; the call starts there too."""
    candidates = [{"qname": "builtins.len", "level": 0, "source": "builtin"}] if builtin else []
    values = {"file_id": file, "call_id": call_id, "callee_kind": "name", "candidates": candidates}
    return Row(syntax.CALLSITES, {**values, **_span(callee, "callee_"), **_span((callee[0], callee[1] + 2)), **more})


def clause(import_id: str, at: Span, name: Span | None, kind: str = "from", file: str = FILE) -> Row:
    """An import clause: its own span and its name's."""
    named = _span(name, "name_") if name else {}
    return Row(syntax.IMPORTS, {"file_id": file, "import_id": import_id, "kind": kind, **named, **_span(at)})


def type_expr(type_expr_id: str, at: Span, file: str = FILE) -> Row:
    return Row(syntax.TYPE_EXPRS, {"file_id": file, "type_expr_id": type_expr_id, **_span(at)})


def occurrence(symbol_id: str, at: Span, role: str = "read", file: str = FILE, **more: Any) -> Row:
    values = {"file_id": file, "symbol_id": symbol_id, "symbol_kind": "method", "role": role, **_span(at)}
    return Row(symbols.SCIP_OCCURRENCES, {**values, **more})


def defined_symbol(symbol_id: str, file: str = FILE) -> Row:
    return Row(symbols.SCIP_SYMBOLS, {"file_id": file, "symbol_id": symbol_id, "is_defined_here": True})


def exported(def_id: str, kind: str = "function", file: str = FILE, **more: Any) -> Row:
    """A definition as its file offers it; its symbol is `sym` and the definition's label."""
    values = {
        "file_id": file,
        "export_id": f"exp {def_id}",
        "binding": "definition",
        "kind": kind,
        "def_id": def_id,
        "own_symbol_id": f"sym {def_id}",
        "qname_id": f"qn {def_id}",
        "is_effective": True,
        "target_kind": "definition",
        "target_def_id": def_id,
        "target_file_id": file,
        "target_qname_id": f"qn {def_id}",
    }
    return Row(exports.DIM_EXPORTED_DEFS, {**values, **more})


def leading(label: str, to: str, to_file: str, file: str = FILE, binding: str = "import", **more: Any) -> Row:
    """A name of a file that leads to a definition in another one."""
    own = {"kind": None, "def_id": None, "own_symbol_id": None, "qname_id": f"qn {label}", "binding": binding}
    target = {"target_def_id": to, "target_file_id": to_file, "target_qname_id": f"qn {to}", "hops": 1}
    return Row(exports.DIM_EXPORTED_DEFS, {**exported(label, file=file).values, **own, **target, **more})


def named(subject_id: str, qname: str, source: str = "import", file: str = FILE) -> Row:
    """A name that a call may go by; its id is `qn` and the name."""
    values = {"file_id": file, "qname_id": f"qn {qname}", "qname": qname, "name": qname.rpartition(".")[2]}
    values |= {"subject_kind": "call", "subject_id": subject_id, "source": source}
    return Row(exports.DIM_QUALIFIED_NAMES, values)


def module(module_id: str, file: str = FILE, is_alternate: bool = False) -> Row:
    return Row(names.PY_MODULE_INDEX, {"file_id": file, "module_id": module_id, "is_alternate": is_alternate})


def resolved(import_id: str, module: str | None, resolution: str, target: str | None = None, **more: Any) -> Row:
    """A module that an import clause names or loads."""
    values = {"file_id": FILE, "import_id": import_id, "resolved_id": f"{import_id} {module}", "module": module}
    values |= {"target_kind": "module", "resolution": resolution, "target_file_id": target}
    return Row(names.PY_IMPORTS_RESOLVED, {**values, **more})


def tracked(file: str, path: str) -> Row:
    return Row(repository.REPO_SNAPSHOT, {"file_id": file, "path": path})


def lookup_order(class_qname: str, *classes: tuple[str, str] | str, file: str = FILE) -> Row:
    """The classes that members of a class are looked up in: (path, place in the file), or a full name from outside."""
    mro = [
        {"path": None, "local_qname": None, "name": each}
        if isinstance(each, str)
        else {"path": each[0], "local_qname": each[1], "name": each[1]}
        for each in classes
    ]
    return Row(symbols.PY_INTERFACE, {"file_id": file, "entry_path": f"{class_qname}.<mro>", "kind": "mro", "mro": mro})

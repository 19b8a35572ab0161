"""How import statements are read, and the collector of cst_imports: clauses, and dynamic imports of a literal."""

from __future__ import annotations

from tree_sitter import Node

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.scopes import Imported
from codeanatomy_assets.extraction.syntax_calls import candidates
from codeanatomy_assets.extraction.syntax_facts import (
    Call,
    ImportClause,
    OrdinalIds,
    Place,
    Role,
    Row,
)
from codeanatomy_assets.extraction.syntax_strings import string_value
from codeanatomy_assets.extraction.syntax_walk import Walk, handles

FUTURE = "__future__"
_DYNAMIC = {("importlib.import_module", 0, "import"), ("builtins.__import__", 0, "builtin")}


@handles("import_statement")
def _import(walk: Walk, node: Node, place: Place, role: Role) -> None:
    for clause in g.code_children(node):
        name, alias = _clause_parts(clause)
        if name is None:
            continue
        module = _dotted(walk, name)
        alias_text = walk.text(alias) if alias is not None else None
        bound = alias_text or module.split(".")[0]
        walk.imports.append(
            ImportClause(place, "import", 0, module, None, alias_text, bound, _span(name), _span(name), _span(clause))
        )
        place.scope.bind(bound, Imported(module if alias_text else bound, 0))


@handles("import_from_statement")
def _from_import(walk: Walk, node: Node, place: Place, role: Role) -> None:
    source = node.child_by_field_id(g.F_MODULE_NAME)
    if source is None:
        return
    level, module = _source(walk, source)
    clauses = [child for child in g.code_children(node) if child != source]
    _from_clauses(walk, place, clauses, level, module, _span(source))


@handles("future_import_statement")
def _future_import(walk: Walk, node: Node, place: Place, role: Role) -> None:
    at = walk.content.find(FUTURE.encode(), node.start_byte, node.end_byte)
    _from_clauses(walk, place, g.code_children(node), 0, FUTURE, (at, at + len(FUTURE)))


def _from_clauses(
    walk: Walk, place: Place, clauses: list[Node], level: int, module: str, module_span: tuple[int, int]
) -> None:
    for clause in clauses:
        if clause.kind_id == g.WILDCARD:
            walk.imports.append(
                ImportClause(place, "star", level, module, None, None, None, module_span, None, _span(clause))
            )
            continue
        name, alias = _clause_parts(clause)
        if name is None:
            continue
        name_text = _dotted(walk, name)
        alias_text = walk.text(alias) if alias is not None else None
        bound = alias_text or name_text
        walk.imports.append(
            ImportClause(
                place, "from", level, module, name_text, alias_text, bound, module_span, _span(name), _span(clause)
            )
        )
        place.scope.bind(bound, Imported(f"{module}.{name_text}" if module else name_text, level))


def _clause_parts(clause: Node) -> tuple[Node | None, Node | None]:
    """The imported name and its alias; nothing for what an error left empty."""
    name: Node | None = clause
    alias: Node | None = None
    if clause.kind_id == g.ALIASED_IMPORT:
        name = clause.child_by_field_id(g.F_NAME)
        alias = clause.child_by_field_id(g.F_ALIAS)
    elif clause.kind_id != g.DOTTED_NAME:
        return None, None
    if name is None or name.start_byte == name.end_byte:
        return None, None
    return name, alias if alias is not None and alias.start_byte < alias.end_byte else None


def _source(walk: Walk, source: Node) -> tuple[int, str]:
    """Level and module of `..a.b`; white space and line continuations may stand between the parts."""
    if source.kind_id != g.RELATIVE_IMPORT:
        return 0, _dotted(walk, source)
    names = [child for child in g.code_children(source) if child.kind_id == g.DOTTED_NAME]
    end = names[0].start_byte if names else source.end_byte
    level = walk.content.count(b".", source.start_byte, end)
    return level, _dotted(walk, names[0]) if names else ""


def _dotted(walk: Walk, node: Node) -> str:
    return ".".join(walk.text(part) for part in node.named_children if part.kind_id == g.IDENTIFIER)


def _span(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def import_rows(walk: Walk) -> list[Row]:
    """Rows in source order, statements and dynamic imports together."""
    clauses = walk.imports + _dynamic_imports(walk)
    clauses.sort(key=lambda clause: clause.span)
    ids = OrdinalIds(identity.IMPORT, walk.file_id)
    return [_row(walk, clause, ids) for clause in clauses]


def _row(walk: Walk, clause: ImportClause, ids: OrdinalIds) -> Row:
    scope_id = clause.place.scope.def_id
    import_id, ordinal = ids.take((scope_id,), _clause_text(clause))
    name_bstart, name_bend = clause.name_span or (None, None)
    return (
        walk.file_id,
        import_id,
        scope_id,
        clause.kind,
        clause.level,
        clause.module,
        clause.name,
        clause.alias,
        clause.bound_name,
        clause.place.type_checking,
        clause.place.conditional,
        *clause.module_span,
        name_bstart,
        name_bend,
        ordinal,
        *clause.span,
    )


def _clause_text(clause: ImportClause) -> str:
    """The clause with its module, so that other statements' clauses don't count as equals."""
    module = "." * clause.level + clause.module
    alias = f" as {clause.alias}" if clause.alias else ""
    if clause.kind == "import":
        return f"import {module}{alias}"
    if clause.kind == "dynamic":
        return f"import_module('{module}')"
    return f"from {module} import {clause.name or '*'}{alias}"


def _dynamic_imports(walk: Walk) -> list[ImportClause]:
    may_alias = any(clause.module.partition(".")[0] == "importlib" for clause in walk.imports)
    called = [call for call in walk.calls if call.arguments and (may_alias or call.chain == ["__import__"])]
    found = (_dynamic_import(walk, call) for call in called if _is_dynamic(call))
    return [clause for clause in found if clause is not None]


def _is_dynamic(call: Call) -> bool:
    return not _DYNAMIC.isdisjoint(candidates(call.place.scope, call.chain, []))


def _dynamic_import(walk: Walk, call: Call) -> ImportClause | None:
    """`import_module('.x')`: the level is the literal's dots; a literal package makes it absolute."""
    literal = _argument(walk, call, 0, "name")
    written = string_value(walk.content, literal) if literal is not None else None
    if literal is None or not written:
        return None
    module = written.lstrip(".")
    level = len(written) - len(module)
    package_node = _argument(walk, call, 1, "package") if level else None
    package = string_value(walk.content, package_node) if package_node is not None else None
    if package:
        parents = package.split(".")
        kept = parents[: len(parents) - level + 1]
        if not kept:
            return None
        module, level = ".".join((*kept, module)) if module else ".".join(kept), 0
    span = _span(call.node)
    return ImportClause(call.place, "dynamic", level, module, None, None, None, _text_span(literal), None, span)


def _argument(walk: Walk, call: Call, position: int, keyword: str) -> Node | None:
    for argument in call.arguments:
        if argument.kind_id == g.KEYWORD_ARGUMENT:
            name = argument.child_by_field_id(g.F_NAME)
            if name is not None and walk.text(name) == keyword:
                return argument.child_by_field_id(g.F_VALUE)
    if position < len(call.arguments):
        argument = call.arguments[position]
        if argument.kind_id not in (g.KEYWORD_ARGUMENT, g.LIST_SPLAT, g.DICTIONARY_SPLAT):
            return argument
    return None


def _text_span(literal: Node) -> tuple[int, int]:
    """The text between the quotes, if it is one plain literal."""
    inner = [child for child in g.unwrapped(literal).named_children if child.kind_id == g.STRING_CONTENT]
    return _span(inner[0]) if len(inner) == 1 else _span(literal)

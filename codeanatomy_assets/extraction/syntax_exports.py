"""What a module says it exports: each touch of `__all__` at module level, as export references.

A literal's strings are exported, added or removed one by one. What can't be enumerated is one
`all_opaque` reference: with the chain of names it comes from (`other.__all__`) if it is one. Reading
`__all__` without a way to change it says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.syntax_facts import Reference
from codeanatomy_assets.extraction.syntax_strings import string_value
from codeanatomy_assets.extraction.syntax_walk import Walk

ALL = "__all__"
_ADDING = {"extend": 0, "append": 0, "insert": 1}
_HARMLESS_METHODS = frozenset(("copy", "count", "index", "sort", "reverse"))
# Calls that only read what they are given, or give the same names in another sequence.
_COPIES = frozenset(("list", "tuple", "set", "sorted", "frozenset"))
_READERS = _COPIES | {"len", "print", "repr", "str", "enumerate", "iter", "zip", "map", "filter", "any", "all"}
_READING_KINDS = frozenset(
    map(
        g.kind,
        ("for_statement", "for_in_clause", "comparison_operator", "binary_operator", "list_splat", "interpolation"),
    )
)


def export_references(walk: Walk) -> list[Reference]:
    found: list[Reference] = []
    for bstart, bend, scope, name, _, context, _, _, _ in walk.references:
        if name == ALL and scope.def_id is None and context in ("load", "store", "delete"):
            node = walk.root.descendant_for_byte_range(bstart, bend)
            if node is not None:
                found += _touch(walk, node)
    for clause in walk.imports:
        if clause.bound_name == ALL and clause.place.scope is walk.module:
            found.append(_opaque(walk, *(clause.name_span or clause.span), None))
    return found


def _touch(walk: Walk, node: Node) -> Iterator[Reference]:
    parent = node.parent
    if parent is None:
        return
    if parent.kind_id == g.ASSIGNMENT and parent.child_by_field_id(g.F_LEFT) == node:
        yield from _assigned(walk, node, parent)
    elif parent.kind_id == g.AUGMENTED_ASSIGNMENT and parent.child_by_field_id(g.F_LEFT) == node:
        yield from _augmented(walk, node, parent)
    elif parent.kind_id == g.ATTRIBUTE:
        yield from _method(walk, node, parent)
    elif not _is_read(walk, node, parent):
        yield _opaque(walk, node.start_byte, node.end_byte, None)


def _assigned(walk: Walk, node: Node, assignment: Node) -> Iterator[Reference]:
    value = assignment.child_by_field_id(g.F_RIGHT)
    while value is not None and value.kind_id == g.ASSIGNMENT:
        value = value.child_by_field_id(g.F_RIGHT)
    if value is None:
        return
    parts = list(_parts(walk, value))
    keeps_itself = any(walk.text(part) == ALL for part in parts)
    usage = "all_add" if keeps_itself else "all_assign"
    yield from _exported(walk, node, [part for part in parts if walk.text(part) != ALL], usage)


def _augmented(walk: Walk, node: Node, assignment: Node) -> Iterator[Reference]:
    value = assignment.child_by_field_id(g.F_RIGHT)
    if value is None or _operator(walk, assignment) != "+=":
        yield _opaque(walk, node.start_byte, node.end_byte, None)
    else:
        yield from _exported(walk, node, list(_parts(walk, value)), "all_add")


def _method(walk: Walk, node: Node, attribute: Node) -> Iterator[Reference]:
    call = attribute.parent
    name = attribute.child_by_field_id(g.F_ATTRIBUTE)
    method = walk.text(name) if name is not None else ""
    is_call = call is not None and call.kind_id == g.CALL and call.child_by_field_id(g.F_FUNCTION) == attribute
    arguments = call.child_by_field_id(g.F_ARGUMENTS) if is_call and call is not None else None
    given = g.code_children(arguments) if arguments is not None else []
    at = _ADDING.get(method, 0)
    if method == "extend" and len(given) == 1:
        yield from _exported(walk, node, list(_parts(walk, given[0])), "all_add")
    elif method in ("append", "insert", "remove") and len(given) == at + 1:
        yield from _exported(walk, node, [given[at]], "all_remove" if method == "remove" else "all_add")
    elif not (is_call and method in _HARMLESS_METHODS):
        yield _opaque(walk, node.start_byte, node.end_byte, None)


def _is_read(walk: Walk, node: Node, parent: Node) -> bool:
    if parent.kind_id == g.SUBSCRIPT:
        around = parent.parent
        is_target = around is not None and (
            around.child_by_field_id(g.F_LEFT) == parent or around.type in ("delete_statement", "expression_list")
        )
        return parent.child_by_field_id(g.F_VALUE) == node and not is_target
    if parent.kind_id == g.ARGUMENT_LIST:
        call = parent.parent
        function = call.child_by_field_id(g.F_FUNCTION) if call is not None else None
        return function is not None and walk.text(function) in _READERS
    if parent.kind_id in _READING_KINDS:
        return parent.child_by_field_id(g.F_LEFT) != node or parent.type == "binary_operator"
    return False


def _parts(walk: Walk, value: Node) -> Iterator[Node]:
    """The elements of literals joined by `+` or `*`-unpacked, and the sequences they are joined with."""
    stack = [value]
    while stack:
        node = g.unwrapped(stack.pop())
        if node.kind_id == g.BINARY_OPERATOR and _operator(walk, node) == "+":
            stack += reversed(g.code_children(node))
        elif node.kind_id == g.LIST_SPLAT:
            stack += g.code_children(node)
        elif node.kind_id in g.SEQUENCES:
            for element in g.code_children(node):
                if element.kind_id == g.LIST_SPLAT:
                    yield from _parts(walk, element)
                else:
                    yield element
        else:
            copied = _copied(walk, node)
            if copied is None:
                yield node
            else:
                stack.append(copied)


def _operator(walk: Walk, node: Node) -> str:
    operator = node.child_by_field_id(g.F_OPERATOR)
    return walk.text(operator) if operator is not None else ""


def _copied(walk: Walk, node: Node) -> Node | None:
    """`x` of `list(x)`."""
    function = node.child_by_field_id(g.F_FUNCTION) if node.kind_id == g.CALL else None
    arguments = node.child_by_field_id(g.F_ARGUMENTS) if function is not None else None
    if function is None or arguments is None or walk.text(function) not in _COPIES:
        return None
    given = g.code_children(arguments) if arguments.kind_id == g.ARGUMENT_LIST else []
    return given[0] if len(given) == 1 else None


def _exported(walk: Walk, node: Node, parts: list[Node], usage: str) -> Iterator[Reference]:
    opaque_reported = False
    for part in parts:
        value = string_value(walk.content, part)
        if value is not None:
            span = part.start_byte, part.end_byte
            yield (*span, walk.module, value, None, "export", usage, None, None)
            continue
        chain = walk.chain(part)
        if chain is not None:
            yield _opaque(walk, chain.bstart, chain.bend, chain.dotted)
        elif not opaque_reported:
            opaque_reported = True
            yield _opaque(walk, node.start_byte, node.end_byte, None)


def _opaque(walk: Walk, bstart: int, bend: int, dotted: str | None) -> Reference:
    name = walk.name_text(bstart, bend)
    return (bstart, bend, walk.module, name, dotted, "export", "all_opaque", None, None)

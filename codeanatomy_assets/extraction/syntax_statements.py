"""How statements are read: assignments, loops, conditions, global names, type aliases."""

from __future__ import annotations

import re

from tree_sitter import Node

from codeanatomy_assets.contracts.spelling import same_name
from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.scopes import ScopeKind
from codeanatomy_assets.extraction.syntax_facts import DELETE, LOAD, STORE, Place, Role
from codeanatomy_assets.extraction.syntax_headers import open_type_parameters
from codeanatomy_assets.extraction.syntax_walk import Entry, Walk, handles

_TYPE_CHECKING = re.compile(rb"(not\s+)?(?:\w+\.)*TYPE_CHECKING")
_TYPE_ALIAS = re.compile(r"['\"]?(?:\w+\.)*TypeAlias['\"]?")


@handles("assignment")
def _assignment(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """`a = b = value`: the whole chain at once, since each target is assigned the one value."""
    targets: list[tuple[Node | None, Node | None]] = []
    value: Node | None = node
    while value is not None and value.kind_id == g.ASSIGNMENT:
        targets.append((value.child_by_field_id(g.F_LEFT), value.child_by_field_id(g.F_TYPE)))
        value = value.child_by_field_id(g.F_RIGHT)
    assigned = walk.chain(value) if value is not None else None
    entries: list[Entry] = []
    value_entries: list[Entry] = [] if value is None else [(value, place, LOAD)]
    for target, annotation in targets:
        if target is None:
            continue
        if target.kind_id == g.IDENTIFIER:
            walk.refer(target, place, STORE, assigned)
        else:
            entries.append((target, place, STORE))
        if annotation is not None:
            name = _annotated_name(walk, target)
            entries += walk.annotate(annotation, place, "variable", None, name)
            if value is not None and _TYPE_ALIAS.fullmatch(walk.text(annotation)):
                value_entries = walk.annotate(value, place, "alias", None, name)
    walk.push(entries + value_entries)


def _annotated_name(walk: Walk, target: Node) -> str:
    chain = walk.chain(target)
    return chain.dotted if chain else walk.text(target)


@handles("augmented_assignment")
def _augmented_assignment(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """`x += 1` reads and binds `x`: one reference, a store."""
    left = node.child_by_field_id(g.F_LEFT)
    walk.push([(child, place, STORE if child == left else LOAD) for child in g.code_children(node)])


@handles("delete_statement")
def _delete(walk: Walk, node: Node, place: Place, role: Role) -> None:
    walk.push([(child, place, DELETE) for child in g.code_children(node)])


@handles("for_statement")
def _for(walk: Walk, node: Node, place: Place, role: Role) -> None:
    left = node.child_by_field_id(g.F_LEFT)
    inside = place.under_condition()
    walk.push([(child, inside, STORE if child == left else LOAD) for child in g.code_children(node)])


@handles("while_statement", "try_statement", "with_statement", "match_statement")
def _conditional(walk: Walk, node: Node, place: Place, role: Role) -> None:
    inside = place.under_condition()
    walk.push([(child, inside, LOAD) for child in g.code_children(node)])


@handles("if_statement", "elif_clause")
def _if(walk: Walk, node: Node, place: Place, role: Role) -> None:
    inside = place.under_condition()
    condition = node.child_by_field_id(g.F_CONDITION)
    found = _TYPE_CHECKING.fullmatch(walk.content, condition.start_byte, condition.end_byte) if condition else None
    checked_kind = None if found is None else g.ELSE_CLAUSE if found.group(1) else g.BLOCK
    walk.push(
        [
            (child, inside.for_type_checking() if child.kind_id == checked_kind else inside, LOAD)
            for child in g.code_children(node)
        ]
    )


@handles("global_statement")
def _global(walk: Walk, node: Node, place: Place, role: Role) -> None:
    place.scope.global_names.update(same_name(walk.text(child)) for child in g.code_children(node))


@handles("nonlocal_statement")
def _nonlocal(walk: Walk, node: Node, place: Place, role: Role) -> None:
    if place.scope.kind is not ScopeKind.MODULE:
        place.scope.nonlocal_names.update(same_name(walk.text(child)) for child in g.code_children(node))


@handles("type_alias_statement")
def _type_alias(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """`type X[T] = value`: the name is bound here, the value is read where `T` is known."""
    left = node.child_by_field_id(g.F_LEFT)
    value = node.child_by_field_id(g.F_RIGHT)
    name, parameters = _alias_target(left)
    text = walk.refer(name, place, STORE) if name is not None else ""
    entries: list[Entry] = []
    value_place = place
    if parameters is not None:
        value_place, _ = open_type_parameters(walk, parameters, place, None, entries)
    if value is not None:
        entries += walk.annotate(value, value_place, "alias", None, text)
    walk.push(entries)


def _alias_target(left: Node | None) -> tuple[Node | None, Node | None]:
    """The alias' name and its type parameters."""
    name: Node | None = None
    parameters: Node | None = None
    while left is not None and left.kind_id in (g.TYPE, g.GENERIC_TYPE):
        children = g.code_children(left)
        parameters = next((child for child in children if child.kind_id == g.TYPE_PARAMETER), parameters)
        left = children[0] if children else None
    if left is not None and left.kind_id == g.IDENTIFIER:
        name = left
    return name, parameters

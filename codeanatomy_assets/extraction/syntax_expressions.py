"""How expressions and patterns are read: names, attributes, calls, comprehensions, strings, targets."""

from __future__ import annotations

from tree_sitter import Node

from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.scopes import ScopeKind
from codeanatomy_assets.extraction.syntax_facts import LOAD, STORE, Call, Place, Role
from codeanatomy_assets.extraction.syntax_walk import Entry, Walk, handles

# A callee may hold a whole chain of calls, each the callee of the next: unbounded, texts would be quadratic.
MAX_CALLEE_TEXT = 200
_PLAIN_STRING_STARTS = b"'\"`"


@handles("identifier")
def _identifier(walk: Walk, node: Node, place: Place, role: Role) -> None:
    walk.refer(node, place, role)


@handles("attribute")
def _attribute(walk: Walk, node: Node, place: Place, role: Role) -> None:
    inner, _, _ = walk.refer_chain(node, place, role)
    if inner is not None:
        walk.push([(inner, place, LOAD)])


@handles("subscript")
def _subscript(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """`a[i] = x` reads `a` and `i`; the base `Generic[T]` is the base `Generic`."""
    value = node.child_by_field_id(g.F_VALUE)
    inside = role if role.usage == "annotation" else LOAD
    of_value = role if role.usage in ("annotation", "base", "metaclass") else LOAD
    walk.push([(child, place, of_value if child == value else inside) for child in g.code_children(node)])


@handles("member_type")
def _member_type(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """`List[int].x` in an annotation: an attribute of something that is not a name."""
    for child in g.code_children(node):
        if child.kind_id == g.IDENTIFIER:
            bstart, bend = child.start_byte, child.end_byte
            name = walk.name_text(bstart, bend)
            usage, usage_id = role.usage, role.usage_id
            walk.references.append((bstart, bend, place.scope, name, None, "attribute", usage, usage_id, None))
        else:
            walk.push([(child, place, role)])


@handles(
    "comment", "integer", "float", "true", "false", "none", "ellipsis", "pass_statement", "line_continuation",
    "break_statement", "continue_statement", "string_start", "string_content", "string_end",
)  # fmt: skip
def _nothing_inside(walk: Walk, node: Node, place: Place, role: Role) -> None:
    return


@handles("string")
def _string(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """Only the interpolations of an f-string hold names."""
    if walk.content[node.start_byte : node.start_byte + 1] in _PLAIN_STRING_STARTS:
        return
    walk.push([(child, place, LOAD) for child in node.named_children if child.kind_id == g.INTERPOLATION])


@handles("call")
def _call(walk: Walk, node: Node, place: Place, role: Role) -> None:
    function = node.child_by_field_id(g.F_FUNCTION)
    if function is None:
        walk.push([(child, place, LOAD) for child in node.named_children])
        return
    arguments = node.child_by_field_id(g.F_ARGUMENTS)
    if arguments is None:
        given: list[Node] = []
    elif arguments.kind_id == g.GENERATOR:
        given = [arguments]
    else:
        given = g.code_children(arguments)
    callee_text = _callee_text(walk, function)
    call_id, ordinal = walk.call_ids.take((place.scope.def_id,), callee_text)
    callee = g.unwrapped(function)
    inner, chain, last = _refer_callee(walk, callee, place, call_id)
    name = walk.name_text(last.start_byte, last.end_byte) if last is not None else None
    named = last if last is not None else callee
    kind = "other" if last is None else "name" if callee.kind_id == g.IDENTIFIER else "attribute"
    walk.calls.append(
        Call(node, place, call_id, ordinal, callee_text, kind, name, named.start_byte, named.end_byte, chain, given)
    )
    entries: list[Entry] = [] if inner is None else [(inner, place, LOAD)]
    _arguments(walk, given, place, entries)
    walk.push(entries)


def _refer_callee(
    walk: Walk, callee: Node, place: Place, call_id: str
) -> tuple[Node | None, list[str] | None, Node | None]:
    """What of the callee is left to walk, its chain of names, and its last name."""
    if callee.kind_id == g.IDENTIFIER and callee.start_byte != callee.end_byte:
        return None, [walk.refer(callee, place, Role("load", "callee", call_id))], callee
    if callee.kind_id == g.ATTRIBUTE:
        inner, chain, last = walk.refer_chain(callee, place, Role("load", "callee", call_id))
        return inner, chain if last is not None else None, last
    return callee, None, None


def _arguments(walk: Walk, given: list[Node], place: Place, entries: list[Entry]) -> None:
    for argument in given:
        kind = argument.kind_id
        if kind == g.IDENTIFIER:
            walk.refer(argument, place, LOAD)
        elif kind == g.KEYWORD_ARGUMENT:
            value = _keyword(walk, argument, place)
            if value is not None:
                entries.append((value, place, LOAD))
        else:
            entries.append((argument, place, LOAD))


def _keyword(walk: Walk, node: Node, place: Place) -> Node | None:
    name = node.child_by_field_id(g.F_NAME)
    if name is not None:
        walk.refer_member(name, place, "keyword")
    return node.child_by_field_id(g.F_VALUE)


def _callee_text(walk: Walk, function: Node) -> str:
    end = min(function.end_byte, function.start_byte + 4 * MAX_CALLEE_TEXT)
    written = walk.content[function.start_byte : end]
    text = walk.callee_texts.get(written)
    if text is None:
        text = " ".join(written.decode("utf-8", "replace").split())[:MAX_CALLEE_TEXT]
        walk.callee_texts[written] = text
    return text


@handles("keyword_argument")
def _keyword_argument(walk: Walk, node: Node, place: Place, role: Role) -> None:
    value = _keyword(walk, node, place)
    if value is not None:
        walk.push([(value, place, LOAD)])


@handles("named_expression")
def _named_expression(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """`:=` in a comprehension binds outside of it."""
    name = node.child_by_field_id(g.F_NAME)
    value = node.child_by_field_id(g.F_VALUE)
    if name is not None:
        place_around = place.within(place.scope.around_comprehensions())
        walk.refer(name, place_around, STORE, walk.chain(value) if value is not None else None)
    if value is not None:
        walk.push([(value, place, LOAD)])


@handles("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression")
def _comprehension(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """All of it is evaluated in a scope of its own, but for the first iterable."""
    if walk.is_too_deep(node, place):
        return
    around = place.scope
    scope = walk.open_scope(ScopeKind.COMPREHENSION, around, around.def_id, around.def_id)
    inside = place.within(scope)
    entries: list[Entry] = []
    iterable_place = place
    for child in g.code_children(node):
        if child.kind_id != g.FOR_IN_CLAUSE:
            entries.append((child, inside, LOAD))
            continue
        left = child.child_by_field_id(g.F_LEFT)
        for part in g.code_children(child):
            is_target = part == left
            entries.append((part, inside if is_target else iterable_place, STORE if is_target else LOAD))
        iterable_place = inside
    walk.push(entries)


@handles("as_pattern")
def _as_pattern(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """`x as y` in with, except and case: what stands before `as` is read as its surroundings say."""
    children = g.code_children(node)
    walk.push([(child, place, STORE if at else role) for at, child in enumerate(children)])


@handles("case_pattern")
def _case_pattern(walk: Walk, node: Node, place: Place, role: Role) -> None:
    walk.push([(child, place, STORE) for child in g.code_children(node)])


@handles("class_pattern")
def _class_pattern(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """The class is read, the patterns inside bind."""
    children = g.code_children(node)
    walk.push([(child, place, STORE if at else LOAD) for at, child in enumerate(children)])


@handles("keyword_pattern")
def _keyword_pattern(walk: Walk, node: Node, place: Place, role: Role) -> None:
    children = g.code_children(node)
    if children:
        walk.refer_member(children[0], place, "keyword")
    walk.push([(child, place, STORE) for child in children[1:]])


@handles("dotted_name")
def _dotted_name(walk: Walk, node: Node, place: Place, role: Role) -> None:
    """In a pattern, one name captures and a dotted one is compared with."""
    names = [child for child in g.code_children(node) if child.kind_id == g.IDENTIFIER]
    if len(names) == 1:
        walk.refer(names[0], place, role)
    elif names:
        first = walk.refer(names[0], place, LOAD)
        walk.refer_links(names[:0:-1], [first], place, LOAD)

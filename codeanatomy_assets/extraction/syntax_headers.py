"""How definitions are read: decorators, type parameters, parameters, bases; and where each is evaluated.

Decorators, defaults, annotations and bases stand in the scope around the definition (annotations and
bases inside its PEP 695 type parameters, if it has any); only the body stands in its own.
"""

from __future__ import annotations

from tree_sitter import Node

from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.scopes import ScopeKind
from codeanatomy_assets.extraction.syntax_facts import LOAD, STORE, Definition, Parameter, Place, Role
from codeanatomy_assets.extraction.syntax_walk import Entry, Walk, handles

_PARAMETER = Role("parameter")


@handles("decorated_definition")
def _decorated(walk: Walk, node: Node, place: Place, role: Role) -> None:
    definition = node.child_by_field_id(g.F_DEFINITION)
    decorators = [child for child in g.code_children(node) if child.kind_id == g.DECORATOR]
    if definition is None:
        walk.push([(decorator, place, LOAD) for decorator in decorators])
    else:
        _define(walk, definition, place, decorators)


@handles("function_definition", "class_definition")
def _undecorated(walk: Walk, node: Node, place: Place, role: Role) -> None:
    _define(walk, node, place, [])


def _define(walk: Walk, node: Node, place: Place, decorators: list[Node]) -> None:
    if walk.is_too_deep(node, place):
        return
    kind = "function" if node.kind_id == g.FUNCTION else "class"
    definition = walk.define(node, node.child_by_field_id(g.F_NAME), kind, place)
    entries: list[Entry] = []
    for decorator in decorators:
        expressions = g.code_children(decorator)
        definition.decorators += expressions[:1]
        entries += [(g.unwrapped(each), place, Role("load", "decorator", definition.def_id)) for each in expressions]
    header = place
    parameters = node.child_by_field_id(g.F_TYPE_PARAMETERS)
    if parameters is not None:
        header, definition.type_parameters = open_type_parameters(walk, parameters, place, definition, entries)
    if kind == "function":
        _function(walk, definition, place, header, entries)
    else:
        _class(walk, definition, place, header, entries)
    walk.push(entries)


def _function(walk: Walk, definition: Definition, place: Place, header: Place, entries: list[Entry]) -> None:
    node = definition.node
    def_id = definition.def_id
    scope = walk.open_scope(ScopeKind.FUNCTION, header.scope, def_id, def_id)
    walk.bind_definition(definition, place, scope)
    inside = place.body_of(scope)
    definition.parameters = read_parameters(walk, node.child_by_field_id(g.F_PARAMETERS))
    if place.scope.kind is ScopeKind.CLASS:
        scope.receiver = _receiver(walk, definition)
    _parameters(walk, definition, place, header, inside, entries)
    returns = node.child_by_field_id(g.F_RETURN_TYPE)
    if returns is not None:
        entries += walk.annotate(returns, header, "return", definition, None)
    _body(node, inside, entries)


def _receiver(walk: Walk, definition: Definition) -> str | None:
    first = definition.parameters[:1]
    if not first or first[0].kind not in ("positional", "positional_only"):
        return None
    is_static = any(walk.text(decorator) == "staticmethod" for decorator in definition.decorators)
    return None if is_static else first[0].name


@handles("lambda")
def _lambda(walk: Walk, node: Node, place: Place, role: Role) -> None:
    if walk.is_too_deep(node, place):
        return
    definition = walk.define(node, None, "lambda", place)
    scope = walk.open_scope(ScopeKind.FUNCTION, place.scope, definition.def_id, definition.def_id)
    inside = place.body_of(scope)
    definition.parameters = read_parameters(walk, node.child_by_field_id(g.F_PARAMETERS))
    entries: list[Entry] = []
    _parameters(walk, definition, place, place, inside, entries)
    _body(node, inside, entries)
    walk.push(entries)


def _class(walk: Walk, definition: Definition, place: Place, header: Place, entries: list[Entry]) -> None:
    node = definition.node
    def_id = definition.def_id
    scope = walk.open_scope(ScopeKind.CLASS, header.scope, def_id, def_id)
    walk.bind_definition(definition, place, scope)
    base = Role("load", "base", def_id)
    for argument in class_arguments(node):
        if argument.kind_id != g.KEYWORD_ARGUMENT:
            entries.append((g.unwrapped(argument), header, base))
            continue
        name = argument.child_by_field_id(g.F_NAME)
        value = argument.child_by_field_id(g.F_VALUE)
        if name is not None:
            walk.refer_member(name, header, "keyword")
        if value is not None:
            is_metaclass = name is not None and walk.text(name) == "metaclass"
            entries.append((value, header, Role("load", "metaclass", def_id) if is_metaclass else LOAD))
    _body(node, place.body_of(scope), entries)


def class_arguments(node: Node) -> list[Node]:
    """What stands between the parentheses of a class header."""
    superclasses = node.child_by_field_id(g.F_SUPERCLASSES)
    return g.code_children(superclasses) if superclasses is not None else []


def _body(node: Node, inside: Place, entries: list[Entry]) -> None:
    body = node.child_by_field_id(g.F_BODY)
    if body is not None:
        entries.append((body, inside, LOAD))


def _parameters(
    walk: Walk, definition: Definition, place: Place, header: Place, inside: Place, entries: list[Entry]
) -> None:
    for parameter in definition.parameters:
        for name in parameter.names:
            walk.refer(name, inside, _PARAMETER)
        if parameter.annotation is not None:
            entries += walk.annotate(parameter.annotation, header, "parameter", definition, parameter.name)
        if parameter.default is not None:
            entries.append((parameter.default, place, LOAD))


def read_parameters(walk: Walk, node: Node | None) -> list[Parameter]:
    """The parameters with their kinds, which the separators and stars before and after them decide."""
    found: list[Parameter] = []
    kind = "positional"
    for child in g.code_children(node) if node is not None else ():
        if child.kind_id == g.POSITIONAL_SEPARATOR:
            for parameter in found:
                parameter.kind = "positional_only"
        elif child.kind_id == g.KEYWORD_SEPARATOR:
            kind = "keyword_only"
        else:
            parameter = _read_parameter(walk, child, kind)
            found.append(parameter)
            if parameter.kind == "vararg":
                kind = "keyword_only"
    return found


def _read_parameter(walk: Walk, node: Node, kind: str) -> Parameter:
    if node.kind_id == g.IDENTIFIER:
        return Parameter(walk.text(node), kind, [node], None, None, node.start_byte, node.end_byte)
    annotation = node.child_by_field_id(g.F_TYPE)
    default = node.child_by_field_id(g.F_VALUE)
    pattern = node.child_by_field_id(g.F_NAME)
    if pattern is None and node.kind_id == g.TYPED_PARAMETER:
        pattern = next(iter(g.code_children(node)), None)
    if pattern is None:
        pattern = node
    if pattern.kind_id == g.LIST_SPLAT_PATTERN:
        kind = "vararg"
    elif pattern.kind_id == g.DICTIONARY_SPLAT_PATTERN:
        kind = "kwarg"
    names = _names_in(pattern)
    named = names[0] if len(names) == 1 and pattern.kind_id != g.TUPLE_PATTERN else pattern
    return Parameter(walk.text(named), kind, names, annotation, default, named.start_byte, named.end_byte)


def _names_in(pattern: Node) -> list[Node]:
    """One name, but for Python 2's `def f((a, b))`."""
    if pattern.kind_id == g.IDENTIFIER:
        return [pattern]
    found: list[Node] = []
    stack = [pattern]
    while stack:
        node = stack.pop()
        if node.kind_id == g.IDENTIFIER:
            found.append(node)
        else:
            stack += reversed(node.named_children)
    return found


def open_type_parameters(
    walk: Walk, node: Node, place: Place, definition: Definition | None, entries: list[Entry]
) -> tuple[Place, list[Node]]:
    """PEP 695: a scope between header and surroundings that binds the parameters; bounds are read in it."""
    around = place.scope
    binds_id = definition.def_id if definition else around.def_id
    scope = walk.open_scope(ScopeKind.TYPE_PARAMETERS, around, around.def_id, binds_id)
    header = place.within(scope)
    parameters = g.code_children(node)
    for parameter in parameters:
        name, bound = _type_parameter(parameter)
        if name is None or node.has_error and not _starts_parameter(walk, node, name):
            entries.append((parameter, header, LOAD))
            continue
        text = walk.refer(name, header, STORE)
        if bound is not None:
            entries += walk.annotate(bound, header, "bound", None, text)
    return header, parameters


def _starts_parameter(walk: Walk, node: Node, name: Node) -> bool:
    """PEP 696 defaults are errors to the grammar, which then takes `int` of `[T = int]` for a parameter."""
    before = walk.content[node.start_byte : name.start_byte].rstrip(b" \t\r\n\f\\*")
    return before.endswith((b"[", b","))


def _type_parameter(node: Node) -> tuple[Node | None, Node | None]:
    """The name and the bound of `T`, `T: int`, `*Ts` or `**P`."""
    bound: Node | None = None
    inner: Node | None = node
    while inner is not None and (inner.is_error or inner.kind_id in (g.TYPE, g.CONSTRAINED_TYPE, g.SPLAT_TYPE)):
        children = g.code_children(inner)
        if inner.kind_id == g.CONSTRAINED_TYPE and len(children) > 1:
            bound = children[1]
        inner = children[0] if children else None
    return (inner, bound) if inner is not None and inner.kind_id == g.IDENTIFIER else (None, None)

"""One walk over a file's syntax tree, in source order and without recursion, that fills the facts.

How a node kind is read stands in a handler (syntax_expressions, syntax_statements, syntax_headers,
syntax_imports); a kind without one is passed through. Handlers push what they want walked, so depth
is bounded by memory, not by the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tree_sitter import Node

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.scopes import Defined, Scope, ScopeKind, settle
from codeanatomy_assets.extraction.syntax_facts import (
    LOAD,
    Assigned,
    Call,
    Definition,
    ImportClause,
    OrdinalIds,
    Place,
    Reference,
    Role,
    TypeExpr,
)

# Python allows 100 levels of indentation; past this, qualified names would outgrow the file.
MAX_SCOPE_DEPTH = 120
# A longer chain of attributes is still read name by name, but has no dotted text.
MAX_CHAIN = 64

Entry = tuple[Node, Place, Role]
Handler = Callable[["Walk", Node, Place, Role], None]
HANDLERS: dict[int, Handler] = {}


def handles(*kinds: str) -> Callable[[Handler], Handler]:
    """Registers how nodes of these kinds are read."""

    def register(handler: Handler) -> Handler:
        for name in kinds:
            HANDLERS[g.kind(name)] = handler
        return handler

    return register


class Walk:
    """The walk and what it found. `claimed` holds, per node kind asked for, each node and its place."""

    def __init__(self, file_id: str, content: bytes, root: Node, claims: Iterable[str] = ()) -> None:
        self.file_id = file_id
        self.content = content
        self.root = root
        self.module = Scope(ScopeKind.MODULE, None, None, None)
        self.scopes = [self.module]
        self.definitions: list[Definition] = []
        self.references: list[Reference] = []
        self.calls: list[Call] = []
        self.imports: list[ImportClause] = []
        self.type_exprs: list[TypeExpr] = []
        self.too_deep: list[Node] = []
        self.claimed: dict[str, list[tuple[Node, Place]]] = {name: [] for name in claims}
        self.call_ids = OrdinalIds(identity.CALL, file_id)
        self.callee_texts: dict[bytes, str] = {}
        self._def_ids = OrdinalIds(identity.DEF, file_id)
        self._type_ids = OrdinalIds(identity.TYPE_EXPR, file_id)
        self._owners: dict[str | None, Definition | None] = {None: None}
        self._module_lambdas = 0
        self._names: dict[bytes, str] = {}
        self._stack: list[Entry] = []

    def run(self) -> Walk:
        handlers = self._handlers()
        stack = self._stack
        stack.append((self.root, Place(self.module), LOAD))
        while stack:
            node, place, role = stack.pop()
            handler = handlers.get(node.kind_id)
            if handler is not None:
                handler(self, node, place, role)
                continue
            for child in reversed(node.named_children):
                # Names open no scope and hold nothing to walk: no need to keep them in order.
                if child.kind_id == g.IDENTIFIER:
                    self.refer(child, place, role)
                else:
                    stack.append((child, place, role))
        settle(self.scopes)
        return self

    def _handlers(self) -> dict[int, Handler]:
        handlers = dict(HANDLERS)
        for name, found in self.claimed.items():
            handlers[g.kind(name)] = _claiming(found, handlers.get(g.kind(name), _pass_through))
        return handlers

    def push(self, entries: list[Entry]) -> None:
        """What to walk next, in source order."""
        entries.reverse()
        self._stack += entries

    def text(self, node: Node) -> str:
        return self.content[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def opening(self, node: Node, limit: int) -> str:
        """The text's first characters, without reading the rest."""
        end = min(node.end_byte, node.start_byte + 4 * limit)
        return self.content[node.start_byte : end].decode("utf-8", "replace")[:limit]

    def name_text(self, bstart: int, bend: int) -> str:
        """An identifier: one string per spelling, because names repeat."""
        spelling = self.content[bstart:bend]
        name = self._names.get(spelling)
        if name is None:
            name = self._names[spelling] = spelling.decode("utf-8", "replace")
        return name

    def refer(self, node: Node, place: Place, role: Role, assigned: Assigned | None = None) -> str:
        """Record a name, and bind it in its scope if it is stored or deleted. Gives the name."""
        bstart = node.start_byte
        bend = node.end_byte
        name = self.name_text(bstart, bend)
        if not name:
            return name
        context, usage, usage_id = role
        self.references.append((bstart, bend, place.scope, name, name, context, usage, usage_id, assigned))
        if context != "load":
            place.scope.bind(name)
        return name

    def refer_member(self, node: Node, place: Place, context: str) -> None:
        """Record the name of a keyword, which no scope binds."""
        bstart = node.start_byte
        bend = node.end_byte
        if bstart != bend:
            name = self.name_text(bstart, bend)
            self.references.append((bstart, bend, place.scope, name, None, context, "value", None, None))

    def refer_chain(self, node: Node, place: Place, role: Role) -> tuple[Node | None, list[str] | None, Node | None]:
        """Record `a.b.c`: the last name has the role, those before are plain values.

        Gives the innermost object if it is not a name, for the caller to walk; the chain's names if it
        is names and dots only; and the last name.
        """
        links: list[Node] = []
        inner: Node | None = node
        while inner is not None and inner.kind_id == g.ATTRIBUTE:
            link = inner.child_by_field_id(g.F_ATTRIBUTE)
            if link is not None and link.start_byte != link.end_byte:
                links.append(link)
            inner = inner.child_by_field_id(g.F_OBJECT)
        names: list[str] | None = None
        if inner is not None and inner.kind_id == g.IDENTIFIER:
            names = [self.refer(inner, place, LOAD if links else role)]
            inner = None
        self.refer_links(links, names, place, role)
        return inner, names, links[0] if links else None

    def refer_links(self, links: list[Node], names: list[str] | None, place: Place, role: Role) -> None:
        """Record the attributes of a chain, last link first, behind the names before them."""
        dotted = names[0] if names else None
        scope = place.scope
        for left in range(len(links) - 1, -1, -1):
            bstart = links[left].start_byte
            bend = links[left].end_byte
            name = self.name_text(bstart, bend)
            if names is not None:
                names.append(name)
                dotted = f"{dotted}.{name}" if dotted and len(names) <= MAX_CHAIN else None
            usage, usage_id = ("value", None) if left else (role.usage, role.usage_id)
            self.references.append((bstart, bend, scope, name, dotted, "attribute", usage, usage_id, None))

    def chain(self, node: Node) -> Assigned | None:
        """The expression's dotted text and last name's span, if it is names and dots only. Records nothing."""
        names: list[str] = []
        last = node if node.kind_id == g.IDENTIFIER else node.child_by_field_id(g.F_ATTRIBUTE)
        inner: Node | None = node
        while inner is not None and inner.kind_id == g.ATTRIBUTE and len(names) < MAX_CHAIN:
            link = inner.child_by_field_id(g.F_ATTRIBUTE)
            if link is None:
                return None
            names.append(self.text(link))
            inner = inner.child_by_field_id(g.F_OBJECT)
        if inner is None or last is None or inner.kind_id != g.IDENTIFIER:
            return None
        names.append(self.text(inner))
        return Assigned(".".join(reversed(names)), last.start_byte, last.end_byte)

    def is_too_deep(self, node: Node, place: Place) -> bool:
        """Whether scopes nest past the limit here; if so it is recorded, and what is inside is not read."""
        if place.scope.depth < MAX_SCOPE_DEPTH:
            return False
        self.too_deep.append(node)
        return True

    def open_scope(self, kind: ScopeKind, parent: Scope, def_id: str | None, binds_id: str | None) -> Scope:
        """A scope inside another."""
        scope = Scope(kind, parent, def_id, binds_id)
        self.scopes.append(scope)
        return scope

    def define(self, node: Node, name_node: Node | None, kind: str, place: Place) -> Definition:
        """A new definition in this place: its id, qualified name and ordinal."""
        parent = self._owners[place.scope.def_id]
        name, bstart, bend = self._definition_name(node, name_node, parent)
        local_qname = f"{parent.local_qname}.{name}" if parent else name
        def_id, ordinal = self._def_ids.take((kind,), local_qname)
        definition = Definition(node, kind, name, local_qname, def_id, ordinal, parent, place.conditional, bstart, bend)
        self.definitions.append(definition)
        self._owners[def_id] = definition
        return definition

    def _definition_name(self, node: Node, name_node: Node | None, parent: Definition | None) -> tuple[str, int, int]:
        if name_node is not None:
            name = self.text(name_node) or "<missing>"
            return name, name_node.start_byte, name_node.end_byte
        if node.kind_id != g.LAMBDA:
            return "<missing>", node.start_byte, node.start_byte
        if parent is None:
            self._module_lambdas += 1
            number = self._module_lambdas
        else:
            parent.lambdas += 1
            number = parent.lambdas
        return f"<lambda{number}>", node.start_byte, node.start_byte + len("lambda")

    def bind_definition(self, definition: Definition, place: Place, scope: Scope) -> None:
        place.scope.bind(definition.name, Defined(definition.local_qname, scope))

    def annotate(
        self, node: Node, place: Place, role: str, definition: Definition | None, name: str | None
    ) -> list[Entry]:
        """Record a type expression, and give its parts to walk: their last names are its annotations."""
        text = self.text(node)
        type_expr_id, ordinal = self._type_ids.take((place.scope.def_id, role), text)
        def_id = definition.def_id if definition else None
        self.type_exprs.append(TypeExpr(node, place.scope, type_expr_id, ordinal, role, def_id, name, text))
        return [(part, place, Role("load", "annotation", type_expr_id)) for part in g.annotation_parts(node)]


def _pass_through(walk: Walk, node: Node, place: Place, role: Role) -> None:
    walk.push([(child, place, role) for child in node.named_children])


def _claiming(found: list[tuple[Node, Place]], handler: Handler) -> Handler:
    def claim_and_handle(walk: Walk, node: Node, place: Place, role: Role) -> None:
        found.append((node, place))
        handler(walk, node, place, role)

    return claim_and_handle

"""What the walk over a syntax tree hands to the collectors: one small record per thing found."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from tree_sitter import Node

from codeanatomy_assets.contracts.identity import HEX_DIGITS, IdRecipe
from codeanatomy_assets.extraction.scopes import Scope

Row = tuple[object, ...]


class Role(NamedTuple):
    """How an expression's last name is used, and by which call, definition or type expression."""

    context: str
    usage: str = "value"
    usage_id: str | None = None


LOAD = Role("load")
STORE = Role("store")
DELETE = Role("delete")


class Place:
    """Where a node stands: its scope, and what that scope's statements around it say."""

    __slots__ = ("conditional", "scope", "type_checking")

    def __init__(self, scope: Scope, conditional: bool = False, type_checking: bool = False) -> None:
        self.scope = scope
        self.conditional = conditional
        self.type_checking = type_checking

    def within(self, scope: Scope) -> Place:
        """The same statement, seen from a scope inside it."""
        return Place(scope, self.conditional, self.type_checking)

    def body_of(self, scope: Scope) -> Place:
        """A definition's body: being conditional is said of its container only."""
        return Place(scope, False, self.type_checking)

    def under_condition(self) -> Place:
        return self if self.conditional else Place(self.scope, True, self.type_checking)

    def for_type_checking(self) -> Place:
        return Place(self.scope, True, True)


class Assigned(NamedTuple):
    """The chain of names on the right of an assignment, and the span of its last name."""

    dotted: str
    bstart: int
    bend: int


# bstart, bend, scope, name, dotted, context, usage, usage_id, assigned.
# A plain tuple: a file has tens of thousands, and a NamedTuple takes five times as long to make.
Reference = tuple[int, int, Scope, str, str | None, str, str, str | None, Assigned | None]


@dataclass(slots=True)
class Parameter:
    """One parameter of a function or lambda, as its header says."""

    name: str
    kind: str
    names: list[Node]
    annotation: Node | None
    default: Node | None
    bstart: int
    bend: int


@dataclass(slots=True)
class Definition:
    """A function, class or lambda."""

    node: Node
    kind: str
    name: str
    local_qname: str
    def_id: str
    ordinal: int
    parent: Definition | None
    conditional: bool
    name_bstart: int
    name_bend: int
    decorators: list[Node] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    type_parameters: list[Node] = field(default_factory=list)
    lambdas: int = 0


class Call(NamedTuple):
    """A call expression. `chain` is the callee's names, if it is names and dots only."""

    node: Node
    place: Place
    call_id: str
    ordinal: int
    callee_text: str
    callee_kind: str
    callee_name: str | None
    callee_bstart: int
    callee_bend: int
    chain: list[str] | None
    arguments: list[Node]


class ImportClause(NamedTuple):
    """One clause of an import statement."""

    place: Place
    kind: str
    level: int
    module: str
    name: str | None
    alias: str | None
    bound_name: str | None
    module_span: tuple[int, int]
    name_span: tuple[int, int] | None
    span: tuple[int, int]


class TypeExpr(NamedTuple):
    """An annotation, an alias' value or a bound."""

    node: Node
    scope: Scope
    type_expr_id: str
    ordinal: int
    role: str
    annotated_def_id: str | None
    annotated_name: str | None
    text: str


class _EncodedParts(dict[str | None, bytes]):
    """Parts of ids as `contracts.identity` lays them out, each encoded once: names repeat."""

    def __missing__(self, value: str | None) -> bytes:
        text = value.encode() if value is not None else b""
        encoded = self[value] = b"%d:%b" % (len(text), text) if value is not None else b"-"
        return encoded


# Few things have more equals than this under one definition.
_CACHED_ORDINALS = 256
_ORDINALS = tuple(b"%d:%d" % (len(str(ordinal)), ordinal) for ordinal in range(_CACHED_ORDINALS))


class OrdinalIds:
    """Ids of one recipe in one file, whose last part is the ordinal among equals, in the order asked for.

    Gives what `IdRecipe.of` gives, at half the cost: what equals share is encoded once.
    """

    __slots__ = ("_encoded", "_families", "_file", "_prefix")

    def __init__(self, recipe: IdRecipe, file_id: str) -> None:
        self._prefix = f"{recipe.prefix}_"
        self._encoded = _EncodedParts()
        self._file = self._encoded[file_id]
        self._families: dict[tuple[str | None, ...], tuple[bytes, dict[str, int]]] = {}

    def take(self, family: tuple[str | None, ...], text: str) -> tuple[str, int]:
        """The next id and ordinal; `family` is the recipe's parts between the file and the text."""
        known = self._families.get(family)
        if known is None:
            head = self._file
            for part in family:
                head += self._encoded[part]
            known = self._families[family] = head, {}
        head, seen = known
        ordinal = seen.get(text, 0)
        seen[text] = ordinal + 1
        last = _ORDINALS[ordinal] if ordinal < _CACHED_ORDINALS else self._encoded[str(ordinal)]
        return self._prefix + sha256(head + self._encoded[text] + last).hexdigest()[:HEX_DIGITS], ordinal

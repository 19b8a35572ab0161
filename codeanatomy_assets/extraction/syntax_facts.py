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


@dataclass(slots=True)
class Call:
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


@dataclass(slots=True)
class ImportClause:
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


@dataclass(slots=True)
class TypeExpr:
    """An annotation, an alias' value or a bound."""

    node: Node
    scope: Scope
    type_expr_id: str
    ordinal: int
    role: str
    annotated_def_id: str | None
    annotated_name: str | None
    text: str


def encoded_part(value: str | None) -> bytes:
    """One part of an id, as `contracts.identity` lays it out."""
    if value is None:
        return b"-"
    text = value.encode()
    return b"%d:%b" % (len(text), text)


class EncodedParts(dict[str | None, bytes]):
    """Parts of ids, each encoded once: scopes and names repeat."""

    def __missing__(self, value: str | None) -> bytes:
        encoded = self[value] = encoded_part(value)
        return encoded


# Few things have more equals than this in one scope.
_ORDINALS = tuple(encoded_part(str(ordinal)) for ordinal in range(256))


class OrdinalIds:
    """Ids of one recipe in one file, whose last part is the ordinal among equals, in the order asked for.

    Gives what `IdRecipe.of` gives, with the parts that rows share encoded once.
    """

    __slots__ = ("_file", "_prefix", "_seen")

    def __init__(self, recipe: IdRecipe, file_id: str) -> None:
        self._prefix = f"{recipe.prefix}_"
        self._file = encoded_part(file_id)
        self._seen: dict[bytes, int] = {}

    def take(self, between: bytes) -> tuple[str, int]:
        """The next id and ordinal; `between` is the encoded parts between file and ordinal."""
        seen = self._seen
        ordinal = seen.get(between, 0)
        seen[between] = ordinal + 1
        last = _ORDINALS[ordinal] if ordinal < len(_ORDINALS) else encoded_part(str(ordinal))
        return self._prefix + sha256(self._file + between + last).hexdigest()[:HEX_DIGITS], ordinal

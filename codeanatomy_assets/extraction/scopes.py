"""Python's scopes: which scope binds a name, and what a name may stand for. Knows no syntax tree.

Scopes are filled while a file is walked and asked only after `settle`, since a name may be bound
further down than it is read. Known limit: private names (`__x` in a class) are not mangled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from codeanatomy_assets.contracts.spelling import same_name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Written out, not taken from the running interpreter: rows must not depend on its version or platform.
BUILTINS = _words(
    """
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
    BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
    ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception
    ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError
    ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError
    KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NotADirectoryError NotImplemented
    NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
    PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration
    StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError
    UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning
    UserWarning ValueError Warning WindowsError ZeroDivisionError __build_class__ __debug__ __import__ abs aiter all
    anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright credits
    delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help
    hex id input int isinstance issubclass iter len license list locals map max memoryview min next object oct open
    ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple
    type vars zip
    """
)
MODULE_NAMES = _words(
    """
    __name__ __file__ __doc__ __package__ __spec__ __loader__ __path__ __builtins__ __annotations__ __cached__ __dict__
    """
)
CLASS_NAMES = _words("__module__ __qualname__")


class ScopeKind(Enum):
    """The places Python keeps names in."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    COMPREHENSION = "comprehension"
    TYPE_PARAMETERS = "type_parameters"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import clause binds a name to: `from .core import f` is `core.f` at level 1."""

    qname: str
    level: int


@dataclass(frozen=True, slots=True, eq=False)
class Defined:
    """A definition of this file that a name is bound to, and the scope of its body."""

    local_qname: str
    scope: Scope


Origin = Imported | Defined


class Binding(NamedTuple):
    """How a name is bound: the contract's word, the scope, and the definition that scope belongs to."""

    kind: str
    scope: Scope | None
    scope_id: str | None


class Scope:
    """One scope. `def_id` owns the names that stand in it, `binds_id` the names that it binds.

    The two differ for PEP 695 parameters only: they stand in the header, and belong to what it heads.
    """

    __slots__ = (
        "bindings",
        "binds_id",
        "bound",
        "def_id",
        "depth",
        "global_names",
        "kind",
        "module",
        "nonlocal_names",
        "parent",
        "receiver",
    )

    def __init__(self, kind: ScopeKind, parent: Scope | None, def_id: str | None, binds_id: str | None) -> None:
        self.kind = kind
        self.parent = parent
        self.def_id = def_id
        self.binds_id = binds_id
        self.depth: int = parent.depth + 1 if parent else 0
        self.module: Scope = parent.module if parent else self
        self.bound: dict[str, list[Origin]] = {}
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()
        # A method's first parameter: calls through it may reach the class the method stands in.
        self.receiver: str | None = None
        self.bindings: dict[str, Binding] = {}

    def bind(self, name: str, origin: Origin | None = None) -> None:
        """Say that this scope binds the name, and to what if that is a definition or an import."""
        origins = self.bound.setdefault(same_name(name), [])
        if origin is not None:
            origins.append(origin)

    def around_comprehensions(self) -> Scope:
        """Where `:=` binds: the scope around the comprehensions that it stands in."""
        scope = self
        while scope.kind is ScopeKind.COMPREHENSION and scope.parent is not None:
            scope = scope.parent
        return scope

    def binding(self, name: str) -> Binding:
        """How the name is bound, seen from this scope."""
        known = self.bindings.get(name)
        if known is None:
            known = self.bindings[name] = self._find_binding(same_name(name))
        return known

    def _find_binding(self, name: str) -> Binding:
        scope = self._binder(name)
        if scope is None:
            return self._unbound(name)
        if scope.kind is ScopeKind.MODULE:
            return Binding("global", scope, None)
        if scope.kind is ScopeKind.CLASS:
            return Binding("class", scope, scope.binds_id)
        is_own = scope is self or scope.binds_id == self.def_id
        return Binding("local" if is_own else "enclosing", scope, scope.binds_id)

    def _unbound(self, name: str) -> Binding:
        if self.kind is ScopeKind.CLASS and name in CLASS_NAMES:
            return Binding("class", None, self.binds_id)
        if name in MODULE_NAMES:
            return Binding("global", None, None)
        return Binding("builtin" if name in BUILTINS else "unresolved", None, None)

    def _binder(self, name: str) -> Scope | None:
        if name in self.global_names:
            return self.module
        if name in self.bound:
            return self
        sees_class = self.kind is ScopeKind.TYPE_PARAMETERS
        scope = self.parent
        while scope is not None:
            # A class body is seen from its own statements and from PEP 695 headers right in it, not from methods.
            if scope.kind is not ScopeKind.CLASS or sees_class:
                if name in scope.global_names:
                    return self.module
                if name in scope.bound and not (scope is self.module and name in self.nonlocal_names):
                    return scope
            sees_class = sees_class and scope.kind is ScopeKind.TYPE_PARAMETERS
            scope = scope.parent
        return None


def settle(scopes: Iterable[Scope]) -> None:
    """Hand what a scope binds under `global` or `nonlocal` to the scope that owns the name."""
    for scope in scopes:
        for name in scope.global_names:
            if scope is not scope.module and name in scope.bound:
                scope.module.bound.setdefault(name, []).extend(scope.bound.pop(name))
        for name in scope.nonlocal_names:
            origins = scope.bound.pop(name, [])
            owner = scope._binder(name)
            if owner is not None:
                owner.bound[name].extend(origins)

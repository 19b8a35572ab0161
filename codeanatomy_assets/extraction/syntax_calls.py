"""Collector of cst_callsites: calls, and the qualified names a callee may go by.

Candidates come from what the callee's first name is bound to, in the order it was bound: import
clauses, definitions of this file (through classes, member by member, and through a method's first
parameter), else builtins. A module that star-imports may get any name from there, builtins' names
included, so a name the module does not bind itself has a candidate per star import first.
"""

from __future__ import annotations

from tree_sitter import Node

from codeanatomy_assets.contracts.spelling import same_name
from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.scopes import Imported, Origin, Scope, ScopeKind
from codeanatomy_assets.extraction.syntax_facts import Call, Row
from codeanatomy_assets.extraction.syntax_walk import Walk

Candidate = tuple[str, int, str]


def callsite_rows(walk: Walk) -> list[Row]:
    stars = star_imports(walk)
    return [_row(walk, call, stars) for call in walk.calls]


def _row(walk: Walk, call: Call, stars: list[Imported]) -> Row:
    return (
        walk.file_id,
        call.call_id,
        call.place.scope.def_id,
        call.callee_text,
        call.callee_kind,
        call.callee_name,
        call.callee_bstart,
        call.callee_bend,
        [_argument(walk, argument) for argument in call.arguments],
        [
            {"qname": qname, "level": level, "source": source}
            for qname, level, source in candidates(call.place.scope, call.chain, stars)
        ],
        call.ordinal,
        call.node.start_byte,
        call.node.end_byte,
    )


def _argument(walk: Walk, argument: Node) -> dict[str, object]:
    """The argument as written, stars and keyword included."""
    kind, name = "positional", None
    if argument.kind_id == g.KEYWORD_ARGUMENT:
        keyword = argument.child_by_field_id(g.F_NAME)
        kind, name = "keyword", walk.text(keyword) if keyword is not None else None
    elif argument.kind_id == g.LIST_SPLAT:
        kind = "star"
    elif argument.kind_id == g.DICTIONARY_SPLAT:
        kind = "double_star"
    return {"kind": kind, "name": name, "bstart": argument.start_byte, "bend": argument.end_byte}


def star_imports(walk: Walk) -> list[Imported]:
    """The modules whose names the file may have without saying so."""
    found = (clause for clause in walk.imports if clause.kind == "star")
    return list(dict.fromkeys(Imported(clause.module, clause.level) for clause in found))


def candidates(scope: Scope, chain: list[str] | None, stars: list[Imported]) -> list[Candidate]:
    """The qualified names that a chain of names may go by, seen from this scope."""
    if not chain:
        return []
    binding = scope.binding(chain[0])
    binder = binding.scope
    if binder is None:
        if binding.kind not in ("builtin", "unresolved"):
            return []
        found = [(_joined(star.qname, chain), star.level, "star") for star in stars]
        if binding.kind == "builtin":
            found.append((_joined("builtins", chain), 0, "builtin"))
        return found
    origins: list[Origin] = binder.bound[same_name(chain[0])]
    if not origins and len(chain) > 1 and binder.receiver == chain[0] and binder.parent is not None:
        origins = _members(_class_around(binder), chain[1])
        return _described(origins, chain[2:])
    return _described(origins, chain[1:])


def _described(origins: list[Origin], rest: list[str]) -> list[Candidate]:
    found: dict[Candidate, None] = {}
    for origin in origins:
        for at, name in enumerate(rest):
            if isinstance(origin, Imported):
                found[_joined(origin.qname, rest[at:]), origin.level, "import"] = None
                break
            members = _members(origin.scope, name)
            if not members:
                break
            # A member bound twice is followed through its last binding, as reading the class would.
            origin = members[-1]
        else:
            found[_whole(origin)] = None
    return list(found)


def _whole(origin: Origin) -> Candidate:
    if isinstance(origin, Imported):
        return origin.qname, origin.level, "import"
    return origin.local_qname, 0, "local"


def _members(scope: Scope | None, name: str) -> list[Origin]:
    """What a class body binds a name to; a function's names are no members of it."""
    return scope.bound.get(same_name(name), []) if scope is not None and scope.kind is ScopeKind.CLASS else []


def _class_around(method: Scope) -> Scope | None:
    scope = method.parent
    while scope is not None and scope.kind is ScopeKind.TYPE_PARAMETERS:
        scope = scope.parent
    return scope


def _joined(head: str, names: list[str]) -> str:
    return ".".join((head, *names)) if head else ".".join(names)

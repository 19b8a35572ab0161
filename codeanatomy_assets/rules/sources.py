"""What a SELECT reads from: tables, subqueries and lateral views; and how each branch makes an output column."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

Source = exp.Table | Scope


def sources_of(scope: Scope) -> dict[str, Source]:
    """The FROM clause's sources by alias, those of semi and anti joins included."""
    return {name: scope.sources[name] for name, _ in scope.references if name in scope.sources}


def is_lateral(source: Source) -> bool:
    return isinstance(source, Scope) and isinstance(source.expression, exp.Lateral)


def lateral_columns(source: Scope) -> list[str]:
    return list(source.expression.alias_column_names)


def output_names(source: Scope) -> list[str]:
    """The column names that a subquery or lateral view gives."""
    if is_lateral(source):
        return lateral_columns(source)
    query = source.expression
    return list(query.named_selects) if isinstance(query, exp.Query) else []


def select_of(branch: Scope) -> exp.Select:
    """The SELECT of a scope that is no UNION."""
    assert isinstance(branch.expression, exp.Select), "a branch is a SELECT"
    return branch.expression


def branches(scope: Scope) -> Iterator[Scope]:
    """The SELECTs of a UNION from left to right; of a SELECT itself."""
    if scope.set_operation_scopes:
        for branch in scope.set_operation_scopes:
            yield from branches(branch)
    else:
        yield scope


def projections(scope: Scope, name: str) -> Iterator[tuple[Scope, exp.Expr]]:
    """How each branch makes an output column: a UNION's columns go by position, named by its first branch."""
    position = output_names(scope).index(name)
    for branch in branches(scope):
        yield branch, select_of(branch).selects[position].unalias()

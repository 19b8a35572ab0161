"""Where a rule's columns come from, and what decides which rows there are: both down to the contracts' columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from codeanatomy_assets.rules.sources import is_lateral, output_names, projections, sources_of

Origin = tuple[str, str]


class Lineage:
    """The origins of one tree's columns, as (table, column)."""

    def __init__(self, tree: exp.Query) -> None:
        root = build_scope(tree)
        assert root is not None, "a query has a scope"
        self.root = root
        self._known: dict[tuple[int, str], frozenset[Origin]] = {}

    def outputs(self) -> dict[str, frozenset[Origin]]:
        """What each selected column is computed from."""
        return {name: self._of_output(self.root, name) for name in output_names(self.root)}

    def depends_on(self) -> frozenset[Origin]:
        """What joins, filters, groups, windows and lateral views look at, wherever in the tree they stand."""
        found: set[Origin] = set()
        for scope in self.root.traverse():
            if isinstance(scope.expression, exp.Select):
                found |= self._of_columns(scope, _deciding_columns(scope.expression))
        return frozenset(found)

    def _of_output(self, scope: Scope, name: str) -> frozenset[Origin]:
        key = (id(scope.expression), name)
        if key not in self._known:
            found: set[Origin] = set()
            for branch, projection in projections(scope, name):
                found |= self._of_columns(branch, projection.find_all(exp.Column))
            self._known[key] = frozenset(found)
        return self._known[key]

    def _of_columns(self, scope: Scope, columns: Iterable[exp.Column]) -> frozenset[Origin]:
        sources = sources_of(scope)
        found: set[Origin] = set()
        for column in columns:
            source = sources[column.table]
            if isinstance(source, exp.Table):
                found.add((source.name, column.name))
            elif is_lateral(source):
                found |= self._of_columns(scope, source.expression.find_all(exp.Column))
            else:
                found |= self._of_output(source, column.name)
        return frozenset(found)


def _deciding_columns(select: exp.Select) -> Iterator[exp.Column]:
    clauses = [select.args.get(key) for key in ("where", "having", "group")]
    clauses += [join.args.get("on") for join in select.args.get("joins") or ()]
    clauses += select.args.get("laterals") or []
    for window in (window for selected in select.selects for window in selected.find_all(exp.Window)):
        clauses += [*(window.args.get("partition_by") or ()), window.args.get("order")]
    for clause in clauses:
        if clause is not None:
            yield from clause.find_all(exp.Column)


def owner_references(tree: exp.Query, column: str) -> Iterator[tuple[Scope, exp.Expr, Origin | None]]:
    """For every innermost SELECT that makes this column: the scope, its expression, and the table column it is.

    The origin is None where the expression is no plain column of a table.
    """
    root = build_scope(tree)
    assert root is not None, "a query has a scope"
    waiting = list(projections(root, column))
    while waiting:
        branch, projection = waiting.pop(0)
        source = sources_of(branch).get(projection.table) if isinstance(projection, exp.Column) else None
        if isinstance(source, exp.Table):
            yield branch, projection, (source.name, projection.name)
        elif source is None or is_lateral(source):
            yield branch, projection, None
        else:
            waiting += projections(source, projection.name)

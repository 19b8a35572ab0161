"""The canonical form of a rule's tree, its text and its fingerprint: what two ways of writing one rule share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import count

from sqlglot import exp
from sqlglot.optimizer.qualify_columns import quote_identifiers
from sqlglot.optimizer.scope import Scope, traverse_scope

from codeanatomy_assets.rules.parsing import DIALECT
from codeanatomy_assets.rules.sources import Source, is_lateral, lateral_columns, sources_of


def canonical(tree: exp.Query) -> exp.Query:
    """Internal names replaced by their order of appearance, comments gone, joins written in one way.

    Takes a tree whose columns are bound and whose tables are marked as the contracts'; the marks go.
    """
    for node in tree.walk():
        node.comments = None
        node.meta.clear()
    for join in tree.find_all(exp.Join):
        if join.kind in ("INNER", "OUTER"):
            join.set("kind", None)
    _Renaming(tree)
    for table in tree.find_all(exp.Table):
        table.set("db", None)
    return quote_identifiers(tree, dialect=DIALECT)


class _Renaming:
    """Gives WITHs and sources the names _t0, _t1, … and all columns but the outermost SELECT's _c0, _c1, …

    Sources come before what reads them, so a source's new column names are known when they are needed.
    """

    def __init__(self, tree: exp.Query) -> None:
        self.tree = tree
        self.tables = count()
        self.columns = count()
        self.outputs: dict[int, dict[str, str]] = {}
        scopes = list(traverse_scope(tree))
        withs = {cte.alias: self._next_table() for cte in tree.ctes}
        for scope in scopes:
            if isinstance(scope.expression, exp.Select):
                self._rename_sources(scope, withs)
                self.outputs[id(scope.expression)] = dict(self._rename_outputs(scope.expression))
            elif scope.set_operation_scopes:
                first = scope.set_operation_scopes[0].expression
                self.outputs[id(scope.expression)] = self.outputs[id(first)]
        for cte in tree.ctes:
            cte.set("alias", exp.TableAlias(this=exp.to_identifier(withs[cte.alias])))

    def _next_table(self) -> str:
        return f"_t{next(self.tables)}"

    def _next_column(self) -> str:
        return f"_c{next(self.columns)}"

    def _rename_sources(self, scope: Scope, withs: Mapping[str, str]) -> None:
        sources = sources_of(scope)
        nodes = dict(scope.references)
        new_aliases = {alias: self._next_table() for alias in sources}
        new_columns = {alias: self._columns_of(source) for alias, source in sources.items()}
        # A lateral view's columns are listed both as its own and as its SELECT's.
        for column in {id(column): column for column in scope.columns}.values():
            alias = column.table
            column.set("this", exp.to_identifier(new_columns[alias].get(column.name, column.name)))
            column.set("table", exp.to_identifier(new_aliases[alias]))
        for alias in sources:
            node: exp.Expr = nodes[alias]
            holder = node if isinstance(node, exp.Table | exp.Lateral) else node.parent
            assert holder is not None, "a subquery in FROM has an alias"
            named = exp.TableAlias(this=exp.to_identifier(new_aliases[alias]))
            if isinstance(holder, exp.Lateral):
                named.set("columns", [exp.to_identifier(name) for name in new_columns[alias].values()])
            elif isinstance(holder, exp.Table) and not holder.db:
                holder.set("this", exp.to_identifier(withs[holder.name]))
            holder.set("alias", named)

    def _columns_of(self, source: Source) -> dict[str, str]:
        """The new names of a source's columns; a contract's table keeps its own."""
        if isinstance(source, exp.Table):
            return {}
        if is_lateral(source):
            return {name: self._next_column() for name in lateral_columns(source)}
        return self.outputs[id(source.expression)]

    def _rename_outputs(self, select: exp.Select) -> Iterator[tuple[str, str]]:
        for selected in select.selects if select is not self.tree else ():
            old, new = selected.alias, self._next_column()
            selected.set("alias", exp.to_identifier(new))
            yield old, new


def text_of(tree: exp.Query) -> str:
    """The tree as Spark SQL."""
    return tree.sql(DIALECT, comments=False)


def template_of(tree: exp.Query) -> str:
    """The same with the tables' names in braces, for Spark to bind DataFrames to; other braces are doubled."""
    tree = tree.copy()
    withs = {cte.alias for cte in tree.ctes}
    for table in tree.find_all(exp.Table):
        if table.name not in withs:
            table.set("this", exp.to_identifier(f"{{{table.name}}}", quoted=False))
    for literal in tree.find_all(exp.Literal):
        literal.set("this", literal.name.replace("{", "{{").replace("}", "}}"))
    return text_of(tree)


def fingerprint(tree: exp.Query) -> str:
    """sha256 of the canonical text: a changed literal moves it, a changed layout does not."""
    return hashlib.sha256(text_of(tree).encode()).hexdigest()

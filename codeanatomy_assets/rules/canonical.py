"""The canonical form of a rule's tree, its text and its fingerprint: what two ways of writing one rule share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from sqlglot import exp
from sqlglot.optimizer.canonicalize_internal_names import canonicalize_internal_names
from sqlglot.optimizer.qualify_columns import quote_identifiers

from codeanatomy_assets.rules.reading import DIALECT


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
    tree = canonicalize_internal_names(tree)
    for table in tree.find_all(exp.Table):
        table.set("db", None)
    return quote_identifiers(tree, dialect=DIALECT)


def text_of(tree: exp.Query, named: Mapping[str, str] | None = None) -> str:
    """The tree as Spark SQL, with other names for some tables: those stand in the text as they are given."""
    if named:
        tree = tree.copy()
        known = {cte.alias for cte in tree.ctes}
        for table in tree.find_all(exp.Table):
            if table.name in named and table.name not in known:
                table.set("this", exp.to_identifier(named[table.name], quoted=False))
    return tree.sql(DIALECT, comments=False)


def fingerprint(tree: exp.Query) -> str:
    """sha256 of the canonical text: a changed literal moves it, a changed layout does not."""
    return hashlib.sha256(text_of(tree).encode()).hexdigest()

"""The scope of an update inside a rule's tree: only the rows of the impacted files, whatever the rule's form.

A rule's `file_id` is followed to the tables it comes from, through UNION branches, subqueries and WITHs. There a
semi-join with the impacted files is put in. Sources that are joined on that same file id get it too, because rows of
other files could not have matched: the outcome is that of the whole rule, filtered to the files in scope. Where the
way is barred (an aggregate or window that mixes files) the semi-join goes in just outside.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from codeanatomy_assets.rules.rule import SCOPE_TABLE
from codeanatomy_assets.rules.sources import (
    Source,
    branches,
    is_lateral,
    output_names,
    projections,
    select_of,
    sources_of,
)

SCOPE_COLUMN = "file_id"
SCOPE_ALIAS = "_scope"
INNER_ALIAS = "_whole"

Pin = tuple[str, str]
V = TypeVar("V")


@dataclass(frozen=True)
class _Reference:
    """A source as one SELECT mentions it, and which of its columns hold the file id there."""

    scope: Scope
    alias: str
    source: Source
    columns: frozenset[str]


def scoped(tree: exp.Query, column: str) -> exp.Query:
    """The tree restricted to rows whose column is among the impacted files."""
    tree = tree.copy()
    root = build_scope(tree)
    assert root is not None, "a query has a scope"
    for reference, pinned in _restrictions(root, column):
        _restrict(reference, pinned)
    return tree


def _restrictions(root: Scope, column: str) -> list[tuple[_Reference, str]]:
    """The references to restrict, each by one column. All users of a WITH are known before it is looked into."""
    found: list[tuple[_Reference, str]] = []
    users: dict[int, list[_Reference]] = defaultdict(list)
    _follow(root, frozenset({column}), found, users)
    for name in [cte.alias for cte in reversed(select_of(root).ctes)]:
        named = root.cte_sources[name]
        if not isinstance(named, Scope):
            continue
        references = users[id(named.expression)]
        common = frozenset.intersection(*(reference.columns for reference in references)) if references else frozenset()
        inside = frozenset(each for each in common if can_restrict(named, each))
        if inside:
            _follow(named, inside, found, users)
        else:
            _follow(named, frozenset(), found, users)
            found += [(reference, min(reference.columns)) for reference in references if reference.columns]
    return found


def _follow(
    scope: Scope,
    columns: frozenset[str],
    found: list[tuple[_Reference, str]],
    users: dict[int, list[_Reference]],
) -> None:
    """Carry the restriction of these output columns to the sources of every branch."""
    positions = [output_names(scope).index(column) for column in sorted(columns)]
    for branch in branches(scope):
        projected = [select_of(branch).selects[position].unalias() for position in positions]
        pins = _pinned(branch, [each for each in projected if isinstance(each, exp.Column)])
        for alias, source in sources_of(branch).items():
            reference = _Reference(branch, alias, source, frozenset(name for holder, name in pins if holder == alias))
            if isinstance(source, exp.Table):
                found += [(reference, pinned) for pinned in sorted(reference.columns)[:1]]
            elif is_lateral(source):
                continue
            elif source.is_cte:
                users[id(source.expression)].append(reference)
            else:
                _follow_subquery(reference, source, found, users)


def _follow_subquery(
    reference: _Reference,
    source: Scope,
    found: list[tuple[_Reference, str]],
    users: dict[int, list[_Reference]],
) -> None:
    inside = frozenset(column for column in reference.columns if can_restrict(source, column))
    _follow(source, inside, found, users)
    if not inside and reference.columns:
        found.append((reference, min(reference.columns)))


def can_restrict(scope: Scope, column: str) -> bool:
    """Whether dropping a column's other values before the SELECT gives what dropping them after it would."""
    return all(passes_through(branch, projection) for branch, projection in projections(scope, column))


def passes_through(branch: Scope, projection: exp.Expr) -> bool:
    select = select_of(branch)
    if not isinstance(projection, exp.Column) or projection.table in _nullable(branch):
        return False
    if is_lateral(sources_of(branch)[projection.table]):
        return False
    group = select.args.get("group")
    if group is not None and projection not in group.expressions:
        return False
    if group is None and any(_is_aggregate(each) for each in select.selects):
        return False
    windows = [window for each in select.selects for window in each.find_all(exp.Window)]
    return all(projection in (window.args.get("partition_by") or ()) for window in windows)


def _is_aggregate(selected: exp.Expr) -> bool:
    return any(not isinstance(each.parent, exp.Window) for each in selected.find_all(exp.AggFunc))


def _nullable(branch: Scope) -> set[str]:
    joins = branch.expression.args.get("joins") or ()
    return {join.alias_or_name for join in joins if join.side == "LEFT" and join.kind not in ("SEMI", "ANTI")}


def _pinned(branch: Scope, columns: Iterable[exp.Column]) -> set[Pin]:
    """All columns of the sources that hold the same file id as these, by the equalities that joins ask for."""
    return set(
        spread(branch, {(column.table, column.name): None for column in columns if passes_through(branch, column)})
    )


def spread(branch: Scope, pins: Mapping[Pin, V]) -> dict[Pin, V]:
    """What columns are restricted to, and with them those that must equal them."""
    known = dict(pins)
    same = list(_equalities(select_of(branch)))
    before = -1
    while len(known) != before:
        before = len(known)
        for giver, taker in same:
            if giver in known:
                known.setdefault(taker, known[giver])
    return known


def _equalities(select: exp.Select) -> Iterator[tuple[Pin, Pin]]:
    """(a, b) where restricting b to a's values changes nothing: both ways in a join, else from the left side only."""
    for join in select.args.get("joins") or ():
        on = join.args["on"]
        for condition in on.flatten() if isinstance(on, exp.And) else [on]:
            equal = condition.unnest()
            if isinstance(equal, exp.EQ) and isinstance(equal.left, exp.Column) and isinstance(equal.right, exp.Column):
                left, right = [(side.table, side.name) for side in (equal.left, equal.right)]
                if not join.side or right[0] == join.alias_or_name != left[0]:
                    yield left, right
                if not join.side or left[0] == join.alias_or_name != right[0]:
                    yield right, left


def _restrict(reference: _Reference, column: str) -> None:
    """Put `(SELECT … FROM source LEFT SEMI JOIN scope_files)` in the place of a source, under the same alias."""
    node = next(node for name, node in reference.scope.references if name == reference.alias)
    holder = node if isinstance(node, exp.Table) else node.parent
    assert isinstance(holder, exp.Table | exp.Subquery), "a source is a table or a subquery"
    used = sorted({each.name for each in reference.scope.columns if each.table == reference.alias})
    whole = holder.copy()
    whole.set("alias", exp.TableAlias(this=exp.to_identifier(INNER_ALIAS, quoted=True)))
    inner = exp.select(*(_column(name, INNER_ALIAS) for name in used)).from_(whole)
    scope_files = exp.alias_(exp.to_table(SCOPE_TABLE), SCOPE_ALIAS, table=True, quoted=True)
    on = exp.EQ(this=_column(SCOPE_COLUMN, SCOPE_ALIAS), expression=_column(column, INNER_ALIAS))
    inner.append("joins", exp.Join(this=scope_files, side="LEFT", kind="SEMI", on=on))
    inner.set(
        "hint",
        exp.Hint(
            expressions=[exp.Anonymous(this="BROADCAST", expressions=[exp.to_identifier(SCOPE_ALIAS, quoted=True)])]
        ),
    )
    holder.replace(inner.subquery(exp.to_identifier(reference.alias, quoted=True)))


def _column(name: str, table: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))

"""What rules look up in files other than the owner's, and by which values: a few rows stand for a whole table.

A rule reads the owner files' slices, and rows of other files that are joined to them by an id. Here each such join is
followed: the tables' rows that can match are those whose column has one of the values that the other side has. Other
rows could not have changed the outcome. Where no values can be told, the table is needed whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from codeanatomy_assets.contracts.lookups import Constants, Giver, Lookup
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.contracts.types import STRING
from codeanatomy_assets.rules.scoping import Pin, can_restrict, passes_through, spread
from codeanatomy_assets.rules.sources import (
    Source,
    branches,
    is_lateral,
    output_names,
    projections,
    select_of,
    sources_of,
)

OWNER = "file_id"
LOCALS = ".<locals>"


@dataclass(frozen=True)
class _Mention:
    """A column of one mention of a table in the tree."""

    node: int
    column: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Use:
    """What a SELECT does with a table that it mentions: see Lookup."""

    columns: frozenset[str]
    constants: Constants
    compared: frozenset[tuple[str, str]]


# Of a column: the values that a restriction leaves it. None are the files in scope.
_Values = frozenset[_Mention] | None
_Restrictions = dict[str, _Values]


def lookups_of(tree: exp.Query, tables: Mapping[str, Table]) -> frozenset[Lookup]:
    """The lookups of a canonical tree whose `file_id` is restricted to some files."""
    return _Analysis(tree, tables).lookups()


class _Analysis:
    def __init__(self, tree: exp.Query, tables: Mapping[str, Table]) -> None:
        root = build_scope(tree)
        assert root is not None, "a query has a scope"
        self.tables = tables
        self.root = root
        self.mentioned: dict[int, str] = {}
        self.used: dict[int, _Use] = {}
        self.restricted: dict[int, _Restrictions] = {}
        self._users: dict[int, list[_Restrictions]] = defaultdict(list)

    def lookups(self) -> frozenset[Lookup]:
        self._look_into(self.root, {OWNER: None})
        for name in [cte.alias for cte in reversed(select_of(self.root).ctes)]:
            named = self.root.cte_sources[name]
            if isinstance(named, Scope):
                self._look_into(named, _common(self._users[id(named.expression)]))
        found = {self._lookup(node, ()) for node in self.mentioned}
        return frozenset(each for each in found if each is not None)

    def _look_into(self, scope: Scope, restrictions: _Restrictions) -> None:
        """Note what each mention of a table is restricted by, when these output columns are restricted."""
        inside = {column: values for column, values in restrictions.items() if can_restrict(scope, column)}
        for branch in branches(scope):
            pins = self._pins(branch, scope, inside)
            for alias, source in sources_of(branch).items():
                given = {column: values for (holder, column), values in pins.items() if holder == alias}
                if isinstance(source, exp.Table):
                    self.mentioned[id(source)] = source.name
                    self.restricted[id(source)] = given
                    self.used[id(source)] = self._use(branch, alias)
                elif is_lateral(source):
                    continue
                elif source.is_cte:
                    self._users[id(source.expression)].append(given)
                else:
                    self._look_into(source, given)

    def _use(self, branch: Scope, alias: str) -> _Use:
        select = select_of(branch)
        laterals = (column for lateral in select.args.get("laterals") or () for column in lateral.find_all(exp.Column))
        columns = frozenset(column.name for column in (*branch.columns, *laterals) if column.table == alias)
        where = select.args.get("where")
        asked = [each.args["on"] for each in select.args.get("joins") or () if each.alias_or_name == alias]
        asked += [where.this] if where is not None else []
        conditions = [each.unnest() for on in asked for each in (on.flatten() if isinstance(on, exp.And) else [on])]
        constants = (_constant(condition, alias) for condition in conditions)
        compared = (each for condition in conditions for each in self._names_compared(branch, condition, alias))
        return _Use(columns, frozenset(each for each in constants if each is not None), frozenset(compared))

    def _names_compared(self, branch: Scope, condition: exp.Expr, alias: str) -> Iterator[tuple[str, str]]:
        """The column of this table that must equal a name, with the column or field that holds or begins the name."""
        if not isinstance(condition, exp.EQ):
            return
        for mine, other in ((condition.left, condition.right), (condition.right, condition.left)):
            own, name = _without_locals(mine), _beginning(other)
            if isinstance(own, exp.Column) and own.table == alias and name is not None:
                for held in self._values(branch, name) or ():
                    yield own.name, held.fields[-1] if held.fields else held.column

    def _pins(self, branch: Scope, scope: Scope, restrictions: _Restrictions) -> dict[Pin, _Values]:
        """(source, column) → the values it can be restricted to: from outside, or by those of sources before it."""
        pins: dict[Pin, _Values] = {}
        for name, values in restrictions.items():
            projected = select_of(branch).selects[output_names(scope).index(name)].unalias()
            if isinstance(projected, exp.Column) and passes_through(branch, projected):
                pins[(projected.table, projected.name)] = values
        pins = spread(branch, pins)
        earlier = {str(select_of(branch).args["from_"].alias_or_name)}
        for join in select_of(branch).args.get("joins") or ():
            for column, other in _compared(join, earlier):
                values = self._values(branch, other)
                if values is not None:
                    pins.setdefault((join.alias_or_name, column), values)
            earlier.add(join.alias_or_name)
        return pins

    def _values(self, branch: Scope, value: exp.Expr, fields: tuple[str, ...] = ()) -> frozenset[_Mention] | None:
        """The columns whose values this expression has, in a SELECT: None where it may have others."""
        if isinstance(value, exp.Column):
            return self._values_of_column(branch, value, fields)
        if isinstance(value, exp.Dot) and isinstance(value.expression, exp.Identifier):
            return self._values(branch, value.this, (value.expression.name, *fields))
        if isinstance(value, exp.Null):
            return frozenset()
        parts = _one_of(value)
        if parts is None:
            return None
        found = [self._values(branch, part, fields) for part in parts]
        known = [each for each in found if each is not None]
        return frozenset[_Mention]().union(*known) if len(known) == len(found) else None

    def _values_of_column(
        self, branch: Scope, column: exp.Column, fields: tuple[str, ...]
    ) -> frozenset[_Mention] | None:
        source: Source = sources_of(branch)[column.table]
        if isinstance(source, exp.Table):
            return frozenset({_Mention(id(source), column.name, fields)})
        if is_lateral(source):
            lateral = source.expression
            exploded = lateral.this
            if lateral.alias_column_names[-1] != column.name or not isinstance(exploded, exp.Explode | exp.Posexplode):
                return None
            return self._values(branch, exploded.this, fields)
        found = [self._values(each, projected, fields) for each, projected in projections(source, column.name)]
        known = [each for each in found if each is not None]
        return frozenset[_Mention]().union(*known) if len(known) == len(found) else None

    def _lookup(self, node: int, way: tuple[int, ...]) -> Lookup | None:
        """What this mention needs; None for the owner files' slices. A way that leads back to itself tells nothing."""
        name, restricted = self.mentioned[node], self.restricted[node]
        if OWNER in restricted and restricted[OWNER] is None:
            return None
        use = self.used[node]
        whole = Lookup(name, columns=use.columns, constants=use.constants, compared=use.compared)
        if node in way:
            return whole
        usable = [column for column in restricted if self.tables[name].column(column).type == STRING]
        # A file's id brings all its rows, another one few.
        for column in sorted(usable, key=lambda each: (each == OWNER, each)):
            values = restricted[column]
            if values is None:
                continue
            givers = [self._giver(mention, (*way, node)) for mention in values]
            told = [giver for giver in givers if giver is not None]
            if len(told) == len(givers):
                return replace(whole, column=column, givers=frozenset(told))
        return whole

    def _giver(self, mention: _Mention, way: tuple[int, ...]) -> Giver | None:
        lookup = self._lookup(mention.node, way)
        if lookup is not None and lookup.column is None:
            return None
        constants = self.used[mention.node].constants if lookup is None else frozenset()
        return Giver(self.mentioned[mention.node], mention.column, mention.fields, lookup, constants)


def _common(users: Iterable[_Restrictions]) -> _Restrictions:
    """The restrictions that all users of a WITH put on it: the values of any of them."""
    first, *others = [*users] or [{}]
    common: _Restrictions = {}
    for column, values in first.items():
        if all(column in other for other in others):
            all_values = [values, *(other[column] for other in others)]
            if all(each is None for each in all_values):
                common[column] = None
            elif None not in all_values:
                common[column] = frozenset[_Mention]().union(*(each for each in all_values if each is not None))
    return common


def _constant(condition: exp.Expr, alias: str) -> tuple[str, str | bool] | None:
    """The column of this table that must have a value, with it: a row with another one could as well be missing."""
    if isinstance(condition, exp.Column) and condition.table == alias:
        return condition.name, True
    if isinstance(condition, exp.EQ):
        for mine, value in ((condition.left, condition.right), (condition.right, condition.left)):
            if isinstance(mine, exp.Column) and mine.table == alias:
                if isinstance(value, exp.Literal) and value.is_string:
                    return mine.name, value.name
                if isinstance(value, exp.Boolean):
                    return mine.name, bool(value.this)
    return None


def _beginning(value: exp.Expr) -> exp.Expr | None:
    """What a name is, or begins with up to a dot: `CONCAT(that, '.…')`."""
    if isinstance(value, exp.Concat) and len(value.expressions) > 1:
        first, second = value.expressions[:2]
        is_dotted = isinstance(second, exp.Literal) and second.is_string and second.name.startswith(".")
        return _beginning(first) if is_dotted else None
    return _without_locals(value)


def _without_locals(value: exp.Expr) -> exp.Expr:
    """What `REPLACE(…, '.<locals>', '')` is made of: such a name differs in that alone."""
    if isinstance(value, exp.Replace) and value.expression.name == LOCALS and not value.args["replacement"].name:
        held: exp.Expr = value.this
        return held
    return value


def _compared(join: exp.Join, earlier: set[str]) -> Iterator[tuple[str, exp.Expr]]:
    """The joined source's columns that must equal an expression of the sources before it."""
    on = join.args["on"]
    for condition in on.flatten() if isinstance(on, exp.And) else [on]:
        equal = condition.unnest()
        if isinstance(equal, exp.EQ):
            for mine, other in ((equal.left, equal.right), (equal.right, equal.left)):
                is_mine = isinstance(mine, exp.Column) and mine.table == join.alias_or_name
                if is_mine and all(column.table in earlier for column in other.find_all(exp.Column)):
                    yield mine.name, other


def _one_of(value: exp.Expr) -> list[exp.Expr] | None:
    """The expressions one of which is this one's value; null besides. None for an expression that makes a new value."""
    if isinstance(value, exp.Paren | exp.Min | exp.Max | exp.Window):
        return [value.this]
    if isinstance(value, exp.Coalesce):
        return [value.this, *value.expressions]
    if isinstance(value, exp.Array):
        return list(value.expressions)
    if isinstance(value, exp.Case):
        default = value.args.get("default")
        return [each.args["true"] for each in value.args["ifs"]] + ([default] if default is not None else [])
    return None

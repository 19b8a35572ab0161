"""From a rule's SQL to a checked tree: parsed strictly, every table and column known, every column bound to its source.

What rules are written in is a part of Spark SQL that lineage, scope and determinism can be read from: SELECT with
joins, WHERE, GROUP BY, HAVING, windows, LATERAL VIEW, UNION, one WITH at the top. The rest is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, OptimizeError, ParseError, TokenError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.schema import MappingSchema

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.identity import IdRecipe
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.rules.places import place_of
from codeanatomy_assets.rules.rule import Place, Rule, RuleError
from codeanatomy_assets.rules.sources import Source, output_names, sources_of

DIALECT = "spark"
# Marks a table of the contracts in the tree, where a WITH's name could look the same.
CONTRACTS = "contracts"
# Functions of our own: the ids of things that no table lists, by the contracts' recipes.
ID_FUNCTIONS: Mapping[str, IdRecipe] = {"QNAME_ID": identity.QNAME, "SYMBOL_ID": identity.SYMBOL}

REFUSED_CLAUSES: Mapping[type[exp.Expr], str] = {
    exp.Order: "ORDER BY, for a dataset has no order",
    exp.Limit: "LIMIT, for which rows it keeps depends on the plan",
    exp.Offset: "OFFSET, for which rows it skips depends on the plan",
    exp.Qualify: "QUALIFY: filter the window's column one SELECT further out",
    exp.TableSample: "TABLESAMPLE, for it is random",
    exp.Pivot: "PIVOT",
    exp.Values: "VALUES: put constants into the SELECT",
    exp.Hint: "hints: the compiler adds what the scope needs",
}
NOT_DETERMINISTIC: Mapping[type[exp.Expr], str] = {
    exp.Rand: "rand",
    exp.Randn: "randn",
    exp.Uuid: "uuid",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentDate: "current_date",
    exp.First: "first",
    exp.Last: "last",
    exp.AnyValue: "any_value",
    exp.ArrayAgg: "collect_list",
    exp.ArrayUniqueAgg: "collect_set",
    exp.RowNumber: "row_number",
}
NOT_DETERMINISTIC_NAMES = frozenset(
    "now random shuffle monotonically_increasing_id spark_partition_id input_file_name localtimestamp".split()
)
ALLOWED_SIDES = ("", "LEFT")
ALLOWED_KINDS = ("", "INNER", "OUTER", "SEMI", "ANTI")


class Reader:
    """One rule's SQL on its way to a checked tree; each step refuses with rule, place and what is known."""

    def __init__(self, rule: Rule, tables: Mapping[str, Table]) -> None:
        self.rule = rule
        self.tables = tables

    def read(self) -> exp.Query:
        """The tree with every column bound, tables of the contracts marked by CONTRACTS."""
        tree = self._parsed()
        self._check_shape(tree)
        self._check_tables(tree)
        self._check_columns(tree)
        self._expand_id_functions(tree)
        schema = MappingSchema(
            {CONTRACTS: {name: table.sqlglot_schema() for name, table in self.tables.items()}}, dialect=DIALECT
        )
        try:
            return qualify(tree, schema=schema, dialect=DIALECT, db=CONTRACTS, quote_identifiers=False)
        except OptimizeError as error:
            raise RuleError(self.rule.name, str(error)) from error

    def refuse(self, node: exp.Expr, message: str) -> RuleError:
        return RuleError(self.rule.name, message, place_of(node, self.rule.sql))

    def _parsed(self) -> exp.Query:
        try:
            statements = sqlglot.parse(self.rule.sql, dialect=DIALECT, error_level=ErrorLevel.RAISE)
        except TokenError as error:
            raise RuleError(self.rule.name, f"cannot be read: {error}") from error
        except ParseError as error:
            first = error.errors[0]
            place = Place(first["line"], first["col"] - len(first["highlight"]) + 1)
            raise RuleError(
                self.rule.name, f"cannot be parsed at {first['highlight']!r}: {first['description']}", place
            ) from error
        if len(statements) != 1 or not isinstance(statements[0], exp.Query):
            raise RuleError(self.rule.name, "its SQL must be one SELECT or UNION", Place(1, 1))
        return normalize_identifiers(statements[0], dialect=DIALECT)

    def _check_shape(self, tree: exp.Query) -> None:
        for node in tree.walk():
            if type(node) in REFUSED_CLAUSES and not (isinstance(node, exp.Order) and node.find_ancestor(exp.Window)):
                raise self.refuse(node, f"rules have no {REFUSED_CLAUSES[type(node)]}")
            if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
                raise self.refuse(node, "SELECT * hides which columns a rule reads: name them")
            if isinstance(node, exp.Func):
                self._check_deterministic(node)
            if isinstance(node, exp.Join):
                self._check_join(node)
            if isinstance(node, exp.With) and (node.parent is not tree or node.recursive):
                raise self.refuse(node, "rules have one WITH, at the top, not recursive")
            if isinstance(node, exp.Query) and _is_in_expression(node):
                raise self.refuse(node, "a subquery inside an expression hides what it reads: write it as a join")
            if isinstance(node, exp.Select) and not node.selects:
                raise self.refuse(node, "SELECT names no columns")
            if isinstance(node, exp.SetOperation) and not isinstance(node, exp.Union):
                raise self.refuse(node, "rules have no INTERSECT or EXCEPT: write it as a semi or anti join")

    def _check_deterministic(self, node: exp.Func) -> None:
        name = NOT_DETERMINISTIC.get(type(node)) or str(node.name).lower()
        if type(node) in NOT_DETERMINISTIC or isinstance(node, exp.Anonymous) and name in NOT_DETERMINISTIC_NAMES:
            raise self.refuse(node, f"{name} may give another answer next time: a rule is a function of its tables")

    def _check_join(self, join: exp.Join) -> None:
        if join.side not in ALLOWED_SIDES or join.kind not in ALLOWED_KINDS or join.method or join.args.get("using"):
            raise self.refuse(join, "rules join with JOIN, LEFT JOIN, LEFT SEMI JOIN or LEFT ANTI JOIN, and ON")
        if join.args.get("on") is None:
            raise self.refuse(join, "a join without ON pairs every row with every row")

    def _check_tables(self, tree: exp.Query) -> None:
        named = {cte.alias for cte in tree.ctes}
        for table in tree.find_all(exp.Table):
            if table.args.get("db") or table.name not in named | self.tables.keys():
                known = ", ".join(sorted(self.tables))
                raise self.refuse(table, f"there is no table {table.sql(DIALECT, comments=False)}; known: {known}")
        shadowed = sorted(named & self.tables.keys())
        if shadowed:
            raise RuleError(self.rule.name, f"WITH takes the name of a table: {', '.join(shadowed)}")

    def _check_columns(self, tree: exp.Query) -> None:
        for scope in traverse_scope(tree):
            if isinstance(scope.expression, exp.Select):
                known = {name: self._columns_of(source) for name, source in sources_of(scope).items()}
                for column in scope.columns:
                    self._check_column(column, known)

    def _columns_of(self, source: Source) -> list[str]:
        return list(self.tables[source.name].column_names) if isinstance(source, exp.Table) else output_names(source)

    def _check_column(self, column: exp.Column, known: Mapping[str, list[str]]) -> None:
        source, *path = [part.name for part in column.parts]
        if source in known:
            if path and path[0] not in known[source]:
                listed = ", ".join(known[source])
                raise self.refuse(column, f"{source} has no column {path[0]}; known: {listed}")
            return
        holders = [name for name, columns in known.items() if source in columns]
        if path and not holders:
            raise self.refuse(column, f"there is no source {source} here; known: {', '.join(known)}")
        if len(holders) != 1:
            which = f"is a column of {', '.join(holders)}: say which" if holders else "is a column of no source here"
            listed = "; ".join(f"{name}: {', '.join(columns)}" for name, columns in known.items())
            raise self.refuse(column, f"{source} {which}; known: {listed}")

    def _expand_id_functions(self, tree: exp.Query) -> None:
        for call in list(tree.find_all(exp.Anonymous)):
            recipe = ID_FUNCTIONS.get(str(call.name).upper())
            if recipe is None:
                continue
            if len(call.expressions) != len(recipe.parts):
                raise self.refuse(call, f"{call.name} takes {', '.join(recipe.parts)}")
            call.replace(id_expression(recipe, dict(zip(recipe.parts, call.expressions, strict=True))))


def id_expression(recipe: IdRecipe, parts: Mapping[str, exp.Expr]) -> exp.Expr:
    """A contract's id as a tree, over these expressions for its parts."""
    tree = sqlglot.parse_one(recipe.sql(*recipe.parts), dialect=DIALECT)
    for column in list(tree.find_all(exp.Column)):
        column.replace(parts[column.name].copy())
    return tree


def _is_in_expression(node: exp.Query) -> bool:
    holder = node.parent
    while isinstance(holder, exp.Subquery | exp.SetOperation):
        holder = holder.parent
    return holder is not None and not isinstance(holder, exp.From | exp.Join | exp.CTE)

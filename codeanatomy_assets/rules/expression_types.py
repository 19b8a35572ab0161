"""Types of a rule's expressions, from the contracts' columns up: what does not fit is refused with its place.

The functions listed here are those that rules may use: each is a function of its arguments, and its type is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.contracts.types import BOOLEAN, DOUBLE, INT, LONG, STRING, Array, Scalar, Struct, Type
from codeanatomy_assets.rules.sources import branches, is_lateral, lateral_columns, select_of, sources_of

if TYPE_CHECKING:
    from codeanatomy_assets.rules.parsing import Reader

NULL = Scalar("void")
NUMBERS = (INT, LONG, DOUBLE)

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)

# Argument types (the last one repeats) and the result's, of the functions that always have the same.
SIGNATURES: Mapping[type[exp.Expr], tuple[tuple[Type, ...], Type]] = {
    exp.Concat: ((STRING,), STRING),
    exp.DPipe: ((STRING,), STRING),
    exp.Replace: ((STRING,), STRING),
    exp.Length: ((STRING,), INT),
    exp.Substring: ((STRING, INT), STRING),
    exp.SubstringIndex: ((STRING, STRING, INT), STRING),
    exp.SplitPart: ((STRING, STRING, INT), STRING),
    exp.Left: ((STRING, INT), STRING),
    exp.Right: ((STRING, INT), STRING),
    exp.Lower: ((STRING,), STRING),
    exp.Upper: ((STRING,), STRING),
    exp.StartsWith: ((STRING,), BOOLEAN),
    exp.EndsWith: ((STRING,), BOOLEAN),
    exp.Like: ((STRING,), BOOLEAN),
    exp.SHA2: ((STRING, INT), STRING),
    exp.And: ((BOOLEAN,), BOOLEAN),
    exp.Or: ((BOOLEAN,), BOOLEAN),
    exp.Not: ((BOOLEAN,), BOOLEAN),
    exp.LogicalOr: ((BOOLEAN,), BOOLEAN),
    exp.LogicalAnd: ((BOOLEAN,), BOOLEAN),
}
NAMED_SIGNATURES: Mapping[str, tuple[tuple[Type, ...], Type]] = {"octet_length": ((STRING,), INT)}
# These take and give one type: that of their arguments.
OF_ONE_TYPE = (exp.Coalesce, exp.Min, exp.Max, exp.Least, exp.Greatest, exp.Nullif)


class Types:
    """The types of one rule's tree; making it checks the whole of it."""

    def __init__(self, tree: exp.Query, tables: Mapping[str, Table], reader: Reader) -> None:
        self.tables = tables
        self.reader = reader
        self.outputs: dict[int, list[tuple[str, Type]]] = {}
        self._scope: Scope | None = None
        for scope in traverse_scope(tree):
            if isinstance(scope.expression, exp.Select):
                self._scope = scope
                self._check_select(scope.expression)
            elif scope.set_operation_scopes:
                self.outputs[id(scope.expression)] = self._of_union(scope)

    def _check_select(self, select: exp.Select) -> None:
        for key in ("where", "having"):
            clause = select.args.get(key)
            if clause is not None:
                self._expect(clause.this, BOOLEAN, key.upper())
        for join in select.args.get("joins") or ():
            self._expect(join.args["on"], BOOLEAN, "ON")
        group = select.args.get("group")
        for expression in group.expressions if group is not None else ():
            self.of(expression)
        self.outputs[id(select)] = [(each.alias_or_name, self.of(each.unalias())) for each in select.selects]

    def _of_union(self, scope: Scope) -> list[tuple[str, Type]]:
        first, *rest = [self.outputs[id(branch.expression)] for branch in branches(scope)]
        for branch in branches(scope):
            given = self.outputs[id(branch.expression)]
            if len(given) != len(first):
                message = f"this branch of the UNION has {len(given)} columns, the first has {len(first)}"
                raise self.reader.refuse(branch.expression, message)
            for selected, (_, found), (name, wanted) in zip(select_of(branch).selects, given, first, strict=True):
                if not fits(found, wanted):
                    message = f"{name} is {found.ddl} here and {wanted.ddl} in the UNION's first branch"
                    raise self.reader.refuse(selected, message)
        columns = zip(first, *rest, strict=True)
        return [(column[0][0], _widest([type_ for _, type_ in column])) for column in columns]

    def of(self, node: exp.Expr) -> Type:
        """The type of an expression, its parts checked on the way."""
        for kinds, typed in _TYPED:
            if isinstance(node, kinds):
                return typed(self, node)
        signature = SIGNATURES.get(type(node)) or (
            NAMED_SIGNATURES.get(str(node.name).lower()) if isinstance(node, exp.Anonymous) else None
        )
        if signature is not None:
            return self._of_signature(node, *signature)
        if isinstance(node, OF_ONE_TYPE):
            return self._same(_arguments(node), node)
        name = node.name if isinstance(node, exp.Anonymous) else node.key
        raise self.reader.refuse(node, f"{name} is not among what rules may use; list it in {__name__} with its type")

    def _of_signature(self, node: exp.Expr, wanted: tuple[Type, ...], result: Type) -> Type:
        for position, part in enumerate(_arguments(node)):
            self._expect(part, wanted[min(position, len(wanted) - 1)], node.key)
        return result

    def _expect(self, node: exp.Expr, wanted: Type, whose: str) -> None:
        found = self.of(node)
        if not fits(found, wanted):
            raise self.reader.refuse(
                node, f"{whose} takes {wanted.ddl}, and {node.sql('spark', comments=False)} is {found.ddl}"
            )

    def _same(self, parts: list[exp.Expr], node: exp.Expr) -> Type:
        found = [self.of(part) for part in parts]
        widest = _widest(found)
        for part, type_ in zip(parts, found, strict=True):
            if not fits(type_, widest):
                text = part.sql("spark", comments=False)
                raise self.reader.refuse(part, f"{text} is {type_.ddl} where the others of {node.key} are {widest.ddl}")
        return widest

    def _of_column(self, node: exp.Expr) -> Type:
        assert isinstance(node, exp.Column) and self._scope is not None
        source = sources_of(self._scope)[node.table]
        if isinstance(source, exp.Table):
            return self.tables[source.name].column(node.name).type
        if is_lateral(source):
            return self._of_lateral(source, node.name)
        return dict(self.outputs[id(source.expression)])[node.name]

    def _of_lateral(self, source: Scope, name: str) -> Type:
        function = source.expression.this
        listed = self.of(function.this)
        if not isinstance(function, exp.Explode | exp.Posexplode) or not isinstance(listed, Array):
            raise self.reader.refuse(function, "LATERAL VIEW takes explode or posexplode of an array")
        given = {exp.Explode: [listed.element], exp.Posexplode: [INT, listed.element]}[type(function)]
        return dict(zip(lateral_columns(source), given, strict=True))[name]

    def _of_dot(self, node: exp.Expr) -> Type:
        holder = self.of(node.this)
        struct = holder.element if isinstance(holder, Array) else holder
        fields = dict(struct.fields) if isinstance(struct, Struct) else {}
        name = node.expression.name
        if name not in fields:
            raise self.reader.refuse(node, f"{node.this.sql('spark')} has no part {name}; known: {', '.join(fields)}")
        return Array(fields[name]) if isinstance(holder, Array) else fields[name]

    def _of_comparison(self, node: exp.Expr) -> Type:
        self._same([node.this, node.expression], node)
        return BOOLEAN

    def _of_arithmetic(self, node: exp.Expr) -> Type:
        for part in (node.this, node.expression):
            self._expect(part, LONG, node.key)
        if isinstance(node, exp.Div):
            return DOUBLE
        return LONG if isinstance(node, exp.IntDiv) else _widest([self.of(node.this), self.of(node.expression)])

    def _of_case(self, node: exp.Expr) -> Type:
        values = [each.args["true"] for each in node.args["ifs"]]
        for each in node.args["ifs"]:
            if node.this is not None:
                self._same([node.this, each.this], node)
            else:
                self._expect(each.this, BOOLEAN, "WHEN")
        default = node.args.get("default")
        return self._same(values if default is None else [*values, default], node)

    def _of_if(self, node: exp.Expr) -> Type:
        self._expect(node.this, BOOLEAN, "IF")
        return self._same([part for part in (node.args["true"], node.args.get("false")) if part is not None], node)

    def _of_in(self, node: exp.Expr) -> Type:
        self._same([node.this, *node.expressions], node)
        return BOOLEAN

    def _of_between(self, node: exp.Expr) -> Type:
        self._same([node.this, node.args["low"], node.args["high"]], node)
        return BOOLEAN

    def _of_array_contains(self, node: exp.Expr) -> Type:
        holder = self.of(node.this)
        if not isinstance(holder, Array):
            raise self.reader.refuse(node, f"array_contains takes an array, not {holder.ddl}")
        self._expect(node.expression, holder.element, "array_contains")
        return BOOLEAN

    def _of_sequence(self, node: exp.Expr) -> Type:
        return Array(self._same([node.args["start"], node.args["end"]], node))

    def _of_window(self, node: exp.Expr) -> Type:
        for part in node.args.get("partition_by") or ():
            self.of(part)
        order = node.args.get("order")
        for part in order.expressions if order is not None else ():
            self.of(part.this)
        return self.of(node.this)

    def _of_is(self, node: exp.Expr) -> Type:
        self.of(node.this)
        return BOOLEAN

    def _of_count(self, node: exp.Expr) -> Type:
        counted = node.this.expressions if isinstance(node.this, exp.Distinct) else [node.this]
        for part in counted:
            if not isinstance(part, exp.Star):
                self.of(part)
        return LONG

    def _of_size(self, node: exp.Expr) -> Type:
        if not isinstance(self.of(node.this), Array):
            raise self.reader.refuse(node, "size takes an array")
        return INT

    def _of_sum(self, node: exp.Expr) -> Type:
        self._expect(node.this, LONG, "sum")
        return DOUBLE if self.of(node.this) == DOUBLE else LONG

    def _of_cast(self, node: exp.Expr) -> Type:
        self.of(node.this)
        return Scalar(
            {"text": "string"}.get(node.args["to"].sql("spark").lower(), node.args["to"].sql("spark").lower())
        )


def _literal(_: Types, node: exp.Expr) -> Type:
    if node.args.get("is_string"):
        return STRING
    return INT if node.name.isdigit() else DOUBLE


_TYPED: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], Callable[[Types, exp.Expr], Type]], ...] = (
    (exp.Column, Types._of_column),
    (exp.Literal, _literal),
    (exp.Null, lambda types, node: NULL),
    (exp.Boolean, lambda types, node: BOOLEAN),
    (exp.Paren, lambda types, node: types.of(node.this)),
    (exp.Neg, lambda types, node: types.of(node.this)),
    (exp.Dot, Types._of_dot),
    (COMPARISONS, Types._of_comparison),
    (ARITHMETIC, Types._of_arithmetic),
    (exp.Case, Types._of_case),
    (exp.If, Types._of_if),
    (exp.In, Types._of_in),
    (exp.Between, Types._of_between),
    (exp.Is, Types._of_is),
    (exp.ArrayContains, Types._of_array_contains),
    (exp.ArraySize, Types._of_size),
    (exp.GenerateSeries, Types._of_sequence),
    (exp.Array, lambda types, node: Array(types._same(node.expressions, node))),
    (exp.Count, Types._of_count),
    (exp.Sum, Types._of_sum),
    (exp.Cast, Types._of_cast),
    (exp.Window, Types._of_window),
)


def fits(found: Type, wanted: Type) -> bool:
    """Whether a value may stand where the other type is wanted: numbers for numbers, else the same."""
    if NULL in (found, wanted):
        return True
    return found in NUMBERS and wanted in NUMBERS or found == wanted


def _widest(types: list[Type]) -> Type:
    known = [type_ for type_ in types if type_ != NULL]
    if known and all(type_ in NUMBERS for type_ in known):
        return max(known, key=lambda type_: NUMBERS.index(type_) if isinstance(type_, Scalar) else 0)
    return known[0] if known else NULL


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    """The expressions it is applied to, in order; flags that the parser set are not among them."""
    parts: list[exp.Expr] = []
    for key in node.arg_types:
        value = node.args.get(key)
        parts += [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, exp.Expr)]
    return parts

"""Collector of cst_type_exprs: annotations, type alias values and type parameter bounds."""

from __future__ import annotations

from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.syntax_facts import Row, TypeExpr
from codeanatomy_assets.extraction.syntax_walk import Walk


def type_expr_rows(walk: Walk) -> list[Row]:
    return [_row(walk, type_expr) for type_expr in walk.type_exprs]


def _row(walk: Walk, type_expr: TypeExpr) -> Row:
    node = type_expr.node
    return (
        walk.file_id,
        type_expr.type_expr_id,
        type_expr.scope.def_id,
        type_expr.role,
        type_expr.annotated_def_id,
        type_expr.annotated_name,
        type_expr.text,
        _is_quoted(type_expr),
        type_expr.ordinal,
        node.start_byte,
        node.end_byte,
    )


def _is_quoted(type_expr: TypeExpr) -> bool:
    """The whole expression is a string: `"Foo"`, not `List["Foo"]`."""
    node = type_expr.node
    if node.kind_id == g.TYPE:
        children = g.code_children(node)
        if len(children) != 1:
            return False
        node = children[0]
    return g.unwrapped(node).kind_id in (g.STRING, g.CONCATENATED_STRING)

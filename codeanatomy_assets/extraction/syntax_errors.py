"""Collector of cst_parse_errors: what the grammar could not read, and what only Python 2 could.

The grammar also takes Python 2's statements, so that the names in them are read; Python 3 does not,
so each is an error here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.syntax_facts import OrdinalIds, Row
from codeanatomy_assets.extraction.syntax_walk import Walk

MAX_TEXT = 80
PYTHON_2_KINDS = ("print_statement", "exec_statement", "raise_statement", "comparison_operator")


def parse_error_rows(walk: Walk) -> list[Row]:
    found = [*_unread(walk.root), *(("error", node) for node in _python_2(walk))]
    found += [("too_deep", node) for node in walk.too_deep]
    found.sort(key=lambda error: (error[1].start_byte, error[1].end_byte))
    ids = OrdinalIds(identity.PARSE_ERROR, walk.file_id)
    return [_row(walk, kind, node, ids) for kind, node in found]


def _row(walk: Walk, kind: str, node: Node, ids: OrdinalIds) -> Row:
    text = node.type if kind == "missing" else walk.opening(node, MAX_TEXT)
    error_id, ordinal = ids.take((kind,), text)
    return (walk.file_id, error_id, kind, text, ordinal, node.start_byte, node.end_byte)


def _unread(root: Node) -> Iterator[tuple[str, Node]]:
    """Outermost errors and missing tokens: what an error holds is part of it."""
    stack = [root] if root.has_error else []
    while stack:
        node = stack.pop()
        if node.is_missing:
            yield "missing", node
        elif node.is_error:
            yield "error", node
        else:
            stack += [child for child in reversed(node.children) if child.has_error]


def _python_2(walk: Walk) -> Iterator[Node]:
    for kind in PYTHON_2_KINDS:
        for node, _ in walk.claimed[kind]:
            if kind == "raise_statement":
                is_python_2 = any(child.kind_id == g.EXPRESSION_LIST for child in node.named_children)
            elif kind == "comparison_operator":
                is_python_2 = any(child.type == "<>" for child in node.children if not child.is_named)
            else:
                is_python_2 = True
            if is_python_2:
                yield node

"""Collector of cst_defs: functions, classes and lambdas, each with what its header says.

A definition's span starts at `async`, `def`, `class` or `lambda`: its decorators stand before it.
"""

from __future__ import annotations

import inspect

from tree_sitter import Node

from codeanatomy_assets.extraction import syntax_grammar as g
from codeanatomy_assets.extraction.syntax_facts import Definition, Parameter, Row
from codeanatomy_assets.extraction.syntax_headers import class_arguments
from codeanatomy_assets.extraction.syntax_strings import string_value
from codeanatomy_assets.extraction.syntax_walk import Walk

# A default may hold a lambda with a default, and so on: unbounded, texts would be quadratic.
MAX_DEFAULT = 1000


def definition_rows(walk: Walk) -> list[Row]:
    return [_row(walk, definition) for definition in walk.definitions]


def _row(walk: Walk, definition: Definition) -> Row:
    node = definition.node
    body = node.child_by_field_id(g.F_BODY)
    returns = node.child_by_field_id(g.F_RETURN_TYPE)
    parent = definition.parent
    return (
        walk.file_id,
        definition.def_id,
        definition.kind,
        definition.name,
        definition.local_qname,
        definition.ordinal,
        parent.def_id if parent else None,
        parent.kind if parent else "module",
        definition.kind == "function" and walk.content.startswith(b"async", node.start_byte),
        definition.conditional,
        [walk.text(decorator) for decorator in definition.decorators],
        [walk.text(base) for base in _bases(definition)],
        [_parameter(walk, parameter) for parameter in definition.parameters],
        walk.text(returns) if returns is not None else None,
        [walk.text(parameter) for parameter in definition.type_parameters],
        _docstring(walk, body) if body is not None and definition.kind != "lambda" else None,
        definition.name_bstart,
        definition.name_bend,
        body.start_byte if body is not None else node.end_byte,
        node.start_byte,
        node.end_byte,
    )


def _bases(definition: Definition) -> list[Node]:
    if definition.kind != "class":
        return []
    keywords = (g.KEYWORD_ARGUMENT, g.DICTIONARY_SPLAT)
    return [argument for argument in class_arguments(definition.node) if argument.kind_id not in keywords]


def _parameter(walk: Walk, parameter: Parameter) -> dict[str, object]:
    return {
        "name": parameter.name,
        "kind": parameter.kind,
        "annotation": walk.text(parameter.annotation) if parameter.annotation is not None else None,
        "default": walk.opening(parameter.default, MAX_DEFAULT) if parameter.default is not None else None,
        "bstart": parameter.bstart,
        "bend": parameter.bend,
    }


def _docstring(walk: Walk, body: Node) -> str | None:
    for statement in body.named_children:
        if statement.kind_id in g.NOT_CODE:
            continue
        expressions = g.code_children(statement) if statement.kind_id == g.EXPRESSION_STATEMENT else []
        # A tuple without parentheses has several.
        value = string_value(walk.content, expressions[0]) if len(expressions) == 1 else None
        return inspect.cleandoc(value) if value is not None else None
    return None

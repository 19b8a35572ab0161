"""The grammar: node kinds and fields by number, and the parser. Numbers compare faster than names."""

from __future__ import annotations

import re

import tree_sitter_python
from tree_sitter import Language, Node, Parser

LANGUAGE = Language(tree_sitter_python.language())
_TYPE_BEFORE_BRACKET = re.compile(rb"type(?=[ \t\f]*(?:\\\r?\n[ \t\f]*)*[(\[])")

_LONE_RETURN = re.compile(rb"\r(?!\n)")


def kind(name: str) -> int:
    """The number of a named node kind."""
    number = LANGUAGE.id_for_node_kind(name, True)
    if number is None:
        raise ValueError(f"grammar of tree-sitter-python has no node kind {name}: pin the version it was written for")
    return number


def field(name: str) -> int:
    """The number of a field."""
    number = LANGUAGE.field_id_for_name(name)
    if number is None:
        raise ValueError(f"grammar of tree-sitter-python has no field {name}: pin the version it was written for")
    return number


def parse(content: bytes) -> Node:
    """The root of the syntax tree. A parser is cheap and keeps state, so each file gets its own.

    Texts are taken from the content, not from the tree, so the parser may be shown other bytes of the same
    length where the grammar reads what Python does not: `type(self).x = 1` is no type alias (no alias has
    a bracket after `type`), and a lone carriage return ends a line.
    """
    shown = _TYPE_BEFORE_BRACKET.sub(b"typ_", content)
    if b"\r" in shown:
        shown = _LONE_RETURN.sub(b"\n", shown)
    return Parser(LANGUAGE).parse(shown).root_node


def code_children(node: Node) -> list[Node]:
    """The named children that are code: comments and line continuations may stand between any two."""
    return [child for child in node.named_children if child.kind_id not in NOT_CODE]


def annotation_parts(node: Node) -> list[Node]:
    """What a type expression holds, without the node that only says that it is one."""
    return code_children(node) if node.kind_id == TYPE else [node]


def unwrapped(node: Node) -> Node:
    """The expression inside redundant parentheses."""
    while node.kind_id == PARENTHESIZED:
        inner = code_children(node)
        if len(inner) != 1:
            break
        node = inner[0]
    return node


ATTRIBUTE = kind("attribute")
ALIASED_IMPORT = kind("aliased_import")
ARGUMENT_LIST = kind("argument_list")
ASSIGNMENT = kind("assignment")
AUGMENTED_ASSIGNMENT = kind("augmented_assignment")
BINARY_OPERATOR = kind("binary_operator")
BLOCK = kind("block")
CALL = kind("call")
COMMENT = kind("comment")
CONCATENATED_STRING = kind("concatenated_string")
CONSTRAINED_TYPE = kind("constrained_type")
DECORATOR = kind("decorator")
DOTTED_NAME = kind("dotted_name")
DICTIONARY_SPLAT = kind("dictionary_splat")
DICTIONARY_SPLAT_PATTERN = kind("dictionary_splat_pattern")
ELSE_CLAUSE = kind("else_clause")
EXPRESSION_LIST = kind("expression_list")
EXPRESSION_STATEMENT = kind("expression_statement")
FOR_IN_CLAUSE = kind("for_in_clause")
FUNCTION = kind("function_definition")
GENERATOR = kind("generator_expression")
GENERIC_TYPE = kind("generic_type")
IDENTIFIER = kind("identifier")
INTERPOLATION = kind("interpolation")
KEYWORD_ARGUMENT = kind("keyword_argument")
KEYWORD_SEPARATOR = kind("keyword_separator")
LAMBDA = kind("lambda")
LINE_CONTINUATION = kind("line_continuation")
LIST_SPLAT = kind("list_splat")
LIST_SPLAT_PATTERN = kind("list_splat_pattern")
PARENTHESIZED = kind("parenthesized_expression")
POSITIONAL_SEPARATOR = kind("positional_separator")
RELATIVE_IMPORT = kind("relative_import")
SPLAT_TYPE = kind("splat_type")
STRING = kind("string")
STRING_CONTENT = kind("string_content")
SUBSCRIPT = kind("subscript")
TUPLE_PATTERN = kind("tuple_pattern")
TYPE = kind("type")
TYPE_PARAMETER = kind("type_parameter")
TYPED_PARAMETER = kind("typed_parameter")
WILDCARD = kind("wildcard_import")
NOT_CODE = frozenset((COMMENT, LINE_CONTINUATION))
SEQUENCES = frozenset((kind("list"), kind("tuple"), kind("set"), EXPRESSION_LIST))

F_ALIAS = field("alias")
F_ARGUMENTS = field("arguments")
F_ATTRIBUTE = field("attribute")
F_BODY = field("body")
F_CONDITION = field("condition")
F_DEFINITION = field("definition")
F_FUNCTION = field("function")
F_LEFT = field("left")
F_MODULE_NAME = field("module_name")
F_NAME = field("name")
F_OBJECT = field("object")
F_OPERATOR = field("operator")
F_PARAMETERS = field("parameters")
F_RETURN_TYPE = field("return_type")
F_RIGHT = field("right")
F_SUPERCLASSES = field("superclasses")
F_TYPE = field("type")
F_TYPE_PARAMETERS = field("type_parameters")
F_VALUE = field("value")

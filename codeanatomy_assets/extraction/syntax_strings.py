"""What string literals say: their value as Python evaluates it, without running anything."""

from __future__ import annotations

import ast
import re
import warnings

from tree_sitter import Node

from codeanatomy_assets.extraction import syntax_grammar as g

_LITERAL = re.compile(r"([A-Za-z]*)('''|\"\"\"|'|\")(.*)\2", re.DOTALL)
_PLAIN_PREFIXES = frozenset(("", "r", "u"))
_NEWLINES = re.compile(r"\r\n?")


def string_value(content: bytes, node: Node) -> str | None:
    """The value of a plain string or of several side by side; null for bytes, f-strings and anything else."""
    node = g.unwrapped(node)
    if node.kind_id == g.STRING:
        return _value(content[node.start_byte : node.end_byte].decode("utf-8", "replace"))
    if node.kind_id != g.CONCATENATED_STRING:
        return None
    values: list[str] = []
    for part in g.code_children(node):
        value = string_value(content, part)
        if value is None:
            return None
        values.append(value)
    return "".join(values)


def _value(literal: str) -> str | None:
    found = _LITERAL.fullmatch(literal)
    if found is None or found.group(1).lower() not in _PLAIN_PREFIXES:
        return None
    text = _NEWLINES.sub("\n", found.group(3))
    if "\\" not in text or found.group(1).lower() == "r":
        return text
    with warnings.catch_warnings():
        # An unknown escape is the analysed file's business, not a warning about us.
        warnings.simplefilter("ignore")
        try:
            value = ast.literal_eval(_NEWLINES.sub("\n", literal))
        except (SyntaxError, ValueError):
            return None
    # A lone surrogate is a legal value that no table can store.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None

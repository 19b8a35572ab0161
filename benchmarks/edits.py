"""Edits of Python sources as a programmer makes them, found through the syntax tree: a body, a signature, imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


def with_edited_body(source: str, number: int) -> str | None:
    """One statement more before the last one of the first function that has a line of its own for it."""
    for _, function in _functions(ast.parse(source)):
        last = function.body[-1]
        is_plain = not isinstance(last, Function | ast.ClassDef)
        if is_plain and last.lineno > function.body[0].lineno:
            lines = source.split("\n")
            lines.insert(last.lineno - 1, f"{' ' * last.col_offset}edited_{number} = len('edited')")
            return "\n".join(lines)
    return None


def with_new_parameter(source: str, qualified_name: str, number: int) -> str:
    """An optional parameter more, after the last positional one."""
    function = dict(_functions(ast.parse(source)))[qualified_name]
    given = function.args
    positional: list[ast.arg | ast.expr] = [*given.posonlyargs, *given.args, *given.defaults]
    after = max(positional, key=lambda each: (each.lineno, each.col_offset))
    assert after.end_lineno is not None and after.end_col_offset is not None
    lines = source.split("\n")
    line = lines[after.end_lineno - 1].encode()
    # Columns of the syntax tree are bytes.
    edited = line[: after.end_col_offset] + f", added_{number}=None".encode() + line[after.end_col_offset :]
    lines[after.end_lineno - 1] = edited.decode()
    return "\n".join(lines)


def with_renamed_imports(source: str, old: str, new: str) -> str:
    """Lines that import a module by its old last name do so by the new one."""
    word = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
    return "\n".join(
        word.sub(new, line) if re.match(r"\s*(?:from|import)\s", line) else line for line in source.split("\n")
    )


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Functions and methods with their names in the module, in their order; local ones are left out."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, Function))

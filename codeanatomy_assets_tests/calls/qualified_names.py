"""The qualified names of a module's definitions, and which of them a code object belongs to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
Place = tuple[int, int]


@dataclass(frozen=True)
class Code:
    """A code object as the traced process tells it: its span is that of its instructions."""

    path: str
    name: str
    first_line: int
    start: Place
    end: Place


@dataclass(frozen=True)
class Named:
    """A definition: where its code starts, decorators included, and the span of its body."""

    qname: str
    name: str
    first_line: int
    start: Place
    end: Place

    def holds(self, code: Code) -> bool:
        return self.start <= code.start and code.end <= self.end


def module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class ModuleNames:
    """What a module defines, outer before inner."""

    def __init__(self, path: str, source: str) -> None:
        self.module = module_name(path)
        self.definitions = [*_named(self.module, ast.parse(source).body)]

    def of(self, code: Code) -> str:
        """The definition whose code this is, or around this code if it is a comprehension's."""
        for named in self.definitions:
            if (named.name, named.first_line) == (code.name, code.first_line) and code.name != "<lambda>":
                return named.qname
        # A line may hold several lambdas and comprehensions: only their spans tell them apart.
        around = [named.qname for named in self.definitions if named.holds(code) and code.name != "<module>"]
        return around[-1] if around else self.module


def _named(container: str, body: Iterable[ast.AST]) -> Iterator[Named]:
    lambdas = 0
    for node in sorted(_directly_in(body), key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.Lambda):
            lambdas += 1
            qname, name, first_line = f"{container}.<lambda{lambdas}>", "<lambda>", node.lineno
        else:
            qname, name = f"{container}.{node.name}", node.name
            first_line = min(each.lineno for each in (node, *node.decorator_list))
        inside = _body(node)
        first, last = inside[0], inside[-1]
        end = (last.end_lineno or last.lineno, last.end_col_offset or last.col_offset)
        yield Named(qname, name, first_line, (first.lineno, first.col_offset), end)
        yield from _named(qname, inside)


def _directly_in(nodes: Iterable[ast.AST]) -> Iterator[Definition]:
    """Definitions in these nodes but not in one another's bodies; a header belongs to the scope around it."""
    for node in nodes:
        if isinstance(node, Definition):
            yield node
        yield from _directly_in(_header(node) if isinstance(node, Definition) else ast.iter_child_nodes(node))


def _header(node: Definition) -> list[ast.AST]:
    body = _body(node)
    return [child for child in ast.iter_child_nodes(node) if child not in body]


def _body(node: Definition) -> list[ast.stmt | ast.expr]:
    return [node.body] if isinstance(node, ast.Lambda) else [*node.body]

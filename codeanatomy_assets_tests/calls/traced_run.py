"""Runs modules of a folder and prints the calls among its files; a script of its own, in a process of its own.

Usage: `python traced_run.py FOLDER MODULE…`. The answer is JSON: for each module, pairs of code objects.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import runpy
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


class CallsWithin:
    """A profile function that keeps the calls from files of a folder to functions of the same folder."""

    def __init__(self, folder: str) -> None:
        self.folder = f"{folder}/"
        self.pairs: set[tuple[CodeType, CodeType]] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or not self.is_function(frame.f_code):
            return
        # Code outside the folder, as sorted's or contextlib's, calls on behalf of who called it.
        caller = frame.f_back
        while caller is not None and not self.is_within(caller.f_code):
            caller = caller.f_back
        if caller is not None:
            self.pairs.add((caller.f_code, frame.f_code))

    def is_within(self, code: CodeType) -> bool:
        return code.co_filename.startswith(self.folder)

    def is_function(self, code: CodeType) -> bool:
        """Neither a module nor a class body, which have no locals of their own, nor a comprehension."""
        has_locals = code.co_flags & inspect.CO_NEWLOCALS
        return self.is_within(code) and bool(has_locals) and code.co_name not in COMPREHENSIONS

    def described(self, code: CodeType) -> list[Any]:
        spans = [*_spans(code)]
        start = min((start for start, _ in spans), default=(code.co_firstlineno, 0))
        end = max((end for _, end in spans), default=start)
        return [code.co_filename.removeprefix(self.folder), code.co_name, code.co_firstlineno, start, end]


def _spans(code: CodeType) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None:
            continue
        # An instruction of the compiler's own has an empty span.
        if (line, column) < (end_line, end_column):
            yield (line, column), (end_line, end_column)


def calls_of(folder: str, module: str) -> list[list[list[Any]]]:
    calls = CallsWithin(folder)
    with contextlib.redirect_stdout(io.StringIO()):
        sys.setprofile(calls)
        try:
            runpy.run_module(module, run_name="__main__")
        finally:
            sys.setprofile(None)
    return [[calls.described(caller), calls.described(callee)] for caller, callee in calls.pairs]


if __name__ == "__main__":
    _, the_folder, *modules = sys.argv
    sys.path.insert(0, the_folder)
    print(json.dumps({module: calls_of(the_folder, module) for module in modules}))

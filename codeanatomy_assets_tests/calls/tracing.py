"""The calls that programs make when they run, by the names of `program`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from codeanatomy_assets_tests.calls.judging import combined_tree
from codeanatomy_assets_tests.calls.program import Edge, Program
from codeanatomy_assets_tests.calls.qualified_names import Code, ModuleNames

TRACED_RUN = Path(__file__).with_name("traced_run.py")


def traced_edges(programs: Iterable[Program], folder: Path) -> dict[str, frozenset[Edge]]:
    """The edges seen when each program runs, by package: all in one process, their files in this folder.

    Other threads are not watched: what they call has no caller in the tree.
    """
    programs = list(programs)
    tree, folder = combined_tree(programs), folder.resolve()
    for path, source in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(source, encoding="utf-8")
    # Isolated: what runs is the tree and the standard library, wherever the tests themselves were started.
    command = [sys.executable, "-I", "-B", str(TRACED_RUN), str(folder), *(each.entry for each in programs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = {path: ModuleNames(path, source) for path, source in tree.items()}
    pairs = json.loads(done.stdout)
    return {
        each.package: frozenset((_name(names, caller), _name(names, callee)) for caller, callee in pairs[each.entry])
        for each in programs
    }


def _name(names: dict[str, ModuleNames], described: list[Any]) -> str:
    path, name, first_line, start, end = described
    return names[path].of(Code(path, name, first_line, tuple(start), tuple(end)))

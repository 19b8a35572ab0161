"""A program for judging call edges: a small tree of files, a module to run, and the calls that its source means.

What is called. The table asks for what the text says: the definition that the called name means where it stands,
whichever object that name holds by the time the line runs.

- A call of a class means the `__init__` that its MRO finds in the repository. If there is none, as in a dataclass or
  a bare exception, it means the class itself.
- A call of a decorated function means the function of that name, not the wrapper that took its place.
- `@decorator` is a call of the decorator by the scope around the definition, a class for its methods.
- Reading or setting a property is a call of the property's function.
- A method is that of the receiver's declared or inferred type, of `self` that of the class it stands in. `super()` is
  the next class in the MRO of the class it stands in, and `cls` that class.
- A function handed over by name to code outside the repository is called by the scope that hands it over.
- A function that a parameter, a container or a return value holds is called by the scope with the call expression.

Running the program tells more and less than that, so an edge is in one of four lists:

- `calls` are meant by the text and seen when it runs: each must be found.
- `untraced` are meant by the text and never seen: a class without `__init__`, a decorated function that its wrapper
  calls, a branch or method that this run passes by. Each must be found.
- `indirect` are seen when it runs and not what the text asks for: a wrapper behind a name, an override chosen at run
  time, a method that an operator, `with`, `for` or the class statement calls. Finding or missing one is no mistake.
- `possible` are neither seen nor asked for, yet true of another run: the other branch of a conditional import, the
  declared method where an override always runs. Finding or missing one is no mistake.

Every other edge is wrong.

Names are dotted: the module's name and the path inside it, `shop.cart.Cart.total` or `shop.main.run.inner`. A package's
`__init__` has the package's name, and calls at module level come from the module. A lambda is `<lambda1>`, numbered in
its container. Calls in a class body come from the class, those in a comprehension from the definition around it.
Definitions of one name in one scope, as of a property and its setter, share their name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from textwrap import dedent

Edge = tuple[str, str]
Tree = dict[str, str]

FILE_LINE = "--- "
PACKAGE_ITSELF = "."


@dataclass(frozen=True)
class Program:
    """One package of a unique name, its entry module, and its edges as (caller, callee)."""

    package: str
    files: Tree
    entry: str
    calls: frozenset[Edge]
    untraced: frozenset[Edge]
    indirect: frozenset[Edge]
    possible: frozenset[Edge]

    @property
    def wanted(self) -> frozenset[Edge]:
        """What a graph of the source must have."""
        return self.calls | self.untraced

    @property
    def tolerated(self) -> frozenset[Edge]:
        """What it may have or lack."""
        return self.indirect | self.possible


def program(
    package: str,
    text: str,
    *,
    calls: str,
    untraced: str = "",
    indirect: str = "",
    possible: str = "",
    entry: str = "main",
) -> Program:
    """A program from its text, where `--- path` starts each file, and from lists of edges.

    Paths and names in edges are inside the package: `main -> cart.Cart.total, cart.discount`; `.` is the package.
    """
    return Program(
        package,
        _files(package, text),
        f"{package}.{entry}",
        *(frozenset(_edges(package, each)) for each in (calls, untraced, indirect, possible)),
    )


def _files(package: str, text: str) -> Tree:
    before, *parts = f"\n{dedent(text)}".split(f"\n{FILE_LINE}")
    assert not before.strip(), f"{package}: text before the first file: {before!r}"
    files: Tree = {}
    for part in parts:
        path, _, source = part.partition("\n")
        assert path not in files, f"{package}: {path} twice"
        files[path] = f"{source.rstrip()}\n"
    folders = {parent for path in files for parent in PurePosixPath(package, path).parents if parent.parts}
    empty = {f"{folder}/__init__.py": "" for folder in sorted(folders)}
    return empty | {f"{package}/{path}": source for path, source in files.items()}


def _edges(package: str, text: str) -> Iterable[Edge]:
    for line in filter(None, map(str.strip, text.splitlines())):
        caller, arrow, callees = line.partition(" -> ")
        assert arrow, f"{package}: no edge: {line!r}"
        for callee in callees.split(", "):
            yield _full(package, caller), _full(package, callee)


def _full(package: str, name: str) -> str:
    return package if name == PACKAGE_ITSELF else f"{package}.{name}"

"""Random repositories of some thirty modules and random commits to them: what an incremental graph gets wrong, mixed.

On top of the random programs: inheritance three files deep, cycles of imports, calls through functions without
annotations, and commits that override, re-export, rename the parents of modules, and switch branches.
"""

from __future__ import annotations

import re

from codeanatomy_assets_tests.parity.scip_programs import CLASSES, EDITS, FUNCTIONS, MEMBERS, Module, Programs

DEEP = {
    "deep/base.py": ("", "class Top:\n    def foo(self):\n        return 1\n    def bar(self): return self.foo()"),
    "deep/mid.py": ("from deep.base import Top", "class Mid(Top):\n    pass"),
    "deep/low.py": ("from deep.mid import Mid", "class Low(Mid):\n    def baz(self):\n        return self.bar()"),
    "deep/caller.py": ("from deep.low import Low", "def call():\n    low = Low()\n    return low.foo()"),
    "deep/ping.py": ("from deep import pong", "def make(n):\n    return pong.find(n)"),
    "deep/pong.py": ("from deep import ping", "def find(n):\n    return ping.make(n)"),
    "deep/source.py": ("from deep.low import Low", "def pick():\n    return Low()"),
    "deep/through.py": ("from deep.source import pick", "def turn(given=None):\n    return pick()"),
    "deep/sink.py": ("from deep.through import turn", "def wrap():\n    return turn().foo()"),
    "deep/hub.py": ("from deep.mid import *\nfrom deep.source import *", ""),
    "deep/user.py": ("from deep.hub import Mid, pick", "def halt():\n    return pick().bar(), Mid().foo()"),
    "deep/__init__.py": ("from deep.hub import *", ""),
}
MORE_EDITS = ("override", "override", "star", "star", "all", "branch", "parent")
MOST_BACK = 4


class Repositories(Programs):
    """One history of a repository: `edit` makes the next commit, `tree` is the present."""

    packages = ("app", "app/core", "lib")
    module_names: tuple[str, ...] = ("alpha", "beta", "gamma", "delta", "eps")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        for path, (imports, block) in DEEP.items():
            self.modules[path] = Module(imports.splitlines(), [block] if block else [])
        self.left: dict[str, Module] | None = None

    def edit(self) -> str:
        """One commit: mostly one edit, sometimes several at once."""
        told = [self._one_edit() for _ in range(self.chance.choice((1, 1, 1, 2, 3)))]
        return "; ".join(told)

    def _one_edit(self) -> str:
        kind = self.one(*EDITS, *MORE_EDITS)
        if kind not in MORE_EDITS:
            return super().edit()
        self.past.append(self.tree())
        self.done.append(kind)
        return f"{kind} {getattr(self, f'_{kind}')()}"

    def _override(self) -> str:
        """A class that has a base gets a method that the base may have too."""
        found = [
            (path, place, block)
            for path, module in sorted(self.modules.items())
            for place, block in enumerate(module.blocks)
            if re.match(r"class \w+\(\w", block)
        ]
        if not found:
            return "nothing"
        path, place, block = self.chance.choice(found)
        method = f"    def {self.one(*MEMBERS)}(self):\n        return {self.expression(1)}"
        self.modules[path].blocks[place] = f"{block.rstrip()}\n{method}"
        return path

    def _star(self) -> str:
        """A package re-exports another module's names, or no longer does."""
        path = self.chance.choice(sorted(path for path in self.modules if path.endswith(("__init__.py", "hub.py"))))
        imports = self.modules[path].imports
        stars = [place for place, each in enumerate(imports) if each.endswith("import *")]
        if stars and self.chance.random() < 0.4:
            del imports[self.chance.choice(stars)]
        else:
            imports.append(f"from {self.module_name()} import *")
        return path

    def _all(self) -> str:
        path = self.chance.choice(sorted(self.modules))
        module = self.modules[path]
        module.blocks = [block for block in module.blocks if not block.startswith("__all__")]
        if self.chance.random() < 0.6:
            names = ", ".join(f"'{each}'" for each in self.chance.sample((*CLASSES, *FUNCTIONS), 3))
            module.blocks.append(f"__all__ = [{names}]")
        return path

    def _branch(self) -> str:
        """To another branch, a few commits back, and to and fro between the two."""
        here = {path: Module(list(each.imports), list(each.blocks)) for path, each in self.modules.items()}
        if self.left is not None:
            self.modules, self.left = self.left, here
            return "back"
        self.left = here
        tree = self.chance.choice(self.past[-MOST_BACK:])
        self.modules = {path: Module([], [content.decode().rstrip("\n")]) for path, content in tree.items()}
        return "away"

    def _parent(self) -> str:
        """A package's own module comes or goes: modules below it may be called otherwise."""
        path = f"{self.one(*self.packages, 'deep')}/__init__.py"
        if self.modules.pop(path, None) is None:
            self.modules[path] = Module([self.an_import()], [])
        return path

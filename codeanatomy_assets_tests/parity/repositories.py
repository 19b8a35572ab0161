"""Random repositories of some forty modules and random commits to them: what an incremental graph gets wrong, mixed.

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
    # Called by the whole path of a module that is not imported by it; by another name; without a method; inside.
    "deep/dotted.py": ("import deep", "def reach():\n    return deep.source.pick(), deep.low.Low(), deep.wide.baz()"),
    "deep/same.py": ("from deep.low import Low", "Same = Low"),
    "deep/called.py": (
        "from deep.same import Same\nfrom deep.low import Low",
        "def calls():\n    return Same(), Low()",
    ),
    "deep/wide.py": ("", "class Other:\n    def __init__(self):\n        self.foo = 1\n\n\ndef baz():\n    return 1"),
    "deep/inside.py": (
        "",
        "def inner():\n    class Inner:\n        def foo(self):\n            return 1\n    return Inner()",
    ),
    "deep/outside.py": ("from deep.inside import inner", "def outer():\n    return inner().foo(), inner().foo"),
}
MORE_EDITS = ("override", "override", "star", "star", "all", "branch", "parent", "bases", "construct", "decorate")
MOST_BACK = 4


class Repositories(Programs):
    """One history of a repository: `edit` makes the next commit, `tree` is the present."""

    packages = ("app", "app/core", "lib")
    module_names: tuple[str, ...] = ("alpha", "beta", "gamma", "delta", "eps", "zeta")

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
        path, place, block = self._some_block(r"class \w+\(\w")
        method = f"    def {self.one(*MEMBERS)}(self):\n        return {self.expression(1)}"
        self.modules[path].blocks[place] = f"{block.rstrip()}\n{method}"
        return path

    def _bases(self) -> str:
        """A class gets another base, or loses it."""
        path, place, block = self._some_block(r"class \w+")
        based = re.match(r"class (\w+)(\(.*?\))?", block)
        assert based is not None
        imported = "from deep.wide import Other"
        if based[2] or based[1] == "Other":
            bases = ""
        else:
            bases = "(Other)"
            self.modules[path].imports = [*dict.fromkeys([*self.modules[path].imports, imported])]
        self.modules[path].blocks[place] = f"class {based[1]}{bases}{block[based.end() :]}"
        return path

    def _construct(self) -> str:
        """A class gets a constructor, or another name for the one it has."""
        path, place, block = self._some_block(r"class \w+")
        if "__init__" in block:
            block = block.replace("__init__", self.one(*MEMBERS), 1)
        else:
            block = f"{block.rstrip()}\n    def __init__(self):\n        pass"
        self.modules[path].blocks[place] = block
        return path

    def _decorate(self) -> str:
        """A method is read like a value, or called again."""
        path, place, block = self._some_block(r"(?s).*\n +def \w+\(self")
        if "@property" in block:
            block = re.sub(r"\n +@property", "", block, count=1)
        else:
            block = re.sub(r"\n( +)def (\w+)\(self", r"\n\1@property\n\1def \2(self", block, count=1)
        self.modules[path].blocks[place] = block
        return path

    def _some_block(self, pattern: str) -> tuple[str, int, str]:
        found = [
            (path, place, block)
            for path, module in sorted(self.modules.items())
            for place, block in enumerate(module.blocks)
            if re.match(pattern, block)
        ]
        if found:
            return self.chance.choice(found)
        # After a switch of branches each file is one block.
        self.modules["deep/more.py"] = Module([], ["class More(object):\n    def foo(self):\n        return 1"])
        return "deep/more.py", 0, self.modules["deep/more.py"].blocks[0]

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

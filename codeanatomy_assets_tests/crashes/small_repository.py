"""A repository of about ten files and its commits, each a function of a seed: what crashed builds are about."""

from __future__ import annotations

import random
from collections.abc import Mapping

from codeanatomy_assets_tests.git_repositories import GitRepo

# Each file's texts; None is a file that is not there. The first ones are the first commit.
VARIANTS: Mapping[str, tuple[str | None, ...]] = {
    "app/__init__.py": (
        "from app.base import Base, helper\n",
        "from app.base import Base\nfrom app.tools import *\n",
        "from app.tools import helper\n\n__all__ = ['helper']\n",
    ),
    "app/base.py": (
        "class Base:\n    def run(self):\n        return helper(1)\n\n\ndef helper(x):\n    return x\n",
        "class Base:\n    def run(self) -> str:\n        return str(helper(2))\n\n\ndef helper(x):\n    return x + 1\n",
        "class Root:\n    def start(self): ...\n\n\nclass Base(Root):\n    def run(self): ...\n\n\nhelper = len\n",
    ),
    "app/middle.py": (
        "from app.base import Base\n\n\nclass Middle(Base):\n    pass\n",
        "from app.base import Base\n\n\nclass Middle(Base):\n    def run(self):\n        return super().run()\n",
        None,
    ),
    "app/leaf.py": (
        "from app.middle import Middle\n\n\ndef use():\n    return Middle().run()\n",
        "from app.middle import Middle as M\n\n\ndef use(value: M):\n    return [value.run() for _ in range(3)]\n",
    ),
    "app/tools.py": (
        "def helper(x):\n    return x\n\n\ndef other():\n    return helper(3)\n",
        "def helper(x, y=0):\n    return x\n\n\nother = helper\n",
        None,
    ),
    "app/users.py": (
        "from app import helper\n\n\ndef call():\n    return helper(5)\n",
        "import app\n\n\ndef call():\n    return app.helper(5)\n",
        "from app.leaf import use\n\n\ndef call():\n    return use()\n",
    ),
    "lib/first.py": (
        "import lib.second\n\n\ndef one():\n    return lib.second.two()\n",
        "def one(): ...\n",
        "one = 1\n",
    ),
    "lib/second.py": ("from lib import first\n\n\ndef two():\n    return first.one()\n", "def two() -> int: ...\n"),
    "lib/moved.py": ("def stays():\n    return 'here'\n", None),
    "lib/there.py": (None, "def stays():\n    return 'here'\n"),
    "lib/broken.py": ("def fine(): ...\n\ndef bad(:\n", "def fine(): ...\n\n\ndef good(): ...\n", None),
}


def first_files() -> dict[str, str]:
    return {path: texts[0] for path, texts in VARIANTS.items() if texts[0] is not None}


def next_files(present: Mapping[str, str], seed: str) -> dict[str, str]:
    """Another tree: some files with another text, come or gone, and always one with a new definition and its use."""
    chance = random.Random(seed)
    after: dict[str, str] = {}
    for path, texts in VARIANTS.items():
        text = chance.choice(texts) if chance.random() < 0.4 else present.get(path)
        if text is not None:
            after[path] = text
    leaf = VARIANTS["app/leaf.py"][chance.randrange(2)]
    new = f"new_{chance.randrange(10**6)}"
    after["app/leaf.py"] = f"{leaf}\n\ndef {new}():\n    return {new}()\n"
    return after


def commit_tree(repo: GitRepo, present: Mapping[str, str], files: Mapping[str, str]) -> str:
    """Make a tree the next commit."""
    for path in present.keys() - files.keys():
        repo.remove(path)
    return repo.commit_files(dict(files))

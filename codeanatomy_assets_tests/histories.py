"""A small history that is built once for all tests that only read it: four commits, each of which does one thing."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.states import BuiltState

FIRST = {
    "app/__init__.py": "from app.tools import helper\n",
    "app/tools.py": "def helper(x):\n    return x\n",
    "app/other.py": "def helper(x):\n    return x + 1\n",
    "app/main.py": (
        "from app import helper\n\n\ndef run():\n    count = helper(1)\n    return count\n\n\n"
        "def old_name():\n    return run()\n"
    ),
}
# A function is renamed; an unchanged caller's name comes to mean another function; a file's text only moves down.
RENAMED = {"app/main.py": FIRST["app/main.py"].replace("old_name", "new_name")}
REBOUND = {"app/__init__.py": "from app.other import helper\n"}
MOVED = {"app/main.py": f"# Moved down.\n\n{RENAMED['app/main.py']}"}


@dataclass(frozen=True)
class History:
    """The state, and the commits in the order they were made. Tests that write take a copy."""

    built: BuiltState

    @property
    def commits(self) -> list[str]:
        return self.built.repo.commits

    @property
    def state(self) -> Path:
        return self.built.settings.state

    def copy(self, folder: Path) -> History:
        shutil.copytree(self.state, folder)
        return History(replace(self.built, settings=replace(self.built.settings, state=folder)))

    def build(self) -> None:
        build_directly(self.built.settings, self.built.engine, self.built.progress)


def build_history(folder: Path, engine: SparkEngine) -> History:
    history = History(BuiltState.create(folder, engine))
    for files in (FIRST, RENAMED, REBOUND, MOVED):
        history.built.repo.commit_files(files)
        history.build()
    return history

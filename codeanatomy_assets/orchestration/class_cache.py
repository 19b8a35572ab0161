"""Spark's classes loaded and linked ahead of time: a build that the JVM notes, for later ones to start from.

`python -m codeanatomy_assets.orchestration.class_cache` is part of the set-up. A JVM that finds the cache was made by
another Java or of other jars does without it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.resources import class_cache, spark_engine
from codeanatomy_assets.settings import Settings

# The JVM assembles the cache on its way out.
ASSEMBLY_SECONDS = 600
SOURCES = {
    "pkg/__init__.py": "from pkg.shapes import *\n",
    "pkg/shapes.py": (
        "import math\n\n\nclass Shape:\n    def area(self) -> float:\n        return 0.0\n\n\n"
        "class Circle(Shape):\n    def __init__(self, radius: float) -> None:\n        self.radius = radius\n\n"
        "    def area(self) -> float:\n        return math.pi * self.radius**2\n"
    ),
    "pkg/sizes.py": "from pkg import Circle\n\n\ndef size(radius: float) -> float:\n    return Circle(radius).area()\n",
}


class Silent:
    """Progress that nobody watches."""

    def say(self, text: str) -> None:
        pass

    def advance(self, label: str, done: int, total: int) -> None:
        pass


def make(cache: Path) -> None:
    """Build a small folder, and keep what the JVM loaded for it."""
    cache.parent.mkdir(parents=True, exist_ok=True)
    made = cache.with_suffix(".new")
    with tempfile.TemporaryDirectory(prefix="codeanatomy-training-") as scratch:
        settings = Settings(repo=Path(scratch) / "folder", state=Path(scratch) / "state", worktree=True)
        for path, text in SOURCES.items():
            (settings.repo / path).parent.mkdir(parents=True, exist_ok=True)
            (settings.repo / path).write_text(text, encoding="utf-8")
        engine = spark_engine(settings, [f"-XX:AOTCacheOutput={made}"])
        try:
            build_directly(settings, engine, Silent())
        finally:
            engine.stop(ASSEMBLY_SECONDS)
    if not made.is_file():
        raise CodeAnatomyError(f"the JVM left no class cache at {made}: run make setup again")
    made.replace(cache)


def main() -> int:
    print("set-up: Spark's classes: loaded and linked once, for every later start", flush=True)
    try:
        make(class_cache())
    except CodeAnatomyError as error:
        print(f"set-up failed: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

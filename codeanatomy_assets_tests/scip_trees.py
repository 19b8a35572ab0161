"""Small folders of sources for the indexer's tests, and answers in a form that compares."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from codeanatomy_assets.extraction.scip_documents import FileRows, Row, file_rows
from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, ScipIndexer, Surroundings

# Cycles, inference through them, stars both ways, a dataclass, a property, local classes, an open body.
TANGLE = {
    "app/__init__.py": """
from app.core import *
from app import core
__all__ = core.__all__ + ['late']
from app.late import late
""",
    "app/core.py": """
from app.late import *
__all__ = ['Base', 'make']
class Base:
    size = 1
    def run(self):
        return self.step()
    def step(self):
        return Base()
    @property
    def twin(self):
        return make(self)
def make(thing):
    return thing.step()
""",
    "app/late.py": """
from app.core import *
from app.shapes import Point
def late(point=None):
    class Local(Base):
        def step(self):
            return Point(1, 2)
    return Local()
_hidden = late().step().x
""",
    "app/shapes.py": """
from dataclasses import dataclass
from typing import NamedTuple
@dataclass
class Point:
    x: int
    y: int = 0
class Pair(NamedTuple):
    left: Point
    right: Point
""",
    "app/user.py": """
import app
from app.shapes import Pair as P, Point
def use(argument):
    pair = P(Point(1), Point(x=2))
    return pair.left.x, app.late().step(), app.make(argument)
found = use(app.Base())
""",
    "tools/script.py": """
from app import *
from app.late import _hidden
print(late().run().twin, make(Base()), _hidden)
""",
}


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def python_files(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.suffix in {".py", ".pyi"} and path.is_file())
    return sorted(str(path.relative_to(folder)) for path in found)


def installed_sources(package: str, folder: Path) -> Path:
    """A copy of the Python files of a package that the project itself depends on."""
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).parent
    for path in source.rglob("*.py"):
        target = folder / package / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return folder


def answers(indexer: ScipIndexer, files: Iterable[str]) -> dict[str, IndexedFile | FailedFile]:
    return {answer.path: answer for answer in indexer.index(files)}


def cold_answers(
    folder: Path, files: Iterable[str] | None = None, surroundings: Surroundings | None = None
) -> dict[str, IndexedFile | FailedFile]:
    with ScipIndexer(folder, surroundings) as indexer:
        return answers(indexer, python_files(folder) if files is None else files)


def rows_of(answer: IndexedFile | FailedFile, source: bytes) -> FileRows:
    return file_rows(answer, f"file:{answer.path}", source)


def cold_rows(folder: Path, surroundings: Surroundings | None = None) -> dict[str, FileRows]:
    found = cold_answers(folder, surroundings=surroundings)
    return {path: rows_of(answer, (folder / path).read_bytes()) for path, answer in found.items()}


def meanings(folder: Path, rows: FileRows, text: str) -> list[str]:
    """What each occurrence of a text means, in order of place."""
    source = (folder / rows.path).read_bytes()
    return [row["symbol"].removeprefix("scip-python python ") for row in rows.occurrences if _text(source, row) == text]


def _text(source: bytes, row: Row) -> str:
    return source[row["bstart"] : row["bend"]].decode()


def moved(before: dict[str, FileRows], after: dict[str, FileRows]) -> set[str]:
    """The files in both whose resolution fingerprint differs."""
    return {path for path in before if path in after and before[path].fingerprint != after[path].fingerprint}

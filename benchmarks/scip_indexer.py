"""The indexer's CPU: our driver against the stock command on the same files, and one edited file against 500."""

from __future__ import annotations

import json
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.results_file import write_result
from codeanatomy_assets import toolchain
from codeanatomy_assets.extraction.scip_index import IndexedFile, ScipIndexer, Surroundings
from codeanatomy_assets_tests import corpora
from codeanatomy_assets_tests.scip_trees import python_files

REPEATS = 3
PACKAGES = (("click", "8.1.7"), ("flask", "3.0.3"))
SURROUNDINGS = Surroundings(search_roots=("src",))
LARGE = ("django", "5.2.8")
FILES = 500
# Tables of constants, and another database's layer over this one's: what is left is 539 files of all depths.
LEFT_OUT = ("/locale/", "/migrations/", "/gis/")
EDITED = {
    "leaf": "django/core/management/commands/showmigrations.py",
    "middle": "django/forms/models.py",
    "core": "django/db/models/query.py",
}
EDITS = 3
FIRST_METHOD = re.compile(rb"\n    def \w+\([^()]*\):\n")
DOCUMENT_FIELD = b"\x12"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        packages = {name: against_stock(name, version, Path(folder)) for name, version in PACKAGES}
        edits = edited_against_all(Path(folder))
    path = write_result(
        "scip_indexer",
        "python -m benchmarks.scip_indexer",
        {"driver_against_stock_command": packages, "one_edited_file_against_all": edits},
    )
    print(path.read_text())


def against_stock(name: str, version: str, folder: Path) -> dict[str, Any]:
    """CPU of indexing a whole sdist, start of the process included; fresh evaluators and interfaces on our side."""
    root = corpora.unpack(name, version, folder)
    stock_files = _stock_command(root, folder, SURROUNDINGS)
    files = python_files(root)
    pairs: list[tuple[float, float]] = []
    for _ in range(REPEATS):
        stock = _cpu_of_children(lambda: stock_files(folder / "stock.scip"))
        pairs.append((_full_index(root, files, SURROUNDINGS), stock))
    indexed = _documents((folder / "stock.scip").read_bytes())
    assert indexed == len(files), f"the stock command indexed {indexed} files of {name}, the driver {len(files)}"
    return {
        "corpus": f"{name} {version}",
        "files": len(files),
        "driver_cpu_seconds": [round(ours, 2) for ours, _ in pairs],
        "stock_cpu_seconds": [round(stock, 2) for _, stock in pairs],
        **_ratios([ours / stock for ours, stock in pairs]),
        "target": "at most 0.8",
    }


def edited_against_all(folder: Path) -> dict[str, Any]:
    """CPU of one file re-indexed after an edit of a body, by a process that has indexed all files once."""
    root = _large_tree(folder)
    files = python_files(root)
    originals = {path: (root / path).read_bytes() for path in EDITED.values()}
    full: list[float] = []
    edited: dict[str, list[float]] = {depth: [] for depth in EDITED}
    ratios: dict[str, list[float]] = {depth: [] for depth in EDITED}
    for _ in range(REPEATS):
        with ScipIndexer(root) as indexer:
            _drain(indexer.index(files))
            full.append(indexer.cpu_seconds)
            for depth, path in EDITED.items():
                edited[depth] += (taken := [_edit(indexer, path, originals[path], edit) for edit in range(EDITS)])
                ratios[depth] += [seconds / full[-1] for seconds in taken]
                (root / path).write_bytes(originals[path])
                indexer.update(changed=[path])
    return {
        "corpus": " ".join(LARGE),
        "files": len(files),
        "all_files_cpu_seconds": [round(seconds, 2) for seconds in full],
        "edited": {
            depth: {"path": path, "cpu_seconds": [round(each, 2) for each in edited[depth]], **_ratios(ratios[depth])}
            for depth, path in EDITED.items()
        },
        "target": "at most 0.1",
    }


def _edit(indexer: ScipIndexer, path: str, original: bytes, edit: int) -> float:
    """CPU seconds of an edit: one statement more at the head of the first method's body."""
    body = FIRST_METHOD.search(original)
    assert body is not None, f"{path} has no method to edit"
    statement = b"        edited_%d = len('edited')\n" % edit
    (indexer.root / path).write_bytes(original[: body.end()] + statement + original[body.end() :])
    before = indexer.cpu_seconds
    indexer.update(changed=[path])
    _drain(indexer.index([path]))
    return indexer.cpu_seconds - before


def _full_index(root: Path, files: list[str], surroundings: Surroundings) -> float:
    with ScipIndexer(root, surroundings) as indexer:
        _drain(indexer.index(files))
        return indexer.cpu_seconds


def _drain(answers: Iterator[Any]) -> None:
    for answer in answers:
        assert isinstance(answer, IndexedFile), f"{answer.path} could not be indexed: {answer.reason}"


def _stock_command(root: Path, folder: Path, surroundings: Surroundings) -> Callable[[Path], None]:
    """The command over the folder with the same settings; its configuration has to lie in the folder."""
    (folder / "venvs" / "none" / "lib" / "python3.12" / "site-packages").mkdir(parents=True, exist_ok=True)
    environment = folder / "environment.json"
    environment.write_text("[]")
    configuration = {
        "pythonVersion": surroundings.python_version,
        "pythonPlatform": "Linux",
        "venvPath": str(folder / "venvs"),
        "venv": "none",
        "extraPaths": list(surroundings.search_roots),
    }
    (root / "scip-pyrightconfig.json").write_text(json.dumps(configuration))
    script = toolchain.scip_python_bundle().parent.parent / "index.js"
    command = [str(toolchain.node()), str(script), "index", "--quiet", "--environment", str(environment)]
    names = ["--project-name", surroundings.project_name, "--project-version", surroundings.project_version]

    def index(output: Path) -> None:
        subprocess.run([*command, *names, "--output", str(output)], cwd=root, check=True, capture_output=True)

    return index


def _cpu_of_children(work: Callable[[], None]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _documents(index: bytes) -> int:
    """The number of documents in a SCIP index: fields of its outermost message."""
    position = count = 0
    while position < len(index):
        count += index[position : position + 1] == DOCUMENT_FIELD
        position += 1
        length = shift = 0
        while True:
            byte = index[position]
            length |= (byte & 0x7F) << shift
            position, shift = position + 1, shift + 7
            if byte < 0x80:
                break
        position += length
    return count


def _large_tree(folder: Path) -> Path:
    source = corpora.unpack(*LARGE, folder / "unpacked")
    kept = [path for path in python_files(source) if path.startswith("django/") and not _is_left_out(path)]
    # What exceeds the number is taken from the end of contrib, on which nothing else rests.
    kept.sort(key=lambda path: path.startswith("django/contrib/"))
    assert len(kept) >= FILES and set(EDITED.values()) <= set(kept[:FILES])
    root = folder / "large"
    for path in kept[:FILES]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, root / path)
    return root


def _is_left_out(path: str) -> bool:
    return any(part in path for part in LEFT_OUT)


def _ratios(ratios: list[float]) -> dict[str, Any]:
    return {
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_spread": [round(min(ratios), 3), round(max(ratios), 3)],
    }


if __name__ == "__main__":
    main()

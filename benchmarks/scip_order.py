"""A proof rather than a measure: on Django, what the indexer says of a file depends on the program's files alone.

Resolution fingerprints and interface entries of all files, asked in sorted order by a fresh process, are
compared with those asked in reverse, at another path, of a part alone, of single files alone, and by a
process kept warm over edits. Any difference fails it.
"""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.results_file import write_result
from codeanatomy_assets.extraction.scip_documents import document_digest, file_rows
from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, InterfaceEntry, ScipIndexer
from codeanatomy_assets_tests import corpora
from codeanatomy_assets_tests.scip_trees import python_files

SEED = 20250607
CORPUS = ("django", "5.2.8")
PACKAGE = "django"
ELSEWHERE = "a 'strange' ünd 😀 folder/tree"
PART = 150
SINGLE = 5
ASKED_BETWEEN_EDITS = 40
RETURN = re.compile(r"^ +return\b", re.MULTILINE)

Program = dict[str, "Told"]


@dataclass(frozen=True)
class Told:
    """What the indexer says of one file."""

    fingerprint: str | None
    document: str | None
    interface: tuple[InterfaceEntry, ...]
    failure: str | None


@dataclass(frozen=True)
class Comparison:
    """Files compared with the answers they must equal, and the paths that differ."""

    name: str
    files: int
    interface_entries: int
    fingerprints_differ: list[str]
    interfaces_differ: list[str]
    documents_differ: list[str]

    @property
    def differences(self) -> int:
        return len(self.fingerprints_differ) + len(self.interfaces_differ) + len(self.documents_differ)


@dataclass(frozen=True)
class Edit:
    """An edit of the folder, as the indexer is told of it."""

    kind: str
    path: str
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = _package_alone(Path(folder))
        files = python_files(root)
        chance = random.Random(SEED)
        reference = _cold(root, files)
        comparisons = list(_places_and_parts(root, files, reference, chance, Path(folder)))
        with ScipIndexer(root) as indexer:
            comparisons.append(_compared("in reverse", reference, _told(indexer, files[::-1])))
            edits = _edited_warm(indexer, chance)
            warm = _told(indexer, python_files(root))
        cold = _cold(root, python_files(root))
        comparisons.append(_compared("warm against cold after the edits", cold, warm))
    differences = sum(comparison.differences for comparison in comparisons)
    path = write_result(
        "scip_order",
        "python -m benchmarks.scip_order",
        {
            "corpus": " ".join(CORPUS),
            "seed": SEED,
            "files": len(files),
            "failed_files": sorted(each for each, told in reference.items() if told.failure is not None),
            "edits": [asdict(edit) for edit in edits],
            "fingerprints_moved_by_edits": sum(
                path in cold and cold[path].fingerprint != told.fingerprint for path, told in reference.items()
            ),
            "comparisons": [asdict(comparison) for comparison in comparisons],
            "differences": differences,
            "target": "0",
        },
    )
    print(path.read_text())
    if differences:
        sys.exit(f"{differences} answers depend on more than the program's files: see {path}")


def _places_and_parts(
    root: Path, files: list[str], reference: Program, chance: random.Random, folder: Path
) -> Iterable[Comparison]:
    elsewhere = folder / ELSEWHERE
    shutil.copytree(root, elsewhere)
    part = chance.sample(files, PART)
    yield _compared("at another path", reference, _cold(elsewhere, files))
    yield _compared(f"{PART} files alone", reference, _cold(root, part))
    singles: Program = {}
    for path in part[:SINGLE]:
        singles |= _cold(root, [path])
    yield _compared(f"{SINGLE} files each alone", reference, singles)


def _edited_warm(indexer: ScipIndexer, chance: random.Random) -> list[Edit]:
    """One edit of each kind; some files are asked after each, so that what they leave behind could show."""
    edits: list[Edit] = []
    for kind, apply in EDITS.items():
        files = python_files(indexer.root)
        path = chance.choice([each for each in files if RETURN.search((indexer.root / each).read_text("utf-8"))])
        edit = apply(kind, indexer.root, path, chance)
        indexer.update(edit.changed, edit.added, edit.deleted)
        _told(indexer, chance.sample(python_files(indexer.root), ASKED_BETWEEN_EDITS))
        print(f"edited: {kind} {path}", flush=True)
        edits.append(edit)
    return edits


def _rename(kind: str, root: Path, path: str, chance: random.Random) -> Edit:
    """A definition and its uses in the file; users elsewhere lose it."""
    text = (root / path).read_text("utf-8")
    name = chance.choice(re.findall(r"(?:def|class) (\w+)", text))
    (root / path).write_text(re.sub(rf"\b{name}\b", f"{name}_renamed", text), "utf-8")
    return Edit(f"{kind} {name}", path, changed=(path,))


def _empty_return(kind: str, root: Path, path: str, chance: random.Random) -> Edit:
    lines = (root / path).read_text("utf-8").splitlines(keepends=True)
    line = chance.choice([number for number, text in enumerate(lines) if RETURN.match(text)])
    indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
    lines[line] = f"{indent}return # {lines[line].strip()}\n"
    (root / path).write_text("".join(lines), "utf-8")
    return Edit(f"{kind} {line + 1}", path, changed=(path,))


def _add_star(kind: str, root: Path, path: str, chance: random.Random) -> Edit:
    """A star import that closes a cycle, at the file's end, where it rebinds what it may."""
    module = chance.choice([each for each in python_files(root) if each.startswith(f"{PACKAGE}/db/models/")])
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    with (root / path).open("a", encoding="utf-8") as file:
        file.write(f"\nfrom {name} import *\n")
    return Edit(f"{kind} {name}", path, changed=(path,))


def _move(kind: str, root: Path, path: str, chance: random.Random) -> Edit:
    target = str(Path(path).with_name(f"moved_{chance.randrange(1000)}.py"))
    (root / path).rename(root / target)
    return Edit(f"{kind} to {target}", path, added=(target,), deleted=(path,))


def _shadow(kind: str, root: Path, path: str, chance: random.Random) -> Edit:
    """A stub beside the file, from which its importers now take their names."""
    stub = f"{path}i"
    defined = sorted(set(re.findall(r"^(?:def|class) (\w+)", (root / path).read_text("utf-8"), re.MULTILINE)))
    (root / stub).write_text("".join(f"def {name}(*args: int) -> str: ...\n" for name in defined), "utf-8")
    return Edit(f"{kind} by {stub}", path, added=(stub,))


EDITS: dict[str, Callable[[str, Path, str, random.Random], Edit]] = {
    "rename": _rename,
    "empty return at line": _empty_return,
    "add star": _add_star,
    "move": _move,
    "shadow": _shadow,
}


def _cold(root: Path, files: Sequence[str]) -> Program:
    with ScipIndexer(root) as indexer:
        return _told(indexer, files)


def _told(indexer: ScipIndexer, files: Iterable[str]) -> Program:
    return {
        answer.path: _of_answer(answer, (indexer.root / answer.path).read_bytes()) for answer in indexer.index(files)
    }


def _of_answer(answer: IndexedFile | FailedFile, source: bytes) -> Told:
    if isinstance(answer, FailedFile):
        return Told(None, None, (), answer.reason)
    fingerprint = file_rows(answer, answer.path, source).fingerprint["fingerprint"]
    return Told(fingerprint, document_digest(source, answer.document), answer.interface, None)


def _compared(name: str, expected: Program, found: Program) -> Comparison:
    """Every file of the found answers against the expected one."""

    def differing(part: Callable[[Told], Any]) -> list[str]:
        return sorted(path for path, told in found.items() if part(told) != part(expected[path]))

    comparison = Comparison(
        name,
        len(found),
        sum(len(told.interface) for told in found.values()),
        fingerprints_differ=differing(lambda told: (told.fingerprint, told.failure)),
        interfaces_differ=differing(lambda told: told.interface),
        documents_differ=differing(lambda told: told.document),
    )
    print(f"{name}: {comparison.files} files, {comparison.differences} differences", flush=True)
    return comparison


def _package_alone(folder: Path) -> Path:
    root = folder / "tree"
    shutil.copytree(corpora.unpack(*CORPUS, folder / "unpacked") / PACKAGE, root / PACKAGE)
    return root


if __name__ == "__main__":
    main()

"""A document and an interface are functions of the program: not of order, subset, folder or what came before."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from codeanatomy_assets.extraction.scip_index import ScipIndexer
from codeanatomy_assets_tests.scip_trees import (
    TANGLE,
    answers,
    cold_answers,
    cold_rows,
    installed_sources,
    meanings,
    moved,
    python_files,
    write_tree,
)

SEED = 20240611
STRANGE_FOLDER = "a 'strange' \"folder\" ünd 😀/tree"


@pytest.fixture(params=["tangle", "jinja2"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "first"
    return write_tree(folder, TANGLE) if request.param == "tangle" else installed_sources(request.param, folder)


def test_the_answer_is_the_same_in_any_order_subset_and_folder(tree: Path, tmp_path: Path) -> None:
    files = python_files(tree)
    with ScipIndexer(tree) as indexer:
        first = answers(indexer, files)
        assert answers(indexer, reversed(files)) == first
    elsewhere = tmp_path / STRANGE_FOLDER
    shutil.copytree(tree, elsewhere)
    shuffled = random.Random(SEED).sample(files, len(files))
    assert cold_answers(elsewhere, shuffled) == first
    for alone in shuffled[:3]:
        assert cold_answers(tree, [alone]) == {alone: first[alone]}


def test_strange_paths_are_indexed_like_any_other(tmp_path: Path) -> None:
    paths = ["with space/ünïcode.py", 'quo\'te/"double".py', "emoji 😀.py", "dash-ed/back\\slash.py", "new\nline.py"]
    folder = write_tree(tmp_path / STRANGE_FOLDER, dict.fromkeys(paths, "x = 1\ny = x\n"))
    rows = cold_rows(folder)
    assert sorted(rows) == sorted(paths)
    assert all(len(meanings(folder, rows[path], "x")) == 2 for path in paths)


def edit_at_random(folder: Path, chance: random.Random) -> dict[str, list[str]]:
    """One random edit of the folder; what the indexer is to be told of it."""
    files = python_files(folder)
    path = chance.choice(files)
    source = folder / path
    text = source.read_text()
    kind = chance.choice(["comment", "rename", "drop_line", "star", "delete", "copy", "move", "to_package", "shadow"])
    told: dict[str, list[str]] = {"changed": [], "added": [], "deleted": []}
    if kind in {"comment", "rename", "drop_line", "star"}:
        names = re.findall(r"(?:def|class) (\w+)", text) or ["x"]
        sibling = Path(chance.choice([each for each in files if Path(each).parent == Path(path).parent])).stem
        lines = text.splitlines(keepends=True) or [""]
        line = chance.randrange(len(lines))
        new = {
            "comment": "# a comment\n\n" + text,
            "rename": re.sub(rf"\b{chance.choice(names)}\b", "renamed_here", text),
            "drop_line": "".join(lines[:line] + lines[line + 1 :]),
            "star": f"from .{sibling} import *\n{text}",
        }
        source.write_text(new[kind])
        told["changed"].append(path)
        return told
    target = {
        "delete": path,
        "copy": str(Path(path).with_name(f"copy_{chance.randrange(1000)}.py")),
        "move": str(Path(path).with_name(f"moved_{chance.randrange(1000)}.py")),
        "to_package": f"{Path(path).with_suffix('')}_{chance.randrange(1000)}/__init__.py",
        "shadow": chance.choice(["typing.py", "app/os.py", "dataclasses.pyi", f"{Path(path).with_suffix('.pyi')}"]),
    }[kind]
    if target != path and not (folder / target).exists():
        write_tree(folder, {target: text})
        told["added"].append(target)
    if kind in {"delete", "move", "to_package"}:
        source.unlink()
        told["deleted"].append(path)
    return told


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_a_warm_answer_is_the_cold_one_after_every_edit(seed: int, tmp_path: Path) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    folder = write_tree(tmp_path / "tree", TANGLE)
    with ScipIndexer(folder) as indexer:
        answers(indexer, python_files(folder))
        for _ in range(6):
            for _ in range(chance.randint(1, 2)):
                indexer.update(**edit_at_random(folder, chance))
            if len(python_files(folder)) < 4:
                restored = [path for path in TANGLE if not (folder / path).exists()]
                write_tree(folder, {path: TANGLE[path] for path in restored})
                indexer.update(added=restored)
            files = python_files(folder)
            warm = answers(indexer, chance.sample(files, len(files)))
            assert warm == cold_answers(folder)


def test_a_warm_answer_follows_a_builtins_stub(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, {"m.py": "magic().real\n"})
    with ScipIndexer(folder) as indexer:
        answers(indexer, ["m.py"])
        write_tree(folder, {"__builtins__.pyi": "def magic() -> int: ...\n"})
        indexer.update(added=["__builtins__.pyi"])
        assert answers(indexer, ["m.py"]) == cold_answers(folder, ["m.py"])
        write_tree(folder, {"__builtins__.pyi": "def magic() -> complex: ...\n"})
        indexer.update(changed=["__builtins__.pyi"])
        assert answers(indexer, ["m.py"]) == cold_answers(folder, ["m.py"])


CHAIN = {
    "base.py": "class Base:\n    def step(self):\n        return 1\n\ndef helper():\n    return Base()\n",
    "sub.py": "from base import Base\nclass Sub(Base):\n    pass\n",
    "caller.py": "from sub import Sub\nSub().step()\n",
    "namer.py": "from base import helper\nhelper().step()\n",
    "stranger.py": "x = 1\n",
}


def fingerprints_after(tmp_path: Path, edits: dict[str, str]) -> set[str]:
    """The other files whose fingerprint moved by an edit."""
    before = cold_rows(write_tree(tmp_path / "before", CHAIN))
    after = cold_rows(write_tree(tmp_path / "after", {**CHAIN, **edits}))
    return moved(before, after) - set(edits)


@pytest.mark.parametrize("prefix", ["# a comment\n", '"""A docstring."""\n', "\n\n"])
def test_text_without_meaning_moves_no_other_file(prefix: str, tmp_path: Path) -> None:
    assert fingerprints_after(tmp_path, {"base.py": prefix + CHAIN["base.py"]}) == set()


def test_renaming_an_exported_function_moves_exactly_the_files_that_name_it(tmp_path: Path) -> None:
    assert fingerprints_after(tmp_path, {"base.py": CHAIN["base.py"].replace("helper", "assist")}) == {"namer.py"}


def test_an_added_override_moves_the_unchanged_caller(tmp_path: Path) -> None:
    overriding = CHAIN["sub.py"].replace("pass", "def step(self): return 2")
    assert fingerprints_after(tmp_path, {"sub.py": overriding}) == {"caller.py"}


def test_a_name_moved_behind_a_star_moves_the_stars_users(tmp_path: Path) -> None:
    files = {
        "a.py": "def f(): ...\ndef g(): ...\n",
        "b.py": "",
        "hub.py": "from a import *\nfrom b import *\n",
        "use.py": "from hub import *\nf()\ng()\n",
    }
    before_tree = write_tree(tmp_path / "before", files)
    before = cold_rows(before_tree)
    after_tree = write_tree(tmp_path / "after", {**files, "a.py": "def g(): ...\n", "b.py": "def f(): ...\n"})
    after = cold_rows(after_tree)
    assert meanings(before_tree, before["use.py"], "f") == ["repository 0 a/f()."]
    assert meanings(after_tree, after["use.py"], "f") == ["repository 0 b/f()."]
    assert meanings(after_tree, after["use.py"], "g") == meanings(before_tree, before["use.py"], "g")
    assert "use.py" in moved(before, after)


def test_a_star_names_submodules_and_unresolved_things_apart(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "__all__ = ['part', 'gone']\nfrom missing import gone\n",
        "pkg/part.py": "def f(): ...\n",
        "use.py": "from pkg import *\npart.f()\ngone()\ngone\n",
    }
    tree = write_tree(tmp_path, files)
    rows = cold_rows(tree)["use.py"]
    assert meanings(tree, rows, "part") == ["repository 0 `pkg.part`/__init__:"]
    gone = meanings(tree, rows, "gone")
    assert len(gone) == 2 and len(set(gone)) == 1 and gone[0].startswith("local")

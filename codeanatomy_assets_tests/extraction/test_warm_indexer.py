"""The warm indexer: a warm answer is a cold one, and it starts over whenever that is in doubt."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.extraction.scip_index import FailedFile, IndexedFile, Limits, ScipIndexer, Surroundings
from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets_tests.extraction.test_scip_soundness import edit_at_random
from codeanatomy_assets_tests.scip_trees import TANGLE, answers, cold_answers, python_files, write_tree

SEED = 7
LIMITS = Limits()


@pytest.fixture
def warm() -> Iterator[WarmIndexer]:
    warm = WarmIndexer()
    yield warm
    warm.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree", TANGLE)


def blobs(folder: Path) -> dict[str, str]:
    return {path: hashlib.sha1((folder / path).read_bytes()).hexdigest() for path in python_files(folder)}


def served(
    warm: WarmIndexer, folder: Path, surroundings: Surroundings | None = None, limits: Limits = LIMITS
) -> tuple[ScipIndexer, dict[str, IndexedFile | FailedFile]]:
    with warm.serving(folder, surroundings or Surroundings(), limits, blobs(folder)) as indexer:
        return indexer, answers(indexer, python_files(folder))


def process_of(indexer: ScipIndexer) -> int:
    return indexer._process._process.pid


def is_alive(pid: int) -> bool:
    return Path("/proc", str(pid)).exists()


def test_one_process_gives_cold_answers_edit_after_edit(warm: WarmIndexer, folder: Path) -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    first, _ = served(warm, folder)
    for _ in range(8):
        for _ in range(chance.randint(1, 4)):
            edit_at_random(folder, chance)
            write_tree(folder, {path: TANGLE[path] for path in TANGLE if len(python_files(folder)) < 4})
        indexer, found = served(warm, folder)
        assert indexer is first
        assert found == cold_answers(folder)


def test_a_file_that_came_and_went_between_two_runs_leaves_no_trace(warm: WarmIndexer, folder: Path) -> None:
    _, before = served(warm, folder)
    write_tree(folder, {"typing.py": "x = 1\n"})
    (folder / "typing.py").unlink()
    assert served(warm, folder)[1] == before


@pytest.mark.parametrize(
    ("surroundings", "limits"),
    [
        (Surroundings(python_version="3.9"), LIMITS),
        (Surroundings(search_roots=("app",)), LIMITS),
        (Surroundings(), Limits(memory_megabytes=2048)),
    ],
)
def test_other_surroundings_and_limits_open_another(
    warm: WarmIndexer, folder: Path, surroundings: Surroundings, limits: Limits
) -> None:
    first, _ = served(warm, folder)
    pid = process_of(first)
    second, found = served(warm, folder, surroundings, limits)
    assert second is not first
    assert not is_alive(pid)
    assert found == cold_answers(folder, surroundings=surroundings)


def test_another_version_of_an_installed_package_opens_another(warm: WarmIndexer, folder: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    write_tree(installed, {"given.py": "def made() -> int: ...\n", "given-1.0.dist-info/METADATA": ""})
    write_tree(folder, {"asks.py": "from given import made\n\nmade().bit_length()\n"})
    surroundings = Surroundings(site_packages=installed)
    first, before = served(warm, folder, surroundings)
    assert served(warm, folder, surroundings)[0] is first
    write_tree(installed, {"given.py": "def made() -> str: ...\n"})
    (installed / "given-1.0.dist-info").rename(installed / "given-1.1.dist-info")
    second, found = served(warm, folder, surroundings)
    assert second is not first
    assert found == cold_answers(folder, surroundings=surroundings)
    assert found["asks.py"] != before["asks.py"]


def test_a_folder_that_was_made_anew_opens_another(warm: WarmIndexer, folder: Path) -> None:
    first, before = served(warm, folder)
    shutil.move(folder, folder.with_name("away"))
    write_tree(folder, TANGLE)
    second, found = served(warm, folder)
    assert second is not first
    assert found == before


def test_one_that_died_is_replaced_without_a_word(warm: WarmIndexer, folder: Path) -> None:
    first, before = served(warm, folder)
    os.kill(process_of(first), signal.SIGKILL)
    second, found = served(warm, folder)
    assert second is not first
    assert found == before


def test_one_whose_answers_were_not_read_to_the_end_is_not_used_again(warm: WarmIndexer, folder: Path) -> None:
    def half_read() -> Generator[IndexedFile | FailedFile, None, None]:
        with warm.serving(folder, Surroundings(), LIMITS, blobs(folder)) as indexer:
            yield from indexer.index(python_files(folder))

    reading = half_read()
    next(reading)
    reading.close()
    first, found = served(warm, folder)
    assert found == cold_answers(folder)
    with pytest.raises(CodeAnatomyError, match="no such thing"), warm.serving(folder, Surroundings(), LIMITS, {}):
        raise CodeAnatomyError("no such thing")
    assert not is_alive(process_of(first))


def test_one_that_has_grown_too_large_starts_over(warm: WarmIndexer, folder: Path) -> None:
    small = Limits(memory_megabytes=64)
    first, before = served(warm, folder, limits=small)
    assert not is_alive(process_of(first))
    assert served(warm, folder, limits=small)[1] == before


def test_closing_ends_the_process(warm: WarmIndexer, folder: Path) -> None:
    pid = process_of(served(warm, folder)[0])
    assert is_alive(pid)
    warm.close()
    warm.close()
    assert not is_alive(pid)

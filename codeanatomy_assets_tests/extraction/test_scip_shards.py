"""Several indexers side by side answer what one does, in the order asked, and an indexer that dies ends them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.extraction import scip_shards
from codeanatomy_assets.extraction.scip_index import ScipIndexer
from codeanatomy_assets.extraction.scip_shards import index_side_by_side, processes_for
from codeanatomy_assets_tests.scip_trees import installed_sources, python_files


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of some twenty files, handed out three at a time."""
    monkeypatch.setattr(scip_shards, "FILES_AT_ONCE", 3)
    return installed_sources("jinja2", tmp_path / "tree")


def test_two_indexers_answer_what_one_does_in_the_order_asked(tree: Path) -> None:
    files = python_files(tree)
    told: list[tuple[int, int]] = []
    with ScipIndexer(tree) as first, ScipIndexer(tree) as second:
        alone = list(index_side_by_side([first], files))
        both = list(index_side_by_side([first, second], files, lambda done, asked: told.append((done, asked))))
    assert both == alone
    assert [answer.path for answer in both] == files
    assert told == [(done, len(files)) for done in range(1, len(files) + 1)]


def test_an_indexer_that_died_fails_the_whole(tree: Path) -> None:
    with ScipIndexer(tree) as first, ScipIndexer(tree) as second:
        second._process._process.kill()
        with pytest.raises(CodeAnatomyError, match="ended with code -9 before it answered"):
            list(index_side_by_side([first, second], python_files(tree)))


def test_answers_that_nobody_takes_leave_both_indexers_usable(tree: Path) -> None:
    files = python_files(tree)
    with ScipIndexer(tree) as first, ScipIndexer(tree) as second:
        answers = index_side_by_side([first, second], files)
        assert next(answers).path == files[0]
        answers.close()  # type: ignore[attr-defined]
        assert [answer.path for answer in second.index(files[:2])] == files[:2]


@pytest.mark.parametrize(("files", "at_most", "processes"), [(10, 8, 1), (900, 2, 2), (900, 8, 3), (0, 4, 1)])
def test_a_process_is_worth_some_hundred_files(files: int, at_most: int, processes: int) -> None:
    assert processes_for(files, at_most) == processes

"""Commits built one after the other on a warm indexer: every dataset is a clean build's, after each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.parity.state_histories import StateReplay
from codeanatomy_assets_tests.parity.trees import Tree
from codeanatomy_assets_tests.scip_trees import TANGLE


def histories() -> Iterator[tuple[str, Tree]]:
    """A tangled program; then an edit that others infer from, an added, a deleted and a renamed module."""
    tree = {path: text.encode() for path, text in TANGLE.items()}
    yield "first", tree
    edited = tree["app/core.py"].replace(b"return thing.step()", b"return thing.run()")
    tree = {**tree, "app/core.py": edited}
    yield "edit", tree
    tree = {**tree, "app/typed.py": b"from app.core import Base, make\n\nmade = make(Base()).twin\n"}
    yield "add", tree
    tree = {path: content for path, content in tree.items() if path != "tools/script.py"}
    yield "delete", tree
    shapes = tree["app/shapes.py"]
    tree = {path: content for path, content in tree.items() if path != "app/shapes.py"}
    yield "rename", {**tree, "app/forms.py": shapes}


@pytest.mark.slow
def test_an_edit_an_added_a_deleted_and_a_renamed_file_built_warm_equal_clean_builds(
    tmp_path: Path, engine: SparkEngine
) -> None:
    warm = WarmIndexer()
    processes = set()
    try:
        replay = StateReplay(tmp_path, engine, indexer=warm)
        for kind, tree in histories():
            step = replay.step(tree)
            assert step.is_equal, "\n".join([kind, *step.complaints()])
            processes.add(id(warm._indexer))
    finally:
        warm.close()
    assert len(processes) == 1, "the indexer did not stay warm"

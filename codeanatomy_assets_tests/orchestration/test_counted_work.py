"""What updates do, counted: Delta commits, documents indexed, slices swapped, files rebuilt. Times are no test's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from codeanatomy_assets_tests.states import BuiltState

MODULES = 12
FILES = {
    "app/core.py": "def base(x):\n    return x\n",
    **{
        f"app/m{number}.py": f"from app.core import base\n\n\ndef f{number}(x):\n    return base(x)\n"
        for number in range(MODULES)
    },
    "README.md": "read me\n",
}


@dataclass(frozen=True)
class Work:
    """What one update did."""

    commits: int
    documents: int
    rebuilt: int
    slices: int


@pytest.fixture
def built(built_with: Callable[[dict[str, str]], BuiltState]) -> BuiltState:
    return built_with(FILES)


def work_of(built: BuiltState, files: dict[str, str]) -> Work:
    """Of the update to a commit with these files. Each Delta commit is one version more."""
    before = built.versions()
    report = built.commit(files)
    after = built.versions()
    pruned = [row for row in built.rows("pruning_metrics") if row["commit"] == report["commit"]]
    assert all(row["files_scanned"] <= row["files_present"] for row in pruned)
    return Work(
        commits=sum(after[name] - before[name] for name in after),
        documents=built.last().summary.get("indexed", {}).get("files", 0),
        rebuilt=report["impacted"],
        slices=sum(row["slices"] for row in pruned),
    )


def test_a_body_edit_in_a_leaf_is_one_document_and_few_commits(built: BuiltState) -> None:
    edited = FILES["app/m3.py"].replace("return base(x)", "y = base(x)\n    return y")
    work = work_of(built, {"app/m3.py": edited})
    assert (work.documents, work.rebuilt) == (1, 1)
    assert work.commits <= 17
    assert work.slices <= 12


def test_a_signature_change_indexes_those_that_name_it(built: BuiltState) -> None:
    work = work_of(built, {"app/core.py": "def base(x, y=None):\n    return [x, y]\n"})
    assert (work.documents, work.rebuilt) == (MODULES + 1, MODULES + 1)
    assert work.commits <= 20


def test_a_text_file_is_one_slice_of_one_table(built: BuiltState) -> None:
    work = work_of(built, {"README.md": "again\n"})
    assert (work.documents, work.rebuilt, work.slices) == (0, 0, 1)
    assert work.commits <= 5

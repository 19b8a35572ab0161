"""Fingerprints: what moves them and what does not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codeanatomy_assets.contracts.graph_kinds import EDGE_KINDS
from codeanatomy_assets.contracts.graph_props import PROPS
from codeanatomy_assets.orchestration import fingerprints
from codeanatomy_assets.settings import Settings

Edit = Callable[[str, str, str], dict[str, bool]]


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """Replace a text in a copy of the package's sources, and see which stages' fingerprints moved."""
    root = tmp_path / "package"
    shutil.copytree(fingerprints.ROOT, root, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    monkeypatch.setattr(fingerprints, "ROOT", root)

    def forget() -> None:
        fingerprints.code_fingerprint.cache_clear()
        fingerprints._tree.cache_clear()

    def edit(name: str, old: str, new: str) -> dict[str, bool]:
        forget()
        before = fingerprints.stage_fingerprints(Settings())
        path = root / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))
        forget()
        after = fingerprints.stage_fingerprints(Settings())
        return {stage: after[stage] != before[stage] for stage in before}

    yield edit
    forget()


def moved(told: dict[str, bool]) -> list[str]:
    """The stages that moved, in pipeline order."""
    return [stage.value for stage in fingerprints.BUILT_STAGES if told[stage.value]]


def parts_moved(told: dict[str, bool]) -> list[str]:
    return [name for name, has_moved in told.items() if has_moved and "." in name]


def since(stage: str) -> list[str]:
    """A stage and all that it feeds."""
    names = [each.value for each in fingerprints.BUILT_STAGES]
    return names[names.index(stage) :]


def test_a_docstring_a_comment_and_white_space_move_nothing(edited: Edit) -> None:
    assert moved(edited("extraction/syntax_tree.py", '"""', '"""Now said otherwise. ')) == []
    assert moved(edited("extraction/scopes.py", "class Scope", "# why not\n\nclass Scope")) == []


def test_a_changed_literal_moves_the_stage_that_reads_it_and_those_after_it(edited: Edit) -> None:
    assert moved(edited("extraction/scopes.py", "ArithmeticError", "ArithmeticErrorr")) == since("syntax")
    assert moved(edited("extraction/encoding.py", "undecodable", "unreadable")) == since("repository")
    assert moved(edited("transforms/module_roots.py", '"typings"', '"stubs"')) == since("symbols")


def test_the_part_that_moved_is_told(edited: Edit) -> None:
    assert parts_moved(edited("transforms/graph_nodes.py", "'implementation'", "'implementing'")) == ["graph.code"]


def test_the_driver_is_part_of_the_symbols_stage(edited: Edit) -> None:
    assert moved(edited("extraction/scip_driver/interface.js", "'use strict'", "'use strict';")) == since("symbols")


def test_code_that_makes_no_row_moves_nothing(edited: Edit) -> None:
    assert moved(edited("cli.py", "DEFAULT_PORT = 3000", "DEFAULT_PORT = 3001")) == []
    assert moved(edited("storage/lock.py", "POLL_SECONDS = 0.2", "POLL_SECONDS = 0.3")) == []


def test_operational_settings_move_nothing_and_result_bearing_ones_everything() -> None:
    before = fingerprints.stage_fingerprints(Settings())
    operational = replace(Settings(), spark_master="local[1]", driver_memory="1g", index_memory_megabytes=999, cores=7)
    assert fingerprints.stage_fingerprints(operational) == before
    limited = fingerprints.stage_fingerprints(replace(Settings(), max_file_bytes=17))
    assert all(limited[stage.value] != before[stage.value] for stage in fingerprints.BUILT_STAGES)
    assert fingerprints.moved_parts(limited, before) == ["settings"]


def test_an_id_recipe_moves_the_stages_that_make_such_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    from codeanatomy_assets.contracts import identity

    before = fingerprints.stage_fingerprints(Settings())
    monkeypatch.setattr(identity, "CALL", identity.IdRecipe("call", ("file_id", "text")))
    fingerprints.code_fingerprint.cache_clear()
    after = fingerprints.stage_fingerprints(Settings())
    fingerprints.code_fingerprint.cache_clear()
    assert moved({name: before[name] != after[name] for name in before}) == since("syntax")


def test_the_graphs_kinds_move_it_with_meaning_and_not_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def graph() -> str:
        return fingerprints.stage_fingerprints(Settings())["graph"]

    before = graph()
    reworded = tuple(replace(prop, doc="Other.", example=("", "", "")) for prop in PROPS)
    monkeypatch.setattr(fingerprints, "PROPS", reworded)
    assert graph() == before
    monkeypatch.setattr(fingerprints, "PROPS", (replace(PROPS[0], source="other"), *PROPS[1:]))
    assert graph() != before
    monkeypatch.setattr(fingerprints, "PROPS", PROPS)
    monkeypatch.setattr(fingerprints, "EDGE_KINDS", (replace(EDGE_KINDS[0], rules=("rel_other",)), *EDGE_KINDS[1:]))
    assert graph() != before

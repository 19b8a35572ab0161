"""Checks of a real run, of few files and of many: what is broken stops it, what is sound passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codeanatomy_assets.contracts.graph import CPG_EDGES
from codeanatomy_assets.orchestration import checking, impact
from codeanatomy_assets.orchestration.checking import IntegrityBroken
from codeanatomy_assets.transforms import graph
from codeanatomy_assets_tests.browser.faulty_command import NOWHERE, edges_to_nowhere
from codeanatomy_assets_tests.states import BuiltState

FILES = {"a.py": "def first():\n    return 1\n", "b.py": "from a import first\n\nfirst()\n"}


@pytest.mark.parametrize("most_in_memory", [checking.MOST_FILES_IN_MEMORY, 0])
def test_an_edge_to_nowhere_stops_the_run_and_a_sound_update_passes(
    built_with: Callable[[dict[str, str]], BuiltState], monkeypatch: pytest.MonkeyPatch, most_in_memory: int
) -> None:
    state = built_with(FILES)
    before = state.last()
    monkeypatch.setattr(checking, "MOST_FILES_IN_MEMORY", most_in_memory)
    state.repo.commit_files({"a.py": "def other():\n    return 'né'\n"})
    with monkeypatch.context() as planted:
        planted.setitem(graph.TRANSFORMS, CPG_EDGES.name, edges_to_nowhere)
        with pytest.raises(IntegrityBroken, match=rf"cpg_edges: check dst_exists is broken by .*{NOWHERE}"):
            state.build_directly()
    assert state.last() == before
    with monkeypatch.context() as planted:
        planted.setitem(impact.OWN_REASONS, "modified", "no_such_reason")
        with pytest.raises(IntegrityBroken, match="inc_impacted_files: check reason_kind_declared is broken by 1 rows"):
            state.build_directly()
    assert state.last().commit == before.commit
    state.build_directly()
    assert state.last().commit == state.repo.commits[-1]

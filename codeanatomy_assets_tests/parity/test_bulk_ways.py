"""The limits by which a build goes the ways of large repositories are there, come back, and are of a stage's rows."""

from collections.abc import Callable

import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration import views
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets_tests.parity.bulk_ways import LIMITS, bulk_ways
from codeanatomy_assets_tests.states import BuiltState

USER = "from app.core import Base\n\n\nclass C{0}(Base): ...\n\n\nC{0}().run(1)\n"
FILES = {
    "app/core.py": "class Base:\n    def run(self, x):\n        return x\n",
    **{f"app/m{number}.py": USER.format(number) for number in range(3)},
}


def test_nothing_is_small_within_the_block_and_everything_is_as_it_was_after_it() -> None:
    before = [getattr(module, name) for module, name in LIMITS]
    with bulk_ways():
        assert {getattr(module, name) for module, name in LIMITS} == {0}
    assert [getattr(module, name) for module, name in LIMITS] == before
    assert 0 not in before


def test_rows_in_memory_are_counted_over_all_datasets_of_a_stage(
    built_with: Callable[[dict[str, str]], BuiltState], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = built_with(FILES).unrecorded()
    graph = [catalog.table(name) for name in ("cpg_nodes", "cpg_edges", "cpg_props")]
    before = [sorted(map(repr, built.rows(table.name))) for table in graph]
    counts = built.last().counts
    read: set[str] = set()
    original = WritingRun.read_files

    def noted(run: WritingRun, table: Table) -> object:
        read.add(table.name)
        return original(run, table)

    monkeypatch.setattr(WritingRun, "read_files", noted)
    most = max(counts[name] for name in ("cst_name_refs", "scip_occurrences"))
    monkeypatch.setattr(views, "MOST_ROWS_IN_MEMORY", most)
    built.build(full=True)
    assert any(counts.get(name, most + 1) <= most for name in read), "each alone fits, together they do not"
    assert [sorted(map(repr, built.rows(table.name))) for table in graph] == before

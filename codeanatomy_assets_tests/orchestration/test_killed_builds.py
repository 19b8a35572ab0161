"""Builds killed for real, at the worst moments: the next one ends right, with no manual repair."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets_tests.states import BuiltState

pytestmark = pytest.mark.slow

FILES = {f"pkg/m{number}.py": f"def f{number}():\n    return g{number}()\n" for number in range(12)}
KILLED_BUILD = """
import os, signal, sys
from codeanatomy_assets.cli import main
from codeanatomy_assets.orchestration import writing_run
from codeanatomy_assets.storage import ledger
place, *arguments = sys.argv[1:]

def die(*_args, **_kwargs):
    os.killpg(0, signal.SIGKILL)

if place == "before_ledger":
    ledger.Ledger.append = die
elif place == "after_ledger":
    original = writing_run.WritingRun.finish
    writing_run.WritingRun.finish = lambda self, summary: (original(self, summary), die())
else:
    original = writing_run.WritingRun.replace
    def replace(self, table, rows, scope):
        written = original(self, table, rows, scope)
        if table.name == place:
            die()
        return written
    writing_run.WritingRun.replace = replace
sys.exit(main(arguments))
"""


def build_killed(built: BuiltState, place: str) -> None:
    """Run the command in a process group of its own that is killed at this place."""
    arguments = ["build", str(built.repo.folder), "--state", str(built.settings.state)]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED_BUILD, place, *arguments],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.wait(timeout=300) == -signal.SIGKILL


def everything(built: BuiltState) -> dict[str, list[str]]:
    return {table.name: sorted(map(str, built.rows(table.name))) for table in catalog.state_tables()}


@pytest.mark.parametrize("place", ["repo_snapshot", "cst_callsites", "before_ledger", "after_ledger"])
def test_a_killed_update_is_repaired_once_and_the_next_commits_are_right(
    built: BuiltState, tmp_path: Path, place: str
) -> None:
    first = built.commit(FILES)["commit"]
    before = everything(built)
    built.repo.remove("pkg/m3.py")
    second = built.repo.commit_files({"pkg/m1.py": "def changed():\n    return h(1)\n", "pkg/new.py": "n()\n"})
    build_killed(built, place)
    if place == "after_ledger":
        assert built.last().commit == second
    else:
        assert (built.last().commit, everything(built)) == (first, before)
    assert built.build()["commit"] == second
    third = built.repo.commit_files({"pkg/m2.py": "third = 3\n"})
    assert built.build()["commit"] == third
    repairs = [row.mode for row in built.ledger_rows()].count("recovery")
    assert repairs == (0 if place == "after_ledger" else 1)
    versions = built.versions()
    assert built.build()["mode"] == "noop"
    assert built.versions() == versions
    clean = BuiltState.create(tmp_path / "clean", built.engine).at(built.repo.folder)
    clean.build()
    assert everything(built) == everything(clean)


def test_a_first_build_that_was_killed_starts_over(built: BuiltState, tmp_path: Path) -> None:
    built.repo.commit_files(FILES)
    build_killed(built, "cst_defs")
    assert built.build()["mode"] == "full"
    clean = BuiltState.create(tmp_path / "clean", built.engine).at(built.repo.folder)
    clean.build()
    assert everything(built) == everything(clean)


def test_no_child_of_a_killed_build_survives(built: BuiltState) -> None:
    built.repo.commit_files(FILES)
    build_killed(built, "cst_defs")
    state = str(built.settings.state)
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and state in command_line(pid)]
    assert left == []


def command_line(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_text(errors="replace")
    except OSError:
        return ""

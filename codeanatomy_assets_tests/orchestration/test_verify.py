"""Verifying refuses what a clean build by this code could not be compared with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.verify import _comparable, verify
from codeanatomy_assets_tests.histories import History
from codeanatomy_assets_tests.states import Quiet


def test_a_state_of_other_settings_is_not_called_different(history: History) -> None:
    settings = replace(history.built.settings, python_version="3.11")
    with pytest.raises(BadInput, match="other code or settings of the repository stage: `codeanatomy build` brings"):
        list(verify(settings, history.built.engine, Quiet()))


def test_older_commits_of_other_code_are_left_out_and_named(history: History) -> None:
    newest, older, oldest = open_ledger(history.built.settings).kept_rows()[:-4:-1]
    other = replace(older, fingerprints={**older.fingerprints, "syntax": "of another version"})
    said = Quiet()
    assert list(_comparable(history.built.settings, [newest, other, oldest], said)) == [newest, oldest]
    assert said.lines == [f"{older.commit[:12]} was built by other code or settings: left out"]


def test_several_commits_are_compared_newest_first(history: History) -> None:
    said = Quiet()
    found = list(verify(history.built.settings, history.built.engine, said, commits=2))
    newest = [row.commit for row in open_ledger(history.built.settings).kept_rows()[:-3:-1]]
    assert [each.commit for each in found] == newest
    assert all(each.differences == () and each.rows > 0 for each in found)
    assert [line for line in said.lines if "from scratch" in line] == [
        f"building {commit[:12]} from scratch" for commit in newest
    ]

"""Verifying finds what differs, and refuses what a clean build by this code could not be compared with."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from codeanatomy_assets import cli
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration import resources
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.verify import _comparable, verify
from codeanatomy_assets_tests.histories import History
from codeanatomy_assets_tests.states import BuiltState, Quiet


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


def test_the_command_tells_what_differs_by_dataset_and_file_and_ends_with_1(
    built_with: Callable[[dict[str, str]], BuiltState],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    built = built_with({"a.py": "def f(): ...\n", "b.py": "from a import f\n\nf()\n"})
    # The command starts a session and ends it: here it is lent the tests' own.
    monkeypatch.setattr(resources, "spark_engine", lambda _: built.engine)
    monkeypatch.setattr(built.engine, "stop", lambda: None)
    command = ["verify", "--state", str(built.settings.state)]
    commit = built.last().commit
    assert cli.main(command) == 0
    assert capsys.readouterr().out.startswith(f"{commit[:12]} equals a clean build: ")
    built.lose_slices("rel_calls", "b.py")
    assert cli.main(command) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{commit[:12]} differs from a clean build, first in:"
    assert "rel_calls of b.py:" in said
    assert any(line.startswith("  only in a clean build:   ") for line in said)
    assert cli.main([*command, "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert told["commit"] == commit
    assert ("rel_calls", "b.py") in {(each["dataset"], each["path"]) for each in told["differences"]}

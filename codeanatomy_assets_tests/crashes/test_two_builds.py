"""Two builds of one state at once, as two users start them: one works, the other waits or is told who does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.verify import verified
from codeanatomy_assets_tests.crashes.small_repository import first_files
from codeanatomy_assets_tests.states import BuiltState, Quiet

COMMAND = Path(sys.prefix) / "bin" / "codeanatomy"
SECONDS = 600


@pytest.mark.slow
def test_of_builds_started_at_once_one_works_and_the_others_wait_or_are_told_who_does(
    built: BuiltState, tmp_path: Path
) -> None:
    built.repo.commit_files(first_files())
    options: tuple[list[str], ...] = (["--wait", str(SECONDS)], ["--wait", str(SECONDS)], [])
    arguments = ["build", str(built.repo.folder), "--json", "--state", str(built.settings.state)]
    started = [
        subprocess.Popen([COMMAND, *arguments, *option], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for option in options
    ]
    told = [(process.communicate(timeout=SECONDS), process.returncode) for process in started]
    modes = [json.loads(out)["mode"] if code == 0 else "refused" for (out, _), code in told]
    assert sorted(modes[:2]) in (["full", "noop"], ["noop", "noop"])
    assert modes.count("full") == 1
    assert [row.mode for row in built.ledger_rows()] == ["full"]
    worker = started[modes.index("full")]
    if modes[2] != "full":
        (_, said), code = told[2]
        assert (modes[2], code) == ("refused", 2)
        assert re.search(rf"in use by codeanatomy build \(process {worker.pid} on .*, since .*\): wait for it", said)
    waited = [said for (_, said), _ in told[:2] if f"waiting for codeanatomy build (process {worker.pid} on" in said]
    assert len(waited) == modes[:2].count("noop")
    clean = build_directly(replace(built.settings, state=tmp_path / "clean"), built.engine, Quiet())
    assert verified(built.last(), clean).differences == ()

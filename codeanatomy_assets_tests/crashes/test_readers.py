"""Readers beside a writer: whoever exports while commits are built sees one whole commit, every time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.crashes.crash_site import PROJECT, CrashSite
from codeanatomy_assets_tests.crashes.looping_reader import DATASETS, digest
from codeanatomy_assets_tests.states import Quiet

UPDATES = 20
READERS = 2
FEWEST_COMMITS_SEEN = 5


def digests_of(row: LedgerRow) -> dict[str, str]:
    return {name: digest(delta_reads.read_light(row.state, catalog.table(name))) for name in DATASETS}


@pytest.mark.slow
def test_readers_exporting_in_a_loop_during_twenty_updates_always_see_one_whole_commit(
    engine: SparkEngine, tmp_path: Path
) -> None:
    site = CrashSite.create(tmp_path, engine, "readers")
    settings = site.built.settings
    first = build_directly(settings, engine, Quiet())
    known = {first.commit[:12]: digests_of(first)}
    module = "codeanatomy_assets_tests.crashes.looping_reader"
    readers = []
    for number in range(READERS):
        command = [sys.executable, "-m", module, str(settings.state), str(tmp_path / f"out-{number}"), first.commit]
        with (tmp_path / f"seen-{number}").open("w") as seen:
            readers.append(subprocess.Popen(command, stdout=seen, cwd=PROJECT))
    try:
        for _ in range(UPDATES):
            site.next_commit()
            row = build_directly(settings, engine, Quiet())
            known[row.commit[:12]] = digests_of(row)
    finally:
        for reader in readers:
            reader.kill()
            reader.wait()
    assert len(known) == UPDATES + 1
    for number in range(READERS):
        assert_whole_commits((tmp_path / f"seen-{number}").read_text(), known, first.commit[:12])


def assert_whole_commits(seen: str, known: dict[str, dict[str, str]], first: str) -> None:
    """Every export a reader made is one commit as it was recorded; every second is of the first."""
    exports = [json.loads(line) for line in seen.splitlines() if line.endswith("}")]
    assert [export["failed"] for export in exports if "failed" in export] == []
    for export in exports:
        (commit,) = export["commits"]
        assert export["digests"] == known[commit]
        assert export["missing"] == [] and export["edges"] > 0
    commits = {export["commits"][0] for export in exports}
    print(f"{len(exports)} exports saw {len(commits)} commits of {len(known)}")
    assert len(commits) >= FEWEST_COMMITS_SEEN
    assert {export["commits"][0] for export in exports[1::2]} == {first}

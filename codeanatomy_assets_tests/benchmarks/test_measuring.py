"""What a command takes is measured over all its processes; what it left in a folder is counted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.measuring import NODE, SAMPLE_SECONDS, StateFiles, run_measured
from codeanatomy_assets import toolchain
from codeanatomy_assets.errors import CodeAnatomyError

BUSY = "import time\nwhile time.process_time() < 0.4: pass\n"
# Longer than the time between two looks: what lives shorter may be missed.
LIVES = 3 * SAMPLE_SECONDS
CHILD = f"held = bytearray(60_000_000)\n{BUSY}time.sleep({LIVES})\nprint('done')"
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {CHILD!r}], check=True)\n{BUSY}"

LEAVING = (
    "import os, subprocess, sys, time\n"
    f"child = subprocess.Popen([sys.executable, '-c', {BUSY + 'time.sleep(60)'!r}])\n"
    f"time.sleep({LIVES})\nchild.kill()\nos._exit(0)"
)


def test_cpu_and_memory_of_a_child_count_too(tmp_path: Path) -> None:
    usage, said = run_measured([sys.executable, "-c", PARENT], tmp_path)
    assert said == "done\n"
    assert 0.8 <= usage.cpu_seconds < 3
    assert usage.peak_megabytes >= 57
    assert usage.java_processes == 0


def test_cpu_of_a_child_that_nobody_waited_for_counts_too(tmp_path: Path) -> None:
    usage, _ = run_measured([sys.executable, "-c", LEAVING], tmp_path)
    assert usage.cpu_seconds >= 0.4


def test_a_process_named_java_is_seen(tmp_path: Path) -> None:
    (tmp_path / "java").symlink_to("/bin/sleep")
    usage, _ = run_measured([str(tmp_path / "java"), str(LIVES)], tmp_path)
    assert usage.java_processes == 1


def test_the_indexer_s_memory_is_told_apart(tmp_path: Path) -> None:
    lives = f"const held = Buffer.alloc(60e6, 1); setTimeout(() => held.length, {LIVES * 1000:.0f})"
    usage, _ = run_measured([str(toolchain.node()), "-e", lives], tmp_path)
    assert usage.megabytes_by_program[NODE] >= 57


def test_what_a_command_takes_is_told_by_the_parts_it_says(tmp_path: Path) -> None:
    words = f"print('first: a', file=sys.stderr, flush=True)\n{BUSY}time.sleep({LIVES})\n"
    later = words.replace("first: a", "second: b").replace("0.4", "1.2")
    usage, _ = run_measured(
        [sys.executable, "-c", f"import sys\n{words}{later}"],
        tmp_path,
        part_of=lambda line: line.partition(":")[0],
    )
    taken = {part: used.cpu_seconds for part, used in usage.parts.items()}
    assert taken.keys() >= {"first", "second"}
    assert sum(taken.values()) == pytest.approx(usage.cpu_seconds, abs=0.1)
    assert taken["second"] > 0.5
    assert sum(used.wall_seconds for used in usage.parts.values()) == pytest.approx(usage.wall_seconds, abs=0.3)


def test_a_command_that_fails_is_an_error_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(CodeAnatomyError, match="ended with 3: bad luck"):
        run_measured([sys.executable, "-c", "import sys; print('bad luck', file=sys.stderr); sys.exit(3)"], tmp_path)


def test_what_was_written_to_a_folder_is_new_files_and_growth(tmp_path: Path) -> None:
    log = tmp_path / "tables" / "cst_defs" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("0123456789")
    (tmp_path / "events").write_text("0123456789")
    before = StateFiles.of(tmp_path)
    (log / f"{1:020}.json").write_text("01234")
    (log / f"{1:020}.checkpoint.parquet").write_text("012")
    with (tmp_path / "events").open("a") as events:
        events.write("01")
    after = StateFiles.of(tmp_path)
    assert after.bytes_since(before) == {"tables": 5 + 3, "events": 2}
    assert after.table_bytes_since(before) == {"cst_defs": 5 + 3}
    assert after.delta_commits_since(before) == {"cst_defs": 1}

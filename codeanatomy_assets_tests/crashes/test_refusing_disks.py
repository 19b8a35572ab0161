"""A full disk and a read-only one, mounted for the test: one line says which folder and what to do; reads go on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.settings import PREFIX
from codeanatomy_assets.storage.disk_errors import refusal
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.states import BuiltState

COMMAND = Path(sys.prefix) / "bin" / "codeanatomy"
PRIVATE_MOUNTS = ("unshare", "--map-root-user", "--mount")
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"'
# The state is copied onto a disk of its size and a little more, which what is written next does not fit.
FULL = 'mount -t tmpfs -o size="$2k" tmpfs "$3" && cp -a "$1" "$3/state"'
# Only its tables are: the rest of the state has room.
FULL_TABLES = 'cp -a "$1" "$1-copied" && mount -t tmpfs -o size="$2k" tmpfs "$1" && cp -a "$1-copied/." "$1"'
SECONDS = 300


def can_mount() -> bool:
    try:
        return subprocess.run([*PRIVATE_MOUNTS, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


pytestmark = pytest.mark.skipif(
    not can_mount(), reason="needs a mount namespace of its own (`unshare --map-root-user --mount true` fails here)"
)


@dataclass(frozen=True)
class Said:
    """What commands said, one after the other."""

    commands: list[subprocess.CompletedProcess[str]]

    def refused(self, *words: str) -> None:
        """The first command failed with one line, which has these words, and no traceback."""
        first = self.commands[0]
        assert (first.returncode, first.stdout) == (1, ""), first.stderr
        last = first.stderr.splitlines()[-1]
        assert last.startswith("codeanatomy: ")
        assert all(word in last for word in words), last
        assert "Traceback" not in first.stderr and "Error" not in first.stderr

    def last_commit_is_read(self, commit: str, exported: Path) -> None:
        """The other commands, status and export, found the last built commit."""
        status, export = self.commands[1:]
        assert (status.returncode, export.returncode) == (0, 0), status.stderr + export.stderr
        assert commit[:12] in status.stdout
        assert commit[:12] in export.stderr and (exported / "cpg_edges.parquet").exists()


def in_private_mounts(setting_up: str, given: Sequence[str | Path], commands: Sequence[Sequence[str | Path]]) -> Said:
    """Run commands where mounts are seen by nobody else, and gone when they end."""
    program = (
        "import json, subprocess, sys\n"
        "done = [subprocess.run(c, capture_output=True, text=True) for c in json.loads(sys.argv[1])]\n"
        "print(json.dumps([(d.args, d.returncode, d.stdout, d.stderr) for d in done]))\n"
    )
    told = json.dumps([[str(COMMAND), *map(str, command)] for command in commands])
    script = f'{setting_up} && shift {len(given)} && exec "$@"'
    ran = subprocess.run(
        [*PRIVATE_MOUNTS, "sh", "-c", script, "sh", *map(str, given), sys.executable, "-c", program, told],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return Said([subprocess.CompletedProcess(*each) for each in json.loads(ran.stdout)])


@pytest.fixture(scope="module")
def built(engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> BuiltState:
    """A commit that is built, and another one that is not."""
    built = BuiltState.create(tmp_path_factory.mktemp("disks"), engine)
    built.commit({f"m{number}.py": f"def f{number}():\n    return f{number}()\n" for number in range(4)})
    built.repo.commit_files({"m1.py": "import m2\n\n\ndef other():\n    return m2.f2()\n"})
    return built


def build_and_read(built: BuiltState, state: Path, out: Path) -> list[list[str | Path]]:
    at: list[str | Path] = ["--state", state]
    return [["build", built.repo.folder, *at], ["status", *at], ["export", out, "--dataset", "cpg_edges", *at]]


def test_a_read_only_state_is_named_and_can_still_be_read(built: BuiltState, tmp_path: Path) -> None:
    state = built.settings.state
    said = in_private_mounts(READ_ONLY, [state], build_and_read(built, state, tmp_path / "out"))
    said.refused(f"{state} can't be written to", "read-only", "make it writable, or name another folder")
    said.last_commit_is_read(built.last().commit, tmp_path / "out")


def kilobytes(folder: Path) -> int:
    return sum(file.stat().st_blocks for file in folder.rglob("*")) // 2


def test_a_full_disk_is_named_and_what_was_built_can_still_be_read(built: BuiltState, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    state = built.settings.state
    said = in_private_mounts(
        FULL, [state, str(kilobytes(state)), disk], build_and_read(built, disk / "state", tmp_path / "out")
    )
    said.refused(f"no space is left for {disk / 'state'}", "free some", "another disk")
    said.last_commit_is_read(built.last().commit, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize(("light_rows", "room"), [("200000", 0), ("200000", 60), ("0", 60)])
def test_a_disk_that_fills_up_while_tables_are_written_is_named_whoever_writes(
    built: BuiltState, tmp_path: Path, light_rows: str, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By delta-rs, and by Spark where no row is to go the light way."""
    monkeypatch.setenv(f"{PREFIX}LIGHT_WRITE_ROWS", light_rows)
    state = tmp_path / "copied"
    shutil.copytree(built.settings.state, state)
    tables = state / "tables"
    said = in_private_mounts(
        FULL_TABLES, [tables, str(kilobytes(tables) + room)], build_and_read(built, state, tmp_path / "out")
    )
    said.refused(f"no space is left for {tables}", "free some", "another disk")
    said.last_commit_is_read(built.last().commit, tmp_path / "out")


def test_an_export_to_a_full_disk_names_the_folder_it_was_to_write(built: BuiltState, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    script = 'mount -t tmpfs -o size=16k tmpfs "$1"'
    said = in_private_mounts(script, [disk], [["export", disk / "out", "--state", built.settings.state]])
    said.refused(f"no space is left for {disk / 'out'}")


def test_only_what_a_disk_said_is_taken_for_its_refusal(tmp_path: Path) -> None:
    assert refusal(ValueError("anything else"), [tmp_path]) is None
    unreadable = BadInput("file can't be read: make it readable")
    unreadable.__cause__ = PermissionError(13, "Permission denied", "/elsewhere/m.py")
    assert refusal(unreadable, [tmp_path]) is None
    told = refusal(PermissionError(13, "Permission denied", str(tmp_path / "lock")), [tmp_path])
    assert told is not None and f"{tmp_path / 'lock'} can't be written to, permission is denied" in str(told)
    full = CodeAnatomyError("git index-pack failed in x: fatal: write error: No space left on device")
    assert refusal(full, [tmp_path]) is not None

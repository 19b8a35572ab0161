"""The codeanatomy command as a user runs it: bad input, exit codes, output, no-ops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.state_folder import MARKER
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.states import BuiltState

COMMAND = Path(sys.prefix) / "bin" / "codeanatomy"


def codeanatomy(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, cwd=cwd, timeout=120, check=False)


def refused(said: str, *arguments: str | Path, state: Path) -> None:
    """The command says this, exits with 2, and writes nothing."""
    done = codeanatomy("build", *arguments, "--state", state)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not state.exists()


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    repo = GitRepo.create(tmp_path / "repo")
    repo.commit_files({"a.py": "def f(): ...\n"})
    return repo


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    refused("does not exist", tmp_path / "nowhere", state=tmp_path / "state")
    refused("does not exist", tmp_path / "nowhere", "--worktree", state=tmp_path / "state")


def test_a_folder_that_is_no_repository_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    refused("pass --worktree", tmp_path / "folder", state=tmp_path / "state")


def test_an_unknown_commit_is_refused(tmp_path: Path, repo: GitRepo) -> None:
    refused("no-such-branch", repo.folder, "--commit", "no-such-branch", state=tmp_path / "state")


def test_a_commit_of_a_plain_folder_is_refused(tmp_path: Path, repo: GitRepo) -> None:
    refused("leave out --commit", repo.folder, "--commit", "HEAD", "--worktree", state=tmp_path / "state")


def test_a_folder_of_other_things_is_no_state(tmp_path: Path, repo: GitRepo) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "letter.txt").write_text("dear")
    done = codeanatomy("build", repo.folder, "--state", tmp_path / "documents")
    assert done.returncode == 2 and "no CodeAnatomy state" in done.stderr
    assert [entry.name for entry in (tmp_path / "documents").iterdir()] == ["letter.txt"]


def test_a_state_that_a_newer_version_wrote_is_refused(tmp_path: Path, repo: GitRepo) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / MARKER).write_text(json.dumps({"format": "99", "repository": str(repo.folder), "written_by": "9"}))
    for command in (("build", repo.folder), ("status",), ("export", tmp_path / "out")):
        done = codeanatomy(*command, "--state", state)
        assert done.returncode == 2 and "newer version" in done.stderr
    assert [entry.name for entry in state.iterdir()] == [MARKER]


def test_bad_usage_exits_with_2(tmp_path: Path) -> None:
    for arguments in ((), ("build",), ("build", "x", "--nonsense"), ("nonsense",)):
        assert codeanatomy(*arguments, cwd=tmp_path).returncode == 2


def test_numbers_that_mean_nothing_are_bad_usage(tmp_path: Path) -> None:
    for arguments in (
        ("verify", "--commits", "0"),
        ("watch", "x", "--every", "-1"),
        ("diff", "A", "B", "--limit", "-1"),
        ("vacuum", "--keep-days", "-1"),
    ):
        done = codeanatomy(*arguments, cwd=tmp_path)
        assert done.returncode == 2 and "is the least" in done.stderr, arguments


def test_a_folder_of_dependencies_that_is_not_there_is_refused(
    tmp_path: Path, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEANATOMY_SITE_PACKAGES", str(tmp_path / "nowhere"))
    refused("nowhere is no folder: correct or unset it", repo.folder, state=tmp_path / "state")


def test_a_reader_that_went_away_is_no_failure(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(
            [COMMAND, "status", "--state", tmp_path / "state"],
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_reading_a_state_that_is_not_built_says_what_to_do(tmp_path: Path) -> None:
    done = codeanatomy("export", tmp_path / "out", "--state", tmp_path / "state")
    assert done.returncode == 2 and "codeanatomy build" in done.stderr
    done = codeanatomy("status", "--state", tmp_path / "state")
    assert done.returncode == 0 and "nothing is built" in done.stdout


def test_a_state_in_use_is_refused_with_the_holders_name(built: BuiltState) -> None:
    built.commit({"a.py": "x = 1\n"})
    built.repo.commit_files({"a.py": "x = 2\n"})
    with StateLock(built.settings.state).holding("codeanatomy watch"):
        done = codeanatomy("build", built.repo.folder, "--state", built.settings.state)
        assert done.returncode == 2
        assert "in use by codeanatomy watch (process" in done.stderr
        assert "codeanatomy watch" in codeanatomy("status", "--state", built.settings.state).stdout


def test_a_noop_imports_neither_dagster_nor_pyspark_and_starts_no_jvm(built: BuiltState) -> None:
    built.commit({"a.py": "x = 1\n"})
    before = built.versions()
    script = (
        "import sys\nfrom codeanatomy_assets.cli import main\ncode = main(sys.argv[1:])\n"
        "heavy = [name for name in ('dagster', 'pyspark') if name in sys.modules]\n"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    arguments = ("build", built.repo.folder, "--state", built.settings.state, "--json")
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mode"] == "noop"
    assert built.versions() == before


def test_export_writes_a_parquet_file_per_dataset_of_any_built_commit(built: BuiltState, tmp_path: Path) -> None:
    first = built.commit({"a.py": "def old(): ...\n"})["commit"]
    built.commit({"a.py": "def new(): ...\n"})
    for commit, name in ((first[:10], "old"), (built.last().commit, "new")):
        out = tmp_path / commit
        done = codeanatomy("export", out, "--state", built.settings.state, "--commit", commit)
        assert done.returncode == 0, done.stderr
        assert pq.read_table(out / "cst_defs.parquet").column("name").to_pylist() == [name]
    done = codeanatomy("export", tmp_path / "one", "--state", built.settings.state, "--dataset", "cst_defs")
    assert [entry.name for entry in (tmp_path / "one").iterdir()] == ["cst_defs.parquet"]
    done = codeanatomy("export", tmp_path / "one", "--state", built.settings.state, "--dataset", "cst_deffs")
    assert done.returncode == 2 and "known are repo_snapshot" in done.stderr
    done = codeanatomy("export", tmp_path / "one", "--state", built.settings.state, "--commit", "feedbeef")
    assert done.returncode == 2 and "is not built" in done.stderr


def test_a_build_from_the_shell_prints_progress_and_one_json_object(tmp_path: Path, repo: GitRepo) -> None:
    done = codeanatomy("build", repo.folder, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    expected = {"commit", "mode", "files", "changed", "impacted", "reasons", "rows", "seconds", "versions"}
    assert expected <= report.keys()
    assert (report["commit"], report["mode"], report["files"]) == (repo.head(), "full", 1)
    assert "repository:" in done.stderr and "syntax:" in done.stderr
    assert (tmp_path / ".codeanatomy" / MARKER).exists()
    assert "full" in codeanatomy("status", cwd=tmp_path).stdout

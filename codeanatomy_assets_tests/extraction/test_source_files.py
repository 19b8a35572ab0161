"""Source files: what a snapshot row says of each kind of file, and a plain folder taken by stat."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT, SKIP_REASONS
from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.extraction import source_files
from codeanatomy_assets.extraction.git_history import GitRepository
from codeanatomy_assets.extraction.private_store import BlobWriter, Changes, PrivateStore, Snapshot
from codeanatomy_assets.extraction.source_files import STATE_MARKER, describe_all, snapshot_folder
from codeanatomy_assets_tests.git_repositories import GitRepo

Row = dict[str, object]


def rows_of(snapshot: Snapshot, size_limit: int = 1_000) -> dict[str, Row]:
    rows = list(describe_all(snapshot, snapshot.entries(), "repo", size_limit))
    assert all(tuple(row) == REPO_SNAPSHOT.column_names for row in rows)
    return {str(row["path"]): row for row in rows}


def rows_at_head(repo: GitRepo, store: PrivateStore) -> dict[str, Row]:
    return rows_of(store.fetch(GitRepository.open(repo.folder), repo.head()))


# Rows


def test_a_python_file_is_described_by_its_bytes(repo: GitRepo, store: PrivateStore) -> None:
    repo.commit_files({"pkg/a.py": "x = 'é'\n"})
    content = "x = 'é'\n".encode()
    assert rows_at_head(repo, store)["pkg/a.py"] == {
        "file_id": identity.FILE.of("repo", "pkg/a.py"),
        "path": "pkg/a.py",
        "git_mode": "100644",
        "blob_id": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": len(content),
        "encoding": "utf-8",
        "is_python": True,
        "skip_reason": None,
    }


KINDS_OF_FILES: list[tuple[str, bytes, bool, str | None, str | None]] = [
    ("empty.py", b"", True, "utf-8", None),
    ("stub.pyi", b"x: int\n", True, "utf-8", None),
    ("latin.py", b"# coding: latin-1\nx = '\xe9'\n", True, "iso8859-1", None),
    ("broken.py", b"def (:\n", True, "utf-8", None),
    ("odd.py", b"x = '\xe9'\n", True, "utf-8", "undecodable"),
    ("nul.py", b"x = 1\0\n", True, "utf-8", "nul_bytes"),
    ("large.py", b"#" * 1_001, True, None, "too_large"),
    ("limit.py", b"#" * 1_000, True, "utf-8", None),
    ("large.bin", b"\0" * 1_001, False, None, None),
    ("README.md", b"\xff\0", False, None, None),
    ("script.PY", b"x = 1\n", False, None, None),
    ("lfs.py", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", True, "utf-8", None),
    ('new\nline, and "quote".py', b"x = 1\n", True, "utf-8", None),
]


def test_each_kind_of_file_has_its_row(repo: GitRepo, store: PrivateStore) -> None:
    for name, content, *_ in KINDS_OF_FILES:
        repo.write(name, content)
    repo.commit()
    rows = rows_at_head(repo, store)
    assert [
        (path, row["is_python"], row["encoding"], row["skip_reason"], row["size"], row["sha256"])
        for path, row in sorted(rows.items())
    ] == [
        (name, is_python, encoding, reason, len(content), hashlib.sha256(content).hexdigest())
        for name, content, is_python, encoding, reason in sorted(KINDS_OF_FILES)
    ]
    assert {row["skip_reason"] for row in rows.values()} <= {None, *SKIP_REASONS}


def test_symlinks_submodules_and_unsafe_paths_are_rows_with_a_reason(repo: GitRepo, store: PrivateStore) -> None:
    blob = repo.blob(b"/etc/passwd")
    inner = repo.raw_tree(("100644", b"evil.py", blob))
    repo.commit_raw_tree(
        ("40000", b"..", inner), ("120000", b"link.py", blob), ("160000", b"sub", "1" * 40), ("100644", b"ok.py", blob)
    )
    rows = rows_at_head(repo, store)
    reasons = {path: row["skip_reason"] for path, row in rows.items()}
    assert reasons == {"../evil.py": "unsafe_path", "link.py": "symlink", "sub": "submodule", "ok.py": None}
    assert {path for path, row in rows.items() if row["is_python"]} == {"../evil.py", "ok.py"}
    assert (rows["sub"]["sha256"], rows["sub"]["size"], rows["sub"]["blob_id"]) == (None, 0, "1" * 40)
    assert rows["link.py"]["sha256"] == hashlib.sha256(b"/etc/passwd").hexdigest()
    assert not any(row["encoding"] for path, row in rows.items() if path != "ok.py")


def test_paths_that_are_not_utf_8_and_names_that_differ_in_case_have_ids_of_their_own(
    repo: GitRepo, store: PrivateStore
) -> None:
    for name in (b"\xe9.py", b"\xe8.py", b"Case.py", b"case.py"):
        repo.write(name, "")
    repo.commit()
    rows = rows_at_head(repo, store)
    assert set(rows) == {"//\\xe9.py", "//\\xe8.py", "Case.py", "case.py"}
    assert len({row["file_id"] for row in rows.values()}) == 4


# Plain folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    (path / "pkg").mkdir(parents=True)
    (path / "a.py").write_text("a = 1\n")
    (path / "pkg" / "b.py").write_text("b = 1\n")
    return path


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The paths whose content was read."""
    paths: list[bytes] = []
    real: Callable[[bytes, bytes, source_files._FileStat, BlobWriter], str | None] = source_files._copy_in

    def copy_in(root: bytes, raw_path: bytes, found: source_files._FileStat, writer: BlobWriter) -> str | None:
        paths.append(raw_path)
        return real(root, raw_path, found, writer)

    monkeypatch.setattr(source_files, "_copy_in", copy_in)
    return paths


def age(folder: Path, store: PrivateStore) -> None:
    """As if the last snapshot had been taken long after the files were written."""
    index = store.folder / "folder-index.json"
    saved = json.loads(index.read_text())
    saved["taken_ns"] += 60_000_000_000
    index.write_text(json.dumps(saved))


def paths(snapshot: Snapshot) -> list[bytes]:
    return [entry.raw_path for entry in snapshot.entries()]


def test_a_folder_has_the_tree_git_would_give_it(repo: GitRepo, store: PrivateStore) -> None:
    for name in (
        b"with space.py",
        b"new\nline.py",
        b"\xe9.py",
        b"back\\slash.py",
        "n\u00e4me.py".encode(),
        b"Case.py",
        b"case.py",
    ):
        repo.write(name, "x = 1\n")
    repo.write("run.py", "")
    repo.path("run.py").chmod(0o755)
    repo.write("large.bin", os.urandom(3_000_000))
    repo.symlink("out.py", "/etc/passwd")
    repo.symlink("here", ".")
    commit = repo.commit()
    tree_id = GitRepository.open(repo.folder).tree_id(commit)
    snapshot = snapshot_folder(repo.folder, store)
    assert (snapshot.tree_id, snapshot.commit) == (tree_id, f"worktree-{tree_id}")
    by_git = store.fetch(GitRepository.open(repo.folder), commit)
    assert by_git.entries() == snapshot.entries()
    assert rows_of(by_git) == rows_of(snapshot)
    assert by_git.changes_since(snapshot.commit) == Changes()


def test_a_missing_folder_and_a_file_are_bad_input(tmp_path: Path, store: PrivateStore) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="does not exist"):
        snapshot_folder(tmp_path / "nowhere", store)
    with pytest.raises(BadInput, match="is a file"):
        snapshot_folder(tmp_path / "file", store)
    assert not store.folder.exists()


def test_an_empty_folder_is_an_empty_snapshot(tmp_path: Path, store: PrivateStore) -> None:
    (tmp_path / "empty").mkdir()
    assert snapshot_folder(tmp_path / "empty", store).entries() == []


def test_what_is_no_source_is_left_out(folder: Path, store: PrivateStore) -> None:
    for skipped in (".git", ".GIT", ".hg", ".svn", "__pycache__", "pkg/node_modules", "env", ".codeanatomy"):
        (folder / skipped).mkdir()
        (folder / skipped / "x.py").write_text("")
    (folder / "env" / "pyvenv.cfg").write_text("")
    (folder / ".codeanatomy" / STATE_MARKER).write_text("{}")
    (folder / "pkg" / ".git").write_text("gitdir: /elsewhere\n")
    os.mkfifo(folder / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s.py")) if len(str(folder)) < 90 else None
        assert paths(snapshot_folder(folder, store)) == [b"a.py", b"pkg/b.py"]


def test_a_symlink_is_not_followed_out_of_the_folder(folder: Path, store: PrivateStore, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("secret")
    (folder / "way_out").symlink_to(tmp_path / "outside")
    (folder / "secret.py").symlink_to(tmp_path / "outside" / "secret.py")
    (folder / "dangling.py").symlink_to("nowhere")
    rows = rows_of(snapshot_folder(folder, store))
    assert {path for path, row in rows.items() if row["skip_reason"] == "symlink"} == {
        "way_out",
        "secret.py",
        "dangling.py",
    }
    assert "way_out/secret.py" not in rows


def test_only_what_looks_changed_is_read_again(folder: Path, store: PrivateStore, copied: list[bytes]) -> None:
    first = snapshot_folder(folder, store)
    age(folder, store)
    copied.clear()
    assert snapshot_folder(folder, store) == Snapshot(store, first.commit, first.tree_id)
    assert copied == []
    age(folder, store)
    (folder / "a.py").write_text("a = 22\n")
    second = snapshot_folder(folder, store)
    assert copied == [b"a.py"]
    found = second.changes_since(first.commit)
    assert found is not None and [entry.path for entry in found.modified] == ["a.py"]


def test_a_file_as_young_as_the_snapshot_is_read_again(folder: Path, store: PrivateStore, copied: list[bytes]) -> None:
    snapshot_folder(folder, store)
    copied.clear()
    snapshot_folder(folder, store)
    assert copied == [b"a.py", b"pkg/b.py"]


def test_an_edit_of_equal_size_within_one_tick_is_seen(folder: Path, store: PrivateStore) -> None:
    first = snapshot_folder(folder, store)
    (folder / "a.py").write_text("a = 2\n")
    # The clock did not move between the snapshot and the edit: the index holds the very stat of the edited file.
    index = store.folder / "folder-index.json"
    saved = json.loads(index.read_text())
    found = source_files._FileStat.of((folder / "a.py").lstat())
    assert found is not None
    saved["files"]["a.py"] = [saved["files"]["a.py"][0], *found]
    index.write_text(json.dumps(saved))
    second = snapshot_folder(folder, store)
    assert [content for _, content in read(second)] == [b"a = 2\n", b"b = 1\n"]
    assert second.commit != first.commit


def read(snapshot: Snapshot) -> list[tuple[str, bytes | None]]:
    return sorted((entry.path, blob.content) for entry, blob in snapshot.read(snapshot.entries()))


def test_an_edit_that_puts_size_and_mtime_back_is_seen(folder: Path, store: PrivateStore) -> None:
    before = (folder / "a.py").stat()
    snapshot_folder(folder, store)
    age(folder, store)
    (folder / "a.py").write_text("a = 2\n")
    os.utime(folder / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read(snapshot_folder(folder, store))[0] == ("a.py", b"a = 2\n")


def test_a_changed_mode_and_a_file_turned_folder_are_seen(folder: Path, store: PrivateStore) -> None:
    first = snapshot_folder(folder, store)
    age(folder, store)
    (folder / "a.py").unlink()
    (folder / "a.py").mkdir()
    (folder / "a.py" / "x.py").write_text("")
    (folder / "pkg" / "b.py").chmod(0o755)
    found = snapshot_folder(folder, store).changes_since(first.commit)
    assert found is not None
    assert [entry.path for entry in (*found.added, *found.modified, *found.deleted)] == [
        "a.py/x.py",
        "pkg/b.py",
        "a.py",
    ]


def test_a_moved_file_is_a_rename(folder: Path, store: PrivateStore) -> None:
    first = snapshot_folder(folder, store)
    (folder / "a.py").rename(folder / "pkg" / "c.py")
    found = snapshot_folder(folder, store).changes_since(first.commit)
    assert found is not None and found.renamed == {"pkg/c.py": "a.py"}


def test_later_reads_do_not_depend_on_the_folder(folder: Path, store: PrivateStore) -> None:
    snapshot = snapshot_folder(folder, store)
    (folder / "a.py").unlink()
    assert read(snapshot) == [("a.py", b"a = 1\n"), ("pkg/b.py", b"b = 1\n")]


@pytest.mark.parametrize("damage", ["truncated", "other_folder", "let_go", "no_store"])
def test_an_index_that_can_not_be_trusted_is_not_used(
    damage: str, folder: Path, store: PrivateStore, tmp_path: Path
) -> None:
    first = snapshot_folder(folder, store)
    age(folder, store)
    index = store.folder / "folder-index.json"
    saved = json.loads(index.read_text())
    saved["files"]["a.py"][0] = "0" * 40
    index.write_text(json.dumps(saved))
    if damage == "truncated":
        index.write_text(index.read_text()[:50])
    elif damage == "other_folder":
        folder = folder.rename(tmp_path / "moved")
    elif damage == "let_go":
        store.keep_only([])
        store.compact()
    else:
        store.prepare("sha256")
    assert snapshot_folder(folder, store).tree_id == first.tree_id
    assert read(snapshot_folder(folder, store))[0] == ("a.py", b"a = 1\n")


def test_a_file_that_goes_while_it_is_listed_is_not_in_the_snapshot(
    folder: Path, store: PrivateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = source_files._copy_in

    def copy_in(root: bytes, raw_path: bytes, found: source_files._FileStat, writer: BlobWriter) -> str | None:
        (folder / "a.py").unlink(missing_ok=True)
        return real(root, raw_path, found, writer)

    monkeypatch.setattr(source_files, "_copy_in", copy_in)
    assert paths(snapshot_folder(folder, store)) == [b"pkg/b.py"]


def test_a_file_that_is_cut_while_it_is_read_says_so_and_the_next_try_succeeds(
    folder: Path, store: PrivateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fstat
    monkeypatch.setattr(
        os, "fstat", lambda descriptor: os.stat_result((*real(descriptor)[:6], 99, *real(descriptor)[7:]))
    )
    with pytest.raises(CodeAnatomyError, match=r"a.py' was cut while it was read: build again"):
        snapshot_folder(folder, store)
    monkeypatch.undo()
    assert paths(snapshot_folder(folder, store)) == [b"a.py", b"pkg/b.py"]


def test_a_file_that_can_not_be_read_is_named(
    folder: Path, store: PrivateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: bytes, flags: int) -> int:
        raise PermissionError

    monkeypatch.setattr(source_files, "_open_plain", denied)
    with pytest.raises(BadInput, match=r"a.py' can't be read: make it readable or move it away"):
        snapshot_folder(folder, store)

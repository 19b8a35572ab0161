"""The private checkout: exactly the wanted bytes, nothing outside it, whatever was there before."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.extraction.checkout import Checkout, CheckoutCounts
from codeanatomy_assets.extraction.git_history import GitRepository
from codeanatomy_assets.extraction.git_trees import TreeEntry
from codeanatomy_assets.extraction.private_store import PrivateStore, Snapshot
from codeanatomy_assets_tests.git_repositories import GitRepo


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "state" / "checkout")


def wanted(snapshot: Snapshot) -> list[TreeEntry]:
    return [entry for entry in snapshot.entries() if entry.is_python and not entry.unsafe]


def bring(checkout: Checkout, store: PrivateStore, repo: GitRepo, commit: str) -> CheckoutCounts:
    snapshot = store.fetch(GitRepository.open(repo.folder), commit)
    return checkout.update_to(snapshot, wanted(snapshot))


def on_disk(checkout: Checkout) -> dict[bytes, bytes]:
    """Every path below the checkout, folders as a path with a slash; symlinks as their target."""
    top = os.fsencode(checkout.root)
    found = {}
    for folder, folders, files in os.walk(top):
        prefix = folder[len(top) + 1 :] + b"/" if folder != top else b""
        found.update({prefix + name + b"/": b"" for name in folders})
        for name in files:
            path = os.path.join(folder, name)
            found[prefix + name] = os.readlink(path) if os.path.islink(path) else Path(os.fsdecode(path)).read_bytes()
    return found


def files_on_disk(checkout: Checkout) -> dict[bytes, bytes]:
    return {path: content for path, content in on_disk(checkout).items() if not path.endswith(b"/")}


def identity_of(path: Path) -> tuple[int, int, int, int]:
    """Which file it is and when it was written; when it was last read is none of it."""
    found = path.stat()
    return found.st_ino, found.st_mode, found.st_mtime_ns, found.st_ctime_ns


def test_python_files_are_written_as_stored_and_nothing_else_is(
    repo: GitRepo, store: PrivateStore, checkout: Checkout
) -> None:
    repo.run("config", "core.autocrlf", "false")
    repo.write("pkg/crlf.py", b"x = 1\r\n\xff\0")
    repo.write("pkg/README.md", "text")
    repo.write("run.py", "")
    repo.path("run.py").chmod(0o755)
    repo.symlink("link.py", "run.py")
    counts = bring(checkout, store, repo, repo.commit())
    assert counts == CheckoutCounts(written=2, deleted=0, kept=0)
    assert on_disk(checkout) == {b"pkg/": b"", b"pkg/crlf.py": b"x = 1\r\n\xff\0", b"run.py": b""}
    modes = {stat.S_IMODE(path.lstat().st_mode) for path in checkout.root.rglob("*.py")}
    assert modes == {0o644}


def test_odd_names_are_written_with_their_bytes(repo: GitRepo, store: PrivateStore, checkout: Checkout) -> None:
    names = [
        b"with space.py",
        b"new\nline.py",
        b"\xe9\xff/m.py",
        b"quote'\".py",
        b"Case.py",
        b"case.py",
        b"back\\slash.py",
    ]
    for name in names:
        repo.write(name, name)
    commit = repo.commit()
    bring(checkout, store, repo, commit)
    assert files_on_disk(checkout) == {name: name for name in names}
    assert bring(checkout, store, repo, commit) == CheckoutCounts(written=0, deleted=0, kept=len(names))


def test_only_what_differs_is_written_and_what_went_is_deleted_with_its_folder(
    repo: GitRepo, store: PrivateStore, checkout: Checkout
) -> None:
    bring(
        checkout,
        store,
        repo,
        repo.commit_files({"same.py": "s", "edit.py": "1", "a/b/c/gone.py": "", "a/stays.py": ""}),
    )
    untouched = identity_of(checkout.root / "same.py")
    repo.remove("a/b")
    counts = bring(checkout, store, repo, repo.commit_files({"edit.py": "2", "new/n.py": "n"}))
    assert counts == CheckoutCounts(written=2, deleted=2, kept=2)
    assert on_disk(checkout) == {
        b"same.py": b"s",
        b"edit.py": b"2",
        b"a/": b"",
        b"a/stays.py": b"",
        b"new/": b"",
        b"new/n.py": b"n",
    }
    assert identity_of(checkout.root / "same.py") == untouched


def test_files_and_folders_swap_places(repo: GitRepo, store: PrivateStore, checkout: Checkout) -> None:
    first = repo.commit_files({"x.py": "file", "y.py/inner.py": "in a folder"})
    bring(checkout, store, repo, first)
    repo.remove("x.py")
    repo.remove("y.py")
    second = repo.commit_files({"x.py/inner.py": "in a folder", "y.py": "file"})
    bring(checkout, store, repo, second)
    assert files_on_disk(checkout) == {b"x.py/inner.py": b"in a folder", b"y.py": b"file"}
    bring(checkout, store, repo, first)
    assert files_on_disk(checkout) == {b"x.py": b"file", b"y.py/inner.py": b"in a folder"}


def test_a_second_update_to_the_same_snapshot_touches_nothing(
    repo: GitRepo, store: PrivateStore, checkout: Checkout
) -> None:
    commit = repo.commit_files({"a.py": "1"})
    bring(checkout, store, repo, commit)
    folder = checkout.root.parent
    before = {path: path.stat() for path in folder.rglob("*")}
    assert bring(checkout, store, repo, commit) == CheckoutCounts(written=0, deleted=0, kept=1)
    assert {path: path.stat() for path in folder.rglob("*")} == before


def test_a_snapshot_without_python_files_is_an_empty_folder(
    repo: GitRepo, store: PrivateStore, checkout: Checkout
) -> None:
    assert bring(checkout, store, repo, repo.commit_files({"README": ""})) == CheckoutCounts(0, 0, 0)
    assert checkout.root.is_dir() and on_disk(checkout) == {}


@pytest.mark.parametrize("manifest", [None, "", '{"files": {"a.py"'])
def test_without_a_whole_manifest_everything_is_written_anew(
    manifest: str | None, repo: GitRepo, store: PrivateStore, checkout: Checkout
) -> None:
    commit = repo.commit_files({"a.py": "1", "b.py": "2"})
    bring(checkout, store, repo, commit)
    (checkout.root / "a.py").write_text("half-writ")
    (checkout.root / "left over.py").write_text("")
    path = checkout.root.parent / "manifest.json"
    path.unlink() if manifest is None else path.write_text(manifest)
    assert bring(checkout, store, repo, commit).written == 2
    assert on_disk(checkout) == {b"a.py": b"1", b"b.py": b"2"}


def test_an_update_that_dies_half_way_is_done_again_in_full(
    repo: GitRepo, store: PrivateStore, checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repo.commit_files({"a.py": "1", "b.py": "1", "c.py": "1"})
    bring(checkout, store, repo, first)
    second = repo.commit_files({"a.py": "2", "b.py": "2"})
    real = checkout._write

    def dying(raw_path: bytes, content: bytes) -> object:
        if raw_path == b"b.py":
            raise KeyboardInterrupt
        return real(raw_path, content)

    monkeypatch.setattr(checkout, "_write", dying)
    with pytest.raises(KeyboardInterrupt):
        bring(checkout, store, repo, second)
    monkeypatch.undo()
    assert bring(checkout, store, repo, first) == CheckoutCounts(written=3, deleted=0, kept=0)
    assert on_disk(checkout) == {b"a.py": b"1", b"b.py": b"1", b"c.py": b"1"}


FOREVER = """
import sys
from pathlib import Path
from codeanatomy_assets.extraction.checkout import Checkout
from codeanatomy_assets.extraction.git_history import GitRepository
from codeanatomy_assets.extraction.private_store import PrivateStore

repository, store = GitRepository.open(Path(sys.argv[1])), PrivateStore(Path(sys.argv[2]))
print("ready", flush=True)
while True:
    for commit in sys.argv[4:]:
        snapshot = store.fetch(repository, commit)
        Checkout(Path(sys.argv[3])).update_to(snapshot, snapshot.entries())
        store.keep_only([commit])
"""


def test_killed_at_any_moment_the_next_update_is_right(repo: GitRepo, store: PrivateStore, checkout: Checkout) -> None:
    commits = [repo.commit_files({f"p{n}/m{n}.py": f"{number}" for n in range(40)}) for number in range(3)]
    arguments = [str(repo.folder), str(store.folder), str(checkout.root.parent), *commits]
    for moment in (0.0, 0.04, 0.11, 0.23):
        with subprocess.Popen([sys.executable, "-c", FOREVER, *arguments], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            time.sleep(moment)
            assert process.poll() is None
            process.kill()
        bring(checkout, store, repo, commits[1])
        assert files_on_disk(checkout) == {b"p%d/m%d.py" % (n, n): b"1" for n in range(40)}


def test_what_somebody_changed_in_the_checkout_is_put_right(
    repo: GitRepo, store: PrivateStore, checkout: Checkout
) -> None:
    commit = repo.commit_files({"edited.py": "1", "gone.py": "2", "same.py": "3", "folder.py": "4"})
    bring(checkout, store, repo, commit)
    (checkout.root / "edited.py").write_text("x")
    (checkout.root / "gone.py").unlink()
    (checkout.root / "folder.py").unlink()
    (checkout.root / "folder.py" / "deep").mkdir(parents=True)
    (checkout.root / "typing.py").write_text("planted")
    (checkout.root / "empty").mkdir()
    os.mkfifo(checkout.root / "pipe.py")
    bring(checkout, store, repo, commit)
    assert on_disk(checkout) == {b"edited.py": b"1", b"gone.py": b"2", b"same.py": b"3", b"folder.py": b"4"}


def test_a_stray_empty_folder_goes_even_if_all_files_are_right(
    repo: GitRepo, store: PrivateStore, checkout: Checkout
) -> None:
    commit = repo.commit_files({"pkg/a.py": "1"})
    bring(checkout, store, repo, commit)
    (checkout.root / "pkg" / "stray" / "deep").mkdir(parents=True)
    assert bring(checkout, store, repo, commit) == CheckoutCounts(written=0, deleted=0, kept=1)
    assert on_disk(checkout) == {b"pkg/": b"", b"pkg/a.py": b"1"}


def test_planted_symlinks_are_replaced_and_never_followed(
    repo: GitRepo, store: PrivateStore, checkout: Checkout, tmp_path: Path
) -> None:
    first = repo.commit_files({"file.py": "1", "pkg/a.py": "1", "pkg/b.py": "1"})
    bring(checkout, store, repo, first)
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("a.py", "b.py", "victim.py"):
        (outside / name).write_text("precious")
    (checkout.root / "file.py").unlink()
    (checkout.root / "file.py").symlink_to(outside / "victim.py")
    for path in (checkout.root / "pkg").iterdir():
        path.unlink()
    (checkout.root / "pkg").rmdir()
    (checkout.root / "pkg").symlink_to(outside)
    repo.remove("pkg/b.py")
    bring(checkout, store, repo, repo.commit_files({"file.py": "2", "pkg/a.py": "2", "new/c.py": "c"}))
    assert {path.name: path.read_text() for path in outside.iterdir()} == dict.fromkeys(
        ("a.py", "b.py", "victim.py"), "precious"
    )
    assert files_on_disk(checkout) == {b"file.py": b"2", b"pkg/a.py": b"2", b"new/c.py": b"c"}


@pytest.mark.parametrize("with_manifest", [True, False])
def test_a_symlink_in_place_of_the_whole_checkout_is_replaced(
    with_manifest: bool, repo: GitRepo, store: PrivateStore, checkout: Checkout, tmp_path: Path
) -> None:
    commit = repo.commit_files({"a.py": "1"})
    bring(checkout, store, repo, commit)
    outside = tmp_path / "outside"
    checkout.root.rename(outside)
    (outside / "a.py").write_text("precious")
    checkout.root.symlink_to(outside)
    if not with_manifest:
        (checkout.root.parent / "manifest.json").unlink()
    bring(checkout, store, repo, commit)
    assert (outside / "a.py").read_text() == "precious"
    assert not checkout.root.is_symlink() and on_disk(checkout) == {b"a.py": b"1"}


def test_a_symlink_that_appears_during_the_update_stops_it(
    repo: GitRepo, store: PrivateStore, checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repo.commit_files({"pkg/a.py": "1"})
    outside = tmp_path / "outside"
    outside.mkdir()
    real = checkout._remove

    def plant(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        (checkout.root / "pkg").symlink_to(outside)

    monkeypatch.setattr(checkout, "_remove", plant)
    with pytest.raises(OSError, match="pkg"):
        bring(checkout, store, repo, commit)
    assert list(outside.iterdir()) == []


def test_hostile_trees_are_never_written_outside(
    repo: GitRepo, store: PrivateStore, checkout: Checkout, tmp_path: Path
) -> None:
    blob = repo.blob(b"evil = 1\n")
    target = repo.blob(os.fsencode(tmp_path / "outside"))
    inner = repo.raw_tree(("100644", b"evil.py", blob))
    commit = repo.commit_raw_tree(
        ("40000", b"..", inner),
        ("100644", b"../evil.py", blob),
        ("40000", b".git", repo.raw_tree(("100644", b"hooks.py", blob))),
        ("100644", os.fsencode(tmp_path / "evil.py"), blob),
        ("120000", b"link", target),
        ("40000", b"link", inner),
        ("160000", b"../sub", "1" * 40),
        ("100644", b"ok.py", blob),
    )
    (tmp_path / "outside").mkdir()
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "state")}
    snapshot = store.fetch(GitRepository.open(repo.folder), commit)
    for entry in snapshot.entries():
        if entry.unsafe or not entry.is_regular:
            with pytest.raises(ValueError, match="can't be checked out"):
                checkout.update_to(snapshot, [entry])
    checkout.update_to(snapshot, wanted(snapshot))
    assert files_on_disk(checkout) == {b"link/evil.py": b"evil = 1\n", b"ok.py": b"evil = 1\n"}
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "state")} == before


def test_a_store_that_lost_a_file_leaves_no_manifest_behind(
    repo: GitRepo, store: PrivateStore, checkout: Checkout
) -> None:
    snapshot = store.fetch(GitRepository.open(repo.folder), repo.commit_files({"a.py": "1"}))
    with pytest.raises(CodeAnatomyError, match="is missing"):
        checkout.update_to(snapshot, [*wanted(snapshot), TreeEntry(b"lost.py", "100644", "f" * 40)])
    assert not (checkout.root.parent / "manifest.json").exists()
    assert checkout.update_to(snapshot, wanted(snapshot)) == CheckoutCounts(written=1, deleted=0, kept=0)


def test_text_in_another_encoding_is_written_in_utf_8(checkout: Checkout, store: PrivateStore, repo: GitRepo) -> None:
    repo.write("latin.py", "# coding: latin-1\ncaf\xe9 = 1\n".encode("latin-1"))
    repo.write("lying.py", b"# coding: utf-8\nx = '\xe9'\n")
    bring(checkout, store, repo, repo.commit())
    assert files_on_disk(checkout) == {
        b"latin.py": "# coding: latin-1\ncafé = 1\n".encode(),
        b"lying.py": b"# coding: utf-8\nx = '\xe9'\n",
    }

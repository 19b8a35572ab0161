"""The private store: what a tree holds, what changed, that it stays whole, and that nothing hostile is run."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.extraction import git_trees, private_store
from codeanatomy_assets.extraction.checkout import Checkout
from codeanatomy_assets.extraction.git_history import GitRepository
from codeanatomy_assets.extraction.git_trees import logical_path
from codeanatomy_assets.extraction.private_store import Blob, Changes, PrivateStore, Snapshot
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.hostile.armed_git import arm


def fetch(store: PrivateStore, repo: GitRepo, commit: str | None) -> Snapshot:
    return store.fetch(GitRepository.open(repo.folder), commit)


def contents(snapshot: Snapshot) -> dict[str, bytes | None]:
    return {entry.path: blob.content for entry, blob in snapshot.read(snapshot.entries())}


def changes(snapshot: Snapshot, base: str) -> Changes:
    found = snapshot.changes_since(base)
    assert found is not None
    return found


# What a tree holds

ODD_NAMES = [
    b"with space.py",
    b"quote'\"s.py",
    b"new\nline.py",
    b"tab\tand,comma.py",
    b"back\\slash.py",
    "n\u00e4me \u4f60.py".encode(),
    b"Case.py",
    b"case.py",
    b"latin-\xe9.py",
    b"-dash.py",
    b"*.py",
]


def test_odd_paths_come_through_with_their_bytes(repo: GitRepo, store: PrivateStore) -> None:
    for number, name in enumerate(ODD_NAMES):
        repo.write(name, f"x = {number}\n")
    snapshot = fetch(store, repo, repo.commit())
    assert {entry.raw_path for entry in snapshot.entries()} == set(ODD_NAMES)
    assert not any(entry.unsafe for entry in snapshot.entries())
    read = {entry.raw_path: blob.content for entry, blob in snapshot.read(snapshot.entries())}
    assert read == {name: f"x = {number}\n".encode() for number, name in enumerate(ODD_NAMES)}


def test_a_path_that_is_not_utf_8_is_escaped() -> None:
    assert logical_path(b"a\xff\\b\xc3\xa9.py") == "//a\\xff\\\\b\u00e9.py"
    assert logical_path("back\\slash \u00e9\n.py".encode()) == "back\\slash \u00e9\n.py"
    assert logical_path(b"\xed\xa0\x80") == "//\\xed\\xa0\\x80"


def test_no_two_paths_share_a_logical_path() -> None:
    parts = [b"", b"/", b"//", b"\\", b"\\xff", b"\xff", b"xff", b"\xc3", b"\xa9", b"\xc3\xa9", b"a"]
    paths = {one + two + three for one in parts for two in parts for three in parts}
    assert len({logical_path(path) for path in paths}) == len(paths)


def test_modes_tell_files_programs_symlinks_and_submodules(repo: GitRepo, store: PrivateStore) -> None:
    repo.write("a.py", "a")
    repo.write("run.py", "a")
    repo.path("run.py").chmod(0o755)
    repo.symlink("out.py", "/etc/passwd")
    repo.run("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    repo.run("add", "a.py", "run.py", "out.py")
    repo.run("commit", "--quiet", "-m", "modes")
    snapshot = fetch(store, repo, repo.head())
    modes = {entry.path: (entry.mode, entry.is_python) for entry in snapshot.entries()}
    assert modes == {
        "a.py": ("100644", True),
        "run.py": ("100755", True),
        "out.py": ("120000", False),
        "sub": ("160000", False),
    }
    assert contents(snapshot) == {"a.py": b"a", "run.py": b"a", "out.py": b"/etc/passwd"}


def test_a_blob_above_the_limit_is_hashed_and_not_held(repo: GitRepo, store: PrivateStore) -> None:
    large = os.urandom(3_000_000)
    repo.write("large.bin", large)
    repo.write("small.py", "12345")
    repo.write("empty.py", "")
    snapshot = fetch(store, repo, repo.commit())
    blobs = {entry.path: blob for entry, blob in snapshot.read(snapshot.entries(), keep_up_to=5)}
    assert (blobs["large.bin"].size, blobs["large.bin"].content) == (3_000_000, None)
    assert blobs["large.bin"].sha256 == hashlib.sha256(large).hexdigest()
    assert (blobs["small.py"].content, blobs["empty.py"].content) == (b"12345", b"")


def test_a_blob_the_store_lost_is_an_error_with_a_remedy(repo: GitRepo, store: PrivateStore) -> None:
    fetch(store, repo, repo.commit_files({"a.py": ""}))
    with pytest.raises(CodeAnatomyError, match=r"is missing in .*: delete that folder and build again"):
        list(store.read_blobs(["f" * 40]))


def test_a_reader_that_stops_early_leaves_no_process_behind(repo: GitRepo, store: PrivateStore) -> None:
    repo.write("large.bin", os.urandom(3_000_000))
    repo.write("a.py", "a")
    snapshot = fetch(store, repo, repo.commit())
    reading = store.read_blobs([entry.blob_id for entry in snapshot.entries()])
    assert isinstance(next(reading), Blob)
    reading.close()  # type: ignore[attr-defined]
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    names = [Path(f"/proc/{child}/comm").read_text().strip() for child in children]
    assert "git" not in names


# What changed


def test_changes_name_added_modified_deleted_and_renamed_paths(repo: GitRepo, store: PrivateStore) -> None:
    body = "".join(f"line_{number} = {number}\n" for number in range(30))
    base = repo.commit_files(
        {"same.py": "s", "edit.py": "1", "gone.py": "gone and done", "old name.py": body, "x.py": ""}
    )
    fetch(store, repo, base)
    repo.write("edit.py", "2")
    repo.remove("gone.py")
    repo.move("old name.py", "pkg/new \u00e9.py")
    repo.write("pkg/new \u00e9.py", body + "more = 1\n")
    repo.write("new.py", "something else entirely")
    repo.path("x.py").chmod(0o755)
    found = changes(fetch(store, repo, repo.commit()), base)
    assert [entry.path for entry in found.added] == ["new.py", "pkg/new \u00e9.py"]
    assert [entry.path for entry in found.modified] == ["edit.py", "x.py"]
    assert [entry.path for entry in found.deleted] == ["gone.py", "old name.py"]
    assert found.renamed == {"pkg/new \u00e9.py": "old name.py"}


def test_renames_of_many_files_keep_their_pairs(repo: GitRepo, store: PrivateStore) -> None:
    base = repo.commit_files({f"old/{n}.py": f"{n}\n" * 20 for n in range(10)})
    fetch(store, repo, base)
    repo.move("old", "new")
    found = changes(fetch(store, repo, repo.commit()), base)
    assert found.renamed == {f"new/{n}.py": f"old/{n}.py" for n in range(10)}


def test_equal_trees_have_no_changes_whatever_their_commits(repo: GitRepo, store: PrivateStore) -> None:
    base = repo.commit_files({"a.py": ""})
    fetch(store, repo, base)
    assert changes(fetch(store, repo, repo.commit("nothing")), base) == Changes()


def test_a_base_the_store_does_not_hold_is_no_base(repo: GitRepo, store: PrivateStore) -> None:
    first = repo.commit_files({"a.py": "1"})
    second = repo.commit_files({"a.py": "2"})
    snapshot = fetch(store, repo, second)
    assert snapshot.changes_since(first) is None
    assert snapshot.changes_since(None) is None


# The store


def test_a_snapshot_outlives_rewriting_and_gc_of_the_repository(repo: GitRepo, store: PrivateStore) -> None:
    repo.commit_files({"a.py": "kept\n"})
    lost = repo.commit_files({"a.py": "rewritten\n", "b.py": "b"})
    fetch(store, repo, lost)
    repo.run("reset", "--quiet", "--hard", "HEAD~1")
    repo.run("reflog", "expire", "--expire=now", "--all")
    repo.run("gc", "--quiet", "--prune=now")
    assert not GitRepository.open(repo.folder).contains(lost)
    assert contents(fetch(store, repo, lost)) == {"a.py": b"rewritten\n", "b.py": b"b"}
    found = changes(fetch(store, repo, repo.head()), lost)
    assert ([entry.path for entry in found.modified], [entry.path for entry in found.deleted]) == (["a.py"], ["b.py"])


def test_only_missing_objects_are_copied(repo: GitRepo, store: PrivateStore) -> None:
    fetch(store, repo, repo.commit_files({f"pkg{n}/m.py": f"{n}" for n in range(20)}))
    fetch(store, repo, repo.commit_files({"pkg3/m.py": "changed"}))
    packs = sorted((store.folder / "objects" / "pack").glob("*.idx"), key=lambda path: path.stat().st_size)
    counts = [len(subprocess.check_output(["git", "show-index"], stdin=pack.open("rb")).splitlines()) for pack in packs]
    assert counts == [3, 41]


def test_the_users_repository_is_not_written_to(repo: GitRepo, store: PrivateStore) -> None:
    commit = repo.commit_files({"a.py": "1"})

    def state() -> dict[Path, int]:
        return {path: path.lstat().st_mtime_ns for path in repo.folder.rglob("*")}

    before = state()
    contents(fetch(store, repo, commit))
    GitRepository.open(repo.folder).first_parent_commits(None, commit)
    assert state() == before


def test_repositories_with_sha_256_ids_work_and_change_the_store(
    repo: GitRepo, store: PrivateStore, tmp_path: Path
) -> None:
    fetch(store, repo, repo.commit_files({"a.py": "1"}))
    newer = GitRepo.create(tmp_path / "newer", object_format="sha256")
    base = newer.commit_files({"a.py": "1", "b.py": "b"})
    snapshot = fetch(store, newer, base)
    assert len(base) == len(snapshot.tree_id) == len(snapshot.entries()[0].blob_id) == 64
    assert contents(snapshot) == {"a.py": b"1", "b.py": b"b"}
    assert store.kept_commits() == [base]
    assert [e.path for e in changes(fetch(store, newer, newer.commit_files({"a.py": "2"})), base).modified] == ["a.py"]


def test_locks_and_half_written_packs_of_a_killed_run_are_cleared(repo: GitRepo, store: PrivateStore) -> None:
    first = repo.commit_files({"a.py": "1"})
    fetch(store, repo, first)
    second = repo.commit_files({"a.py": "2"})
    refs = store.folder / "refs" / "codeanatomy"
    leftovers = [
        refs / f"{second}.lock",
        store.folder / "packed-refs.lock",
        store.folder / "HEAD.lock",
        store.folder / "objects" / "pack" / "tmp_pack_x",
    ]
    for leftover in leftovers:
        leftover.write_text("")
    assert contents(fetch(store, repo, second)) == {"a.py": b"2"}
    assert not any(leftover.exists() for leftover in leftovers)
    for leftover in leftovers:
        leftover.write_text("")
    store.keep_only([second])
    assert store.kept_commits() == [second]


def test_a_store_whose_making_was_cut_short_is_made_again(repo: GitRepo, store: PrivateStore) -> None:
    store.folder.mkdir(parents=True)
    (store.folder / "config").write_text("[core")
    assert contents(fetch(store, repo, repo.commit_files({"a.py": "1"}))) == {"a.py": b"1"}


def test_a_commit_that_was_half_copied_is_copied_again(
    repo: GitRepo, store: PrivateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repo.commit_files({"a.py": "1", "pkg/b.py": "2"})
    monkeypatch.setattr(store, "name_tree", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        fetch(store, repo, commit)
    monkeypatch.undo()
    assert store.snapshot(commit) is None
    assert contents(fetch(store, repo, commit)) == {"a.py": b"1", "pkg/b.py": b"2"}


def test_let_go_snapshots_give_their_space_back_and_kept_ones_stay_whole(repo: GitRepo, store: PrivateStore) -> None:
    large = repo.commit_files({"a.py": "1", "large.bin": os.urandom(400_000).hex()})
    fetch(store, repo, large)
    repo.remove("large.bin")
    small = repo.commit()
    fetch(store, repo, small)
    store.keep_only([small])
    store.compact()
    assert sum(path.stat().st_size for path in store.folder.rglob("*") if path.is_file()) < 100_000
    assert store.snapshot(large) is None
    assert contents(fetch(store, repo, small)) == {"a.py": b"1"}


def test_packs_do_not_pile_up(repo: GitRepo, store: PrivateStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_store, "_MAX_PACKS", 3)
    for number in range(8):
        last = fetch(store, repo, repo.commit_files({"a.py": f"{number}", "b.py": "b"}))
    assert len(list((store.folder / "objects" / "pack").glob("*.pack"))) <= 4
    assert contents(last) == {"a.py": b"7", "b.py": b"b"}


def test_an_earlier_store_knows_nothing_before_its_first_fetch(store: PrivateStore) -> None:
    assert store.kept_commits() == []
    assert store.snapshot("f" * 40) is None
    store.keep_only([])


# Hostile repositories


def test_hostile_names_are_entries_that_are_marked_unsafe(repo: GitRepo, store: PrivateStore) -> None:
    blob = repo.blob(b"evil = 1\n")
    inner = repo.raw_tree(("100644", b"x.py", blob))
    deep = inner
    for _ in range(250):
        deep = repo.raw_tree(("40000", b"d", deep))
    commit = repo.commit_raw_tree(
        ("40000", b"..", inner),
        ("40000", b".GIT", inner),
        ("40000", b".git", inner),
        ("100644", b"/etc/x.py", blob),
        ("100644", b"../y.py", blob),
        ("160000", b"../x", "1" * 40),
        ("120000", b"clash.py", blob),
        ("40000", b"clash.py", inner),
        ("40000", b"deep", deep),
        ("100644", b"n" * 300 + b".py", blob),
        ("100644", b"safe.py", blob),
        ("100644", b"twice.py", blob),
        ("100755", b"twice.py", blob),
    )
    snapshot = fetch(store, repo, commit)
    entries = {entry.path: entry for entry in snapshot.entries()}
    assert [path for path, entry in entries.items() if not entry.unsafe] == ["clash.py/x.py", "safe.py"]
    assert {"../x.py", ".GIT/x.py", ".git/x.py", "/etc/x.py", "../y.py", "../x", "twice.py", "clash.py"} <= set(entries)
    store.compact()
    assert contents(snapshot)["../x.py"] == b"evil = 1\n"


def test_a_tree_that_becomes_malformed_is_changed_where_its_entries_differ(repo: GitRepo, store: PrivateStore) -> None:
    one, two = repo.blob(b"1"), repo.blob(b"2")
    base = repo.commit_raw_tree(("100644", b"a.py", one), ("100644", b"b.py", one))
    fetch(store, repo, base)
    doubled = fetch(store, repo, repo.commit_raw_tree(("100644", b"a.py", one), ("100644", b"a.py", two)))
    found = changes(doubled, base)
    assert [(entry.path, entry.unsafe) for entry in found.modified] == [("a.py", True)]
    assert [entry.path for entry in found.deleted] == ["b.py"]
    assert found.added == () and found.renamed == {}


def test_a_tree_that_unfolds_without_end_is_refused(
    repo: GitRepo, store: PrivateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_trees, "_MAX_TREE_RECORDS", 10_000)
    tree = repo.raw_tree(("100644", b"x.py", repo.blob(b"")))
    for _ in range(12):
        tree = repo.raw_tree(*(("40000", b"%d" % number, tree) for number in range(10)))
    commit = repo.commit_raw_tree(("40000", b"bomb", tree))
    with pytest.raises(BadInput, match="has over 10000 paths"):
        fetch(store, repo, commit)


def test_a_partial_clone_is_refused_and_fetches_nothing(repo: GitRepo, store: PrivateStore, tmp_path: Path) -> None:
    commit = repo.commit_files({"a.py": "1"})
    repo.run("config", "uploadpack.allowFilter", "true")
    repo.run("clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{repo.folder}", str(tmp_path / "part"))
    partial, canary = GitRepo(tmp_path / "part"), tmp_path / "canary"
    partial.run("config", "remote.origin.uploadpack", f"touch '{canary}'; git-upload-pack")
    with pytest.raises(BadInput, match=f"lacks objects of commit {commit} .*git fetch --refetch"):
        fetch(store, partial, commit)
    assert not canary.exists()
    partial.run("cat-file", "-p", f"{commit}:a.py")
    assert canary.exists(), "the trap was not armed"


def test_nothing_a_repository_configures_is_run_and_its_bytes_stay_as_they_are(
    repo: GitRepo, store: PrivateStore, tmp_path: Path
) -> None:
    repo.write(".gitmodules", '[submodule "x"]\n\tpath = ../x\n\turl = ../x\n\tupdate = !touch x\n')
    repo.write("a.py", "a = 1\r\n$Id$\n")
    base = repo.commit()
    repo.write(".gitattributes", "* filter=evil diff=evil text eol=crlf ident\n")
    repo.move("a.py", "b.py")
    commit = repo.commit()
    canary = tmp_path / "canary"
    arm(repo, canary)
    repository = GitRepository.open(repo.folder)
    fetch(store, repo, repository.resolve("main~1"))
    snapshot = fetch(store, repo, repository.resolve("main"))
    assert repository.first_parent_commits(base, commit) == [commit]
    assert len(changes(snapshot, base).added) == 2
    Checkout(tmp_path / "checkout").update_to(snapshot, [e for e in snapshot.entries() if e.is_python])
    store.keep_only([commit])
    store.compact()
    assert not canary.exists()
    assert not (tmp_path / "x").exists()
    content = (tmp_path / "checkout" / "files" / "b.py").read_bytes()
    assert content == contents(snapshot)["b.py"] == repo.run("cat-file", "blob", f"{commit}:b.py")
    repo.run("status", "--porcelain")
    assert canary.exists(), "the trap was not armed"

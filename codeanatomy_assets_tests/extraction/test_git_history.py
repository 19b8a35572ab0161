"""A user's repository: which one is opened, and what a revision names."""

from __future__ import annotations

import hashlib
from itertools import count
from pathlib import Path

import pytest

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.extraction.git_history import GitRepository
from codeanatomy_assets.extraction.private_store import NO_COMMIT, PrivateStore, Snapshot
from codeanatomy_assets_tests.git_repositories import GitRepo


def fetch(store: PrivateStore, repo: GitRepo, commit: str | None) -> Snapshot:
    return store.fetch(GitRepository.open(repo.folder), commit)


# Which repository


def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere does not exist"):
        GitRepository.open(tmp_path / "nowhere")


def test_a_plain_folder_is_refused_with_the_option_that_takes_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a git repository: pass --worktree to snapshot a plain folder"):
        GitRepository.open(tmp_path)


def test_a_file_is_refused_as_a_repository(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is a file: pass the folder"):
        GitRepository.open(tmp_path / "file")


def test_a_repository_git_can_not_read_is_bad_input_in_its_own_words(repo: GitRepo) -> None:
    repo.run("config", "core.repositoryFormatVersion", "1")
    repo.run("config", "extensions.fromTheFuture", "true")
    with pytest.raises(BadInput, match=r"git can't read repository .*fromthefuture"):
        GitRepository.open(repo.folder)


def test_a_folder_inside_the_work_tree_opens_the_whole_repository(repo: GitRepo) -> None:
    repo.commit_files({"src/deep/a.py": ""})
    assert GitRepository.open(repo.folder / "src" / "deep") == GitRepository.open(repo.folder)
    assert GitRepository.open(repo.folder).top == repo.folder


def test_bare_repositories_and_linked_work_trees_open(repo: GitRepo, tmp_path: Path) -> None:
    first = repo.commit_files({"a.py": "1"})
    repo.run("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    repo.run("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked\nwork tree"))
    second = repo.commit_files({"a.py": "2"})
    assert GitRepository.open(tmp_path / "bare.git").head() == first
    assert GitRepository.open(tmp_path / "linked\nwork tree").head() == first
    assert GitRepository.open(repo.folder).head() == second


def test_variables_of_the_caller_do_not_lead_git_astray(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repo.commit_files({"a.py": ""})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    assert GitRepository.open(repo.folder).head() == commit
    assert not (tmp_path / "trace").exists()


# Which commit


def test_branches_tags_short_ids_and_relative_names_resolve(repo: GitRepo) -> None:
    first = repo.commit_files({"a.py": "1"})
    repo.run("tag", "-a", "v1", "-m", "one")
    second = repo.commit_files({"a.py": "2"})
    repository = GitRepository.open(repo.folder)
    assert [repository.resolve(name) for name in ("main", "HEAD", second, second[:10])] == [second] * 4
    assert [repository.resolve(name) for name in ("v1", "HEAD~1", "main^", first[:10])] == [first] * 4


def test_an_unknown_revision_is_named(repo: GitRepo) -> None:
    repo.commit_files({"a.py": "1"})
    repo.commit_files({"a.py": "2"})
    repository = GitRepository.open(repo.folder)
    for revision in ("nope", "--all", "-h", "^HEAD", "HEAD~1..HEAD", "", "a\0b", "HEAD:a.py", "f" * 40):
        with pytest.raises(BadInput, match=r"has no commit .*: pass a branch, tag or commit id"):
            repository.resolve(revision)


def test_an_ambiguous_short_id_names_the_commits_it_may_mean(repo: GitRepo) -> None:
    tree = repo.commit_files({"a.py": ""}) and repo.run("rev-parse", "HEAD^{tree}").decode().strip()
    made: dict[str, bytes] = {}
    for number in count():
        text = f"tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n{number}\n".encode()
        prefix = hashlib.sha1(b"commit %d\0" % len(text) + text).hexdigest()[:4]
        if prefix in made:
            break
        made[prefix] = text
    ids = [
        repo.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=each).decode().strip()
        for each in (made[prefix], text)
    ]
    with pytest.raises(BadInput) as refused:
        GitRepository.open(repo.folder).resolve(prefix)
    assert "is ambiguous: pass one of" in str(refused.value)
    assert all(commit in str(refused.value) for commit in ids)


def test_a_name_of_a_branch_and_a_tag_is_ambiguous(repo: GitRepo) -> None:
    repo.commit_files({"a.py": "1"})
    repo.run("branch", "release")
    repo.commit_files({"a.py": "2"})
    repo.run("tag", "release")
    repository = GitRepository.open(repo.folder)
    with pytest.raises(BadInput, match="pass one of refs/heads/release, refs/tags/release"):
        repository.resolve("release")
    assert repository.resolve("refs/heads/release") == repo.commits[0]


def test_a_branch_called_head_does_not_hide_head(repo: GitRepo) -> None:
    first = repo.commit_files({"a.py": "1"})
    second = repo.commit_files({"a.py": "2"})
    repo.run("update-ref", "refs/heads/HEAD", first)
    repo.run("update-ref", f"refs/heads/{second}", first)
    repository = GitRepository.open(repo.folder)
    assert repository.resolve("HEAD") == repository.resolve(second) == second


def test_a_repository_without_commits_has_an_empty_snapshot(repo: GitRepo, store: PrivateStore) -> None:
    repository = GitRepository.open(repo.folder)
    assert repository.resolve("HEAD") is None
    empty = store.fetch(repository, None)
    assert (empty.commit, empty.entries()) == (NO_COMMIT, [])
    with pytest.raises(BadInput, match="has no commit 'main'"):
        repository.resolve("main")
    full = fetch(store, repo, repo.commit_files({"a.py": ""}))
    since = full.changes_since(NO_COMMIT)
    assert since is not None and [entry.path for entry in since.added] == ["a.py"]


def test_a_head_without_commits_beside_other_branches_names_them(repo: GitRepo) -> None:
    repo.commit_files({"a.py": ""})
    repo.run("symbolic-ref", "HEAD", "refs/heads/unborn")
    with pytest.raises(BadInput, match=r"names refs/heads/unborn, .*pass --commit, e.g. refs/heads/main"):
        GitRepository.open(repo.folder).head()


def test_first_parent_commits_come_oldest_first(repo: GitRepo) -> None:
    one = repo.commit_files({"a.py": "1"})
    repo.branch("side")
    side = repo.commit_files({"b.py": "1"})
    repo.switch("main")
    two = repo.commit_files({"a.py": "2"})
    merged = repo.merge("side")
    repository = GitRepository.open(repo.folder)
    assert repository.first_parent_commits(one, merged) == [two, merged]
    assert repository.first_parent_commits(None, merged) == [one, two, merged]
    assert repository.first_parent_commits(merged, merged) == []
    assert repository.is_ancestor(side, merged) and not repository.is_ancestor(merged, side)


def test_without_a_line_from_the_base_there_is_one_step(repo: GitRepo) -> None:
    repo.commit_files({"a.py": "1"})
    dropped = repo.commit_files({"a.py": "2"})
    repo.run("reset", "--quiet", "--hard", "HEAD~1")
    head = repo.commit_files({"a.py": "3"})
    repository = GitRepository.open(repo.folder)
    assert repository.first_parent_commits(dropped, head) == [head]
    assert repository.first_parent_commits("f" * 40, head) == [head]
    assert repository.first_parent_commits("worktree-" + "f" * 40, head) == [head]
    assert not repository.is_ancestor("f" * 40, head)
    assert repository.contains(dropped) and not repository.contains("f" * 40)


def test_replaced_objects_and_grafts_play_no_part(repo: GitRepo, store: PrivateStore) -> None:
    one = repo.commit_files({"a.py": "true"})
    two = repo.commit_files({"a.py": "false"})
    repo.run("replace", two, one)
    (repo.folder / ".git" / "info").mkdir(exist_ok=True)
    (repo.folder / ".git" / "info" / "grafts").write_text(f"{two}\n")
    snapshot = fetch(store, repo, two)
    assert [blob.content for _, blob in snapshot.read(snapshot.entries())] == [b"false"]
    assert GitRepository.open(repo.folder).is_ancestor(one, two)

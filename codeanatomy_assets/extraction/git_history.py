"""Git: a user's repository and its history, which are only read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.extraction.git_command import Git, words

_NAMED_COMMITS = ("refs/heads", "refs/remotes", "refs/tags")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class GitRepository:
    """A user's repository. Nothing is ever written to it, and its work tree plays no part."""

    top: Path
    git_dir: Path
    object_format: str

    @classmethod
    def open(cls, path: Path) -> GitRepository:
        """The repository a folder belongs to: its top, a folder inside it, or a bare one."""
        if not path.exists():
            raise BadInput(f"repository {path} does not exist: check the path")
        if not path.is_dir():
            raise BadInput(f"repository {path} is a file: pass the folder that holds it")
        git = Git.discovering(path)
        found = git.attempt("rev-parse", "--show-object-format", "--absolute-git-dir")
        if found.returncode:
            said = words(found.stderr)
            if "not a git repository" in said:
                raise BadInput(f"{path} is not a git repository: pass --worktree to snapshot a plain folder")
            raise BadInput(f"git can't read repository {path}: {said}; make `git status` work there first")
        object_format, _, git_dir = found.stdout.partition(b"\n")
        top = git.attempt("rev-parse", "--show-toplevel")
        return cls(_line_as_path(top.stdout or git_dir), _line_as_path(git_dir), object_format.decode())

    @property
    def git(self) -> Git:
        return Git.at(self.git_dir)

    def head(self) -> str | None:
        """The commit HEAD names; None in a repository that has no commits yet."""
        found = self.git.attempt("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if found.returncode == 0:
            return found.stdout.decode().strip()
        branches = self.git.run("for-each-ref", "--count=5", "--format=%(refname)", *_NAMED_COMMITS)
        named = self.git.attempt("symbolic-ref", "--quiet", "HEAD").stdout.decode("utf-8", "replace").strip()
        if branches:
            known = ", ".join(branches.decode("utf-8", "replace").split())
            raise BadInput(
                f"HEAD of {self.top} names {named or 'no commit'}, which has no commits: pass --commit, e.g. {known}"
            )
        if not named:
            raise BadInput(f"HEAD of {self.top} names no commit: check out a branch, or pass --commit")
        return None

    def resolve(self, revision: str = "HEAD") -> str | None:
        """The full id of the commit a revision names; None only for HEAD of a repository without commits."""
        if revision == "HEAD":
            return self.head()
        unknown = BadInput(f"{self.top} has no commit {revision!r}: pass a branch, tag or commit id that it holds")
        if "\0" in revision:
            raise unknown
        found = self.git.attempt("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        if b"is ambiguous" in found.stderr and not _OBJECT_ID.fullmatch(revision):
            candidates = ", ".join(self._candidates(revision)) or "its full name or id"
            raise BadInput(f"commit {revision!r} of {self.top} is ambiguous: pass one of {candidates}")
        commit = found.stdout.decode("utf-8", "replace").strip()
        if found.returncode or not _OBJECT_ID.fullmatch(commit):
            raise unknown
        return commit

    def _candidates(self, revision: str) -> list[str]:
        """What an ambiguous name may mean: refs of that name, or commits whose ids begin with it."""
        name = re.split(r"[~^@:]", revision)[0]
        places = ("refs/", "refs/tags/", "refs/heads/", "refs/remotes/")
        refs = self.git.run("for-each-ref", "--format=%(refname)", *(place + name for place in places))
        exact = {place + name for place in places}
        found = [ref for ref in refs.decode("utf-8", "replace").splitlines() if ref in exact]
        if len(found) > 1 or not re.fullmatch(r"[0-9a-fA-F]{4,64}", name):
            return found
        ids = self.git.run("rev-parse", f"--disambiguate={name}")
        kinds = self.git.run("cat-file", "--batch-check=%(objecttype) %(objectname)", stdin=ids).decode().splitlines()
        return sorted(line.split()[1] for line in kinds if line.startswith(("commit ", "tag ")))

    def contains(self, commit: str) -> bool:
        if not _OBJECT_ID.fullmatch(commit):
            return False
        return self.git.attempt("cat-file", "-e", commit + "^{commit}").returncode == 0

    def tree_id(self, commit: str) -> str:
        return self.git.run("rev-parse", "--verify", commit + "^{tree}").decode().strip()

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether the newer commit was made on top of the older; false for a commit that is gone."""
        if not (self.contains(older) and self.contains(newer)):
            return False
        return self.git.attempt("merge-base", "--is-ancestor", older, newer).returncode == 0

    def first_parent_commits(self, base: str | None, head: str) -> list[str]:
        """The commits of head's own line after base, oldest first.

        Without a line from base to head (history was rewritten, another branch) there is one step: head.
        """
        if base is not None and not self.is_ancestor(base, head):
            return [head]
        span = head if base is None else f"{base}..{head}"
        return self.git.run("rev-list", "--first-parent", "--reverse", span, "--").decode().split()


def _line_as_path(line: bytes) -> Path:
    return Path(os.fsdecode(line.removesuffix(b"\n")))

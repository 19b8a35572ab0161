"""Real git repositories for tests, small and always the same: fixed author, dates and configuration."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

FIRST_COMMIT_TIME = 1_700_000_000


@dataclass
class GitRepo:
    """A repository with a work tree, changed by its methods and by `run`, which is git itself."""

    folder: Path
    commits: list[str] = field(default_factory=list)

    @classmethod
    def create(cls, folder: Path, object_format: str = "sha1") -> GitRepo:
        folder.mkdir(parents=True, exist_ok=True)
        repo = cls(folder)
        repo.run("init", "--quiet", "--template=", "--initial-branch=main", f"--object-format={object_format}")
        return repo

    def path(self, name: str | bytes) -> Path:
        return self.folder / os.fsdecode(name)

    def write(self, name: str | bytes, content: str | bytes = "") -> None:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def write_all(self, files: dict[str, str]) -> None:
        for name, content in files.items():
            self.write(name, content)

    def symlink(self, name: str, target: str) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).symlink_to(target)

    def remove(self, name: str) -> None:
        path = self.path(name)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def move(self, old: str, new: str) -> None:
        self.path(new).parent.mkdir(parents=True, exist_ok=True)
        self.path(old).rename(self.path(new))

    def commit(self, message: str = "a commit") -> str:
        """Commit everything in the work tree, a minute after the commit before."""
        self.run("add", "--all")
        self.run("commit", "--quiet", "--allow-empty", "--no-verify", "-m", message)
        return self._committed()

    def commit_files(self, files: dict[str, str], message: str = "a commit") -> str:
        self.write_all(files)
        return self.commit(message)

    def branch(self, name: str, at: str = "HEAD") -> None:
        """Start a branch and switch to it."""
        self.run("checkout", "--quiet", "-b", name, at)

    def switch(self, name: str) -> None:
        self.run("checkout", "--quiet", name)

    def merge(self, name: str) -> str:
        self.run("merge", "--quiet", "--no-ff", "-m", f"merge {name}", name)
        return self._committed()

    def head(self) -> str:
        return self.run("rev-parse", "HEAD").decode().strip()

    def blob(self, content: bytes) -> str:
        return self.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()

    def raw_tree(self, *entries: tuple[str, bytes, str]) -> str:
        """A tree of (mode, name, object id) exactly as given, whether or not git would make it."""
        content = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
        return self.run("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=content).decode().strip()

    def commit_raw_tree(self, *entries: tuple[str, bytes, str]) -> str:
        """Commit such a tree on its own; the work tree does not follow."""
        commit = self.run("commit-tree", self.raw_tree(*entries), "-m", "a raw tree").decode().strip()
        self.run("update-ref", "HEAD", commit)
        self.commits.append(commit)
        return commit

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        date = f"{FIRST_COMMIT_TIME + 60 * len(self.commits)} +0000"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
            "GIT_COMMITTER_DATE": date,
        }
        command = ["git", "-c", "gc.auto=0", "-c", "protocol.file.allow=always", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=environment, input=stdin, capture_output=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.decode('utf-8', 'replace')}"
        return done.stdout

    def _committed(self) -> str:
        self.commits.append(self.head())
        return self.commits[-1]

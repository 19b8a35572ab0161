"""Git: a user's repository, which is only read, and the private store that keeps the trees we build.

A tree is copied into the store before anything reads it, so that a rewrite, a gc or an edit on the
user's side can't change a build half-way. A plain folder becomes a tree in the same store
(source_files.py): from there on there is one kind of source, the Snapshot.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.extraction.git_command import Git, words

NO_COMMIT = "0" * 40
"""Stands for the commit of a repository that has none: its snapshot is empty."""

FILE_MODE = "100644"
EXECUTABLE_MODE = "100755"
SYMLINK_MODE = "120000"
SUBMODULE_MODE = "160000"
DEFAULT_KEEP_BYTES = 5_000_000

_CHUNK = 1 << 20
_MAX_TREE_RECORDS = 5_000_000
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 3_000
_MAX_DEPTH = 200
_MAX_PACKS = 20
_RENAME_LIMIT = 1_000
_REF = "refs/codeanatomy/"
_NAMED_COMMITS = ("refs/heads", "refs/remotes", "refs/tags")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def logical_path(raw_path: bytes) -> str:
    """The path as rows carry it: one text per path, whatever its bytes.

    A path that is not UTF-8 stands behind `//`, its odd bytes as \\xNN and its backslashes doubled. A
    path that begins with `//` (only a malformed tree has one) is escaped too, so that no two meet.
    """
    try:
        text = raw_path.decode()
    except UnicodeDecodeError:
        text = "//"
    if not text.startswith("//"):
        return text
    return "//" + raw_path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def is_unsafe_path(raw_path: bytes) -> bool:
    """Whether it could leave the folder it is written to, meet git's own, or is no path a disk can hold."""
    names = raw_path.split(b"/")
    if len(raw_path) > _MAX_PATH_BYTES or len(names) > _MAX_DEPTH:
        return True
    return any(name in (b"", b".", b"..") or name.lower() == b".git" or len(name) > _MAX_NAME_BYTES for name in names)


@dataclass(frozen=True)
class TreeEntry:
    """One tracked path of a tree. `unsafe` says that it must never be written to a disk."""

    raw_path: bytes
    mode: str
    blob_id: str
    unsafe: bool = False

    @cached_property
    def path(self) -> str:
        return logical_path(self.raw_path)

    @property
    def is_regular(self) -> bool:
        return self.mode in (FILE_MODE, EXECUTABLE_MODE)

    @property
    def is_python(self) -> bool:
        return self.is_regular and self.raw_path.endswith((b".py", b".pyi"))


@dataclass(frozen=True)
class Blob:
    """A file's content; `content` is left out when it is larger than the reader asked to keep."""

    blob_id: str
    size: int
    sha256: str
    content: bytes | None


@dataclass(frozen=True)
class Changes:
    """What lies between two snapshots. `renamed` maps a new path to the old one, both logical."""

    added: tuple[TreeEntry, ...] = ()
    modified: tuple[TreeEntry, ...] = ()
    deleted: tuple[TreeEntry, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CommitSummary:
    """What a person reads of a commit."""

    commit: str
    subject: str
    committed_at: int


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
            raise BadInput(f"git can't read repository {path}: {said}")
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

    def first_parent_commits(self, base: str | None, head: str, limit: int | None = None) -> list[str]:
        """The commits of head's own line after base, oldest first, the oldest `limit` of them.

        Without a line from base to head (history was rewritten, another branch) there is one step: head.
        """
        if base is not None and not self.is_ancestor(base, head):
            return [head]
        span = head if base is None else f"{base}..{head}"
        commits = self.git.run("rev-list", "--first-parent", "--reverse", span, "--").decode().split()
        return commits[:limit]

    def summary(self, commit: str) -> CommitSummary:
        """Read from the object itself: `git log` would run the signature program a repository configures."""
        head, _, message = self.git.run("cat-file", "commit", commit).partition(b"\n\n")
        fields = {name: value for name, _, value in (line.partition(b" ") for line in head.split(b"\n"))}
        when = re.search(rb"> (-?\d+)", fields.get(b"committer", b""))
        subject = _text(message.strip().partition(b"\n")[0], fields.get(b"encoding", b"utf-8"))
        return CommitSummary(commit, subject, int(when.group(1)) if when else 0)


def _line_as_path(line: bytes) -> Path:
    return Path(os.fsdecode(line.removesuffix(b"\n")))


def _text(message: bytes, encoding: bytes) -> str:
    try:
        return message.decode(encoding.decode("ascii"), "replace")
    except (LookupError, ValueError):
        return message.decode("utf-8", "replace")


class PrivateStore:
    """A bare repository under the state folder: one ref per kept snapshot, naming its tree.

    Refs name trees, not commits, so that the store is whole without any history. The caller holds the
    state's lock, so a lock file found here is a dead run's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.git = Git.at(self.folder)

    def fetch(self, repository: GitRepository, commit: str | None) -> Snapshot:
        """Copy a commit's tree in, and name it; None, a repository without commits, is an empty tree.

        Objects are packed and unpacked by two git processes of ours. `git fetch` would start a third in
        the user's repository that our settings do not reach.
        """
        self.prepare(repository.object_format)
        if commit is None:
            return self.name_tree(NO_COMMIT, self._empty_tree())
        held = self.snapshot(commit)
        if held is not None:
            return held
        tree_id = repository.tree_id(commit)
        missing = self._missing(_object_ids(repository.git, tree_id))
        if missing:
            self._copy(repository, commit, missing)
        return self.name_tree(commit, tree_id)

    def snapshot(self, commit: str) -> Snapshot | None:
        """A commit that the store holds whole; None if it was never fetched or has been let go."""
        found = self.git.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{_REF}{commit}^{{tree}}")
        return None if found.returncode else Snapshot(self, commit, found.stdout.decode().strip())

    def kept_commits(self) -> list[str]:
        if not self.folder.exists():
            return []
        refs = self.git.run("for-each-ref", "--format=%(refname)", _REF).decode().splitlines()
        return [ref.removeprefix(_REF) for ref in refs]

    def keep_only(self, commits: Iterable[str]) -> None:
        """Let all other snapshots go; `compact` gives their space back."""
        kept = set(commits)
        gone = [commit for commit in self.kept_commits() if commit not in kept]
        if gone:
            self._clear_leftovers()
            self.git.run("update-ref", "--stdin", stdin="".join(f"delete {_REF}{commit}\n" for commit in gone).encode())

    def compact(self) -> None:
        """Drop what no kept snapshot holds."""
        self._clear_leftovers()
        self.git.run("repack", "-a", "-d", "-q")
        self.git.run("prune", "--expire=now")

    def prepare(self, object_format: str) -> None:
        """Make the store, or clear what a killed run left in it; ids of another kind need another store."""
        if self.folder.exists():
            self._clear_leftovers()
            found = self.git.attempt("rev-parse", "--show-object-format")
            if found.returncode or found.stdout.decode().strip() != object_format:
                shutil.rmtree(self.folder)
        if not self.folder.exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.git.run("init", "--quiet", "--bare", "--template=", f"--object-format={object_format}")

    def entries(self, tree_id: str) -> list[TreeEntry]:
        """Every tracked path in git's order, each once."""
        return _entries(_tree_records(self.git, tree_id))

    def renames(self, old_tree: str, new_tree: str) -> Iterator[tuple[bytes, bytes]]:
        """Pairs of old and new path that git holds to be one file, by its similarity."""
        fields = self.git.run(
            *("diff-tree", "-r", "-z", "--raw", "--no-ext-diff", "--no-textconv", "--diff-filter=R"),
            *("-M", f"-l{_RENAME_LIMIT}", old_tree, new_tree),
        ).split(b"\0")
        return zip(fields[1::3], fields[2::3], strict=False)

    def read_blobs(self, blob_ids: Iterable[str], keep_up_to: int | None = DEFAULT_KEEP_BYTES) -> Iterator[Blob]:
        """Each blob in the order asked for; one larger than the limit is hashed without being held."""
        with TemporaryFile() as wanted:
            wanted.writelines(f"{blob_id}\n".encode() for blob_id in blob_ids)
            wanted.seek(0)
            # Not timed: the reader sets the pace.
            with self.git.output("cat-file", "--batch", "--buffer", stdin=wanted, timed=False) as stream:
                while header := stream.readline():
                    yield self._blob(header, stream, keep_up_to)

    def _blob(self, header: bytes, stream: IO[bytes], keep_up_to: int | None) -> Blob:
        blob_id, kind, *size_field = header.decode("ascii").split()
        if not size_field:
            raise CodeAnatomyError(f"object {blob_id} is {kind} in {self.folder}: delete that folder and build again")
        size = int(size_field[0])
        if keep_up_to is None or size <= keep_up_to:
            content = stream.read(size)
            digest = hashlib.sha256(content)
        else:
            content = None
            digest = hashlib.sha256()
            for chunk in _exactly(stream, size):
                digest.update(chunk)
        stream.read(1)
        return Blob(blob_id, size, digest.hexdigest(), content)

    @contextmanager
    def blob_writer(self) -> Iterator[BlobWriter]:
        """Add contents that come from elsewhere; they are in the store when the block ends."""
        object_format = self.git.run("rev-parse", "--show-object-format").decode().strip()
        with self.git.input("fast-import", "--quiet", "--done") as stream:
            yield BlobWriter(stream, object_format)
            stream.write(b"done\n")

    def write_tree(self, entries: Iterable[TreeEntry]) -> str:
        """The id of the tree of these entries; their blobs must be in the store."""
        index = self.folder / "folder.index"
        index.unlink(missing_ok=True)
        records = b"".join(f"{e.mode} {e.blob_id}\t".encode() + e.raw_path + b"\0" for e in entries)
        environment = {"GIT_INDEX_FILE": str(index)}
        self.git.run("update-index", "-z", "--index-info", stdin=records, environment=environment)
        tree_id = self.git.run("write-tree", environment=environment).decode().strip()
        index.unlink(missing_ok=True)
        return tree_id

    def name_tree(self, commit: str, tree_id: str) -> Snapshot:
        """From here on the store holds the tree, under the commit's name."""
        self.git.run("update-ref", _REF + commit, tree_id)
        if sum(1 for _ in (self.folder / "objects" / "pack").glob("*.pack")) > _MAX_PACKS:
            self.git.run("repack", "--geometric=2", "-d", "-q")
        return Snapshot(self, commit, tree_id)

    def _clear_leftovers(self) -> None:
        """Remove what a killed git leaves behind in a bare repository."""
        objects = self.folder / "objects"
        for leftovers in (
            self.folder.glob("*.lock"),
            (self.folder / "refs").rglob("*.lock"),
            objects.glob("*/tmp_*"),
            objects.glob("*/.tmp-*"),
            self.folder.glob("fast_import_crash_*"),
        ):
            for leftover in leftovers:
                leftover.unlink(missing_ok=True)

    def _empty_tree(self) -> str:
        return self.git.run("mktree").decode().strip()

    def _missing(self, object_ids: Iterable[str]) -> list[str]:
        asked = b"".join(f"{object_id}\n".encode() for object_id in object_ids)
        found = self.git.run("cat-file", "--batch-check=", "--buffer", stdin=asked)
        return [line.split()[0].decode() for line in found.splitlines() if line.endswith(b" missing")]

    def _copy(self, repository: GitRepository, commit: str, object_ids: Sequence[str]) -> None:
        with TemporaryFile() as wanted, TemporaryFile(dir=self.folder) as pack:
            wanted.writelines(f"{object_id}\n".encode() for object_id in object_ids)
            wanted.seek(0)
            try:
                # No search for new deltas: what the user's packs hold is taken as it is.
                with repository.git.output("pack-objects", "--stdout", "-q", "--window=0", stdin=wanted) as packed:
                    shutil.copyfileobj(packed, pack, _CHUNK)
            except CodeAnatomyError as failure:
                raise BadInput(
                    f"repository {repository.top} lacks objects of commit {commit} (a partial or damaged clone): "
                    f"fetch them with `git fetch --refetch`, then build again. {failure}"
                ) from failure
            pack.seek(0)
            with self.git.output("index-pack", "--stdin", stdin=pack) as done:
                done.read()


@dataclass(frozen=True)
class BlobWriter:
    """Streams contents into the store, one after the other."""

    stream: IO[bytes]
    object_format: str

    def add(self, content: IO[bytes], size: int) -> str:
        """Store the next `size` bytes as a blob and give its id."""
        self.stream.write(b"blob\ndata %d\n" % size)
        digest = hashlib.new(self.object_format, b"blob %d\0" % size)
        for chunk in _exactly(content, size):
            digest.update(chunk)
            self.stream.write(chunk)
        self.stream.write(b"\n")
        return digest.hexdigest()


@dataclass(frozen=True)
class Snapshot:
    """One state of a source, held by the store: a commit of a repository, or a plain folder as it was."""

    store: PrivateStore
    commit: str
    tree_id: str

    def entries(self) -> list[TreeEntry]:
        return self.store.entries(self.tree_id)

    def changes_since(self, base: str | None) -> Changes | None:
        """What changed since an earlier snapshot; None when there is no such base to compare with.

        Compared by listing, so that it can't disagree with `entries`, whatever the trees look like.
        """
        before = None if base is None else self.store.snapshot(base)
        if before is None:
            return None
        if before.tree_id == self.tree_id:
            return Changes()
        old = {entry.raw_path: entry for entry in before.entries()}
        new = {entry.raw_path: entry for entry in self.entries()}
        added = tuple(entry for path, entry in new.items() if path not in old)
        deleted = tuple(entry for path, entry in old.items() if path not in new)
        return Changes(
            added=added,
            modified=tuple(entry for path, entry in new.items() if path in old and old[path] != entry),
            deleted=deleted,
            renamed=self._renamed(before, added, deleted) if added and deleted else {},
        )

    def _renamed(self, before: Snapshot, added: Iterable[TreeEntry], deleted: Iterable[TreeEntry]) -> dict[str, str]:
        came = {entry.raw_path: entry.path for entry in added}
        went = {entry.raw_path: entry.path for entry in deleted}
        pairs = self.store.renames(before.tree_id, self.tree_id)
        return {came[new]: went[old] for old, new in pairs if old in went and new in came}

    def read(
        self, entries: Iterable[TreeEntry], keep_up_to: int | None = DEFAULT_KEEP_BYTES
    ) -> Iterator[tuple[TreeEntry, Blob]]:
        """The content of each entry that has one (a submodule has none); equal contents are read once."""
        by_blob: dict[str, list[TreeEntry]] = {}
        for entry in entries:
            if entry.mode != SUBMODULE_MODE:
                by_blob.setdefault(entry.blob_id, []).append(entry)
        for blob in self.store.read_blobs(by_blob, keep_up_to) if by_blob else ():
            for entry in by_blob[blob.blob_id]:
                yield entry, blob


def _exactly(stream: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0:
        chunk = stream.read(min(size, _CHUNK))
        if not chunk:
            raise EOFError(f"the content ended {size} bytes early")
        size -= len(chunk)
        yield chunk


def _tree_records(git: Git, tree_id: str, *options: str) -> Iterator[tuple[bytes, bytes]]:
    """Each record of a tree as (mode, kind and id; path). A tree can fold billions of paths into a few
    objects that name each other: one past any real size is refused before it fills the memory.
    """
    with git.output("ls-tree", "-r", "-z", "--full-tree", *options, tree_id) as stream:
        records = _nul_separated(stream)
        for record in islice(records, _MAX_TREE_RECORDS):
            about, _, raw_path = record.partition(b"\t")
            yield about, raw_path
        if next(records, None) is not None:
            raise BadInput(f"tree {tree_id} in {git.location[1]} has over {_MAX_TREE_RECORDS} paths: it is not built")


def _nul_separated(stream: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(_CHUNK):
        *records, rest = (rest + chunk).split(b"\0")
        yield from records


def _object_ids(git: Git, tree_id: str) -> list[str]:
    """Every object the tree needs, itself included; a submodule's commit belongs to another repository."""
    wanted = {tree_id: None}
    for about, _ in _tree_records(git, tree_id, "-t"):
        _, kind, object_id = about.decode("ascii").split()
        if kind != "commit":
            wanted[object_id] = None
    return list(wanted)


def _entries(records: Iterable[tuple[bytes, bytes]]) -> list[TreeEntry]:
    """Git's well-formed trees give each path once, and no path inside another. Malformed ones need not:
    such a path stays one row, and unsafe.
    """
    found: dict[bytes, TreeEntry] = {}
    repeated: set[bytes] = set()
    for about, raw_path in records:
        mode, _, blob_id = about.decode("ascii").split()
        if raw_path in found:
            repeated.add(raw_path)
        else:
            found[raw_path] = TreeEntry(raw_path, mode, blob_id, is_unsafe_path(raw_path))
    for raw_path in repeated | (folders_of(found) & found.keys()):
        entry = found[raw_path]
        found[raw_path] = TreeEntry(raw_path, entry.mode, entry.blob_id, unsafe=True)
    return list(found.values())


def folders_of(raw_paths: Iterable[bytes]) -> set[bytes]:
    """Every folder that lies above one of the paths."""
    folders: set[bytes] = set()
    for raw_path in raw_paths:
        folder = raw_path.rpartition(b"/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    return folders

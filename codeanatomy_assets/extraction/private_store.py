"""The private store, which keeps the trees we build.

A tree is copied into the store before anything reads it, so that a rewrite, a gc or an edit on the
user's side can't change a build half-way. A plain folder becomes a tree in the same store
(source_files.py): from there on there is one kind of source, the Snapshot.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from codeanatomy_assets.errors import BadInput, CodeAnatomyError
from codeanatomy_assets.extraction.git_command import Git
from codeanatomy_assets.extraction.git_history import GitRepository
from codeanatomy_assets.extraction.git_trees import SUBMODULE_MODE, TreeEntry, entries_of, tree_records

NO_COMMIT = "0" * 40
"""Stands for the commit of a repository that has none: its snapshot is empty."""

DEFAULT_KEEP_BYTES = 5_000_000

_CHUNK = 1 << 20
_MAX_PACKS = 20
_RENAME_LIMIT = 1_000
_REF = "refs/codeanatomy/"


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


class PrivateStore:
    """A bare repository under the state folder: one ref per kept snapshot, naming its tree.

    Refs name trees, not commits, so that the store is whole without any history. The caller holds the
    state's lock, so a lock file found here is a dead run's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.git = Git.at(self.folder)
        self._listed: dict[str, list[TreeEntry]] = {}

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
        """Every tracked path in git's order, each once; a tree never changes, and is listed once."""
        if tree_id not in self._listed:
            self._listed[tree_id] = entries_of(tree_records(self.git, tree_id))
        return self._listed[tree_id]

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


def _object_ids(git: Git, tree_id: str) -> list[str]:
    """Every object the tree needs, itself included; a submodule's commit belongs to another repository."""
    wanted = {tree_id: None}
    for about, _ in tree_records(git, tree_id, "-t"):
        _, kind, object_id = about.decode("ascii").split()
        if kind != "commit":
            wanted[object_id] = None
    return list(wanted)

"""Deciding what a build has to do, from git, the ledger and the fingerprints: no JVM, no Dagster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.extraction.git_history import GitRepository
from codeanatomy_assets.extraction.private_store import NO_COMMIT, PrivateStore, Snapshot
from codeanatomy_assets.extraction.source_files import snapshot_folder
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES, stage_fingerprints
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.delta_store import DeltaStore, WriteLimits
from codeanatomy_assets.storage.ledger import Ledger, LedgerRow
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.state_folder import StateFolder

UNNAMED_FOLDER = ""


@dataclass(frozen=True)
class Target:
    """What is to be built: a commit of a repository, or a plain folder as it is now."""

    location: Path
    repository: GitRepository | None
    commit: str

    @property
    def kind(self) -> str:
        return "folder" if self.repository is None else "git"

    def snapshot(self, store: PrivateStore) -> Snapshot:
        """The target's tree, held by the private store. Under the state's lock."""
        if self.repository is None:
            return snapshot_folder(self.location, store)
        return store.fetch(self.repository, None if self.commit == NO_COMMIT else self.commit)


@dataclass(frozen=True)
class Plan:
    """What an update would do: `mode` is noop, incremental or full."""

    target: Target
    last: LedgerRow | None
    fingerprints: dict[str, str]
    moved: tuple[Stage, ...]
    full: bool
    has_lost_tables: bool = False

    @property
    def mode(self) -> str:
        if self.last is None or self.full:
            return "full"
        if self.moved:
            return "full" if self.moved[0] is BUILT_STAGES[0] else "incremental"
        is_built = self.last.commit == self.target.commit and not self.has_lost_tables
        return "noop" if is_built else "incremental"


def decide(settings: Settings, revision: str | None = None, full: bool = False) -> Plan:
    """What building this revision (HEAD by default) takes. Bad input is refused here, before any write."""
    if settings.site_packages and not Path(settings.site_packages).is_dir():
        raise BadInput(f"CODEANATOMY_SITE_PACKAGES={settings.site_packages} is no folder: correct or unset it")
    target = find_target(settings, revision)
    last = open_ledger(settings).last()
    check_owner(settings, target, last)
    if target.commit == UNNAMED_FOLDER and last is not None:
        target = _named_by_content(settings, target)
    fingerprints = stage_fingerprints(settings, last.fingerprints if last else {})
    return Plan(target, last, fingerprints, moved_stages(fingerprints, last), full, _has_lost_tables(settings, last))


def check_owner(settings: Settings, target: Target, last: LedgerRow | None) -> None:
    """Refuse a state that holds another repository's graph."""
    repository = target.repository
    StateFolder(settings.state).check_owner(
        str(target.location), lambda _: repository is not None and _holds(repository, last)
    )


def _has_lost_tables(settings: Settings, last: LedgerRow | None) -> bool:
    """Whether a table that the ledger names is gone, or behind the version it names."""
    versions = (
        (delta_reads.latest_version(ref.path, settings.storage_options), ref.version)
        for ref in (last.state.refs.values() if last else ())
    )
    return any(latest is None or latest < version for latest, version in versions)


def find_target(settings: Settings, revision: str | None) -> Target:
    if settings.worktree:
        if revision is not None:
            raise BadInput("--worktree builds the folder as it is: leave out --commit")
        if not settings.repo.is_dir():
            raise BadInput(f"folder {settings.repo} does not exist: check the path")
        return Target(settings.repo, None, UNNAMED_FOLDER)
    repository = GitRepository.open(settings.repo)
    commit = repository.resolve(revision or "HEAD")
    return Target(repository.top, repository, commit or NO_COMMIT)


def _named_by_content(settings: Settings, target: Target) -> Target:
    """A folder's commit is a digest of its files, known once they are in the private store."""
    folder = StateFolder(settings.state)
    lock = StateLock(folder.root)
    try:
        with lock.holding("codeanatomy build --worktree", settings.lock_wait_seconds):
            return replace(target, commit=target.snapshot(PrivateStore(folder.repository_store)).commit)
    finally:
        lock.close()


def open_store(settings: Settings) -> DeltaStore:
    """The state's tables, for reads that need no JVM."""
    return DeltaStore(settings.tables_root, _no_spark, settings.storage_options, write_limits(settings))


def open_ledger(settings: Settings) -> Ledger:
    """The state's ledger; a state that a newer version wrote is refused."""
    StateFolder(settings.state).owner()
    delta_reads.forget()
    return Ledger(open_store(settings))


def write_limits(settings: Settings) -> WriteLimits:
    return WriteLimits(rows=settings.light_write_rows)


def moved_stages(fingerprints: dict[str, str], last: LedgerRow | None) -> tuple[Stage, ...]:
    known = last.fingerprints if last else {}
    return tuple(stage for stage in BUILT_STAGES if known.get(stage.value) != fingerprints[stage.value])


def _holds(repository: GitRepository, last: LedgerRow | None) -> bool:
    """A repository that has the state's last commit is the same one, moved or cloned."""
    return last is not None and last.commit != NO_COMMIT and repository.contains(last.commit)


def _no_spark() -> NoReturn:
    raise RuntimeError("this store was opened for light reads: it has no Spark session")

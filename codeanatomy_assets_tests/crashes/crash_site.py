"""A state whose builds are killed: one kill, the repair after it, and everything that must be true then."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.verify import slice_digests, verified
from codeanatomy_assets.storage.delta_reads import latest_version, read_light
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets_tests.crashes.killed_command import GROUP, LIGHT, is_whole
from codeanatomy_assets_tests.crashes.small_repository import commit_tree, first_files, next_files
from codeanatomy_assets_tests.states import BuiltState, Quiet

PROJECT = Path(__file__).parents[2]
BUILD_SECONDS = 600
ORPHANS_SECONDS = 90
SESSION_FIELD = 3
VACUUM = ("vacuum", "--keep-commits", "2", "--grace-hours", "0")


@dataclass(frozen=True)
class Kill:
    """One kill: where, how, which way rows are written, and what else happens around it."""

    place: str
    mode: str = GROUP
    way: str = LIGHT
    head_moves: bool = False
    delay: float = 0.0
    earlier: str = ""
    is_first_build: bool = False

    @property
    def name(self) -> str:
        parts = [self.place, self.way, self.mode]
        parts += [f"after a kill at {self.earlier}"] if self.earlier else []
        parts += ["first build"] if self.is_first_build else []
        parts += ["HEAD moves"] if self.head_moves else []
        return ", ".join(parts)

    @property
    def told(self) -> tuple[str, ...]:
        """As the killed command is told it."""
        return (self.place, self.mode, self.way, str(self.delay))

    @property
    def is_vacuum(self) -> bool:
        return self.place.startswith("vacuum")

    def fell_where_meant(self, marks: list[str]) -> bool:
        """A moment inside a stage may come when the stage is over: the command marks where each begins and ends."""
        kind, _, stage = self.place.partition(":")
        return kind != "inside" or marks[-2:-1] == [f"in {stage}"]


@dataclass
class Outcome:
    """What a kill did, and what was wrong after it: nothing, if all is well."""

    kill: Kill
    landed: str = ""
    fell_where_meant: bool = True
    is_commit_built: bool = False
    reasons_found_again: int = 0
    unnamed_data_files: int = 0
    restored: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


@dataclass
class CrashSite:
    """A repository and its state, on the test process's Spark session."""

    built: BuiltState
    seed: str
    files: dict[str, str] = field(default_factory=dict)
    commits: int = 0
    session: int = 0

    @classmethod
    def create(cls, folder: Path, engine: SparkEngine, seed: str) -> CrashSite:
        site = cls(BuiltState.create(folder, engine, lock_wait_seconds=ORPHANS_SECONDS), seed)
        site.commit(first_files())
        return site

    @property
    def state(self) -> Path:
        return self.built.settings.state

    def commit(self, files: dict[str, str]) -> str:
        commit = commit_tree(self.built.repo, self.files, files)
        self.files = files
        return commit

    def next_commit(self) -> str:
        self.commits += 1
        return self.commit(next_files(self.files, f"{self.seed} {self.commits}"))

    def suffer(self, kill: Kill) -> Outcome:
        """Kill a build of the next commit (or a vacuum), build again, and look at everything."""
        began = time.monotonic()
        outcome = Outcome(kill)
        if kill.is_first_build:
            shutil.rmtree(self.state, ignore_errors=True)
        elif open_ledger(self.built.settings).last() is None:
            self.built.build()
        before = self._last()
        content = content_of(before) if before else {}
        target = self.built.repo.head() if kill.is_vacuum or kill.is_first_build else self.next_commit()
        if kill.earlier:
            outcome.wrong += self._killed(replace(kill, place=kill.earlier, mode=GROUP), Outcome(kill))
        outcome.wrong += self._killed(kill, outcome)
        outcome.wrong += self._after_the_kill(outcome, before, content, target)
        # What the next build repeats; a commit that is built has nothing to be found again.
        is_repeated = not kill.head_moves and not outcome.is_commit_built
        reasons = self._left_reasons(before, target) if is_repeated else set()
        if kill.head_moves:
            target = self.next_commit()
        outcome.wrong += self._after_the_next_build(outcome, target)
        if reasons:
            outcome.wrong += self._other_reasons(reasons, target)
            outcome.reasons_found_again = len(reasons)
        outcome.seconds = round(time.monotonic() - began, 1)
        return outcome

    def _killed(self, kill: Kill, outcome: Outcome) -> Iterator[str]:
        known = data_files(self.state)
        killed = run_killed(self.built, kill)
        outcome.landed = "; ".join(killed.marks[-2:])
        outcome.fell_where_meant = kill.fell_where_meant(killed.marks)
        outcome.unnamed_data_files = len(unnamed(data_files(self.state) - known))
        # Killed alone, the command leaves orphans behind: the next build is started at once, and waits for the lock.
        self.session = killed.session
        if killed.code != -signal.SIGKILL or not killed.marks:
            yield f"the command was not killed at {kill.place}, it ended with {killed.code}: {killed.words[-2000:]}"

    def _after_the_kill(
        self, outcome: Outcome, before: LedgerRow | None, content: dict[str, dict[str, str]], target: str
    ) -> Iterator[str]:
        """The last built commit is whole: the one before, or the one whose row was written."""
        now = self._last()
        outcome.is_commit_built = now is not None and now.commit == target
        if now is None:
            if before is not None:
                yield "the ledger lost its rows"
            return
        if before is not None and now.commit == before.commit and content_of(now) != content:
            yield f"{now.commit[:12]} reads otherwise after the kill"
        if now.commit not in (target, before.commit if before else target):
            yield f"the ledger names {now.commit[:12]}, which nobody built"

    def _after_the_next_build(self, outcome: Outcome, target: str) -> Iterator[str]:
        known = len(self.built.ledger_rows())
        self.built.progress.lines.clear()
        self.built.build()
        row = self.built.last()
        repairs = [each for each in self.built.ledger_rows()[known:] if each.mode == "recovery"]
        outcome.restored = sum(len(each.summary["restored"]) for each in repairs)
        if row.commit != target:
            yield f"the next build ended at {row.commit[:12]} instead of {target[:12]}"
        if len(repairs) > 1:
            yield f"it took {len(repairs)} repairs"
        yield from self._differences(row)
        versions = self.built.versions()
        again = self.built.build()["mode"]
        if (again, self.built.versions(), self.built.last().sequence) != ("noop", versions, row.sequence):
            yield f"the build after that was {again}"
        yield from self._stuck(outcome)

    def _left_reasons(self, before: LedgerRow | None, commit: str) -> set[str]:
        """The reasons that the dead run wrote for its commit, if it came so far: no ledger row names them."""
        if before is None:
            return set()
        ref = before.state.ref(IMPACTED_FILES)
        latest = latest_version(ref.path)
        assert latest is not None, f"{ref.path} is gone"
        left = before.state.advanced(ref.at(latest))
        return set(map(str, read_light(left, IMPACTED_FILES, (commit,)).to_pylist()))

    def _other_reasons(self, left: set[str], commit: str) -> Iterator[str]:
        """A retry uses the impacted set of the run that it repeats."""
        again = set(map(str, read_light(self.built.last().state, IMPACTED_FILES, (commit,)).to_pylist()))
        yield from (f"a reason that the retry did not find: {row}" for row in sorted(left - again))
        yield from (f"a reason that only the retry found: {row}" for row in sorted(again - left))

    def _differences(self, row: LedgerRow) -> Iterator[str]:
        folder = self.state.with_name("clean")
        settings = replace(self.built.settings, state=folder)
        try:
            clean = build_directly(settings, self.built.engine, Quiet())
            for difference in verified(row, clean).differences:
                yield from difference.lines()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _stuck(self, outcome: Outcome) -> Iterator[str]:
        deadline = time.monotonic() + ORPHANS_SECONDS
        while (left := processes_of_session(self.session)) and time.monotonic() < deadline:
            time.sleep(0.2)
        if left:
            yield f"processes are left of the killed command: {left}"
        if StateLock(self.state).is_taken():
            yield "the lock is taken"
        # A commit that was built when its run died leaves nothing to do: scratch files go when there is.
        was_noop = outcome.is_commit_built and not outcome.kill.head_moves
        if StateFolder(self.state).work.exists() and not was_noop:
            yield "scratch files are left"
        from codeanatomy_assets.orchestration.build import dagster_instance
        from codeanatomy_assets.orchestration.stuck_runs import report_dead_runs

        with dagster_instance(self.built.settings) as instance:
            if was_noop:
                # So no project was opened since: this is what opening one does first.
                report_dead_runs(instance, StateLock(self.state))
            running = [run.run_id for run in instance.get_runs() if not run.is_finished]
        if running:
            yield f"Dagster takes runs for running: {running}"

    def _last(self) -> LedgerRow | None:
        return open_ledger(self.built.settings).last()


@dataclass(frozen=True)
class Killed:
    """The end of a command: its exit code, what it marked on its way, what it said, and its processes' session."""

    code: int
    marks: list[str]
    words: str
    session: int


def run_killed(built: BuiltState, kill: Kill) -> Killed:
    """Run the command on a state, in a session of its own, until it is killed."""
    state = built.settings.state
    what = VACUUM if kill.is_vacuum else ("build", str(built.repo.folder))
    marks, log = state.with_name("marks"), state.with_name("killed.log")
    marks.unlink(missing_ok=True)
    module = "codeanatomy_assets_tests.crashes.killed_command"
    with log.open("wb") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *kill.told, str(marks), *what, "--state", str(state)],
            start_new_session=True,
            stdout=words,
            stderr=words,
            cwd=PROJECT,
        )
    code = process.wait(timeout=BUILD_SECONDS)
    told = marks.read_text().splitlines() if marks.exists() else []
    return Killed(code, told, log.read_text(errors="replace"), process.pid)


def content_of(row: LedgerRow) -> dict[str, dict[str, str]]:
    """Every state dataset of a built commit, as digests by file."""
    return {
        table.name: slice_digests(row.state, table)
        for table in catalog.state_tables()
        if table.storage_name in row.state.refs
    }


def data_files(state: Path) -> set[Path]:
    found = state.glob("tables/*/*/**/*.parquet")
    return {path for path in found if "_delta_log" not in path.parts}


def unnamed(files: set[Path]) -> set[Path]:
    """Those of new data files that no entry of their table's log names: written, and never committed."""
    return {path for path in files if is_whole(path) and not any(path.name in told for told in _log_entries(path))}


def _log_entries(data_file: Path) -> Iterator[str]:
    log = next(folder / "_delta_log" for folder in data_file.parents if (folder / "_delta_log").is_dir())
    return (unquote(entry.read_text()) for entry in log.glob("*.json"))


def processes_of_session(session: int) -> list[str]:
    """Living processes that a command started, whichever group they are in: they share its session."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", pid, "stat").read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[SESSION_FIELD]) == session and fields[0] not in "ZX":
                found.append(f"{pid} {Path('/proc', pid, 'comm').read_text().strip()}")
        except OSError:
            continue
    return found

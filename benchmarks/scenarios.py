"""The scenarios over real packages: builds, updates and reads by the very command, as a user would meet them."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.edits import with_edited_body, with_new_parameter, with_renamed_imports
from benchmarks.measuring import FIRST_PART, Peak, ProcessTree, StateFiles, Usage, end_with_descendants, run_measured
from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.ledger import PRUNING_METRICS
from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.summary import report
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.delta_reads import read_light
from codeanatomy_assets_tests import corpora
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.scip_trees import python_files

COMMAND = str(Path(sys.executable).with_name("codeanatomy"))
QUERY = "SELECT edge_kind, count(*) AS n FROM cpg_edges GROUP BY edge_kind ORDER BY n DESC"
AT_ONCE = 10
LOOK_SECONDS = 1
SILENT_SECONDS = 1_800
END_SECONDS = 60

FULL, LEAF, SIGNATURE, RENAME, TEN = "full build", "leaf body", "core signature", "module renamed", "ten files"
NOOP, EXPORT, QUERIED, WARM = "no-op", "export", "query", "leaf body, warm"
COLD = (LEAF, SIGNATURE, RENAME, TEN, NOOP, EXPORT, QUERIED)
STAGES = tuple(stage.value for stage in BUILT_STAGES)

Record = dict[str, Any]


@dataclass(frozen=True)
class Package:
    """A pinned sdist, and what is edited in it: a module that nothing rests on, one that much does, one to rename."""

    name: str
    version: str
    repeats: int
    leaf: str
    core: str
    core_function: str
    renamed: str


PACKAGES = {
    package.name: package
    for package in (
        Package(
            "requests",
            "2.32.3",
            repeats=3,
            leaf="src/requests/help.py",
            core="src/requests/sessions.py",
            core_function="Session.request",
            renamed="src/requests/structures.py",
        ),
        Package(
            "click",
            "8.1.7",
            repeats=3,
            leaf="src/click/testing.py",
            core="src/click/core.py",
            core_function="Context.lookup_default",
            renamed="src/click/_textwrap.py",
        ),
        Package(
            "flask",
            "3.0.3",
            repeats=3,
            leaf="src/flask/views.py",
            core="src/flask/sansio/scaffold.py",
            core_function="Scaffold.add_url_rule",
            renamed="src/flask/signals.py",
        ),
        Package(
            "django",
            "5.2.8",
            repeats=1,
            leaf="django/core/management/commands/showmigrations.py",
            core="django/db/models/query.py",
            core_function="QuerySet.iterator",
            renamed="django/utils/termcolors.py",
        ),
    )
}


class Workspace:
    """A package as a repository with a state beside it; it outlives an interrupted benchmark."""

    def __init__(self, package: Package, folder: Path) -> None:
        self.package = package
        self.folder = folder
        self.state = folder / "state"
        self.repo = self._opened_repository()

    def _opened_repository(self) -> GitRepo:
        place = self.folder / "repo"
        if (place / ".git").is_dir():
            repo = GitRepo(place)
            # An edit that was cut short is not the next one's.
            repo.run("reset", "--quiet", "--hard")
            repo.run("clean", "--quiet", "--force", "-d")
            repo.commits = repo.run("rev-list", "--reverse", "HEAD").decode().split()
            return repo
        shutil.rmtree(self.folder, ignore_errors=True)
        unpacked = corpora.unpack(self.package.name, self.package.version, self.folder / "unpacked")
        repo = GitRepo.create(unpacked)
        repo.commit("as released")
        unpacked.rename(place)
        return GitRepo(place, repo.commits)

    @property
    def settings(self) -> Settings:
        return Settings(repo=self.repo.folder, state=self.state)

    def settle(self) -> None:
        """The state at HEAD, whatever was interrupted; of a fresh workspace the first build, which nobody measures."""
        run_measured(self.build_command(), self.folder)

    def remove_state(self) -> None:
        shutil.rmtree(self.state, ignore_errors=True)

    def build_command(self) -> list[str]:
        return [COMMAND, "build", str(self.repo.folder), "--state", str(self.state), "--json"]

    def read_command(self, *words: str) -> list[str]:
        return [COMMAND, *words, "--state", str(self.state)]

    def edit(self, scenario: str) -> None:
        """Commit the next edit of this kind: no two are alike."""
        EDITS[scenario](self, len(self.repo.commits))
        self.repo.commit(scenario)

    def rewrite(self, path: str, edited: Callable[[str], str | None]) -> bool:
        """Whether there was something to edit."""
        before = self.repo.path(path).read_bytes().decode()
        after = edited(before)
        if after is not None:
            self.repo.write(path, after)
        return after not in (None, before)


def _edit_leaf(workspace: Workspace, number: int) -> None:
    leaf = workspace.package.leaf
    assert workspace.rewrite(leaf, lambda source: with_edited_body(source, number)), f"{leaf} has no body to edit"


def _edit_signature(workspace: Workspace, number: int) -> None:
    function = workspace.package.core_function
    workspace.rewrite(workspace.package.core, lambda source: with_new_parameter(source, function, number))


def _rename_module(workspace: Workspace, number: int) -> None:
    """The module takes another name, and so do the lines that import it."""
    first = Path(workspace.package.renamed)
    known = re.compile(rf"{re.escape(first.stem)}(?:_\d+)?")
    siblings = sorted(workspace.repo.path(str(first.parent)).glob("*.py"))
    old = next(path.stem for path in siblings if known.fullmatch(path.stem))
    new = f"{first.stem}_{number}"
    workspace.repo.move(f"{first.parent}/{old}.py", f"{first.parent}/{new}.py")
    top = f"{first.parts[0]}/"
    for path in python_files(workspace.repo.folder):
        if path.startswith((top, "tests/")) and old in workspace.repo.path(path).read_text("utf-8", "replace"):
            workspace.rewrite(path, lambda source: with_renamed_imports(source, old, new))


def _edit_ten(workspace: Workspace, number: int) -> None:
    """Files from all over the package, always the same ones."""
    folder = f"{Path(workspace.package.core).parts[0]}/"
    candidates = [path for path in python_files(workspace.repo.folder) if path.startswith(folder)]
    step = max(len(candidates) // AT_ONCE, 1)
    spread = [path for start in range(step) for path in candidates[start::step]]
    edited = 0
    for path in spread:
        edited += workspace.rewrite(path, lambda source: with_edited_body(source, number))
        if edited == AT_ONCE:
            return
    raise AssertionError(f"{workspace.package.name} has only {edited} files with a body to edit")


EDITS: Mapping[str, Callable[[Workspace, int], None]] = {
    LEAF: _edit_leaf,
    SIGNATURE: _edit_signature,
    RENAME: _rename_module,
    TEN: _edit_ten,
    WARM: _edit_leaf,
}


def measure_cold(workspace: Workspace, scenario: str) -> Record:
    """One scenario by a command of its own, as a process that starts cold."""
    out = workspace.folder / "export"
    commands = {
        EXPORT: workspace.read_command("export", str(out)),
        QUERIED: workspace.read_command("query", QUERY, "--json"),
    }
    if scenario == FULL:
        workspace.remove_state()
    elif scenario in EDITS:
        workspace.edit(scenario)
    before = StateFiles.of(workspace.state)
    command = commands.get(scenario, workspace.build_command())
    usage, said = run_measured(command, workspace.folder, part_of=_stage_of)
    shutil.rmtree(out, ignore_errors=True)
    if scenario in commands:
        return {**usage.told(), **_written(before, workspace.state)}
    return {**usage.told(), **_written(before, workspace.state), **_built(workspace, json.loads(said), usage, before)}


def _stage_of(line: str) -> str | None:
    """The stage that a build says it begins."""
    stage = line.partition(":")[0]
    return stage if stage in STAGES else None


def _built(workspace: Workspace, told: Mapping[str, Any], usage: Usage, before: StateFiles) -> Record:
    kept = {name: told[name] for name in ("mode", "files", "rows", "rows_written", "seconds")}
    return {
        **kept,
        "files_rebuilt": told["impacted"],
        "files_indexed": told.get("indexed", {}).get("files"),
        "stages": {} if told["mode"] == "noop" else _by_stage(workspace, usage, before),
    }


def _by_stage(workspace: Workspace, usage: Usage, before: StateFiles) -> dict[str, Record]:
    """Of each stage what it took and wrote, and how many data files it had to look into of those that were there."""
    stage_of = {table.storage_name: table.stage.value for table in catalog.state_tables()}
    after = StateFiles.of(workspace.state)
    last = open_ledger(workspace.settings).resolve(None)
    pruned = read_light(last.state, PRUNING_METRICS, (last.commit,)).to_pylist()
    counts = {
        "bytes_written": after.table_bytes_since(before).items(),
        "delta_commits": after.delta_commits_since(before).items(),
        "files_scanned": [(row["dataset"], row["files_scanned"]) for row in pruned],
        "files_present": [(row["dataset"], row["files_present"]) for row in pruned],
    }
    found: dict[str, Record] = defaultdict(dict)
    for part, used in usage.told_by_part().items():
        found[part].update(used)
    for name, counted in counts.items():
        for table, count in counted:
            stage = stage_of.get(table, Stage.LEDGER.value)
            found[stage][name] = found[stage].get(name, 0) + count
    return {stage: found[stage] for stage in (FIRST_PART, *STAGES, Stage.LEDGER.value) if stage in found}


def _written(before: StateFiles, state: Path) -> Record:
    after = StateFiles.of(state)
    written = after.bytes_since(before)
    commits = sum(after.delta_commits_since(before).values())
    return {"bytes_written": sum(written.values()), "bytes_written_to": written, "delta_commits": commits}


class WatchedWorkspace:
    """A workspace under `codeanatomy watch`, which keeps Spark and the indexer up from commit to commit."""

    def __init__(self, workspace: Workspace, process: subprocess.Popen[str]) -> None:
        self.workspace = workspace
        self._process = process
        self._tree = ProcessTree(process.pid)

    def measure(self, scenario: str) -> Record:
        """The next edit, from its commit to the line that says it is built; wall time is the run's own."""
        before, cpu = StateFiles.of(self.workspace.state), self._tree.cpu_seconds()
        with Peak(self._tree) as peak:
            self.workspace.edit(scenario)
            line = self._line()
        used = self._tree.cpu_seconds() - cpu
        usage = Usage(used, _seconds_of(line), peak.megabytes, peak.java_processes, peak.megabytes_by_program)
        told = report(open_ledger(self.workspace.settings).resolve(None))
        written = _written(before, self.workspace.state)
        return {**usage.told(), **written, **_built(self.workspace, told, usage, before)}

    def _line(self) -> str:
        assert self._process.stdout is not None
        is_there = select.select([self._process.stdout], [], [], SILENT_SECONDS)[0]
        line = self._process.stdout.readline() if is_there else ""
        if not line:
            raise CodeAnatomyError(f"`codeanatomy watch` built nothing in {SILENT_SECONDS} s, or ended: run it by hand")
        return line


def _seconds_of(line: str) -> float:
    found = re.search(r" in ([\d.]+) s", line)
    assert found is not None, line
    return float(found[1])


@contextmanager
def watched(workspace: Workspace) -> Iterator[WatchedWorkspace]:
    """`codeanatomy watch` over a workspace, warmed by one edit that nobody measures."""
    words = ["watch", str(workspace.repo.folder), "--state", str(workspace.state), "--every", str(LOOK_SECONDS)]
    process = subprocess.Popen(
        [COMMAND, *words], cwd=workspace.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        session = WatchedWorkspace(workspace, process)
        session.measure(WARM)
        yield session
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        end_with_descendants(process)


def load() -> float:
    """How busy the machine is: CPU seconds suffer less from it than wall time does, but they do."""
    return round(os.getloadavg()[0], 1)


def stamped(record: Record, package: Package, scenario: str, number: int) -> Record:
    """A measurement as it is kept."""
    told = {"package": package.name, "version": package.version, "scenario": scenario, "number": number}
    return {"key": key_of(package, scenario, number), **told, "load": load(), "at": round(time.time()), **record}


def key_of(package: Package, scenario: str, number: int) -> str:
    return f"{package.name} {package.version} {scenario} {number}"

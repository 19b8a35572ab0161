"""A served project: a small repository, its state built by the command, and `codeanatomy ui` with daemon and sensor."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.orchestration.test_served_ui import COMMAND, answer, free_port, until

START_SECONDS = 180
# A run starts a JVM of its own: most of a minute when the machine is busy.
RUN_SECONDS = 300
END_SECONDS = 60
RUNS = "{ runsOrError(limit: 20) { ... on Runs { results { runId status tags { key value } } } } }"
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}


@dataclass(frozen=True)
class ServedRun:
    """A run as the UI's own interface tells it."""

    run_id: str
    status: str
    tags: dict[str, str]


@dataclass(frozen=True)
class ServedProject:
    """The repository, the state and where its UI is."""

    repo: GitRepo
    state: Path
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def runs(self) -> list[ServedRun]:
        """The last ones, newest first."""
        told: Any = answer(self.port, RUNS)
        return [
            ServedRun(run["runId"], run["status"], {tag["key"]: tag["value"] for tag in run["tags"]})
            for run in told["runsOrError"]["results"]
        ]

    def ended(self, commit: str) -> ServedRun:
        """The sensor's run of a commit, when it came to an end."""

        def found() -> list[ServedRun]:
            return [run for run in self.runs() if run.status in ENDED and self._is_of(run, commit)]

        assert until(lambda: bool(found()), RUN_SECONDS), f"no run of the sensor ended: {self.runs()}"
        return found()[0]

    @staticmethod
    def _is_of(run: ServedRun, commit: str) -> bool:
        return "dagster/sensor_name" in run.tags and run.tags.get("codeanatomy/commit") == commit[:12]


@contextmanager
def served_project(folder: Path, files: dict[str, str]) -> Iterator[ServedProject]:
    """A repository of these files, built and served; all processes are gone at the end, whatever happened."""
    repo = GitRepo.create(folder / "repo")
    repo.commit_files(files)
    project = ServedProject(repo, folder / "state", free_port())
    subprocess.run(
        [COMMAND, "build", repo.folder, "--state", project.state], check=True, capture_output=True, timeout=RUN_SECONDS
    )
    with (folder / "ui.log").open("wb") as log:
        process = subprocess.Popen(
            [COMMAND, "ui", "--port", str(project.port), "--state", project.state],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        assert until(lambda: answer(project.port, "{ version }") is not None, START_SECONDS), log_of(folder)
        yield project
    finally:
        end(process)


def log_of(folder: Path) -> str:
    return (folder / "ui.log").read_text(errors="replace")


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask the UI to end, then end what is left of its process group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=END_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

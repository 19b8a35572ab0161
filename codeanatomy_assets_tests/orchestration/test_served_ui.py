"""`codeanatomy ui` as it is served: the commit sensor is on and builds, dead runs are told, a signal ends all of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from codeanatomy_assets.orchestration.build import dagster_instance
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.orchestration.test_watch import WatchProcess, left_of
from codeanatomy_assets_tests.states import BuiltState

pytestmark = pytest.mark.slow

COMMAND = Path(sys.prefix) / "bin" / "codeanatomy"
SENSORS = (
    '{ sensorsOrError(repositorySelector: {repositoryName: "__repository__", repositoryLocationName: "%s"})'
    " { ... on Sensors { results { name sensorState { status } } } } }"
)
LOCATION = "codeanatomy_assets.definitions"


def until(holds: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.5)
    return holds()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def answer(port: int, query: str) -> Any:
    """What the UI's own interface answers; nothing while it starts."""
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/graphql", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["data"]
    except (urllib.error.URLError, ConnectionError):
        return None


@pytest.fixture
def served(tmp_path: Path, engine: SparkEngine) -> Iterator[tuple[BuiltState, WatchProcess, int]]:
    """The UI of a state with one built commit."""
    built = BuiltState.create(tmp_path, engine)
    built.commit({"pkg/a.py": "def a(): ...\n"})
    port = free_port()
    process = subprocess.Popen(
        [COMMAND, "ui", "--port", str(port), "--state", built.settings.state],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        # As a shell script starts a job in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    ui = WatchProcess(process)
    yield built, ui, port
    for pid in (process.pid, *ui.children()):
        if process.poll() is None:
            os.kill(pid, signal.SIGKILL)
    process.wait()


def test_a_commit_is_built_by_the_sensor_of_the_served_ui_and_a_signal_ends_everything(
    served: tuple[BuiltState, WatchProcess, int],
) -> None:
    built, ui, port = served
    assert until(lambda: answer(port, "{ version }") is not None, 120)
    (sensor,) = answer(port, SENSORS % LOCATION)["sensorsOrError"]["results"]
    assert sensor == {"name": "commit_sensor", "sensorState": {"status": "RUNNING"}}
    second = built.repo.commit_files({"pkg/b.py": "from pkg.a import a\n\na()\n"})
    assert until(lambda: built.last().commit == second, 240)
    with dagster_instance(built.settings) as instance:
        run = instance.get_runs(limit=1)[0]
        assert until(lambda: bool((found := instance.get_run_by_id(run.run_id)) and found.is_finished), 60)
        assert (run.tags["codeanatomy/why"], run.tags["dagster/sensor_name"]) == ("a new commit", "commit_sensor")
        assert {each.status for each in instance.get_runs()} == {dg.DagsterRunStatus.SUCCESS}
    children = ui.children()
    ui.process.send_signal(signal.SIGTERM)
    ui.process.wait(timeout=60)
    assert left_of(children, 60.0) == set()

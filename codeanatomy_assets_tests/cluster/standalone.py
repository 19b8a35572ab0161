"""A Spark standalone cluster on loopback: a master and two workers as processes, from the pyspark package."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pyspark

from codeanatomy_assets import toolchain
from codeanatomy_assets.storage.spark_session import OPENED_PACKAGES

HOST = "127.0.0.1"
# Spark asks executors for a module that the pinned Java runtime is built without, and that Spark only uses for speed.
JAVA = """#!/bin/sh
for word; do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {java} "$@"
"""
MASTER_AT = r"Starting Spark master at (spark://\S+)\n"
WORKERS = 2
REGISTRATION_SECONDS = 120
PAUSE = 0.2


@dataclass
class Cluster:
    """The master's address, and the workers' processes with the logs they write."""

    url: str
    workers: list[subprocess.Popen[bytes]]
    folder: Path

    def lose(self, number: int) -> None:
        """Kill a worker and the executors it started, as a machine that went down would."""
        worker = psutil.Process(self.workers[number].pid)
        for process in [*worker.children(recursive=True), worker]:
            process.kill()
        self.workers[number].wait()

    def executors(self, number: int) -> list[psutil.Process]:
        """The processes of executors that a worker runs now."""
        children = psutil.Process(self.workers[number].pid).children(recursive=True)
        return [each for each in children if "CoarseGrainedExecutorBackend" in " ".join(each.cmdline())]

    def tasks_finished(self, number: int) -> int:
        """How many tasks a worker's executors say they finished."""
        logs = (self.folder / f"worker-{number}").rglob("stderr")
        return sum(log.read_text(errors="replace").count("Finished task") for log in logs)


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[Cluster]:
    _install_java(folder)
    log = folder / "master.log"
    processes = [_start(log, folder, "master.Master", "--port", "0", "--webui-port", "0")]
    try:
        # A port chosen beforehand could be taken by a worker while the master starts: it says which one it got.
        cluster = Cluster(_wait_for(log, MASTER_AT)[0], [], folder)
        for number in range(WORKERS):
            work = folder / f"worker-{number}"
            options = ["--cores", "1", "--memory", "1500m", "--webui-port", "0", "--work-dir", str(work)]
            worker = _start(folder / f"worker-{number}.log", folder, "worker.Worker", *options, cluster.url)
            processes.append(worker)
            cluster.workers.append(worker)
        _wait_for(log, "Registering worker", WORKERS)
        yield cluster
    finally:
        for process in processes:
            _end(process)


def _start(log: Path, folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    class_path = ":".join(str(jar) for jar in sorted((home / "jars").glob("*.jar")))
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED_PACKAGES]
    java = toolchain.java()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "JAVA_HOME": str(folder / "java"),
        "PYSPARK_PYTHON": sys.executable,
        # Without it a worker looks for the folders of a source build.
        "SPARK_SCALA_VERSION": "2.13",
    }
    options = ["-Xmx512m", "-Dspark.master.rest.enabled=false", "-cp", class_path, *opened]
    command = [str(java), *options, f"org.apache.spark.deploy.{name}", "--host", HOST]
    with log.open("wb") as written:
        return subprocess.Popen([*command, *arguments], stdout=written, stderr=written, cwd=folder, env=environment)


def _install_java(folder: Path) -> None:
    script = folder / "java" / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(JAVA.format(java=shlex.quote(str(toolchain.java()))))
    script.chmod(0o755)


def _wait_for(log: Path, said: str, times: int = 1) -> list[str]:
    """What the log has for the pattern, once it says it so many times."""
    deadline = time.monotonic() + REGISTRATION_SECONDS
    while len(found := re.findall(said, log.read_text(errors="replace"))) < times:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the cluster did not come up: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(PAUSE)
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
    process.wait()

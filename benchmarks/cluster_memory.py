"""Memory of the driver while a standalone cluster builds a repository, and one four times as large.

Datasets stay with the executors, so that the driver's memory must not follow the repository. A heap fills with
garbage as far as it may, the sooner the more there is to do: both builds get the least that Spark starts with, and what
the larger one needed beyond that would end it. The indexer is a program of its own on the driver's machine, and told
beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.generated import sources
from benchmarks.measuring import JAVA, NODE, OTHER_PROGRAMS, run_measured
from benchmarks.results_file import write_result
from codeanatomy_assets_tests.cluster.standalone import standalone_cluster
from codeanatomy_assets_tests.git_repositories import GitRepo

FILES = 500
TIMES = 4
SETTINGS = {
    # Everything but the smallest tables is written by executors, and the driver's heap has no room for a dataset.
    "CODEANATOMY_LIGHT_WRITE_ROWS": "100",
    "CODEANATOMY_DRIVER_MEMORY": "512m",
    "CODEANATOMY_SPARK_CONF": json.dumps({"spark.executor.memory": "1g"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES, help=f"files of the smaller repository ({FILES})")
    files = parser.parse_args().files
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "cluster"
        folder.mkdir()
        with standalone_cluster(folder) as cluster:
            sizes = [_measured(Path(scratch) / str(size), cluster.url, size) for size in (files, TIMES * files)]
    small, large = sizes
    ratio = round(large["driver_megabytes"] / small["driver_megabytes"], 2)
    path = write_result(
        "cluster_memory",
        "python -m benchmarks.cluster_memory",
        {"sizes": sizes, "driver_ratio": ratio, "target": "driver_ratio at most 1.25"},
    )
    print(path.read_text())


def _measured(folder: Path, master: str, files: int) -> dict[str, Any]:
    repo = GitRepo.create(folder / "repo")
    repo.commit_files(sources(files))
    command = [sys.executable, "-m", "codeanatomy_assets.cli", "build", str(repo.folder), "--json"]
    environment = {**os.environ, **SETTINGS, "CODEANATOMY_SPARK_MASTER": master}
    usage, said = run_measured([*command, "--state", str(folder / "state")], folder, environment)
    used = usage.megabytes_by_program
    return {
        "files": files,
        "rows": sum(json.loads(said)["rows"].values()),
        "wall_seconds": round(usage.wall_seconds, 1),
        "driver_megabytes": used[JAVA] + used[OTHER_PROGRAMS],
        "of_python": used[OTHER_PROGRAMS],
        "of_java": used[JAVA],
        "indexer_megabytes": used[NODE],
    }


if __name__ == "__main__":
    main()

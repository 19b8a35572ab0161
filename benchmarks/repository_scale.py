"""A leaf edit in a repository and in one twice as large, on one warm engine; memory of the full builds, all processes.

What an update costs must follow the change: the same edit in twice the files takes at most 1.15 times the CPU, and its
impact stage at most 1.3 times the time.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.generated import LEAF, MODULES_PER_PACKAGE, sources
from benchmarks.measuring import Peak, ProcessTree
from benchmarks.results_file import write_result
from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.resources import spark_engine
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.states import Quiet

FILES = 3_000
EDITS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES, help=f"files of the smaller repository ({FILES})")
    files = parser.parse_args().files
    with tempfile.TemporaryDirectory() as scratch:
        engine = spark_engine(Settings(state=Path(scratch) / "engine"))
        try:
            sizes = [_measured(Path(scratch) / str(size), engine, size) for size in (files, 2 * files)]
        finally:
            engine.stop()
    small, large = sizes
    ratios = {
        f"{name}_ratio": round(large["edit"][name] / max(small["edit"][name], 0.001), 2)
        for name in ("impact_seconds", "wall_seconds", "cpu_seconds")
    }
    path = write_result(
        "repository_scale",
        "python -m benchmarks.repository_scale",
        {"sizes": sizes, **ratios, "target": "cpu_seconds_ratio at most 1.15, impact_seconds_ratio 1.3"},
    )
    print(path.read_text())


def _measured(folder: Path, engine: SparkEngine, files: int) -> dict[str, Any]:
    repo = GitRepo.create(folder / "repo")
    repo.commit_files(sources(files))
    settings = Settings(repo=repo.folder, state=folder / "state")
    with closing(WarmIndexer()) as indexer:
        with Peak(ProcessTree()) as peak:
            before, began = ProcessTree().cpu_seconds(), time.monotonic()
            built = build_directly(settings, engine, Quiet(), indexer=indexer)
            full = {
                "cpu_seconds": round(ProcessTree().cpu_seconds() - before, 1),
                "wall_seconds": round(time.monotonic() - began, 1),
            }
        edits = [_edited(repo, settings, engine, indexer, number) for number in range(-1, EDITS)][1:]
    return {
        "files": files,
        "rows": sum(built.counts.values()),
        "full": {**full, "peak_megabytes": peak.megabytes, "seconds": dict(built.summary["seconds"])},
        "edit": {name: round(statistics.median(each[name] for each in edits), 3) for name in edits[0]},
        "edits": edits,
    }


def _edited(
    repo: GitRepo, settings: Settings, engine: SparkEngine, indexer: WarmIndexer, number: int
) -> dict[str, float]:
    """As `watch` builds it, on a session and an indexer that are up; the first after a full build warms them."""
    text = repo.path(LEAF).read_text()
    repo.commit_files({LEAF: text + f"\n\ndef added_{number + 1}():\n    return {number}\n"})
    before, began = ProcessTree().cpu_seconds(), time.monotonic()
    built = build_directly(settings, engine, Quiet(), indexer=indexer)
    assert built.summary["impacted"] < MODULES_PER_PACKAGE, built.summary
    return {
        "impact_seconds": built.summary["seconds"]["impact"],
        "wall_seconds": time.monotonic() - began,
        "cpu_seconds": ProcessTree().cpu_seconds() - before,
    }


if __name__ == "__main__":
    main()

"""A leaf edited in a repository and in one twice as large, on one warm engine; memory of the full builds.

What an update costs must follow the change: a body edited in twice the files takes at most 1.15 times the CPU, and the
impact stage of a new definition, which importers may see, at most 1.3 times the time.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.edits import with_edited_body
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
EDITS = 4
COMMAND = "python -m benchmarks.repository_scale"


def with_new_definition(source: str, number: int) -> str:
    return f"{source}\n\ndef added_{number}():\n    return {number}\n"


KINDS: dict[str, Callable[[str, int], str | None]] = {"body": with_edited_body, "definition": with_new_definition}


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
        kind: {name: round(large[kind][name] / max(small[kind][name], 0.001), 2) for name in small[kind]}
        for kind in KINDS
    }
    # Other sizes are results of their own: the targets are about this one.
    suffix, option = ("", "") if files == FILES else (f"_{files}", f" --files {files}")
    path = write_result(
        f"repository_scale{suffix}",
        f"{COMMAND}{option}",
        {
            "sizes": sizes,
            "ratios": ratios,
            "cpu_seconds_ratio": ratios["body"]["cpu_seconds"],
            "impact_seconds_ratio": ratios["definition"]["impact_seconds"],
            "target": "cpu_seconds_ratio at most 1.15, impact_seconds_ratio 1.3",
        },
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
        # The first of each kind warms what it needs.
        edits = {
            kind: [_edited(repo, settings, engine, indexer, kind, number) for number in range(EDITS + 1)][1:]
            for kind in KINDS
        }
    return {
        "files": files,
        "rows": sum(built.counts.values()),
        "full": {**full, "peak_megabytes": peak.megabytes, "seconds": dict(built.summary["seconds"])},
        **{kind: _medians(found) for kind, found in edits.items()},
        "edits": edits,
    }


def _medians(edits: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(statistics.median(each[name] for each in edits), 3) for name in edits[0]}


def _edited(
    repo: GitRepo, settings: Settings, engine: SparkEngine, indexer: WarmIndexer, kind: str, number: int
) -> dict[str, float]:
    """As `watch` builds it, on a session and an indexer that are up."""
    edited = KINDS[kind](repo.path(LEAF).read_text(), number)
    assert edited is not None, f"{LEAF} has nothing to edit"
    repo.commit_files({LEAF: edited})
    before, began = ProcessTree().cpu_seconds(), time.monotonic()
    built = build_directly(settings, engine, Quiet(), indexer=indexer)
    assert built.summary["impacted"] < MODULES_PER_PACKAGE, built.summary
    return {
        "impact_seconds": round(built.summary["seconds"]["impact"], 3),
        "wall_seconds": round(time.monotonic() - began, 2),
        "cpu_seconds": round(ProcessTree().cpu_seconds() - before, 2),
    }


if __name__ == "__main__":
    main()

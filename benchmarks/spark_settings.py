"""What each of Spark's settings gains: a build and an update from a cold start, tuned, and with one of them put back.

The CPU of all processes of each, over the tuned one's: above 1 the setting pays. Variants take turns, so that a busier
moment falls on all of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.edits import with_edited_body
from benchmarks.measuring import run_measured
from benchmarks.results_file import write_result
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.resources import spark_engine
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests import corpora
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.states import Quiet

COMMAND = "python -m benchmarks.spark_settings"
PACKAGE, VERSION, EDITED = "click", "8.1.7", "src/click/testing.py"
REPEATS = 3
TUNED = "tuned"


@dataclass(frozen=True)
class Variant:
    """One setting put back to what Spark or the JVM has by itself."""

    jvm_options: Sequence[str] = ()
    configuration: dict[str, str] = field(default_factory=dict)
    has_class_cache: bool = True


VARIANTS = {
    TUNED: Variant(),
    "both compilers": Variant(["-XX:TieredStopAtLevel=4"]),
    "G1 collector": Variant(["-XX:-UseSerialGC", "-XX:+UseG1GC"], has_class_cache=False),
    "no class cache": Variant(has_class_cache=False),
    "200 shuffle partitions": Variant(configuration={"spark.sql.shuffle.partitions": "200"}),
    "50 snapshot partitions": Variant(configuration={"spark.databricks.delta.snapshotPartitions": "50"}),
    "128 MB scan partitions": Variant(
        configuration={"spark.sql.files.maxPartitionBytes": "128m", "spark.sql.files.openCostInBytes": "4m"}
    ),
    "10,000 rows an Arrow batch": Variant(configuration={"spark.sql.execution.arrow.maxRecordsPerBatch": "10000"}),
    "Spark's UI": Variant(configuration={"spark.ui.enabled": "true"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=REPEATS, help=f"runs of each variant ({REPEATS})")
    parser.add_argument("--one", choices=VARIANTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        build_and_update(VARIANTS[given.one], given.folder)
        return
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(given.repeat):
        for name in VARIANTS:
            seconds[name].append(_cpu_seconds(name))
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    figures = {
        name: {
            "cpu_seconds": [round(each, 1) for each in found],
            "over_tuned": round(medians[name] / medians[TUNED], 3),
        }
        for name, found in seconds.items()
    }
    path = write_result("spark_settings", COMMAND, {"corpus": f"{PACKAGE} {VERSION}", "variants": figures})
    print(path.read_text())


def _cpu_seconds(name: str) -> float:
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "benchmarks.spark_settings", "--one", name, "--folder", scratch]
        usage, _ = run_measured(command, Path(__file__).parents[1])
    print(f"{name}: {usage.cpu_seconds:.1f} CPU s", flush=True)
    return usage.cpu_seconds


def build_and_update(variant: Variant, folder: Path) -> None:
    """A full build and the update after a body's edit, in this process, on an engine of its own."""
    unpacked = corpora.unpack(PACKAGE, VERSION, folder / "unpacked")
    repo = GitRepo.create(unpacked)
    repo.commit("as released")
    settings = Settings(repo=repo.folder, state=folder / "state")
    engine = _engine(settings, variant)
    try:
        build_directly(settings, engine, Quiet())
        edited = with_edited_body(repo.path(EDITED).read_text(), 1)
        assert edited is not None, f"{EDITED} has nothing to edit"
        repo.commit_files({EDITED: edited})
        build_directly(settings, engine, Quiet())
    finally:
        engine.stop()


def _engine(settings: Settings, variant: Variant) -> SparkEngine:
    """A class cache is of one collector: where that differs, it is left out, and told as that variant."""
    tuned = spark_engine(settings, None if variant.has_class_cache else ()).settings
    options = [*tuned.jvm_options, *variant.jvm_options]
    return SparkEngine(replace(tuned, jvm_options=options, extra={**tuned.extra, **variant.configuration}))


if __name__ == "__main__":
    main()

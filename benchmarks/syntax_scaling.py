"""Parsing a 3,000-file repository through Spark on two cores, against the same work in one process."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.results_file import write_result
from codeanatomy_assets.contracts import identity, syntax
from codeanatomy_assets.extraction.syntax_tree import collect_file
from codeanatomy_assets.orchestration.resources import spark_engine
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import staging
from codeanatomy_assets.transforms.collected_rows import FILES_PER_RECORD_BATCH, collected_batch, collected_files
from codeanatomy_assets_tests import corpora

CORPUS = ("django", "5.2.8")
FILES = 3_000
REPEATS = 5

Source = tuple[str, str, bytes]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sources = list(_sources(Path(folder)))
        settings = Settings(state=Path(folder) / "state", cores=2)
        settings.state.mkdir()
        engine = spark_engine(settings)
        size = staging.stage(Path(folder) / "staged", staging.SOURCES, sources)
        staged = staging.read_staged(engine.session(), Path(folder) / "staged", staging.SOURCES, size)

        def through_spark() -> None:
            collected_files(staged, syntax.TABLES, collect_file).write.format("noop").mode("overwrite").save()

        through_spark()  # the workers' imports and the JVM's first compilation are not what is compared
        pairs = [(_seconds(lambda: _one_process(sources)), _seconds(through_spark)) for _ in range(REPEATS)]
        engine.stop()
    ratios = [one / spark for one, spark in pairs]
    path = write_result(
        "syntax_scaling",
        "python -m benchmarks.syntax_scaling",
        {
            "files": len(sources),
            "megabytes": round(sum(len(content) for _, _, content in sources) / 1e6, 1),
            "one_process_seconds": [round(one, 2) for one, _ in pairs],
            "spark_two_cores_seconds": [round(spark, 2) for _, spark in pairs],
            "speedup_median": round(statistics.median(ratios), 2),
            "target": "at least 1.6",
        },
    )
    print(path.read_text())


def _sources(folder: Path) -> Iterator[Source]:
    """The corpus' Python files, some of them twice to make up the number."""
    root = corpora.unpack(*CORPUS, folder)
    paths = sorted(root.rglob("*.py"))
    for number, path in enumerate([*paths, *paths][:FILES]):
        name = f"{number // len(paths)}/{path.relative_to(root)}"
        yield identity.FILE.of("repository", name), name, path.read_bytes()


def _one_process(sources: list[Source]) -> None:
    """The same rows in the same Arrow form, without Spark."""
    names = staging.SOURCES.names
    for start in range(0, len(sources), FILES_PER_RECORD_BATCH):
        part = [dict(zip(names, source, strict=True)) for source in sources[start : start + FILES_PER_RECORD_BATCH]]
        collected_batch(syntax.TABLES, [file["file_id"] for file in part], [collect_file(file) for file in part])


def _seconds(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


if __name__ == "__main__":
    main()

"""From measurements to figures: medians with their spread, and the targets computed from them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.peers import INDEXER, JOERN
from benchmarks.scenarios import FULL, LEAF, NOOP, WARM

MEASURES = (
    "cpu_seconds",
    "wall_seconds",
    "peak_megabytes",
    "bytes_written",
    "delta_commits",
    "files_rebuilt",
    "java_processes",
    "load",
)
LARGE, COMPARED = "django", "click"


@dataclass(frozen=True)
class Spread:
    """A measure over repeated runs."""

    median: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values), len(values))


Measures = Mapping[str, Spread]
Figures = Mapping[str, Mapping[str, Measures]]


def figures(records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, Spread]]]:
    """Package → scenario → measure → its spread over the runs that have it."""
    groups: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        groups[record["package"]][record["scenario"]].append(record)
    return {
        package: {scenario: _spreads(found) for scenario, found in scenarios.items()}
        for package, scenarios in groups.items()
    }


def _spreads(records: Sequence[Mapping[str, Any]]) -> dict[str, Spread]:
    measured = {name: [record[name] for record in records if record.get(name) is not None] for name in MEASURES}
    return {name: Spread.of(values) for name, values in measured.items() if values}


@dataclass(frozen=True)
class Target:
    """A promise about a figure: the figure is at most the limit. `if_missed` says what stands in the way."""

    text: str
    limit: float
    figure: Callable[[Figures], float | None]
    if_missed: str


def median(found: Figures, package: str, scenario: str, measure: str = "cpu_seconds") -> float | None:
    spread = found.get(package, {}).get(scenario, {}).get(measure)
    return None if spread is None else spread.median


def ratio(package: str, scenario: str, to: str) -> Callable[[Figures], float | None]:
    """CPU of one scenario in CPU of another on the same package."""

    def of(found: Figures) -> float | None:
        ours, theirs = median(found, package, scenario), median(found, package, to)
        return ours / theirs if ours is not None and theirs else None

    return of


def worst(scenario: str, measure: str) -> Callable[[Figures], float | None]:
    """The highest that any run of a scenario had, on any package."""

    def of(found: Figures) -> float | None:
        spreads = (scenarios.get(scenario, {}).get(measure) for scenarios in found.values())
        return max((spread.high for spread in spreads if spread is not None), default=None)

    return of


def highest(package: str, scenario: str, measure: str) -> Callable[[Figures], float | None]:
    return lambda found: worst(scenario, measure)({name: found[name] for name in found if name == package})


TARGETS = (
    Target(
        f"CPU of a full build of {LARGE}, in CPU of the indexer alone",
        1.5,
        ratio(LARGE, FULL, INDEXER),
        "what is left beside the indexer is some thirty datasets of ten million rows: the rules' and the graph's "
        "queries in Spark are the most of it, then parsing, and unpacking the indexer's answers, in Python. The next "
        "levers are the graph's nodes and props made once, where their files are parsed, and rules that read a file's "
        "datasets side by side instead of joining them.",
    ),
    Target(
        f"CPU of a full build of {COMPARED}, in CPU of Joern",
        1.0,
        ratio(COMPARED, FULL, JOERN),
        "a cold JVM and Dagster's imports, the indexer, and most of the rest is Spark's planning of every query and "
        "code that runs before it is compiled: the same for a small package as for a large one. The next lever is a "
        "warm engine, which `watch` has; beyond it, rules over few rows by an engine without planning.",
    ),
    Target(
        f"peak memory of a full build of {LARGE}, megabytes",
        6_144,
        highest(LARGE, FULL, "peak_megabytes"),
        "Spark's heap and the indexer's are the most of it, both capped by settings. The next lever is a smaller heap.",
    ),
    Target(
        f"CPU of a leaf's body edited in {LARGE}, cold, in CPU of a full build",
        0.2,
        ratio(LARGE, LEAF, FULL),
        "the start of the JVM and of the indexer, which reads the program anew. The next lever is a warm engine.",
    ),
    Target(
        f"CPU of a leaf's body edited in {LARGE}, warm, in CPU of a full build",
        0.05,
        ratio(LARGE, WARM, FULL),
        "planning of the rules' and the graph's queries over a few rows, and reading what they look up. The next lever "
        "is to run them without Spark where rows are few.",
    ),
    Target(
        "wall time of the slowest no-op, seconds",
        2.0,
        worst(NOOP, "wall_seconds"),
        "imports of Python packages. The next lever is to read the ledger without them.",
    ),
    Target("JVMs started by a no-op", 0, worst(NOOP, "java_processes"), "a no-op has no use for one: this is a fault."),
)


def scale_targets(results: Mapping[str, Mapping[str, Any]]) -> list[Target]:
    """What other benchmarks measured: their results by name, as far as they are there."""

    def measured(benchmark: str, name: str) -> Callable[[Figures], float | None]:
        return lambda _: results.get(benchmark, {}).get(name)

    return [
        Target(
            "CPU of a leaf edited in a repository twice as large, warm, in CPU of it in the smaller one",
            1.15,
            measured("repository_scale", "cpu_seconds_ratio"),
            "module index, resolved imports and the snapshot are read whole, each once. The next lever is to keep them "
            "in the warm process.",
        ),
        Target(
            "time of its impact stage, in time of the smaller one's",
            1.3,
            measured("repository_scale", "impact_seconds_ratio"),
            "which buckets hold a changed id is asked of every data file's values in memory. The next lever is one "
            "index of them all.",
        ),
        Target(
            "peak memory of the driver on a cluster, in that of a repository a fourth as large",
            1.25,
            measured("cluster_memory", "driver_ratio"),
            "the driver keeps the list of files, the module index and the plan of every query. The next lever is to "
            "read the first two by the files that a query needs.",
        ),
    ]


def judged(found: Figures, targets: Sequence[Target] = TARGETS) -> list[dict[str, Any]]:
    """Each target with its figure; `is_met` is None where nothing was measured."""
    told = []
    for target in targets:
        figure = target.figure(found)
        is_met = None if figure is None else figure <= target.limit
        limit = {"target": target.text, "at_most": target.limit, "if_missed": target.if_missed}
        told.append({**limit, "figure": figure, "is_met": is_met})
    return told


def as_object(found: Figures) -> dict[str, Any]:
    return {
        package: {
            scenario: {name: asdict(spread) for name, spread in measures.items()}
            for scenario, measures in scenarios.items()
        }
        for package, scenarios in found.items()
    }

"""Medians, spreads and targets are computed from measurements, and a missing measurement is no success."""

from __future__ import annotations

from typing import Any

from benchmarks.figures import TARGETS, Spread, figures, judged, scale_targets
from benchmarks.peers import INDEXER, JOERN
from benchmarks.scenarios import FULL, LEAF, NOOP, WARM


def record(package: str, scenario: str, cpu: float | None, **measured: float) -> dict[str, Any]:
    return {"package": package, "scenario": scenario, "cpu_seconds": cpu, **measured}


def verdicts(*records: dict[str, Any]) -> list[bool | None]:
    return [each["is_met"] for each in judged(figures(records))]


def test_a_figure_is_the_median_with_the_least_and_the_most() -> None:
    found = figures([record("click", FULL, cpu) for cpu in (30.0, 10.0, 14.0)])
    assert found["click"][FULL]["cpu_seconds"] == Spread(median=14.0, low=10.0, high=30.0, runs=3)


def test_runs_without_a_measure_do_not_count_in_it() -> None:
    found = figures([record("click", JOERN, None), record("click", JOERN, 50.0, wall_seconds=9.0)])
    assert found["click"][JOERN]["cpu_seconds"].runs == 1
    assert set(found["click"][JOERN]) == {"cpu_seconds", "wall_seconds"}


def test_every_target_is_met_by_figures_at_its_limit() -> None:
    met = verdicts(
        record("django", FULL, 150.0, peak_megabytes=6_144),
        record("django", INDEXER, 100.0),
        record("django", LEAF, 30.0),
        record("django", WARM, 7.5),
        record("click", FULL, 50.0),
        record("click", JOERN, 50.0),
        record("click", NOOP, 1.0, wall_seconds=2.0, java_processes=0),
    )
    assert met == [True] * len(TARGETS)


def test_no_target_is_met_by_figures_past_its_limit() -> None:
    met = verdicts(
        record("django", FULL, 151.0, peak_megabytes=6_145),
        record("django", INDEXER, 100.0),
        record("django", LEAF, 30.3),
        record("django", WARM, 7.6),
        record("click", FULL, 50.1),
        record("click", JOERN, 50.0),
        record("requests", NOOP, 1.0, wall_seconds=1.0, java_processes=0),
        record("click", NOOP, 1.0, wall_seconds=2.1, java_processes=1),
    )
    assert met == [False] * len(TARGETS)


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    assert verdicts() == [None] * len(TARGETS)
    assert verdicts(record("click", FULL, 50.0), record("click", JOERN, None))[1] is None


def test_results_of_other_benchmarks_are_judged_as_far_as_they_are_there() -> None:
    results = {"repository_scale": {"cpu_seconds_ratio": 1.15, "impact_seconds_ratio": 1.31}}
    assert [each["is_met"] for each in judged({}, scale_targets(results))] == [True, False, None]

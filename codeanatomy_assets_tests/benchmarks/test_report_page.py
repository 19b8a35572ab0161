"""The page and the plot show what was measured, and say so where nothing was."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from benchmarks.figures import Spread, figures, judged
from benchmarks.peers import INDEXER, JOERN
from benchmarks.report_page import page, plot, shown
from benchmarks.scenarios import FULL, LEAF

MEASUREMENTS: list[dict[str, Any]] = [
    {
        "scenario": FULL,
        "number": 0,
        "cpu_seconds": 40.0,
        "bytes_written": 2_048,
        "rows": {"cst_defs": 3, "cpg_nodes": 4},
        "stages": {"syntax": {"cpu_seconds": 7.25, "bytes_written": 2_048, "files_scanned": 0, "files_present": 0}},
    },
    {"scenario": FULL, "number": 1, "cpu_seconds": 44.5, "bytes_written": 2_048, "seconds": {"syntax": 3.25}},
    {"scenario": INDEXER, "number": 0, "cpu_seconds": 10.0},
    {"scenario": JOERN, "number": 0, "cpu_seconds": None, "why_not": "no network"},
    {"scenario": LEAF, "number": 0, "cpu_seconds": 20.0, "files_rebuilt": 2, "java_processes": 1},
]
RECORDS = [{"package": "click", "version": "8.1.7", **each} for each in MEASUREMENTS]
FIGURES = figures(RECORDS)
ABOUT = {"command": "it", "date": "today", "revision": "abc", "code": "def", "cores": 2}


def test_the_page_has_figures_targets_stages_rows_and_what_is_missing() -> None:
    text = page({**ABOUT, "targets": judged(FIGURES), "measurements": RECORDS}, FIGURES)
    lines = text.split("\n")
    assert "| full build | 2 | 42.2 (40 to 44.5) |  |  | 2 |  |  |  |  |" in lines
    assert "| leaf body | 1 | 20 |  |  |  |  | 2 | 1 |  |" in lines
    assert "| full build | 3.2 |" in lines
    assert "| syntax | 7.2 |  |  | 2 |  | 0 | 0 |" in lines
    assert "| `cpg_nodes` | 4 |" in lines
    assert "Joern, run 0, was not measured: no network" in lines
    assert "| CPU of a full build of click, in CPU of Joern | 1 | not measured |  |" in lines


def test_a_target_says_whether_it_is_met() -> None:
    target = {"target": "speed", "at_most": 2.0, "figure": 3.14159, "is_met": False, "if_missed": "too many rows"}
    text = page({**ABOUT, "targets": [target, {**target, "figure": 1, "is_met": True}], "measurements": []}, {})
    assert "| speed | 2 | 3.14 | **no** |" in text
    assert "| speed | 2 | 1 | yes |" in text
    assert text.count("- speed: too many rows") == 1, "of the target that was missed alone"


def test_a_bar_is_as_long_as_its_figure_in_the_panel() -> None:
    drawing = ElementTree.fromstring(plot(FIGURES))
    bars = [float(bar.attrib["width"]) for bar in drawing.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert len(bars) == 3
    assert round(bars[0] / bars[1], 2) == 4.22
    assert round(bars[2] / bars[1], 2) == 2.0


def test_a_spread_is_shown_only_where_runs_differed() -> None:
    assert shown(Spread(5.0, 5.0, 5.0, 3)) == "5"
    assert shown(Spread(2_048, 1_024, 4_096, 3), 1_024) == "2 (1 to 4)"

"""The report for people: a Markdown page of targets and tables, and a plot of the CPU seconds as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from benchmarks.figures import Figures, Measures, Spread
from benchmarks.peers import INDEXER, JOERN
from benchmarks.scenarios import COLD, FULL, LEAF, WARM

ORDER = (FULL, INDEXER, JOERN, *COLD, WARM)
COLUMNS = {
    "cpu_seconds": "CPU s",
    "wall_seconds": "wall s",
    "peak_megabytes": "peak MB",
    "bytes_written": "KB written",
    "delta_commits": "Delta commits",
    "files_rebuilt": "files rebuilt",
    "java_processes": "JVMs",
}
STAGED = (FULL, LEAF)
STAGE_COLUMNS = {
    "cpu_seconds": "CPU s",
    "wall_seconds": "wall s",
    "peak_megabytes": "peak MB",
    "bytes_written": "KB written",
    "delta_commits": "Delta commits",
    "files_scanned": "data files scanned",
    "files_present": "of",
}
LEFT, BAR, ROW, HEAD, RIGHT = 150, 460, 20, 34, 150
OURS, OTHERS, INK = "#4f7cac", "#b0b7bf", "#3c4043"


def page(result: Mapping[str, Any], found: Figures) -> str:
    """The whole page; every number in it comes from the result."""
    lines = [
        "# Performance",
        "",
        f"Written by `{result['command']}` on {result['date']}: revision {result['revision']}, code {result['code']}, "
        f"{result['cores']} cores.",
        "",
        "CPU seconds are of all processes of a command together. Memory is the proportional set of all of them, looked "
        "at twice a second. A peak or a JVM shorter than that may be missed. "
        "Bytes are those that stayed in the state folder. A figure is the median of its runs, "
        "in brackets the least and the most. Each command starts cold, but for the warm edit: that is a commit under "
        "`codeanatomy watch`. Peers are measured in turn with the full builds. A stage's CPU is what all processes "
        "took while it was on, to half a second: in a full build the indexer, which makes the symbols, works during "
        "the syntax stage already, and the last stage's has the ledger's in it.",
        "",
        "![CPU seconds](report.svg)",
        "",
        "## Targets",
        "",
        *_table(("target", "at most", "figure", "met"), map(_target_cells, result["targets"])),
        *_reasons(result["targets"]),
    ]
    for package, scenarios in found.items():
        records = [record for record in result["measurements"] if record["package"] == package]
        lines += ["", f"## {package} {records[0]['version']}", "", *_package_lines(scenarios, records)]
    return "\n".join(lines) + "\n"


def _package_lines(scenarios: Mapping[str, Measures], records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = [name for name in ORDER if name in scenarios]
    heads = ("scenario", "runs", *COLUMNS.values(), "load")
    yield from _table(heads, (_scenario_cells(name, scenarios[name]) for name in names))
    for record in records:
        if "why_not" in record:
            yield f"\n{record['scenario']}, run {record['number']}, was not measured: {escape(record['why_not'])}"
    written = {name: found for name in names if (found := _last(records, name, "bytes_written_to"))}
    for name, parts in written.items():
        told = ", ".join(f"`{part}` {count / 1_024:.0f}" for part, count in parts.items())
        yield f"\nKB written by {name}, last run: {told}."
    staged = {name: found for name in names if (found := _last(records, name, "seconds"))}
    stages = list(dict.fromkeys(stage for found in staged.values() for stage in found))
    if stages:
        yield "\nWall seconds by stage, of the last run:\n"
        cells = ((name, *(f"{found.get(each, 0):.1f}" for each in stages)) for name, found in staged.items())
        yield from _table(("scenario", *stages), cells)
    for name in STAGED:
        yield from _by_stage(name, _last(records, name, "stages"))
    rows = _last(records, FULL, "rows")
    if rows:
        yield f"\nRows of the full build, {sum(rows.values())} in all:\n"
        yield from _table(("dataset", "rows"), ((f"`{name}`", str(count)) for name, count in rows.items()))


def _by_stage(scenario: str, stages: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    if not stages:
        return
    yield f"\nThe {scenario} by stage, last run:\n"
    cells = (
        (stage, *(_stage_cell(name, found[name]) if name in found else "" for name in STAGE_COLUMNS))
        for stage, found in stages.items()
    )
    yield from _table(("stage", *STAGE_COLUMNS.values()), cells)


def _stage_cell(name: str, value: float) -> str:
    return _number(value / 1_024) if name == "bytes_written" else _number(value)


def _last(records: Sequence[Mapping[str, Any]], scenario: str, field: str) -> Mapping[str, Any]:
    found = [record[field] for record in records if record["scenario"] == scenario and record.get(field)]
    return found[-1] if found else {}


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


def _target_cells(target: Mapping[str, Any]) -> tuple[str, ...]:
    figure = "not measured" if target["figure"] is None else f"{target['figure']:.3g}"
    met = {None: "", True: "yes", False: "**no**"}[target["is_met"]]
    return target["target"], f"{target['at_most']:g}", figure, met


def _reasons(targets: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    missed = [target for target in targets if target["is_met"] is False]
    if missed:
        yield from ("", "Why not, and what would help:", "")
        yield from (f"- {target['target']}: {target['if_missed']}" for target in missed)


def _scenario_cells(name: str, measures: Measures) -> Iterator[str]:
    yield name
    yield str(max((spread.runs for spread in measures.values()), default=0))
    for measure in (*COLUMNS, "load"):
        yield shown(measures[measure], 1_024 if measure == "bytes_written" else 1) if measure in measures else ""


def shown(spread: Spread, unit: float = 1) -> str:
    """The median, and what the runs lay between if they differed."""
    median, low, high = (_number(value / unit) for value in (spread.median, spread.low, spread.high))
    return median if low == high else f"{median} ({low} to {high})"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or float(value).is_integer() else f"{value:.1f}"


def plot(found: Figures) -> str:
    """Bars of CPU seconds, a panel for each package on its own scale; a line over a bar's end is its spread."""
    width, y = LEFT + BAR + RIGHT, 8.0
    body: list[str] = []
    for package, scenarios in found.items():
        bars = [(name, scenarios[name]["cpu_seconds"]) for name in ORDER if "cpu_seconds" in scenarios.get(name, {})]
        body += _panel(package, bars, y)
        y += HEAD + ROW * len(bars)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 8:g}" width="{width}" '
            f'height="{y + 8:g}" font-family="sans-serif" font-size="12" fill="{INK}">',
            "<title>CPU seconds by package and scenario</title>",
            f'<rect width="{width}" height="{y + 8:g}" fill="#ffffff"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _panel(package: str, bars: Sequence[tuple[str, Spread]], top: float) -> Iterator[str]:
    yield f'<text x="8" y="{top + 20:g}" font-size="14" font-weight="bold">{escape(package)}, CPU seconds</text>'
    scale = BAR / max((spread.high for _, spread in bars), default=1)
    for place, (name, spread) in enumerate(bars):
        y = top + HEAD + place * ROW
        end, low, high = (LEFT + value * scale for value in (spread.median, spread.low, spread.high))
        colour = OTHERS if name in (INDEXER, JOERN) else OURS
        yield f'<text x="{LEFT - 8}" y="{y + 11:g}" text-anchor="end">{escape(name)}</text>'
        yield f'<rect x="{LEFT}" y="{y:g}" width="{end - LEFT:.1f}" height="14" fill="{colour}"/>'
        yield f'<path d="M{low:.1f} {y + 7:g} H{high:.1f}" stroke="{INK}"/>'
        yield f'<text x="{high + 6:.1f}" y="{y + 11:g}">{escape(shown(spread))}</text>'

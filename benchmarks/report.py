"""One report over real packages: what builds, updates and reads take, beside the indexer alone and Joern.

`python -m benchmarks.report` goes on where the same code stopped, and writes benchmarks/results/report.{json,md,svg}
from all measurements that are done. `--packages requests` measures a part of it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import peers, scenarios
from benchmarks.figures import TARGETS, as_object, figures, judged, scale_targets
from benchmarks.peers import INDEXER, JOERN
from benchmarks.report_page import page, plot
from benchmarks.results_file import known_results
from benchmarks.scenarios import COLD, FULL, PACKAGES, WARM, Package, Record, Workspace
from codeanatomy_assets.orchestration.fingerprints import ROOT
from codeanatomy_assets.toolchain import tools_folder
from codeanatomy_assets_tests.parity.soak_record import RESULTS, Progress, revision

COMMAND = "python -m benchmarks.report"
SHOWN = ("cpu_seconds", "wall_seconds", "peak_megabytes")
# Cheap once the session is up, and held to the tightest target: never measured just once.
LEAST_WARM_EDITS = 3
MEASURING = ("edits", "joern", "measuring", "peers", "scenarios")


def code() -> list[Path]:
    """What figures depend on: the whole project, and how it is measured."""
    project = [path for path in sorted(ROOT.rglob("*")) if path.suffix in (".py", ".js")]
    return [*project, *(Path(__file__).with_name(f"{name}.py") for name in MEASURING)]


def planned(package: Package, repeats: int, chosen: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Scenarios and their runs in order: builds and peers in turn, then updates on the state of the last build."""
    runs = range(repeats)
    yield from ((name, number) for number in runs for name in (FULL, INDEXER, JOERN) if name in chosen)
    yield from ((name, number) for name in COLD for number in runs if name in chosen)
    if WARM in chosen:
        yield from ((WARM, number) for number in range(max(repeats, LEAST_WARM_EDITS)))


def measure(package: Package, plan: Sequence[tuple[str, int]], progress: Progress) -> None:
    """What is planned for a package and not done yet; its workspace goes when all is."""
    due = [each for each in plan if scenarios.key_of(package, *each) not in progress.records]
    if not due:
        return
    folder = tools_folder() / "bench" / f"{package.name}-{progress.code}"
    workspace = Workspace(package, folder)

    def keep(scenario: str, number: int, record: Record) -> None:
        unknown = dict.fromkeys(SHOWN)
        progress.add(scenarios.stamped({**unknown, **record}, package, scenario, number))

    alone: dict[str, Callable[[Path], Record]] = {INDEXER: peers.measure_indexer, JOERN: peers.measure_joern}
    for scenario, number in due:
        if scenario in alone:
            keep(scenario, number, alone[scenario](workspace.repo.folder))
        elif scenario == FULL:
            keep(scenario, number, scenarios.measure_cold(workspace, scenario))
    cold = [each for each in due if each[0] in COLD]
    warm = [number for scenario, number in due if scenario == WARM]
    if cold or warm:
        workspace.settle()
    for scenario, number in cold:
        keep(scenario, number, scenarios.measure_cold(workspace, scenario))
    if warm:
        with scenarios.watched(workspace) as session:
            for number in warm:
                keep(WARM, number, session.measure(WARM))
    shutil.rmtree(folder)


def write_report(progress: Progress) -> None:
    """Figures, targets, page and plot from all that this code has measured, whichever run did."""
    measurements = list(progress.records.values())
    by_package = {name: place for place, name in enumerate(PACKAGES)}
    measurements.sort(key=lambda record: (by_package[record["package"]], record["at"]))
    found = figures(measurements)
    result: Record = {
        "command": COMMAND,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "revision": revision(),
        "code": progress.code,
        "cores": len(os.sched_getaffinity(0)),
        "targets": judged(found, [*TARGETS, *scale_targets(known_results())]),
        "figures": as_object(found),
        "measurements": measurements,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "report.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "report.md").write_text(page(result, found), encoding="utf-8")
    (RESULTS / "report.svg").write_text(plot(found), encoding="utf-8")
    for target in result["targets"]:
        told = "not measured" if target["is_met"] is None else "met" if target["is_met"] else "NOT MET"
        print(f"{target['target']}: {target['figure']} of at most {target['at_most']}: {told}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    everything = (FULL, INDEXER, JOERN, *COLD, WARM)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES), help="these only")
    parser.add_argument("--scenarios", nargs="+", choices=everything, default=everything, help="these only")
    parser.add_argument("--repeat", type=int, help="runs of each scenario (3; django 1)")
    given = parser.parse_args(arguments)
    progress = Progress("bench", code(), SHOWN, RESULTS / "report.json")
    try:
        for name in given.packages:
            package = PACKAGES[name]
            plan = list(planned(package, given.repeat or package.repeats, given.scenarios))
            measure(package, plan, progress)
    finally:
        write_report(progress)


if __name__ == "__main__":
    main()

"""The long differential run of the waves: released versions as commits, then file by file, and random programs.

`python -m codeanatomy_assets_tests.parity.scip_soak` continues where the same code stopped, and writes
benchmarks/results/scip_soak.{json,md} from all steps that are done. It ends with 1 if anything was missed, or
if one-file commits index more than they may.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from codeanatomy_assets.extraction import scip_index, scip_waves
from codeanatomy_assets_tests.parity import scip_choices, scip_histories, scip_programs
from codeanatomy_assets_tests.parity.scip_histories import Check, Replay, one_file_commits, released_tree
from codeanatomy_assets_tests.parity.soak_record import RESULTS, Progress, Record, releases, revision
from codeanatomy_assets_tests.parity.trees import Tree

SEED = 20261116
OUTSIDE_THE_BOUND = 3
COLD_EVERY = 6
SHOWN = ("bound", "reindexed", "truly_changed")
# What one-file commits to all packages may index: of the files that could see them, and for one that truly changed.
MOST_OF_BOUND = 0.3
MOST_PER_TRULY_CHANGED = 4.0


@dataclass(frozen=True)
class Extent:
    """How much is run: one-file commits of each release, random histories and their steps."""

    commits: int
    histories: int
    steps: int


def code() -> list[Path]:
    driver = sorted(scip_index.DRIVER.glob("*.js"))
    made = (scip_waves, scip_index, scip_programs, scip_choices, scip_histories)
    return [*driver, *(Path(str(each.__file__)) for each in made)]


def run_package(kind: str, name: str, extent: Extent, progress: Progress, deadline: float) -> None:
    """A package's releases, one after the other on one warm indexer."""
    with Chain(name) as chain:
        for place, (old, new) in enumerate(pairwise(releases()[name])):
            key = f"{kind} {name} {old} {new}"
            if key in progress.records or time.monotonic() > deadline:
                continue
            after = released_tree(name, new)
            replay = chain.at(old)
            if kind == "release":
                check = Check(is_cold=place % COLD_EVERY == 0)
                progress.add({**run_step(replay, kind, key, after, check), "package": name})
            else:
                commits = one_file_commits(replay.tree, after, extent.commits, random.Random(f"{SEED} {key}"))
                run_steps(replay, kind, name, key, commits, Check(outside=OUTSIDE_THE_BOUND), progress)
            chain.version = new


class Chain:
    """The replay of one package, opened at the version where it is first needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.version: str | None = None
        self._replay: Replay | None = None
        self._scratch = tempfile.TemporaryDirectory(prefix="codeanatomy-soak-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._replay is not None:
            self._replay.close()
        self._scratch.cleanup()

    def at(self, version: str) -> Replay:
        if self._replay is None or self.version != version:
            if self._replay is not None:
                self._replay.close()
            folder = Path(self._scratch.name) / version
            self._replay = Replay(folder, released_tree(self.name, version), random.Random(version))
        return self._replay


def run_step(replay: Replay, kind: str, key: str, tree: Tree, check: Check) -> Record:
    return {"key": key, "kind": kind, **replay.step(tree, check).counts()}


def run_steps(
    replay: Replay,
    kind: str,
    name: str,
    key: str,
    steps: Iterable[tuple[str, Tree]],
    check: Check,
    progress: Progress,
) -> None:
    """The steps' own lines first, the whole's last: a run cut short in between does them again."""
    for label, tree in steps:
        progress.add({**run_step(replay, kind, f"{key} {label}", tree, check), "package": name})
    zero = {"bound": 0, "reindexed": 0, "truly_changed": 0, "missed": []}
    progress.add({"key": key, "kind": "done", "package": name, **zero})


def run_programs(extent: Extent, progress: Progress, deadline: float) -> None:
    for history in range(extent.histories):
        seed = SEED + history
        key = f"program {seed} {extent.steps}"
        if key in progress.records or time.monotonic() > deadline:
            continue
        programs = scip_programs.Programs(seed)
        with tempfile.TemporaryDirectory(prefix="codeanatomy-soak-") as scratch:
            replay = Replay(Path(scratch) / "tree", programs.tree())
            steps = ((f"{place} {programs.edit()}", programs.tree()) for place in range(extent.steps))
            try:
                run_steps(replay, "program", "synthetic", key, steps, Check(), progress)
            finally:
                replay.close()


def planned(extent: Extent) -> list[str]:
    """The key of each release, of each release file by file, and of each random history: as its last line has it."""
    steps = [(name, old, new) for name, versions in releases().items() for old, new in pairwise(versions)]
    kinds = ("release", "commits") if extent.commits else ("release",)
    keys = [f"{kind} {name} {old} {new}" for kind in kinds for name, old, new in steps]
    return keys + [f"program {SEED + history} {extent.steps}" for history in range(extent.histories)]


def summary(records: Iterable[Record]) -> dict[str, Any]:
    """Per kind and package: sums, and the two ratios, of sums and as means over steps."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        if record["kind"] != "done" and not record["is_refresh"] and not record["key"].endswith("(the rest)"):
            groups[record["kind"], record["package"]].append(record)
            groups[record["kind"], "all"].append(record)
    return {f"{kind} {package}": _figures(found) for (kind, package), found in sorted(groups.items())}


def _figures(records: list[Record]) -> dict[str, Any]:
    sums = {
        name: sum(record[name] for record in records) for name in ("changed", "bound", "reindexed", "truly_changed")
    }
    bounded = [record for record in records if record["bound"]]
    seen_by_others = [record for record in bounded if record["bound"] > record["changed"]]
    to_changed = [record["reindexed"] / max(record["truly_changed"], 1) for record in records]
    rules: dict[str, int] = defaultdict(int)
    for record in records:
        for rule, count in record["rules"].items():
            rules[rule] += count
    return {
        "steps": len(records),
        **sums,
        "missed": sum(len(record["missed"]) for record in records),
        "to_bound": round(sums["reindexed"] / max(sums["bound"], 1), 3),
        "to_bound_mean": _mean_of_bound(bounded, "reindexed"),
        "to_bound_mean_seen": _mean_of_bound(seen_by_others, "reindexed"),
        "least_of_bound": round(sums["truly_changed"] / max(sums["bound"], 1), 3),
        "least_of_bound_mean": _mean_of_bound(bounded, "truly_changed"),
        "to_truly_changed": round(sums["reindexed"] / max(sums["truly_changed"], 1), 2),
        "to_truly_changed_mean": round(sum(to_changed) / max(len(to_changed), 1), 2),
        "rules": dict(sorted(rules.items(), key=lambda pair: -pair[1])),
    }


def _mean_of_bound(records: Sequence[Record], name: str) -> float:
    shares: list[float] = [record[name] / record["bound"] for record in records]
    return round(sum(shares) / max(len(shares), 1), 3)


def too_much(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What one-file commits of all packages index beyond their limits."""
    found = figures.get("commits all")
    if found is None:
        return []
    limits = (
        ("to_bound", MOST_OF_BOUND, "of the bound"),
        ("to_bound_mean_seen", MOST_OF_BOUND, "of the bound, in the mean of commits that other files can see"),
        ("to_truly_changed", MOST_PER_TRULY_CHANGED, "files for one that truly changed"),
        ("to_truly_changed_mean", MOST_PER_TRULY_CHANGED, "files for one that truly changed, in the mean of commits"),
    )
    return [
        f"one-file commits index {found[name]} {what}, at most {most}"
        for name, most, what in limits
        if found[name] > most
    ]


def write_results(progress: Progress, extent: Extent) -> int:
    figures = summary(progress.records.values())
    missed = {key: record["missed"] for key, record in progress.records.items() if record["missed"]}
    beyond = too_much(figures)
    result = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "revision": revision(),
        "code": progress.code,
        "indexer": scip_index.INDEXER,
        "seed": SEED,
        "extent": vars(extent),
        "planned": len(planned(extent)),
        "done": sum(key in progress.records for key in planned(extent)),
        "figures": figures,
        "missed": missed,
        "too_much": beyond,
        "steps": list(progress.records.values()),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "scip_soak.json").write_text(json.dumps(result, indent=0) + "\n", encoding="utf-8")
    (RESULTS / "scip_soak.md").write_text(_page(result), encoding="utf-8")
    print(f"{RESULTS / 'scip_soak.md'}: {sum(map(len, missed.values()))} missed", *beyond, sep="\n")
    return 1 if missed or beyond else 0


def _page(result: dict[str, Any]) -> str:
    columns = ["steps", "changed", "bound", "reindexed", "truly_changed", "missed"]
    ratios = ["to_bound", "least_of_bound", "to_bound_mean", "least_of_bound_mean", "to_bound_mean_seen"]
    ratios += ["to_truly_changed", "to_truly_changed_mean"]
    heads = ["", *columns, "of bound", "least", "mean", "least", "mean, seen", "per truly changed", "mean"]
    lines = [
        "# Waves against indexing everything",
        "",
        f"Written by `python -m codeanatomy_assets_tests.parity.scip_soak` on {result['date']}: revision "
        f"{result['revision']}, code {result['code']}, {result['indexer']}, seed {result['seed']}, {result['extent']}. "
        f"Of {result['planned']} releases, releases file by file and random histories {result['done']} are done.",
        "",
        "`release`: a release as one commit, all files compared. `commits`: releases file by file, every file of the "
        f"bound and {OUTSIDE_THE_BOUND} others compared. `program`: random edits of random programs, all compared. ",
        "Compared are occurrences, resolution fingerprints and interface entries; what differs is missed.",
        "",
        "`of bound`: files indexed again, of those that could see the change through imports, all steps together; "
        "`mean`: the mean of the steps. `least` is what indexing only the files that truly changed would take. `mean, "
        "seen` leaves out steps whose bound has no file but the changed ones: there every way takes the whole bound.",
        "",
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
    ]
    for name, figures in result["figures"].items():
        lines.append(f"| {name} | {' | '.join(str(figures[each]) for each in (*columns, *ratios))} |")
    lines += ["", "Files by the rule that took them into a wave:", ""]
    for name, figures in result["figures"].items():
        if name.endswith(" all"):
            lines.append(f"- {name}: " + ", ".join(f"{rule} {count}" for rule, count in figures["rules"].items()))
    lines += [f"- missed in {key}: {what}" for key, what in result["missed"].items()]
    lines += [
        "",
        f"One-file commits to all packages may take {MOST_OF_BOUND} of the bound and {MOST_PER_TRULY_CHANGED:g} files "
        f"for one that truly changed: {'; '.join(result['too_much']) or 'they do not take more'}.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=8, help="one-file commits of each release (8)")
    parser.add_argument("--histories", type=int, default=20, help="random histories (20)")
    parser.add_argument("--steps", type=int, default=50, help="edits of a random history (50)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start nothing after so many minutes")
    parser.add_argument("packages", nargs="*", help="these only (all that corpora.txt has)")
    given = parser.parse_args()
    extent = Extent(given.commits, given.histories, given.steps)
    progress = Progress("scip", code(), SHOWN, RESULTS / "scip_soak.json")
    deadline = time.monotonic() + given.minutes * 60
    for name in given.packages or releases():
        run_package("release", name, extent, progress, deadline)
        if extent.commits:
            run_package("commits", name, extent, progress, deadline)
    run_programs(extent, progress, deadline)
    return write_results(progress, extent)


if __name__ == "__main__":
    sys.exit(main())

"""The long proof of parity: histories built commit by commit, every dataset of each against a build from scratch.

`python -m codeanatomy_assets_tests.parity.state_soak` continues where the same code stopped, here or wherever it wrote
benchmarks/results/state_soak.{json,md}, and writes them from all steps that are done. It ends with 1 if a row differed
anywhere.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.orchestration.fingerprints import ROOT
from codeanatomy_assets.orchestration.resources import spark_engine
from codeanatomy_assets.settings import STRATEGIES, Settings
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.parity import repositories, scip_choices, scip_programs
from codeanatomy_assets_tests.parity.repositories import Repositories
from codeanatomy_assets_tests.parity.scip_histories import released_tree
from codeanatomy_assets_tests.parity.soak_record import RESULTS, Progress, Record, releases, revision
from codeanatomy_assets_tests.parity.state_histories import StateReplay, StateStep
from codeanatomy_assets_tests.parity.trees import Tree

SEED = 20261116
PACKAGES = ("itsdangerous", "packaging", "requests", "click")
STRATEGY_PACKAGES = ("itsdangerous", "requests")
# What carries rows from a commit to a table, checks left out: of other code, these figures tell nothing.
FOLDERS = ("extraction", "transforms", "rules")
STAGES = ("graph", "impact", "relationships", "repository", "symbols", "syntax")
STORED = ("attempts", "delta_reads", "delta_store", "ledger", "staging", "table_state", "value_lookups")
LOOP = ("impact", "indexing", "following_exports", "stages", "views", "writing_run")
# What a commit may rebuild, at the median of real histories, for one file whose rows truly change.
MOST_REBUILT = 3.0
SHOWN = ("changed", "impacted", "truly_changed", "seconds")


@dataclass(frozen=True)
class Extent:
    """How much is run: random histories, and the commits of each."""

    histories: int
    steps: int


def code() -> list[Path]:
    package = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "checks" not in path.name]
    loop = [ROOT / "storage" / f"{name}.py" for name in STORED]
    loop += [ROOT / "orchestration" / f"{name}.py" for name in LOOP]
    loop += [ROOT / "orchestration" / "assets" / f"{name}.py" for name in STAGES]
    driver = list((ROOT / "extraction" / "scip_driver").glob("*.js"))
    made = [Path(str(module.__file__)) for module in (repositories, scip_programs, scip_choices)]
    return [*sorted([*package, *loop, *driver]), *made]


def record(key: str, kind: str, package: str, step: StateStep, strategy: str = "hybrid") -> Record:
    return {
        "key": key,
        "kind": kind,
        "package": package,
        "strategy": strategy,
        "changed": step.changed,
        "impacted": len(step.impacted),
        "truly_changed": len(step.truly_changed),
        "files": step.files,
        "seconds": round(step.seconds, 1),
        "is_refresh": step.is_refresh,
        "digest": step.digest,
        "clean_digest": step.clean_digest,
        "missed": list(step.complaints())[:6],
    }


def run_history(
    engine: SparkEngine, kind: str, package: str, trees: Iterable[tuple[str, Tree]], progress: Progress, **settings: Any
) -> None:
    """One history in one state, on a warm indexer; steps that are done are built without being compared again."""
    indexer = WarmIndexer()
    with tempfile.TemporaryDirectory(prefix="codeanatomy-soak-") as scratch, closing(indexer):
        replay = StateReplay(Path(scratch), engine, settings, indexer=indexer)
        for key, tree in trees:
            known = progress.records.get(key)
            step = replay.step(tree, is_checked=known is None and kind != "strategy")
            if known is None:
                progress.add(record(key, kind, package, step, replay.state.strategy))
            elif known["digest"] != step.digest:
                raise SystemExit(f"{key} gave other rows than when it was done before: remove {progress.file}")


def histories(extent: Extent) -> Iterator[tuple[str, list[str], Iterator[tuple[str, Tree]]]]:
    for place in range(extent.histories):
        seed = SEED + place
        name = f"seed {seed}"
        yield name, [f"{name} {number}" for number in range(extent.steps)], _random_trees(name, seed, extent.steps)


def _random_trees(name: str, seed: int, steps: int) -> Iterator[tuple[str, Tree]]:
    made = Repositories(seed)
    for number in range(steps):
        if number:
            made.edit()
        yield f"{name} {number}", made.tree()


def _released_trees(prefix: str, package: str) -> Iterator[tuple[str, Tree]]:
    for version in releases()[package]:
        yield f"{prefix} {package} {version}", released_tree(package, version)


@dataclass(frozen=True)
class Job:
    """One history that is run in one state."""

    kind: str
    package: str
    keys: list[str]
    trees: Callable[[], Iterator[tuple[str, Tree]]]
    settings: dict[str, Any] = field(default_factory=dict)


def jobs(extent: Extent, packages: Iterable[str]) -> Iterator[Job]:
    """Random histories first, then releases, then the other strategies over releases."""
    for name, keys, made in histories(extent):
        yield Job("random", name, keys, lambda made=made: made)  # type: ignore[misc]
    for package in packages:
        yield _releases_job("release", package)
    for strategy in (each for each in STRATEGIES if each != Settings.strategy):
        for package in (each for each in packages if each in STRATEGY_PACKAGES):
            yield replace(_releases_job("strategy", package, strategy), settings={"strategy": strategy})


def _releases_job(kind: str, package: str, prefix: str = "release") -> Job:
    keys = [f"{prefix} {package} {version}" for version in releases()[package]]
    return Job(kind, package, keys, lambda: _released_trees(prefix, package))


def run_all(engine: SparkEngine, due: Iterable[Job], progress: Progress, deadline: float) -> None:
    for job in due:
        if time.monotonic() < deadline and any(key not in progress.records for key in job.keys):
            run_history(engine, job.kind, job.package, job.trees(), progress, **job.settings)


def compared_strategies(records: dict[str, Record]) -> list[str]:
    """Steps that a strategy built to other rows than the default did."""
    by_release = {key.partition(" ")[2]: found for key, found in records.items() if found["kind"] == "release"}
    return [
        f"{key}: other rows than {Settings.strategy}"
        for key, found in records.items()
        if found["kind"] == "strategy" and by_release.get(key.partition(" ")[2], found)["digest"] != found["digest"]
    ]


def figures(records: Iterable[Record]) -> dict[str, Any]:
    """Per kind, package and strategy: sums, and how many files were rebuilt for one that truly changed."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for found in records:
        if not found["is_refresh"]:
            for package in {"all"} | ({found["package"]} if found["kind"] != "random" else set()):
                groups[f"{found['kind']} {package} {found['strategy']}"].append(found)
    return {name: _sums(found) for name, found in sorted(groups.items())}


def _sums(records: list[Record]) -> dict[str, Any]:
    ratios = [found["impacted"] / max(found["truly_changed"], 1) for found in records]
    return {
        "commits": len(records),
        **{name: sum(found[name] for found in records) for name in ("changed", "impacted", "truly_changed")},
        "rebuilt_per_truly_changed_median": round(statistics.median(ratios), 2),
        "rebuilt_per_truly_changed_mean": round(statistics.mean(ratios), 2),
        "compared_with_clean": sum(found["clean_digest"] is not None for found in records),
        "differing": sum(bool(found["missed"]) for found in records),
    }


def imprecise(told: dict[str, Any]) -> list[str]:
    """Real histories in which the default strategy rebuilt too many files."""
    default = {name: found for name, found in told.items() if name == f"release all {Settings.strategy}"}
    return [
        f"{name}: {median} files rebuilt for one that truly changed, at the median, of at most {MOST_REBUILT}"
        for name, found in default.items()
        if (median := found["rebuilt_per_truly_changed_median"]) > MOST_REBUILT
    ]


def write_results(progress: Progress, extent: Extent) -> int:
    differing = [f"{key}: {found['missed']}" for key, found in progress.records.items() if found["missed"]]
    differing += compared_strategies(progress.records)
    told = figures(progress.records.values())
    wrong = [*differing, *imprecise(told)]
    result = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "revision": revision(),
        "code": progress.code,
        "seed": SEED,
        "extent": vars(extent),
        "planned": sum(len(job.keys) for job in jobs(extent, PACKAGES)),
        "edits": dict(_edits(extent, progress.records).most_common()),
        "figures": told,
        "differing": differing,
        "wrong": wrong,
        "steps": list(progress.records.values()),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "state_soak.json").write_text(json.dumps(result, indent=0) + "\n", encoding="utf-8")
    (RESULTS / "state_soak.md").write_text(_page(result), encoding="utf-8")
    print(f"{len(progress.records)} commits, {len(differing)} differing", flush=True)
    return 1 if wrong else 0


def _edits(extent: Extent, records: dict[str, Record]) -> Counter[str]:
    """The kinds of edit in the random commits that were done."""
    done: Counter[str] = Counter()
    for place, (_, keys, _) in enumerate(histories(extent)):
        made = Repositories(SEED + place)
        for key in keys[1:]:
            if key in records:
                made.edit()
        done.update(made.done)
    return done


def _page(result: dict[str, Any]) -> str:
    columns = ("commits", "changed", "impacted", "truly_changed", "compared_with_clean", "differing")
    ratios = ("rebuilt_per_truly_changed_median", "rebuilt_per_truly_changed_mean")
    heads = ("", *columns, "rebuilt per truly changed, median", "mean")
    lines = [
        "# Every dataset against a build from scratch",
        "",
        f"Written by `python -m codeanatomy_assets_tests.parity.state_soak` on {result['date']}: revision "
        f"{result['revision']}, code {result['code']}, seed {result['seed']}, {result['extent']}. Of "
        f"{result['planned']} commits {len(result['steps'])} are done.",
        "",
        "`random`: random commits to random repositories of some forty modules in four packages; `rename` gives a "
        "definition another name, `move` a module, `revert` takes back one file, `branch` the whole tree. A module "
        "under a name of the standard library and moved source roots are among the named histories "
        "(`parity/test_impact_histories.py`), not here. `release`: "
        "released versions of a package as commits. Each is built on the state of the one before and compared, "
        "row by row in every dataset that is owned by file, with a build from scratch; a file with other rows "
        "than before that no reason names counts as differing too. `strategy`: the same releases under another "
        "strategy, compared with the rows that the default gave. Commits that rebuilt everything (the first of a "
        "history, moved source roots) are compared as well, and left out of this table. A tree that comes again in a "
        "history is compared with the clean build that it had.",
        "",
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
    ]
    for name, found in result["figures"].items():
        lines.append(f"| {name} | {' | '.join(str(found[each]) for each in (*columns, *ratios))} |")
    told = ", ".join(f"{kind} {count}" for kind, count in result["edits"].items())
    lines += ["", f"Edits in the random histories: {told or 'none was done'}.", ""]
    lines += [f"- wrong: {each}" for each in result["wrong"]] or ["Nothing differed."]
    return "\n".join(lines) + "\n"


def _progress() -> Progress:
    return Progress("state", code(), SHOWN, RESULTS / "state_soak.json")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=20, help="random histories (20)")
    parser.add_argument("--steps", type=int, default=16, help="commits of a random history (16)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no history after so many minutes")
    parser.add_argument("--share", default="1/1", help="K/N: every N-th history, from the K-th on, for N processes")
    parser.add_argument("packages", nargs="*", default=list(PACKAGES), help=f"these only ({', '.join(PACKAGES)})")
    given = parser.parse_args()
    extent = Extent(given.histories, given.steps)
    progress = _progress()
    with tempfile.TemporaryDirectory(prefix="codeanatomy-soak-engine-") as scratch:
        engine = spark_engine(Settings(state=Path(scratch)))
        try:
            share, of = map(int, given.share.split("/"))
            due = list(jobs(extent, given.packages))[share - 1 :: of]
            run_all(engine, due, progress, time.monotonic() + given.minutes * 60)
        finally:
            engine.stop()
            code_of_result = write_results(_progress(), extent)
    return code_of_result


if __name__ == "__main__":
    sys.exit(main())

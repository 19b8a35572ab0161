"""The crash matrix: builds killed at every named place, one state after the other repaired and compared.

`python -m codeanatomy_assets_tests.crashes.matrix` continues where the same code stopped, and writes
benchmarks/results/crash_matrix.{json,md} from all kills that are done. It ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES, ROOT
from codeanatomy_assets.orchestration.resources import spark_engine
from codeanatomy_assets.settings import Settings
from codeanatomy_assets_tests.crashes.crash_site import CrashSite, Kill, Outcome
from codeanatomy_assets_tests.crashes.killed_command import ALONE, GROUP, LIGHT, SPARK
from codeanatomy_assets_tests.parity import state_soak
from codeanatomy_assets_tests.parity.soak_record import RESULTS, Progress, Record, revision

SEED = 20261116
SHOWN = ("landed", "restored", "reasons_found_again", "seconds")
# A moment that comes when the stage is over is halved and tried again.
MOST_TRIES = 4
# About how long a stage of so small an update takes: a moment inside is drawn from it.
STAGE_SECONDS = {"repository": 1.5, "syntax": 2.0, "symbols": 4.0, "impact": 1.0, "relationships": 5.0, "graph": 3.0}
LIGHT_TABLES = ("repo_snapshot", "cst_name_refs", "scip_occurrences", "relationships", "cpg_edges", "graph_commits")
SPARK_TABLES = ("repo_snapshot", "cst_defs", "scip_symbols", "relationships", "cpg_nodes", "cpg_props")


def kills(seed: int = SEED) -> list[Kill]:
    """All kills in their order: every fourth of Python alone, HEAD moved in half of them, of either mode and place."""
    chance = random.Random(seed)
    stages = [stage.value for stage in BUILT_STAGES]
    listed = [
        *(Kill(place) for place in ("locked", "fetched", "recovered")),
        *(Kill(f"{side}:{stage}") for stage in stages for side in ("before", "after")),
        *(Kill(place) for place in ("profiles", "before_ledger", "after_ledger", "before_events", "reconciled")),
        *(Kill(f"data_files:{table}", way=LIGHT) for table in LIGHT_TABLES),
        *(Kill(f"data_files:{table}", way=SPARK) for table in SPARK_TABLES),
        *(Kill(place, earlier="before_ledger") for place in ("restore", "restored_one", "restored_all")),
        Kill("restored_three", earlier="after:graph"),
        *(Kill(place) for place in ("checkout_emptied", "checkout_half", "checkout_manifest")),
        *(
            Kill(f"inside:{stage}", way=way, delay=round(chance.uniform(0, STAGE_SECONDS[stage]), 2))
            for way in (LIGHT, SPARK)
            for stage in stages
        ),
        *(Kill(place) for place in ("vacuum_row", "vacuum_files", "vacuum_ledger")),
        Kill("after:syntax", is_first_build=True),
        Kill("data_files:cst_defs", way=SPARK, is_first_build=True),
        Kill("inside:symbols", delay=round(chance.uniform(0, STAGE_SECONDS["symbols"]), 2), is_first_build=True),
        Kill("before_ledger", is_first_build=True),
    ]
    return [
        replace(kill, mode=ALONE if number % 4 == 3 else GROUP, head_moves=(number + number // 4) % 2 == 0)
        for number, kill in enumerate(listed)
    ]


def code() -> list[Path]:
    """What a kill's outcome depends on: all that makes rows, writes them, repairs them and is told of the run."""
    storage = sorted((ROOT / "storage").glob("*.py"))
    runs = [ROOT / "orchestration" / f"{name}.py" for name in ("build", "resources", "stuck_runs", "vacuum")]
    crashes = [path for path in sorted(Path(__file__).parent.glob("*.py")) if not path.name.startswith("test_")]
    return list(dict.fromkeys([*state_soak.code(), *storage, *runs, *crashes]))


def run(progress: Progress, seed: int, share: slice, deadline: float) -> None:
    """The kills of a share that are not done yet, in one state; after anything wrong, in a new one."""
    listed = list(enumerate(kills(seed)))[share]
    due = [(number, kill) for number, kill in listed if key_of(number, kill) not in progress.records]
    with tempfile.TemporaryDirectory(prefix="codeanatomy-crashes-") as scratch:
        engine = spark_engine(Settings(state=Path(scratch) / "engine"))
        site: CrashSite | None = None
        try:
            for number, kill in due:
                if time.monotonic() > deadline:
                    return
                site = site or CrashSite.create(Path(scratch) / f"from-{number}", engine, f"{seed} {number}")
                outcome = suffered(site, kill)
                progress.add(record(number, outcome))
                if outcome.wrong:
                    site = None
        finally:
            engine.stop()


def suffered(site: CrashSite, kill: Kill) -> Outcome:
    """A kill where it was meant to be; what went wrong on the way there is wrong too."""
    wrong: list[str] = []
    for _ in range(MOST_TRIES):
        outcome = site.suffer(kill)
        wrong += outcome.wrong
        if outcome.fell_where_meant or wrong:
            break
        kill = replace(kill, delay=round(kill.delay / 2, 2))
    else:
        wrong.append(f"{MOST_TRIES} kills, and none came while the stage was at work")
    return replace(outcome, wrong=wrong)


def key_of(number: int, kill: Kill) -> str:
    return f"{number} {kill.name}"


def record(number: int, outcome: Outcome) -> Record:
    told = {name: value for name, value in asdict(outcome).items() if name not in ("kill", "wrong")}
    return {"key": key_of(number, outcome.kill), **asdict(outcome.kill), **told, "missed": outcome.wrong}


def write_results(progress: Progress, seed: int) -> int:
    planned = [key_of(number, kill) for number, kill in enumerate(kills(seed))]
    done = [progress.records[key] for key in planned if key in progress.records]
    wrong = sum(bool(each["missed"]) for each in done)
    result = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "revision": revision(),
        "code": progress.code,
        "seed": seed,
        "planned": len(planned),
        "killed": len(done),
        "wrong": wrong,
        "steps": done,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "crash_matrix.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "crash_matrix.md").write_text(page(result), encoding="utf-8")
    print(f"{len(done)} of {len(planned)} kills, {wrong} with a wrong end", flush=True)
    return 1 if wrong else 0


def page(result: Record) -> str:
    heads = ["place", "rows go", "killed", "HEAD moved", "what it met", "tables restored", "outcome"]
    lines = [
        "# Crash matrix",
        "",
        f"Written by `python -m codeanatomy_assets_tests.crashes.matrix` on {result['date']}: revision "
        f"{result['revision']}, code {result['code']}, seed {result['seed']}.",
        "",
        f"{result['killed']} of {result['planned']} kills done, {result['wrong']} with a wrong end. After each: the",
        "last built commit reads as before; the next build ends at HEAD, equal to a clean build in every dataset; the",
        "build after that is a no-op; no process, lock, scratch file or Dagster run is stuck; reasons that the killed",
        "build had written are found again by the one that repeats it. A moment inside a stage is one: a kill that",
        "came when the stage was over is tried again earlier. The places are told in docs/robustness.md.",
        "",
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
    ]
    lines += [f"| {' | '.join(_cells(record))} |" for record in result["steps"]]
    return "\n".join(lines) + "\n"


def _cells(record: Record) -> Iterable[str]:
    yield record["place"] + (f", after a kill at {record['earlier']}" if record["earlier"] else "")
    yield record["way"]
    yield {GROUP: "the group", ALONE: "Python alone"}[record["mode"]] + (
        f", {record['delay']} s into the stage" if record["delay"] else ""
    )
    yield "yes" if record["head_moves"] else "no"
    met = ["a first build"] if record["is_first_build"] else []
    met += ["the commit was built"] if record["is_commit_built"] and not record["place"].startswith("vacuum") else []
    found_again = record["reasons_found_again"]
    met += [f"{found_again} reasons, found again"] if found_again else []
    count = record["unnamed_data_files"]
    met += [f"{count} data files that no log names"] if count else []
    yield ", ".join(met)
    yield str(record["restored"] or "")
    yield "; ".join(record["missed"]).replace("|", "\\|").replace("\n", " ")[:300] or "right"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the edits and the random moments ({SEED})")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no kill after so many minutes")
    parser.add_argument("--share", default="1/1", help="K/N: every N-th kill, from the K-th on, for N processes")
    given = parser.parse_args()
    place, of = map(int, given.share.split("/"))
    try:
        run(_progress(given.seed), given.seed, slice(place - 1, None, of), time.monotonic() + given.minutes * 60)
    finally:
        # Of all that is done, by whichever process.
        wrong = write_results(_progress(given.seed), given.seed)
    return wrong


def _progress(seed: int) -> Progress:
    return Progress(f"crashes-{seed}", code(), SHOWN, RESULTS / "crash_matrix.json")


if __name__ == "__main__":
    sys.exit(main())

"""A hundred updates in a row, in the loop that `watch` runs: still equal to a clean build, and still small.

`python -m codeanatomy_assets_tests.parity.long_history` writes benchmarks/results/long_history.{json,md}, unless this
very code has written them. It ends with 1 if a row differs, a partition key is missing or left over, or the vacuumed
state is too large.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.orchestration.build import Project, opened_project, update_request
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.partitions import CONTROL_KEYS, FILES
from codeanatomy_assets.orchestration.plan import decide, open_ledger
from codeanatomy_assets.orchestration.resources import spark_engine
from codeanatomy_assets.orchestration.vacuum import vacuum
from codeanatomy_assets.orchestration.verify import verified
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.retention import Retention
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.parity import state_soak
from codeanatomy_assets_tests.parity.repositories import Repositories
from codeanatomy_assets_tests.parity.soak_record import RESULTS, code_digest, revision
from codeanatomy_assets_tests.parity.trees import Tree, write_tree
from codeanatomy_assets_tests.states import Quiet

SEED = 20261118
UPDATES = 100
MOST_TIMES_CLEAN = 3.0
ONLY_THE_LAST = Retention(commits=1, days=0, grace_hours=0)


@dataclass(frozen=True)
class Sizes:
    """Bytes of a state, without Dagster's record of its runs, and of that record."""

    state: int
    record: int

    @classmethod
    def of(cls, settings: Settings) -> Sizes:
        home = StateFolder(settings.state).dagster_home
        files = [path for path in settings.state.rglob("*") if path.is_file() and not path.is_symlink()]
        recorded = sum(path.stat().st_size for path in files if path.is_relative_to(home))
        return cls(sum(path.stat().st_size for path in files) - recorded, recorded)


def replay(folder: Path, engine: SparkEngine, seed: int, updates: int) -> dict[str, Any]:
    """The history, and what came of it."""
    repo = GitRepo.create(folder / "repo")
    settings, made = Settings(repo=repo.folder, state=folder / "state"), Repositories(seed)
    seconds, keys = _updates(repo, settings, engine, made, updates)
    files = {identity.FILE.of(settings.repo_id, path) for path in made.tree()}
    grown, built = Sizes.of(settings), open_ledger(settings).resolve(None)
    clean_settings = replace(settings, state=folder / "clean")
    clean = build_directly(clean_settings, engine, Quiet())
    vacuum(settings, Quiet(), ONLY_THE_LAST)
    return {
        "updates": updates,
        "edits": dict(Counter(made.done).most_common()),
        "files": len(files),
        "seconds": {"first": _mean(seconds[1:11]), "last": _mean(seconds[-10:])},
        "differences": {
            "updated": _differences(built, clean),
            "vacuumed": _differences(open_ledger(settings).resolve(None), clean),
        },
        "keys": {"missing": len(files - keys), "left_over": len(keys - files)},
        "bytes": {
            "grown": grown.state,
            "vacuumed": Sizes.of(settings).state,
            "clean": Sizes.of(clean_settings).state,
            "dagster_record": grown.record,
        },
    }


def _updates(
    repo: GitRepo, settings: Settings, engine: SparkEngine, made: Repositories, updates: int
) -> tuple[list[float], set[str]]:
    """Seconds of each update, and the partition keys that are left."""
    present: Tree = {}
    seconds: list[float] = []
    with (
        closing(StateLock(settings.state)) as lock,
        closing(WarmIndexer()) as indexer,
        opened_project(settings, Quiet(), lambda: engine, lock, indexer) as project,
    ):
        for number in range(updates + 1):
            told = made.edit() if number else "first"
            write_tree(repo.folder, present, made.tree())
            present = dict(made.tree())
            repo.commit()
            seconds.append(_build(project, settings))
            print(f"{number}: {told}: {seconds[-1]:.1f} s", flush=True)
        return seconds, set(project.instance.get_dynamic_partitions(str(FILES.name))) - set(CONTROL_KEYS)


def _differences(built: LedgerRow, clean: LedgerRow) -> list[str]:
    return [line for each in verified(built, clean).differences for line in each.lines()]


def _build(project: Project, settings: Settings) -> float:
    plan, began = decide(settings), time.monotonic()
    if plan.mode != "noop":
        project.run_update(update_request(plan))
    return time.monotonic() - began


def _mean(seconds: list[float]) -> float:
    return round(sum(seconds) / max(len(seconds), 1), 1)


def complaints(found: dict[str, Any]) -> list[str]:
    told = [f"{when}: {line}" for when, lines in found["differences"].items() for line in lines]
    told += [f"{count} partition keys {which}" for which, count in found["keys"].items() if count]
    times = found["bytes"]["vacuumed"] / found["bytes"]["clean"]
    return told + ([f"vacuumed, it is {times:.2f} times a clean state"] if times > MOST_TIMES_CLEAN else [])


def is_done(code: str, seed: int, updates: int) -> bool:
    """Whether this code has done it, here or elsewhere, and nothing was wrong."""
    file = RESULTS / "long_history.json"
    if not file.is_file():
        return False
    known = json.loads(file.read_text(encoding="utf-8"))
    return (known["code"], known["seed"], known["found"]["updates"], known["wrong"]) == (code, seed, updates, [])


def page(result: dict[str, Any]) -> str:
    found = result["found"]
    sizes = {name: f"{count / 1e6:.1f} MB" for name, count in found["bytes"].items()}
    times = {name: found["bytes"][name] / found["bytes"]["clean"] for name in ("grown", "vacuumed")}
    differing = ", ".join(str(len(lines)) for lines in found["differences"].values())
    edits = ", ".join(f"{kind} {count}" for kind, count in found["edits"].items())
    lines = [
        "# A hundred updates in a row",
        "",
        f"Written by `python -m codeanatomy_assets_tests.parity.long_history` on {result['date']}: revision "
        f"{result['revision']}, code {result['code']}, seed {result['seed']}.",
        "",
        f"{found['updates']} random commits to a repository of {found['files']} files, each a run of `update_job` in "
        "one warm process, as `codeanatomy watch` makes it; then a clean build of the last, and a vacuum that keeps "
        "one commit.",
        "",
        "| | |",
        "|---|---|",
        f"| rows that differ from the clean build, after the updates, after the vacuum | {differing} |",
        f"| partition keys missing, left over | {found['keys']['missing']}, {found['keys']['left_over']} |",
        f"| state of a clean build | {sizes['clean']} |",
        f"| after the updates | {sizes['grown']}, {times['grown']:.2f} times |",
        f"| vacuumed | {sizes['vacuumed']}, {times['vacuumed']:.2f} times |",
        f"| Dagster's record of the runs, not counted above | {sizes['dagster_record']} |",
        f"| seconds an update, first ten and last ten | {found['seconds']['first']}, {found['seconds']['last']} |",
        "",
        f"Edits: {edits}.",
        "",
        *([f"- wrong: {each}" for each in result["wrong"]] or ["Nothing was wrong."]),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the history ({SEED})")
    parser.add_argument("--updates", type=int, default=UPDATES, help=f"how many ({UPDATES})")
    given = parser.parse_args()
    code = code_digest(state_soak.code())
    if is_done(code, given.seed, given.updates):
        print(f"{RESULTS / 'long_history.md'} is of this code", flush=True)
        return 0
    with tempfile.TemporaryDirectory(prefix="codeanatomy-long-") as scratch:
        engine = spark_engine(Settings(state=Path(scratch) / "engine"))
        try:
            found = replay(Path(scratch), engine, given.seed, given.updates)
        finally:
            engine.stop()
    result = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "revision": revision(),
        "code": code,
        "seed": given.seed,
        "found": found,
        "wrong": complaints(found),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "long_history.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "long_history.md").write_text(page(result), encoding="utf-8")
    print(f"{given.updates} updates: {result['wrong'] or 'nothing wrong'}", flush=True)
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())

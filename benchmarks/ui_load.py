"""The Dagster UI's pages in a browser, with 5,000 keys and 100 runs of history, beside an empty instance."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from playwright.sync_api import Page, Request

from benchmarks.results_file import FOLDER, write_result
from codeanatomy_assets.orchestration.build import dagster_instance, write_instance_config
from codeanatomy_assets.orchestration.event_storage import record_materializations
from codeanatomy_assets.orchestration.partitions import IMPACTED, reconcile
from codeanatomy_assets.orchestration.project import build_definitions
from codeanatomy_assets.orchestration.resources import UPDATE_JOB
from codeanatomy_assets.settings import Settings, to_environment
from codeanatomy_assets_tests.browser import chromium
from codeanatomy_assets_tests.browser.served_project import end
from codeanatomy_assets_tests.orchestration.test_served_ui import LOCATION, answer, free_port, until

KEYS = 5_000
RUNS = 100
REPEATS = 7
START_SECONDS = 180
LOAD_SECONDS = 120
# A page that asked for nothing in this time has what it shows.
QUIET_SECONDS = 1.0
TARGET = 2.0
ASSET = "cst_defs"
# Each page with a text that is on it when it is there.
PAGES = {
    "asset catalog": ("/assets", "cpg_edges"),
    "partitioned asset": (f"/assets/{ASSET}", "Definition"),
    "its partitions": (f"/assets/{ASSET}?view=partitions", "Partitions"),
    "its events": (f"/assets/{ASSET}?view=events", "Filter"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=KEYS, help=f"partition keys ({KEYS})")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs in the history ({RUNS})")
    told = parser.parse_args()
    program = chromium.executable()
    if program is None:
        sys.exit(chromium.MISSING)
    with tempfile.TemporaryDirectory() as folder:
        states = {name: Settings(state=Path(folder, name)) for name in ("empty", "history")}
        events = {
            "empty": _recorded(states["empty"], 0, 0),
            "history": _recorded(states["history"], told.keys, told.runs),
        }
        with ExitStack() as served:
            ports = {name: served.enter_context(_served(settings)) for name, settings in states.items()}
            loads = _loads(program, ports)
    pages = {page: _compared(seconds) for page, seconds in loads.items()}
    path = write_result(
        "ui_load",
        "python -m benchmarks.ui_load",
        {
            "keys": told.keys,
            "runs": told.runs,
            "events": events,
            "repeats": REPEATS,
            "pages": pages,
            "target": f"every ratio at most {TARGET:g}",
            "is_met": all(page["ratio"] <= TARGET for page in pages.values()),
        },
    )
    (FOLDER / "ui_load.md").write_text(_told(told.keys, told.runs, events["history"], pages))
    print(path.read_text())


def _recorded(settings: Settings, keys: int, runs: int) -> int:
    """Runs of an update as Dagster records them, each over its share of the files; the number of events."""
    settings.state.mkdir(parents=True)
    with dagster_instance(settings) as instance:
        file_ids = [f"file_{number:032x}" for number in range(keys)]
        reconcile(instance, set(file_ids))
        for number in range(runs):
            _run(instance, settings, file_ids[number::runs])
        return sum(
            instance.event_log_storage.get_stats_for_run(run.run_id).materializations for run in instance.get_runs()
        )


def _run(instance: dg.DagsterInstance, settings: Settings, file_ids: Sequence[str]) -> None:
    real = build_definitions(settings).assets or []
    stages = [_stand_in(assets, file_ids) for assets in real if isinstance(assets, dg.AssetsDefinition)]
    job = dg.define_asset_job(UPDATE_JOB, dg.AssetSelection.all())
    definitions = dg.Definitions(assets=stages, jobs=[job], executor=dg.in_process_executor)
    definitions.resolve_job_def(UPDATE_JOB).execute_in_process(
        instance=instance,
        partition_key=IMPACTED,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )


def _stand_in(real: dg.AssetsDefinition, file_ids: Sequence[str]) -> dg.AssetsDefinition:
    """A stage with the project's own assets and checks, which records these files and computes nothing."""
    specs, checks = list(real.specs), list(real.check_specs)
    told: dict[str, Any] = {"commit": "0" * 40, "delta_version": 7}

    @dg.multi_asset(name=real.op.name, specs=specs, check_specs=checks, partitions_def=real.partitions_def)
    def stage(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        if real.partitions_def is not None:
            for spec in specs:
                record_materializations(context, spec.key.to_user_string(), file_ids, told)
        for spec in specs:
            passed = [
                dg.AssetCheckResult(passed=True, asset_key=spec.key, check_name=check.name)
                for check in checks
                if check.asset_key == spec.key
            ]
            yield dg.MaterializeResult(asset_key=spec.key, metadata=told, check_results=passed)

    return stage


@contextmanager
def _served(settings: Settings) -> Iterator[int]:
    """The UI alone, without the daemon: nothing runs while pages load."""
    home, port = write_instance_config(settings), free_port()
    command = [sys.executable, "-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port), "-m", LOCATION]
    process = subprocess.Popen(
        command,
        cwd=home,
        env={**to_environment(settings), "DAGSTER_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert until(lambda: answer(port, "{ version }") is not None, START_SECONDS)
        yield port
    finally:
        end(process)


def _loads(program: str, ports: dict[str, int]) -> dict[str, dict[str, list[float]]]:
    """Seconds of every load, by page and instance; the instances take turns, a first round warms both."""
    found: dict[str, dict[str, list[float]]] = {page: {name: [] for name in ports} for page in PAGES}
    with chromium.launched(program) as browser, ExitStack() as stack:
        tabs = {
            name: stack.enter_context(chromium.opened(browser, f"http://127.0.0.1:{port}"))
            for name, port in ports.items()
        }
        for number in range(REPEATS + 1):
            for page, (address, text) in PAGES.items():
                for name, tab in tabs.items():
                    seconds = _loaded(tab, address, text)
                    if number:
                        found[page][name].append(seconds)
    return found


def _loaded(tab: Page, address: str, text: str) -> float:
    """From the navigation to the last answer that the page waited for."""
    waiting: set[Request] = set()
    last = [time.monotonic()]

    def asked(request: Request) -> None:
        waiting.add(request)

    def ended(request: Request) -> None:
        waiting.discard(request)
        last[0] = time.monotonic()

    tab.on("request", asked)
    tab.on("requestfinished", ended)
    tab.on("requestfailed", ended)
    began = time.monotonic()
    try:
        tab.goto(address)
        tab.get_by_text(text).first.wait_for()
        while (waiting or time.monotonic() - last[0] < QUIET_SECONDS) and time.monotonic() - began < LOAD_SECONDS:
            tab.wait_for_timeout(50)
        assert tab.locator(chromium.SPINNERS).count() == 0, f"{address} still loads after {LOAD_SECONDS} s"
    finally:
        tab.remove_listener("request", asked)
        tab.remove_listener("requestfinished", ended)
        tab.remove_listener("requestfailed", ended)
    return last[0] - began


def _compared(seconds: dict[str, list[float]]) -> dict[str, Any]:
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    return {
        "seconds_empty": round(medians["empty"], 2),
        "seconds_history": round(medians["history"], 2),
        "ratio": round(medians["history"] / medians["empty"], 2),
        "loads": {name: [round(one, 2) for one in each] for name, each in seconds.items()},
    }


def _told(keys: int, runs: int, events: int, pages: dict[str, dict[str, Any]]) -> str:
    lines = [
        "# Pages of the Dagster UI with a history",
        "",
        f"Written by `python -m benchmarks.ui_load`: {keys:,} partition keys, {runs} runs and {events:,} "
        f"materializations beside an instance without any, in Chromium, on {len(os.sched_getaffinity(0))} cores. "
        "Seconds from the navigation to the last answer that the page waited for, medians of "
        f"{REPEATS} loads in turns after a first.",
        "",
        "| page | empty, s | history, s | ratio |",
        "|---|---|---|---|",
        *(
            f"| {name} | {page['seconds_empty']} | {page['seconds_history']} | {page['ratio']} |"
            for name, page in pages.items()
        ),
        "",
        f"Target: every ratio at most {TARGET:g}.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

"""What Dagster's bookkeeping of an update costs in the state's own storage, against the stock SQLite storage."""

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.instance import InstanceRef

from benchmarks.results_file import write_result
from codeanatomy_assets.orchestration.build import PROJECT_FOLDER
from codeanatomy_assets.orchestration.event_storage import record_materializations
from codeanatomy_assets.orchestration.partitions import FILES, IMPACTED

STEPS = 7
ASSETS_PER_STEP = 5
FILES_REBUILT = 500
# The stock storage takes minutes for 500: its cost per event does not depend on their number.
FILES_REBUILT_STOCK = 20
REPEATS = 3
STORAGES: dict[str, Callable[[str], dict[str, Any]]] = {
    "stock": lambda home: {"sqlite": {"base_dir": home}},
    "batched": lambda home: {
        "custom": {
            "module": "codeanatomy_assets.orchestration.event_storage",
            "class": "StateStorage",
            "config": {"base_dir": home},
        }
    },
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        homes = {storage: Path(folder, storage) for storage in STORAGES}
        for storage, home in homes.items():
            _in_new_process(storage, home, 1)  # making the databases happens once in a state's life
        small = {
            storage: [_in_new_process(storage, home, 1) for _ in range(REPEATS)] for storage, home in homes.items()
        }
        stock = _in_new_process("stock", homes["stock"], FILES_REBUILT_STOCK)
        batched = _in_new_process("batched", homes["batched"], FILES_REBUILT)
    assets = STEPS * ASSETS_PER_STEP
    per_event = {
        "stock": _milliseconds_per_event(stock, small["stock"], FILES_REBUILT_STOCK),
        "batched": _milliseconds_per_event(batched, small["batched"], FILES_REBUILT),
    }
    path = write_result(
        "dagster_bookkeeping",
        "python -m benchmarks.dagster_bookkeeping",
        {
            "assets": assets,
            "steps": STEPS,
            "files_rebuilt": FILES_REBUILT,
            "cpu_seconds_batched": round(batched["run_cpu"], 2),
            "cpu_seconds_stock_extrapolated": round(
                _median(small["stock"], "run_cpu") + per_event["stock"] * assets * FILES_REBUILT / 1000
            ),
            "files_rebuilt_stock": FILES_REBUILT_STOCK,
            "cpu_seconds_stock": round(stock["run_cpu"], 2),
            "milliseconds_per_event": {storage: round(cost, 2) for storage, cost in per_event.items()},
            "one_file_run": {
                storage: {figure: round(_median(runs, figure), 2) for figure in ("run_cpu", "run_wall")}
                for storage, runs in small.items()
            },
            "opening_the_instance": {
                storage: {figure: round(_median(runs, figure), 2) for figure in ("open_cpu", "open_wall")}
                for storage, runs in small.items()
            },
            "target": "under 10 CPU s",
        },
    )
    print(path.read_text())


def _median(runs: list[dict[str, float]], figure: str) -> float:
    return statistics.median(run[figure] for run in runs)


def _milliseconds_per_event(run: dict[str, float], small: list[dict[str, float]], files: int) -> float:
    beyond_one_file = STEPS * ASSETS_PER_STEP * (files - 1)
    return (run["run_cpu"] - _median(small, "run_cpu")) / beyond_one_file * 1000


def _in_new_process(storage: str, home: Path, files: int) -> dict[str, float]:
    """As the command does it: import Dagster, open the instance, run once. Imports are not counted."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_open_and_run, storage, str(home), files).result()


def _open_and_run(storage: str, home: str, files: int) -> dict[str, float]:
    Path(home).mkdir(exist_ok=True)
    reference = InstanceRef.from_dir(
        home, config_dir=str(PROJECT_FOLDER), overrides={"storage": STORAGES[storage](home)}
    )
    cpu, wall = time.process_time(), time.monotonic()
    with dg.DagsterInstance.from_ref(reference) as instance:
        opened = {"open_cpu": time.process_time() - cpu, "open_wall": time.monotonic() - wall}
        instance.add_dynamic_partitions(str(FILES.name), [IMPACTED, *_file_ids(files)])
        job = _definitions(storage, files).resolve_job_def("update")
        cpu, wall = time.process_time(), time.monotonic()
        job.execute_in_process(
            instance=instance,
            partition_key=IMPACTED,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        return opened | {"run_cpu": time.process_time() - cpu, "run_wall": time.monotonic() - wall}


def _file_ids(files: int) -> list[str]:
    return [f"{number:032x}" for number in range(files)]


def _definitions(storage: str, files: int) -> dg.Definitions:
    return dg.Definitions(
        assets=[_step(number, storage, files) for number in range(STEPS)],
        jobs=[dg.define_asset_job("update", dg.AssetSelection.all())],
        executor=dg.in_process_executor,
    )


def _step(number: int, storage: str, files: int) -> dg.AssetsDefinition:
    """A stage that computes nothing and records every file for each of its assets."""
    names = [f"asset_{number}_{position}" for position in range(ASSETS_PER_STEP)]
    above = [f"asset_{number - 1}_{position}" for position in range(ASSETS_PER_STEP)] if number else []

    @dg.multi_asset(
        name=f"stage_{number}",
        specs=[dg.AssetSpec(name, deps=above, skippable=True, code_version="1") for name in names],
        partitions_def=FILES,
        backfill_policy=dg.BackfillPolicy.single_run(),
        can_subset=True,
    )
    def step(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        metadata: dict[str, Any] = {"commit": "0" * 40, "delta_version": 7}
        keys = _file_ids(files)
        for name in names:
            if storage == "batched":
                record_materializations(context, name, keys, metadata)
            else:
                for key in keys:
                    context.log_event(dg.AssetMaterialization(name, partition=key, metadata=metadata))
        for name in names:
            yield dg.MaterializeResult(asset_key=name, metadata=metadata)

    return step


if __name__ == "__main__":
    main()

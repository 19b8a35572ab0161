"""Dagster's storage of a state: batches, several processes, kills, and what the stock storage left. No Spark."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.events import (
    AssetMaterializationPlannedData,
    AssetObservationData,
    DagsterEvent,
    DagsterEventType,
    StepMaterializationData,
)
from dagster._core.events.log import EventLogEntry
from dagster._core.instance import InstanceRef
from dagster._core.storage.event_log.base import EventLogStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage

from codeanatomy_assets.orchestration.build import dagster_instance, write_instance_config
from codeanatomy_assets.orchestration.event_storage import (
    EVENTS,
    BatchedEventLog,
    KeptRunStorage,
    StateStorage,
    record_materializations,
)
from codeanatomy_assets.orchestration.partitions import CONTROL_KEYS, FILES, IMPACTED, reconcile
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.state_folder import StateFolder

ASSETS = ("cst_defs", "cst_calls")
KEYS = [f"file{number}" for number in range(50)]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state=tmp_path / "state")


@pytest.fixture
def instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    with dagster_instance(settings) as instance:
        yield instance


def event(kind: DagsterEventType, asset: str, data: Any, second: int) -> EventLogEntry:
    return EventLogEntry(  # type: ignore[no-untyped-call]
        error_info=None,
        level=10,
        user_message="",
        run_id="a-run",
        timestamp=1_700_000_000.0 + second,
        step_key="stage",
        job_name="job",
        dagster_event=DagsterEvent(kind.value, "job", step_key="stage", event_specific_data=data),
    )


def materialized(asset: str, key: str | None, second: int = 0, **tags: str) -> EventLogEntry:
    materialization = dg.AssetMaterialization(asset, partition=key, metadata={"commit": "abc"}, tags=tags or None)
    return event(DagsterEventType.ASSET_MATERIALIZATION, asset, StepMaterializationData(materialization), second)


def planned(asset: str, key: str, second: int) -> EventLogEntry:
    data = AssetMaterializationPlannedData(dg.AssetKey(asset), partition=key)
    return event(DagsterEventType.ASSET_MATERIALIZATION_PLANNED, asset, data, second)


def observed(asset: str, key: str, second: int) -> EventLogEntry:
    data = AssetObservationData(dg.AssetObservation(asset, partition=key))
    return event(DagsterEventType.ASSET_OBSERVATION, asset, data, second)


def one_by_one(storage: EventLogStorage[Any], events: Sequence[EventLogEntry]) -> None:
    for each in events:
        storage.store_event(each)


def as_a_batch(storage: EventLogStorage[Any], events: Sequence[EventLogEntry]) -> None:
    storage.store_event_batch(events)


def rows(home: Path) -> dict[str, list[Any]]:
    """What the tables of events, assets and tags say, but for when a row was made."""
    connection = sqlite3.connect(home / EVENTS)
    columns = {
        "event_logs": "id, run_id, event, dagster_event_type, timestamp, step_key, asset_key, partition",
        "asset_keys": "asset_key, last_materialization, last_run_id, asset_details, last_materialization_timestamp",
        "asset_event_tags": "event_id, asset_key, key, value, event_timestamp",
        "dynamic_partitions": "id, partitions_def_name, partition",
    }
    told = {
        table: connection.execute(f"SELECT {names} FROM {table} ORDER BY 1").fetchall()
        for table, names in columns.items()
    }
    connection.close()
    return told


@pytest.mark.parametrize("store", [one_by_one, as_a_batch])
def test_events_leave_the_rows_that_the_stock_storage_leaves(
    tmp_path: Path, store: Callable[[EventLogStorage[Any], Sequence[EventLogEntry]], None]
) -> None:
    events = [planned(asset, "a.py", 0) for asset in ASSETS]
    events += [materialized(asset, key, 1, **{"dagster/data_version": key}) for asset in ASSETS for key in KEYS]
    events += [materialized(ASSETS[0], None, 2), planned(ASSETS[0], "b.py", 3), observed(ASSETS[1], "c.py", 4)]
    stock, ours = DagsterSqliteStorage(str(tmp_path / "stock")), StateStorage(str(tmp_path / "ours"))
    one_by_one(stock.event_log_storage, events)
    store(ours.event_log_storage, events)
    for storage in (stock.event_log_storage, ours.event_log_storage):
        storage.add_dynamic_partitions("file_id", ["b.py", "a.py"])
        storage.add_dynamic_partitions("file_id", ["a.py", "c.py"])
    ours.dispose()
    assert rows(tmp_path / "ours") == rows(tmp_path / "stock")
    assert len(rows(tmp_path / "ours")["event_logs"]) == len(events)


def test_materializations_of_many_partitions_leave_the_rows_that_single_ones_leave(tmp_path: Path) -> None:
    awkward = [*KEYS, 'quo"ted', "back\\slash", "ö€😀"]
    stores = {name: StateStorage(str(tmp_path / name)) for name in ("single", "many")}
    for asset in ASSETS:
        one_by_one(stores["single"].event_log_storage, [materialized(asset, key) for key in awkward])
        stores["many"].event_log_storage.store_partitions(partial(materialized, asset), awkward)
    for store in stores.values():
        store.dispose()
    assert rows(tmp_path / "many") == rows(tmp_path / "single")


def test_stored_materializations_are_found_by_the_instances_queries(instance: dg.DagsterInstance) -> None:
    asset = dg.AssetKey(ASSETS[0])
    instance.event_log_storage.store_event_batch([materialized(ASSETS[0], key) for key in KEYS])
    by_key = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=asset, asset_partitions=[KEYS[7]]), limit=10
    ).records
    assert [record.partition_key for record in by_key] == [KEYS[7]]
    assert instance.get_materialized_partitions(asset) == set(KEYS)
    latest = instance.get_latest_materialization_event(asset)
    assert latest is not None and latest.asset_materialization is not None
    assert latest.asset_materialization.partition == KEYS[-1]
    [record] = instance.get_asset_records([asset])
    assert record.asset_entry.last_materialization_record is not None
    assert record.asset_entry.last_materialization_record.partition_key == KEYS[-1]
    assert record.asset_entry.last_run_id == "a-run"


@dg.multi_asset(specs=[dg.AssetSpec(name, skippable=True) for name in ASSETS], partitions_def=FILES, can_subset=True)
def stage(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
    for name in ASSETS:
        record_materializations(context, name, KEYS, {"commit": "abc"})
        yield dg.MaterializeResult(asset_key=name)


@dg.asset(partitions_def=FILES)
def broken(context: dg.AssetExecutionContext) -> None:
    record_materializations(context, "broken", KEYS[:1], {})
    raise ValueError("no rows today")


def run(instance: dg.DagsterInstance, assets: dg.AssetsDefinition, raise_on_error: bool = True) -> Any:
    definitions = dg.Definitions(assets=[assets], executor=dg.in_process_executor)
    instance.add_dynamic_partitions(str(FILES.name), list(CONTROL_KEYS))
    return definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance, partition_key=IMPACTED, run_config=QUIET, raise_on_error=raise_on_error
    )


def test_a_run_on_a_control_key_records_the_files_as_its_own(instance: dg.DagsterInstance) -> None:
    ran = run(instance, stage)
    found = instance.fetch_materializations(dg.AssetKey(ASSETS[1]), limit=100).records
    assert {record.partition_key for record in found} == {IMPACTED, *KEYS}
    assert {record.run_id for record in found} == {ran.run_id}
    of_the_run = [entry for entry in instance.all_logs(ran.run_id) if entry.dagster_event is not None]
    recorded = [
        entry.get_dagster_event().step_materialization_data.materialization
        for entry in of_the_run
        if entry.dagster_event_type == DagsterEventType.ASSET_MATERIALIZATION and entry.step_key == "stage"
    ]
    assert len(recorded) == len(ASSETS) * (len(KEYS) + 1)
    assert {entry.metadata["commit"].value for entry in recorded if entry.partition != IMPACTED} == {"abc"}
    assert instance.get_run_stats(ran.run_id).materializations == len(recorded)
    stats = {step.step_key: step for step in instance.get_run_step_stats(ran.run_id)}
    assert stats["stage"].status is not None and stats["stage"].status.value == "SUCCESS"


def test_a_step_that_fails_keeps_what_was_recorded_and_its_error(instance: dg.DagsterInstance) -> None:
    ran = run(instance, broken, raise_on_error=False)
    logs = instance.all_logs(ran.run_id)
    assert logs[-1].dagster_event_type == DagsterEventType.PIPELINE_FAILURE
    [failed] = [entry for entry in logs if entry.dagster_event_type == DagsterEventType.STEP_FAILURE]
    assert "no rows today" in str(failed.get_dagster_event().step_failure_data.error)
    assert instance.get_materialized_partitions(dg.AssetKey("broken")) == {KEYS[0]}


@dg.asset(partitions_def=FILES, check_specs=[dg.AssetCheckSpec("keys", asset="checked")])
def checked() -> Iterator[dg.MaterializeResult[None]]:
    yield dg.MaterializeResult(check_results=[dg.AssetCheckResult(check_name="keys", passed=True)])


@pytest.mark.parametrize("batch_size", ["0", "1000"])
def test_a_check_planned_and_passed_is_found(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, batch_size: str
) -> None:
    monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", batch_size)
    ran = run(instance, checked)
    check = dg.AssetCheckKey(dg.AssetKey("checked"), "keys")
    [(found, record)] = instance.event_log_storage.get_latest_asset_check_execution_by_key([check]).items()
    assert (found, record.run_id, record.status.value) == (check, ran.run_id, "SUCCEEDED")
    assert instance.get_materialized_partitions(dg.AssetKey("checked")) == {IMPACTED}


def test_a_watched_run_is_told_of_events_from_elsewhere(settings: Settings, instance: dg.DagsterInstance) -> None:
    seen: list[EventLogEntry] = []
    instance.watch_event_logs("a-run", None, lambda entry, _: seen.append(entry))
    with dagster_instance(settings) as other:
        other.event_log_storage.store_event_batch([materialized(ASSETS[0], key) for key in KEYS])
        until(lambda: len(seen) == len(KEYS))
    assert len(seen) == len(KEYS)


def until(happened: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.05)


def test_keys_are_reconciled_however_many_they_are(instance: dg.DagsterInstance) -> None:
    many = {f"{number:06}" for number in range(40_000)}
    reconcile(instance, many)
    assert instance.get_dynamic_partitions("file_id") == [*CONTROL_KEYS, *sorted(many)]
    reconcile(instance, {"000001", "new"})
    assert instance.get_dynamic_partitions("file_id") == [*CONTROL_KEYS, "000001", "new"]


def test_a_state_that_the_stock_storage_kept_goes_on(settings: Settings) -> None:
    home = StateFolder(settings.state).dagster_home
    home.mkdir(parents=True)
    overrides = {"storage": {"sqlite": {"base_dir": str(home)}}, "telemetry": {"enabled": False}}
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(home), overrides=overrides)) as stock:
        before = run(stock, stage)
    with dagster_instance(settings) as instance:
        assert instance.get_run_by_id(before.run_id) is not None
        assert instance.get_materialized_partitions(dg.AssetKey(ASSETS[0])) == {IMPACTED, *KEYS}
        assert set(instance.get_dynamic_partitions("file_id")) == set(CONTROL_KEYS)
        after = run(instance, stage)
        found = instance.fetch_materializations(dg.AssetKey(ASSETS[0]), limit=200).records
        assert {record.run_id for record in found} == {before.run_id, after.run_id}


def test_the_web_server_and_the_daemon_are_configured_to_use_it(settings: Settings) -> None:
    home = write_instance_config(settings)
    assert yaml.safe_load((home / "dagster.yaml").read_text())["storage"]["custom"]["class"] == "StateStorage"
    with dg.DagsterInstance.from_config(str(home)) as instance:
        assert isinstance(instance.event_log_storage, BatchedEventLog)
        assert isinstance(instance.run_storage, KeptRunStorage)


WRITER = """
import os, signal, sys
from pathlib import Path
from codeanatomy_assets.orchestration.build import dagster_instance
from codeanatomy_assets.settings import Settings
from codeanatomy_assets_tests.orchestration.test_event_storage import materialized

name, state, dies = sys.argv[1:]
with dagster_instance(Settings(state=Path(state))) as instance:
    for batch in range(20):
        keys = [f"{name}-{batch}-{number}" for number in range(25)]
        instance.add_dynamic_partitions("file_id", [*keys, "shared"])
        instance.event_log_storage.store_event_batch([materialized("cst_defs", key) for key in keys])
        instance.event_log_storage.store_event(materialized("cst_defs", f"{name}-{batch}-single"))
    if dies == "dies":
        with instance.event_log_storage.index_connection() as connection:
            connection.exec_driver_sql("DELETE FROM event_logs")
            os.kill(os.getpid(), signal.SIGKILL)
"""


def writer(name: str, settings: Settings, dies: str = "lives") -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITER, name, str(settings.state), dies])


def test_processes_that_start_and_write_at_once_lose_nothing(settings: Settings) -> None:
    writers = [writer(name, settings) for name in ("first", "second")]
    assert [each.wait(timeout=120) for each in writers] == [0, 0]
    with dagster_instance(settings) as instance:
        written = instance.get_materialized_partitions(dg.AssetKey("cst_defs"))
        assert len(written) == 2 * 20 * 26
        assert len(instance.get_dynamic_partitions("file_id")) == 2 * 20 * 25 + 1


def test_a_killed_process_leaves_what_it_committed(settings: Settings) -> None:
    assert writer("killed", settings, "dies").wait(timeout=120) == -signal.SIGKILL
    with dagster_instance(settings) as instance:
        assert len(instance.get_materialized_partitions(dg.AssetKey("cst_defs"))) == 20 * 26
        instance.event_log_storage.store_event(materialized("cst_defs", "afterwards"))
        assert "afterwards" in instance.get_materialized_partitions(dg.AssetKey("cst_defs"))

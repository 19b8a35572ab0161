"""Dagster's storage of a state: stock SQLite schemas, connections that stay open, events stored in batches."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import dagster as dg
import sqlalchemy as sa
from dagster._core.event_api import EventHandlerFn
from dagster._core.events import (
    ASSET_CHECK_EVENTS,
    ASSET_EVENTS,
    DagsterEvent,
    DagsterEventType,
    StepMaterializationData,
)
from dagster._core.events.log import EventLogEntry
from dagster._core.instance.types import T_DagsterInstance
from dagster._core.storage.base_storage import DagsterStorage
from dagster._core.storage.event_log.polling_event_watcher import SqlPollingEventWatcher
from dagster._core.storage.event_log.schema import DynamicPartitionsTable, SqlEventLogStorageTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite import SqliteEventLogStorage
from dagster._core.storage.event_log.sqlite import sqlite_event_log as stock_event_log
from dagster._core.storage.runs import SqliteRunStorage
from dagster._core.storage.schedules import SqliteScheduleStorage
from dagster._core.storage.sql import AlembicVersion, check_alembic_revision, get_alembic_config, run_alembic_upgrade
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._serdes import ConfigurableClass, ConfigurableClassData
from sqlalchemy.dialects import sqlite

# Where the stock storage has them, so that a state that was kept by it goes on.
RUNS = Path("history", "runs.db")
EVENTS = Path("history", "runs", "index.db")
SCHEDULES = Path("schedules", "schedules.db")

# A partition that no file has: where the partition stands in an event that is written out.
BLANK = "__blank__"
ASSET_EVENT_TYPES = frozenset(kind.value for kind in ASSET_EVENTS)


class StateStorage(DagsterStorage[T_DagsterInstance], ConfigurableClass):
    """Runs, events and schedules of one state folder's instance. `dagster.yaml` names it as custom storage."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._inst_data = inst_data
        home = Path(base_dir).absolute()
        for database, create in STOCK_MAKERS.items():
            make_whole(home / database, create)
        self._runs = KeptRunStorage(home / RUNS)
        self._events = BatchedEventLog(home / EVENTS)
        self._schedules = KeptScheduleStorage(home / SCHEDULES)

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        return self._inst_data

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        return {"base_dir": dg.StringSource}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> Self:
        return cls(inst_data=inst_data, **config_value)

    @property
    def run_storage(self) -> KeptRunStorage:  # type: ignore[override]
        return self._runs

    @property
    def event_log_storage(self) -> BatchedEventLog:  # type: ignore[override]
        return self._events

    @property
    def schedule_storage(self) -> KeptScheduleStorage:  # type: ignore[override]
        return self._schedules

    def register_instance(self, instance: T_DagsterInstance) -> None:
        super().register_instance(instance)
        for storage in (self._runs, self._events, self._schedules):
            if not storage.has_instance:
                storage.register_instance(instance)

    def dispose(self) -> None:
        for storage in (self._runs, self._events, self._schedules):
            storage.dispose()


def make_whole(database: Path, create: Callable[[str], object]) -> None:
    """Put a new database in place only when it is finished: another process may look for it, this one be killed.

    One that exists is taken as it is. The stock storages read all of Dagster's migrations at every start to
    find out the same.
    """
    if database.exists():
        return
    database.parent.mkdir(parents=True, exist_ok=True)
    with _alone(database.parent), tempfile.TemporaryDirectory(prefix=".new-", dir=database.parent) as aside:
        if not database.exists():
            create(aside)
            os.replace(Path(aside, database.name), database)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


STOCK_MAKERS: dict[Path, Callable[[str], object]] = {
    RUNS: SqliteRunStorage.from_local,
    EVENTS: SqliteEventLogStorage,
    SCHEDULES: SqliteScheduleStorage.from_local,
}


def kept_engine(database: Path) -> sa.Engine:
    """Connections that are reused, one per thread at work. A killed process loses nothing that was committed; a
    power cut may lose the last transactions, never the database."""
    address = sa.URL.create("sqlite", database=str(database))
    engine = sa.create_engine(address, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS}, max_overflow=-1)

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL").close()
        connection.execute("PRAGMA synchronous=NORMAL").close()

    return engine


class KeptRunStorage(SqliteRunStorage):
    """The stock run storage on kept connections."""

    def __init__(self, database: Path) -> None:
        super().__init__(f"sqlite:///{database}")
        self._engine = kept_engine(database)

    @contextmanager
    def connect(self) -> Iterator[sa.Connection]:
        with self._engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        self._engine.dispose()


class KeptScheduleStorage(SqliteScheduleStorage):
    """The stock schedule storage on kept connections."""

    def __init__(self, database: Path) -> None:
        super().__init__(f"sqlite:///{database}")
        self._engine = kept_engine(database)

    @contextmanager
    def connect(self) -> Iterator[sa.Connection]:
        with self._engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        self._engine.dispose()


class Stored(NamedTuple):
    """An event with its id and its row."""

    id: int
    event: EventLogEntry
    row: dict[str, Any]

    @property
    def is_of_an_asset(self) -> bool:
        return self.row["dagster_event_type"] in ASSET_EVENT_TYPES and self.row["asset_key"] is not None


class BatchedEventLog(SqlEventLogStorage):
    """All events in one file, in the stock schema; a batch of events is one transaction.

    The file is the stock storage's index of asset events: what an older run materialized is still there.
    """

    def __init__(self, database: Path) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._engine = kept_engine(database)
        self._tables: set[str] = set()
        self._indexes: set[str] = set()

    def run_connection(self, run_id: str | None) -> AbstractContextManager[sa.Connection]:
        return self._engine.begin()

    def index_connection(self) -> AbstractContextManager[sa.Connection]:
        return self._engine.begin()

    def store_event(self, event: EventLogEntry) -> None:
        self.store_event_batch([event])

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        if not events:
            return
        rows = [self._event_to_row(event) for event in events]
        with self.index_connection() as connection:
            stored = [Stored(*each) for each in zip(_insert(connection, rows), events, rows, strict=True)]
            self._index_asset_events(connection, [each for each in stored if each.is_of_an_asset])
        for each in stored:
            if each.event.dagster_event_type in ASSET_CHECK_EVENTS:
                self.store_asset_check_event(each.event, each.id)

    def store_partitions(self, materialized: Callable[[str], EventLogEntry], partitions: Sequence[str]) -> None:
        """Materializations that are alike but for their partition: written out once, the partition filled in."""
        row, blank = self._event_to_row(materialized(BLANK)), json.dumps(BLANK)
        rows = [{**row, "event": row["event"].replace(blank, json.dumps(key)), "partition": key} for key in partitions]
        with self.index_connection() as connection:
            last = _insert(connection, rows)[-1]
            self._store_asset_event(connection, materialized(partitions[-1]), last)

    def _index_asset_events(self, connection: sa.Connection, stored: list[Stored]) -> None:
        """Tags of every event; of each asset the last event of each type, which is what all of them leave behind."""
        if not stored:
            return
        self._store_asset_event_tags(connection, [each.event for each in stored], [each.id for each in stored])
        last = {(each.row["asset_key"], each.row["dagster_event_type"]): each for each in stored}
        for each in sorted(last.values(), key=lambda kept: kept.id):
            self._store_asset_event(connection, each.event, each.id)

    def add_dynamic_partitions(self, partitions_def_name: str, partition_keys: Sequence[str]) -> None:
        """The keys that are new, in one statement however many they are: another process may add the same ones."""
        if partition_keys:
            keys = [{"partitions_def_name": partitions_def_name, "partition": key} for key in partition_keys]
            with self.index_connection() as connection:
                connection.execute(sqlite.insert(DynamicPartitionsTable).on_conflict_do_nothing(), keys)

    def delete_dynamic_partitions(self, partitions_def_name: str, partition_keys: Iterable[str]) -> None:
        columns = DynamicPartitionsTable.c
        statement = DynamicPartitionsTable.delete().where(
            columns.partitions_def_name == partitions_def_name, columns.partition == sa.bindparam("gone")
        )
        gone = [{"gone": key} for key in partition_keys]
        if gone:
            with self.index_connection() as connection:
                connection.execute(statement, gone)

    def has_table(self, table_name: str) -> bool:
        """Asked at every asset event. Tables come with an upgrade and never go."""
        if table_name not in self._tables:
            with self._engine.connect() as connection:
                if not sa.inspect(connection).has_table(table_name):
                    return False
            self._tables.add(table_name)
        return True

    def has_secondary_index(self, name: str) -> bool:
        if name not in self._indexes:
            if not super().has_secondary_index(name):
                return False
            self._indexes.add(name)
        return True

    @cached_property
    def _asset_index_columns(self) -> bool:
        with self._engine.connect() as connection:
            return super()._has_asset_key_index_cols_on_connection(connection)

    def _has_asset_key_index_cols_on_connection(self, conn: sa.Connection) -> bool:
        return self._asset_index_columns

    @cached_property
    def _watcher(self) -> SqlPollingEventWatcher:
        return SqlPollingEventWatcher(self)

    def watch(self, run_id: str, cursor: str | None, callback: EventHandlerFn) -> None:
        self._watcher.watch_run(run_id, cursor, callback)

    def end_watch(self, run_id: str, handler: EventHandlerFn) -> None:
        self._watcher.unwatch_run(run_id, handler)

    def dispose(self) -> None:
        if "_watcher" in self.__dict__:
            self._watcher.close()
            del self._watcher
        self._engine.dispose()

    def upgrade(self) -> None:
        with self.index_connection() as connection:
            run_alembic_upgrade(get_alembic_config(stock_event_log.__file__), connection, "index")

    def alembic_version(self) -> AlembicVersion:
        with self.index_connection() as connection:
            return check_alembic_revision(get_alembic_config(stock_event_log.__file__), connection)


def _insert(connection: sa.Connection, rows: list[dict[str, Any]]) -> range:
    """Ids of the rows, in their order: SQLite has one writer at a time and numbers what it inserts in sequence."""
    connection.execute(SqlEventLogStorageTable.insert(), rows)
    last: int = connection.execute(sa.func.last_insert_rowid()).scalar_one()
    return range(last - len(rows) + 1, last + 1)


def record_materializations(
    context: dg.AssetExecutionContext, asset: str, partitions: Sequence[str], metadata: Mapping[str, Any]
) -> None:
    """What `context.log_event` would record of each partition in this step, as one batch.

    The events leave out the handles and tags that repeat the step's name: writing them out is most of the cost.
    """
    if not partitions:
        return
    step, run_id, now = context.get_step_execution_context(), context.run.run_id, time.time()

    def materialized(partition: str) -> EventLogEntry:
        materialization = dg.AssetMaterialization(asset, partition=partition, metadata=metadata)
        message = f"Materialized value {materialization.label}."
        event = DagsterEvent(
            event_type_value=DagsterEventType.ASSET_MATERIALIZATION.value,
            job_name=step.job_name,
            step_key=step.step.key,
            step_kind_value=step.step.kind.value,
            event_specific_data=StepMaterializationData(materialization),
            message=message,
        )
        return EventLogEntry(  # type: ignore[no-untyped-call]
            error_info=None,
            level=logging.DEBUG,
            user_message=message,
            run_id=run_id,
            timestamp=now,
            step_key=event.step_key,
            job_name=event.job_name,
            dagster_event=event,
        )

    storage = context.instance.event_log_storage
    if isinstance(storage, BatchedEventLog):
        storage.store_partitions(materialized, partitions)
    else:
        storage.store_event_batch([materialized(partition) for partition in partitions])


def delete_dynamic_partitions(instance: dg.DagsterInstance, name: str, keys: Sequence[str]) -> None:
    """In one transaction where the instance's storage can."""
    storage = instance.event_log_storage
    if isinstance(storage, BatchedEventLog):
        storage.delete_dynamic_partitions(name, keys)
        return
    for key in keys:
        instance.delete_dynamic_partition(name, key)

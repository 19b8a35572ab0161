"""The Dagster project: assets, jobs, sensor and resources put together for one state."""

from __future__ import annotations

from collections.abc import Callable

import dagster as dg

from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.orchestration.assets import graph, impact, ledger, relationships, repository, symbols, syntax
from codeanatomy_assets.orchestration.jobs import JOBS
from codeanatomy_assets.orchestration.progress import Progress
from codeanatomy_assets.orchestration.resources import built_resource, session_resource, spark_engine, spark_resource
from codeanatomy_assets.orchestration.sensors import commit_sensor
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.spark_session import SparkEngine


def build_definitions(
    settings: Settings,
    progress: Progress | None = None,
    engine: Callable[[], SparkEngine] | None = None,
    lock: StateLock | None = None,
    indexer: WarmIndexer | None = None,
) -> dg.Definitions:
    """Everything Dagster serves. A caller that stays warm passes its engine, lock and indexer, to share them
    run after run."""
    return dg.Definitions(
        assets=[stage.ASSETS for stage in (repository, syntax, symbols, impact, relationships, graph, ledger)],
        jobs=JOBS,
        sensors=[commit_sensor(settings)],
        resources={
            "spark": spark_resource(engine or _one_engine(settings)),
            "session": session_resource(settings, lock or StateLock(settings.state), progress, indexer),
            "built": built_resource(settings, progress),
        },
        executor=dg.in_process_executor,
    )


def _one_engine(settings: Settings) -> Callable[[], SparkEngine]:
    """The process's engine, made when a run first wants it: loading definitions needs no tools."""
    made: list[SparkEngine] = []

    def engine() -> SparkEngine:
        if not made:
            made.append(spark_engine(settings))
        return made[0]

    return engine

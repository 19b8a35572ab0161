"""Resources: the lazily started Spark session, and the session that a Dagster run's steps share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_deltalake import DeltaTableResource, LocalConfig, S3Config
from dagster_deltalake.config import ClientConfig
from dagster_pyspark import LazyPySparkResource
from pydantic import Field, PrivateAttr

from codeanatomy_assets import toolchain
from codeanatomy_assets.contracts.table import Stage
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES
from codeanatomy_assets.orchestration.partitions import ALL, NEEDED_TAG, chosen_files, keys_of
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import Plan, decide
from codeanatomy_assets.orchestration.progress import Log, Progress
from codeanatomy_assets.orchestration.stuck_runs import mark_run
from codeanatomy_assets.orchestration.writing_run import WritingRun, begin_rebuild, begin_update
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.lock import StateLock
from codeanatomy_assets.storage.spark_session import SparkEngine, SparkSettings
from codeanatomy_assets.storage.table_state import TableRef

UPDATE_JOB = "update_job"
SENSOR_TAG = "dagster/sensor_name"
FULL_REFRESH_JOB = "full_refresh_job"
MOVING_JOBS = (UPDATE_JOB, FULL_REFRESH_JOB)
S3_FIELDS = {
    "AWS_ACCESS_KEY_ID": "access_key_id",
    "AWS_SECRET_ACCESS_KEY": "secret_access_key",
    "AWS_SESSION_TOKEN": "token",
    "AWS_REGION": "region",
    "AWS_ENDPOINT_URL": "endpoint",
}


class Strategy(Enum):
    """How far a change reaches, for one run; `as_set` is what the settings say."""

    as_set = ""
    symbol_closure = "symbol_closure"
    import_closure = "import_closure"
    hybrid = "hybrid"


class UpdateConfig(dg.Config):
    """What a run that moves the state can be told; the defaults bring it to HEAD."""

    commit: str = Field(default="", description="Revision to build; empty for HEAD.")
    full: bool = Field(default=False, description="Rebuild everything, whatever changed.")
    strategy: Strategy = Field(default=Strategy.as_set, description="How far a change reaches; as_set: the settings'.")

    def settings(self, settings: Settings) -> Settings:
        return replace(settings, strategy=self.strategy.value) if self.strategy.value else settings


def class_cache() -> Path:
    """Where the set-up keeps Spark's classes, loaded and linked ahead of time. Without it the JVM starts slower."""
    return toolchain.tools_folder() / "jvm" / "spark.aot"


def spark_engine(settings: Settings, jvm_options: Sequence[str] | None = None) -> SparkEngine:
    """A session for these settings; no JVM before it is used. Told nothing else, it starts from the class cache."""
    cache = class_cache()
    if jvm_options is None:
        jvm_options = [f"-XX:AOTCache={cache}", "-Xlog:aot*=error"] if cache.is_file() else []
    return SparkEngine(
        SparkSettings(
            java=toolchain.java(),
            jars=toolchain.delta_jars(),
            master=settings.master,
            driver_memory=settings.driver_memory,
            cores=settings.cores,
            log_file=settings.state / "spark.log",
            jvm_options=jvm_options,
            storage_options=settings.storage_options,
            extra=settings.spark_conf,
        )
    )


class GatewaySparkResource(LazyPySparkResource):
    """dagster-pyspark's lazy session, started through a gateway of our own."""

    _make: Callable[[], SparkEngine] = PrivateAttr()

    @staticmethod
    def serving(make: Callable[[], SparkEngine]) -> GatewaySparkResource:
        """`make` gives the engine, always the same: when a step asks, so that what it lacks is the step's failure."""
        resource = GatewaySparkResource(spark_config={})
        resource._make = make
        return resource

    @property
    def engine(self) -> SparkEngine:
        return self._make()

    def _init_session(self) -> None:
        if self._spark_session is None:
            self._spark_session = self.engine.session()


def table_resource(ref: TableRef, settings: Settings) -> DeltaTableResource:
    """A table at one version, for light reads through dagster-deltalake."""
    if not ref.path.startswith("s3"):
        return DeltaTableResource(url=ref.path, storage_options=LocalConfig(), version=ref.version)
    options = settings.storage_options
    told = {S3_FIELDS[name]: value for name, value in options.items() if name in S3_FIELDS}
    return DeltaTableResource(
        url=ref.path,
        storage_options=S3Config(**told),  # type: ignore[arg-type]
        client_options=ClientConfig(allow_http=options.get("AWS_ALLOW_HTTP", "").lower() == "true"),
        version=ref.version,
    )


class RunSession:
    """What the steps of one Dagster run share: one writing run, begun by the first step that asks."""

    def __init__(
        self,
        settings: Settings,
        spark: GatewaySparkResource,
        lock: StateLock,
        progress: Progress,
        config: UpdateConfig,
        indexer: WarmIndexer | None = None,
    ) -> None:
        self.settings = config.settings(settings)
        self.progress = progress
        self._spark = spark
        self._lock = lock
        self._config = config
        self._indexer = indexer
        self._run: WritingRun | None = None
        self._nothing_to_do = False

    def writing(self, context: dg.AssetExecutionContext, stage: Stage) -> WritingRun | None:
        """The run, begun if need be by the first stage that asks; None when there is nothing to do."""
        if self._run is None and not self._nothing_to_do:
            self._run = self._begin(context, stage)
            self._nothing_to_do = self._run is None
        return self._run

    @property
    def current(self) -> WritingRun | None:
        """The run under way, if this Dagster run began one."""
        return self._run

    def _begin(self, context: dg.AssetExecutionContext, stage: Stage) -> WritingRun | None:
        keys = keys_of(context)
        if context.job_name not in MOVING_JOBS:
            chosen = chosen_files(keys)
            return begin_rebuild(self.settings, self._spark.engine, self._lock, self.progress, chosen, ALL in keys)
        if stage is not BUILT_STAGES[0]:
            raise BadInput(
                f"{context.job_name} can't start at the {stage} stage, what came before is undone: launch it whole"
            )
        is_asked_for = ALL in keys and NEEDED_TAG not in context.run.tags
        full = self._config.full or is_asked_for or context.job_name == FULL_REFRESH_JOB
        plan = decide(self.settings, self._config.commit or None, full)
        if SENSOR_TAG in context.run.tags and _is_overtaken(plan):
            self.progress.say(f"{short(plan.target.commit)} is below what is built already: nothing to do")
            return None
        run = None
        if plan.mode != "noop":
            run = begin_update(plan, self.settings, self._spark.engine, self._lock, self.progress, self._indexer)
        if run is None or run.is_noop:
            self.progress.say(f"{short(plan.target.commit)} is built already: nothing to do")
        if run is not None and run.is_noop:
            run.close()
            return None
        return run

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the ledger row and let the lock go; a later step of a rebuild begins anew."""
        assert self._run is not None
        self._run.finish(summary)
        self.close()

    def close(self) -> None:
        if self._run is not None:
            self._run.close()
            self._run = None


def _is_overtaken(plan: Plan) -> bool:
    """Whether another build went past the commit that a run was asked for while it waited, on HEAD's own line."""
    repository, target, last = plan.target.repository, plan.target.commit, plan.last
    if repository is None or last is None or last.commit == target or not repository.is_ancestor(target, last.commit):
        return False
    head = repository.resolve("HEAD")
    return head is not None and (head == last.commit or repository.is_ancestor(last.commit, head))


def spark_resource(engine: Callable[[], SparkEngine]) -> dg.ResourceDefinition:
    return dg.ResourceDefinition(lambda _: GatewaySparkResource.serving(engine), description="Lazy Spark session.")


def session_resource(
    settings: Settings, lock: StateLock, progress: Progress | None, indexer: WarmIndexer | None
) -> dg.ResourceDefinition:
    """One per Dagster run: dropped at its end, whatever happened, with the lock."""

    def session(context: dg.InitResourceContext) -> Iterator[RunSession]:
        mark_run(context)
        config = UpdateConfig(**context.resource_config)
        opened = RunSession(settings, context.resources.spark, lock, _told(progress, context), config, indexer)
        try:
            yield opened
        finally:
            opened.close()

    return dg.ResourceDefinition(
        session,
        config_schema=UpdateConfig.to_config_schema(),
        required_resource_keys={"spark"},
        description="The run's share in the state: lock, attempt, versions read and written.",
    )


@dataclass(frozen=True)
class BuiltCommits:
    """What jobs over built commits need: where the state is, a session, and where to tell how far they are."""

    settings: Settings
    spark: GatewaySparkResource
    progress: Progress


def built_resource(settings: Settings, progress: Progress | None) -> dg.ResourceDefinition:
    def built(context: dg.InitResourceContext) -> BuiltCommits:
        mark_run(context)
        return BuiltCommits(settings, context.resources.spark, _told(progress, context))

    return dg.ResourceDefinition(
        built, required_resource_keys={"spark"}, description="The state's built commits, for jobs that move nothing."
    )


def _told(progress: Progress | None, context: dg.InitResourceContext) -> Progress:
    return progress or Log(context.log.info if context.log else print)

"""The stages run one after the other without Dagster's bookkeeping: for states that nobody browses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeanatomy_assets import catalog
from codeanatomy_assets.orchestration import project
from codeanatomy_assets.orchestration.checking import IntegrityBroken
from codeanatomy_assets.orchestration.fingerprints import BUILT_STAGES
from codeanatomy_assets.orchestration.plan import decide
from codeanatomy_assets.orchestration.profiles import write_profiles
from codeanatomy_assets.orchestration.progress import Progress
from codeanatomy_assets.orchestration.stages import run_stage
from codeanatomy_assets.orchestration.summary import summarise
from codeanatomy_assets.orchestration.writing_run import begin_update
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.lock import StateLock

if TYPE_CHECKING:
    from codeanatomy_assets.extraction.warm_indexer import WarmIndexer
    from codeanatomy_assets.storage.spark_session import SparkEngine

# Importing the project registers the bodies of its stages.
assert project.__name__


def build_directly(
    settings: Settings,
    engine: SparkEngine,
    progress: Progress,
    revision: str | None = None,
    full: bool = False,
    indexer: WarmIndexer | None = None,
) -> LedgerRow:
    """Bring a state to a revision by the very stages that `update_job` runs; only Dagster's record is left out."""
    plan = decide(settings, revision, full)
    if plan.mode == "noop":
        assert plan.last is not None
        return plan.last
    lock = StateLock(settings.state)
    try:
        run = begin_update(plan, settings, engine, lock, progress, indexer)
        try:
            for stage in BUILT_STAGES:
                _, broken = run_stage(run, stage, catalog.of_stage(stage))
                if broken:
                    raise IntegrityBroken(broken)
            write_profiles(run)
            return run.finish(summarise(run))
        finally:
            run.close()
    finally:
        lock.close()

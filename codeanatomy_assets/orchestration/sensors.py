"""Sensors: what starts runs by itself. One looks at HEAD of the state's repository and asks for updates."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import dagster as dg

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.build import update_request, with_known_repository
from codeanatomy_assets.orchestration.catching_up import Memory, next_step
from codeanatomy_assets.orchestration.informing_checks import at_head_evaluations
from codeanatomy_assets.orchestration.jobs import READING_JOBS, update_job
from codeanatomy_assets.orchestration.partitions import CONTROL_KEYS, FILES
from codeanatomy_assets.orchestration.plain_text import short
from codeanatomy_assets.orchestration.plan import decide
from codeanatomy_assets.orchestration.stuck_runs import UNDER_WAY, report_dead_runs
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.lock import StateLock

COMMIT_SENSOR = "commit_sensor"
INTERVAL_SECONDS = 15
RUN_KEY = "dagster/run_key"


def commit_sensor(settings: Settings, clock: Callable[[], float] = time.time) -> dg.SensorDefinition:
    """Keeps the state at HEAD, one run of update_job at a time; on by itself only where the settings say so."""

    @dg.sensor(
        name=COMMIT_SENSOR,
        job=update_job,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING if settings.sensor_on else dg.DefaultSensorStatus.STOPPED,
        description="Builds the commits of the repository's HEAD, one after the other, as they come.",
    )
    def look_at_head(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        return _Look(with_known_repository(settings), context, clock()).result()

    return look_at_head


class _Look:
    """One look at the repository, the ledger and the instance."""

    def __init__(self, settings: Settings, context: dg.SensorEvaluationContext, now: float) -> None:
        self.settings = settings
        self.instance = context.instance
        self.log = context.log
        self.now = now
        self.memory = Memory.read(context.cursor)

    def result(self) -> dg.SensorResult:
        lock = StateLock(self.settings.state)
        for line in report_dead_runs(self.instance, lock, self.now):
            self.log.warning(line)
        busy = self._busy_run()
        if busy is not None:
            return self._skip(f"run {busy.run_id[:8]} of {busy.job_name} is {busy.status.value.lower()}: HEAD waits")
        if lock.is_taken():
            return self._skip(f"the state is in use by {lock.holder()}: HEAD waits")
        self.memory = self._judged()
        try:
            return self._next()
        except BadInput as error:
            return self._skip(str(error))

    def _next(self) -> dg.SensorResult:
        plan = decide(self.settings)
        if plan.mode == "noop":
            self.memory = self.memory.at_rest()
            return self._skip(f"{short(plan.target.commit)} is built: nothing new")
        step = next_step(plan, self.memory, self.settings.sensor_commits)
        why_not = self.memory.why_not_now(step, plan, self.now)
        if why_not:
            return self._skip(why_not)
        self.memory = self._with_free_key(self.memory.asking(step, plan))
        self.log.info(f"update to {short(step.commit)}: {step.why}")
        request = update_request(plan, step.commit)
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(
                    run_key=self.memory.key,
                    partition_key=request.partition_key,
                    run_config=request.run_config,
                    tags={
                        **request.tags,
                        "codeanatomy/why": step.why,
                        "codeanatomy/commits": str(step.commits),
                    },
                )
            ],
            # Said when HEAD has moved on, once: the update that follows says when it is reached.
            asset_events=at_head_evaluations(plan),
            dynamic_partitions_requests=[FILES.build_add_request(list(CONTROL_KEYS))],
            cursor=self.memory.text(),
        )

    def _skip(self, reason: str) -> dg.SensorResult:
        return dg.SensorResult(skip_reason=reason, cursor=self.memory.text())

    def _busy_run(self) -> dg.DagsterRun | None:
        """A run that writes, or waits to. The Materialize button's are told by no name of ours."""
        runs = self.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED, *UNDER_WAY]))
        return next((run for run in runs if run.job_name not in READING_JOBS), None)

    def _judged(self) -> Memory:
        """What became of the update that was asked for last; a run that somebody ended counts as failed."""
        if not self.memory.is_open:
            return self.memory
        runs = self.instance.get_runs(dg.RunsFilter(tags={RUN_KEY: self.memory.key}), limit=1)
        if not runs:
            return self.memory.lost()
        if runs[0].status is dg.DagsterRunStatus.SUCCESS:
            return self.memory.done()
        return self.memory.failed(runs[0].run_id[:8], self.now)

    def _with_free_key(self, memory: Memory) -> Memory:
        """A cursor that was reset counts from the start: Dagster would drop a request whose key was used."""
        while self.instance.get_runs_count(dg.RunsFilter(tags={RUN_KEY: memory.key})):
            memory = replace(memory, asked=memory.asked + 1)
        return memory

"""Runs whose process is gone: Dagster takes them for running until somebody says that they failed."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import dagster as dg

from codeanatomy_assets.storage.lock import StateLock

PROCESS_TAG = "codeanatomy/process"
UNDER_WAY = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)
# A run that Dagster launches is marked when its process has loaded the project, which takes some seconds.
UNMARKED_SECONDS = 300.0


def process_mark(run_id: str) -> str:
    """Names this process for good: process ids are used again, a re-executed run inherits tags."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started_at(os.getpid())}:{run_id}"


def mark_run(context: dg.InitResourceContext) -> None:
    """Note in a run's tags which process it is in, before it does anything."""
    if context.instance is not None and context.run is not None:
        run_id = context.run.run_id
        context.instance.add_run_tags(run_id, {PROCESS_TAG: process_mark(run_id)})


def report_dead_runs(instance: dg.DagsterInstance, lock: StateLock, now: float | None = None) -> list[str]:
    """Say of runs whose process is gone that they failed; returns a line for each."""
    told = []
    for record in instance.get_run_records(dg.RunsFilter(statuses=[*UNDER_WAY, dg.DagsterRunStatus.NOT_STARTED])):
        run = record.dagster_run
        idle = (time.time() if now is None else now) - record.update_timestamp.timestamp()
        what = _what_happened(run, idle, lock)
        if what:
            message = (
                f"{what}. The state is as it was: the next update takes back what this run had written. "
                "Launch update_job, or let the commit sensor or `codeanatomy build` do it"
            )
            instance.report_run_failed(run, message)
            told.append(f"run {run.run_id[:8]} of {run.job_name} is reported failed: {what}")
    return told


def _what_happened(run: dg.DagsterRun, idle: float, lock: StateLock) -> str | None:
    """Why a run can't be alive any more; None for one that is, or may be."""
    host, pid, started_at, run_id = (run.tags.get(PROCESS_TAG, "").split(":") + [""] * 4)[:4]
    is_marked = run_id == run.run_id
    if is_marked and host == socket.gethostname():
        if _started_at(int(pid)) == started_at or lock.is_held_by_children_of(int(pid)):
            return None
        return f"its process {pid} is gone: it was killed, or the machine went down"
    if run.status not in UNDER_WAY or idle < UNMARKED_SECONDS or lock.is_taken():
        return None
    where = f"process {pid} on {host}, which can't be asked from here" if is_marked else "an unknown process"
    return f"it has been silent for {idle:.0f} s in {where}, and nobody holds the state"


def _started_at(pid: int) -> str:
    """When a process started, in ticks since the machine did; empty when it is gone."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]

"""Failures as people meet them: a step's first line in the UI says what happened and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.disk_errors import refusal


@contextmanager
def plain_failures(settings: Settings) -> Iterator[None]:
    """An error meant for the user becomes the step's failure; Dagster would tell first which op it was in."""
    try:
        yield
    except Exception as error:
        meant = refusal(error, settings.written_folders) or error
        if not isinstance(meant, CodeAnatomyError):
            raise
        raise dg.Failure(description=str(meant), allow_retries=False) from error


def why_it_failed(result: dg.ExecuteInProcessResult) -> str:
    """The first line of what went wrong in a run that did not succeed."""
    for event in result.all_events:
        data = event.event_specific_data
        told = getattr(data, "user_failure_data", None)
        if told is not None and told.description:
            return str(told.description)
        error = getattr(data, "error", None)
        if event.is_failure and error is not None:
            return str((error.cause or error).message).strip()
    return f"run {result.run_id} failed: see it in `codeanatomy ui`"

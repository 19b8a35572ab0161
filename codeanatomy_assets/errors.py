"""Errors a user can act on: each says what was wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator


class CodeAnatomyError(Exception):
    """Something failed; the last built commit is as it was."""

    exit_code = 1


class BadInput(CodeAnatomyError):
    """The user asked for something that can't be: nothing was written."""

    exit_code = 2


class StateInUse(BadInput):
    """Another run holds the state folder."""


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what led to it. Chains that Dagster re-raises can run in a circle."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__

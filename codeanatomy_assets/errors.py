"""Errors a user can act on: each says what was wrong, where, and what to do."""

from __future__ import annotations


class CodeAnatomyError(Exception):
    """Something failed; the last built commit is as it was."""

    exit_code = 1


class BadInput(CodeAnatomyError):
    """The user asked for something that can't be: nothing was written."""

    exit_code = 2


class StateInUse(BadInput):
    """Another run holds the state folder."""

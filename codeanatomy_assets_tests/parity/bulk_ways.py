"""Builds that go the ways of large repositories, whatever their size: Spark's reader, writer and closure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from codeanatomy_assets.orchestration import impact, views, writing_run
from codeanatomy_assets.orchestration.assets import repository
from codeanatomy_assets.storage import delta_reads

# Settings of a state that writes nothing from memory.
BULK_SETTINGS = {"light_write_rows": 0}
# What is small enough for memory is a matter of these: nothing is.
LIMITS = (
    (views, "MOST_FILES_IN_MEMORY"),
    (views, "MOST_ROWS_IN_MEMORY"),
    (repository, "MOST_FILES_IN_MEMORY"),
    (writing_run, "FETCHED_SOURCE_BYTES"),
    (impact, "MOST_IMPORTS_ON_DRIVER"),
    (delta_reads, "MOST_LISTED"),
    (delta_reads, "MOST_OWNERS_IN_PREDICATE"),
)


@contextmanager
def bulk_ways() -> Iterator[None]:
    """Within this block nothing is small."""
    with pytest.MonkeyPatch.context() as patched:
        for module, name in LIMITS:
            patched.setattr(module, name, 0)
        yield

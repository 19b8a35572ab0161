"""Jobs: what is run as one piece. Only `update_job` moves the state to another commit."""

from __future__ import annotations

import dagster as dg

from codeanatomy_assets.orchestration.resources import UPDATE_JOB

WRITES = {"codeanatomy/writes": "true"}

update_job = dg.define_asset_job(
    UPDATE_JOB,
    selection=dg.AssetSelection.all(),
    tags=WRITES,
    description="Bring the graph to a commit: on `__impacted__` what the commit touches, on `__all__` everything.",
)

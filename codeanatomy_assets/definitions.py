"""What Dagster loads: the project for the state that the environment names."""

from __future__ import annotations

from codeanatomy_assets.orchestration.build import settings_of_state
from codeanatomy_assets.orchestration.project import build_definitions

defs = build_definitions(settings_of_state())

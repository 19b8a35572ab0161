"""Fixtures of the storage tests: scratch tables, once for each way of writing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from codeanatomy_assets_tests.storage.scratch_tables import LIGHT, WAYS, ScratchTables


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def scratch(tmp_path: Path, spark: SparkSession, way: str) -> ScratchTables:
    """Tables that are written one way: a test that takes them runs once for each."""
    return ScratchTables(spark, tmp_path / "tables", way=way)


@pytest.fixture
def tables(tmp_path: Path, spark: SparkSession) -> ScratchTables:
    """Tables for a test that says itself which way each write goes."""
    return ScratchTables(spark, tmp_path / "tables", way=LIGHT)

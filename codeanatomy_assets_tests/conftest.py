"""Fixtures that tests of several stages share: one Spark session for the whole test process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from codeanatomy_assets.orchestration.resources import spark_engine
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.states import BuiltState, FirstBuilds

if TYPE_CHECKING:
    from codeanatomy_assets_tests.histories import History

# Files that take minutes, longest first: begun last, one of them would keep a single process busy at the end.
LONGEST = (
    "parity/test_impact_histories.py",
    "parity/test_state_sample_long.py",
    "faults/test_faults.py",
    "crashes/test_killed_builds.py",
    "browser/test_dagster_ui.py",
    "cluster/test_standalone.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first; the order inside a file stays."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    assert all(path.is_file() for path in places), "LONGEST names a file that there is not"
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    """The process's Spark engine: its JVM starts with the first test that needs it."""
    engine = spark_engine(Settings(state=tmp_path_factory.mktemp("engine")))
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def spark(engine: SparkEngine) -> SparkSession:
    return engine.session()


@pytest.fixture
def built(tmp_path: Path, engine: SparkEngine) -> BuiltState:
    """An empty git repository and an empty state for it, built in this process on the shared session."""
    return BuiltState.create(tmp_path, engine)


@pytest.fixture(scope="session")
def first_builds(tmp_path_factory: pytest.TempPathFactory, engine: SparkEngine) -> FirstBuilds:
    return FirstBuilds(tmp_path_factory, engine)


@pytest.fixture
def built_with(tmp_path: Path, first_builds: FirstBuilds) -> Callable[[dict[str, str]], BuiltState]:
    """A repository of these files with its first commit built, for the test alone: copied from one built before."""
    return lambda files: first_builds.of(files).copy(tmp_path)


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory, engine: SparkEngine) -> History:
    """Four built commits, for tests that read only."""
    # Its module imports the project, which tests of storage can do without.
    from codeanatomy_assets_tests.histories import build_history

    return build_history(tmp_path_factory.mktemp("history"), engine)

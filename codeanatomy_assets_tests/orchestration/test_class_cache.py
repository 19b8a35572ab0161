"""The JVM's class cache: a session starts from it, and does without one that is of no use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from codeanatomy_assets.orchestration.resources import class_cache, spark_engine
from codeanatomy_assets.settings import Settings

COUNT = """
import sys
from pathlib import Path
from codeanatomy_assets.orchestration.resources import spark_engine
from codeanatomy_assets.settings import Settings
engine = spark_engine(Settings(state=Path(sys.argv[1])), sys.argv[2:])
print(engine.session().range(5).count())
engine.stop()
"""


def counted(state: Path, *jvm_options: str) -> str:
    command = [sys.executable, "-c", COUNT, str(state), *jvm_options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_sessions_start_from_the_cache_that_the_set_up_made(tmp_path: Path) -> None:
    cache = class_cache()
    assert cache.is_file()
    assert f"-XX:AOTCache={cache}" in spark_engine(Settings(state=tmp_path)).settings.jvm_options


@pytest.mark.slow
def test_the_cache_is_of_this_java_and_these_jars(tmp_path: Path) -> None:
    # In this mode a JVM ends at once where it can't use the cache.
    assert counted(tmp_path, f"-XX:AOTCache={class_cache()}", "-XX:AOTMode=on") == "5\n"


@pytest.mark.slow
def test_a_cache_of_another_making_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "other.aot").write_bytes(b"no cache at all")
    assert counted(tmp_path, f"-XX:AOTCache={tmp_path / 'other.aot'}") == "5\n"

"""Updates in a row, a few of them: what the long proof looks at, and that it complains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.parity.long_history import SEED, complaints, page, replay

RIGHT: dict[str, Any] = {
    "updates": 2,
    "edits": {"star": 2},
    "files": 3,
    "seconds": {"first": 2.0, "last": 2.0},
    "differences": {"updated": [], "vacuumed": []},
    "keys": {"missing": 0, "left_over": 0},
    "bytes": {"grown": 900, "vacuumed": 300, "clean": 100, "dagster_record": 50},
}


@pytest.mark.slow
def test_a_few_updates_equal_a_clean_build_before_and_after_a_vacuum(tmp_path: Path, engine: SparkEngine) -> None:
    found = replay(tmp_path, engine, SEED, 2)
    assert complaints(found) == []
    assert found["bytes"]["vacuumed"] < found["bytes"]["grown"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"differences": {"updated": ["cpg_edges of a.py"], "vacuumed": []}}, "updated: cpg_edges of a.py"),
        ({"keys": {"missing": 0, "left_over": 2}}, "2 partition keys left_over"),
        ({"bytes": {**RIGHT["bytes"], "vacuumed": 301}}, "vacuumed, it is 3.01 times a clean state"),
    ],
)
def test_what_is_wrong_is_said_and_shown(wrong: dict[str, Any], told: str) -> None:
    assert complaints(RIGHT) == []
    found = {**RIGHT, **wrong}
    assert complaints(found) == [told]
    result = {"date": "today", "revision": "r", "code": "c", "seed": 1, "found": found, "wrong": complaints(found)}
    assert f"- wrong: {told}" in page(result)

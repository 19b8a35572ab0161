"""What long proofs go on from: the steps of this very code, of this machine or as they were written down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codeanatomy_assets_tests.parity import soak_record
from codeanatomy_assets_tests.parity.soak_record import Progress


def test_steps_written_down_by_the_same_code_are_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_record, "tools_folder", lambda: tmp_path)
    code, results = [Path(__file__)], tmp_path / "results.json"
    begun = Progress("proof", code, ("n",), results)
    begun.add({"key": "here", "n": 1})
    results.write_text(json.dumps({"code": begun.code, "steps": [{"key": "elsewhere", "n": 2}]}))
    assert set(Progress("proof", code, ("n",), results).records) == {"here", "elsewhere"}
    assert set(Progress("proof", [Path(soak_record.__file__)], ("n",), results).records) == set()

"""What long proofs go on from: the steps of this very code, of this machine or as they were written down."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from codeanatomy_assets_tests.crashes import matrix
from codeanatomy_assets_tests.parity import scip_soak, soak_record, state_soak
from codeanatomy_assets_tests.parity.soak_record import RESULTS, Progress, code_digest, stale

PROOFS: dict[str, Callable[[], list[Path]]] = {
    "state_soak": state_soak.code,
    "scip_soak": scip_soak.code,
    "long_history": state_soak.code,
    "crash_matrix": matrix.code,
}


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


@pytest.mark.parametrize("name", PROOFS)
def test_results_of_long_proofs_name_code_seed_and_revision_and_stale_ones_are_reported(name: str) -> None:
    result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    assert result["code"] and result["seed"] and result["revision"] and result["date"]
    told = stale(name, PROOFS[name]())
    if told:
        warnings.warn(told, stacklevel=1)


def test_results_of_other_code_are_called_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_record, "RESULTS", tmp_path)
    written = {"code": code_digest([Path(__file__)]), "date": "2026-11-18 05:00 UTC"}
    (tmp_path / "proof.json").write_text(json.dumps(written))
    assert stale("proof", [Path(__file__)]) is None
    told = str(stale("proof", [Path(soak_record.__file__)]))
    assert told.startswith(f"stale: proof.json is of code {written['code']}, {written['date']}; ")

"""The comparison with a clean build can fail: each planted fault is found at the first commit that meets it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from codeanatomy_assets.errors import CodeAnatomyError
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.verify import verified
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage.delta_store import WriteRefused
from codeanatomy_assets.storage.ledger import Ledger, LedgerRow
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.faults.catalog import FAULTS, PACKAGE, Edit, Fault
from codeanatomy_assets_tests.git_repositories import GitRepo
from codeanatomy_assets_tests.states import Quiet

pytestmark = pytest.mark.slow

REFUSALS = (CodeAnatomyError, WriteRefused)


class Died(BaseException):
    """A run that ends before its ledger row, as if it was killed: nothing of ours handles it."""


@dataclass
class Bench:
    """A repository with one commit and its state, to be copied for each fault; clean builds are kept."""

    folder: Path
    engine: SparkEngine
    clean: dict[tuple[str, str], LedgerRow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.repo = GitRepo.create(self.folder / "repo")
        self.first = self.repo.commit_files(dict(PACKAGE))
        self.built = self.settings("built", {})
        build_directly(self.built, self.engine, Quiet())

    def settings(self, state: str, told: Mapping[str, Any]) -> Settings:
        return Settings(repo=self.repo.folder, state=self.folder / state, **told)

    def commit(self, edit: Edit) -> str:
        """A commit of this edit on top of the first."""
        self.repo.run("reset", "--quiet", "--hard", self.first)
        for path, text in edit.items():
            if text is None:
                self.repo.remove(path)
            else:
                self.repo.write(path, text)
        return self.repo.commit()

    def clean_build(self, commit: str, told: Mapping[str, Any]) -> LedgerRow:
        key = (self.repo.run("rev-parse", f"{commit}^{{tree}}").decode().strip(), repr(told))
        if key not in self.clean:
            settings = self.settings(f"clean{len(self.clean)}", told)
            self.clean[key] = build_directly(settings, self.engine, Quiet())
        return self.clean[key]

    def complaints(self, fault: Fault, monkeypatch: pytest.MonkeyPatch | None) -> list[str]:
        """What is wrong after the fault's commit; without a patch, after the same commit and no fault."""
        state = self.folder / "faulty"
        shutil.copytree(self.built.state, state)
        settings = replace(self.settings("faulty", fault.settings), state=state)
        try:
            if fault.after_death is not None:
                self._die(replace(self.built, state=state), fault.after_death)
            commit = self.commit(fault.edit)
            clean = self.clean_build(commit, fault.settings)
            if monkeypatch is not None:
                fault.plant(monkeypatch)
            try:
                built = build_directly(settings, self.engine, Quiet())
            except REFUSALS as refusal:
                return [f"refused: {refusal}"]
            return [line for difference in verified(built, clean).differences for line in difference.lines()]
        finally:
            shutil.rmtree(state)

    def _die(self, settings: Settings, edit: Edit) -> None:
        self.commit(edit)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Ledger, "append", _die_here)
            with pytest.raises(Died):
                build_directly(settings, self.engine, Quiet())


def _die_here(*_: object) -> None:
    raise Died


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, engine: SparkEngine) -> Bench:
    return Bench(tmp_path_factory.mktemp("faults"), engine)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found_at_its_first_commit(
    bench: Bench, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = bench.complaints(fault, monkeypatch)
    assert found, f"{fault.doc}: and nothing differs"


CONTROLS = {repr((fault.edit, fault.after_death, fault.settings)): fault for fault in FAULTS}


@pytest.mark.parametrize("fault", CONTROLS.values(), ids=lambda fault: fault.name)
def test_the_same_commit_without_the_fault_is_right(bench: Bench, fault: Fault) -> None:
    assert bench.complaints(fault, None) == []


def test_there_are_faults_enough() -> None:
    assert len({fault.name for fault in FAULTS}) >= 12

"""A change to the asset graph, a check, a job, a sensor or a schedule shows as a change of the committed snapshot."""

from collections.abc import Iterator

import dagster as dg

from codeanatomy_assets.orchestration.project import build_definitions
from codeanatomy_assets.settings import Settings
from codeanatomy_assets_tests.orchestration.definitions_snapshot import PATH, render, snapshot


def test_the_committed_snapshot_is_current() -> None:
    assert PATH.is_file() and PATH.read_text() == render(), (
        f"{PATH.name} is out of date: run make docs, and look at the difference"
    )


def test_a_changed_dependency_a_new_check_and_a_new_job_change_the_snapshot() -> None:
    @dg.multi_asset(
        specs=[dg.AssetSpec("extra", deps=["cst_defs"])],
        check_specs=[dg.AssetCheckSpec("new", asset="extra", blocking=True)],
    )
    def extra() -> Iterator[dg.MaterializeResult[None]]:
        yield dg.MaterializeResult(asset_key="extra")

    added = dg.Definitions(assets=[extra], jobs=[dg.define_asset_job("extra_job", selection="extra")])
    before = snapshot(build_definitions(Settings()))
    after = snapshot(dg.Definitions.merge(build_definitions(Settings()), added))
    assert after["assets"].pop("extra")["deps"] == "cst_defs"
    assert after["checks"].pop("extra: new") == "blocking"
    assert after["jobs"].pop("extra_job")["assets"] == "extra"
    assert {**after, "jobs": None} == {**before, "jobs": None}

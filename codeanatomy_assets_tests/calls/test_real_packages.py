"""Where the calls of real packages lead: each call site is resolved, outside, or says why not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.parity.scip_histories import released_tree
from codeanatomy_assets_tests.states import BuiltState

pytestmark = pytest.mark.slow

OUTSIDE = ("builtin", "external")
# Package and version → the least share of its call sites that leads to a definition of the repository.
FEWEST = {("click", "8.1.7"): 0.45, ("flask", "3.0.3"): 0.30, ("requests", "2.32.3"): 0.30}


def shares(built: BuiltState) -> tuple[int, Counter[str]]:
    """How many call sites there are, and where they lead, by `repository`, `outside` or the reason."""
    sites = {row["call_id"] for row in built.rows("cst_callsites")}
    led: dict[str, str] = {}
    for row in built.rows("rel_calls"):
        if row["via_id"] in sites:
            reason = row["unresolved_reason"]
            told = "repository" if reason is None else "outside" if reason in OUTSIDE else reason
            if led.get(row["via_id"]) != "repository":
                led[row["via_id"]] = told
    return len(sites), Counter(led.values())


@pytest.mark.parametrize(("package", "version"), FEWEST)
def test_every_call_of_a_package_leads_somewhere_or_says_why(
    tmp_path: Path, engine: SparkEngine, package: str, version: str
) -> None:
    built = BuiltState.create(tmp_path, engine)
    for path, content in released_tree(package, version).items():
        built.repo.write(path, content)
    built.repo.commit()
    build_directly(built.settings, engine, built.progress)
    sites, led = shares(built)
    print(package, sites, {name: f"{count / sites:.1%}" for name, count in led.most_common()})
    assert sum(led.values()) == sites
    assert led["repository"] / sites >= FEWEST[package, version]

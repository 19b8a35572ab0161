"""What a build writes down of a commit's impact: exports, callers, importers, and files with their reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codeanatomy_assets import cli
from codeanatomy_assets.orchestration import fingerprints, impact
from codeanatomy_assets.orchestration.direct import build_directly
from codeanatomy_assets.orchestration.verify import verified
from codeanatomy_assets.rules import registry
from codeanatomy_assets.rules.rule import Rule
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets_tests.states import BuiltState, FirstBuilds, Quiet

CHAIN = {
    "pkg/__init__.py": "",
    "pkg/base.py": "class Base:\n    def run(self):\n        return 1\n\n\ndef helper(x):\n    return x\n",
    "pkg/mid.py": "from pkg.base import Base\n\n\nclass Mid(Base):\n    pass\n",
    "pkg/low.py": "from pkg.mid import Mid\n\n\nclass Low(Mid):\n    pass\n",
    "pkg/user.py": "from pkg.low import Low\n\n\ndef use():\n    return Low().run()\n",
    "pkg/caller.py": "from pkg import base\n\n\ndef call():\n    return base.helper(1)\n",
    "pkg/apart.py": "def alone():\n    return 2\n",
}
EDITED = (
    "class Base:\n    def stop(self):\n        return 1\n\n\nclass helper:\n    def __init__(self, x):\n        pass\n"
)

Started = Callable[[dict[str, str]], BuiltState]


def at_last(built: BuiltState, dataset: str) -> list[dict[str, Any]]:
    commit = built.last().commit
    return [row for row in built.rows(dataset) if row["commit"] == commit]


def reasons(built: BuiltState) -> set[tuple[str, str, str]]:
    return {(row["path"], row["reason_kind"], row["reason_ref"]) for row in at_last(built, "inc_impacted_files")}


@pytest.mark.parametrize("most_listed", [delta_reads.MOST_LISTED, 0])
def test_exports_callers_and_importers_of_a_change_are_rows(
    built_with: Started, monkeypatch: pytest.MonkeyPatch, most_listed: int
) -> None:
    """Whether what is looked for is few and listed in the question, or many and joined with."""
    monkeypatch.setattr(delta_reads, "MOST_LISTED", most_listed)
    built = built_with(CHAIN).unrecorded()
    built.commit({"pkg/base.py": EDITED})
    exports = {(row["entry_path"], row["change"]) for row in at_last(built, "inc_changed_exports")}
    assert {("Base.run", "removed"), ("Base.stop", "added"), ("helper", "altered")} <= exports
    callers = {(row["path"], row["reason_kind"]) for row in at_last(built, "inc_impacted_callers")}
    assert {("pkg/caller.py", "caller_symbol"), ("pkg/mid.py", "override")} <= callers
    importers = {(row["path"], row["reason_kind"]) for row in at_last(built, "inc_impacted_importers")}
    assert {("pkg/mid.py", "import_name"), ("pkg/caller.py", "import_module")} <= importers
    files = {row["path"] for row in at_last(built, "inc_impacted_files")}
    assert files >= {path for path, _ in callers | importers}
    assert "pkg/apart.py" not in files
    for row in at_last(built, "inc_impacted_files"):
        assert (row["distance"] == 0) == (row["path"] == "pkg/base.py"), row


def test_a_rule_that_moved_rebuilds_every_file_with_that_reason_and_keeps_the_commits_own(
    built_with: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = built_with(CHAIN).unrecorded()
    built.commit({"pkg/base.py": EDITED})
    before, exports = reasons(built), at_last(built, "inc_changed_exports")
    monkeypatch.setattr(fingerprints, "_rules", lambda known: {"rules_text": "another", "rules": "another"})
    report = built.build()
    assert report["refreshed_stages"] == ["relationships", "graph"]
    every_file = {(path, "full_refresh", "relationships.rules moved") for path in CHAIN}
    assert reasons(built) == before | every_file
    assert at_last(built, "inc_changed_exports") == exports
    built.commit({"pkg/apart.py": "def alone():\n    return 3\n"})
    assert reasons(built) == {("pkg/apart.py", "changed_file", "")}


def test_a_closure_past_the_limit_becomes_a_full_refresh_that_says_so(built_with: Started) -> None:
    built = built_with(CHAIN).unrecorded()
    built.settings = replace(built.settings, strategy="import_closure", impact_iterations=1)
    report = built.commit({"pkg/base.py": EDITED})
    assert report["refreshed_stages"] == ["impact", "relationships", "graph"]
    assert reasons(built) == {(path, "full_refresh", "more than 1 imports from a change") for path in CHAIN}
    assert "impact: more than 1 imports from a change, so everything is rebuilt" in built.progress.lines
    built.settings = replace(built.settings, impact_iterations=3)
    built.commit({"pkg/base.py": CHAIN["pkg/base.py"]})
    assert {path for path, _, _ in reasons(built)} == CHAIN.keys() - {"pkg/apart.py", "pkg/__init__.py"}


MANY_WAYS = {
    "pkg/__init__.py": "from pkg.tools import helper\n",
    "pkg/tools.py": "def helper(x):\n    return x\n\n\nclass Tool:\n    def __add__(self, other):\n        return 1\n",
    "pkg/star.py": "from pkg.tools import *\n\n\ndef starred():\n    return helper(1)\n",
    "pkg/user.py": "from pkg import helper\n\n\ndef use():\n    return helper(2)\n",
    "pkg/dotted.py": "import pkg\n\n\ndef reach():\n    return pkg.tools.helper(3)\n",
    "pkg/missing.py": "from pkg.tools import later\n\nlater()\n",
    "pkg/flow.py": "from pkg.tools import Tool\n\n\ndef total():\n    return Tool() + 1\n",
    "pkg/sink.py": "from pkg.flow import total\n\ntotal().bit_length()\n",
}


def test_each_way_to_use_a_changed_name_has_its_own_reason_and_is_explained(
    built_with: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    built = built_with(MANY_WAYS).unrecorded()
    built.commit(
        {
            "pkg/tools.py": "class helper:\n    def __init__(self, x):\n        pass\n\n\ndef later():\n    return 1\n"
            "\n\nclass Tool:\n    def __add__(self, other):\n        return ''\n"
        }
    )
    assert {
        ("pkg/__init__.py", "reexport", "pkg.helper"),
        ("pkg/user.py", "import_name", "pkg.helper"),
        ("pkg/user.py", "caller_symbol", "pkg.tools.helper"),
        ("pkg/star.py", "import_star", "pkg.tools"),
        ("pkg/dotted.py", "import_module", "pkg.helper"),
        ("pkg/missing.py", "caller_qname", "pkg.tools.later"),
        ("pkg/flow.py", "scip_changed", "__add__"),
        ("pkg/sink.py", "scip_changed", "total"),
    } <= reasons(built)
    told = {path: _explained(built, path, capsys) for path in MANY_WAYS}
    assert "changed" in told["pkg/tools.py"]
    assert all("pkg/tools.py" in text for text in told.values())


def _explained(built: BuiltState, path: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["explain", path, "--state", str(built.settings.state)]) == 0
    return capsys.readouterr().out


LAZY = {
    "lazy.py": "def __getattr__(name):\n    return 1\n\n\ndef known():\n    return 1\n",
    "near.py": "import lazy\n\nlazy.anything\n",
    "far.py": "import near\n\nnear.lazy\n",
    "apart.py": "def alone():\n    return 2\n",
}


def lazily_impacted(built: BuiltState, strategy: str) -> set[tuple[str, str, str]]:
    """The reasons of a new name in a module whose names can't all be told."""
    built.settings = replace(built.settings, strategy=strategy)
    built.commit({"lazy.py": LAZY["lazy.py"].replace("known", "other")})
    return reasons(built)


def test_hybrid_follows_all_imports_from_a_module_whose_names_cant_be_told(
    built_with: Started, first_builds: FirstBuilds, tmp_path: Path
) -> None:
    def files(strategy: str) -> set[str]:
        built = first_builds.of(LAZY).copy(tmp_path / strategy).unrecorded()
        return {path for path, _, _ in lazily_impacted(built, strategy)}

    assert files("hybrid") == files("import_closure") == {"lazy.py", "near.py", "far.py"}
    assert "far.py" not in files("symbol_closure")


def test_a_closure_over_too_many_imports_for_the_driver_has_the_same_reasons(
    first_builds: FirstBuilds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for most in (impact.MOST_IMPORTS_ON_DRIVER, 0):
        monkeypatch.setattr(impact, "MOST_IMPORTS_ON_DRIVER", most)
        built = first_builds.of(LAZY).copy(tmp_path / str(most)).unrecorded()
        found.append(lazily_impacted(built, "import_closure"))
    assert found[0] == found[1]
    assert ("far.py", "import_module", "near.py") in found[0]


def test_a_changed_rule_makes_the_rows_of_a_clean_build_by_the_same_rule(
    built_with: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = built_with(CHAIN).unrecorded()
    before, calls = built.versions(), built.rows("rel_calls")
    monkeypatch.setattr(registry, "all_rules", _with_another_confidence(registry.all_rules()))
    report = built.build()
    assert report["refreshed_stages"] == ["relationships", "graph"]
    moved = {name for name, version in built.versions().items() if version != before[name]}
    assert {"relationships", "cpg_edges"} <= moved
    assert not {name for name in moved if name.startswith(("cst_", "scip_", "py_", "dim_"))}
    assert {row["confidence"] for row in built.rows("rel_calls")} != {row["confidence"] for row in calls}
    clean = build_directly(replace(built.settings, state=tmp_path / "clean"), built.engine, Quiet())
    assert verified(built.last(), clean).differences == ()
    profiles = {row["stage"]: row["fingerprint"] for row in at_last(built, "run_profiles")}
    assert {stage: profiles[stage] for stage in report["refreshed_stages"]} == {
        stage: built.last().fingerprints[stage] for stage in report["refreshed_stages"]
    }


def _with_another_confidence(rules: tuple[Rule, ...]) -> Callable[[], tuple[Rule, ...]]:
    calls = next(rule for rule in rules if rule.name == "rel_calls")
    other = replace(calls, sql=calls.sql.replace("'certain'", "'possible'"))
    assert other != calls
    return lambda: tuple(other if rule is calls else rule for rule in rules)

"""What a build writes down of a commit's impact: exports, callers, importers, and files with their reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from codeanatomy_assets.orchestration import fingerprints, impact
from codeanatomy_assets_tests.states import BuiltState

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


@pytest.mark.parametrize("most_listed", [impact.MOST_LISTED, 0])
def test_exports_callers_and_importers_of_a_change_are_rows(
    built_with: Started, monkeypatch: pytest.MonkeyPatch, most_listed: int
) -> None:
    """Whether what is looked for is few and named in the question, or many and picked from the answer."""
    monkeypatch.setattr(impact, "MOST_LISTED", most_listed)
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

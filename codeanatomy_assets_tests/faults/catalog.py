"""Faults that an incremental graph could have, each planted by a patch, and a commit that brings it to light.

A fault is in the loop that decides what is rebuilt and from what: a build from scratch does not have it, so the
comparison of the two finds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from codeanatomy_assets.extraction import scip_waves
from codeanatomy_assets.extraction.words import words_of
from codeanatomy_assets.orchestration import following_exports, impact, indexing, plan, views, writing_run
from codeanatomy_assets.orchestration.assets import graph, relationships, repository
from codeanatomy_assets.storage import attempts, delta_reads, delta_store
from codeanatomy_assets.storage.delta_store import Attempt
from codeanatomy_assets.transforms import impact as impact_transforms
from codeanatomy_assets.transforms import looked_up_from, names

PACKAGE = {
    "app/__init__.py": "",
    "app/base.py": "class Top:\n    def run(self):\n        return 1\n",
    "app/mid.py": "from app.base import Top\n\n\nclass Mid(Top):\n    pass\n",
    "app/low.py": "from app.mid import Mid\n\n\nclass Low(Mid):\n    pass\n",
    "app/caller.py": "from app.low import Low\n\n\ndef call():\n    low = Low()\n    return low.run()\n",
    "app/kinds.py": "class One:\n    def act(self): ...\n\n\nclass Two:\n    def act(self): ...\n\n\nCurrent = One\n",
    "app/noted.py": "from app import kinds\n\n\ndef noted(x: 'kinds.Current'):\n    return x.act()\n",
    "app/helpers.py": "__all__ = ['first', 'second']\n\n\ndef first(): ...\n\n\ndef second(): ...\n",
    "app/star.py": "from app.helpers import *\n",
    "app/star2.py": "from app.star import *\n",
    "app/user.py": "from app.star2 import first, second\n\n\ndef use():\n    return first(), second()\n",
    "app/maybe.py": "try:\n    from app.extra import thing\nexcept ImportError:\n    thing = None\n\nthing()\n",
    "app/source.py": "def make():\n    return 1\n",
    "app/flow.py": "from app.source import make\n\n\ndef through(x):\n    return make()\n",
    "app/sink.py": "from app.flow import through\n\n\ndef sink():\n    return through(1).bit_length()\n",
    "lib/tools.py": "def tool():\n    return 1\n",
    "main.py": "import lib.tools\n\nlib.tools.tool()\n",
}
OVERRIDE = {"app/mid.py": "from app.base import Top\n\n\nclass Mid(Top):\n    def run(self):\n        return 2\n"}
CONSTRUCTOR = {
    "app/base.py": "class Top:\n    def __init__(self): ...\n\n    def run(self):\n        return 1\n",
}
NOTED = {"app/kinds.py": PACKAGE["app/kinds.py"].replace("Current = One", "Current = Two")}
STAR = {"app/helpers.py": "__all__ = ['first']\n\n\ndef first(): ...\n\n\ndef second(): ...\n"}
ARRIVAL = {"app/extra.py": "def thing():\n    return 1\n"}
DEPARTURE = {"lib/tools.py": None}
FLOW = {"app/source.py": "def make():\n    return 'x'\n"}
RENAMED = {"app/base.py": "class Top:\n    def ran(self):\n        return 1\n"}

Edit = Mapping[str, str | None]
Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Fault:
    """What is wrong, how it is planted, and the commit after which it shows.

    `after_death`: a run that dies before its ledger row, with this commit, comes first. `settings`: those that the
    faulty build has and the state before had not.
    """

    name: str
    doc: str
    edit: Edit
    plant: Patch
    after_death: Edit | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def _first_wave_alone(patch: pytest.MonkeyPatch) -> None:
    run = scip_waves.Waves.run
    patch.setattr(scip_waves.Waves, "run", lambda self: (each for each in run(self) if each.wave <= 1))


def _strings_name_nothing(patch: pytest.MonkeyPatch) -> None:
    words = words_of
    patch.setattr(indexing, "words_of", lambda source: words(re.sub(rb"'[^'\n]*'", b"''", source)))


def _inheritance_forgotten(patch: pytest.MonkeyPatch) -> None:
    given = looked_up_from._given
    patch.setattr(looked_up_from, "_given", lambda held, fields: () if fields else given(held, fields))


def _reexports_followed_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(following_exports, "_asking", lambda *_: frozenset())


def _meaning_is_no_reason(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(impact._Finding, "_semantic", lambda *_: impact_transforms.Reasons())


def _targets_scoped(patch: pytest.MonkeyPatch) -> None:
    def scoped(run: Any, columns: Any, files: Any, whole: Any = ()) -> Any:
        return views.views(run, columns, files, ())

    patch.setattr(relationships, "views", scoped)
    patch.setattr(graph, "views", scoped)


def _deleted_files_stay(patch: pytest.MonkeyPatch) -> None:
    changes = repository._changes

    def without_deleted(run: Any) -> Any:
        found = changes(run)
        return found and replace(found, deleted=())

    patch.setattr(repository, "_changes", without_deleted)


def _names_never_move(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(names, "changed_answers", lambda *_: frozenset())


def _documents_known_by_path(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(indexing._Indexing, "_is_known", lambda self, _answer, file_id, _source: file_id in self.known)


def _slices_compared_by_count(patch: pytest.MonkeyPatch) -> None:
    by_owner = delta_store._rows_by_owner

    def counted(table: Any, rows: Any) -> dict[str, list[str]]:
        return {owner: [str(len(texts))] for owner, texts in by_owner(table, rows).items()}

    patch.setattr(delta_store, "_rows_by_owner", counted)


def _fingerprints_ignored(patch: pytest.MonkeyPatch) -> None:
    for module in (plan, writing_run):
        patch.setattr(module, "moved_stages", lambda *_: ())


def _dead_rows_kept(patch: pytest.MonkeyPatch) -> None:
    """RESTORE skipped: what a dead run wrote is taken for the state."""

    def as_they_are(store: Any, last: Any, _attempt: Any) -> Any:
        latest = {name: delta_reads.latest_version(ref.path, store.options) for name, ref in last.state.refs.items()}
        return {name: ref.at(latest[name]) for name, ref in last.state.refs.items()}, sorted(last.state.refs)

    patch.setattr(attempts, "_repair_known", as_they_are)


def _attempts_alike(patch: pytest.MonkeyPatch) -> None:
    """A transaction id that is used again."""
    patch.setattr(attempts, "begin_attempt", lambda _folder, commit, _run: Attempt(1, commit))


def _previous_is_latest(patch: pytest.MonkeyPatch) -> None:
    changes = delta_reads.changes_light

    def of_nothing(table: Any, _before: Any, after: Any, options: Any) -> Any:
        return changes(table, after, after, options)

    patch.setattr(delta_reads, "changes_light", of_nothing)


def _checkout_left_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writing_run.WritingRun, "update_checkout", lambda _: None)


def _impact_of_changed_files_alone(patch: pytest.MonkeyPatch) -> None:
    def found(self: Any) -> Any:
        return impact.Impact(files=self._own_reasons())

    patch.setattr(impact._Finding, "found", found)


FAULTS = (
    Fault("first_wave_alone", "the waves end with the changed files", OVERRIDE, _first_wave_alone),
    Fault("strings_name_nothing", "a mention in a string brings no file into a wave", NOTED, _strings_name_nothing),
    Fault("inheritance_forgotten", "subclasses of a changed class are left", CONSTRUCTOR, _inheritance_forgotten),
    Fault("reexports_followed_once", "who re-exports a re-export is left", STAR, _reexports_followed_once),
    Fault("meaning_is_no_reason", "a file with the same text is not rebuilt", FLOW, _meaning_is_no_reason),
    Fault("targets_scoped", "rules look for targets in impacted files only", OVERRIDE, _targets_scoped),
    Fault("deleted_files_stay", "rows of a deleted file are kept", DEPARTURE, _deleted_files_stay),
    Fault("names_never_move", "a new module does not answer an old import", ARRIVAL, _names_never_move),
    Fault("documents_known_by_path", "a document once read is not read again", RENAMED, _documents_known_by_path),
    Fault("slices_compared_by_count", "as many rows are taken for the same rows", RENAMED, _slices_compared_by_count),
    Fault(
        "fingerprints_ignored",
        "a changed setting rebuilds nothing",
        RENAMED,
        _fingerprints_ignored,
        settings={"repo_id": "another"},
    ),
    Fault("dead_rows_kept", "what a dead run wrote is not undone", DEPARTURE, _dead_rows_kept, after_death=RENAMED),
    Fault("attempts_alike", "a transaction id is used again", OVERRIDE, _attempts_alike, after_death=RENAMED),
    Fault("previous_is_latest", "the state before is read as the state now", OVERRIDE, _previous_is_latest),
    Fault("checkout_left_behind", "the indexer reads the commit before", RENAMED, _checkout_left_behind),
    Fault("changed_files_alone", "only files with another text are rebuilt", OVERRIDE, _impact_of_changed_files_alone),
)

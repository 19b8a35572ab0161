"""The histories that incremental graphs get wrong, one after the other in one state, each equal to a clean build."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.storage.spark_session import SparkEngine
from codeanatomy_assets_tests.parity.state_histories import StateReplay, StateStep
from codeanatomy_assets_tests.states import BuiltState, Quiet

pytestmark = pytest.mark.slow

OTHER = "class Other:\n    def __init__(self):\n        pass\n\n\n"
PACKAGE = {
    "app/__init__.py": "from app.urls import Router\n",
    "app/base.py": "class Top:\n    def run(self):\n        return 1\n\n    def stop(self):\n        return 'x'\n",
    "app/mid.py": "from app.base import Top\n\n\nclass Mid(Top):\n    pass\n",
    "app/low.py": "from app.mid import Mid\n\n\nclass Low(Mid):\n    pass\n",
    "app/caller.py": "from app.low import Low\n\n\ndef call():\n    low = Low()\n    return low.run()\n",
    "app/urls.py": "class Router:\n    def resolve(self, path):\n        return path\n\n\ndef route():\n"
    "    return Router()\n",
    "app/views.py": "from app.urls import Router, route\n\n\ndef view():\n    return route().resolve('/')\n",
    "app/helpers.py": "__all__ = ['first', 'second']\n\n\ndef first():\n    return 1\n\n\n"
    "def second():\n    return 2\n",
    "app/star.py": "from app.helpers import *\n",
    "app/star2.py": "from app.star import *\n",
    "app/user.py": "from app.star2 import first, second\n\n\ndef use():\n    return first() + second()\n",
    "app/loop_a.py": "from app import loop_b\n\n\ndef ping(n):\n    return loop_b.pong(n - 1) if n else 0\n",
    "app/loop_b.py": "from app import loop_a\n\n\ndef pong(n):\n    return loop_a.ping(n - 1) if n else 1\n",
    "app/flow.py": "from app.source import make\n\n\ndef through(x):\n    return make()\n",
    "app/source.py": "def make():\n    return 1\n",
    "app/sink.py": "from app.flow import through\n\n\ndef sink():\n    return through(1).bit_length()\n",
    "app/maybe.py": "try:\n    from app.extra import thing\nexcept ImportError:\n    thing = None\n"
    "\n\ndef ask():\n    return thing()\n",
    "app/shadowed.py": "import json\n\n\ndef dump():\n    return json.dumps({})\n",
    "lib/tools.py": "def tool():\n    return 1\n",
    "main.py": "import lib.tools\nfrom app import Router\n\nlib.tools.tool()\nRouter().resolve('/')\n",
    "apart.py": "def alone():\n    return len('x')\n",
    "app/ants.py": "from ant import *\n\n\ndef make():\n    return Ant()\n",
    "ant.py": "class Ant:\n    pass\n\n\ndef other():\n    return 1\n",
    "ant.pyi": "class Ant: ...\n",
    "app/cats.py": "VALUE = 1\n",
    "cat.py": "class Cat:\n    pass\n\n\ndef make():\n    return Cat()\n",
    "cat.pyi": "from app.cats import Cat\n",
    "far/__init__.py": "",
    "far/off.py": "def run():\n    return 1\n",
    "dotted.py": "import far\n\nfar.off.run()\n",
    "kin/top.py": f"{OTHER}class Base:\n    pass\n",
    "kin/mid.py": "from kin.top import Base\n\n\nclass C(Base):\n    pass\n",
    "kin/end.py": "from kin.mid import C\n\nC()\n",
    "two/one.py": "class Base:\n    def __init__(self):\n        pass\n",
    "two/other.py": "class Base:\n    def __init__(self):\n        pass\n",
    "two/hub.py": "from two.one import Base\n",
    "two/mid.py": "from two.hub import Base\n\n\nclass C(Base):\n    pass\n",
    "two/end.py": "from two.mid import C\n\nC()\n",
    "ali/one.py": "class C:\n    pass\n\n\nD = C\n",
    "ali/two.py": "from ali.one import D\n\nD()\n",
    "loc/one.py": "def make():\n    class L:\n        def label(self):\n            return 1\n    return L()\n",
    "loc/two.py": "from loc.one import make\n\nmake().label\n",
    "mem/one.py": "def deco():\n    def clear():\n        return 1\n    return clear\n\n\ndeco.clear = deco()\n",
    "mem/two.py": "import mem.one\n\nmem.one.deco.clear()\n",
    "bx.py": "def len(x):\n    return 0\n",
    "by.py": "def len(x):\n    return 0\n",
    "src/pkg/one.py": "VALUE = 1\n",
    "src/pkg/two.py": "from pkg.one import VALUE\n",
    "first/src/a.py": "x = 1\n",
    "second/src/shared.py": "def both():\n    return 1\n",
    "asker.py": "import shared\n\nshared.both()\n",
    "enc/one.py": "def caf\u00e9():\n    return 1\n",
}
# Another encoding writes the name in other bytes.
ENCODED = {
    "enc/two.py": "# coding: latin-1\nfrom enc.one import caf\u00e9\n\ncaf\u00e9().bit_length()\n".encode("latin-1")
}


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory, engine: SparkEngine) -> StateReplay:
    made = StateReplay(tmp_path_factory.mktemp("histories"), engine)
    first = made.step({path: text.encode() for path, text in PACKAGE.items()} | ENCODED)
    assert list(first.complaints()) == []
    return made


def commit(replay: StateReplay, **edits: str | None) -> StateStep:
    """Build a commit of these files (None: deleted), which must equal a clean build and name all it changed."""
    tree = dict(replay.present)
    for path, text in _paths(edits):
        if text is None:
            tree.pop(path)
        else:
            tree[path] = text.encode()
    step = replay.step(tree)
    assert list(step.complaints()) == []
    assert step.is_refresh or "apart.py" not in step.impacted
    return step


def _paths(edits: dict[str, str | None]) -> Iterator[tuple[str, str | None]]:
    """`app__base` is app/base.py, `app__new____init__` is app/new/__init__.py."""
    for name, text in edits.items():
        stem = name.replace("____init__", "/@").replace("__", "/").replace("@", "__init__")
        yield f"{stem}.py", text


def file_id(replay: StateReplay, path: str) -> str:
    return identity.FILE.of(replay.state.repo_id, path)


def rows_of(replay: StateReplay, dataset: str, path: str) -> list[dict[str, Any]]:
    view = BuiltState(replay.repo, replay.state, replay.engine, Quiet())
    return [row for row in view.rows(dataset) if row["file_id"] == file_id(replay, path)]


def primary_module(replay: StateReplay, path: str) -> str:
    return next(str(row["module"]) for row in rows_of(replay, "py_module_index", path) if not row["is_alternate"])


def text(replay: StateReplay, path: str) -> str:
    return replay.present[path].decode()


def test_a_callee_edited_leaves_its_callers_alone(replay: StateReplay) -> None:
    step = commit(replay, app__urls=text(replay, "app/urls.py").replace("return path", "return path  # as it is"))
    assert step.impacted == {"app/urls.py"}


def test_an_override_added_below_an_inherited_method(replay: StateReplay) -> None:
    step = commit(replay, app__mid=text(replay, "app/mid.py").replace("pass", "def run(self):\n        return 2"))
    assert {"app/mid.py", "app/low.py", "app/caller.py"} <= step.impacted
    assert "app/views.py" not in step.impacted


def test_a_method_moved_to_a_base_class(replay: StateReplay) -> None:
    """`run` is Mid's alone, and then Top's alone: the call in a fourth, unchanged file leads to another file."""
    top = text(replay, "app/base.py")
    commit(replay, app__base=top.replace("    def run(self):\n        return 1\n\n", ""))
    mid = "from app.base import Top\n\n\nclass Mid(Top):\n    pass\n"
    step = commit(replay, app__mid=mid, app__base=top.replace("return 1", "return 2"))
    assert {"app/caller.py", "app/base.py", "app/mid.py"} <= step.impacted


def test_a_base_three_files_up_gains_a_constructor(replay: StateReplay) -> None:
    top = text(replay, "app/base.py").replace("class Top:\n", "class Top:\n    def __init__(self):\n        pass\n\n")
    step = commit(replay, app__base=top)
    assert {"app/base.py", "app/low.py", "app/caller.py"} <= step.impacted


def test_a_second_definition_above_the_first(replay: StateReplay) -> None:
    step = commit(replay, app__urls="def route(x):\n    return x\n\n\n" + text(replay, "app/urls.py"))
    assert {"app/urls.py", "app/views.py"} <= step.impacted


def test_a_name_removed_from_all(replay: StateReplay) -> None:
    step = commit(replay, app__helpers=text(replay, "app/helpers.py").replace("['first', 'second']", "['first']"))
    assert {"app/helpers.py", "app/star.py", "app/star2.py", "app/user.py"} <= step.impacted


def test_a_star_reexport_changed_two_hops_away(replay: StateReplay) -> None:
    moved = (
        text(replay, "app/helpers.py")
        .replace("['first']", "['first', 'second']")
        .replace("def second():\n    return 2\n", "class second:\n    pass\n")
    )
    step = commit(replay, app__helpers=moved)
    assert {"app/helpers.py", "app/user.py"} <= step.impacted


def test_an_import_cycle(replay: StateReplay) -> None:
    step = commit(replay, app__loop_b=text(replay, "app/loop_b.py").replace("def pong(n)", "def pong(n, m=0)"))
    assert {"app/loop_a.py", "app/loop_b.py"} <= step.impacted


def test_a_changed_type_flows_through_an_unannotated_function(replay: StateReplay) -> None:
    step = commit(
        replay,
        app__source="class Made:\n    def bit_length(self):\n        return 0\n\n\ndef make():\n    return Made()\n",
    )
    assert {"app/source.py", "app/flow.py", "app/sink.py"} <= step.impacted


def test_a_new_module_makes_an_old_import_resolve(replay: StateReplay) -> None:
    step = commit(replay, app__extra="def thing():\n    return 1\n")
    assert {"app/extra.py", "app/maybe.py"} <= step.impacted
    resolved = {row["target_file_id"] for row in rows_of(replay, "py_imports_resolved", "app/maybe.py")}
    assert file_id(replay, "app/extra.py") in resolved


def test_a_module_renamed(replay: StateReplay) -> None:
    step = commit(replay, app__extra=None, app__extras="def thing():\n    return 1\n")
    assert {"app/extra.py", "app/extras.py", "app/maybe.py"} <= step.impacted


def test_a_module_shadows_one_of_the_standard_library(replay: StateReplay) -> None:
    step = commit(replay, json="def dumps(x):\n    return ''\n")
    assert {"json.py", "app/shadowed.py"} <= step.impacted or step.is_refresh
    assert commit(replay, json=None).is_equal


def test_a_module_becomes_a_package_and_back(replay: StateReplay) -> None:
    source = text(replay, "app/source.py")
    step = commit(replay, app__source=None, app__source____init__=source)
    assert {"app/source.py", "app/source/__init__.py", "app/flow.py"} <= step.impacted
    assert commit(replay, app__source=source, app__source____init__=None).is_equal


def test_a_file_moved_between_packages(replay: StateReplay) -> None:
    step = commit(replay, lib__tools=None, app__tools=text(replay, "lib/tools.py"))
    assert {"lib/tools.py", "app/tools.py", "main.py"} <= step.impacted


def test_a_parent_package_appears_and_renames_modules(replay: StateReplay) -> None:
    assert primary_module(replay, "src/pkg/one.py") == "pkg.one"
    step = commit(replay, src____init__="")
    assert step.is_refresh
    assert primary_module(replay, "src/pkg/one.py") == "src.pkg.one"


def test_a_module_shadows_one_of_another_root(replay: StateReplay) -> None:
    """`shared` is found in the second root until the first has one too."""
    step = commit(replay, first__src__shared="def both():\n    return ''\n")
    assert {"first/src/shared.py", "asker.py"} <= step.impacted
    (target,) = {row["target_file_id"] for row in rows_of(replay, "py_imports_resolved", "asker.py")}
    assert target == file_id(replay, "first/src/shared.py")


def test_a_module_beside_its_stub_loses_what_only_the_stubs_importers_call(replay: StateReplay) -> None:
    step = commit(replay, ant="def other():\n    return 1\n")
    assert {"ant.py", "app/ants.py"} <= step.impacted


def test_a_stub_leads_its_modules_own_calls_elsewhere_when_a_third_file_goes(replay: StateReplay) -> None:
    assert {"cat.py", "cat.pyi"} <= commit(replay, app__cats=None).impacted


def test_a_function_called_by_the_path_of_a_module_that_no_import_names(replay: StateReplay) -> None:
    step = commit(replay, far__off="def walk():\n    return 1\n")
    assert {"far/off.py", "dotted.py"} <= step.impacted
    assert {"far/off.py", "dotted.py"} <= commit(replay, far__off="def run():\n    return 2\n").impacted


def test_a_class_gets_a_base_whose_constructor_a_caller_runs(replay: StateReplay) -> None:
    step = commit(replay, kin__top=f"{OTHER}class Base(Other):\n    pass\n")
    assert {"kin/top.py", "kin/mid.py", "kin/end.py"} <= step.impacted


def test_a_base_comes_from_another_module(replay: StateReplay) -> None:
    assert "two/end.py" in commit(replay, two__hub="from two.other import Base\n").impacted


def test_a_class_that_is_called_by_another_name_gets_a_constructor(replay: StateReplay) -> None:
    built = "class C:\n    def __init__(self):\n        pass\n\n\nD = C\n"
    assert "ali/two.py" in commit(replay, ali__one=built).impacted


def test_a_method_of_a_local_class_becomes_a_property(replay: StateReplay) -> None:
    decorated = text(replay, "loc/one.py").replace("        def label", "        @property\n        def label")
    assert "loc/two.py" in commit(replay, loc__one=decorated).impacted


def test_a_local_function_that_is_called_as_a_member_is_renamed(replay: StateReplay) -> None:
    assert commit(replay, mem__one=text(replay, "mem/one.py").replace("clear", "wipe")).is_equal


def test_the_builtins_of_the_repository_lead_elsewhere(replay: StateReplay) -> None:
    here = dict(replay.present)
    for source in (b"from bx import len\n", b"from by import len\n"):
        assert list(replay.step({**here, "builtins.py": source}).complaints()) == []
    assert list(replay.step(here).complaints()) == []


def test_a_name_that_two_encodings_write_in_other_bytes(replay: StateReplay) -> None:
    one = text(replay, "enc/one.py").replace("return 1", "return ''")
    assert "enc/two.py" in commit(replay, enc__one=one).impacted


def test_portions_of_a_namespace_and_scripts_of_one_name(tmp_path: Path, engine: SparkEngine) -> None:
    """In two source folders: modules that call each other by the namespace's name, and files that are no modules."""
    script = "def main():\n    return 1\n\n\nmain()\n"
    tree = {
        "p1/src/acme/caller.py": b"from .far import run\n\nrun()\n",
        "p2/src/acme/far.py": b"def run():\n    return 1\n",
        "p1/src/run-it.py": script.encode(),
        "p2/src/run-it.py": script.encode(),
        "p1/src/m.py": b"",
        "p2/src/n.py": b"",
        "p1/src/use_m.py": b"import m\n",
        "p2/src/use_n.py": b"import n\n",
    }
    replay = StateReplay(tmp_path, engine)
    assert list(replay.step(tree).complaints()) == []
    tree["p2/src/acme/far.py"] = b"def ran():\n    return 1\n"
    assert list(replay.step(tree).complaints()) == []
    tree["p2/src/run-it.py"] = script.replace("main", "start").encode()
    assert list(replay.step(tree).complaints()) == []


def test_a_commit_reverted_and_two_branches_to_and_fro(replay: StateReplay) -> None:
    here, here_commit = dict(replay.present), replay.repo.head()
    there = {
        **here,
        "app/base.py": here["app/base.py"] + b"\n\nclass Extra(Top):\n    pass\n",
        "app/mid.py": b"class Mid:\n    pass\n",
    }
    assert list(replay.step(there).complaints()) == []
    there_commit = replay.repo.head()
    assert list(replay.step(here).complaints()) == []
    for commit, tree in ((there_commit, there), (here_commit, here), (there_commit, there)):
        step = replay.switch(commit, tree)
        assert list(step.complaints()) == []
        assert (replay.last is not None and replay.last.commit) == commit
        assert {"app/base.py", "app/mid.py", "app/caller.py"} <= step.impacted

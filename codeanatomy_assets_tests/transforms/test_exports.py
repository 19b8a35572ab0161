"""What importers see of a module, and where each name leads."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from codeanatomy_assets.transforms.export_facts import Row, facts_of, qualified_names_of
from codeanatomy_assets.transforms.exports import Facts, ModuleFacts, exported_rows
from codeanatomy_assets_tests.transforms.export_trees import (
    called_names,
    exported,
    facts_by_file,
    leads,
    public_names,
    sources_of,
    updated,
)
from codeanatomy_assets_tests.transforms.names_trees import file_id

DEF = "def f():\n    pass\n"


def test_a_definition_leads_to_itself() -> None:
    assert leads({"m.py": DEF}, "m.f") == [("definition", "m.f")]


def test_a_reexport_leads_to_the_definition_over_three_modules() -> None:
    files = {
        "a.py": DEF,
        "b.py": "from a import f as g\n",
        "c.py": "from b import g as h\n",
        "d.py": "from c import h\n",
    }
    assert leads(files, "d.h") == [("definition", "a.f")]
    [row] = [row for row in exported(files) if row["qname"] == "d.h"]
    assert row["hops"] == 3
    assert row["looked_up"] == sorted(
        f"{file_id(path)} {name}" for path, name in (("a.py", "f"), ("b.py", "g"), ("c.py", "h"))
    )


def test_a_cycle_of_reexports_leads_nowhere() -> None:
    assert leads({"a.py": "from b import f\n", "b.py": "from a import f\n"}, "a.f") == [("unresolved", None)]


def test_a_cycle_with_a_definition_in_it_leads_there() -> None:
    files = {"a.py": "from b import g\n" + DEF, "b.py": "from a import f\n\ndef g():\n    pass\n"}
    assert leads(files, "b.f") == [("definition", "a.f")]
    assert leads(files, "a.g") == [("definition", "b.g")]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("def f():\n    pass\n_x = 1\ny = 2\n", {"f", "y"}),
        ("__all__ = ['f']\n" + DEF + "y = 1\n", {"f"}),
        ("__all__ = ['f']\n__all__ += ['_x']\n_x = 1\n" + DEF, {"f", "_x"}),
        ("__all__ = ['f']\n__all__.extend(['y'])\ny = 1\n" + DEF, {"f", "y"}),
        ("__all__ = ['f', 'y']\n__all__.remove('y')\ny = 1\n" + DEF, {"f"}),
        ("__all__ = names()\ny = 1\n_z = 2\n" + DEF, {"y", "f"}),
    ],
)
def test_what_a_star_takes(source: str, shown: set[str]) -> None:
    assert public_names({"m.py": source}, "m") == shown


def test_a_star_brings_the_names_that_the_module_shows() -> None:
    files = {"a.py": "__all__ = ['f']\n" + DEF + "y = 1\n", "b.py": "from a import *\n"}
    assert leads(files, "b.f") == [("definition", "a.f")]
    assert leads(files, "b.y") == []


def test_stars_are_followed_over_modules_and_in_circles() -> None:
    files = {"a.py": "from c import *\n" + DEF, "b.py": "from a import *\n", "c.py": "from b import *\ndef g(): ...\n"}
    assert leads(files, "c.f") == [("definition", "a.f")]
    assert leads(files, "b.g") == [("definition", "c.g")]


def test_a_name_bound_here_hides_the_stars() -> None:
    files = {"a.py": DEF, "b.py": "from a import *\n" + DEF}
    assert leads(files, "b.f") == [("definition", "b.f")]


def test_a_list_taken_over_from_another_module() -> None:
    files = {
        "p/__init__.py": "from p import a\nfrom p.a import *\n__all__ = ['own'] + a.__all__\ndef own(): ...\n",
        "p/a.py": "__all__ = ['_f']\ndef _f(): ...\n",
        "use.py": "from p import *\n",
    }
    assert leads(files, "use._f") == [("definition", "p.a._f")]
    assert leads(files, "use.own") == [("definition", "p.own")]


def test_a_submodule_that_a_package_lists() -> None:
    files = {"p/__init__.py": "__all__ = ['sub']\n", "p/sub.py": DEF, "use.py": "from p import *\n"}
    assert leads(files, "use.sub") == [("module", "p.sub")]


def test_a_submodule_taken_by_name_and_an_attribute_before_it() -> None:
    files = {"p/__init__.py": "", "p/sub.py": DEF, "use.py": "from p import sub\n"}
    assert leads(files, "use.sub") == [("module", "p.sub")]
    files["p/__init__.py"] = "def sub(): ...\n"
    assert leads(files, "use.sub") == [("definition", "p.sub")]


def test_aliases_lead_on_through_modules_and_classes() -> None:
    files = {
        "a.py": "class C:\n    def m(self): ...\n    n = m\n" + DEF,
        "b.py": "import a\nfrom a import f\ng = f\nh = a.f\nk = a.C.m\nz = a.missing\n",
    }
    assert leads(files, "b.g") == [("definition", "a.f")]
    assert leads(files, "b.h") == [("definition", "a.f")]
    assert leads(files, "b.k") == [("definition", "a.C.m")]
    assert leads(files, "b.z") == [("variable", "b.z")]


def test_an_import_from_outside_keeps_its_name() -> None:
    assert leads({"a.py": "from os import path as p\nimport json\n"}, "a.p") == [("external", "os.path")]


def test_both_branches_of_a_conditional_import_count() -> None:
    files = {"a.py": DEF, "b.py": DEF, "c.py": "try:\n    from a import f\nexcept ImportError:\n    from b import f\n"}
    assert leads(files, "c.f") == [("definition", "a.f"), ("definition", "b.f")]


def test_a_later_definition_replaces_an_earlier_one_unless_it_is_conditional() -> None:
    rows = exported({"m.py": "def f(): ...\ndef f(x): ...\nif x:\n    def f(y): ...\n"})
    assert [row["is_effective"] for row in rows if row["entry_path"] == "f"] == [False, True, True]


def test_members_nested_and_local_definitions_are_told_apart() -> None:
    rows = exported({"m.py": "class C:\n    x = 1\n    class D:\n        def m(self):\n            def inner(): ...\n"})
    found = {row["entry_path"]: row["binding"] for row in rows}
    assert found == {
        **{"<module>": "module", "C": "definition", "C.x": "member", "C.D": "member", "C.D.m": "member"},
        "C.D.m.inner": "local",
    }


def test_a_body_leaves_the_signature_and_a_parameter_moves_it() -> None:
    first, body, parameter = (
        next(row["signature"] for row in exported({"m.py": source}) if row["name"] == "f")
        for source in ("def f(x): return 1\n", "def f(x): return 2\n", "def f(x, y): return 1\n")
    )
    assert first == body != parameter


def test_a_module_with_getattr_or_an_unreadable_list_can_not_be_enumerated() -> None:
    for source, told in (("def __getattr__(n): ...\n", False), ("__all__ = names()\n", False), ("x = 1\n", True)):
        [row] = [row for row in exported({"m.py": source}) if row["binding"] == "module"]
        assert row["is_enumerable"] is told


def test_candidates_of_calls_are_made_absolute() -> None:
    imports = "from . import a\nfrom ..b import c\nimport os\n"
    files = {"p/q/m.py": f"{imports}a.f()\nc()\nos.getcwd()\nlen([])\ndef g(): ...\ng()\n"}
    assert called_names(files, "p/q/m.py") == {"p.q.a.f", "p.b.c", "os.getcwd", "builtins.len", "p.q.m.g"}


@pytest.mark.parametrize("sees", ["earlier modules", "all others"])
def test_stars_between_many_modules_are_followed_in_little_time(sees: str) -> None:
    names = [f"m{number:02}" for number in range(40)]
    files = {
        f"{name}.py": "".join(
            f"from {other} import *\n" for other in (names[:at] if sees == "earlier modules" else names)
        )
        + f"def f_{name}(): ...\n"
        for at, name in enumerate(names)
    }
    asked = _Counting(facts_by_file(files))
    last = next(module for module in facts_by_file(files).values() if module.prefix == names[-1])
    shown = {row["entry_path"] for row in exported_rows(last, asked) if row["target_kind"] == "definition"}
    assert shown == {f"f_{name}" for name in names}
    assert asked.times < 200_000


class _Counting(Facts):
    """Counts how often a module is asked for its facts."""

    times = 0

    def of(self, file_id: str) -> ModuleFacts | None:
        self.times += 1
        return super().of(file_id)


def test_either_way_of_a_name_over_many_modules_is_followed_once() -> None:
    files = {"m00.py": "def f(): ...\n"}
    for number in range(1, 40):
        tries = "".join(
            f"try:\n    from {side}{number - 1:02} import f\nexcept ImportError:\n    pass\n" for side in "mn"
        )
        files |= {f"{side}{number:02}.py": tries for side in "mn"}
    assert set(leads(files, "m39.f")) == {("definition", "m00.f"), ("external", "n00.f")}


def test_facts_do_not_depend_on_the_order_in_which_rows_are_read() -> None:
    source = (
        "from p import a, b\n__all__ = ['q']\n__all__ += a.__all__\nq = 1\n__all__ += b.__all__\n"
        "try:\n    from p import q\nexcept ImportError:\n    q = None\nclass C:\n    def m(self): ...\n    m = 1\n"
    )
    [sources] = [each for each in sources_of({"m.py": source, "p/a.py": "", "p/b.py": ""}).values() if each.defs]
    told = facts_of(sources), qualified_names_of(sources)
    chance = random.Random(1)

    def shuffled(rows: Sequence[Row]) -> list[Row]:
        return chance.sample(rows, len(rows))

    for _ in range(20):
        mixed = replace(
            sources,
            defs=shuffled(sources.defs),
            refs=shuffled(sources.refs),
            imports=shuffled(sources.imports),
            clauses=shuffled(sources.clauses),
            calls=shuffled(sources.calls),
        )
        assert facts_of(mixed) == told[0]
        assert sorted(map(repr, qualified_names_of(mixed))) == sorted(map(repr, told[1]))


def test_a_walk_after_a_commit_gives_what_a_whole_walk_gives() -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    tree = _random_tree(chance)
    rows = exported(tree)
    fewer = 0
    for _ in range(120):
        new = _edited(chance, tree)
        rows, walked = updated(rows, tree, new)
        assert sorted(map(repr, rows)) == sorted(map(repr, exported(new))), f"seed {seed}: {new}"
        fewer += len(walked) < len(new)
        tree = new
    assert fewer > 60


def _random_tree(chance: random.Random) -> dict[str, str]:
    paths = [f"p/{name}.py" for name in ("__init__", "a", "b", "c", "d", "e", "f", "g")]
    return {path: _random_module(chance) for path in paths}


def _random_module(chance: random.Random) -> str:
    return "".join(f"{_random_line(chance)}\n" for _ in range(chance.randint(0, 4)))


def _random_line(chance: random.Random) -> str:
    module, name, other = chance.choice("abcdefg"), chance.choice("xyzw"), chance.choice("xyzw")
    return chance.choice(
        (
            f"def {name}(): ...",
            f"class {name}:\n    def {other}(self): ...",
            f"from p.{module} import {name}",
            f"from p.{module} import {name} as {other}",
            f"from p.{module} import *",
            f"from p import {module}",
            "from p import *",
            f"{name} = {other}",
            f"{name} = {module}.{other}",
            f"__all__ = ['{name}', '{module}']",
            f"__all__ += {module}.__all__",
        )
    )


def _edited(chance: random.Random, tree: dict[str, str]) -> dict[str, str]:
    new = dict(tree)
    for _ in range(chance.randint(1, 2)):
        path = f"p/{chance.choice(('__init__', *'abcdefg'))}.py"
        if path in new and chance.random() < 0.2:
            del new[path]
        else:
            new[path] = _random_module(chance)
    return new

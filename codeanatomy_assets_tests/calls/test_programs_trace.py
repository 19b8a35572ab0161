"""The table of programs says what happens: running them shows its edges, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeanatomy_assets.contracts.syntax import DEFS
from codeanatomy_assets.extraction.syntax_tree import collect
from codeanatomy_assets_tests.calls.all_programs import ALL_PROGRAMS, CATEGORIES
from codeanatomy_assets_tests.calls.judging import STRICT, combined_tree
from codeanatomy_assets_tests.calls.program import Edge, Program, program
from codeanatomy_assets_tests.calls.qualified_names import ModuleNames
from codeanatomy_assets_tests.calls.tracing import traced_edges


def readable(edges: frozenset[Edge]) -> list[str]:
    return [f"{caller} -> {callee}" for caller, callee in sorted(edges)]


@pytest.mark.parametrize("category", CATEGORIES)
def test_running_the_programs_shows_the_edges_of_the_table_and_no_other(category: str, tmp_path: Path) -> None:
    traced = traced_edges(CATEGORIES[category], tmp_path)
    for each in CATEGORIES[category]:
        seen = traced[each.package]
        assert readable(each.calls - seen) == [], "calls that were not seen"
        assert readable(each.indirect - seen) == [], "indirect calls that were not seen"
        assert readable(seen - each.calls - each.indirect) == [], "seen and not in the table"
        assert readable(seen & (each.untraced | each.possible)) == [], "seen, though the table says never"
        assert readable(each.wanted & each.tolerated) == [], "both wanted and tolerated"


@pytest.mark.parametrize("each", ALL_PROGRAMS, ids=lambda each: each.package)
def test_a_program_names_definitions_that_it_has(each: Program) -> None:
    modules = [ModuleNames(path, source) for path, source in each.files.items()]
    callees = {named.qname for module in modules for named in module.definitions}
    callers = callees | {module.module for module in modules}
    edges = each.wanted | each.tolerated
    assert [edge for edge in readable(edges) if edge.split(" -> ")[0] not in callers] == []
    assert [edge for edge in readable(edges) if edge.split(" -> ")[1] not in callees] == []


def test_the_names_of_the_table_are_those_of_the_syntax_stage() -> None:
    local_qname = DEFS.column_names.index("local_qname")
    for path, source in combined_tree(ALL_PROGRAMS).items():
        rows = collect("file", path, source.encode())[DEFS.name]
        module = ModuleNames(path, source)
        ours = [named.qname.removeprefix(f"{module.module}.") for named in module.definitions]
        assert sorted(str(row[local_qname]) for row in rows) == sorted(ours), path


def test_every_category_has_several_programs_and_every_strict_one_is_there() -> None:
    assert {category: len(programs) for category, programs in CATEGORIES.items() if len(programs) < 5} == {}
    assert set(STRICT) <= CATEGORIES.keys()
    assert len({each.package for each in ALL_PROGRAMS}) == len(ALL_PROGRAMS)


def test_the_tracer_tells_apart_what_stands_on_one_line(tmp_path: Path) -> None:
    crowded = program(
        "crowded",
        """
        --- main.py
        def a(n): return n
        def b(n): return n

        one, two = (lambda n: a(n)), (lambda n: [b(each) for each in (n, n)])
        one(1), two(2), [(lambda: [a(n) for n in range(2)])() for _ in range(1)]

        def deco(f): return f

        class Body:
            rows = [a(n) for n in range(2)]

            @deco
            def method(self, form=lambda n: b(n)): return form(1)

        Body().method()
        """,
        calls="""
        main -> main.<lambda1>, main.<lambda2>, main.<lambda3>, main.Body.method
        main.<lambda1> -> main.a
        main.<lambda2> -> main.b
        main.<lambda3> -> main.a
        main.Body -> main.a, main.deco
        main.Body.method -> main.Body.<lambda1>
        main.Body.<lambda1> -> main.b
        """,
    )
    assert readable(traced_edges([crowded], tmp_path)["crowded"]) == readable(crowded.calls)

"""Changed rows led back to the files that look them up, over a few rows and the project's own rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.lookups import Giver, Lookup
from codeanatomy_assets.rules import registry
from codeanatomy_assets.rules.compiler import compile_rule
from codeanatomy_assets.transforms.looked_up_from import LookedUpFrom, Question

Rows = dict[str, list[dict[str, Any]]]

LOOKUPS = frozenset(lookup for rule in registry.all_rules() for lookup in compile_rule(rule).lookups)
COLUMNS = {table.name: table.column_names for table in catalog.TABLES}


def occurrence(file: str, symbol: str) -> tuple[str, dict[str, Any]]:
    return "scip_occurrences", {"file_id": file, "symbol_id": symbol, "role": "read"}


def called(file: str, qname_id: str) -> tuple[str, dict[str, Any]]:
    return "dim_qualified_names", {"file_id": file, "qname_id": qname_id, "subject_kind": "call"}


def export(file: str, entry: str, kind: str = "function", **more: Any) -> tuple[str, dict[str, Any]]:
    def_id = f"{file}:{entry}"
    told: dict[str, Any] = {
        "file_id": file,
        "entry_path": entry,
        "name": entry.rpartition(".")[2],
        "qname": f"{file}.{entry}",
    }
    told |= {"kind": kind, "def_id": def_id, "target_def_id": def_id, "target_file_id": file, "is_effective": True}
    told |= {"own_symbol_id": f"sym {def_id}", "qname_id": f"qn {def_id}", "target_kind": "definition"}
    return "dim_exported_defs", {**told, **more}


def header(file: str, name: str, *mro: tuple[str, str]) -> tuple[str, dict[str, Any]]:
    classes = [{"path": path, "local_qname": each} for path, each in ((f"{file}.py", name), *mro)]
    return "py_interface", {"file_id": file, "entry_path": f"{name}.<mro>", "kind": "mro", "mro": classes}


def tracked(*files: str) -> list[tuple[str, dict[str, Any]]]:
    return [("repo_snapshot", {"file_id": file, "path": f"{file}.py"}) for file in files]


def reached(
    stored: Iterable[tuple[str, dict[str, Any]]],
    came: Iterable[tuple[str, dict[str, Any]]] = (),
    went: Iterable[tuple[str, dict[str, Any]]] = (),
    lookups: frozenset[Lookup] = LOOKUPS,
) -> set[str]:
    """The files that look up what came or went; what came is stored."""
    came, went = list(came), list(went)
    now = [*stored, *came]

    def changes(table: str, columns: frozenset[str]) -> Iterator[tuple[dict[str, Any], int]]:
        for rows, sign in ((came, 1), (went, -1)):
            yield from ((_whole(table, row), sign) for name, row in rows if name == table)

    def find(question: Question) -> Iterator[dict[str, Any]]:
        for row in (_whole(name, row) for name, row in now if name == question.table):
            held = row[question.column]
            given = [each[question.fields[0]] for each in held or ()] if question.fields else [held]
            is_meant = any(value in question.values for value in given)
            if is_meant and all(row[column] == value for column, value in question.constants):
                yield {column: row[column] for column in question.columns}

    return {each.file_id for each in LookedUpFrom(lookups, COLUMNS, changes, find).files()}


def _whole(table: str, row: dict[str, Any]) -> dict[str, Any]:
    return {**dict.fromkeys(COLUMNS[table]), **row}


def test_who_names_a_symbol_or_calls_by_a_name_is_reached() -> None:
    near, far = occurrence("f", "sym g:run"), called("h", "qn g:run")
    other = occurrence("z", "sym g:walk")
    assert reached([near, far, other], came=[export("g", "run")]) == {"f", "h"}
    assert reached([near, far, other], went=[export("g", "run")]) == {"f", "h"}


def test_what_no_rule_looks_at_reaches_nobody() -> None:
    before, after = export("g", "run", signature="()"), export("g", "run", signature="(x)")
    assert reached([occurrence("f", "sym g:run")], came=[after], went=[before]) == set()


def test_a_constructor_reaches_callers_of_subclasses_also_by_another_name() -> None:
    stored = [
        *tracked("g", "b"),
        export("g", "C", "class"),
        header("g", "C", ("b.py", "Base")),
        export("g", "D", "variable", target_def_id="g:C", def_id=None),
        export("b", "Base", "class"),
        header("b", "Base"),
        occurrence("by_name", "sym g:C"),
        occurrence("by_alias", "sym g:D"),
        called("by_qname", "qn g:D"),
        occurrence("of_base", "sym b:Base"),
        occurrence("apart", "sym b:Other"),
    ]
    found = reached(stored, came=[export("b", "Base.__init__")])
    assert found == {"by_name", "by_alias", "by_qname", "of_base", "g", "b"}
    assert reached(stored, came=[export("b", "Other.__init__")]) == set()
    # A method reaches who may override it: the file of the subclass, and not its callers.
    assert reached(stored, came=[export("b", "Base.run")]) == {"g", "b"}


def test_another_order_of_bases_reaches_who_constructs_the_class() -> None:
    stored = [
        export("g", "C", "class"),
        export("g", "K", "class"),
        occurrence("f", "sym g:C"),
        occurrence("z", "sym g:K"),
    ]
    assert reached(stored, came=[header("g", "C", ("b.py", "Base"))], went=[header("g", "C")]) == {"f"}


def test_public_names_reach_stars_alone() -> None:
    star = {"file_id": "star", "target_file_id": "g", "target_kind": "module", "is_star": True}
    named = {"file_id": "named", "target_file_id": "g", "target_kind": "module", "is_star": False}
    stored = [("py_imports_resolved", star), ("py_imports_resolved", named)]
    assert reached(stored, came=[export("g", "run", is_public=True)]) == {"star"}


@pytest.mark.parametrize("compared", [frozenset(), frozenset({("entry_path", "local_qname"), ("entry_path", "name")})])
def test_names_end_a_way_only_where_the_query_compares_them(compared: frozenset[tuple[str, str]]) -> None:
    own = Giver("py_interface", "mro", ("path",))
    paths = Lookup("repo_snapshot", "path", frozenset({own}), frozenset({"path", "file_id"}))
    given = frozenset({Giver("repo_snapshot", "file_id", lookup=paths)})
    exports = Lookup("dim_exported_defs", "file_id", given, frozenset({"entry_path"}), compared=compared)
    stored = [*tracked("b"), header("g", "C", ("b.py", "Base"))]
    assert reached(stored, came=[export("b", "Other.run")], lookups=frozenset({exports})) == {"g"}


def test_a_table_that_is_needed_whole_reaches_everything() -> None:
    whole = Lookup("dim_exported_defs", columns=frozenset({"qname"}))
    row = _whole(*export("g", "run"))
    found = LookedUpFrom({whole}, COLUMNS, lambda *_: [(row, 1)], lambda _: [])
    assert list(found.files()) == []
    assert found.everything is not None and found.everything.title == "g.run"
    same = LookedUpFrom({whole}, COLUMNS, lambda *_: [(row, 1), ({**row, "signature": "()"}, -1)], lambda _: [])
    assert list(same.files()) == [] and same.everything is None


@pytest.mark.parametrize(
    ("descriptor", "title"),
    [
        ("Router#resolve().", "app.urls.Router.resolve"),
        ("Router#resolve(+1).", "app.urls.Router.resolve"),
        ("route().(path)", "app.urls.route.path"),
        ("`caf\u00e9 au lait`.", "app.urls.caf\u00e9 au lait"),
    ],
)
def test_a_symbol_is_called_by_its_dotted_name(descriptor: str, title: str) -> None:
    whole = Lookup("scip_symbols", columns=frozenset({"symbol"}))
    row = _whole("scip_symbols", {"file_id": "g", "module": "app.urls", "descriptor": descriptor})
    found = LookedUpFrom({whole}, COLUMNS, lambda *_: [(row, 1)], lambda _: [])
    assert list(found.files()) == []
    assert found.everything is not None and found.everything.title == title

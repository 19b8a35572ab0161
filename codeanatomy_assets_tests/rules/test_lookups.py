"""What a rule's SQL says of the rows that it needs of other files. No Spark."""

from __future__ import annotations

import pytest

from codeanatomy_assets.contracts.lookups import Giver, Lookup
from codeanatomy_assets.rules import registry
from codeanatomy_assets.rules.compiler import compile_rule
from codeanatomy_assets_tests.rules.small_rules import VALID, rule_of

OWN_SYMBOLS = Giver("scip_occurrences", "symbol_id")
BY_SYMBOL = Lookup("dim_exported_defs", "own_symbol_id", frozenset({OWN_SYMBOLS}))
LEADING = "LEFT JOIN dim_exported_defs AS e ON e.own_symbol_id = o.symbol_id"


def lookups(joins: str, with_: str = "") -> set[Lookup]:
    """Of a rule over calls with their occurrence `o`, and these joins."""
    return {lookup.bare() for lookup in compile_rule(rule_of(f"{with_}{VALID}{joins}")).lookups}


def test_rows_of_the_owners_files_are_no_lookups() -> None:
    assert lookups("LEFT JOIN scip_fingerprints AS f ON f.file_id = c.file_id") == set()


def test_rows_are_looked_up_by_the_values_that_a_join_asks_for() -> None:
    assert lookups(LEADING) == {BY_SYMBOL}


def test_a_lookup_leads_to_the_next() -> None:
    given = frozenset({Giver("dim_exported_defs", "target_def_id", lookup=BY_SYMBOL)})
    found = lookups(f"{LEADING} JOIN cst_defs AS d ON d.def_id = e.target_def_id")
    assert found == {BY_SYMBOL, Lookup("cst_defs", "def_id", given)}


@pytest.mark.parametrize(
    "value",
    [
        "COALESCE(e.def_id, e.target_def_id)",
        "CASE WHEN e.is_public THEN e.def_id WHEN e.is_effective THEN NULL ELSE e.target_def_id END",
    ],
)
def test_a_choice_gives_the_values_of_all_that_it_chooses_from(value: str) -> None:
    givers = {Giver("dim_exported_defs", name, lookup=BY_SYMBOL) for name in ("def_id", "target_def_id")}
    assert Lookup("cst_defs", "def_id", frozenset(givers)) in lookups(
        f"{LEADING} JOIN cst_defs AS d ON d.def_id = {value}"
    )


@pytest.mark.parametrize(
    "on",
    [
        "e.entry_path = CONCAT(o.symbol_id, '.x')",
        "e.own_symbol_id = o.symbol_id OR e.is_public",
        "e.own_symbol_id <> o.symbol_id",
        "e.own_symbol_id = 'sym_1'",
    ],
)
def test_a_table_is_needed_whole_where_no_ids_can_be_told(on: str) -> None:
    assert lookups(f"LEFT JOIN dim_exported_defs AS e ON {on}") == {Lookup("dim_exported_defs")}


def test_numbers_lead_to_no_rows() -> None:
    assert lookups("LEFT JOIN scip_occurrences AS p ON p.bstart = o.bstart") == {Lookup("scip_occurrences")}


def test_what_a_whole_table_leads_to_is_needed_whole() -> None:
    found = lookups(
        "LEFT JOIN dim_exported_defs AS e ON e.is_public LEFT JOIN cst_defs AS d ON d.def_id = e.target_def_id"
    )
    assert found == {Lookup("dim_exported_defs"), Lookup("cst_defs")}


def test_values_go_into_a_with_through_groups_and_windows_by_them() -> None:
    grouped = (
        "WITH known AS (SELECT e.own_symbol_id, MIN(e.qname) AS qname, "
        "COUNT(*) OVER (PARTITION BY e.own_symbol_id) AS n FROM dim_exported_defs AS e GROUP BY e.own_symbol_id) "
    )
    assert lookups("JOIN known AS k ON k.own_symbol_id = o.symbol_id", grouped) == {BY_SYMBOL}


@pytest.mark.parametrize(
    "inside",
    [
        "SELECT e.own_symbol_id, COUNT(*) OVER (PARTITION BY e.kind) AS n FROM dim_exported_defs AS e",
        "SELECT MIN(e.own_symbol_id) AS own_symbol_id, e.kind FROM dim_exported_defs AS e GROUP BY e.kind",
    ],
)
def test_values_stay_outside_where_other_rows_count(inside: str) -> None:
    found = lookups("JOIN known AS k ON k.own_symbol_id = o.symbol_id", f"WITH known AS ({inside}) ")
    assert found == {Lookup("dim_exported_defs")}


def test_a_with_has_the_values_of_all_its_users() -> None:
    known = "WITH known AS (SELECT e.own_symbol_id, e.symbol_id FROM dim_exported_defs AS e) "
    found = lookups(
        "JOIN known AS k ON k.own_symbol_id = o.symbol_id "
        "JOIN scip_symbols AS s ON s.file_id = c.file_id JOIN known AS l ON l.own_symbol_id = s.symbol_id",
        known,
    )
    givers = frozenset({OWN_SYMBOLS, Giver("scip_symbols", "symbol_id")})
    assert found == {Lookup("dim_exported_defs", "own_symbol_id", givers)}


def test_a_with_that_leads_to_itself_is_needed_whole() -> None:
    known = "WITH known AS (SELECT e.own_symbol_id, e.symbol_id FROM dim_exported_defs AS e) "
    joins = "JOIN known AS k ON k.own_symbol_id = o.symbol_id JOIN known AS l ON l.own_symbol_id = k.symbol_id"
    assert lookups(joins, known) == {Lookup("dim_exported_defs")}


def test_fields_of_exploded_structs_give_values() -> None:
    known = (
        "WITH known AS (SELECT i.file_id, m.class.path FROM py_interface AS i "
        "LATERAL VIEW POSEXPLODE(i.mro) m AS position, class) "
    )
    found = lookups(
        "JOIN known AS k ON k.file_id = c.file_id JOIN repo_snapshot AS s ON s.path = k.path",
        known,
    )
    assert found == {Lookup("repo_snapshot", "path", frozenset({Giver("py_interface", "mro", ("path",))}))}


def test_a_lookup_tells_what_is_done_with_the_rows() -> None:
    known = (
        "WITH known AS (SELECT i.file_id, m.class.path, m.class.local_qname FROM py_interface AS i "
        "LATERAL VIEW POSEXPLODE(i.mro) m AS position, class WHERE i.kind = 'mro') "
    )
    joins = (
        "JOIN known AS k ON k.file_id = c.file_id JOIN repo_snapshot AS s ON s.path = k.path "
        "LEFT JOIN dim_exported_defs AS e ON e.file_id = s.file_id AND e.is_effective AND e.kind = 'function' "
        "AND e.entry_path = CONCAT(REPLACE(k.local_qname, '.<locals>', ''), '.run')"
    )
    found = {lookup.table: lookup for lookup in compile_rule(rule_of(f"{known}{VALID}{joins}")).lookups}
    exports = found["dim_exported_defs"]
    assert exports.columns == {"file_id", "is_effective", "kind", "entry_path"}
    assert exports.constants == {("is_effective", True), ("kind", "function")}
    assert exports.compared == {("file_id", "file_id"), ("entry_path", "local_qname")}
    (giver,) = found["repo_snapshot"].givers
    assert giver.constants == {("kind", "mro")}
    assert [exports.depth, found["repo_snapshot"].depth] == [1, 0]


@pytest.mark.parametrize(
    "on", ["e.kind = 'class' OR e.is_public", "e.kind <> 'class'", "e.kind = o.role", "NOT e.is_public"]
)
def test_what_a_row_need_not_have_is_no_constant(on: str) -> None:
    (lookup,) = compile_rule(rule_of(f"{VALID}{LEADING} AND ({on})")).lookups
    assert lookup.constants == set()


def test_a_name_that_is_put_together_otherwise_is_not_compared() -> None:
    joins = f"{LEADING} AND e.entry_path = CONCAT('x', c.callee_name)"
    (lookup,) = compile_rule(rule_of(f"{VALID}{joins}")).lookups
    assert lookup.compared == {("own_symbol_id", "symbol_id")}


def test_no_rule_of_the_project_needs_a_table_whole() -> None:
    assert [(name, lookup.table) for name, lookup in _all_lookups() if lookup.column is None] == []


def _all_lookups() -> list[tuple[str, Lookup]]:
    return [(rule.name, lookup) for rule in registry.all_rules() for lookup in compile_rule(rule).lookups]

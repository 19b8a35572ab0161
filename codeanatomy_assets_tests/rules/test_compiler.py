"""What the compiler refuses, with rule, place and what is known; and what it makes of a rule it accepts."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from codeanatomy_assets.contracts import relationships, syntax
from codeanatomy_assets.rules.compiler import compile_rule
from codeanatomy_assets.rules.registry import all_rules
from codeanatomy_assets.rules.rule import Place, Rule, RuleError
from codeanatomy_assets_tests.rules.small_rules import VALID, changed, rule_of

GOLDEN_BODY = (
    "FROM (SELECT `_t0`.`file_id` AS `_c0`, `_t0`.`call_id` AS `_c1`, `_t0`.`call_id` AS `_c2`, "
    "`_t1`.`symbol_id` AS `_c3`, NULL AS `_c4`, `_t0`.`bstart` AS `_c5`, `_t0`.`bend` AS `_c6`, 'cst+scip' AS `_c7`, "
    "'span' AS `_c8`, 'certain' AS `_c9`, 1 AS `_c10`, NULL AS `_c11` FROM `cst_callsites` AS `_t0` "
    "JOIN `scip_occurrences` AS `_t1` ON `_t1`.`file_id` = `_t0`.`file_id` "
    "AND `_t1`.`bstart` = `_t0`.`callee_bstart` AND `_t1`.`role` = 'read') AS `_t2`"
)
GOLDEN_FINGERPRINT = "5c74df44befd5ba300e7d90efc648fba24ea2171e1e96e8fc8206d91913aec39"


def refusal(rule: Rule) -> RuleError:
    with pytest.raises(RuleError) as caught:
        compile_rule(rule)
    assert str(caught.value).startswith("rule rel_tried: ")
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "at", "said"),
    [
        ("scip_occurrences", "scip_occurences", "scip_occurences", r"no table scip_occurences.*: .*scip_occurrences"),
        ("o.symbol_id", "o.symbl_id", "o.symbl_id", r"o has no column symbl_id; known: file_id, symbol_id"),
        ("c.bstart, c.bend", "bstart, c.bend", "bstart, c.bend", r"bstart is a column of c, o: say which"),
        ("c.bstart, c.bend", "nowhere, c.bend", "nowhere", r"nowhere is a column of no source here.*c: file_id"),
        ("c.bstart, c.bend", "d.bstart, c.bend", "d.bstart", r"no source d here; known: c, o"),
        ("o.role = 'read'", "o.role = 1", "1\n", r"1 is int where the others of eq are string"),
        ("o.role = 'read'", "o.bend", "o.bend", r"and takes boolean, and o.bend is int"),
        ("o.role = 'read'", "CONCAT(o.role, o.bend) = 'x'", "o.bend) =", r"concat takes string, and o.bend is int"),
        ("1 AS score", "'high' AS score", "'high'", r"score is string, the contract says double"),
        ("1 AS score", "RAND() AS score", "RAND", r"rand may give another answer"),
        ("'span'", "UUID()", "UUID", r"uuid may give another answer"),
        ("1 AS score", "MONOTONICALLY_INCREASING_ID() AS score", "MONO", r"monotonically_increasing_id may give"),
        ("'span'", "CURRENT_TIMESTAMP()", "CURRENT", r"current_timestamp may give"),
        ("1 AS score", "FIRST(o.bend) OVER (PARTITION BY c.file_id) AS score", "FIRST", r"first may give"),
        ("1 AS score", "REVERSE(o.role) AS score", "REVERSE", r"reverse is not among what rules may use"),
        ("SELECT c.file_id,", "SELECT c.*, c.file_id,", "*, c.file_id", r"SELECT \* hides"),
        (
            "c.file_id, c.call_id AS via",
            "o.file_id, c.call_id AS via",
            "o.file_id, c",
            r"must be the owner's: cst_calls",
        ),
        ("JOIN", "FULL JOIN", "scip_occurrences", r"rules join with JOIN, LEFT JOIN"),
        ("JOIN", "CROSS JOIN", "scip_occurrences", r"rules join with JOIN, LEFT JOIN"),
        ("'read'", "'read' ORDER BY c.bend", "c.bend\n", r"rules have no ORDER BY"),
        ("o.role = 'read'", "o.bend IN (SELECT o.bend)", "o.bend)", r"subquery inside an expression"),
        ("'read'", "'read' WHERE", "WHERE", r"cannot be parsed at 'WHERE'"),
        ("'read'", "'read'; SELECT 1", "", r"must be one SELECT or UNION"),
        ("1 AS score", "QNAME_ID(o.role, o.role) AS score", "QNAME_ID", r"QNAME_ID takes qname"),
    ],
)
def test_an_invalid_rule_is_refused_with_its_place(old: str, new: str, at: str, said: str) -> None:
    rule = changed(old, new)
    error = refusal(rule)
    assert re.search(said, str(error)), str(error)
    before = rule.sql[: rule.sql.index(at)]
    assert error.place == Place(before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)
    assert f"line {error.place.line}, column {error.place.column} of its SQL" in str(error)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("1 AS score, ", "", r"does not select score; a rule selects file_id, via_id"),
        ("1 AS score", "1 AS score, 2 AS weight", r"selects weight, which no relationship has"),
        ("'read'", "'read' LIMIT 5", r"rules have no LIMIT"),
        ("'read'", "'read", r"cannot be read"),
    ],
)
def test_an_invalid_whole_is_refused(old: str, new: str, said: str) -> None:
    assert re.search(said, str(refusal(changed(old, new))))


def test_a_union_s_branches_must_agree_in_number_and_type() -> None:
    shorter = VALID.replace("1 AS score, ", "")
    assert "has 11 columns, the first has 12" in str(refusal(rule_of(f"{VALID} UNION ALL {shorter}")))
    other = VALID.replace("1 AS score", "'high' AS score")
    assert "score is string here and int in the UNION's first" in str(refusal(rule_of(f"{VALID} UNION ALL {other}")))


def test_an_owner_that_no_branch_takes_its_file_from_is_refused() -> None:
    rule = Rule(name="rel_tried", owner=syntax.CALLSITES, doc="", sql=VALID, further_owners=(syntax.DEFS,))
    assert "no branch takes its file_id from its owner cst_defs" in str(refusal(rule))


def test_the_outcome_has_the_contract_s_columns_in_its_order() -> None:
    assert tuple(compile_rule(rule_of(VALID)).lineage) == tuple(column.name for column in relationships.COLUMNS)


def test_constants_ids_and_casts_are_added() -> None:
    sql = compile_rule(rule_of(VALID)).canonical_sql
    assert "CAST('rel_tried' AS STRING) AS `rule`" in sql
    assert "CAST(`_t2`.`_c10` AS DOUBLE) AS `score`" in sql
    assert "CAST(`_t2`.`_c4` AS STRING) AS `dep_file_id`" in sql
    assert "SHA2(" in sql


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n  ON ", "   ON\n\n\t"),
        ("FROM cst_callsites", "-- a remark\nFROM /* another */ cst_callsites"),
        ("JOIN", "INNER JOIN"),
        ("SELECT", "select"),
        ("cst_callsites AS c", "CST_CALLSITES c"),
        ("NULL AS dep_file_id", "null as DEP_FILE_ID"),
    ],
)
def test_layout_comments_and_case_keep_the_fingerprint(old: str, new: str) -> None:
    assert compile_rule(changed(old, new)).fingerprint == compile_rule(rule_of(VALID)).fingerprint


def test_other_aliases_keep_the_fingerprint() -> None:
    renamed = re.sub(r"\bo\b", "seen", re.sub(r"\bc\b", "site", VALID))
    assert compile_rule(rule_of(renamed)).fingerprint == compile_rule(rule_of(VALID)).fingerprint


def test_other_names_of_withs_and_their_columns_keep_the_fingerprint() -> None:
    def with_named(cte: str, column: str) -> Rule:
        body = VALID.replace("scip_occurrences AS o", f"{cte} AS o").replace("o.bstart", f"o.{column}")
        head = f"WITH {cte} AS (SELECT s.file_id, s.role, s.symbol_id, s.bstart AS {column} FROM scip_occurrences AS s)"
        return rule_of(f"{head} {body}")

    assert compile_rule(with_named("a", "b")).fingerprint == compile_rule(with_named("x", "y")).fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'read'", "'definition'"),
        ("1 AS score", "0.5 AS score"),
        ("c.callee_bstart", "c.bstart"),
        ("JOIN", "LEFT JOIN"),
    ],
)
def test_a_changed_meaning_moves_the_fingerprint(old: str, new: str) -> None:
    assert compile_rule(changed(old, new)).fingerprint != compile_rule(rule_of(VALID)).fingerprint


def test_the_canonical_form_is_as_it_was() -> None:
    """An upgrade of sqlglot that writes it differently rebuilds every relationship: that must show in review."""
    compiled = compile_rule(rule_of(VALID))
    assert compiled.canonical_sql.endswith(GOLDEN_BODY)
    assert compiled.fingerprint == GOLDEN_FINGERPRINT


def test_docs_and_examples_are_no_part_of_a_rule_s_identity() -> None:
    documented = Rule(name="rel_tried", owner=syntax.CALLSITES, doc="Other words.", sql=VALID)
    assert documented == rule_of(VALID)
    assert compile_rule(documented).fingerprint == compile_rule(rule_of(VALID)).fingerprint


def test_lineage_has_the_columns_that_are_shown_and_depends_on_those_that_decide() -> None:
    sql = """
        WITH counted AS (
            SELECT o.file_id, o.bstart, o.symbol_id, COUNT(*) OVER (PARTITION BY o.bend) AS n
            FROM scip_occurrences AS o WHERE o.role = 'read'
        )
        SELECT c.file_id, c.call_id AS via_id, c.scope_id AS src_id, COALESCE(s.symbol_id, c.callee_name) AS dst_id,
               m.part.name AS dep_file_id, c.bstart, c.bend, 'cst' AS origin, 'span' AS resolution_method,
               'certain' AS confidence, s.n AS score, NULL AS unresolved_reason
        FROM cst_callsites AS c
        LEFT JOIN counted AS s ON s.file_id = c.file_id AND s.bstart = c.callee_bstart
        LATERAL VIEW EXPLODE(c.arguments) m AS part
        WHERE c.callee_kind <> 'other'
    """
    compiled = compile_rule(rule_of(sql))
    assert compiled.lineage["src_id"] == (("cst_callsites", "scope_id"),)
    assert compiled.lineage["dst_id"] == (("cst_callsites", "callee_name"), ("scip_occurrences", "symbol_id"))
    assert compiled.lineage["dep_file_id"] == (("cst_callsites", "arguments"),)
    assert compiled.lineage["rule"] == ()
    assert compiled.depends_on == {
        ("cst_callsites", "file_id"),
        ("cst_callsites", "callee_bstart"),
        ("cst_callsites", "callee_kind"),
        ("cst_callsites", "arguments"),
        ("scip_occurrences", "file_id"),
        ("scip_occurrences", "bstart"),
        ("scip_occurrences", "bend"),
        ("scip_occurrences", "role"),
    }
    assert compiled.tables == ("cst_callsites", "scip_occurrences")


def test_the_scope_reaches_the_owner_and_what_is_joined_on_its_file() -> None:
    sql = compile_rule(rule_of(VALID)).spark_sql(scoped=True)
    assert sql.count("LEFT SEMI JOIN scope_files") == 2
    assert sql.count("/*+ BROADCAST(`_scope`) */") == 2


def test_the_scope_leaves_what_other_files_may_answer() -> None:
    rule = changed("o.file_id = c.file_id AND ", "")
    sql = compile_rule(rule).spark_sql(scoped=True)
    assert sql.count("LEFT SEMI JOIN scope_files") == 1
    assert "FROM `cst_callsites` AS `_whole`" in sql
    assert "scope_files" not in compile_rule(rule).spark_sql()


def test_a_with_that_another_branch_reads_whole_is_scoped_where_it_is_used() -> None:
    sql = """
        WITH calls AS (SELECT k.file_id, k.call_id, k.callee_name, k.bstart, k.bend FROM cst_callsites AS k),
        named AS (SELECT k.callee_name, COUNT(*) AS n FROM calls AS k GROUP BY k.callee_name)
        SELECT c.file_id, c.call_id AS via_id, c.call_id AS src_id, c.callee_name AS dst_id, NULL AS dep_file_id,
               c.bstart, c.bend, 'cst' AS origin, 'span' AS resolution_method, 'certain' AS confidence,
               1 / n.n AS score, NULL AS unresolved_reason
        FROM calls AS c JOIN named AS n ON n.callee_name = c.callee_name
    """
    scoped = compile_rule(rule_of(sql)).spark_sql(scoped=True)
    assert scoped.count("LEFT SEMI JOIN scope_files") == 1
    assert "FROM `cst_callsites` AS `_whole`" not in scoped


def test_a_template_has_its_tables_in_braces_and_doubles_other_braces() -> None:
    template = compile_rule(changed("'read'", "'{read}'")).template(scoped=True)
    sql = compile_rule(changed("'read'", "'{read}'")).spark_sql(scoped=True)
    names = {"cst_callsites": "`cst_callsites`", "scip_occurrences": "`scip_occurrences`", "scope_files": "scope_files"}
    assert "{scope_files} AS `_scope`" in template
    assert template.format(**names) == sql


def test_every_rule_compiles_and_keeps_its_tree_as_json() -> None:
    for rule in all_rules():
        compiled = compile_rule(rule)
        assert json.loads(compiled.tree), rule.name
        assert {table.name for table in rule.owners} <= set(compiled.tables)
        assert len(compiled.fingerprint) == 64


def test_knowing_the_rules_imports_neither_sqlglot_nor_pyspark() -> None:
    script = (
        "import sys\nfrom codeanatomy_assets.rules import compiler, registry, running\nassert registry.tables()\n"
        "print([name for name in ('sqlglot', 'pyspark', 'dagster') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"

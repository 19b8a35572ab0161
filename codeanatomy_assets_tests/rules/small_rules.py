"""Rules of a few lines for tests of the compiler: a valid one, and ways to change it."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.rule import Rule

VALID = """
SELECT c.file_id, c.call_id AS via_id, c.call_id AS src_id, o.symbol_id AS dst_id, NULL AS dep_file_id,
       c.bstart, c.bend, 'cst+scip' AS origin, 'span' AS resolution_method, 'certain' AS confidence,
       1 AS score, NULL AS unresolved_reason
FROM cst_callsites AS c
JOIN scip_occurrences AS o
  ON o.file_id = c.file_id AND o.bstart = c.callee_bstart AND o.role = 'read'
"""


def rule_of(sql: str) -> Rule:
    return Rule(name="rel_tried", owner=syntax.CALLSITES, doc="A rule that a test tries.", sql=sql)


def changed(old: str, new: str) -> Rule:
    """The valid rule with one text replaced by another."""
    assert VALID.count(old) >= 1, f"{old!r} is not in the valid rule"
    return rule_of(VALID.replace(old, new, 1))

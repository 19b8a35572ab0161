"""Rule rel_callsite_symbol: the symbol that a call calls, as the indexer says at its callee's last name."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.example_rows import call, indexed, occurrence
from codeanatomy_assets.rules.rule import Example, Rule

RULE = Rule(
    name="rel_callsite_symbol",
    owner=syntax.CALLSITES,
    edge_kind="PY_CALLS_SYMBOL",
    doc="Every call → the symbols read at its callee's last name, wherever they are defined.",
    sql="""
        WITH seen AS (
            SELECT o.file_id, o.bstart, o.bend, o.symbol_id,
                   COUNT(*) OVER (PARTITION BY o.file_id, o.bstart, o.bend) AS n
            FROM scip_occurrences AS o
            WHERE o.role = 'read'
        )
        SELECT c.file_id,
               c.call_id AS via_id,
               c.call_id AS src_id,
               s.symbol_id AS dst_id,
               NULL AS dep_file_id,
               c.bstart,
               c.bend,
               CASE WHEN s.symbol_id IS NULL THEN 'cst' ELSE 'cst+scip' END AS origin,
               CASE WHEN s.symbol_id IS NULL THEN 'unresolved' ELSE 'span' END AS resolution_method,
               CASE WHEN s.symbol_id IS NULL THEN 'none' WHEN s.n = 1 THEN 'certain' ELSE 'likely' END AS confidence,
               CASE WHEN s.symbol_id IS NULL THEN 0 ELSE 1 / s.n END AS score,
               CASE WHEN s.symbol_id IS NOT NULL THEN NULL
                    WHEN c.callee_kind = 'other' THEN 'dynamic'
                    WHEN f.file_id IS NULL OR f.failure IS NOT NULL THEN 'not_indexed'
                    WHEN ARRAY_CONTAINS(c.candidates.source, 'builtin') THEN 'builtin'
                    ELSE 'no_occurrence' END AS unresolved_reason
        FROM cst_callsites AS c
        LEFT JOIN seen AS s
          ON s.file_id = c.file_id AND s.bstart = c.callee_bstart AND s.bend = c.callee_bend
         AND c.callee_kind <> 'other'
        LEFT JOIN scip_fingerprints AS f ON f.file_id = c.file_id
    """,
    examples=(
        Example(
            "a call of a name",
            (indexed(), call("c", (20, 24)), occurrence("s", (20, 24))),
            expected=(
                {"src_id": "c", "via_id": "c", "dst_id": "s", "bstart": 20, "bend": 26, "confidence": "certain"},
            ),
        ),
        Example(
            "two symbols on the callee share the score",
            (indexed(), call("c", (20, 24)), occurrence("s", (20, 24)), occurrence("t", (20, 24))),
            expected=({"dst_id": "s", "score": 0.5}, {"dst_id": "t", "score": 0.5}),
        ),
        Example(
            "a name that is defined there is not called there",
            (indexed(), call("c", (20, 24)), occurrence("s", (20, 24), "definition")),
            expected=({"src_id": "c", "dst_id": None, "unresolved_reason": "no_occurrence"},),
            refused=({"dst_id": "s"},),
        ),
        Example(
            "the callee is no name",
            (indexed(), call("c", (20, 24), callee_kind="other"), occurrence("s", (20, 24))),
            expected=({"src_id": "c", "dst_id": None, "unresolved_reason": "dynamic"},),
            refused=({"dst_id": "s"},),
        ),
        Example(
            "a builtin that the indexer does not name",
            (indexed(), call("c", (20, 23), builtin=True)),
            expected=({"src_id": "c", "unresolved_reason": "builtin", "score": 0.0},),
        ),
        Example(
            "a file that could not be indexed",
            (indexed(failure="crash"), call("c", (20, 23), builtin=True)),
            expected=({"src_id": "c", "unresolved_reason": "not_indexed"},),
        ),
    ),
)

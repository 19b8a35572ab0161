"""Rule rel_name_symbol: what a name means, as the indexer says at the very same bytes."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.example_rows import indexed, occurrence, ref
from codeanatomy_assets.rules.rule import Example, Rule

RULE = Rule(
    name="rel_name_symbol",
    owner=syntax.NAME_REFS,
    edge_kind="PY_REFERENCES_SYMBOL",
    doc="Every name that is read, bound, deleted, a parameter or a keyword → the symbols at its span.",
    sql="""
        WITH seen AS (
            SELECT o.file_id, o.bstart, o.bend, o.symbol_id,
                   COUNT(*) OVER (PARTITION BY o.file_id, o.bstart, o.bend) AS n
            FROM scip_occurrences AS o
            GROUP BY o.file_id, o.bstart, o.bend, o.symbol_id
        )
        SELECT r.file_id,
               r.ref_id AS via_id,
               r.ref_id AS src_id,
               s.symbol_id AS dst_id,
               NULL AS dep_file_id,
               r.bstart,
               r.bend,
               CASE WHEN s.symbol_id IS NULL THEN 'cst' ELSE 'cst+scip' END AS origin,
               CASE WHEN s.symbol_id IS NULL THEN 'unresolved' ELSE 'span' END AS resolution_method,
               CASE WHEN s.symbol_id IS NULL THEN 'none' WHEN s.n = 1 THEN 'certain' ELSE 'likely' END AS confidence,
               CASE WHEN s.symbol_id IS NULL THEN 0 ELSE 1 / s.n END AS score,
               CASE WHEN s.symbol_id IS NOT NULL THEN NULL
                    WHEN f.file_id IS NULL OR f.failure IS NOT NULL THEN 'not_indexed'
                    WHEN r.binding = 'builtin' THEN 'builtin'
                    ELSE 'no_occurrence' END AS unresolved_reason
        FROM cst_name_refs AS r
        LEFT JOIN seen AS s ON s.file_id = r.file_id AND s.bstart = r.bstart AND s.bend = r.bend
        LEFT JOIN scip_fingerprints AS f ON f.file_id = r.file_id
        WHERE r.context <> 'export'
    """,
    examples=(
        Example(
            "a name with an occurrence on its bytes",
            (indexed(), ref("x", (10, 14)), occurrence("s", (10, 14))),
            expected=(
                {
                    "src_id": "x",
                    "via_id": "x",
                    "dst_id": "s",
                    "resolution_method": "span",
                    "confidence": "certain",
                    "score": 1.0,
                    "origin": "cst+scip",
                    "unresolved_reason": None,
                },
            ),
        ),
        Example(
            "two symbols on one span share the score, and read and definition of one are one",
            (
                indexed(),
                ref("x", (10, 14), "store"),
                occurrence("s", (10, 14)),
                occurrence("s", (10, 14), "definition"),
                occurrence("t", (10, 14)),
            ),
            expected=({"dst_id": "s", "score": 0.5}, {"dst_id": "t", "score": 0.5, "confidence": "likely"}),
        ),
        Example(
            "a span that is longer, and the same span in another file, say nothing",
            (
                indexed(),
                ref("x", (10, 14)),
                occurrence("s", (10, 15)),
                occurrence("t", (10, 14), file="g"),
            ),
            expected=({"src_id": "x", "dst_id": None, "unresolved_reason": "no_occurrence", "score": 0.0},),
            refused=({"dst_id": "s"}, {"dst_id": "t"}),
        ),
        Example(
            "a builtin without occurrence",
            (indexed(), ref("x", (3, 6), binding="builtin")),
            expected=({"dst_id": None, "unresolved_reason": "builtin", "resolution_method": "unresolved"},),
        ),
        Example(
            "a file that could not be indexed, and one without a row",
            (indexed(failure="crash"), ref("x", (3, 6), binding="builtin"), ref("y", (3, 6), file="g")),
            expected=(
                {"src_id": "x", "unresolved_reason": "not_indexed"},
                {"src_id": "y", "unresolved_reason": "not_indexed", "confidence": "none"},
            ),
        ),
        Example(
            "a name in __all__ is a string, not a reference",
            (indexed(), ref("x", (3, 6), "export"), occurrence("s", (3, 6))),
            refused=({"src_id": "x"},),
        ),
    ),
)

"""Rule rel_annotation_symbol: the symbols that an annotation mentions."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.example_rows import indexed, occurrence, type_expr
from codeanatomy_assets.rules.rule import Example, Rule

# Occurrences inside a span are found block by block of the file: a join on ranges alone would pair every annotation
# of a file with every occurrence in it.
RULE = Rule(
    name="rel_annotation_symbol",
    owner=syntax.TYPE_EXPRS,
    edge_kind="PY_REFERENCES_SYMBOL",
    doc="Every annotation → the symbols read inside it, each once, at its first place.",
    sql="""
        WITH blocks AS (
            SELECT t.file_id, t.type_expr_id, t.bstart, t.bend, b.block
            FROM cst_type_exprs AS t
            LATERAL VIEW EXPLODE(SEQUENCE(t.bstart DIV 256, t.bend DIV 256)) b AS block
        ),
        inside AS (
            SELECT t.file_id, t.type_expr_id, o.symbol_id, MIN(o.bstart) AS bstart, MIN(o.bend) AS bend
            FROM blocks AS t
            JOIN scip_occurrences AS o
              ON o.file_id = t.file_id AND o.bstart DIV 256 = t.block AND o.role = 'read'
             AND o.bstart >= t.bstart AND o.bend <= t.bend
            GROUP BY t.file_id, t.type_expr_id, o.symbol_id
        )
        SELECT t.file_id,
               t.type_expr_id AS via_id,
               t.type_expr_id AS src_id,
               s.symbol_id AS dst_id,
               NULL AS dep_file_id,
               COALESCE(s.bstart, t.bstart) AS bstart,
               COALESCE(s.bend, t.bend) AS bend,
               CASE WHEN s.symbol_id IS NULL THEN 'cst' ELSE 'cst+scip' END AS origin,
               CASE WHEN s.symbol_id IS NULL THEN 'unresolved' ELSE 'span' END AS resolution_method,
               CASE WHEN s.symbol_id IS NULL THEN 'none' ELSE 'certain' END AS confidence,
               CASE WHEN s.symbol_id IS NULL THEN 0 ELSE 1 END AS score,
               CASE WHEN s.symbol_id IS NOT NULL THEN NULL
                    WHEN f.file_id IS NULL OR f.failure IS NOT NULL THEN 'not_indexed'
                    ELSE 'no_occurrence' END AS unresolved_reason
        FROM cst_type_exprs AS t
        LEFT JOIN inside AS s ON s.file_id = t.file_id AND s.type_expr_id = t.type_expr_id
        LEFT JOIN scip_fingerprints AS f ON f.file_id = t.file_id
    """,
    examples=(
        Example(
            "dict[str, Request] mentions three",
            (
                indexed(),
                type_expr("t", (250, 268)),
                occurrence("dict", (250, 254)),
                occurrence("str", (255, 258)),
                occurrence("Request", (260, 267)),
            ),
            expected=(
                {"src_id": "t", "via_id": "t", "dst_id": "dict", "bstart": 250, "bend": 254},
                {"src_id": "t", "dst_id": "str", "score": 1.0},
                {"src_id": "t", "dst_id": "Request", "bstart": 260, "confidence": "certain"},
            ),
        ),
        Example(
            "a symbol that stands there twice counts once, at its first place",
            (indexed(), type_expr("t", (10, 30)), occurrence("A", (20, 21)), occurrence("A", (12, 13))),
            expected=({"src_id": "t", "dst_id": "A", "bstart": 12, "bend": 13},),
        ),
        Example(
            "what stands beside it, or reaches out of it, is not in it",
            (indexed(), type_expr("t", (10, 14)), occurrence("A", (9, 12)), occurrence("B", (12, 15))),
            expected=({"src_id": "t", "dst_id": None, "unresolved_reason": "no_occurrence", "bstart": 10},),
            refused=({"dst_id": "A"}, {"dst_id": "B"}),
        ),
        Example(
            "a definition inside is no mention",
            (indexed(), type_expr("t", (10, 14)), occurrence("T", (10, 14), "definition")),
            expected=({"src_id": "t", "unresolved_reason": "no_occurrence"},),
            refused=({"dst_id": "T"},),
        ),
        Example(
            "a file that could not be indexed",
            (indexed(failure="crash"), type_expr("t", (10, 14))),
            expected=({"src_id": "t", "unresolved_reason": "not_indexed"},),
        ),
    ),
)

"""Rule rel_import_symbol: what an imported name means, as the indexer says."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.example_rows import clause, indexed, occurrence
from codeanatomy_assets.rules.rule import Example, Rule

RULE = Rule(
    name="rel_import_symbol",
    owner=syntax.IMPORTS,
    edge_kind="PY_IMPORTS_SYMBOL",
    doc=(
        "Every import clause → the symbols of its name: on the name itself, or on the whole of `a as b`. A star and a "
        "dynamic import have no name here."
    ),
    sql="""
        WITH matched AS (
            SELECT i.file_id, i.import_id, o.symbol_id,
                   COUNT(*) OVER (PARTITION BY i.file_id, i.import_id) AS n
            FROM cst_imports AS i
            JOIN scip_occurrences AS o
              ON o.file_id = i.file_id AND o.bstart = i.name_bstart AND (o.bend = i.name_bend OR o.bend = i.bend)
            GROUP BY i.file_id, i.import_id, o.symbol_id
        )
        SELECT i.file_id,
               i.import_id AS via_id,
               i.import_id AS src_id,
               m.symbol_id AS dst_id,
               NULL AS dep_file_id,
               i.bstart,
               i.bend,
               CASE WHEN m.symbol_id IS NULL THEN 'cst' ELSE 'cst+scip' END AS origin,
               CASE WHEN m.symbol_id IS NULL THEN 'unresolved' ELSE 'span' END AS resolution_method,
               CASE WHEN m.symbol_id IS NULL THEN 'none' WHEN m.n = 1 THEN 'certain' ELSE 'likely' END AS confidence,
               CASE WHEN m.symbol_id IS NULL THEN 0 ELSE 1 / m.n END AS score,
               CASE WHEN m.symbol_id IS NOT NULL THEN NULL
                    WHEN f.file_id IS NULL OR f.failure IS NOT NULL THEN 'not_indexed'
                    ELSE 'no_occurrence' END AS unresolved_reason
        FROM cst_imports AS i
        LEFT JOIN matched AS m ON m.file_id = i.file_id AND m.import_id = i.import_id
        LEFT JOIN scip_fingerprints AS f ON f.file_id = i.file_id
    """,
    examples=(
        Example(
            "from m import a",
            (indexed(), clause("i", (14, 15), (14, 15)), occurrence("s", (14, 15))),
            expected=({"src_id": "i", "via_id": "i", "dst_id": "s", "confidence": "certain", "score": 1.0},),
        ),
        Example(
            "from m import a as b, with an occurrence on the name and one on the alias",
            (
                indexed(),
                clause("i", (14, 20), (14, 15)),
                occurrence("s", (14, 15)),
                occurrence("alias", (19, 20)),
            ),
            expected=({"src_id": "i", "dst_id": "s", "bstart": 14, "bend": 20},),
            refused=({"dst_id": "alias"},),
        ),
        Example(
            "from m import a as b, with one occurrence over all of it",
            (indexed(), clause("i", (14, 20), (14, 15)), occurrence("s", (14, 20))),
            expected=({"src_id": "i", "dst_id": "s", "resolution_method": "span"},),
        ),
        Example(
            "both at once are still one symbol",
            (
                indexed(),
                clause("i", (14, 20), (14, 15)),
                occurrence("s", (14, 15)),
                occurrence("s", (14, 20)),
            ),
            expected=({"src_id": "i", "dst_id": "s", "score": 1.0},),
        ),
        Example(
            "a star names nothing, and an occurrence elsewhere is not its own",
            (indexed(), clause("i", (14, 15), None, "star"), occurrence("s", (14, 15))),
            expected=({"src_id": "i", "dst_id": None, "unresolved_reason": "no_occurrence"},),
            refused=({"dst_id": "s"},),
        ),
        Example(
            "a file that could not be indexed",
            (indexed(failure="crash"), clause("i", (7, 9), (7, 9), "import")),
            expected=({"src_id": "i", "unresolved_reason": "not_indexed", "origin": "cst"},),
        ),
    ),
)

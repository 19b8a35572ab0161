"""Rule rel_def_symbol: the symbol that a definition defines."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.example_rows import definition, indexed, occurrence
from codeanatomy_assets.rules.rule import Example, Rule

RULE = Rule(
    name="rel_def_symbol",
    owner=syntax.DEFS,
    edge_kind="PY_DEFINES_SYMBOL",
    doc="Every function, class and lambda → the indexer's symbol defined at its name. A lambda has none.",
    sql="""
        WITH defined AS (
            SELECT o.file_id, o.bstart, o.bend, o.symbol_id,
                   COUNT(*) OVER (PARTITION BY o.file_id, o.bstart, o.bend) AS n
            FROM scip_occurrences AS o
            WHERE o.role = 'definition'
        )
        SELECT d.file_id,
               d.def_id AS via_id,
               d.def_id AS src_id,
               o.symbol_id AS dst_id,
               NULL AS dep_file_id,
               d.name_bstart AS bstart,
               d.name_bend AS bend,
               CASE WHEN o.symbol_id IS NULL THEN 'cst' ELSE 'cst+scip' END AS origin,
               CASE WHEN o.symbol_id IS NULL THEN 'unresolved' ELSE 'span' END AS resolution_method,
               CASE WHEN o.symbol_id IS NULL THEN 'none' WHEN o.n = 1 THEN 'certain' ELSE 'likely' END AS confidence,
               CASE WHEN o.symbol_id IS NULL THEN 0 ELSE 1 / o.n END AS score,
               CASE WHEN o.symbol_id IS NOT NULL THEN NULL
                    WHEN f.file_id IS NULL OR f.failure IS NOT NULL THEN 'not_indexed'
                    ELSE 'no_occurrence' END AS unresolved_reason
        FROM cst_defs AS d
        LEFT JOIN defined AS o
          ON o.file_id = d.file_id AND o.bstart = d.name_bstart AND o.bend = d.name_bend AND d.kind <> 'lambda'
        LEFT JOIN scip_fingerprints AS f ON f.file_id = d.file_id
    """,
    examples=(
        Example(
            "a function and its symbol",
            (indexed(), definition("d", (4, 9)), occurrence("s", (4, 9), "definition")),
            expected=(
                {"src_id": "d", "via_id": "d", "dst_id": "s", "bstart": 4, "bend": 9, "resolution_method": "span"},
            ),
        ),
        Example(
            "a class and its symbol",
            (indexed(), definition("d", (6, 9), "class"), occurrence("s", (6, 9), "definition")),
            expected=({"src_id": "d", "dst_id": "s", "confidence": "certain", "score": 1.0},),
        ),
        Example(
            "reading a name does not define it",
            (indexed(), definition("d", (4, 9)), occurrence("s", (4, 9))),
            expected=({"src_id": "d", "dst_id": None, "unresolved_reason": "no_occurrence"},),
            refused=({"dst_id": "s"},),
        ),
        Example(
            "a lambda has no symbol, whatever stands at its bytes",
            (indexed(), definition("d", (4, 10), "lambda"), occurrence("s", (4, 10), "definition")),
            expected=({"src_id": "d", "dst_id": None, "unresolved_reason": "no_occurrence"},),
            refused=({"dst_id": "s"},),
        ),
        Example(
            "a file that could not be indexed",
            (indexed(failure="crash"), definition("d", (4, 9))),
            expected=({"src_id": "d", "unresolved_reason": "not_indexed", "resolution_method": "unresolved"},),
        ),
    ),
)

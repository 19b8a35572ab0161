"""Rule rel_inherits: the classes that a class names as its bases."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.example_rows import definition, exported, indexed, leading, occurrence, ref
from codeanatomy_assets.rules.rule import Example, Rule

RULE = Rule(
    name="rel_inherits",
    owner=syntax.NAME_REFS,
    further_owners=(syntax.DEFS,),
    edge_kind="INHERITS",
    doc=(
        "Every base of a class → the class definition of this repository that it names, through aliases, or else the "
        "symbol of what lies outside. A base that is no name has one row for its class; a metaclass is no base."
    ),
    sql="""
        WITH classes AS (
            SELECT e.own_symbol_id AS symbol_id, e.target_def_id AS def_id, e.target_file_id,
                   MAX(CASE WHEN e.def_id = e.target_def_id THEN 'definition' ELSE 'alias' END) AS method
            FROM dim_exported_defs AS e
            JOIN dim_exported_defs AS k ON k.def_id = e.target_def_id AND k.kind = 'class'
            WHERE e.is_effective AND e.target_kind = 'definition' AND e.own_symbol_id IS NOT NULL
            GROUP BY e.own_symbol_id, e.target_def_id, e.target_file_id
        ),
        found AS (
            SELECT r.file_id, r.ref_id,
                   COALESCE(k.def_id, o.symbol_id) AS dst_id,
                   COALESCE(k.method, 'span') AS method,
                   MIN(k.target_file_id) AS target_file_id,
                   COUNT(*) OVER (PARTITION BY r.file_id, r.ref_id) AS n
            FROM cst_name_refs AS r
            JOIN scip_occurrences AS o
              ON o.file_id = r.file_id AND o.bstart = r.bstart AND o.bend = r.bend AND o.role = 'read'
            LEFT JOIN classes AS k ON k.symbol_id = o.symbol_id
            WHERE r.usage = 'base'
            GROUP BY r.file_id, r.ref_id, COALESCE(k.def_id, o.symbol_id), COALESCE(k.method, 'span')
        ),
        named AS (
            SELECT r.file_id, r.usage_id, COUNT(*) AS n
            FROM cst_name_refs AS r
            WHERE r.usage = 'base'
            GROUP BY r.file_id, r.usage_id
        )
        SELECT r.file_id,
               r.ref_id AS via_id,
               r.usage_id AS src_id,
               b.dst_id,
               CASE WHEN b.target_file_id <> r.file_id THEN b.target_file_id END AS dep_file_id,
               r.bstart,
               r.bend,
               CASE WHEN b.dst_id IS NULL THEN 'cst' ELSE 'cst+scip' END AS origin,
               COALESCE(b.method, 'unresolved') AS resolution_method,
               CASE WHEN b.dst_id IS NULL THEN 'none'
                    WHEN b.n = 1 AND b.method <> 'alias' THEN 'certain'
                    ELSE 'likely' END AS confidence,
               CASE WHEN b.dst_id IS NULL THEN 0 ELSE 1 / b.n END AS score,
               CASE WHEN b.dst_id IS NOT NULL THEN NULL
                    WHEN f.file_id IS NULL OR f.failure IS NOT NULL THEN 'not_indexed'
                    WHEN r.binding = 'builtin' THEN 'builtin'
                    ELSE 'no_occurrence' END AS unresolved_reason
        FROM cst_name_refs AS r
        LEFT JOIN found AS b ON b.file_id = r.file_id AND b.ref_id = r.ref_id
        LEFT JOIN scip_fingerprints AS f ON f.file_id = r.file_id
        WHERE r.usage = 'base'
        UNION ALL
        SELECT d.file_id,
               d.def_id AS via_id,
               d.def_id AS src_id,
               NULL AS dst_id,
               NULL AS dep_file_id,
               d.name_bstart AS bstart,
               d.name_bend AS bend,
               'cst' AS origin,
               'unresolved' AS resolution_method,
               'none' AS confidence,
               0 AS score,
               'dynamic' AS unresolved_reason
        FROM cst_defs AS d
        LEFT JOIN named AS b ON b.file_id = d.file_id AND b.usage_id = d.def_id
        WHERE d.kind = 'class' AND SIZE(d.bases) > COALESCE(b.n, 0)
    """,
    examples=(
        Example(
            "a base defined in another file",
            (
                indexed(),
                ref("r", (10, 14), usage="base", usage_id="Child"),
                occurrence("sym Base", (10, 14)),
                exported("Base", "class", file="g"),
            ),
            expected=(
                {
                    "src_id": "Child",
                    "via_id": "r",
                    "dst_id": "Base",
                    "dep_file_id": "g",
                    "resolution_method": "definition",
                    "confidence": "certain",
                },
            ),
        ),
        Example(
            "a base in the same file depends on no other",
            (
                indexed(),
                ref("r", (10, 14), usage="base", usage_id="Child"),
                occurrence("sym Base", (10, 14)),
                exported("Base", "class"),
            ),
            expected=({"src_id": "Child", "dst_id": "Base", "dep_file_id": None},),
        ),
        Example(
            "an alias of a class leads to the class",
            (
                indexed(),
                ref("r", (10, 14), usage="base", usage_id="Child"),
                occurrence("sym Alias", (10, 14)),
                leading("Alias", "Base", "g", file="g", binding="variable", own_symbol_id="sym Alias"),
                exported("Base", "class", file="g"),
            ),
            expected=({"src_id": "Child", "dst_id": "Base", "resolution_method": "alias", "confidence": "likely"},),
            refused=({"dst_id": "sym Alias"},),
        ),
        Example(
            "a base from outside is its symbol, and so is a function's name",
            (
                indexed(),
                ref("r", (10, 14), usage="base", usage_id="Child"),
                ref("q", (16, 20), usage="base", usage_id="Child"),
                occurrence("sym Model", (10, 14)),
                occurrence("sym make", (16, 20)),
                exported("make", "function", file="g"),
            ),
            expected=(
                {"via_id": "r", "dst_id": "sym Model", "resolution_method": "span", "dep_file_id": None},
                {"via_id": "q", "dst_id": "sym make", "resolution_method": "span"},
            ),
            refused=({"dst_id": "make"},),
        ),
        Example(
            "a definition that a later one replaces is not the base",
            (
                indexed(),
                ref("r", (10, 14), usage="base", usage_id="Child"),
                occurrence("sym Base", (10, 14)),
                exported("Old", "class", own_symbol_id="sym Base", is_effective=False),
                exported("Base", "class"),
            ),
            expected=({"dst_id": "Base", "score": 1.0},),
            refused=({"dst_id": "Old"},),
        ),
        Example(
            "a metaclass is no base, a base that is a call is dynamic",
            (
                indexed(),
                definition("Child", (6, 11), "class", bases=["make()"]),
                ref("r", (20, 24), usage="metaclass", usage_id="Child"),
                occurrence("sym Meta", (20, 24)),
                exported("Meta", "class"),
            ),
            expected=({"src_id": "Child", "via_id": "Child", "dst_id": None, "unresolved_reason": "dynamic"},),
            refused=({"dst_id": "Meta"},),
        ),
        Example(
            "bases that are unknown say why",
            (
                indexed(),
                ref("r", (10, 14), usage="base", usage_id="A"),
                ref("q", (20, 26), usage="base", usage_id="B", binding="builtin"),
                ref("p", (10, 14), usage="base", usage_id="C", file="g"),
            ),
            expected=(
                {"src_id": "A", "dst_id": None, "unresolved_reason": "no_occurrence"},
                {"src_id": "B", "dst_id": None, "unresolved_reason": "builtin"},
                {"src_id": "C", "dst_id": None, "unresolved_reason": "not_indexed"},
            ),
        ),
    ),
)

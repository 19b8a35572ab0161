"""Rule rel_callsite_qname: the qualified names that a call may go by."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.example_rows import call, exported, leading, named, ref, resolved
from codeanatomy_assets.rules.rule import Example, Rule

RULE = Rule(
    name="rel_callsite_qname",
    owner=syntax.CALLSITES,
    edge_kind="PY_CALLS_QNAME",
    doc=(
        "Every call → the qualified names its callee may go by, by imports, stars, definitions and builtins, and the "
        "names that these lead to through re-exports. Of a star over a module of this repository only the names that "
        "it offers."
    ),
    sql="""
        WITH star_names AS (
            SELECT q.file_id, q.subject_id, q.qname_id,
                   MAX(CASE WHEN r.target_file_id IS NULL THEN 0 ELSE 1 END) AS is_inside,
                   MAX(CASE WHEN e.file_id IS NULL THEN 0 ELSE 1 END) AS is_offered
            FROM dim_qualified_names AS q
            JOIN py_imports_resolved AS r
              ON r.file_id = q.file_id AND r.is_star AND r.target_kind = 'module'
             AND STARTSWITH(q.qname, CONCAT(r.module, '.'))
            LEFT JOIN dim_exported_defs AS e
              ON e.file_id = r.target_file_id AND e.is_public
             AND e.entry_path = SPLIT_PART(SUBSTRING(q.qname, LENGTH(r.module) + 2), '.', 1)
            WHERE q.subject_kind = 'call' AND q.source = 'star'
            GROUP BY q.file_id, q.subject_id, q.qname_id
        ),
        candidates AS (
            SELECT q.file_id, q.subject_id AS call_id, q.qname_id,
                   MIN(CASE q.source WHEN 'builtin' THEN 1 WHEN 'star' THEN 3 ELSE 2 END) AS doubt,
                   COUNT(*) OVER (PARTITION BY q.file_id, q.subject_id) AS n
            FROM dim_qualified_names AS q
            LEFT JOIN star_names AS s
              ON s.file_id = q.file_id AND s.subject_id = q.subject_id AND s.qname_id = q.qname_id
            WHERE q.subject_kind = 'call'
              AND (q.source <> 'star' OR COALESCE(s.is_inside, 0) = 0 OR s.is_offered = 1)
            GROUP BY q.file_id, q.subject_id, q.qname_id
        ),
        led AS (
            SELECT c.file_id, c.call_id, c.qname_id AS dst_id, 'candidate' AS method, c.doubt, c.n,
                   NULL AS target_file_id
            FROM candidates AS c
            UNION ALL
            SELECT c.file_id, c.call_id, e.target_qname_id, 'reexport', c.doubt, c.n, e.target_file_id
            FROM candidates AS c
            JOIN dim_exported_defs AS e
              ON e.qname_id = c.qname_id AND e.is_effective AND e.target_qname_id <> e.qname_id
        ),
        found AS (
            SELECT l.file_id, l.call_id, l.dst_id, l.method, MIN(l.doubt) AS doubt, MIN(l.n) AS n,
                   MIN(l.target_file_id) AS target_file_id
            FROM led AS l
            GROUP BY l.file_id, l.call_id, l.dst_id, l.method
        ),
        first_names AS (
            SELECT r.file_id, r.bstart, MAX(CASE WHEN r.binding IN ('local', 'enclosing') THEN 1 ELSE 0 END) AS is_local
            FROM cst_name_refs AS r
            WHERE r.context = 'load'
            GROUP BY r.file_id, r.bstart
        )
        SELECT c.file_id,
               c.call_id AS via_id,
               c.call_id AS src_id,
               x.dst_id,
               CASE WHEN x.target_file_id <> c.file_id THEN x.target_file_id END AS dep_file_id,
               c.bstart,
               c.bend,
               'cst' AS origin,
               COALESCE(x.method, 'unresolved') AS resolution_method,
               CASE x.doubt WHEN 1 THEN 'certain' WHEN 2 THEN 'likely' WHEN 3 THEN 'possible' ELSE 'none' END
                   AS confidence,
               CASE WHEN x.dst_id IS NULL THEN 0 ELSE 1 / x.n END AS score,
               CASE WHEN x.dst_id IS NOT NULL THEN NULL
                    WHEN c.callee_kind = 'other' THEN 'dynamic'
                    WHEN b.is_local = 1 THEN 'parameter'
                    ELSE 'not_found' END AS unresolved_reason
        FROM cst_callsites AS c
        LEFT JOIN found AS x ON x.file_id = c.file_id AND x.call_id = c.call_id
        LEFT JOIN first_names AS b ON b.file_id = c.file_id AND b.bstart = c.bstart
    """,
    examples=(
        Example(
            "an imported name and a builtin",
            (
                call("c", (20, 24)),
                named("c", "numpy.array"),
                call("d", (30, 33)),
                named("d", "builtins.len", "builtin"),
            ),
            expected=(
                {
                    "src_id": "c",
                    "via_id": "c",
                    "dst_id": "qn numpy.array",
                    "resolution_method": "candidate",
                    "confidence": "likely",
                    "score": 1.0,
                    "origin": "cst",
                },
                {"src_id": "d", "dst_id": "qn builtins.len", "confidence": "certain"},
            ),
        ),
        Example(
            "a re-export leads on, and both names are kept",
            (
                call("c", (20, 24)),
                named("c", "app.Router"),
                leading("app.Router", "urls.Router", "g", file="p"),
            ),
            expected=(
                {"src_id": "c", "dst_id": "qn app.Router", "resolution_method": "candidate", "dep_file_id": None},
                {"src_id": "c", "dst_id": "qn urls.Router", "resolution_method": "reexport", "dep_file_id": "g"},
            ),
        ),
        Example(
            "a name that leads to itself is no re-export",
            (call("c", (20, 24)), named("c", "f"), exported("f")),
            expected=({"dst_id": "qn f", "resolution_method": "candidate"},),
            refused=({"resolution_method": "reexport"},),
        ),
        Example(
            "of stars over modules here, only what they offer",
            (
                call("c", (20, 24)),
                named("c", "one.run", "star"),
                named("c", "two.run", "star"),
                resolved("i", "one", "internal", "g", is_star=True),
                resolved("j", "two", "internal", "h", is_star=True),
                exported("run", file="g", entry_path="run", is_public=True, qname_id="qn one.run"),
                exported("_run", file="h", entry_path="_run", is_public=False),
                exported("hidden", file="h", entry_path="run", is_public=False),
            ),
            expected=({"dst_id": "qn one.run", "confidence": "possible", "score": 1.0}, {"dst_id": "qn run"}),
            refused=({"dst_id": "qn two.run"},),
        ),
        Example(
            "a star from outside may be anything",
            (
                call("c", (20, 24)),
                named("c", "far.run", "star"),
                named("c", "off.run", "star"),
                resolved("i", "far", "external", is_star=True),
            ),
            expected=(
                {"dst_id": "qn far.run", "confidence": "possible", "score": 0.5},
                {"dst_id": "qn off.run", "confidence": "possible", "score": 0.5},
            ),
        ),
        Example(
            "a call without any name says why",
            (
                call("c", (20, 24), callee_kind="other"),
                call("d", (40, 44)),
                ref("r", (40, 44), binding="local"),
                call("e", (50, 54)),
                ref("q", (50, 54), binding="unresolved"),
            ),
            expected=(
                {"src_id": "c", "dst_id": None, "unresolved_reason": "dynamic", "resolution_method": "unresolved"},
                {"src_id": "d", "dst_id": None, "unresolved_reason": "parameter", "confidence": "none"},
                {"src_id": "e", "dst_id": None, "unresolved_reason": "not_found", "score": 0.0},
            ),
        ),
        Example(
            "names of definitions and imports are not names of calls",
            (call("c", (20, 24)), named("other", "numpy.array")),
            expected=({"src_id": "c", "dst_id": None, "unresolved_reason": "not_found"},),
            refused=({"dst_id": "qn numpy.array"},),
        ),
    ),
)

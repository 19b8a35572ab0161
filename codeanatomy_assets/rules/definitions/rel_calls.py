"""Rule rel_calls: which definition calls which."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.example_rows import (
    call,
    defined_symbol,
    definition,
    exported,
    indexed,
    leading,
    lookup_order,
    module,
    named,
    occurrence,
    ref,
    resolved,
    tracked,
)
from codeanatomy_assets.rules.rule import Example, Rule

# Every call has a row, so none is lost; of a call's rows those of its first step are kept: 1 the indexer's symbol,
# 2 a local name assigned from another (or from one that was), 3 qualified names and `cls`, 9 no definition, and the
# first reason.
RULE = Rule(
    name="rel_calls",
    owner=syntax.CALLSITES,
    further_owners=(syntax.NAME_REFS,),
    edge_kind="CALLS",
    doc=(
        "Every call → the function it runs, from the definition or module that holds it. A class runs the first "
        "`__init__` in its order of lookup, or stands for itself; decorators run where they decorate, properties "
        "where they are read. A call that leads to no definition of this repository says why."
    ),
    sql="""
        WITH sites AS (
            SELECT c.file_id, c.call_id AS via_id, c.scope_id, c.bstart, c.bend,
                   c.callee_bstart AS name_bstart, c.callee_bend AS name_bend, 'call' AS site
            FROM cst_callsites AS c
            WHERE c.callee_kind <> 'other'
            UNION ALL
            SELECT r.file_id, r.ref_id, r.scope_id, r.bstart, r.bend, r.bstart, r.bend,
                   CASE WHEN r.usage = 'decorator' THEN 'decorator' ELSE 'property' END
            FROM cst_name_refs AS r
            WHERE r.usage = 'decorator' OR r.context = 'attribute' AND r.usage <> 'callee'
        ),
        assigned AS (
            SELECT r.file_id, o.symbol_id, s.symbol_id AS from_symbol_id
            FROM cst_name_refs AS r
            JOIN scip_occurrences AS o ON o.file_id = r.file_id AND o.bstart = r.bstart AND o.bend = r.bend
            JOIN scip_occurrences AS s
              ON s.file_id = r.file_id AND s.bstart = r.assigned_bstart AND s.bend = r.assigned_bend
             AND s.role = 'read'
            WHERE r.context = 'store' AND r.assigned_bstart IS NOT NULL
        ),
        read AS (
            SELECT s.file_id, s.via_id, s.scope_id, s.bstart, s.bend, s.site, o.symbol_kind, o.module, o.symbol_id,
                   COALESCE(b.from_symbol_id, a.from_symbol_id) AS from_symbol_id
            FROM sites AS s
            JOIN scip_occurrences AS o
              ON o.file_id = s.file_id AND o.bstart = s.name_bstart AND o.bend = s.name_bend AND o.role = 'read'
            LEFT JOIN assigned AS a ON a.file_id = s.file_id AND a.symbol_id = o.symbol_id AND s.site = 'call'
            LEFT JOIN assigned AS b ON b.file_id = a.file_id AND b.symbol_id = a.from_symbol_id
        ),
        meant AS (
            SELECT r.file_id, r.via_id, r.scope_id, r.bstart, r.bend, r.site, r.symbol_kind, r.module,
                   n.detour, n.symbol_id
            FROM read AS r
            LATERAL VIEW POSEXPLODE(ARRAY(r.symbol_id, r.from_symbol_id)) n AS detour, symbol_id
        ),
        defined AS (
            SELECT m.file_id, m.via_id, m.scope_id, m.bstart, m.bend, m.site, m.detour, e.target_file_id,
                   CASE WHEN m.site = 'property' AND (ARRAY_CONTAINS(d.decorators, 'property')
                                                      OR ARRAY_CONTAINS(d.decorators, 'cached_property')
                                                      OR ARRAY_CONTAINS(d.decorators, 'functools.cached_property'))
                        THEN e.def_id
                        WHEN m.site <> 'property' AND e.is_effective THEN e.target_def_id END AS def_id,
                   CASE WHEN m.detour > 0 OR e.def_id IS NULL OR e.def_id <> e.target_def_id THEN 'alias'
                        ELSE 'definition' END AS method,
                   CASE WHEN m.module = 'builtins' THEN 2
                        WHEN m.symbol_kind IN ('local', 'parameter') THEN 3
                        WHEN z.symbol_id IS NOT NULL THEN 4
                        ELSE 5 END AS reason
            FROM meant AS m
            LEFT JOIN dim_exported_defs AS e ON e.own_symbol_id = m.symbol_id AND e.target_kind = 'definition'
            LEFT JOIN cst_defs AS d ON d.def_id = e.def_id AND m.site = 'property'
            LEFT JOIN scip_symbols AS z ON z.symbol_id = m.symbol_id AND z.is_defined_here AND m.site = 'call'
        ),
        hits AS (
            SELECT d.file_id, d.via_id, d.scope_id, d.bstart, d.bend, d.def_id, d.target_file_id,
                   CASE WHEN d.site = 'call' THEN d.method ELSE d.site END AS method,
                   CASE WHEN d.def_id IS NULL THEN 9 ELSE 1 + d.detour END AS step,
                   CASE WHEN d.method = 'alias' THEN 2 ELSE 1 END AS doubt,
                   'cst+scip' AS origin,
                   d.reason
            FROM defined AS d
            WHERE d.def_id IS NOT NULL OR d.site = 'call' AND d.detour = 0
            UNION ALL
            SELECT c.file_id, c.call_id, c.scope_id, c.bstart, c.bend, d.parent_def_id, d.file_id,
                   'definition', 3, 2, 'cst', 8
            FROM cst_callsites AS c
            JOIN cst_defs AS d
              ON d.file_id = c.file_id AND d.def_id = c.scope_id AND d.parent_kind = 'class'
             AND ARRAY_CONTAINS(d.decorators, 'classmethod') AND ARRAY_CONTAINS(d.parameters.name, 'cls')
            WHERE c.callee_kind = 'name' AND c.callee_name = 'cls' AND d.parent_def_id IS NOT NULL
            UNION ALL
            SELECT c.file_id, c.call_id, c.scope_id, c.bstart, c.bend, e.target_def_id, e.target_file_id,
                   CASE WHEN e.hops > 0 THEN 'reexport' ELSE 'candidate' END,
                   CASE WHEN e.target_def_id IS NULL THEN 9 ELSE 3 END,
                   CASE WHEN q.source = 'star' THEN 3 ELSE 2 END,
                   'cst',
                   CASE WHEN c.callee_kind = 'other' THEN 1
                        WHEN ARRAY_CONTAINS(c.candidates.source, 'builtin') THEN 2
                        WHEN i.module IS NOT NULL THEN 5
                        WHEN f.file_id IS NULL OR f.failure IS NOT NULL THEN 6
                        WHEN r.binding IN ('local', 'enclosing') THEN 7
                        ELSE 8 END
            FROM cst_callsites AS c
            LEFT JOIN dim_qualified_names AS q
              ON q.file_id = c.file_id AND q.subject_id = c.call_id AND q.subject_kind = 'call'
             AND q.source <> 'builtin'
            LEFT JOIN dim_exported_defs AS e
              ON e.qname_id = q.qname_id AND e.is_effective AND e.target_def_id IS NOT NULL
            LEFT JOIN py_imports_resolved AS i
              ON i.file_id = c.file_id AND i.resolution IN ('external', 'stdlib') AND q.source = 'import'
             AND (q.qname = i.module OR STARTSWITH(q.qname, CONCAT(i.module, '.')))
            LEFT JOIN cst_name_refs AS r ON r.file_id = c.file_id AND r.bstart = c.bstart AND r.context = 'load'
            LEFT JOIN scip_fingerprints AS f ON f.file_id = c.file_id
        ),
        ranked AS (
            SELECT h.file_id, h.via_id, h.scope_id, h.bstart, h.bend, h.def_id, h.target_file_id, h.method, h.step,
                   h.doubt, h.origin,
                   MIN(h.step) OVER (PARTITION BY h.file_id, h.via_id) AS first_step,
                   MIN(h.reason) OVER (PARTITION BY h.file_id, h.via_id) AS reason
            FROM hits AS h
        ),
        looked_up AS (
            SELECT k.def_id AS class_id, m.position, m.class.path, m.class.local_qname
            FROM dim_exported_defs AS k
            JOIN py_interface AS i
              ON i.file_id = k.file_id AND i.kind = 'mro'
             AND REPLACE(i.entry_path, '.<locals>', '') = CONCAT(k.entry_path, '.<mro>')
            LATERAL VIEW POSEXPLODE(i.mro) m AS position, class
            WHERE k.kind = 'class' AND k.def_id IS NOT NULL
        ),
        tried AS (
            SELECT l.class_id, l.position, e.def_id, e.file_id,
                   MIN(CASE WHEN e.def_id IS NOT NULL THEN l.position END)
                       OVER (PARTITION BY l.class_id) AS first_found,
                   MIN(CASE WHEN l.path IS NULL THEN l.position END) OVER (PARTITION BY l.class_id) AS first_outside
            FROM looked_up AS l
            LEFT JOIN repo_snapshot AS s ON s.path = l.path
            LEFT JOIN dim_exported_defs AS e
              ON e.file_id = s.file_id AND e.kind = 'function' AND e.is_effective AND e.name = '__init__'
             AND e.entry_path = CONCAT(REPLACE(l.local_qname, '.<locals>', ''), '.__init__')
        ),
        led AS (
            SELECT h.file_id, h.via_id,
                   COALESCE(h.scope_id, m.module_id, h.file_id) AS src_id,
                   COALESCE(n.def_id, h.def_id) AS dst_id,
                   CASE WHEN h.def_id IS NULL THEN 'unresolved'
                        WHEN k.def_id IS NOT NULL AND h.method <> 'decorator' THEN 'constructor'
                        ELSE h.method END AS method,
                   MIN(COALESCE(n.file_id, h.target_file_id)) AS target_file_id,
                   MIN(h.bstart) AS bstart,
                   MIN(h.bend) AS bend,
                   MIN(h.origin) AS origin,
                   MIN(CASE WHEN n.first_outside < n.first_found THEN GREATEST(h.doubt, 2) ELSE h.doubt END) AS doubt,
                   MIN(h.reason) AS reason,
                   COUNT(*) OVER (PARTITION BY h.file_id, h.via_id) AS n
            FROM ranked AS h
            LEFT JOIN py_module_index AS m ON m.file_id = h.file_id AND m.is_alternate = FALSE
            LEFT JOIN dim_exported_defs AS k ON k.def_id = h.def_id AND k.kind = 'class'
            LEFT JOIN tried AS n
              ON n.class_id = h.def_id AND n.position = n.first_found AND n.def_id IS NOT NULL
            WHERE h.step = h.first_step
            GROUP BY h.file_id, h.via_id, COALESCE(h.scope_id, m.module_id, h.file_id), COALESCE(n.def_id, h.def_id),
                     CASE WHEN h.def_id IS NULL THEN 'unresolved'
                          WHEN k.def_id IS NOT NULL AND h.method <> 'decorator' THEN 'constructor'
                          ELSE h.method END
        )
        SELECT l.file_id,
               l.via_id,
               l.src_id,
               l.dst_id,
               CASE WHEN l.target_file_id <> l.file_id THEN l.target_file_id END AS dep_file_id,
               l.bstart,
               l.bend,
               CASE WHEN l.dst_id IS NULL THEN 'cst' ELSE l.origin END AS origin,
               l.method AS resolution_method,
               CASE WHEN l.dst_id IS NULL THEN 'none'
                    WHEN l.doubt = 1 AND l.n = 1 THEN 'certain'
                    WHEN l.doubt < 3 THEN 'likely'
                    ELSE 'possible' END AS confidence,
               CASE WHEN l.dst_id IS NULL THEN 0 ELSE 1 / l.n END AS score,
               CASE WHEN l.dst_id IS NOT NULL THEN NULL
                    ELSE CASE l.reason WHEN 1 THEN 'dynamic'
                                       WHEN 2 THEN 'builtin'
                                       WHEN 3 THEN 'parameter'
                                       WHEN 4 THEN 'no_definition'
                                       WHEN 5 THEN 'external'
                                       WHEN 6 THEN 'not_indexed'
                                       WHEN 7 THEN 'parameter'
                                       ELSE 'no_occurrence' END END AS unresolved_reason
        FROM led AS l
    """,
    examples=(
        Example(
            "a function of another file, called in a function",
            (
                indexed(),
                call("c", (20, 24), scope_id="caller"),
                occurrence("sym run", (20, 24)),
                exported("run", file="g"),
            ),
            expected=(
                {
                    "src_id": "caller",
                    "via_id": "c",
                    "dst_id": "run",
                    "dep_file_id": "g",
                    "bstart": 20,
                    "bend": 26,
                    "resolution_method": "definition",
                    "confidence": "certain",
                    "score": 1.0,
                    "origin": "cst+scip",
                    "unresolved_reason": None,
                },
            ),
        ),
        Example(
            "a call at module level is the module's, and the effective definition is the one called",
            (
                indexed(),
                module("mod f"),
                module("mod g.f", is_alternate=True),
                call("c", (20, 24)),
                occurrence("sym run", (20, 24)),
                exported("old run", own_symbol_id="sym run", is_effective=False),
                exported("run"),
            ),
            expected=({"src_id": "mod f", "dst_id": "run", "dep_file_id": None},),
            refused=({"dst_id": "old run"}, {"src_id": "mod g.f"}),
        ),
        Example(
            "a class runs the first __init__ that its order of lookup has",
            (
                indexed(),
                call("c", (20, 24), scope_id="caller"),
                occurrence("sym Child", (20, 24)),
                exported("Child", "class", file="g", entry_path="Child"),
                lookup_order("Child", ("g.py", "Child"), ("h.py", "Base"), ("h.py", "Root"), file="g"),
                tracked("g", "g.py"),
                tracked("h", "h.py"),
                exported("Base.__init__", file="h", entry_path="Base.__init__", name="__init__"),
                exported("Root.__init__", file="h", entry_path="Root.__init__", name="__init__"),
            ),
            expected=(
                {
                    "dst_id": "Base.__init__",
                    "dep_file_id": "h",
                    "resolution_method": "constructor",
                    "confidence": "certain",
                },
            ),
            refused=({"dst_id": "Root.__init__"}, {"dst_id": "Child"}),
        ),
        Example(
            "a class without one stands for itself, and behind a class from outside it is likely",
            (
                indexed(),
                call("c", (20, 24), scope_id="caller"),
                occurrence("sym Plain", (20, 24)),
                exported("Plain", "class", entry_path="Plain"),
                call("d", (30, 34), scope_id="caller"),
                occurrence("sym Form", (30, 34)),
                exported("Form", "class", entry_path="Form"),
                lookup_order("Form", ("f.py", "Form"), "far.Form", ("f.py", "Base")),
                tracked("f", "f.py"),
                exported("Base.__init__", entry_path="Base.__init__", name="__init__"),
            ),
            expected=(
                {"via_id": "c", "dst_id": "Plain", "resolution_method": "constructor"},
                {"via_id": "d", "dst_id": "Base.__init__", "confidence": "likely"},
            ),
        ),
        Example(
            "a local name assigned from a function, and one assigned from that",
            (
                indexed(),
                ref("g", (10, 11), "store", assigned_bstart=14, assigned_bend=17),
                occurrence("local g", (10, 11), "definition", symbol_kind="local"),
                occurrence("sym run", (14, 17)),
                ref("h", (20, 21), "store", assigned_bstart=24, assigned_bend=25),
                occurrence("local h", (20, 21), "definition", symbol_kind="local"),
                occurrence("local g", (24, 25), symbol_kind="local"),
                call("c", (30, 31), scope_id="caller"),
                occurrence("local g", (30, 31), symbol_kind="local"),
                call("d", (40, 41), scope_id="caller"),
                occurrence("local h", (40, 41), symbol_kind="local"),
                exported("run", file="g"),
            ),
            expected=(
                {"via_id": "c", "dst_id": "run", "resolution_method": "alias", "confidence": "likely"},
                {"via_id": "d", "dst_id": "run", "resolution_method": "alias", "dep_file_id": "g"},
            ),
        ),
        Example(
            "qualified names where the indexer knows nothing, re-exports followed",
            (
                indexed(),
                call("c", (20, 24), scope_id="caller"),
                named("c", "near"),
                exported("near", file="g"),
                call("d", (30, 34), scope_id="caller"),
                named("d", "app.far"),
                leading("app.far", "far", "g", file="p"),
                exported("far", file="g"),
                call("e", (40, 44), scope_id="caller"),
                named("e", "starred", "star"),
                exported("starred", file="g"),
            ),
            expected=(
                {"via_id": "c", "dst_id": "near", "resolution_method": "candidate", "confidence": "likely"},
                {"via_id": "d", "dst_id": "far", "resolution_method": "reexport", "origin": "cst", "dep_file_id": "g"},
                {"via_id": "e", "dst_id": "starred", "confidence": "possible"},
            ),
        ),
        Example(
            "qualified names have no say where the indexer knows the definition",
            (
                indexed(),
                call("c", (20, 24), scope_id="caller"),
                occurrence("sym run", (20, 24)),
                exported("run", file="g"),
                named("c", "other"),
                exported("other", file="g"),
            ),
            expected=({"via_id": "c", "dst_id": "run"},),
            refused=({"dst_id": "other"},),
        ),
        Example(
            "`cls` of a class method makes the class that holds it",
            (
                indexed(),
                call("c", (20, 23), scope_id="make", callee_name="cls"),
                call("d", (30, 33), scope_id="make", callee_name="other"),
                call("e", (40, 43), scope_id="plain", callee_name="cls"),
                definition(
                    "make",
                    (1, 5),
                    parent_kind="class",
                    parent_def_id="Held",
                    decorators=["classmethod"],
                    parameters=[{"name": "cls"}],
                ),
                definition("plain", (6, 9), parent_kind="class", parent_def_id="Held", parameters=[{"name": "cls"}]),
                exported("Held", "class", entry_path="Held"),
            ),
            expected=(
                {"via_id": "c", "src_id": "make", "dst_id": "Held", "resolution_method": "constructor"},
                {"via_id": "d", "dst_id": None},
                {"via_id": "e", "dst_id": None},
            ),
            refused=({"via_id": "d", "dst_id": "Held"}, {"via_id": "e", "dst_id": "Held"}),
        ),
        Example(
            "a decorator is called by what holds the definition",
            (
                indexed(),
                module("mod f"),
                ref("r", (1, 5), usage="decorator", usage_id="decorated"),
                occurrence("sym wrap", (1, 5)),
                exported("wrap", file="g"),
                ref("q", (11, 15), usage="decorator", usage_id="decorated", scope_id="outer"),
                occurrence("sym Wrap", (11, 15)),
                exported("Wrap", "class", file="g", entry_path="Wrap"),
            ),
            expected=(
                {"src_id": "mod f", "via_id": "r", "dst_id": "wrap", "resolution_method": "decorator", "bend": 5},
                {"src_id": "outer", "via_id": "q", "dst_id": "Wrap", "resolution_method": "decorator"},
            ),
            refused=({"src_id": "decorated"},),
        ),
        Example(
            "reading a property runs it, reading a method does not",
            (
                indexed(),
                ref("r", (10, 14), "attribute", scope_id="caller"),
                occurrence("sym area", (10, 14)),
                exported("area", file="g"),
                definition("area", (50, 54), file="g", decorators=["property"]),
                exported("area setter", file="g", own_symbol_id="sym area"),
                definition("area setter", (60, 64), file="g", decorators=["area.setter"]),
                ref("q", (20, 24), "attribute", scope_id="caller"),
                occurrence("sym run", (20, 24)),
                exported("run", file="g"),
                definition("run", (70, 74), file="g"),
            ),
            expected=(
                {"src_id": "caller", "via_id": "r", "dst_id": "area", "resolution_method": "property", "bstart": 10},
            ),
            refused=({"dst_id": "run"}, {"dst_id": "area setter"}),
        ),
        Example(
            "calls that lead nowhere here say why",
            (
                indexed(),
                call("other", (10, 14), callee_kind="other"),
                call("len", (20, 24), builtin=True),
                call("join", (30, 34)),
                occurrence("sym join", (30, 34), module="builtins"),
                call("external", (40, 44)),
                occurrence("sym external", (40, 44)),
                call("variable", (50, 54)),
                occurrence("sym variable", (50, 54), symbol_kind="term"),
                defined_symbol("sym variable", file="g"),
                call("value", (60, 64)),
                occurrence("local 1", (60, 64), symbol_kind="local"),
                call("imported", (70, 74)),
                named("imported", "numpy.array"),
                resolved("i", "numpy", "external"),
                call("parameter", (80, 84)),
                ref("p", (80, 84), binding="local"),
                call("nothing", (90, 94)),
                call("unindexed", (10, 14), file="h"),
                module("mod f"),
                module("mod h", file="h"),
            ),
            expected=(
                {"via_id": "other", "src_id": "mod f", "dst_id": None, "unresolved_reason": "dynamic", "score": 0.0},
                {"via_id": "len", "unresolved_reason": "builtin", "confidence": "none"},
                {"via_id": "join", "unresolved_reason": "builtin"},
                {"via_id": "external", "unresolved_reason": "external"},
                {"via_id": "variable", "unresolved_reason": "no_definition"},
                {"via_id": "value", "unresolved_reason": "parameter"},
                {"via_id": "imported", "unresolved_reason": "external"},
                {"via_id": "parameter", "unresolved_reason": "parameter"},
                {"via_id": "nothing", "unresolved_reason": "no_occurrence", "resolution_method": "unresolved"},
                {"via_id": "unindexed", "src_id": "mod h", "unresolved_reason": "not_indexed", "dst_id": None},
            ),
        ),
    ),
)

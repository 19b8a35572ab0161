"""Rule rel_overrides: the method of a base class that a method takes the place of."""

from __future__ import annotations

from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.example_rows import exported, lookup_order, method, tracked
from codeanatomy_assets.rules.rule import Example, Rule

BASE = ("base.py", "Base")
CHILD = ("child.py", "Child")
BASE_RUN = exported("Base.run", file="g", binding="member", entry_path="Base.run")

RULE = Rule(
    name="rel_overrides",
    owner=syntax.DEFS,
    edge_kind="OVERRIDES",
    doc=(
        "A method → the method of that name in the first class after its own, in the order members are looked up. A "
        "method that overrides none of this repository has no row, nor has a private `__name`, which Python mangles. "
        "Where a base that is not known comes earlier, it is likely only."
    ),
    sql="""
        WITH looked_up AS (
            SELECT d.file_id, d.def_id, d.name, d.name_bstart, d.name_bend,
                   m.position, m.class.path, m.class.local_qname, m.class.name AS class_name
            FROM cst_defs AS d
            JOIN py_interface AS i
              ON i.file_id = d.file_id AND i.kind = 'mro'
             AND REPLACE(i.entry_path, '.<locals>', '')
                 = CONCAT(LEFT(d.local_qname, LENGTH(d.local_qname) - LENGTH(d.name) - 1), '.<mro>')
            LATERAL VIEW POSEXPLODE(i.mro) m AS position, class
            WHERE d.kind = 'function' AND d.parent_kind = 'class' AND m.position > 0
              AND NOT (STARTSWITH(d.name, '__') AND NOT ENDSWITH(d.name, '__'))
        ),
        tried AS (
            SELECT l.file_id, l.def_id, l.name_bstart, l.name_bend, l.position,
                   e.def_id AS base_def_id, e.file_id AS base_file_id,
                   MIN(CASE WHEN e.def_id IS NOT NULL THEN l.position END)
                       OVER (PARTITION BY l.file_id, l.def_id) AS first_found,
                   MIN(CASE WHEN l.class_name = '<unknown>' THEN l.position END)
                       OVER (PARTITION BY l.file_id, l.def_id) AS first_unknown
            FROM looked_up AS l
            LEFT JOIN repo_snapshot AS s ON s.path = l.path
            LEFT JOIN dim_exported_defs AS e
              ON e.file_id = s.file_id AND e.kind = 'function' AND e.is_effective
             AND e.entry_path = CONCAT(REPLACE(l.local_qname, '.<locals>', ''), '.', l.name)
        ),
        hits AS (
            SELECT t.file_id, t.def_id, t.name_bstart, t.name_bend, t.base_def_id, t.base_file_id,
                   MIN(t.first_found) AS first_found, MIN(t.first_unknown) AS first_unknown
            FROM tried AS t
            WHERE t.position = t.first_found AND t.base_def_id IS NOT NULL
            GROUP BY t.file_id, t.def_id, t.name_bstart, t.name_bend, t.base_def_id, t.base_file_id
        )
        SELECT t.file_id,
               t.def_id AS via_id,
               t.def_id AS src_id,
               t.base_def_id AS dst_id,
               CASE WHEN t.base_file_id <> t.file_id THEN t.base_file_id END AS dep_file_id,
               t.name_bstart AS bstart,
               t.name_bend AS bend,
               'cst+scip' AS origin,
               'mro' AS resolution_method,
               CASE WHEN t.first_unknown < t.first_found THEN 'likely' ELSE 'certain' END AS confidence,
               1 / COUNT(*) OVER (PARTITION BY t.file_id, t.def_id) AS score,
               NULL AS unresolved_reason
        FROM hits AS t
    """,
    examples=(
        Example(
            "the nearest base that has the method",
            (
                method("Child.run", "Child.run"),
                lookup_order("Child", CHILD, ("mid.py", "Mid"), BASE, "builtins.object"),
                tracked("m", "mid.py"),
                tracked("g", "base.py"),
                BASE_RUN,
            ),
            expected=(
                {
                    "src_id": "Child.run",
                    "via_id": "Child.run",
                    "dst_id": "Base.run",
                    "dep_file_id": "g",
                    "resolution_method": "mro",
                    "confidence": "certain",
                    "score": 1.0,
                },
            ),
        ),
        Example(
            "a nearer override hides the one behind it",
            (
                method("Child.run", "Child.run"),
                lookup_order("Child", CHILD, ("mid.py", "Mid"), BASE),
                tracked("m", "mid.py"),
                tracked("g", "base.py"),
                exported("Mid.run", file="m", binding="member", entry_path="Mid.run"),
                BASE_RUN,
            ),
            expected=({"src_id": "Child.run", "dst_id": "Mid.run", "dep_file_id": "m"},),
            refused=({"dst_id": "Base.run"},),
        ),
        Example(
            "a base not known that comes earlier makes it likely",
            (
                method("Child.run", "Child.run"),
                lookup_order("Child", CHILD, "<unknown>", BASE),
                tracked("g", "base.py"),
                BASE_RUN,
            ),
            expected=({"dst_id": "Base.run", "confidence": "likely"},),
        ),
        Example(
            "a method overrides neither itself nor a variable, nor another name",
            (
                method("Child.run", "Child.run"),
                lookup_order("Child", CHILD, BASE),
                tracked("f", "child.py"),
                tracked("g", "base.py"),
                exported("Child.run", binding="member", entry_path="Child.run"),
                exported("Base.run", "class", file="g", binding="member", entry_path="Base.run"),
                exported("Base.runs", file="g", binding="member", entry_path="Base.runs"),
            ),
            refused=({"src_id": "Child.run"},),
        ),
        Example(
            "private names are mangled, special methods are not",
            (
                method("Child.__own", "Child.__own"),
                method("Child.__init__", "Child.__init__"),
                lookup_order("Child", CHILD, BASE),
                tracked("g", "base.py"),
                exported("Base.__own", file="g", binding="member", entry_path="Base.__own"),
                exported("Base.__init__", file="g", binding="member", entry_path="Base.__init__"),
            ),
            expected=({"src_id": "Child.__init__", "dst_id": "Base.__init__"},),
            refused=({"src_id": "Child.__own"},),
        ),
        Example(
            "classes inside functions, here and there",
            (
                method("make.Child.run", "make.Child.run"),
                lookup_order("make.<locals>.Child", ("child.py", "make.Child"), ("child.py", "other.<locals>.Base")),
                tracked("f", "child.py"),
                exported("Base.run", binding="local", entry_path="other.Base.run"),
            ),
            expected=({"src_id": "make.Child.run", "dst_id": "Base.run", "dep_file_id": None},),
        ),
        Example(
            "a class inside a class and one inside a function, by the same names: each base once",
            (
                method("f.Child.run", "f.Child.run"),
                lookup_order("f.Child", ("child.py", "f.Child"), BASE),
                lookup_order("f.<locals>.Child", ("child.py", "f.<locals>.Child"), BASE),
                tracked("g", "base.py"),
                BASE_RUN,
            ),
            expected=({"src_id": "f.Child.run", "dst_id": "Base.run", "score": 1.0},),
        ),
    ),
)

"""Rule rel_import_module: the modules that an import clause names or loads."""

from __future__ import annotations

from codeanatomy_assets.contracts import names
from codeanatomy_assets.contracts.identity import QNAME
from codeanatomy_assets.rules.example_rows import clause, module, resolved
from codeanatomy_assets.rules.rule import Example, Rule

RULE = Rule(
    name="rel_import_module",
    owner=names.PY_IMPORTS_RESOLVED,
    edge_kind="PY_IMPORTS_MODULE",
    doc=(
        "Every import clause → the modules it names and loads, parents and submodules included: of this repository the "
        "module itself, else the qualified name."
    ),
    sql="""
        WITH reached AS (
            SELECT r.file_id, r.import_id, r.resolved_id, r.target_file_id,
                   CASE WHEN r.resolution = 'unresolved' OR r.module IS NULL THEN m.module_id
                        ELSE COALESCE(m.module_id, QNAME_ID(r.module)) END AS dst_id,
                   CASE WHEN r.target_kind = 'star_submodule' THEN 'possible'
                        WHEN r.target_kind = 'submodule' OR r.resolution IN ('ambiguous', 'local_directory')
                        THEN 'likely'
                        ELSE 'certain' END AS confidence
            FROM py_imports_resolved AS r
            LEFT JOIN py_module_index AS m ON m.file_id = r.target_file_id AND m.is_alternate = FALSE
        )
        SELECT r.file_id,
               r.resolved_id AS via_id,
               r.import_id AS src_id,
               r.dst_id,
               CASE WHEN r.dst_id IS NOT NULL AND r.target_file_id <> r.file_id THEN r.target_file_id
                    END AS dep_file_id,
               COALESCE(i.bstart, 0) AS bstart,
               COALESCE(i.bend, 0) AS bend,
               'cst' AS origin,
               CASE WHEN r.dst_id IS NULL THEN 'unresolved' ELSE 'import' END AS resolution_method,
               CASE WHEN r.dst_id IS NULL THEN 'none' ELSE r.confidence END AS confidence,
               CASE WHEN r.dst_id IS NULL THEN 0
                    WHEN r.confidence = 'certain' THEN 1
                    WHEN r.confidence = 'likely' THEN 0.5
                    ELSE 0.25 END AS score,
               CASE WHEN r.dst_id IS NULL THEN 'not_found' END AS unresolved_reason
        FROM reached AS r
        LEFT JOIN cst_imports AS i ON i.file_id = r.file_id AND i.import_id = r.import_id
    """,
    examples=(
        Example(
            "a module of this repository, by its own name",
            (
                clause("i", (7, 12), (7, 12), "import"),
                resolved("i", "app.urls", "internal", "g"),
                module("mod urls", "g"),
                module("mod alternate", "g", is_alternate=True),
            ),
            expected=(
                {
                    "src_id": "i",
                    "dst_id": "mod urls",
                    "dep_file_id": "g",
                    "bstart": 7,
                    "bend": 12,
                    "resolution_method": "import",
                    "confidence": "certain",
                    "origin": "cst",
                },
            ),
            refused=({"dst_id": "mod alternate"},),
        ),
        Example(
            "a package and the submodule that may be meant",
            (
                clause("i", (14, 18), (14, 18)),
                resolved("i", "app", "internal", "p"),
                resolved("i", "app.urls", "internal", "g", target_kind="submodule"),
                module("mod app", "p"),
                module("mod urls", "g"),
            ),
            expected=(
                {"dst_id": "mod app", "confidence": "certain", "score": 1.0},
                {"dst_id": "mod urls", "confidence": "likely", "score": 0.5},
            ),
        ),
        Example(
            "a module from outside is a qualified name",
            (
                clause("i", (7, 9), (7, 9), "import"),
                resolved("i", "os", "stdlib"),
                resolved("i", "numpy", "external"),
                resolved("i", "space", "namespace"),
            ),
            expected=(
                {"dst_id": QNAME.of("os"), "dep_file_id": None},
                {"dst_id": QNAME.of("numpy")},
                {"dst_id": QNAME.of("space")},
            ),
        ),
        Example(
            "what was not found stays a row",
            (
                clause("i", (7, 9), (7, 9)),
                resolved("i", "gone", "unresolved", reason="not_found"),
                resolved("i", None, "unresolved", reason="beyond_top_level"),
            ),
            expected=(
                {"via_id": "i gone", "dst_id": None, "unresolved_reason": "not_found", "confidence": "none"},
                {"via_id": "i None", "dst_id": None, "unresolved_reason": "not_found", "score": 0.0},
            ),
            refused=({"dst_id": QNAME.of("gone")},),
        ),
        Example(
            "a file that imports itself depends on no other, and one found by folder is likely",
            (
                clause("i", (7, 9), (7, 9)),
                resolved("i", "me", "local_directory", "f"),
                module("mod me"),
            ),
            expected=({"dst_id": "mod me", "dep_file_id": None, "confidence": "likely"},),
        ),
    ),
)

"""A rule is one file: what stands in the folder is known, with its dataset."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeanatomy_assets.contracts.graph_kinds import KIND_OF_RULE
from codeanatomy_assets.contracts.relationships import STORED_IN
from codeanatomy_assets.rules import definitions, registry
from codeanatomy_assets.rules.rule import FEWEST_EXAMPLES, RuleError

SOURCE = """
from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.rule import Example, Rule

RULE = Rule(
    name="{name}",
    owner=syntax.DEFS,
    doc="A rule that a test adds.",
    sql="SELECT 1",
    examples=tuple(Example(str(n), (), expected=({{"score": 1.0}},), refused=({{}},)) for n in range({examples})),
)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A second folder of definitions."""
    monkeypatch.setattr(definitions, "__path__", [*definitions.__path__, str(tmp_path)])
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(f"{definitions.__name__}.{path.stem}", None)


def test_the_ten_rules_are_known_in_the_order_of_their_names() -> None:
    assert [rule.name for rule in registry.all_rules()] == [
        "rel_annotation_symbol",
        "rel_calls",
        "rel_callsite_qname",
        "rel_callsite_symbol",
        "rel_def_symbol",
        "rel_import_module",
        "rel_import_symbol",
        "rel_inherits",
        "rel_name_symbol",
        "rel_overrides",
    ]


def test_adding_a_file_adds_a_dataset(folder: Path) -> None:
    (folder / "rel_added.py").write_text(SOURCE.format(name="rel_added", examples=4), encoding="utf-8")
    assert registry.tables()[0].name == "rel_added"
    assert registry.tables()[0].storage_name == STORED_IN
    assert registry.rule("rel_added").doc == "A rule that a test adds."


WHOLE_RULE = """
from codeanatomy_assets.contracts import syntax
from codeanatomy_assets.rules.rule import Example, Rule

RULE = Rule(
    name="rel_added",
    owner=syntax.DEFS,
    doc="A definition and the one that holds it.",
    sql='''SELECT d.file_id, d.def_id AS via_id, d.def_id AS src_id, d.parent_def_id AS dst_id, NULL AS dep_file_id,
                    d.bstart, d.bend, 'cst' AS origin, 'definition' AS resolution_method, 'certain' AS confidence,
                    1 AS score, NULL AS unresolved_reason FROM cst_defs AS d WHERE d.parent_def_id IS NOT NULL''',
    examples=tuple(Example(str(n), (), expected=({"score": 1.0},), refused=({},)) for n in range(4)),
)
"""
SHOWN = """
import json, sys
from codeanatomy_assets.rules import definitions
definitions.__path__.append(sys.argv[1])
from codeanatomy_assets import catalog_docs
from codeanatomy_assets.orchestration.assets import relationships
from codeanatomy_assets.orchestration.project import build_definitions
from codeanatomy_assets.settings import Settings
import dagster as dg
graph = build_definitions(Settings()).resolve_asset_graph()
node = graph.get(dg.AssetKey("rel_added"))
print(json.dumps({
    "parents": sorted(key.to_user_string() for key in node.parent_keys),
    "checks": [key.name for key in node.check_keys],
    "lineage": sorted(relationships.LINEAGE["rel_added"]["dst_id"]),
    "is_documented": "### rel_added" in catalog_docs.render(),
}))
"""


def test_a_file_makes_asset_lineage_check_and_docs_appear(tmp_path: Path) -> None:
    (tmp_path / "rel_added.py").write_text(WHOLE_RULE, encoding="utf-8")
    command = [sys.executable, "-c", SHOWN, str(tmp_path)]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told == {
        "parents": ["cst_defs", "inc_impacted_files"],
        "checks": ["contract"],
        "lineage": [["cst_defs", "parent_def_id"]],
        "is_documented": True,
    }


@pytest.mark.parametrize(
    ("name", "examples", "said"),
    [("rel_other", 4, "name the module after the rule"), ("rel_added", 3, f"write at least {FEWEST_EXAMPLES}")],
)
def test_an_unfinished_rule_is_refused(folder: Path, name: str, examples: int, said: str) -> None:
    (folder / "rel_added.py").write_text(SOURCE.format(name=name, examples=examples), encoding="utf-8")
    with pytest.raises(RuleError, match=said):
        registry.all_rules()


def test_a_module_without_a_rule_is_refused(folder: Path) -> None:
    (folder / "rel_added.py").write_text("", encoding="utf-8")
    with pytest.raises(RuleError, match="has no RULE"):
        registry.all_rules()


def test_rules_and_edge_kinds_agree() -> None:
    assert {rule.name: rule.edge_kind for rule in registry.all_rules()} == dict(KIND_OF_RULE)

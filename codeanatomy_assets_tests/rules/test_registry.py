"""A rule is one file: what stands in the folder is known, with its dataset."""

from __future__ import annotations

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

"""The graph's declarations agree with each other, and a wrong one is refused by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codeanatomy_assets.contracts import graph
from codeanatomy_assets.contracts.graph_kinds import EDGE_KINDS, KIND_OF_RULE, NODE_KINDS, EdgeKind, NodeKind
from codeanatomy_assets.contracts.graph_props import PROPS, PropKey, prop_problem
from codeanatomy_assets.transforms.graph_edges import STRUCTURAL

CALLS = next(kind for kind in EDGE_KINDS if kind.name == "CALLS")
SIZE = next(prop for prop in PROPS if prop.key == "size")
RULES = tuple(KIND_OF_RULE)

Catalog = tuple[tuple[NodeKind, ...], tuple[EdgeKind, ...], tuple[PropKey, ...]]


@pytest.mark.parametrize(
    ("catalog", "problem"),
    [
        (((*NODE_KINDS, NODE_KINDS[0]), EDGE_KINDS, PROPS), "PY_FILE is declared twice"),
        ((NODE_KINDS, (*EDGE_KINDS, replace(CALLS, rules=())), PROPS), "CALLS is declared twice"),
        ((NODE_KINDS, (*EDGE_KINDS, replace(CALLS, name="X")), PROPS), "rel_calls is declared twice"),
        ((NODE_KINDS, EDGE_KINDS, (*PROPS, SIZE)), "PY_FILE prop size is declared twice"),
        ((NODE_KINDS, (replace(CALLS, dst_kinds=("DEF",)),), ()), "CALLS joins DEF, which is no node kind"),
        ((NODE_KINDS, EDGE_KINDS, (replace(SIZE, kinds=("FILE",)),)), "prop size is of FILE, which is no kind"),
        ((NODE_KINDS, EDGE_KINDS, (*PROPS, replace(SIZE, kinds=("DIAG",), value_type="json"))), "is json for one kind"),
        ((NODE_KINDS, EDGE_KINDS, (replace(SIZE, value_type="float"),)), "prop size has the unknown type float"),
        ((NODE_KINDS, EDGE_KINDS, (replace(SIZE, key="path"),)), "prop path has the name of a column"),
    ],
)
def test_a_wrong_declaration_is_refused(catalog: Catalog, problem: str) -> None:
    [found] = graph.declaration_problems(*catalog)
    assert problem in found


def test_the_declarations_have_no_problems() -> None:
    assert graph.declaration_problems(NODE_KINDS, EDGE_KINDS, PROPS) == []
    assert graph.producer_problems(EDGE_KINDS, RULES, STRUCTURAL) == []


def test_a_kind_without_producer_and_a_rule_without_kind_are_refused() -> None:
    orphan = replace(CALLS, name="ORPHAN", rules=())
    [found] = graph.producer_problems((*EDGE_KINDS, orphan), RULES, STRUCTURAL)
    assert found == "ORPHAN has no producer: neither a rule nor structure makes it"
    [found] = graph.producer_problems(EDGE_KINDS, (*RULES, "rel_new"), STRUCTURAL)
    assert found.startswith("rel_new makes no edge")
    [found] = graph.producer_problems(EDGE_KINDS, [rule for rule in RULES if rule != "rel_calls"], STRUCTURAL)
    assert found == "CALLS names the rule rel_calls, which there is not"


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        (("node", "size", "int", "13"), None),
        (("node", "size", "int", "13", "PY_FILE"), None),
        (("node", "sise", "int", "13"), "node prop sise is not in the catalog"),
        (("edge", "size", "int", "13"), "edge prop size is not in the catalog"),
        (("node", "size", "int", "13", "CST_DEF"), "CST_DEF has no prop size"),
        (("node", "size", "string", '"13"'), "node prop size is int, not string"),
        (("node", "size", "int", '"13"'), 'node prop size has the value "13", which is no int'),
        (("node", "size", "int", "true"), "node prop size has the value true, which is no int"),
        (("node", "bases", "json", "1"), "node prop bases has the value 1, which is no json"),
        (("node", "bases", "json", "[1"), "node prop bases has the value [1, which is no json"),
    ],
)
def test_a_prop_is_held_against_the_catalog(told: tuple[str, ...], problem: str | None) -> None:
    assert prop_problem(*told) == problem


def test_every_default_and_example_is_of_its_props_type() -> None:
    for prop in PROPS:
        for value in (prop.example[2], prop.default):
            assert value is None or prop_problem(prop.entity_kind, prop.key, prop.value_type, value) is None
        assert prop.example[2] != prop.default

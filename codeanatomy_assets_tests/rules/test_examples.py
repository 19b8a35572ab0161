"""Every rule does with its own examples what they say."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from codeanatomy_assets.contracts import relationships
from codeanatomy_assets.rules.registry import all_rules
from codeanatomy_assets.rules.rule import Example
from codeanatomy_assets_tests.rules.example_runs import Outcome, matches, outcomes

EXAMPLES = [(rule.name, example) for rule in all_rules() for example in rule.examples]


@pytest.fixture(scope="module")
def found(quick_spark: SparkSession) -> dict[tuple[str, str], Outcome]:
    return outcomes(quick_spark, all_rules())


@pytest.mark.parametrize(("rule", "example"), EXAMPLES, ids=[f"{rule}: {example.name}" for rule, example in EXAMPLES])
def test_an_example_gives_what_it_says(found: dict[tuple[str, str], Outcome], rule: str, example: Example) -> None:
    rows = found[rule, example.name]
    missing = [wanted for wanted in example.expected if not any(matches(row, wanted) for row in rows)]
    assert missing == [], rows
    assert [row for row in rows for unwanted in example.refused if matches(row, unwanted)] == []
    if not example.others:
        assert [row for row in rows if not any(matches(row, wanted) for wanted in example.expected)] == []
        assert len(rows) == len(example.expected)


def test_ids_are_unique_and_values_are_the_contract_s(found: dict[tuple[str, str], Outcome]) -> None:
    rows = [row for each in found.values() for row in each]
    assert [rel_id for rel_id, times in Counter(row["rel_id"] for row in rows).items() if times > 1] == []
    for column in relationships.COLUMNS:
        assert column.nullable or all(row[column.name] is not None for row in rows), column.name
        assert not column.values or {row[column.name] for row in rows} <= {*column.values, None}, column.name
    assert all((row["dst_id"] is None) == (row["unresolved_reason"] is not None) for row in rows)
    assert all((row["dst_id"] is None) == (row["resolution_method"] == "unresolved") for row in rows)
    assert all((row["dst_id"] is None) == (row["confidence"] == "none") for row in rows)
    assert all(0 <= row["score"] <= 1 for row in rows)

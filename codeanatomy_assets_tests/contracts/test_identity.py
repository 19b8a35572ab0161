"""Ids: the recipe in Python and the one in Spark SQL give the same text for whatever input."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from codeanatomy_assets.contracts import identity
from codeanatomy_assets.contracts.identity import IdRecipe
from codeanatomy_assets_tests.storage.odd_rows import LONG_TEXT, ODD_TEXTS

PAIR = IdRecipe("pair", ("left", "right"))
VERY_LONG = "é✓𝄞x" * 250_000
RECIPES = [recipe for recipe in vars(identity).values() if isinstance(recipe, IdRecipe)]


def test_python_and_spark_make_the_same_id_of_odd_texts(spark: SparkSession) -> None:
    assert len(VERY_LONG.encode()) > 1_000_000
    texts = [*ODD_TEXTS, "\x00", "a\x00b", "'", "\\", "%d:%b", LONG_TEXT, VERY_LONG]
    pairs = [(text, other) for text in texts for other in ("", None, text if text is not VERY_LONG else "x")]
    rows = spark.createDataFrame(pa.table({"l": [p[0] for p in pairs], "r": [p[1] for p in pairs]}))
    made = rows.selectExpr(f"{PAIR.sql('l', 'r')} AS id").toArrow().column("id").to_pylist()
    assert made == [PAIR.of(*pair) for pair in pairs]


def test_python_and_spark_make_the_same_id_of_numbers(spark: SparkSession) -> None:
    numbers = [0, 1, -1, 9, 10, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), None]
    rows = spark.createDataFrame(pa.table({"n": pa.array(numbers, pa.int64()), "t": [str(n) for n in numbers]}))
    made = rows.selectExpr(f"{PAIR.sql('n', 't')} AS id").toArrow().column("id").to_pylist()
    assert made == [PAIR.of(n, str(n)) for n in numbers]
    assert PAIR.of(7, None) == PAIR.of("7", None)


def test_the_separators_keep_neighbours_apart() -> None:
    pairs: list[tuple[str | None, str | None]] = [
        ("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", ""), (None, "abc"), ("abc", None), ("-", "abc"),
        ("abc", "-"), (None, None), ("", ""), ("-", "-"), ("", "-"), ("a1:b", "c"), ("a", "1:bc"), ("1:a1:b", ""),
    ]  # fmt: skip
    assert len({PAIR.of(*pair) for pair in pairs}) == len(pairs)


def test_random_texts_of_separator_characters_never_meet() -> None:
    chosen = random.Random(20_240_101)
    texts = {tuple("".join(chosen.choices("0123:-ab", k=chosen.randrange(5))) for _ in "lr") for _ in range(3_000)}
    assert len({PAIR.of(*pair) for pair in texts}) == len(texts)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.prefix)
def test_an_id_is_its_prefix_and_thirty_two_digits(recipe: IdRecipe) -> None:
    prefix, _, digits = recipe.of(*recipe.parts).partition("_")
    assert prefix == recipe.prefix and len(digits) == identity.HEX_DIGITS and int(digits, 16) >= 0


def test_a_recipe_takes_as_many_parts_as_it_names() -> None:
    with pytest.raises(ValueError, match=r"file id takes \('repo_id', 'path'\), not 1 values"):
        identity.FILE.of("path")
    with pytest.raises(ValueError, match=r"file id takes \('repo_id', 'path'\), not 3 expressions"):
        identity.FILE.sql("a", "b", "c")


def test_the_recipe_does_not_change_unnoticed() -> None:
    """These ids are in every state on disk: another recipe is another schema version of every table."""
    assert identity.FILE.of("repository", "src/ä.py") == "file_9058219c0cd3f3b74ca82b97195e99b1"
    assert identity.DEF.of("file_0", "function", "A.f", 0) == "def_733d12d119fa4fffa77c6d553b918f92"
    assert identity.REF.of("file_0", None, "load", "", 12) == "ref_1b6e023c7b1576703f31eefd183ffb39"

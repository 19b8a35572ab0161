"""Which files a change touches: each rule over a few rows."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from codeanatomy_assets.contracts.exports import MODULE_ENTRY
from codeanatomy_assets.transforms import impact
from codeanatomy_assets.transforms.impact import ChangedExport, Reasons, TooDeep
from codeanatomy_assets.transforms.looked_up_from import Origin, Reached

SEED = 20261117


def export_row(entry: str, **told: Any) -> dict[str, Any]:
    """A row of dim_exported_defs of file `f`."""
    row: dict[str, Any] = dict.fromkeys(impact.SEEN)
    row |= {"file_id": "f", "entry_path": entry, "qname": f"m.{entry}", "symbol": None, "ordinal": 0}
    return row | {"binding": "def", "is_public": True, "is_enumerable": True} | told


def changed(name: str, **told: Any) -> ChangedExport:
    rest = {"symbol": None, "is_public": True, "is_enumerable": True, "is_local": False, "change": "altered"}
    return ChangedExport(**{"file_id": "f", "entry_path": name, "qname": f"m.{name}", **rest, **told})


def import_row(**told: Any) -> dict[str, Any]:
    """A row of py_imports_resolved of file `g`: `from m import name`."""
    row = {"file_id": "g", "target_file_id": "f", "target_kind": "module", "module": "m", "name": None}
    return row | {"is_star": False} | told


def told(reasons: Reasons) -> dict[tuple[str, str, str], tuple[int, str | None]]:
    return reasons.found


@pytest.mark.parametrize(
    ("changes", "change"),
    [
        ([(export_row("a"), 1)], "added"),
        ([(export_row("a"), -1)], "removed"),
        ([(export_row("a", signature="(x)"), -1), (export_row("a", signature="(x, y)"), 1)], "altered"),
    ],
)
def test_an_export_is_added_removed_or_altered(changes: list[tuple[dict[str, Any], int]], change: str) -> None:
    (found,) = impact.changed_exports(changes)
    assert (found.file_id, found.entry_path, found.change, found.name) == ("f", "a", change, "a")


def test_an_export_that_only_moved_in_its_file_did_not_change() -> None:
    assert impact.changed_exports([(export_row("a", ordinal=1), -1), (export_row("a", ordinal=2), 1)]) == []


@pytest.mark.parametrize(
    ("imported", "mentions", "reason"),
    [
        ({"name": "a"}, (), ("g", "import_name", "m.a")),
        ({"name": "b"}, (), None),
        ({"is_star": True}, (), ("g", "import_star", "m")),
        ({"target_kind": "module"}, ("a",), ("g", "import_module", "m.a")),
        ({"target_kind": "module"}, ("b",), None),
    ],
)
def test_importers_are_touched_by_name_by_star_and_by_what_they_mention(
    imported: dict[str, Any], mentions: tuple[str, ...], reason: tuple[str, str, str] | None
) -> None:
    found = impact.importers([changed("a")], [import_row(**imported)], {"g": frozenset(mentions)})
    assert told(found) == ({reason: (1, "f")} if reason else {})


def test_a_star_takes_no_private_name_and_nobody_a_local_one() -> None:
    star, named = import_row(is_star=True), import_row(name="_a")
    assert told(impact.importers([changed("_a", is_public=False)], [star], {})) == {}
    assert ("g", "import_name", "m._a") in told(impact.importers([changed("_a", is_public=False)], [named], {}))
    assert told(impact.importers([changed("_a", is_local=True)], [named], {})) == {}


def test_a_star_is_touched_by_the_module_itself() -> None:
    module = changed(MODULE_ENTRY, is_public=False)
    assert told(impact.importers([module], [import_row(is_star=True)], {})) == {("g", "import_star", "m"): (1, "f")}


def test_re_exports_are_followed_to_who_imports_them() -> None:
    entry = {"file_id": "pkg", "entry_path": "b", "target_file_id": "f", "target_entry": "a.method"}
    other = {**entry, "entry_path": "c", "target_entry": "other"}
    itself = {**entry, "file_id": "f"}
    entries = impact.reexporters([changed("a")], [entry, other, itself])
    assert entries == {"pkg": {"b": "f"}}
    by_name = import_row(target_file_id="pkg", module="p", name="b")
    by_star = import_row(file_id="h", target_file_id="pkg", module="p", is_star=True)
    another = import_row(file_id="i", target_file_id="pkg", module="p", name="c")
    assert told(impact.importers_of_reexports(entries, [by_name, by_star, another])) == {
        ("g", "reexport", "p.b"): (2, "pkg"),
        ("h", "import_star", "p"): (2, "pkg"),
    }


@pytest.mark.parametrize(
    ("table", "constants", "is_inherited", "kind"),
    [
        ("scip_occurrences", frozenset(), False, "caller_symbol"),
        ("dim_qualified_names", frozenset(), False, "caller_qname"),
        ("cst_defs", frozenset(), False, "override"),
        ("scip_occurrences", frozenset(), True, "override"),
        ("py_imports_resolved", frozenset(), False, "import_module"),
        ("py_imports_resolved", frozenset({("is_star", True)}), False, "import_star"),
    ],
)
def test_what_leads_to_a_changed_row_is_the_kind_of_reason(
    table: str, constants: frozenset[tuple[str, bool]], is_inherited: bool, kind: str
) -> None:
    origin = Origin("m.a", "f", is_inherited=is_inherited)
    assert impact.kind_of(Reached("g", table, constants, origin)) == kind


def test_distances_are_counted_along_the_chain_of_reasons() -> None:
    reasons = Reasons()
    reasons.add("a", "changed_file")
    reasons.add("b", "scip_changed", "x", "a", 1)
    reasons.add("c", "scip_changed", "x", "b", 1)
    reasons.add("c", "import_name", "y", "a", 1)
    reasons.add("d", "scip_changed", "x", "c", 1)
    reasons.add("e", "import_module", "module name", None, 1)
    reasons.add("f", "scip_changed", "x", "not touched", 1)
    reasons.add("g", "scip_changed", "x", "h", 1)
    reasons.add("h", "scip_changed", "x", "g", 1)
    measured = {(file_id, via): distance for (file_id, _, _), (distance, via) in reasons.measured().found.items()}
    assert measured == {
        ("a", None): 0,
        ("b", "a"): 1,
        ("c", "b"): 2,
        ("c", "a"): 1,
        ("d", "c"): 2,
        ("e", None): 1,
        ("f", "not touched"): 1,
        ("g", "h"): 1,
        ("h", "g"): 1,
    }


def test_the_nearest_and_then_the_least_is_who_a_file_comes_through() -> None:
    edges = {"A": {"z"}, "B": {"a"}, "z": {"q"}, "a": {"q"}, "q": {"A"}}
    assert impact.reverse_closure(edges, ["A", "B"], 10) == {"z": (1, "A"), "a": (1, "B"), "q": (2, "a")}


def random_edges(chance: random.Random) -> dict[str, set[str]]:
    """target → importers, of twelve files in one to three tangles, with cycles and files that import themselves."""
    files = [f"f{number:02}" for number in range(12)]
    return {
        target: {chance.choice(files) for _ in range(chance.randrange(3))} for target in files if chance.random() < 0.8
    }


@pytest.mark.parametrize("number", range(4))
def test_both_ways_of_the_closure_answer_alike(spark: SparkSession, number: int) -> None:
    chance = random.Random(SEED + number)
    edges = random_edges(chance)
    rows = [(importer, target) for target, importers in edges.items() for importer in importers]
    frame = spark.createDataFrame(rows, "file_id string, target_file_id string")
    starts = chance.sample(sorted(edges), 2)
    walked = impact.reverse_closure(
        impact.import_edges_of({"file_id": a, "target_file_id": b} for a, b in rows), starts, 20
    )
    assert impact.reverse_closure_spark(frame, starts, 20) == walked, f"seed {SEED + number}"
    deepest = max((distance for distance, _ in walked.values()), default=0)
    if deepest:
        for closure in (
            impact.reverse_closure(edges, starts, deepest),
            impact.reverse_closure_spark(frame, starts, deepest),
        ):
            assert closure == walked, "a limit that is just reached is none"
        with pytest.raises(TooDeep):
            impact.reverse_closure(edges, starts, deepest - 1)
        with pytest.raises(TooDeep):
            impact.reverse_closure_spark(frame, starts, deepest - 1)

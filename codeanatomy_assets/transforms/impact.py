"""What a commit changed → which files it touches, and why.

The floor, under every strategy: files that changed, came or went; files whose rows in the symbols stage differ; and
files of which a rule looks up a row of another file that changed (`looked_up_from.py`): what they call by symbol or by
qualified name, constructors and bases of classes that they name, members of bases. `symbol_closure` adds who imports a
changed name, `import_closure` everything that imports a changed file, directly or not; `hybrid` is `symbol_closure`,
and `import_closure` from modules whose names can't be enumerated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from codeanatomy_assets.contracts.exports import DIM_QUALIFIED_NAMES, MODULE_ENTRY
from codeanatomy_assets.contracts.impact import IMPACTED_FILES
from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED
from codeanatomy_assets.contracts.symbols import PY_INTERFACE
from codeanatomy_assets.contracts.syntax import DEFS
from codeanatomy_assets.transforms.looked_up_from import Reached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What importers can see of an export: when none of it differs, nothing changed for them.
SEEN = (
    *("binding", "kind", "def_id", "own_symbol_id", "is_effective", "is_public", "is_enumerable", "signature"),
    *("target_kind", "target_file_id", "target_def_id", "target_entry", "target_qname", "symbol_id"),
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ChangedExport:
    """One entry of a file that importers see differently now."""

    file_id: str
    entry_path: str
    change: str
    qname: str
    symbol: str | None
    is_public: bool
    is_enumerable: bool
    is_local: bool

    @property
    def name(self) -> str:
        """The module's name that it is, or is a part of."""
        return self.entry_path.split(".")[0]


def changed_exports(changes: Iterable[tuple[Row, int]]) -> list[ChangedExport]:
    """From the netted changes of `dim_exported_defs`: entries added, removed or altered in what others see."""
    sides: dict[tuple[str, str], tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for row, delta in changes:
        sides[row["file_id"], row["entry_path"]][delta > 0].append(row)
    found = []
    for (file_id, entry), (old, new) in sorted(sides.items()):
        if _seen(old) != _seen(new):
            found.append(_changed(file_id, entry, old, new))
    return found


def _seen(rows: Iterable[Row]) -> list[str]:
    return sorted(repr([row[name] for name in SEEN]) for row in rows)


def _changed(file_id: str, entry: str, old: list[Row], new: list[Row]) -> ChangedExport:
    rows = [*sorted(new, key=_ordinal), *sorted(old, key=_ordinal)]
    return ChangedExport(
        file_id=file_id,
        entry_path=entry,
        change="added" if not old else "removed" if not new else "altered",
        qname=rows[0]["qname"],
        symbol=next((row["symbol"] for row in rows if row["symbol"] is not None), None),
        is_public=any(row["is_public"] for row in rows),
        is_enumerable=all(row["is_enumerable"] for row in rows),
        is_local=all(row["binding"] == "local" for row in rows),
    )


def _ordinal(row: Row) -> int:
    return int(row["ordinal"])


@dataclass
class Reasons:
    """Files and why they are rebuilt: of equal reasons the one nearest to the change is kept."""

    found: dict[tuple[str, str, str], tuple[int, str | None]] = field(default_factory=dict)

    def add(self, file_id: str, kind: str, ref: str = "", via: str | None = None, distance: int = 0) -> None:
        key = (file_id, kind, ref)
        told = (distance, via)
        known = self.found.get(key)
        if known is None or (told[0], told[1] or "") < (known[0], known[1] or ""):
            self.found[key] = told

    def take(self, other: Reasons) -> None:
        for (file_id, kind, ref), (distance, via) in other.found.items():
            self.add(file_id, kind, ref, via, distance)

    @property
    def files(self) -> frozenset[str]:
        return frozenset(file_id for file_id, _, _ in self.found)

    def without(self, files: Iterable[str]) -> Reasons:
        dropped = frozenset(files)
        return Reasons({key: told for key, told in self.found.items() if key[0] not in dropped})

    def only(self, other: Reasons) -> Reasons:
        """Those that the other has too, as they are here."""
        return Reasons({key: self.found[key] for key in other.found})

    def measured(self) -> Reasons:
        """With distances counted in files, along the shortest chain: each file that another comes through is a step.

        A reason that comes through no touched file has the distance it was found with.
        """
        files = self.files
        leading: dict[str, list[str]] = defaultdict(list)
        waiting = []
        for (file_id, _, _), (distance, via) in self.found.items():
            if via is None or via not in files:
                waiting.append((distance, file_id))
            else:
                leading[via].append(file_id)
        heapify(waiting)
        steps: dict[str, int] = {}
        while waiting:
            distance, file_id = heappop(waiting)
            if file_id not in steps:
                steps[file_id] = distance
                for each in leading[file_id]:
                    heappush(waiting, (distance + 1, each))
        return Reasons(
            {
                key: (steps[via] + 1 if via is not None and via in steps else distance, via)
                for key, (distance, via) in self.found.items()
            }
        )

    def rows(self, commit: str, paths: Mapping[str, str]) -> list[dict[str, Any]]:
        """Rows of one of the inc_impacted_* datasets."""
        return [
            dict(
                zip(
                    IMPACTED_FILES.column_names,
                    (commit, file_id, paths[file_id], kind, ref, via, distance),
                    strict=True,
                )
            )
            for (file_id, kind, ref), (distance, via) in sorted(self.found.items())
        ]


def importers(
    changed: Iterable[ChangedExport], imports: Iterable[Row], mentions: Mapping[str, frozenset[str]]
) -> Reasons:
    """Who imports a changed name: by name, by star, or by a module whose changed name it mentions.

    `imports` are the resolved rows that lead to the changed files; `mentions` the attribute names of the files
    that import one as a module.
    """
    by_file: dict[str, list[ChangedExport]] = defaultdict(list)
    for each in changed:
        if not each.is_local:
            by_file[each.file_id].append(each)
    reasons = Reasons()
    for row in imports:
        exports = by_file.get(row["target_file_id"], [])
        for kind, ref in _import_reasons(row, exports, mentions.get(row["file_id"], frozenset())):
            reasons.add(row["file_id"], kind, ref, row["target_file_id"], 1)
    return reasons


def _import_reasons(row: Row, exports: list[ChangedExport], mentioned: frozenset[str]) -> Iterator[tuple[str, str]]:
    if row["is_star"]:
        if row["target_kind"] == "module" and any(
            each.is_public or each.entry_path == MODULE_ENTRY for each in exports
        ):
            yield "import_star", row["module"] or ""
        return
    if row["target_kind"] == "module" and row["name"] is not None:
        if any(each.name == row["name"] for each in exports):
            yield "import_name", f"{row['module'] or ''}.{row['name']}"
        return
    for each in exports:
        if each.name in mentioned:
            yield "import_module", each.qname


def reexporters(changed: Iterable[ChangedExport], rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """Entries of other files that lead to a changed one: file → entry → the changed file.

    `rows` are those of `dim_exported_defs` that lead to the changed files from others.
    """
    names: dict[str, set[str]] = defaultdict(set)
    for each in changed:
        names[each.file_id].add(each.name)
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        target = (row["target_entry"] or "").split(".")[0]
        if row["file_id"] != row["target_file_id"] and target in names[row["target_file_id"]]:
            found[row["file_id"]][row["entry_path"]] = row["target_file_id"]
    return found


def importers_of_reexports(entries: Mapping[str, Mapping[str, str]], imports: Iterable[Row]) -> Reasons:
    """Who imports a changed name by way of another module."""
    reasons = Reasons()
    for row in imports:
        offered = entries.get(row["target_file_id"], {})
        if row["is_star"] and row["target_kind"] == "module" and offered:
            reasons.add(row["file_id"], "import_star", row["module"] or "", row["target_file_id"], 2)
        elif row["name"] in offered and row["target_kind"] == "module":
            reasons.add(row["file_id"], "reexport", f"{row['module'] or ''}.{row['name']}", row["target_file_id"], 2)
    return reasons


def kind_of(reached: Reached) -> str:
    """The kind of reason that a file has which looks up a changed row, by what of its own leads there."""
    if reached.origin.is_inherited or reached.table in (DEFS.name, PY_INTERFACE.name):
        return "override"
    if reached.table == PY_IMPORTS_RESOLVED.name:
        return "import_star" if ("is_star", True) in reached.constants else "import_module"
    return "caller_qname" if reached.table == DIM_QUALIFIED_NAMES.name else "caller_symbol"


def import_edges_of(imports: Iterable[Row]) -> dict[str, set[str]]:
    """target file → files that import it."""
    edges: dict[str, set[str]] = defaultdict(set)
    for row in imports:
        if row["target_file_id"] is not None and row["target_file_id"] != row["file_id"]:
            edges[row["target_file_id"]].add(row["file_id"])
    return edges


class TooDeep(Exception):
    """The closure did not end within the iteration limit."""


def reverse_closure(
    edges: Mapping[str, Iterable[str]], starts: Iterable[str], limit: int
) -> dict[str, tuple[int, str]]:
    """Everything that reaches a start: file → (distance, the file it comes through), nearest and least first."""
    first = set(starts)
    found: dict[str, tuple[int, str]] = {}
    frontier, distance = sorted(first), 0
    while frontier:
        distance += 1
        fresh: dict[str, str] = {}
        for file_id in frontier:
            for importer in edges.get(file_id, ()):
                if importer not in first and importer not in found:
                    fresh.setdefault(importer, file_id)
        if fresh and distance > limit:
            raise TooDeep(f"more than {limit} imports from a change")
        found.update({importer: (distance, via) for importer, via in fresh.items()})
        frontier = sorted(fresh)
    return found


def reverse_closure_spark(edges: DataFrame, starts: Iterable[str], limit: int) -> dict[str, tuple[int, str]]:
    """The same by iteration on Spark, for graphs too large for the driver. `edges` are (file_id, target_file_id)."""
    from pyspark.sql import functions as F

    spark = edges.sparkSession
    first = sorted(set(starts))
    edges = edges.distinct().persist()
    found: dict[str, tuple[int, str]] = {}
    frontier = first
    try:
        for distance in range(1, limit + 2):
            near = spark.createDataFrame([(each,) for each in frontier], "target_file_id string")
            step = edges.join(F.broadcast(near), "target_file_id").where("file_id <> target_file_id")
            nearest = step.groupBy("file_id").agg(F.min("target_file_id").alias("via"))
            fresh = {
                row["file_id"]: row["via"]
                for row in nearest.toLocalIterator()
                if row["file_id"] not in found and row["file_id"] not in first
            }
            if not fresh:
                return found
            if distance > limit:
                raise TooDeep(f"more than {limit} imports from a change")
            found.update({file_id: (distance, via) for file_id, via in fresh.items()})
            frontier = sorted(fresh)
    finally:
        edges.unpersist()
    raise TooDeep(f"more than {limit} imports from a change")

"""Impact for a run: the floor and the strategy's closure, read from the state as it was and as it is now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from codeanatomy_assets.contracts.exports import DIM_EXPORTED_DEFS, DIM_QUALIFIED_NAMES, MODULE_ENTRY
from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED, PY_MODULE_INDEX
from codeanatomy_assets.contracts.repository import FILE_CHANGES, REPO_SNAPSHOT
from codeanatomy_assets.contracts.symbols import PY_INTERFACE, SCIP_FINGERPRINTS, SCIP_OCCURRENCES, SCIP_SYMBOLS
from codeanatomy_assets.contracts.syntax import NAME_REFS
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.delta_reads import listed
from codeanatomy_assets.storage.table_state import TableState, owner_predicate
from codeanatomy_assets.transforms import impact
from codeanatomy_assets.transforms.impact import ChangedExport, Reasons

# Past this many import rows the closure goes by iteration on Spark.
MOST_IMPORTS_ON_DRIVER = 2_000_000
# Past this many owners a scan without them is cheaper than a list of them.
MOST_OWNERS_LISTED = 400
OWN_REASONS = {"added": "added_file", "renamed": "added_file", "modified": "changed_file", "deleted": "deleted_file"}
# Its names are everywhere without an import.
BUILTIN_STUBS = "__builtins__.pyi"
INDEXED = (SCIP_FINGERPRINTS, SCIP_OCCURRENCES, SCIP_SYMBOLS, PY_INTERFACE)
IMPORT_COLUMNS = ("file_id", "target_file_id", "target_kind", "module", "name", "is_star")

Row = dict[str, Any]


@dataclass
class Impact:
    """What the impact stage found."""

    exports: list[ChangedExport] = field(default_factory=list)
    callers: Reasons = field(default_factory=Reasons)
    importers: Reasons = field(default_factory=Reasons)
    files: Reasons = field(default_factory=Reasons)
    widened: str = ""


def find_impact(run: WritingRun) -> Impact:
    """The files that this run's commit touches, each with its reasons."""
    if run.refreshes(Stage.IMPACT):
        return _refreshed(run, run.refreshed_because)
    try:
        return _Finding(run).found()
    except impact.TooDeep as error:
        widened = _refreshed(run, str(error))
        widened.widened = str(error)
        return widened


def _refreshed(run: WritingRun, why: str) -> Impact:
    found = Impact()
    for file_id in run.readable_files():
        found.files.add(file_id, "full_refresh", why)
    for row in run.read_light(FILE_CHANGES, (run.commit,)).to_pylist():
        if row["change_kind"] == "deleted" and Stage.SYNTAX.value in row["stages_touched"]:
            found.files.add(row["file_id"], "deleted_file")
    return found


class _Finding:
    def __init__(self, run: WritingRun) -> None:
        self.run = run
        self.limit = run.settings.impact_iterations

    def found(self) -> Impact:
        own = self._own_reasons()
        exports = self._changed_exports()
        found = Impact(exports)
        beyond = [each for each in exports if not each.is_local]
        if beyond and self.bound(beyond):
            found.callers = self._callers(beyond)
            found.importers = self._importers(beyond)
        found.importers.take(self._rewritten_names(own))
        for reasons in (own, self._semantic(own), found.callers, found.importers, self._closure(own, exports)):
            found.files.take(reasons)
        return found

    def _own_reasons(self) -> Reasons:
        reasons = Reasons()
        if self.run.chosen is not None:
            for file_id in self.run.chosen:
                reasons.add(file_id, "changed_file", "chosen")
            return reasons
        for row in self.run.read_light(FILE_CHANGES, (self.run.commit,)).to_pylist():
            if Stage.SYNTAX.value in row["stages_touched"]:
                reasons.add(row["file_id"], OWN_REASONS[row["change_kind"]])
        return reasons

    def _semantic(self, own: Reasons) -> Reasons:
        """Files whose meaning changed though their text did not, with what the wave came to them by."""
        reasons = Reasons()
        for file_id in self._owners(*INDEXED) - own.files:
            reason = self.run.wave_reasons.get(file_id)
            via = self._file_at(reason.via) if reason is not None and reason.via is not None else None
            reasons.add(file_id, "scip_changed", (reason.name or reason.rule) if reason else "", via, 1)
        return reasons

    def _rewritten_names(self, own: Reasons) -> Reasons:
        """Files whose imports, module names or exports lead elsewhere now though their text did not change."""
        reasons = Reasons()
        for file_id in self._owners(PY_MODULE_INDEX) - own.files:
            reasons.add(file_id, "import_module", "module name", None, 1)
        for file_id in self._owners(PY_IMPORTS_RESOLVED) - own.files:
            reasons.add(file_id, "import_module", "import resolution", None, 1)
        exports = self._owners(DIM_EXPORTED_DEFS) - own.files
        for row, delta in self._export_changes if exports else ():
            if row["file_id"] in exports and delta > 0:
                reasons.add(row["file_id"], "reexport", row["qname"], self._via(row["looked_up"]), 1)
        for file_id in exports - reasons.files:
            reasons.add(file_id, "reexport", "", None, 1)
        moved = self._owners(PY_MODULE_INDEX)
        for row in self._imports_of(moved) if moved else ():
            reasons.add(row["file_id"], "import_module", row["module"] or "", row["target_file_id"], 1)
        return reasons.without(own.files)

    def _via(self, looked_up: Sequence[str]) -> str | None:
        changed = self._owners(DIM_EXPORTED_DEFS)
        return next((key.split(" ")[0] for key in looked_up if key.split(" ")[0] in changed), None)

    def _closure(self, own: Reasons, exports: Sequence[ChangedExport]) -> Reasons:
        strategy = self.run.settings.strategy
        starts: frozenset[str] = frozenset()
        if strategy == "import_closure":
            starts = own.files | self._owners(*INDEXED)
        elif strategy == "hybrid":
            starts = frozenset(
                each.file_id for each in exports if not each.is_enumerable and each.entry_path == MODULE_ENTRY
            )
            starts |= self._unlisted(exports)
        reasons = Reasons()
        if starts:
            for file_id, (distance, via) in self._reverse_closure(starts).items():
                reasons.add(file_id, "import_module", self.paths[via], via, distance)
        return reasons

    def _unlisted(self, exports: Sequence[ChangedExport]) -> frozenset[str]:
        """Files with changed names whose module row says that its names can't all be told."""
        files = {each.file_id for each in exports if not each.is_local}
        found = self._select(
            self.run.state, DIM_EXPORTED_DEFS, ("file_id",), "binding = 'module' AND NOT is_enumerable", files
        )
        return frozenset(row["file_id"] for row in found)

    def _callers(self, exports: Sequence[ChangedExport]) -> Reasons:
        reasons = impact.callers(exports, self._occurrences(exports), self._candidates(exports))
        classes = impact.changed_classes(exports, self.paths)
        inherited = impact.subclasses(
            classes, self._both(PY_INTERFACE, ("file_id", "entry_path", "mro"), "kind = 'mro'")
        )
        named: list[ChangedExport] = []
        for file_id, own, each in inherited:
            if file_id != each.file_id:
                reasons.add(file_id, "override", each.qname, each.file_id, 1)
            if each.is_constructor:
                named += self._constructed(file_id, own)
        for each in [each for each in exports if each.is_constructor]:
            named += self._constructed(each.file_id, each.class_path)
        for row in self._occurrences(named) if named else ():
            by_symbol = next(each for each in named if row["symbol_id"] in each.symbol_ids)
            if row["file_id"] != by_symbol.file_id:
                reasons.add(row["file_id"], "override", by_symbol.qname, by_symbol.file_id, 2)
        return reasons

    def _constructed(self, file_id: str, entry: str) -> list[ChangedExport]:
        """A class whose constructor is found elsewhere now, as if it had changed: whoever names it may call it."""
        rows = self._select(
            self.run.state,
            DIM_EXPORTED_DEFS,
            ("file_id", "entry_path", "qname", "own_symbol_id"),
            "kind = 'class' AND own_symbol_id IS NOT NULL",
            (file_id,),
        )
        return [
            ChangedExport(
                file_id,
                entry,
                "altered",
                row["qname"],
                None,
                frozenset((row["own_symbol_id"],)),
                True,
                True,
                True,
                False,
            )
            for row in rows
            if row["entry_path"] == entry
        ]

    def _importers(self, exports: Sequence[ChangedExport]) -> Reasons:
        if self.run.settings.strategy == "import_closure":
            return Reasons()
        files = frozenset(each.file_id for each in exports)
        rows = self._imports_of(files)
        reasons = impact.importers(exports, rows, self._mentions(rows, exports))
        leading = f"target_file_id IN ({listed(files)}) AND binding IN ('import', 'star_name')"
        entries = impact.reexporters(
            exports, self._both(DIM_EXPORTED_DEFS, ("file_id", "entry_path", "target_file_id", "target_entry"), leading)
        )
        if entries:
            reasons.take(impact.importers_of_reexports(entries, self._imports_of(entries)))
        return reasons

    def _mentions(self, imports: Iterable[Row], exports: Sequence[ChangedExport]) -> dict[str, frozenset[str]]:
        """The changed names that importers of whole modules mention as attributes."""
        files = {
            row["file_id"]
            for row in imports
            if not row["is_star"] and not (row["target_kind"] == "module" and row["name"])
        }
        names = listed(each.name for each in exports)
        found: dict[str, set[str]] = {}
        for row in self._select(
            self.run.state, NAME_REFS, ("file_id", "name"), f"context = 'attribute' AND name IN ({names})", files
        ):
            found.setdefault(row["file_id"], set()).add(row["name"])
        return {file_id: frozenset(mentioned) for file_id, mentioned in found.items()}

    def _occurrences(self, exports: Sequence[ChangedExport]) -> Iterator[Row]:
        ids = sorted({symbol_id for each in exports for symbol_id in each.symbol_ids})
        if not ids:
            return iter(())
        return self._both(SCIP_OCCURRENCES, ("file_id", "symbol_id"), f"role = 'read' AND symbol_id IN ({listed(ids)})")

    def _candidates(self, exports: Sequence[ChangedExport]) -> Iterator[Row]:
        names = listed(each.qname for each in exports)
        return self._both(DIM_QUALIFIED_NAMES, ("file_id", "qname"), f"subject_kind = 'call' AND qname IN ({names})")

    def bound(self, exports: Sequence[ChangedExport]) -> frozenset[str]:
        """The files that can see the change at all: its doubles, and what imports it or them, directly or not."""
        if not hasattr(self, "_bound"):
            everywhere = any(self.paths[each.file_id].endswith(BUILTIN_STUBS) for each in exports)
            changed = frozenset(each.file_id for each in exports)
            doubled = self._with_doubles(changed)
            seeing = (doubled - changed).union(self._reverse_closure(doubled))
            self._bound = frozenset(self.run.readable_files()) if everywhere else seeing
        return self._bound

    def _with_doubles(self, files: Iterable[str]) -> frozenset[str]:
        """These files and all that have a module name of theirs: an import takes one, its symbols are those of all."""
        doubled = frozenset(files)
        states = (self.run.previous, self.run.state)
        own = (self._select(state, PY_MODULE_INDEX, ("module",), "module IS NOT NULL", doubled) for state in states)
        names = {row["module"] for rows in own for row in rows}
        if not names:
            return doubled
        named = f"module IN ({listed(names)})"
        doubles = (self._select(state, PY_MODULE_INDEX, ("file_id",), named) for state in states)
        return doubled | {row["file_id"] for rows in doubles for row in rows}

    def _reverse_closure(self, starts: Iterable[str]) -> dict[str, tuple[int, str]]:
        if delta_reads.count_rows(self.run.state, PY_IMPORTS_RESOLVED, self.run.store.options) > MOST_IMPORTS_ON_DRIVER:
            old, new = (read(PY_IMPORTS_RESOLVED) for read in (self.run.read_previous, self.run.read))
            edges = old.unionByName(new).where("target_file_id IS NOT NULL").select("file_id", "target_file_id")
            return impact.reverse_closure_spark(edges, starts, self.limit)
        return impact.reverse_closure(self._edges, starts, self.limit)

    @cached_property
    def _edges(self) -> dict[str, set[str]]:
        """target → importers: as it is now, and as it was for files whose imports changed.

        A name that was asked for and not found, or found elsewhere, counts for the files that have it now.
        """
        columns = ("file_id", "target_file_id")
        where = "target_file_id IS NOT NULL"
        rows = list(self._select(self.run.state, PY_IMPORTS_RESOLVED, columns, where))
        changed = self._owners(PY_IMPORTS_RESOLVED)
        rows += self._select(self.run.previous, PY_IMPORTS_RESOLVED, columns, where, changed)
        return impact.import_edges_of(rows)

    def _imports_of(self, files: Iterable[str]) -> list[Row]:
        return list(
            self._both(PY_IMPORTS_RESOLVED, IMPORT_COLUMNS, f"target_file_id IN ({listed(files)})", bounded=False)
        )

    def _both(self, table: Table, columns: Sequence[str], where: str, bounded: bool = True) -> Iterator[Row]:
        """Rows of what could see the change, as they are now, and as they were where this run rewrote them."""
        owners = self._bound if bounded and len(self._bound) <= MOST_OWNERS_LISTED else None
        yield from self._select(self.run.state, table, columns, where, owners)
        rewritten = self._owners(table)
        yield from self._select(self.run.previous, table, columns, where, rewritten)

    def _select(
        self, state: TableState, table: Table, columns: Sequence[str], where: str, owners: Iterable[str] | None = None
    ) -> Iterator[Row]:
        conditions = [f"({where})"]
        if owners is not None:
            slices = frozenset(owners)
            if not slices:
                return iter(())
            conditions.append(owner_predicate(slices, table, state.buckets))
        opened = delta_reads.open_table(state.ref(table), self.run.store.options)
        chosen = ", ".join(columns)
        found: pa.Table = delta_reads.query(opened, f"SELECT {chosen} FROM t WHERE {' AND '.join(conditions)}")
        rows: list[Row] = found.to_pylist()
        return iter(rows)

    def _owners(self, *tables: Table) -> frozenset[str]:
        """The files whose slices of these datasets this run rewrote."""
        return frozenset[str]().union(*(self.run.written[t.name].owners for t in tables if t.name in self.run.written))

    def _changed_exports(self) -> list[ChangedExport]:
        return impact.changed_exports(self._export_changes)

    @cached_property
    def _export_changes(self) -> list[tuple[Row, int]]:
        written = self.run.written.get(DIM_EXPORTED_DEFS.name)
        if written is None or not written.owners:
            return []
        if written.way != "spark":
            return delta_reads.changes_light(
                DIM_EXPORTED_DEFS, self.run.previous, self.run.state, self.run.store.options
            )
        rows = [row.asDict(recursive=True) for row in self.run.changes(DIM_EXPORTED_DEFS).toLocalIterator()]
        return [(row, row["delta"]) for row in rows]

    @cached_property
    def paths(self) -> dict[str, str]:
        """file_id → path, of files that went too."""
        return paths_of(self.run)

    def _file_at(self, path: str) -> str | None:
        return next((file_id for file_id, known in self.paths.items() if known == path), None)


def paths_of(run: WritingRun) -> dict[str, str]:
    found: dict[str, str] = {}
    for table in (run.read_previous_light(REPO_SNAPSHOT), run.read_light(REPO_SNAPSHOT)):
        found.update(zip(*(table.column(name).to_pylist() for name in ("file_id", "path")), strict=True))
    return found

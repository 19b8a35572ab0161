"""Impact for a run: the floor and the strategy's closure, read from the state as it was and as it is now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from codeanatomy_assets import catalog
from codeanatomy_assets.contracts.exports import DIM_EXPORTED_DEFS, DIM_QUALIFIED_NAMES, MODULE_ENTRY
from codeanatomy_assets.contracts.impact import CALLER_REASONS
from codeanatomy_assets.contracts.lookups import Lookup
from codeanatomy_assets.contracts.names import PY_IMPORTS_RESOLVED, PY_MODULE_INDEX
from codeanatomy_assets.contracts.repository import FILE_CHANGES, REPO_SNAPSHOT
from codeanatomy_assets.contracts.symbols import PY_INTERFACE, SCIP_FINGERPRINTS, SCIP_OCCURRENCES, SCIP_SYMBOLS
from codeanatomy_assets.contracts.syntax import NAME_REFS
from codeanatomy_assets.contracts.table import Stage, Table
from codeanatomy_assets.orchestration.writing_run import WritingRun
from codeanatomy_assets.rules import registry
from codeanatomy_assets.rules.compiler import compile_rule
from codeanatomy_assets.storage import delta_reads, value_lookups
from codeanatomy_assets.storage.delta_reads import among
from codeanatomy_assets.storage.table_state import TableState
from codeanatomy_assets.transforms import impact
from codeanatomy_assets.transforms.impact import ChangedExport, Reasons
from codeanatomy_assets.transforms.looked_up_from import OWNER, LookedUpFrom, Question

# Past this many import rows the closure goes by iteration on Spark.
MOST_IMPORTS_ON_DRIVER = 2_000_000
OWN_REASONS = {"added": "added_file", "renamed": "added_file", "modified": "changed_file", "deleted": "deleted_file"}
INDEXED = (SCIP_FINGERPRINTS, SCIP_OCCURRENCES, SCIP_SYMBOLS, PY_INTERFACE)
IMPORT_COLUMNS = ("file_id", "target_file_id", "target_kind", "module", "name", "is_star")

Row = dict[str, Any]


@dataclass
class Impact:
    """What the impact stage found. `refreshed` are files that a later stage builds anew, whatever touched them."""

    exports: list[ChangedExport] = field(default_factory=list)
    callers: Reasons = field(default_factory=Reasons)
    importers: Reasons = field(default_factory=Reasons)
    files: Reasons = field(default_factory=Reasons)
    refreshed: Reasons = field(default_factory=Reasons)
    widened: str = ""

    def measured(self) -> Impact:
        """With distances counted along the chains of reasons."""
        files = self.files.measured()
        return replace(self, callers=files.only(self.callers), importers=files.only(self.importers), files=files)


def find_impact(run: WritingRun) -> Impact:
    """The files that this run's commit touches, each with its reasons."""
    if run.refreshes(Stage.IMPACT):
        return _refreshed(run, run.refreshed_because)
    try:
        found = _Finding(run).found().measured()
    except impact.TooDeep as error:
        widened = _refreshed(run, str(error))
        widened.widened = str(error)
        return widened
    if run.refreshed:
        found.refreshed = _every_file(run, run.refreshed_because)
    return found


def _every_file(run: WritingRun, why: str) -> Reasons:
    reasons = Reasons()
    for file_id in run.readable_files():
        reasons.add(file_id, "full_refresh", why)
    return reasons


def _refreshed(run: WritingRun, why: str) -> Impact:
    found = Impact(files=_every_file(run, why))
    for row in run.read_light(FILE_CHANGES, (run.commit,)).to_pylist():
        if row["change_kind"] == "deleted" and Stage.SYNTAX.value in row["stages_touched"]:
            found.files.add(row["file_id"], "deleted_file")
    return found


class _Finding:
    def __init__(self, run: WritingRun) -> None:
        self.run = run
        self.limit = run.settings.impact_iterations
        self._answers: dict[Question, list[Row]] = {}

    def found(self) -> Impact:
        own = self._own_reasons()
        exports = impact.changed_exports(self._export_changes)
        found = Impact(exports, *self._looking_up())
        beyond = [each for each in exports if not each.is_local]
        if beyond:
            found.importers.take(self._importers(beyond))
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
            via = self._files_at.get(reason.via) if reason is not None and reason.via is not None else None
            reasons.add(file_id, "scip_changed", (reason.name or reason.rule) if reason else "", via, 1)
        return reasons

    def _rewritten_names(self, own: Reasons) -> Reasons:
        """Files whose imports, module names or exports lead elsewhere now though their text did not change."""
        reasons = Reasons()
        moved = self._owners(PY_MODULE_INDEX)
        for file_id in moved - own.files:
            reasons.add(file_id, "import_module", "module name", None, 1)
        for file_id in self._owners(PY_IMPORTS_RESOLVED) - own.files:
            reasons.add(file_id, "import_module", "import resolution", None, 1)
        exports = self._owners(DIM_EXPORTED_DEFS) - own.files
        for row, delta in self._export_changes if exports else ():
            if row["file_id"] in exports and delta > 0:
                reasons.add(row["file_id"], "reexport", row["qname"], self._via(row["looked_up"]), 1)
        for file_id in exports - reasons.files:
            reasons.add(file_id, "reexport", "", None, 1)
        for file_id in self._owners(DIM_QUALIFIED_NAMES) - own.files - reasons.files:
            reasons.add(file_id, "import_module", "qualified names", None, 1)
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
            closure = self._reverse_closure(starts)
            paths = paths_of(self.run, {via for _, via in closure.values()})
            for file_id, (distance, via) in closure.items():
                reasons.add(file_id, "import_module", paths[via], via, distance)
        return reasons

    def _unlisted(self, exports: Sequence[ChangedExport]) -> frozenset[str]:
        """Files with changed names whose module row says that its names can't all be told."""
        files = {each.file_id for each in exports if not each.is_local}
        found = self._select(
            self.run.state, DIM_EXPORTED_DEFS, ("file_id",), "binding = 'module' AND NOT is_enumerable", (OWNER, files)
        )
        return frozenset(row["file_id"] for row in found)

    def _looking_up(self) -> tuple[Reasons, Reasons]:
        """Files of which a rule looks up a row that changed: by what they call and inherit, and by what they import.

        Whatever the strategy, no file less: from the rules' own SQL it follows which rows they look at.
        """
        callers, importers = Reasons(), Reasons()
        rules = [compile_rule(rule) for rule in registry.all_rules()]
        lookups = frozenset[Lookup]().union(*(rule.lookups for rule in rules))
        columns = {name: catalog.dataset(name).column_names for rule in rules for name in rule.tables}
        reached = LookedUpFrom(lookups, columns, self._changes, self._found)
        for each in reached.files():
            kind, origin = impact.kind_of(each), each.origin
            reasons = callers if kind in CALLER_REASONS else importers
            if each.file_id != origin.file_id:
                reasons.add(each.file_id, kind, origin.title, origin.file_id, origin.distance)
        if reached.everything is not None:
            for file_id in self.run.readable_files():
                importers.add(file_id, "import_module", reached.everything.title, reached.everything.file_id, 1)
        return callers, importers

    def _changes(self, name: str, columns: frozenset[str]) -> Iterator[tuple[Row, int]]:
        """Rows of a dataset that this run wrote, and those that they took the place of."""
        table = catalog.dataset(name)
        if table is DIM_EXPORTED_DEFS:
            yield from self._export_changes
            return
        owners = self._owners(table)
        for state, sign in ((self.run.previous, -1), (self.run.state, 1)):
            yield from ((row, sign) for row in self._select(state, table, sorted(columns), "true", (OWNER, owners)))

    def _found(self, question: Question) -> list[Row]:
        """Rules that look the same thing up ask the same question: it is answered once."""
        if question not in self._answers:
            self._answers[question] = list(self._answered(question))
        return self._answers[question]

    def _answered(self, question: Question) -> Iterator[Row]:
        conditions = [_condition(column, value) for column, value in sorted(question.constants)]
        where = " AND ".join(conditions) or "true"
        table, columns = catalog.dataset(question.table), sorted(question.columns)
        if not question.fields:
            return self._select(self.run.state, table, columns, where, (question.column, question.values))
        held = (question.column, question.fields[0])
        found = value_lookups.rows_holding(
            self.run.state, table, columns, held, question.values, where, self.run.store.options
        )
        return _objects(found)

    def _importers(self, exports: Sequence[ChangedExport]) -> Reasons:
        if self.run.settings.strategy == "import_closure":
            return Reasons()
        files = frozenset(each.file_id for each in exports)
        rows = self._imports_of(files)
        reasons = impact.importers(exports, rows, self._mentions(rows, exports))
        columns = ("file_id", "entry_path", "target_file_id", "target_entry")
        leading = self._both(
            DIM_EXPORTED_DEFS, columns, "binding IN ('import', 'star_name')", ("target_file_id", files)
        )
        entries = impact.reexporters(exports, leading)
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
        names = {each.name for each in exports}
        mentioning = self._select(
            self.run.state, NAME_REFS, ("file_id", "name"), "context = 'attribute'", ("name", names), (OWNER, files)
        )
        found: dict[str, set[str]] = {}
        for row in mentioning:
            found.setdefault(row["file_id"], set()).add(row["name"])
        return {file_id: frozenset(mentioned) for file_id, mentioned in found.items()}

    def _reverse_closure(self, starts: Iterable[str]) -> dict[str, tuple[int, str]]:
        if delta_reads.count_rows(self.run.state, PY_IMPORTS_RESOLVED, self.run.store.options) > MOST_IMPORTS_ON_DRIVER:
            old, new = (read(PY_IMPORTS_RESOLVED) for read in (self.run.read_previous, self.run.read))
            edges = old.unionByName(new).where("target_file_id IS NOT NULL").select("file_id", "target_file_id")
            return impact.reverse_closure_spark(edges, starts, self.limit)
        return impact.reverse_closure(self._edges, starts, self.limit)

    @cached_property
    def _edges(self) -> dict[str, set[str]]:
        """target → importers: as it is now, and as it was for files whose imports changed."""
        columns = ("file_id", "target_file_id")
        where = "target_file_id IS NOT NULL"
        rows = list(self._select(self.run.state, PY_IMPORTS_RESOLVED, columns, where))
        changed = self._owners(PY_IMPORTS_RESOLVED)
        rows += self._select(self.run.previous, PY_IMPORTS_RESOLVED, columns, where, (OWNER, changed))
        return impact.import_edges_of(rows)

    def _imports_of(self, files: Collection[str]) -> list[Row]:
        return list(self._both(PY_IMPORTS_RESOLVED, IMPORT_COLUMNS, "true", ("target_file_id", files)))

    def _both(
        self, table: Table, columns: Sequence[str], where: str, *meant: tuple[str, Collection[str]]
    ) -> Iterator[Row]:
        """Rows as they are now, and as they were where this run rewrote them."""
        yield from self._select(self.run.state, table, columns, where, *meant)
        yield from self._select(self.run.previous, table, columns, where, *meant, (OWNER, self._owners(table)))

    def _select(
        self,
        state: TableState,
        table: Table,
        columns: Sequence[str],
        where: str,
        *meant: tuple[str, Collection[str]],
    ) -> Iterator[Row]:
        """Rows of a dataset that have, in each of these columns, one of the values."""
        if not all(values for _, values in meant):
            return
        owners, options = dict(meant).get(table.owner_column), self.run.store.options
        conditions = [
            # Slices of known owners lie in known buckets: no need to look which of them hold the values.
            value_lookups.holding(state, table, column, values, options) if owners is None else among(column, values)
            for column, values in meant
            if column != table.owner_column
        ]
        where = " AND ".join([f"({where})", *conditions])
        yield from _objects(delta_reads.read_light(state, table, owners, options, where, columns))

    def _owners(self, *tables: Table) -> frozenset[str]:
        """The files whose slices of these datasets this run rewrote."""
        return frozenset[str]().union(*(self.run.written[t.name].owners for t in tables if t.name in self.run.written))

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
    def _files_at(self) -> dict[str, str]:
        """path → file_id of what the waves came through, of files that went too."""
        paths = frozenset(reason.via for reason in self.run.wave_reasons.values() if reason.via is not None)
        rows = self._both(REPO_SNAPSHOT, ("file_id", "path"), "true", ("path", paths))
        return {row["path"]: row["file_id"] for row in rows}


def _objects(rows: pa.Table) -> Iterator[Row]:
    for batch in rows.to_batches():
        yield from batch.to_pylist()


def _condition(column: str, value: str | bool) -> str:
    if isinstance(value, bool):
        return column if value else f"NOT {column}"
    return among(column, (value,))


def paths_of(run: WritingRun, files: Collection[str]) -> dict[str, str]:
    """file_id → path of these files, of those that went too."""
    found: dict[str, str] = {}
    for state in (run.previous, run.state):
        rows = delta_reads.read_light(state, REPO_SNAPSHOT, files, run.store.options, columns=("file_id", "path"))
        found.update(zip(*(rows.column(name).to_pylist() for name in ("file_id", "path")), strict=True))
    return found

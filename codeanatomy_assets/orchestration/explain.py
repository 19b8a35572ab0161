"""Why a build touched a file: inc_impacted_files as chains and tables that a person reads, without a JVM."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from codeanatomy_assets.contracts.impact import IMPACTED_FILES, REASON_KINDS
from codeanatomy_assets.contracts.repository import REPO_SNAPSHOT
from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.plain_text import counted, printable, short, table_of
from codeanatomy_assets.orchestration.plan import open_ledger
from codeanatomy_assets.orchestration.revisions import built_commit, built_commits
from codeanatomy_assets.settings import Settings
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.ledger import LedgerRow
from codeanatomy_assets.storage.state_folder import StateFolder
from codeanatomy_assets.storage.table_state import TableState

ARROW = " ← "
MOST_SUGGESTED = 3
MOST_REASONS_IN_TABLE = 3
TABLE_HEADING = ("commit", "path", "distance", "reasons")
# What reason_ref says of a file whose own module names or imports lead elsewhere, in words.
OF_ITSELF = {
    "module name": "has another module name",
    "import resolution": "has imports that lead elsewhere",
    "qualified names": "has names that may mean something else",
}
PHRASES = {
    "changed_file": "changed",
    "added_file": "was added",
    "deleted_file": "was deleted",
    "caller_symbol": "names {ref}",
    "caller_qname": "may call {ref}",
    "override": "defines or names a subclass whose base changed: {ref}",
    "import_star": "star-imports {ref}",
    "import_module": "imports {ref}",
    "reexport": "reaches {ref} through a re-export",
}


@dataclass(frozen=True)
class Reason:
    """One row of inc_impacted_files; `via` is a file's id."""

    file_id: str
    path: str
    kind: str
    ref: str
    via: str | None
    distance: int

    @property
    def nearness(self) -> tuple[int, int, str]:
        return (self.distance, REASON_KINDS.index(self.kind), self.ref)


@dataclass(frozen=True)
class Closure:
    """Touched files with their reasons, and how these lead back to what changed."""

    reasons: tuple[Reason, ...]
    paths: Mapping[str, str]

    @cached_property
    def by_file(self) -> dict[str, list[Reason]]:
        """Each touched file's reasons, nearest first; the files by distance, then path."""
        found: dict[str, list[Reason]] = defaultdict(list)
        for reason in sorted(self.reasons, key=lambda reason: reason.nearness):
            found[reason.file_id].append(reason)
        return dict(sorted(found.items(), key=lambda item: (item[1][0].distance, item[1][0].path)))

    def _is_end(self, reason: Reason) -> bool:
        return reason.via is None or reason.via not in self.by_file

    def chain(self, reason: Reason) -> list[Reason]:
        """The reason, then the nearest reason of the file it comes through, and so on to the change itself."""
        chain = [reason]
        seen = {reason.file_id}
        while not self._is_end(reason) and reason.via not in seen:
            reason = self.by_file[str(reason.via)][0]
            seen.add(reason.file_id)
            chain.append(reason)
        return chain

    def phrase(self, reason: Reason) -> str:
        """The reason as what is said of its file."""
        if reason.kind == "import_name":
            module, _, name = reason.ref.rpartition(".")
            return f"imports name {name} from {module}" if module else f"imports name {name}"
        if reason.kind == "scip_changed":
            of = f" of {self.path_of(reason.via)}" if reason.via is not None else ""
            return f"means something else: {reason.ref}{of}" if reason.ref else "means something else"
        if reason.kind == "full_refresh":
            return f"everything was rebuilt: {reason.ref}"
        if reason.via is None and reason.ref in OF_ITSELF:
            return OF_ITSELF[reason.ref]
        return PHRASES[reason.kind].format(ref=reason.ref or "something")

    def chain_text(self, reason: Reason) -> str:
        """`views.py ← imports name Router from urls ← urls.py changed`."""
        chain = self.chain(reason)
        parts = [part for step in chain for part in self._said(step)]
        last = chain[-1].via
        if last is not None:
            parts.append(f"{self.path_of(last)} {'(see before)' if last in self.by_file else '(not rebuilt itself)'}")
        return ARROW.join(parts)

    def _said(self, step: Reason) -> Sequence[str]:
        if step.via is not None or step.kind == "full_refresh":
            return (step.path, self.phrase(step))
        return (f"{step.path} {self.phrase(step)}",)

    def path_of(self, file_id: str | None) -> str:
        return self.paths.get(str(file_id), str(file_id))


@dataclass(frozen=True)
class CommitImpact(Closure):
    """What one built commit touched, and why."""

    row: LedgerRow


def explain(settings: Settings, path: str, revision: str | None, cwd: Path) -> dict[str, Any]:
    """Why a file was rebuilt at a built commit, or why not: the object that `--json` prints."""
    row = built_commit(settings, revision)
    impact = _read_impacts([row], settings)[0]
    snapshot = {
        told["path"]: told
        for told in delta_reads.read_light(row.state, REPO_SNAPSHOT, None, settings.storage_options).to_pylist()
    }
    touched = {reasons[0].path: file_id for file_id, reasons in impact.by_file.items()}
    found = _find_path(settings, path, cwd, {*snapshot, *touched}, row)
    reasons = impact.by_file[touched[found]] if found in touched else []
    told = {"commit": row.commit, "path": found, "rebuilt": bool(reasons), "why_not": None, "last_rebuilt": None}
    if not reasons:
        told["why_not"] = _why_not(snapshot[found])
        told["last_rebuilt"] = _last_rebuilt(settings, row, snapshot[found]["file_id"])
    return {**told, "reasons": [_reason_object(impact, reason, with_chain=True) for reason in reasons]}


def explained_as_text(found: Mapping[str, Any]) -> str:
    path, commit = found["path"], short(found["commit"])
    if found["rebuilt"]:
        count = len(found["reasons"])
        lines = [f"{path} was rebuilt at {commit}" + (f", for {count} reasons, nearest first:" if count > 1 else ":")]
        lines += [f"  {reason['text']}" for reason in found["reasons"]]
    else:
        lines = [f"{path} was not rebuilt at {commit}: {found['why_not']}"]
        if found["last_rebuilt"]:
            lines.append(f"it was rebuilt last at {short(found['last_rebuilt'])}: ask with --commit for its reasons")
    return "\n".join(printable(line) for line in lines)


def impacts(settings: Settings, which: str | None) -> list[CommitImpact]:
    """What a built commit touched, or each of those built after A up to B, in the order they were built."""
    return _read_impacts(built_commits(settings, which), settings)


def impacts_as_object(found: Iterable[CommitImpact]) -> dict[str, Any]:
    """The object that `--json` prints."""
    return {
        "commits": [
            {
                "commit": impact.row.commit,
                "sequence": impact.row.sequence,
                "mode": impact.row.built_by,
                "files": [
                    {
                        "path": reasons[0].path,
                        "file_id": file_id,
                        "distance": reasons[0].distance,
                        "reasons": [_reason_object(impact, reason) for reason in reasons],
                    }
                    for file_id, reasons in impact.by_file.items()
                ],
            }
            for impact in found
        ]
    }


def impacts_as_table(found: Sequence[CommitImpact]) -> str:
    """One line per commit, then one table: path, distance and reasons, and the commit where there are several."""
    lines = [f"{short(impact.row.commit)} ({impact.row.built_by}): {counted(len(impact.by_file))}" for impact in found]
    rows = [
        (short(impact.row.commit), reasons[0].path, str(reasons[0].distance), _short_reasons(impact, reasons))
        for impact in found
        for reasons in impact.by_file.values()
    ]
    if rows:
        columns = slice(0 if len(found) > 1 else 1, None)
        lines += table_of([row[columns] for row in (TABLE_HEADING, *rows)])
    return "\n".join(lines)


def _read_impacts(rows: Sequence[LedgerRow], settings: Settings) -> list[CommitImpact]:
    """One read per path of the table: a later version of it holds the earlier commits' rows too."""
    for row in rows:
        if IMPACTED_FILES.storage_name not in row.state.refs:
            raise BadInput(f"{short(row.commit)} was built before there was {IMPACTED_FILES.name}: take a later commit")
    by_place: dict[str, list[LedgerRow]] = defaultdict(list)
    for row in rows:
        by_place[row.state.ref(IMPACTED_FILES).path].append(row)
    found: dict[str, list[Reason]] = defaultdict(list)
    for group in by_place.values():
        commits = [row.commit for row in group]
        read = delta_reads.read_light(group[-1].state, IMPACTED_FILES, commits, settings.storage_options)
        for told in read.to_pylist():
            found[told["commit"]].append(_reason(told))
    return [_commit_impact(row, found[row.commit], settings) for row in rows]


def _commit_impact(row: LedgerRow, reasons: Sequence[Reason], settings: Settings) -> CommitImpact:
    return CommitImpact(tuple(reasons), _paths(row.state, reasons, settings.storage_options), row)


def closure_of(rows: Iterable[Mapping[str, Any]], state: TableState, options: Mapping[str, str]) -> Closure:
    """Of rows of inc_impacted_files, one commit's, in this state."""
    reasons = tuple(_reason(row) for row in rows)
    return Closure(reasons, _paths(state, reasons, options))


def _reason(told: Mapping[str, Any]) -> Reason:
    names = ("file_id", "path", "reason_kind", "reason_ref", "via_file_id", "distance")
    return Reason(*(told[name] for name in names))


def _paths(state: TableState, reasons: Iterable[Reason], options: Mapping[str, str]) -> dict[str, str]:
    """file_id → path, of the touched files and of those that others were touched through."""
    found = {reason.file_id: reason.path for reason in reasons}
    missing = sorted({reason.via for reason in reasons if reason.via is not None} - found.keys())
    if missing:
        read = delta_reads.read_light(state, REPO_SNAPSHOT, missing, options)
        found |= {told["file_id"]: told["path"] for told in read.to_pylist()}
    return found


def _find_path(settings: Settings, path: str, cwd: Path, known: set[str], row: LedgerRow) -> str:
    """The path in the repository that is meant: seen from the current folder first, then from the top."""
    owner = StateFolder(settings.state).owner()
    top = os.path.realpath(owner["repository"] if owner else settings.repo)
    folder, name = os.path.split(os.path.join(cwd, path))
    here = os.path.relpath(os.path.join(os.path.realpath(folder), name), top)
    from_top = os.path.normpath(path)
    for asked in (here, path, from_top):
        if asked in known:
            return asked
    near = _suggested(from_top if here.startswith(os.pardir) else here, known)
    remedy = f"did you mean {' or '.join(near)}?" if near else f"name it by its path in {top}"
    raise BadInput(printable(f"no file {path} in {short(row.commit)}: {remedy}"))


def _suggested(path: str, known: Iterable[str]) -> list[str]:
    """Files of that name elsewhere, then those with nearly that path."""
    name = PurePosixPath(path).name
    namesakes = sorted(each for each in known if PurePosixPath(each).name == name)
    near = get_close_matches(path, sorted(known), MOST_SUGGESTED)
    return list(dict.fromkeys((*namesakes, *near)))[:MOST_SUGGESTED]


def _why_not(told: Mapping[str, Any]) -> str:
    if not told["is_python"]:
        return "it is not a Python file, and only those are analysed"
    if told["skip_reason"]:
        return f"it is not analysed ({told['skip_reason']})"
    return "nothing that it depends on changed"


def _last_rebuilt(settings: Settings, row: LedgerRow, file_id: str) -> str | None:
    """The commit built last before this one that touched the file."""
    table = delta_reads.open_table(row.state.ref(IMPACTED_FILES), settings.storage_options)
    read = delta_reads.query(table, f"SELECT DISTINCT commit FROM t WHERE file_id = '{file_id}'")
    touched = set(read.column("commit").to_pylist())
    before = [each.commit for each in open_ledger(settings).rows() if each.sequence < row.sequence]
    return next((commit for commit in reversed(before) if commit in touched), None)


def _reason_object(impact: CommitImpact, reason: Reason, with_chain: bool = False) -> dict[str, Any]:
    told: dict[str, Any] = {
        "reason_kind": reason.kind,
        "reason_ref": reason.ref,
        "via": None if reason.via is None else impact.path_of(reason.via),
        "distance": reason.distance,
        "text": impact.chain_text(reason),
    }
    if with_chain:
        told["chain"] = [
            {"path": step.path, "reason_kind": step.kind, "reason_ref": step.ref, "distance": step.distance}
            for step in impact.chain(reason)
        ]
    return told


def _short_reasons(impact: CommitImpact, reasons: Sequence[Reason]) -> str:
    said = list(dict.fromkeys(impact.phrase(reason) for reason in reasons))
    further = len(said) - MOST_REASONS_IN_TABLE
    return "; ".join(said[:MOST_REASONS_IN_TABLE]) + (f"; and {further} more" if further > 0 else "")

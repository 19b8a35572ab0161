"""A diff of two graphs for people and programs: as one object, as text, and as an HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from codeanatomy_assets.contracts.graph import CPG_NODES
from codeanatomy_assets.contracts.graph_props import EDGE, NODE
from codeanatomy_assets.orchestration import html_page
from codeanatomy_assets.orchestration.diff import ADDED, ALTERED, CHANGES, REBOUND, REMOVED, SPAN, Change, GraphDiff
from codeanatomy_assets.orchestration.plain_text import printable, short
from codeanatomy_assets.storage import delta_reads
from codeanatomy_assets.storage.table_state import TableState

Row = dict[str, Any]

IDS_AT_ONCE = 1_000
SIGNS = {ADDED: "+", REMOVED: "-", REBOUND: ">", ALTERED: "~"}
OLD, NEW = "old", "new"
ARROW = " -> "
STYLE = """
td:not(:first-child):not(:last-child), th:not(:first-child):not(:last-child) { white-space: nowrap; }
.counts td { text-align: right; } .counts td:first-child { text-align: left; } .counts { width: auto; }
.added { color: #16a34a; } .removed { color: #dc2626; } .rebound { color: #a855f7; } .altered { color: #d97706; }
.faint { color: var(--faint); }
"""


def as_object(diff: GraphDiff, options: Mapping[str, str], limit: int) -> Row:
    """The object that `--json` prints: counts are whole, of nodes and edges the first are listed (0: all)."""
    nodes, edges = (_first(diff.of(entity), limit) for entity in (NODE, EDGE))
    names = _names(diff, edges, options)
    return {
        "old": diff.old.commit,
        "new": diff.new.commit,
        "counts": {f"{entity}s": _told(_sum(diff.by_kind(entity).values())) for entity in (NODE, EDGE)},
        "moved": diff.moved,
        "by_kind": {
            f"{entity}s": {kind: _told(counts) for kind, counts in diff.by_kind(entity).items()}
            for entity in (NODE, EDGE)
        },
        "by_file": {
            path: {f"{entity}s": _told(counts) for entity, counts in of_file.items()}
            for path, of_file in diff.by_file().items()
        },
        "nodes": [_node_object(change) for change in nodes],
        "edges": [_edge_object(change, names) for change in edges],
    }


def as_text(told: Row) -> str:
    """What `as_object` gives, for a terminal. Names come from the repository and are made printable."""
    lines = [f"{short(told['old'])} to {short(told['new'])}: {_summary(told)}"]
    for entity in ("nodes", "edges"):
        lines += _table((f"{entity} by kind", *CHANGES), _count_rows(told["by_kind"][entity]))
    files = {path: _both(of_file) for path, of_file in told["by_file"].items()}
    lines += _table(("by file", *CHANGES), _count_rows(files))
    for entity in ("nodes", "edges"):
        lines += [f"  {SIGNS[row['change']]} {row['kind']}  {_line(row)}" for row in told[entity]]
        further = sum(told["counts"][entity].values()) - len(told[entity])
        lines += [f"  and {further} more {entity}: --limit lists more"] if further else []
    return "\n".join(printable(line) for line in lines)


def write_page(told: Row, path: Path) -> None:
    html_page.write(page(told), path, "diff")


def page(told: Row) -> str:
    title = f"What changed in the graph from {short(told['old'])} to {short(told['new'])}"
    return html_page.page(title, STYLE, "\n".join(_body(told)))


def label(node: Mapping[str, Any]) -> str:
    """What a reader calls a node: by its qualified name, else by name and place."""
    qualified = node["qualified_name"]
    if qualified is None and node["bstart"] is None:
        return str(node["path"])
    if qualified is None:
        return f"{node['name']} ({node['path']}:{node['bstart']})"
    parts = str(qualified).split(" ", 4)
    # Of a symbol, without the package that all of a repository's symbols have in common; a local has none.
    return parts[-1] if node["node_kind"] == "SCIP_SYMBOL" and len(parts) > 2 else str(qualified)


def _names(diff: GraphDiff, edges: Iterable[Change], options: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Labels of the ends of these edges, on each side of the diff."""
    ends: dict[str, set[str]] = {OLD: set(), NEW: set()}
    for change in edges:
        for side, row in _sides(change):
            ends[side] |= {row["src_node_id"], row["dst_node_id"]}
    states = {OLD: diff.old.state, NEW: diff.new.state}
    return {side: _labels(states[side], ids, options) for side, ids in ends.items()}


def _labels(state: TableState, ids: Iterable[str], options: Mapping[str, str]) -> dict[str, str]:
    opened = delta_reads.open_table(state.ref(CPG_NODES), options)
    wanted = sorted(ids)
    found: dict[str, str] = {}
    for start in range(0, len(wanted), IDS_AT_ONCE):
        listed = ", ".join(f"'{id_}'" for id_ in wanted[start : start + IDS_AT_ONCE])
        asked = f"SELECT node_id, node_kind, name, qualified_name, path, bstart FROM t WHERE node_id IN ({listed})"
        found |= {row["node_id"]: label(row) for row in delta_reads.query(opened, asked).to_pylist()}
    return found


def _first(changes: Sequence[Change], limit: int) -> Sequence[Change]:
    return changes[:limit] if limit else changes


def _sides(change: Change) -> Iterator[tuple[str, Row]]:
    yield (OLD if change.change == REMOVED else NEW), change.row
    if change.before is not None:
        yield OLD, change.before


def _node_object(change: Change) -> Row:
    told = {"change": change.change, "kind": change.kind, "name": label(change.row), "path": change.path}
    return {**told, "node_id": change.row["node_id"], **_differences(change)}


def _edge_object(change: Change, names: Mapping[str, Mapping[str, str]]) -> Row:
    told: Row = {"change": change.change, "kind": change.kind}
    for side, row in _sides(change):
        src, dst = (names[side].get(row[end], row[end]) for end in ("src_node_id", "dst_node_id"))
        told |= {"src": src, "dst": dst} if row is change.row else {"was": dst} if change.change == REBOUND else {}
    return {**told, "path": change.path, "edge_id": change.row["edge_id"], **_differences(change)}


def _differences(change: Change) -> Row:
    """Of what is altered, column by column: what it was and what it is."""
    if change.change != ALTERED or change.before is None:
        return {}
    columns = [name for name, value in change.row.items() if name not in SPAN and value != change.before[name]]
    return {"differs": {name: [change.before[name], change.row[name]] for name in columns}}


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counts, Counter())


def _told(counts: Mapping[str, int]) -> dict[str, int]:
    return {change: counts[change] for change in CHANGES if counts.get(change)}


def _both(of_file: Mapping[str, Mapping[str, int]]) -> Counter[str]:
    return _sum(Counter(counts) for counts in of_file.values())


def _summary(told: Row) -> str:
    parts = []
    for entity, counts in told["counts"].items():
        said = ", ".join(f"{number} {change}" for change, number in counts.items())
        parts.append(f"{entity}: {said or 'as they were'}")
    return "; ".join([*parts, f"{told['moved']} only moved"])


def _line(row: Row) -> str:
    name = row["name"] if "name" in row else f"{row['src']}{ARROW}{row['dst']}"
    was = f" (was {row['was']})" if "was" in row else ""
    differs = "".join(f" ({column}: {old} → {new})" for column, (old, new) in row.get("differs", {}).items())
    place = f"  {row['path']}" if row["path"] is not None and row["path"] not in name else ""
    return f"{name}{was}{differs}{place}"


def _count_rows(counts: Mapping[str, Mapping[str, int]]) -> list[tuple[str, ...]]:
    return [(name, *(str(of_name.get(change, 0) or "·") for change in CHANGES)) for name, of_name in counts.items()]


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    first, *others = widths
    return [
        "  ".join((cells[0].ljust(first), *(cell.rjust(width) for cell, width in zip(cells[1:], others, strict=True))))
        for cells in (heading, *rows)
    ]


def _body(told: Row) -> Iterator[str]:
    text = html_page.text
    yield f"<p>{text(_summary(told))}</p>"
    files = {path: _both(of_file) for path, of_file in told["by_file"].items()}
    sections = (("Nodes by kind", told["by_kind"]["nodes"]), ("Edges by kind", told["by_kind"]["edges"]))
    for title, counts in (*sections, ("By file", files)):
        yield f"<h2>{title}</h2>"
        yield from _html_table((title.rpartition(" ")[2], *CHANGES), _count_rows(counts), "counts")
    for entity in ("nodes", "edges"):
        yield f"<h2>{entity.capitalize()}</h2><table><tbody>"
        for row in told[entity]:
            change = row["change"]
            yield f'<tr><td class="{change}">{SIGNS[change]} {change}</td><td>{row["kind"]}</td>'
            yield f"<td>{text(_line(row))}</td></tr>"
        yield "</tbody></table>"
        further = sum(told["counts"][entity].values()) - len(told[entity])
        yield f'<p class="faint">and {further} more</p>' if further else ""


def _html_table(heading: Sequence[str], rows: Sequence[Sequence[str]], style: str) -> Iterator[str]:
    text = html_page.text
    yield f'<table class="{style}"><thead><tr>'
    yield "".join(f"<th>{text(cell)}</th>" for cell in heading)
    yield "</tr></thead><tbody>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>"
    yield "</tbody></table>"

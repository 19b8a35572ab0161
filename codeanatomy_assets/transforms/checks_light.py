"""The same checks over Arrow rows, without a JVM: for the few rows of a small update."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from codeanatomy_assets.contracts.checks import Check, Holds, Violation, border_checks, row_checks
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_PROPS
from codeanatomy_assets.contracts.graph_kinds import EDGE_KIND, GLOBAL_KINDS
from codeanatomy_assets.contracts.graph_props import EDGE, NODE, prop_problem
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.transforms.checks_borders import Borders

Row = dict[str, Any]
# (dataset, check) and the offending row as text.
Offence = tuple[str, str, str]


def violations(offences: Iterable[Offence]) -> list[Violation]:
    """What is broken, counted."""
    examples: dict[tuple[str, str], list[str]] = {}
    for table, check, example in offences:
        examples.setdefault((table, check), []).append(example)
    return [Violation(*key, len(found), min(found)) for key, found in sorted(examples.items())]


def row_offences(table: Table, rows: pa.Table, sizes: Mapping[str, int]) -> list[Offence]:
    """Rows that break a check of their own, and keys that two rows share; `sizes` are those of the files."""
    checks = row_checks(table)
    columns = {name: rows.column(name).to_pylist() for name in table.column_names}
    owners = columns.get("file_id", [])
    found: list[Offence] = []
    for check in checks:
        values = zip(*(columns[name] for name in check.columns), strict=True)
        breaks = _broken(check, sizes, owners)
        places = [place for place, value in enumerate(values) if breaks(place, value)]
        found += [(table.name, check.name, _shown(rows, place)) for place in places]
    keys = Counter(zip(*(columns[name] for name in table.key), strict=True))
    repeated = [dict(zip(table.key, key, strict=True)) for key, count in keys.items() if count > 1]
    return found + [(table.name, "unique_key", json.dumps(key)) for key in repeated]


def edge_offences(edges: pa.Table, nodes: Sequence[Row]) -> list[Offence]:
    """Edges with an end that is not among `nodes` (node_id, node_kind, file_id), or of an undeclared kind.

    `nodes` may be any that include the ends of these edges: those of the written files, and those named elsewhere.
    """
    local = {row["node_id"]: row["node_kind"] for row in nodes if row["node_kind"] not in GLOBAL_KINDS}
    contributed = {
        (row["node_id"], row["file_id"]): row["node_kind"] for row in nodes if row["node_kind"] in GLOBAL_KINDS
    }
    found: list[Offence] = []
    for edge in edges.to_pylist():
        src, dst = (
            local.get(edge[end]) or contributed.get((edge[end], edge["file_id"]))
            for end in ("src_node_id", "dst_node_id")
        )
        for check in _broken_ends(edge["edge_kind"], src, dst):
            found.append((CPG_EDGES.name, check, _text(edge)))
    return found


def removed_end_offences(edges: Iterable[Row], removed: Collection[str]) -> list[Offence]:
    """Edges, of any file, that name a node that an update removed."""
    ends = (("src_node_id", "src_exists"), ("dst_node_id", "dst_exists"))
    return [(CPG_EDGES.name, check, _text(edge)) for edge in edges for end, check in ends if edge[end] in removed]


def prop_offences(props: pa.Table, nodes: pa.Table, edges: pa.Table) -> list[Offence]:
    """Props whose node or edge is not of the same file, or of a kind that has no such prop."""
    kinds = {(NODE, row["node_id"], row["file_id"]): row["node_kind"] for row in nodes.to_pylist()}
    kinds |= {(EDGE, row["edge_id"], row["file_id"]): row["edge_kind"] for row in edges.to_pylist()}
    return [
        (CPG_PROPS.name, "entity_has_prop", _text(prop))
        for prop in props.to_pylist()
        if not _has_prop(kinds.get((prop["entity_kind"], prop["entity_id"], prop["file_id"])), prop)
    ]


def border_offences(table: Table, rows: pa.Table, contents: Mapping[str, tuple[bytes, str | None]]) -> list[Offence]:
    """Spans that begin or end inside a word; `contents` are the bytes and encoding of the files."""
    borders = {file_id: Borders(*told) for file_id, told in contents.items()}
    found: list[Offence] = []
    for check in border_checks(table):
        columns = (rows.column(name).to_pylist() for name in ("file_id", *check.columns))
        for file_id, bstart, bend in zip(*columns, strict=True):
            if bstart is not None and file_id in borders and not borders[file_id].holds(bstart, bend):
                found.append((table.name, check.name, _text({"file_id": file_id, "bstart": bstart, "bend": bend})))
    return found


def _broken(check: Check, sizes: Mapping[str, int], owners: list[str]) -> Callable[[int, tuple[Any, ...]], bool]:
    """Whether the values that a check names break it, given the row's place."""
    return {
        Holds.NOT_NULL: lambda place, told: told[0] is None,
        Holds.ONE_OF: lambda place, told: told[0] is not None and told[0] not in check.values,
        Holds.SPAN: lambda place, told: not _is_span(*told),
        Holds.INSIDE: lambda place, told: told[0] is not None and told[0] > sizes.get(owners[place], -1),
        Holds.EITHER: lambda place, told: (told[0] is None) == (told[1] is None),
        Holds.PLACED: lambda place, told: (told[1] is None) != (told[0] in check.values),
        Holds.TYPED: lambda place, told: None in told or prop_problem(*told) is not None,
    }[check.holds]


def _is_span(bstart: int | None, bend: int | None) -> bool:
    if bstart is None or bend is None:
        return bstart is None and bend is None
    return 0 <= bstart <= bend


def _broken_ends(edge_kind: str, src: str | None, dst: str | None) -> list[str]:
    missing = [check for check, kind in (("src_exists", src), ("dst_exists", dst)) if kind is None]
    declared = EDGE_KIND.get(edge_kind)
    if missing or declared and src in declared.src_kinds and dst in declared.dst_kinds:
        return missing
    return ["kinds_declared"]


def _has_prop(kind: str | None, prop: Row) -> bool:
    told = (prop["entity_kind"], prop["prop_key"], prop["value_type"], prop["prop_value"])
    return kind is not None and "has no prop" not in (prop_problem(*told, kind) or "")


def _shown(rows: pa.Table, place: int) -> str:
    return _text(rows.slice(place, 1).to_pylist()[0])


def _text(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False)

"""The graph as one GraphML file, for networkx, Gephi, Neo4j (APOC) and their like.

GraphML has the props inside their node or edge, and a global node once. Both want rows of one id together,
so the tables are first spread over scratch files by the last digits of the id, each small enough to be held;
memory stays bounded whatever the graph's size.

What GraphML can't hold: characters that XML forbids become U+FFFD. Lists and objects stay JSON text. The
attributes `labels` and `label` are APOC's, for `readLabels: true` and the type of a relationship.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc

from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.graph_props import EDGE, NODE, VALUE_TYPE_OF_KEY
from codeanatomy_assets.contracts.table import Table
from codeanatomy_assets.orchestration.export_formats import drafted

Row = dict[str, Any]
Stream = Callable[[Table], Iterable[pa.RecordBatch]]

ROWS_PER_PART = 50_000
# 256 parts of two tables are the files that a process may have open at once.
MOST_DIGITS = 2
NODE_DATA = ("node_kind", "name", "qualified_name", "path", "bstart", "bend")
EDGE_DATA = ("edge_kind", "path", "bstart", "bend", "origin", "resolution_method", "confidence", "score")
COLUMN_TYPES = {"string": "string", "int": "int", "double": "double"}
PROP_TYPES = {"string": "string", "int": "long", "boolean": "boolean", "json": "string"}

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"}
_ESCAPED = re.compile('[&<>"\r]')


def write_graphml(stream: Stream, path: Path, rows: int) -> tuple[int, int]:
    """Write the graph that `stream` gives the tables of, some `rows` in all; returns how many nodes and edges."""
    digits = next((d for d in range(MOST_DIGITS) if rows <= ROWS_PER_PART * 16**d), MOST_DIGITS)
    with drafted(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(_head())
        with TemporaryDirectory(prefix=".graphml-", dir=path.parent) as scratch:
            nodes = _write_part_by_part(out, stream, CPG_NODES, NODE, _node, Path(scratch, NODE), digits)
            edges = _write_part_by_part(out, stream, CPG_EDGES, EDGE, _edge, Path(scratch, EDGE), digits)
        out.write("</graph>\n</graphml>\n")
    return nodes, edges


def escaped(text: str) -> str:
    """Text as XML holds it, in an element or an attribute."""
    allowed = _FORBIDDEN.sub("\ufffd", text)
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], allowed)


def _head() -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for entity, table, columns in ((NODE, CPG_NODES, NODE_DATA), (EDGE, CPG_EDGES, EDGE_DATA)):
        for name in columns:
            yield _key(entity, name, COLUMN_TYPES[table.column(name).type.ddl])
        for (of, name), value_type in VALUE_TYPE_OF_KEY.items():
            if of == entity:
                yield _key(entity, name, PROP_TYPES[value_type])
    yield '<graph id="codeanatomy" edgedefault="directed">\n'


def _key(entity: str, name: str, type_: str) -> str:
    return f'<key id="{entity}.{name}" for="{entity}" attr.name="{name}" attr.type="{type_}"/>\n'


def _write_part_by_part(
    out: TextIO,
    stream: Stream,
    table: Table,
    entity: str,
    element: Callable[[Row, str], str],
    folder: Path,
    digits: int,
) -> int:
    id_column = table.key[0]
    entities = _spread(stream(table), id_column, folder / table.name, digits)
    of_entity = (batch.filter(pc.equal(batch["entity_kind"], entity)) for batch in stream(CPG_PROPS))
    props = _spread(of_entity, "entity_id", folder / CPG_PROPS.name, digits)
    count = 0
    for part in sorted(entities):
        # Contributions to a global node are alike but for the file, which is left out.
        once = {row[id_column]: row for row in _read(entities[part])}
        data: dict[str, dict[str, str]] = defaultdict(dict)
        for row in _read(props[part]) if part in props else ():
            data[row["entity_id"]][row["prop_key"]] = _value(row["prop_value"], row["value_type"])
        for id_ in sorted(once):
            out.write(element(once[id_], _data(entity, data[id_])))
        count += len(once)
    return count


def _spread(batches: Iterable[pa.RecordBatch], id_column: str, folder: Path, digits: int) -> dict[str, Path]:
    """Rows spread over files by the last digits of an id; returns the files by those digits."""
    folder.mkdir(parents=True)
    paths: dict[str, Path] = {}
    with ExitStack() as opened:
        writers: dict[str, pa.RecordBatchStreamWriter] = {}
        for batch in batches:
            for part, rows in _by_part(pa.Table.from_batches([batch]), id_column, digits):
                if part not in writers:
                    paths[part] = folder / f"{part}.arrows"
                    writers[part] = opened.enter_context(pa.ipc.new_stream(paths[part], rows.schema))
                writers[part].write_table(rows)
    return paths


def _by_part(rows: pa.Table, id_column: str, digits: int) -> Iterator[tuple[str, pa.Table]]:
    if digits == 0:
        yield "", rows
        return
    parts = pc.utf8_slice_codeunits(rows[id_column], -digits)
    for part in pc.unique(parts).to_pylist():
        yield part, rows.filter(pc.equal(parts, part))


def _read(path: Path) -> Iterator[Row]:
    with pa.ipc.open_stream(path) as reader:
        for batch in reader:
            yield from batch.to_pylist()


def _node(row: Row, props: str) -> str:
    data = _data(NODE, {name: _text(row[name]) for name in NODE_DATA if row[name] is not None})
    return f'<node id="{escaped(row["node_id"])}" labels=":{row["node_kind"]}">{data}{props}</node>\n'


def _edge(row: Row, props: str) -> str:
    data = _data(EDGE, {name: _text(row[name]) for name in EDGE_DATA if row[name] is not None})
    ends = f'source="{escaped(row["src_node_id"])}" target="{escaped(row["dst_node_id"])}"'
    return f'<edge id="{escaped(row["edge_id"])}" {ends} label="{row["edge_kind"]}">{data}{props}</edge>\n'


def _data(entity: str, values: dict[str, str]) -> str:
    return "".join(f'<data key="{entity}.{name}">{escaped(text)}</data>' for name, text in values.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _value(prop_value: str, value_type: str) -> str:
    """A string without its quotes; numbers, booleans, lists and objects as JSON has them."""
    return str(json.loads(prop_value)) if value_type == "string" else prop_value

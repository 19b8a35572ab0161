"""`docs/graph.md` and its picture, generated from the contracts: run `python -m codeanatomy_assets.graph_docs`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from codeanatomy_assets import graph_picture
from codeanatomy_assets.contracts.graph import CPG_EDGES, CPG_NODES, CPG_PROPS
from codeanatomy_assets.contracts.graph_kinds import (
    EDGE_KINDS,
    EXAMPLE_FILES,
    NODE_KIND,
    NODE_KINDS,
    EdgeKind,
    ExampleNode,
    NodeKind,
)
from codeanatomy_assets.contracts.graph_props import EDGE, PROPS, PropKey
from codeanatomy_assets.contracts.table import Table

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "graph.md"
PICTURE = DOCS / "graph.svg"

_EXAMPLES = {example.label: (kind.name, example) for kind in NODE_KINDS for example in kind.examples}
_SHORTEST = 60


def pages() -> dict[Path, str]:
    """Every generated file."""
    return {PAGE: render(), PICTURE: graph_picture.render()}


def render() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def example_span(example: ExampleNode) -> tuple[int | None, int | None]:
    """The bytes of an example's text in its file: of a file or module all of it, of a global node none."""
    if example.path is None:
        return None, None
    content = EXAMPLE_FILES[example.path].encode()
    if not example.text:
        return 0, len(content)
    behind = content.index(example.after.encode()) + len(example.after.encode())
    bstart = content.index(example.text.encode(), behind)
    return bstart, bstart + len(example.text.encode())


def _lines() -> Iterator[str]:
    yield "# The graph"
    yield ""
    yield "Generated from `codeanatomy_assets/contracts/graph*.py` by `make docs`; change the contracts, not this page."
    yield "A test builds the examples and compares."
    yield from _shape_lines()
    yield from _example_lines()
    yield from ("", "## Node kinds")
    for node_kind in NODE_KINDS:
        yield from _node_kind_lines(node_kind)
    yield from ("", "## Edge kinds")
    for edge_kind in EDGE_KINDS:
        yield from _edge_kind_lines(edge_kind)
    yield from _prop_lines()


def _shape_lines() -> Iterator[str]:
    yield from ("", "## Three tables", "")
    for table in (CPG_NODES, CPG_EDGES, CPG_PROPS):
        columns = ", ".join(f"`{name}`" for name in table.column_names)
        yield f"- `{table.name}`: {columns}. {table.doc}"
    yield ""
    yield "Types, keys and the values of each column are in [datasets.md](datasets.md)."
    yield ""
    yield "A node has the id of the thing it stands for: `node_id` of a definition is its `def_id`. Symbols and"
    yield "qualified names are global: every file that mentions one contributes a row, alike but for `file_id`. Read"
    yield "them with `SELECT DISTINCT` over the other columns; the GraphML export does."


def _example_lines() -> Iterator[str]:
    yield from ("", "## The examples' program")
    for path, source in EXAMPLE_FILES.items():
        yield from ("", f"`{path}`", "", *_fenced("python", source))
    yield from ("", f"![The graph of this program]({PICTURE.name})")
    yield from ("", "Grey lines are CONTAINS. Ids are shown as the node's label in this picture.")


def _node_kind_lines(kind: NodeKind) -> Iterator[str]:
    yield from ("", f"### {kind.name}", "", kind.doc, "")
    further = "".join(f", `{dataset}`" for dataset in kind.further)
    yield f"- Made of: `{kind.dataset}`{further}; its id is `{kind.id_column}`"
    if kind.is_global:
        yield "- Global: a row for every file that mentions it, without path and span"
    keys = [prop.key for prop in PROPS if kind.name in prop.kinds]
    yield f"- Props: {', '.join(f'`{key}`' for key in keys) or 'none'}"
    example = kind.examples[0]
    if example.text:
        yield from ("", f"Source, in `{example.path}`:", "", *_fenced("python", example.text))
    yield from ("", "Row:", "", *_row_table(CPG_NODES, _node_row(kind.name, example)))


def _node_row(kind: str, example: ExampleNode) -> dict[str, object]:
    bstart, bend = example_span(example)
    return {
        "node_id": example.label,
        "node_kind": kind,
        "name": example.name,
        "qualified_name": example.qualified_name,
        "path": example.path,
        "bstart": bstart,
        "bend": bend,
        "file_id": example.path or "app/square.py",
    }


def _edge_kind_lines(kind: EdgeKind) -> Iterator[str]:
    yield from ("", f"### {kind.name}", "", kind.doc, "")
    yield f"- From: {', '.join(kind.src_kinds)}"
    yield f"- To: {', '.join(kind.dst_kinds)}"
    made = ", ".join(f"`{rule}`" for rule in kind.rules) or "structure"
    yield f"- Made of: {made}"
    src, dst = kind.examples[0]
    yield from ("", "Source:", "", *_fenced("python", "\n".join(_places(src, dst))))
    row = {"edge_kind": kind.name, "src_node_id": src, "dst_node_id": dst}
    yield from ("", "Row, in part:", "", *_row_table(CPG_EDGES, row, tuple(row)))


def _places(*labels: str) -> Iterator[str]:
    """The line of source that each end stands on, with a note of which end it is."""
    for label in labels:
        kind, example = _EXAMPLES[label]
        if example.path is None:
            yield f"# {label}: {example.qualified_name}"
        elif not example.text:
            yield f"# {label}: {example.path}"
        else:
            bstart, _ = example_span(example)
            before = EXAMPLE_FILES[example.path].encode()[:bstart].decode()
            line = EXAMPLE_FILES[example.path].splitlines()[before.count("\n")]
            yield f"{line.strip()}  # {label}, a {kind} of {example.path}"


def _prop_lines() -> Iterator[str]:
    yield from ("", "## Props", "")
    yield "`prop_value` is JSON text. A key that is not listed here, or a value of another type, fails the checks."
    yield "Where a value is named under *no row*, a node without that prop has it."
    kinds = [*NODE_KIND, *(kind for prop in PROPS if prop.entity_kind == EDGE for kind in prop.kinds[:1])]
    for kind in kinds:
        props = [prop for prop in PROPS if kind in prop.kinds]
        if props:
            title = kind if kind in NODE_KIND else f"Edges: {', '.join(props[0].kinds)}"
            yield from ("", f"### Props of {title}" if kind in NODE_KIND else f"### {title}", "")
            yield "| prop_key | value_type | no row | meaning | source | of | prop_value |"
            yield "|---|---|---|---|---|---|---|"
            yield from (_prop_line(prop) for prop in props)


def _prop_line(prop: PropKey) -> str:
    source, name, value = prop.example
    shown = value if len(value) <= _SHORTEST else f"{value[:20]}…"
    code = "<br>".join(f"`{line}`" for line in source.replace("    ", "\u2003").split("\n"))
    absent = f"`{prop.default}`" if prop.default is not None else ""
    cells = (f"`{prop.key}`", prop.value_type, absent, prop.doc, code, f"`{name}`", f"`{shown}`")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _row_table(table: Table, row: Mapping[str, object], columns: Iterable[str] = ()) -> Iterator[str]:
    names = tuple(columns) or table.column_names
    yield f"| {' | '.join(names)} |"
    yield "|" + "---|" * len(names)
    yield f"| {' | '.join(_cell(row[name]) for name in names)} |"


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    # A symbol's text has backticks: a longer fence holds them.
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _fenced(language: str, text: str) -> tuple[str, ...]:
    return (f"```{language}", *text.rstrip("\n").split("\n"), "```")


def main() -> None:
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()

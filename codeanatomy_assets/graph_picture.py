"""`docs/graph.svg`: the examples of the graph's contracts as one picture, laid out in columns by node kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from codeanatomy_assets.contracts.graph_kinds import EDGE_KINDS, NODE_KINDS

# Columns from left to right, each from top to bottom.
COLUMNS = (
    ("file broken", "diagnostic", "file square"),
    ("module base", "module square"),
    ("def Shape", "def Shape.area", "def Square", "def Square.area", "def side"),
    ("import Shape", "ref Shape", "call side", "type float", "call abs"),
    ("symbol Shape", "symbol Shape.area", "symbol Square.area", "symbol side", "name builtins.abs"),
)
BOX_WIDTH, BOX_HEIGHT = 136, 40
COLUMN_WIDTH, HEIGHT, MARGIN = 258, 540, 12
LEFT = 84
COLOURS = {
    "PY_FILE": "#e8eaed",
    "PY_MODULE": "#d2e3fc",
    "CST_DEF": "#ceead6",
    "CST_CALLSITE": "#feefc3",
    "CST_REF": "#feefc3",
    "CST_IMPORT_ALIAS": "#feefc3",
    "TYPE_EXPR": "#feefc3",
    "SCIP_SYMBOL": "#f3e8fd",
    "PY_QUALIFIED_NAME": "#f3e8fd",
    "DIAG": "#fad2cf",
}
QUIET = "CONTAINS"


@dataclass(frozen=True)
class Box:
    """A node in the picture, by its upper left corner."""

    kind: str
    name: str
    column: int
    x: float
    y: float

    @property
    def middle(self) -> float:
        return self.y + BOX_HEIGHT / 2


def render() -> str:
    """The whole picture: edges first, so that no line crosses a box's text."""
    width = COLUMN_WIDTH * (len(COLUMNS) - 1) + BOX_WIDTH + LEFT + MARGIN
    boxes = _boxes()
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        "<title>The graph of the example program</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#5f6368"/></marker></defs>',
        f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>',
        *_edge_lines(boxes),
        *(line for box in boxes.values() for line in _box_lines(box)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _boxes() -> dict[str, Box]:
    examples = {example.label: (kind.name, example) for kind in NODE_KINDS for example in kind.examples}
    boxes: dict[str, Box] = {}
    for column, labels in enumerate(COLUMNS):
        step = (HEIGHT - 2 * MARGIN) / len(labels)
        for row, label in enumerate(labels):
            kind, example = examples[label]
            shown = label.split(" ", 1)[1] if " " in label else example.name
            y = MARGIN + step * (row + 0.5) - BOX_HEIGHT / 2
            boxes[label] = Box(kind, shown, column, LEFT + column * COLUMN_WIDTH, y)
    return boxes


def _box_lines(box: Box) -> Iterator[str]:
    centre = box.x + BOX_WIDTH / 2
    yield (
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" '
        f'fill="{COLOURS[box.kind]}" stroke="#5f6368"/>'
    )
    yield (
        f'<text x="{centre:g}" y="{box.y + 16:g}" text-anchor="middle" font-size="9" fill="#5f6368">{box.kind}</text>'
    )
    yield f'<text x="{centre:g}" y="{box.y + 31:g}" text-anchor="middle">{escape(box.name)}</text>'


def _edge_lines(boxes: dict[str, Box]) -> Iterator[str]:
    labels: list[str] = []
    for kind in EDGE_KINDS:
        for src, dst in kind.examples:
            path, at = _path(boxes[src], boxes[dst], kind.name == QUIET)
            colour = "#c4c7cc" if kind.name == QUIET else "#5f6368"
            yield f'<path d="{path}" fill="none" stroke="{colour}" marker-end="url(#tip)"/>'
            if kind.name != QUIET:
                labels.append(
                    f'<text x="{at[0]:g}" y="{at[1]:g}" text-anchor="middle" font-size="9" fill="#202124" '
                    f'stroke="#ffffff" stroke-width="3" paint-order="stroke">{kind.name}</text>'
                )
    yield from labels


def _path(src: Box, dst: Box, quiet: bool) -> tuple[str, tuple[float, float]]:
    """A curve from box to box, and where its label stands: on its middle, of an arc in one column on its outside."""
    if src.column == dst.column:
        side, outward = (src.x + BOX_WIDTH, 1) if quiet else (src.x, -1)
        bend = outward * (30 + abs(src.middle - dst.middle) / 8)
        start, end = src.middle + 6, dst.middle - 6 if dst.y > src.y else dst.middle + 6
        path = f"M{side:g} {start:g} C{side + bend:g} {start:g} {side + bend:g} {end:g} {side:g} {end:g}"
        return path, (side + bend * 0.75, (start + end) / 2)
    forward = dst.column > src.column
    x1, x2 = (src.x + BOX_WIDTH, dst.x) if forward else (src.x, dst.x + BOX_WIDTH)
    pull = (x2 - x1) / 2
    path = f"M{x1:g} {src.middle:g} C{x1 + pull:g} {src.middle:g} {x2 - pull:g} {dst.middle:g} {x2:g} {dst.middle:g}"
    return path, ((x1 + x2) / 2, (src.middle + dst.middle) / 2 - 4)

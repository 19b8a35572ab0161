"""The picture of what commits touched: one HTML page that needs nothing else, a drawing and a table per commit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeanatomy_assets.contracts.impact import REASON_KINDS
from codeanatomy_assets.orchestration import html_page
from codeanatomy_assets.orchestration.explain import Closure, CommitImpact, Reason
from codeanatomy_assets.orchestration.html_page import text as _text
from codeanatomy_assets.orchestration.plain_text import counted, printable, short

MOST_IN_LAYER = 24
MOST_REASONS_SHOWN = 10
LABEL_LENGTH = 26
BOX_WIDTH, BOX_HEIGHT = 210, 26
COLUMN, LINE = 320, 36
MARGIN, HEADING = 12, 34
# Of middle lightness: the page has a light and a dark background.
COLOURS = {
    "changed_file": "#d97706",
    "added_file": "#16a34a",
    "deleted_file": "#dc2626",
    "scip_changed": "#a855f7",
    "caller_symbol": "#3b82f6",
    "caller_qname": "#22a8d8",
    "override": "#7c6ff5",
    "import_name": "#14a38b",
    "import_star": "#84a912",
    "import_module": "#0f766e",
    "reexport": "#db2777",
    "full_refresh": "#7b8494",
}
DRAWING_STYLE = """
svg text { fill: var(--ink); font: 12px ui-monospace, monospace; }
svg .heading, svg .more text { fill: var(--faint); font-family: system-ui, sans-serif; }
svg rect { fill: var(--box); stroke: var(--line); }
svg .edge { fill: none; stroke-width: 1.4; opacity: .7; } svg .edge.aside { stroke-dasharray: 4 3; }
"""
STYLE = (
    DRAWING_STYLE
    + """
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0; list-style: none; color: var(--faint); }
.legend i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
.drawing { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
svg a:hover rect, svg a:focus rect { stroke: var(--ink); }
td:last-child { width: 100%; } td:first-child { min-width: min(26rem, 30vw); }
tr:target { background: var(--box); }
"""
)


@dataclass(frozen=True)
class Box:
    """A drawn file, or the rest of a layer in one; x and y are its upper left corner."""

    x: int
    y: int
    files: int = 1

    @property
    def middle(self) -> int:
        return self.y + BOX_HEIGHT // 2

    @property
    def right(self) -> int:
        return self.x + BOX_WIDTH


@dataclass(frozen=True)
class Layer:
    """The files of one distance: those that are drawn, and those that one box stands for."""

    distance: int
    drawn: tuple[str, ...]
    rest: tuple[str, ...]


def write_page(impacts: Sequence[CommitImpact], path: Path) -> None:
    html_page.write(page(impacts), path, "picture")


def page(impacts: Sequence[CommitImpact]) -> str:
    names = " and ".join({short(impacts[0].row.commit): "", short(impacts[-1].row.commit): ""})
    title = f"What {names} touched" if len(impacts) < 3 else f"What {len(impacts)} commits touched"
    sections = "\n".join(part for number, impact in enumerate(impacts) for part in _section(impact, f"c{number}-"))
    return html_page.page(title, STYLE, sections)


def _section(impact: CommitImpact, prefix: str) -> Iterator[str]:
    yield f"<h2><code>{_text(short(impact.row.commit))}</code> ({_text(impact.row.built_by)}): "
    yield f"{counted(len(impact.by_file))}</h2>"
    if not impact.by_file:
        return
    nearest = Counter(reasons[0].kind for reasons in impact.by_file.values())
    yield '<ul class="legend">'
    for kind in REASON_KINDS:
        if nearest[kind]:
            yield f'<li><i style="background:{COLOURS[kind]}"></i>{kind}: {nearest[kind]}</li>'
    yield "</ul>"
    anchors = {file_id: f"{prefix}{number}" for number, file_id in enumerate(impact.by_file)}
    yield from _drawing(impact, anchors)
    yield from _table(impact, anchors)


def _table(impact: Closure, anchors: dict[str, str]) -> Iterator[str]:
    yield "<table><thead><tr><th>path</th><th>distance</th><th>reasons, nearest first</th></tr></thead><tbody>"
    for file_id, reasons in impact.by_file.items():
        said = "".join(f"<div>{_text(line)}</div>" for line in _lines(impact, reasons))
        path = _text(reasons[0].path)
        yield f'<tr id="{anchors[file_id]}"><td>{path}</td><td>{reasons[0].distance}</td><td>{said}</td></tr>'
    yield "</tbody></table>"


def drawing(impact: Closure) -> str:
    """The drawing alone, as a picture that stands by itself on a light page."""
    anchors = dict.fromkeys(impact.by_file, "")
    return html_page.standalone("\n".join(_svg(impact, anchors)), DRAWING_STYLE)


def _drawing(impact: Closure, anchors: dict[str, str]) -> Iterator[str]:
    yield '<div class="drawing">'
    yield from _svg(impact, anchors)
    yield "</div>"


def _svg(impact: Closure, anchors: dict[str, str]) -> Iterator[str]:
    layers = _layers(impact)
    boxes = _placed(layers, impact)
    height = HEADING + MARGIN + LINE * max(len(layer.drawn) + bool(layer.rest) for layer in layers)
    width = 2 * MARGIN + COLUMN * (len(layers) - 1) + BOX_WIDTH + LINE
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    yield f' viewBox="0 0 {width} {height}" role="img" aria-label="{_text(counted(len(impact.by_file)))}, by distance">'
    yield from _edges(impact, boxes)
    for column, layer in enumerate(layers):
        files = len(layer.drawn) + len(layer.rest)
        yield f'<text class="heading" x="{MARGIN + column * COLUMN}" y="22">distance {layer.distance} ({files})</text>'
        for file_id in layer.drawn:
            yield _box(impact, impact.by_file[file_id], boxes[file_id], anchors[file_id])
        if layer.rest:
            yield _more(impact, layer, boxes[layer.rest[0]], anchors)
    yield "</svg>"


def _layers(impact: Closure) -> list[Layer]:
    """Files by distance. Where there are too many, those that most others are touched through are drawn."""
    led = Counter(via for via, _ in {(reason.via, reason.file_id) for reason in impact.reasons})
    by_distance: dict[int, list[str]] = defaultdict(list)
    for file_id, reasons in impact.by_file.items():
        by_distance[reasons[0].distance].append(file_id)
    layers = []
    for distance, files in sorted(by_distance.items()):
        ranked = sorted(files, key=lambda file_id: -led[file_id])
        # A box that stands for one file would say less than the file's own.
        most = MOST_IN_LAYER if len(files) > MOST_IN_LAYER + 1 else len(files)
        layers.append(Layer(distance, tuple(ranked[:most]), tuple(ranked[most:])))
    return layers


def _placed(layers: Sequence[Layer], impact: Closure) -> dict[str, Box]:
    """A column per layer, each file at about the height of what it is touched through; hidden files share a box."""
    boxes: dict[str, Box] = {}
    for column, layer in enumerate(layers):
        heights = {file_id: _height(impact.by_file[file_id], boxes) for file_id in layer.drawn}
        ordered = sorted(layer.drawn, key=lambda file_id: (heights[file_id], impact.path_of(file_id)))
        x = MARGIN + column * COLUMN
        placed = {file_id: Box(x, HEADING + LINE * number) for number, file_id in enumerate(ordered)}
        rest = Box(x, HEADING + LINE * len(ordered), len(layer.rest))
        boxes |= placed | dict.fromkeys(layer.rest, rest)
    return boxes


def _height(reasons: Sequence[Reason], boxes: dict[str, Box]) -> float:
    before = [boxes[reason.via].y for reason in reasons if reason.via in boxes]
    return sum(before) / len(before) if before else 0.0


def _edges(impact: Closure, boxes: dict[str, Box]) -> Iterator[str]:
    drawn: dict[tuple[Box, Box], str] = {}
    for file_id, reasons in impact.by_file.items():
        for reason in reasons:
            if reason.via in boxes and boxes[reason.via] != boxes[file_id]:
                drawn.setdefault((boxes[reason.via], boxes[file_id]), reason.kind)
    for (start, end), kind in drawn.items():
        # Every file of a layer's rest has its edges in one place: in a colour each, they would hide the others.
        yield _edge(start, end, COLOURS[kind] if start.files == end.files == 1 else "var(--line)")


def _edge(start: Box, end: Box, colour: str) -> str:
    if start.x < end.x:
        bend = (end.x - start.right) // 2
        curve = f"C{start.right + bend} {start.middle} {end.x - bend} {end.middle} {end.x} {end.middle}"
        return f'<path class="edge" stroke="{colour}" d="M{start.right} {start.middle}{curve}"/>'
    bulge = max(start.right, end.right) + LINE
    curve = f"C{bulge} {start.middle} {bulge} {end.middle} {end.right} {end.middle}"
    return f'<path class="edge aside" stroke="{colour}" d="M{start.right} {start.middle}{curve}"/>'


def _box(impact: Closure, reasons: Sequence[Reason], box: Box, anchor: str) -> str:
    tip = "\n".join((reasons[0].path, *_lines(impact, reasons)))
    return (
        f'<a href="#{anchor}"><title>{_text(tip)}</title>'
        f'<rect x="{box.x}" y="{box.y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"/>'
        f'<path d="M{box.x} {box.y}h5v{BOX_HEIGHT}h-5z" fill="{COLOURS[reasons[0].kind]}"/>'
        f'<text x="{box.x + 12}" y="{box.y + 17}">{_text(_label(reasons[0].path))}</text></a>'
    )


def _more(impact: Closure, layer: Layer, box: Box, anchors: dict[str, str]) -> str:
    shown = [impact.path_of(file_id) for file_id in layer.rest[:MOST_REASONS_SHOWN]]
    tip = "\n".join((*shown, *(["…"] if len(layer.rest) > len(shown) else [])))
    return (
        f'<a class="more" href="#{anchors[layer.rest[0]]}"><title>{_text(tip)}</title>'
        f'<rect x="{box.x}" y="{box.y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4" stroke-dasharray="4 3"/>'
        f'<text x="{box.x + 12}" y="{box.y + 17}">+{len(layer.rest)} more, in the table</text></a>'
    )


def _lines(impact: Closure, reasons: Sequence[Reason]) -> list[str]:
    lines = [impact.chain_text(reason) for reason in reasons[:MOST_REASONS_SHOWN]]
    further = len(reasons) - len(lines)
    return [*lines, f"and {further} more reasons"] if further else lines


def _label(path: str) -> str:
    """The end of a path says most."""
    shown = printable(path)
    return shown if len(shown) <= LABEL_LENGTH else f"…{shown[1 - LABEL_LENGTH :]}"

"""The picture of a graph's edges: how many there are of each kind, and how sure they are, or how they were found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from codeanatomy_assets.contracts.graph import CONFIDENCES, METHODS
from codeanatomy_assets.orchestration import html_page

BAR, LINE, LABEL, NUMBERS, MARGIN = 420, 24, 230, 90, 12
LEGEND, LEGEND_LINE = 12, 18
# The surest first; of ways, those that look alike are told apart by their place in the legend.
PALETTE = (
    *("#16a34a", "#3b82f6", "#d97706", "#7b8494", "#db2777", "#7c3aed"),
    *("#0d9488", "#ca8a04", "#dc2626", "#65a30d", "#0369a1"),
)
PARTS = {"confidence": CONFIDENCES, "resolution_method": METHODS}
STYLE = """
svg text { fill: var(--ink); font: 12px ui-monospace, monospace; }
svg .faint { fill: var(--faint); font-family: system-ui, sans-serif; }
"""

Counts = Mapping[tuple[str, str], int]


def drawing(counts: Counts, by: str = "confidence") -> str:
    """One bar per edge kind, the most frequent first, split by one of PARTS; `counts` are by kind and that."""
    return html_page.standalone("\n".join(_svg(counts, by)), STYLE)


def _svg(counts: Counts, by: str) -> Iterator[str]:
    colours = {part: PALETTE[place % len(PALETTE)] for place, part in enumerate(PARTS[by])}
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for (kind, part), count in counts.items():
        kinds[kind][part] += count
    ordered = sorted(kinds, key=lambda kind: (-kinds[kind].total(), kind))
    most = max((kinds[kind].total() for kind in ordered), default=1)
    present = [part for part in colours if any(part in found for found in kinds.values())]
    width = LABEL + BAR + NUMBERS + 2 * MARGIN
    legend = list(_legend(present, colours, width))
    top = LEGEND + LEGEND_LINE * (1 + max((y for _, y in legend), default=0))
    height = top + LINE * len(ordered) + MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    yield f' role="img" aria-label="edges by kind and {by}">'
    yield from (text for text, _ in legend)
    for number, kind in enumerate(ordered):
        yield from _bar(kind, kinds[kind], most, top + LINE * number, colours)
    yield "</svg>"


def _legend(parts: Sequence[str], colours: Mapping[str, str], width: int) -> Iterator[tuple[str, int]]:
    """Each entry's drawing, and the line it stands on."""
    x, line = MARGIN + LABEL, 0
    for part in parts:
        needed = 40 + 8 * len(part)
        if x + needed > width:
            x, line = MARGIN + LABEL, line + 1
        y = LEGEND + LEGEND_LINE * line
        square = f'<rect x="{x}" y="{y - 3}" width="10" height="10" fill="{colours[part]}"/>'
        yield f'{square}<text class="faint" x="{x + 15}" y="{y + 6}">{html_page.text(part)}</text>', line
        x += needed


def _bar(kind: str, found: Counter[str], most: int, y: int, colours: Mapping[str, str]) -> Iterator[str]:
    yield f'<text x="{MARGIN}" y="{y + 15}">{html_page.text(kind)}</text>'
    x = float(MARGIN + LABEL)
    for part in (part for part in colours if part in found):
        width = BAR * found[part] / most
        yield f'<rect x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="14" fill="{colours[part]}"/>'
        x += width
    yield f'<text class="faint" x="{x + 6:.1f}" y="{y + 15}">{found.total():,}</text>'

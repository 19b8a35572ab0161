"""The picture of a graph's edges: how many there are of each kind, and how sure they are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from codeanatomy_assets.contracts.relationships import CONFIDENCES
from codeanatomy_assets.orchestration import html_page

BAR, LINE, LABEL, NUMBERS, MARGIN = 420, 24, 230, 90, 12
LEGEND = 30
# The surest first.
COLOURS = dict(zip(CONFIDENCES, ("#16a34a", "#3b82f6", "#d97706", "#7b8494"), strict=True))
STYLE = """
svg text { fill: var(--ink); font: 12px ui-monospace, monospace; }
svg .faint { fill: var(--faint); font-family: system-ui, sans-serif; }
"""

Counts = Mapping[tuple[str, str], int]


def drawing(counts: Counts) -> str:
    """One bar per edge kind, the most frequent first, split by confidence; `counts` are by (kind, confidence)."""
    return html_page.standalone("\n".join(_svg(counts)), STYLE)


def _svg(counts: Counts) -> Iterator[str]:
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for (kind, confidence), count in counts.items():
        kinds[kind][confidence] += count
    ordered = sorted(kinds, key=lambda kind: (-kinds[kind].total(), kind))
    most = max((kinds[kind].total() for kind in ordered), default=1)
    height = LEGEND + LINE * len(ordered) + MARGIN
    width = LABEL + BAR + NUMBERS + 2 * MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    yield ' role="img" aria-label="edges by kind and confidence">'
    yield from _legend({confidence for _, confidence in counts})
    for number, kind in enumerate(ordered):
        yield from _bar(kind, kinds[kind], most, LEGEND + LINE * number)
    yield "</svg>"


def _legend(confidences: set[str]) -> Iterator[str]:
    x = MARGIN + LABEL
    for confidence in sorted(confidences, key=CONFIDENCES.index):
        yield f'<rect x="{x}" y="9" width="10" height="10" fill="{COLOURS[confidence]}"/>'
        yield f'<text class="faint" x="{x + 15}" y="18">{html_page.text(confidence)}</text>'
        x += 40 + 8 * len(confidence)


def _bar(kind: str, found: Counter[str], most: int, y: int) -> Iterator[str]:
    yield f'<text x="{MARGIN}" y="{y + 15}">{html_page.text(kind)}</text>'
    x = float(MARGIN + LABEL)
    for confidence in sorted(found, key=CONFIDENCES.index):
        width = BAR * found[confidence] / most
        yield f'<rect x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="14" fill="{COLOURS[confidence]}"/>'
        x += width
    yield f'<text class="faint" x="{x + 6:.1f}" y="{y + 15}">{found.total():,}</text>'

"""HTML pages that need nothing else: the frame, the style and the escaping of each, and writing one to a file."""

from __future__ import annotations

from html import escape
from pathlib import Path

from codeanatomy_assets.errors import BadInput
from codeanatomy_assets.orchestration.plain_text import printable

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LIGHT = {"page": "#fff", "ink": "#1b1f24", "faint": "#5b6470", "box": "#f5f6f8", "line": "#d5d9df"}
STYLE = f"""
:root {{ color-scheme: light dark; {" ".join(f"--{name}: {colour};" for name, colour in LIGHT.items())} }}
"""
STYLE += """
@media (prefers-color-scheme: dark) {
  :root { --page: #15181c; --ink: #e4e7eb; --faint: #9aa4b0; --box: #20252b; --line: #3a424c; }
}
body { margin: 2rem; background: var(--page); color: var(--ink); font: 14px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
code, td:first-child { font-family: ui-monospace, monospace; font-size: 13px; }
table { border-collapse: collapse; margin-top: 1rem; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-top: 1px solid var(--line); }
td { overflow-wrap: anywhere; }
"""


def page(title: str, style: str, body: str) -> str:
    """A whole page; `style` is what it adds to the common one, `body` is HTML already."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width">\n'
        f"<title>{text(title)}</title><style>{STYLE}{style}</style></head>\n"
        f"<body><h1>{text(title)}</h1>\n{body}\n</body></html>\n"
    )


def standalone(svg: str, style: str) -> str:
    """A drawing with its style inside and the light page's colours: what an <img> shows."""
    for name, colour in LIGHT.items():
        svg, style = svg.replace(f"var(--{name})", colour), style.replace(f"var(--{name})", colour)
    opening, end, rest = svg.partition(">")
    return f"{opening}{end}<style>{style}</style>{rest}"


def text(plain: str) -> str:
    """Text as HTML holds it. Names come from the repository: what could steer anything is escaped twice over."""
    return "\n".join(escape(printable(line)) for line in plain.split("\n"))


def write(html: str, path: Path, what: str) -> None:
    """Write a page beside, then move it into place: a browser never sees half of one."""
    if path.is_dir():
        raise BadInput(f"{path} is a folder: name a file to write the {what} to")
    if not path.parent.is_dir():
        raise BadInput(f"folder {path.parent} does not exist: create it, or name another file for the {what}")
    draft = path.with_name(f".{path.name}.part")
    try:
        draft.write_text(html, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise BadInput(f"can't write {path}: {error.strerror}; name another file for the {what}") from error

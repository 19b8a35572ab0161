"""Words for people: commits by their first digits, counts, names that can't steer a terminal, columns side by side."""

from __future__ import annotations

from collections.abc import Sequence


def short(commit: str) -> str:
    """A commit for people: its first digits; a plain folder's with its kind."""
    kind, _, digits = commit.rpartition("-")
    return f"{kind}-{digits[:12]}" if kind else digits[:12]


def counted(files: int) -> str:
    return {0: "nothing was rebuilt", 1: "1 file rebuilt"}.get(files, f"{files} files rebuilt")


def printable(text: str) -> str:
    """Names come from the repository: what could steer a terminal or break a line is escaped."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def table_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, the first of which is the heading, cells made printable."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(map(str.ljust, cells, widths)).rstrip() for cells in shown]

"""Where in a rule's SQL a part of its tree stands, for messages that name the place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeanatomy_assets.rules.rule import Place

if TYPE_CHECKING:
    from sqlglot import exp


def place_of(node: exp.Expr, sql: str) -> Place | None:
    """Of the first token under this node; the tokenizer left its offset there. None if nothing under it has one."""
    offsets = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return place_at(min(offsets), sql) if offsets else None


def place_at(offset: int, sql: str) -> Place:
    before = sql[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)

"""Where in a rule's SQL a part of its tree stands, for messages that name the place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeanatomy_assets.rules.rule import Place

if TYPE_CHECKING:
    from sqlglot import exp


def place_of(node: exp.Expr, sql: str) -> Place | None:
    """Of the first token under this node that has an offset; if none has, of the node that holds it."""
    holder: exp.Expr | None = node
    while holder is not None:
        offsets = [part.meta["start"] for part in holder.walk() if "start" in part.meta]
        if offsets:
            return _place_at(min(offsets), sql)
        holder = holder.parent
    return None


def _place_at(offset: int, sql: str) -> Place:
    before = sql[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)

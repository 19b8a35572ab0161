"""How spellings of a name are compared, wherever one is looked for."""

from __future__ import annotations

import unicodedata


def same_name(name: str) -> str:
    """The spelling Python compares: identifiers that NFKC makes equal are one name."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)

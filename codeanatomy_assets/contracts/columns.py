"""Columns that several datasets share, so that one name means one thing."""

from __future__ import annotations

from codeanatomy_assets.contracts.table import Column
from codeanatomy_assets.contracts.types import INT, STRING

FILE_ID = Column("file_id", STRING, "The file that owns this row: an id of repository and path.")
PATH = Column("path", STRING, "Path in the repository, with forward slashes; not UTF-8: escaped, behind `//`.")
COMMIT = Column("commit", STRING, "The commit whose build wrote this row.")
BSTART = Column("bstart", INT, "First byte, an offset into the file as stored.")
BEND = Column("bend", INT, "One past the last byte.")
SCOPE_ID = Column("scope_id", STRING, "The definition whose body holds it; null at module level.", nullable=True)
ORDINAL = Column("ordinal", INT, "Which of its equals it is, in source order, from 0.")

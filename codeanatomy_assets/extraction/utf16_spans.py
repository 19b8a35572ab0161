"""Lines and UTF-16 columns, as the indexer counts them in a file's UTF-8 text, to byte offsets into the stored file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codeanatomy_assets.extraction.encoding import parser_input

_LINE_END = re.compile(rb"\r\n|\r|\n")
_REPLACEMENT = "\ufffd"


class ByteSpans:
    """The spans of one file. A line ends at CR, LF or both, and nowhere else: not at a form feed, not at U+2028."""

    def __init__(self, stored: bytes) -> None:
        self._input = parser_input(stored)
        self._source = source = self._input.utf8
        ends = [match.end() for match in _LINE_END.finditer(source)]
        self._starts = [0, *ends]
        self._is_ascii = source.isascii()
        self._columns: dict[int, list[int]] = {}

    def of(self, range_: Sequence[int]) -> tuple[int, int]:
        """The span of (line, column, end column) or (line, column, end line, end column)."""
        line, column = range_[0], range_[1]
        end_line, end_column = (line, range_[2]) if len(range_) == 3 else (range_[2], range_[3])
        return self._stored_offset(line, column), self._stored_offset(end_line, end_column)

    def _stored_offset(self, line: int, column: int) -> int:
        return self._input.stored_offset(self._offset(line, column))

    def _offset(self, line: int, column: int) -> int:
        if line >= len(self._starts):
            return len(self._source)
        if self._is_ascii:
            return min(self._starts[line] + column, len(self._source))
        offsets = self._columns.get(line)
        if offsets is None:
            offsets = self._columns[line] = self._line_offsets(line)
        return offsets[min(column, len(offsets) - 1)]

    def _line_offsets(self, line: int) -> list[int]:
        """The byte offset of each UTF-16 unit of the line, and of its end."""
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._source)
        offsets: list[int] = []
        position = start
        for character, length in _characters(self._source[start:end]):
            offsets.extend([position] * (2 if ord(character) > 0xFFFF else 1))
            position += length
        return [*offsets, position]


def _characters(text: bytes) -> list[tuple[str, int]]:
    """Each character with its length in bytes; bytes that are no UTF-8 count as Node counts them."""
    characters: list[tuple[str, int]] = []
    position = 0
    while position < len(text):
        try:
            decoded = text[position:].decode()
        except UnicodeDecodeError as error:
            good = text[position : position + error.start].decode()
            characters.extend((character, len(character.encode())) for character in good)
            characters.append((_REPLACEMENT, error.end - error.start))
            position += error.end
        else:
            characters.extend((character, len(character.encode())) for character in decoded)
            position = len(text)
    return characters

"""Spans against the text they point into: none begins or ends inside a word, or inside a character."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import accumulate

UTF_8 = ("utf-8", "utf-8-sig")
# Of each byte, whether it is a character that words have; of bytes beyond ASCII only the text tells.
_NO, _YES, _BEYOND = 0, 1, 4
_WORD_BYTES = bytes(_BEYOND if byte > 127 else _YES if f"_{chr(byte)}".isidentifier() else _NO for byte in range(256))


class Borders:
    """The offsets of a file where a span may begin or end."""

    def __init__(self, content: bytes, encoding: str | None) -> None:
        self._content = content
        self._encoding = encoding or "utf-8"
        is_plain = self._encoding in UTF_8 or content.isascii()
        self._words = content.translate(_WORD_BYTES) if is_plain else None

    def holds(self, bstart: int, bend: int) -> bool:
        return self._is_border(bstart) and self._is_border(bend)

    def _is_border(self, offset: int) -> bool:
        """Nearly always the two bytes tell; the text is decoded where they don't."""
        words = self._words
        if words is None or not 0 < offset < len(words) or words[offset - 1] + words[offset] > _YES:
            return self._is_border_of_text(offset)
        return True

    @cached_property
    def _text(self) -> str:
        return self._decoded[0]

    @cached_property
    def _place(self) -> dict[int, int] | None:
        offsets = self._decoded[1]
        return None if offsets is None else {offset: index for index, offset in enumerate(offsets)}

    @cached_property
    def _decoded(self) -> tuple[str, list[int] | None]:
        return _decoded(self._content, self._encoding)

    def _is_border_of_text(self, offset: int) -> bool:
        index = offset if self._place is None else self._place.get(offset, -1)
        if not 0 <= index <= len(self._text):
            return False
        if not (_is_word(self._text[index - 1 : index]) and _is_word(self._text[index : index + 1])):
            return True
        return self._text[index].isidentifier() and self._is_after_number(index)

    def _is_after_number(self, index: int) -> bool:
        """Whether the word up to here is a number: a name may follow it without a space, as in `1if`."""
        start = index
        while _is_word(self._text[start - 1 : start]):
            start -= 1
        word = self._text[start:index]
        return word[0].isdecimal() and any(_is_read_by(number, word) for number in (lambda text: int(text, 0), complex))


def _decoded(content: bytes, encoding: str) -> tuple[str, list[int] | None]:
    """The text, and the byte offset of each character and of the end; None if they are the characters' own places."""
    if content.isascii():
        return content.decode("ascii"), None
    # A byte order mark stays a character of its own: spans count it.
    codec = "utf-8" if encoding == "utf-8-sig" else encoding
    text = content.decode(codec, errors="replace")
    return text, [0, *accumulate(len(character.encode(codec, errors="replace")) for character in text)]


def _is_word(character: str) -> bool:
    return character != "" and f"_{character}".isidentifier()


def _is_read_by(number: Callable[[str], object], text: str) -> bool:
    try:
        number(text)
    except ValueError:
        return False
    return True

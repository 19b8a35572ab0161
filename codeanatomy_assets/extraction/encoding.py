"""How a Python file's bytes become text: BOM and PEP 263 cookie, and the way back from UTF-8 to stored bytes.

The file's declaration decides, as in CPython; a file whose declaration can't be honoured is reported,
never guessed at.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

UNDECODABLE = "undecodable"
NUL_BYTES = "nul_bytes"
BOM = codecs.BOM_UTF8
UTF_8 = "utf-8"
UTF_8_BOM = "utf-8-sig"
# Bytes in these are UTF-8 as they are.
UTF_8_AS_STORED = frozenset({UTF_8, UTF_8_BOM, "ascii"})

_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK_OR_COMMENT = re.compile(rb"[ \t\f]*(?:#.*)?\Z", re.DOTALL)
_LINE_END = re.compile(rb"\r\n|\r|\n")
# Text codecs by Python's book, but of escapes rather than characters: no byte of theirs is a character's.
_NOT_FOR_SOURCE = frozenset({"unicode-escape", "raw-unicode-escape", "punycode", "idna", "undefined"})


@dataclass(frozen=True)
class SourceEncoding:
    """What a file says its encoding is, and why it can't be read that way, if it can't."""

    encoding: str
    reason: str | None = None


def detect(content: bytes) -> SourceEncoding:
    """The encoding in Python's normalised spelling; `reason` is null for a file that can be read."""
    declared = _declared(content)
    if b"\0" in content:
        return SourceEncoding(declared.encoding, NUL_BYTES)
    if declared.reason is None and _decoded(content, declared.encoding) is None:
        return SourceEncoding(declared.encoding, UNDECODABLE)
    return declared


@dataclass(frozen=True)
class ParserInput:
    """A file as the parser takes it: UTF-8, and where each stretch of it stands in the stored bytes.

    `starts` and `stored` are parallel: from UTF-8 offset `starts[i]` on, up to the next start, offsets
    run one to one from `stored[i]`. Both are empty if the bytes are the stored ones.
    """

    utf8: bytes
    starts: tuple[int, ...] = ()
    stored: tuple[int, ...] = ()

    @property
    def is_stored(self) -> bool:
        return not self.starts

    def stored_offset(self, offset: int) -> int:
        """The stored file's offset of a UTF-8 offset that stands between two characters."""
        if not self.starts:
            return offset
        at = bisect_right(self.starts, offset) - 1
        return self.stored[at] + offset - self.starts[at]


def parser_input(content: bytes) -> ParserInput:
    """The file for the parser; one that can't be decoded goes as it is, and is read as far as it goes."""
    source = detect(content)
    if source.reason is not None or source.encoding in UTF_8_AS_STORED:
        return ParserInput(content)
    text = _decoded(content, source.encoding)
    if text is None or text.isascii() and len(text) == len(content):
        return ParserInput(content)
    return _transcoded(content, text, source.encoding)


def _declared(content: bytes) -> SourceEncoding:
    has_bom = content.startswith(BOM)
    cookie = _cookie(content[len(BOM) :] if has_bom else content)
    if cookie is None:
        return SourceEncoding(UTF_8_BOM if has_bom else UTF_8)
    name = _codec_name(cookie)
    if name is None:
        return SourceEncoding(cookie.lower(), UNDECODABLE)
    if name in (UTF_8, UTF_8_BOM):
        return SourceEncoding(UTF_8_BOM if has_bom else UTF_8)
    return SourceEncoding(name, UNDECODABLE if has_bom else None)


def _cookie(content: bytes) -> str | None:
    """The cookie of the first line, or of the second if the first is blank or a comment."""
    start = 0
    for _ in range(2):
        end = _LINE_END.search(content, start)
        line = content[start : end.start() if end else len(content)]
        found = _COOKIE.match(line)
        if found:
            return found.group(1).decode("ascii", "replace")
        if end is None or not _BLANK_OR_COMMENT.match(line):
            return None
        start = end.end()
    return None


def _codec_name(cookie: str) -> str | None:
    try:
        codec = codecs.lookup(cookie)
    except LookupError:
        return None
    # The registry also holds bytes-to-bytes codecs (hex, zlib), which no source can be written in.
    if not getattr(codec, "_is_text_encoding", True) or codec.name in _NOT_FOR_SOURCE:
        return None
    return codec.name


def _decoded(content: bytes, encoding: str) -> str | None:
    """The text, if the codec takes the bytes, gives real characters and agrees with the ASCII cookie."""
    try:
        text = content.decode(encoding)
        text.encode(UTF_8)
    except UnicodeError:
        return None
    if encoding not in (UTF_8, UTF_8_BOM) and _cookie(text.encode(UTF_8)) != _cookie(content):
        return None
    return text


def _transcoded(content: bytes, text: str, encoding: str) -> ParserInput:
    starts = [0]
    stored = [0]
    utf8_at = 0
    for character, at, end in _placed(content, text, encoding):
        width = len(character.encode(UTF_8))
        if at - stored[-1] != utf8_at - starts[-1]:
            starts.append(utf8_at)
            stored.append(at)
        utf8_at += width
        if width != end - at:
            starts.append(utf8_at)
            stored.append(end)
    return ParserInput(text.encode(UTF_8), tuple(starts), tuple(stored))


def _placed(content: bytes, text: str, encoding: str) -> Iterator[tuple[str, int, int]]:
    """Each character with the stored bytes it came from."""
    if len(text) == len(content):
        yield from ((character, at, at + 1) for at, character in enumerate(text))
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    start = 0
    for at in range(len(content)):
        for character in decoder.decode(content[at : at + 1], at == len(content) - 1):
            yield character, start, at + 1
            start = at + 1

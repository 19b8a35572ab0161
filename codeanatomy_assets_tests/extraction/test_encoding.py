"""Encoding: what a file declares, what can't be read, and offsets back into the stored bytes."""

from __future__ import annotations

import codecs
import io
import tokenize

import pytest

from codeanatomy_assets.extraction.encoding import (
    NUL_BYTES,
    UNDECODABLE,
    SourceEncoding,
    detect,
    parser_input,
)


def test_a_file_without_declaration_is_utf_8() -> None:
    assert detect("é = 1\n".encode()) == SourceEncoding("utf-8")
    assert detect(b"") == SourceEncoding("utf-8")


def test_a_bom_declares_utf_8() -> None:
    assert detect(codecs.BOM_UTF8 + b"x = 1\n") == SourceEncoding("utf-8-sig")
    assert detect(codecs.BOM_UTF8 + b"# coding: utf-8\n") == SourceEncoding("utf-8-sig")


@pytest.mark.parametrize(
    "head",
    [
        b"# -*- coding: latin-1 -*-\n",
        b"#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\n",
        b"\r# coding=latin-1\r",
        b"\x0c \t# coding=latin-1\r\n",
    ],
)
def test_a_cookie_in_the_first_two_lines_declares_the_encoding(head: bytes) -> None:
    assert detect(head + b"x = '\xe9'\n") == SourceEncoding("iso8859-1")


@pytest.mark.parametrize("head", [b"\n\n# coding: latin-1\n", b"x = 1\n# coding: latin-1\n", b"'coding: latin-1'\n"])
def test_a_cookie_elsewhere_declares_nothing(head: bytes) -> None:
    assert detect(head) == SourceEncoding("utf-8")


@pytest.mark.parametrize(
    "content",
    [
        b"x = '\xe9'\n",
        b"# coding: ascii\nx = '\xe9'\n",
        b"# coding: no-such-codec\n",
        b"# coding: hex\n",
        b"# coding: utf-16\n",
        b"# coding: unicode_escape\n",
        codecs.BOM_UTF8 + b"# coding: latin-1\n",
        b"x = '\xed\xa0\x80'\n",
    ],
)
def test_a_declaration_that_cannot_be_honoured_is_reported(content: bytes) -> None:
    assert detect(content).reason == UNDECODABLE


def test_nul_bytes_are_reported_before_anything_else() -> None:
    assert detect("x = 1".encode("utf-16")).reason == NUL_BYTES
    assert detect(b"x = 1\0").reason == NUL_BYTES


@pytest.mark.parametrize("codec", ["utf-8", "latin-1", "cp1252", "shift_jis", "euc-jp", "koi8-r", "gbk"])
def test_it_agrees_with_the_standard_library_on_what_it_accepts(codec: str) -> None:
    content = f"# coding: {codec}\nx = 1\n".encode()
    standard, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    assert codecs.lookup(detect(content).encoding) == codecs.lookup(standard)


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("latin-1", "# coding: latin-1\né = 'ü' + à\r\nß = 1"),
        ("cp1252", "# coding: cp1252\nx = '€ “q”'\né = x\n"),
        ("shift_jis", "# coding: shift_jis\n名前 = 'ｱｲｳ ソ'\nx = 名前\n"),
        ("iso2022_jp", "# coding: iso2022_jp\n名前 = 'a'\nx = 名前\n"),
        ("gb18030", "# coding: gb18030\nx = '名😀'\ny = x\n"),
        ("koi8-r", "# coding: koi8-r\nимя = 1\nx = имя\n"),
    ],
)
def test_every_character_maps_back_to_its_stored_bytes(codec: str, text: str) -> None:
    content = text.encode(codec)
    source = parser_input(content)
    assert source.utf8.decode() == text
    assert source.stored_offset(len(source.utf8)) == len(content)
    decoder = codecs.getincrementaldecoder(codec)()
    at = last = 0
    for character in text:
        end = at + len(character.encode())
        assert source.stored_offset(at) == last
        last = source.stored_offset(end)
        assert decoder.decode(content[source.stored_offset(at) : last]) == character
        at = end


def test_utf_8_and_ascii_files_are_parsed_as_stored() -> None:
    for content in ("# é\n".encode(), b"# coding: latin-1\nx = 1\n", codecs.BOM_UTF8 + b"x\n", b"\xff\xfe"):
        source = parser_input(content)
        assert source.utf8 is content and source.is_stored

"""The words of a source file that can name something: its identifiers, and what strings and type comments hold."""

from __future__ import annotations

import re

from codeanatomy_assets.contracts.spelling import same_name

# In files that may match values against classes.
CLASS_PATTERNS = "match case"
_MATCH = re.compile(r"(?:^|[\n\r])\s*match\b")
_CASE = re.compile(r"(?:^|[\n\r])\s*case\b")
_ASCII_WORDS = re.compile(r"\w+", re.ASCII)
_ANY_WORDS = re.compile(r"\w+")
# Marks that combine are part of identifiers and yet no word characters for `re`.
_RUNS = re.compile(r"[^\x00-/:-@\[-^`{-\x7f]+")


# As the indexer's tokenizer parts a text. Whatever it may part otherwise is `odd`: quotes without an end, signs that
# no token starts with (it takes those for one token up to the next space), letters beyond ASCII in code.
_LEXEMES = re.compile(
    r"""(?P<comment>\#[^\r\n]*)
    |(?P<string>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}
        |(?!\"{3})\"(?:\\(?:\r\n|.)|[^\"\\\r\n])*\"|(?!'{3})'(?:\\(?:\r\n|.)|[^'\\\r\n])*')
    |(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<line_end>\r\n|\r|\n)
    |(?P<code>(?:[A-Za-z0-9_ \t\f.,:;+*/%@&|^~<>=-]|!=|\\(?:\r\n|\r|\n))+)|(?P<odd>.)""",
    re.DOTALL | re.VERBOSE,
)
_TYPE_COMMENT = "type:"
_PLAIN_PREFIXES = frozenset({"", "r", "R", "u", "U"})


def words_of(source: bytes) -> frozenset[str]:
    """Every identifier-like word of a file that can name something, and `CLASS_PATTERNS` if it may have such."""
    text = same_name(source.decode("utf-8", errors="replace"))
    marks = {CLASS_PATTERNS} if _MATCH.search(text) and _CASE.search(text) else set()
    text = _evaluated(text.removeprefix("\ufeff"))
    if text.isascii():
        return frozenset(_ASCII_WORDS.findall(text)) | marks
    return frozenset(_ANY_WORDS.findall(text)) | frozenset(_RUNS.findall(text)) | marks


def _evaluated(text: str) -> str:
    """The text without its comments, those of types apart, and its docstrings; all of it if anything in it is odd."""
    kept: list[str] = []
    line, depth = "", 0
    statement: int | None = None
    for lexeme in _LEXEMES.finditer(text):
        kind, token = str(lexeme.lastgroup), lexeme.group()
        if kind == "odd":
            return text
        if kind == "comment":
            token = token if _TYPE_COMMENT in token else ""
        elif kind == "line_end":
            if depth == 0:
                _drop(kept, statement)
                line, statement = "", None
        elif kind == "string":
            statement = len(kept) if depth == 0 and line.strip() in _PLAIN_PREFIXES else None
            line += token[0]
        elif token.strip() or kind != "code":
            depth = max(depth + (kind == "open") - (kind == "close"), 0)
            line, statement = line + token, None
        kept.append(token)
    _drop(kept, statement)
    return "".join(kept)


def _drop(kept: list[str], place: int | None) -> None:
    if place is not None:
        kept[place] = ""

"""Text to tokens, in one pass and linear time."""

from __future__ import annotations

import re
from typing import NamedTuple

from .errors import Issue

# Possessive quantifiers: an unterminated string fails where it started instead of trying every way to split it.
_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_DIGITS = r"[0-9]+"
_EXPONENT = r"[eE][+-]?[0-9]+"


def _quoted(raw: bool) -> str:
    """The four forms of a quoted text, the triple ones first; a raw text has no escapes."""
    escape = "" if raw else rf"|{_ESCAPE}"
    backslash = "" if raw else r"\\"
    forms = []
    for quote in ('"', "'"):
        tail = rf"(?!{quote}{quote}{quote})[^{backslash}]" if backslash else rf"(?!{quote}{quote}{quote})[\s\S]"
        forms.append(rf"{quote * 3}(?:{tail}{escape})*+{quote * 3}")
    forms += [rf"{quote}(?:[^{quote}{backslash}\n\r]{escape})*+{quote}" for quote in ('"', "'")]
    return "|".join(forms)


_STRING = rf"[rR](?:{_quoted(raw=True)})|(?:{_quoted(raw=False)})"

_TOKENS = re.compile(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in (
            ("space", r"[ \t\r\n\f]+|//[^\n]*"),
            ("bytes", rf"[bB](?:{_STRING})"),
            ("string", _STRING),
            ("name", r"[A-Za-z_][A-Za-z_0-9]*"),
            ("quoted", r"`[A-Za-z0-9_.\-/ ]+`"),
            ("double", rf"{_DIGITS}\.{_DIGITS}(?:{_EXPONENT})?|{_DIGITS}{_EXPONENT}|\.{_DIGITS}(?:{_EXPONENT})?"),
            ("uint", rf"(?:0x[0-9a-fA-F]+|{_DIGITS})[uU]"),
            ("int", rf"0x[0-9a-fA-F]+|{_DIGITS}"),
            ("mark", r"&&|\|\||[=!<>]=|[-+*/%!<>()\[\]{}.,:?]"),
        )
    )
)

# What a token could have begun with, and the character that it broke at.
_PARTIAL_ESCAPE = r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?"
_BROKEN = re.compile(
    "|".join(rf"{quote}(?:[^{quote}\\\n\r]|{_ESCAPE})*+(?:{_PARTIAL_ESCAPE})?[\s\S]?" for quote in ('"', "'"))
    + r"|`[A-Za-z0-9_.\-/ ]*+[\s\S]?|[&|=][\s\S]?|[\s\S]"
)

KEYWORDS = frozenset({"in", "true", "false", "null"})


class Token(NamedTuple):
    """A token: ``kind`` is the text itself for marks and keywords, else the name of a class; the last is ``end``."""

    kind: str
    text: str
    pos: int


def tokenize(text: str) -> tuple[list[Token], list[Issue]]:
    """The tokens of an expression, white space and comments dropped, and complaints about text that is no token."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    pos = 0
    while pos < len(text):
        match = _TOKENS.match(text, pos)
        if match is None:
            broken = _BROKEN.match(text, pos)
            assert broken is not None
            issues.append(Issue(pos, f"Syntax error: token recognition error at: '{broken.group()}'"))
            pos = broken.end()
            continue
        kind = str(match.lastgroup)
        if kind != "space":
            written = match.group()
            tokens.append(Token(written if kind == "mark" or written in KEYWORDS else kind, written, pos))
        pos = match.end()
    tokens.append(Token("end", "<EOF>", len(text)))
    return tokens, issues

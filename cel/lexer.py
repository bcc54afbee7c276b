"""Text to tokens, in one pass and linear time; a reader of tokens one after another; the values of constants."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .errors import CelCompileError, Issue
from .values import INT_MAX, INT_MIN, UINT_MAX, UInt, Value

# Possessive quantifiers: an unterminated string fails where it started instead of trying every way to split it.
_ESCAPE_PATTERN = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_DIGITS = r"[0-9]+"
_EXPONENT = r"[eE][+-]?[0-9]+"


def _quoted(raw: bool) -> str:
    """The four forms of a quoted text, the triple ones first; a raw text has no escapes."""
    escape = "" if raw else rf"|{_ESCAPE_PATTERN}"
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
    "|".join(rf"{quote}(?:[^{quote}\\\n\r]|{_ESCAPE_PATTERN})*+(?:{_PARTIAL_ESCAPE})?[\s\S]?" for quote in ('"', "'"))
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


class TokenReader:
    """The tokens of a text and a place among them; complaints are kept until the end, or until one is fatal."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens, self.issues = tokenize(text)
        self._next = 0

    def take(self) -> Token:
        """The next token."""
        token = self._tokens[self._next]
        self._next += 1
        return token

    def peek(self, ahead: int = 0) -> Token:
        """A token not yet taken; the last again and again."""
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def previous(self) -> Token:
        """The token before the one taken last."""
        return self._tokens[self._next - 2]

    def expect(self, expected: str, *kinds: str) -> Token:
        """The next token, which must be of one of the kinds; ``expected`` are they, or what leads to a dead end."""
        token = self.take()
        if token.kind in kinds:
            return token
        if expected == ".":
            raise self.dead_end(expected, token)
        raise self.failure(token, f"mismatched input '{token.text}' expecting {expected}")

    def report(self, issue: Issue) -> None:
        """A complaint that does not hinder reading on."""
        self.issues.append(issue)

    def dead_end(self, begun: str, token: Token) -> CelCompileError:
        """The error for a token that cannot follow what has been begun."""
        shown = "" if token.kind == "end" else token.text
        return self.failure(token, f"no viable alternative at input '{begun}{shown}'")

    def failure(self, token: Token, message: str) -> CelCompileError:
        """The error for a token, after all complaints so far."""
        return CelCompileError.at(self._text, [*self.issues, Issue(token.pos, f"Syntax error: {message}")])

    def refusal(self, message: str) -> CelCompileError:
        """The error for the text as a whole."""
        return CelCompileError.at(self._text, [Issue(-1, message)])

    def finish(self) -> None:
        """Raise CelCompileError if there were complaints."""
        if self.issues:
            raise CelCompileError.at(self._text, self.issues)


_ESCAPE_SEQUENCE = re.compile(
    r"\\(?:([abfnrtv\"'\\?`])|([0-7]{3})|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))"
)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def parse_int(text: str) -> Value:
    """An int, decimal or hexadecimal, perhaps signed; ValueError out of the range of int64."""
    number = _integer(text)
    if not INT_MIN <= number <= INT_MAX:
        raise ValueError("invalid int literal")
    return number


def parse_uint(text: str) -> Value:
    """A uint with its ``u``; ValueError out of the range of uint64."""
    number = _integer(text[:-1])
    if number > UINT_MAX:
        raise ValueError("invalid uint literal")
    return UInt(number)


def parse_double(text: str) -> Value:
    """A double; ValueError where it overflows."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("invalid double literal")
    return number


def parse_string(text: str) -> Value:
    """A string: code points, escapes included; ValueError for an escape that is none."""
    body, raw = _unquote(text)
    return body if raw else _ESCAPE_SEQUENCE.sub(_code_point, body)


def parse_bytes(text: str) -> Value:
    """A bytes literal: octal and ``x`` escapes are bytes, other text its UTF-8 form; ValueError for ``u`` escapes."""
    body, raw = _unquote(text[1:])
    if raw:
        return body.encode()
    pieces = []
    end = 0
    for match in _ESCAPE_SEQUENCE.finditer(body):
        pieces.append(body[end : match.start()].encode())
        pieces.append(_octets(match))
        end = match.end()
    pieces.append(body[end:].encode())
    return b"".join(pieces)


def _integer(text: str) -> int:
    # Python refuses to convert more than 4300 digits; no number of 30 is in range.
    digits = text.lstrip("-")
    sign = -1 if text.startswith("-") else 1
    if digits[:2] in ("0x", "0X"):
        return sign * int(digits, 16)
    significant = digits.lstrip("0") or "0"
    return sign * (int(significant) if len(significant) < 30 else 10**30)


def _unquote(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    quoted = text[1:] if raw else text
    width = 3 if quoted[:3] in ('"""', "'''") and len(quoted) >= 6 else 1
    # cel-go reads \r\n and \r inside a literal as \n.
    return quoted[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _code_point(match: re.Match[str]) -> str:
    control, octal, *hexadecimal = match.groups()
    if control:
        return _CONTROL.get(control, control)
    code = int(octal, 8) if octal else int(next(filter(None, hexadecimal)), 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(code)


def _octets(match: re.Match[str]) -> bytes:
    control, octal, octet, *_ = match.groups()
    if control:
        return _CONTROL.get(control, control).encode()
    if octal or octet:
        return bytes([int(octal, 8) if octal else int(octet, 16)])
    raise ValueError("unable to unescape string")


PARSERS: dict[str, Callable[[str], Value]] = {
    "int": parse_int,
    "uint": parse_uint,
    "double": parse_double,
    "string": parse_string,
    "bytes": parse_bytes,
}

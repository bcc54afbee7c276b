"""What the tokens of constants mean."""

from __future__ import annotations

import re
from collections.abc import Callable

from .values import UInt, Value

MAX_INT = 2**63 - 1
MAX_UINT = 2**64 - 1

_ESCAPE = re.compile(r"\\(?:([abfnrtv\"'\\?`])|([0-7]{3})|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def parse_int(text: str) -> Value:
    """An int, decimal or hexadecimal, perhaps signed; ValueError out of the range of int64."""
    number = _integer(text)
    if not -MAX_INT - 1 <= number <= MAX_INT:
        raise ValueError("invalid int literal")
    return number


def parse_uint(text: str) -> Value:
    """A uint with its ``u``; ValueError out of the range of uint64."""
    number = _integer(text[:-1])
    if number > MAX_UINT:
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
    return body if raw else _ESCAPE.sub(_code_point, body)


def parse_bytes(text: str) -> Value:
    """A bytes literal: octal and ``x`` escapes are bytes, other text its UTF-8 form; ValueError for ``u`` escapes."""
    body, raw = _unquote(text[1:])
    if raw:
        return body.encode()
    pieces = []
    end = 0
    for match in _ESCAPE.finditer(body):
        pieces.append(body[end : match.start()].encode())
        pieces.append(_octets(match))
        end = match.end()
    pieces.append(body[end:].encode())
    return b"".join(pieces)


PARSERS: dict[str, Callable[[str], Value]] = {
    "int": parse_int,
    "uint": parse_uint,
    "double": parse_double,
    "string": parse_string,
    "bytes": parse_bytes,
}


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

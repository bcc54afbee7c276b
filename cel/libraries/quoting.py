"""Strings in double quotes: as ``strings.quote`` has them, and as Go prints them."""

from __future__ import annotations

import re

_ESCAPES = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\"",
}  # fmt: skip
_QUOTED = re.compile(r"[\a\b\f\n\r\t\v\\\"]|[\ud800-\udfff]")


def quote(text: str) -> str:
    """A string in double quotes, with escapes where CEL needs them."""
    return '"' + _QUOTED.sub(lambda match: _ESCAPES.get(match[0], "\ufffd"), text) + '"'


def go_quote(text: str) -> str:
    """A string in double quotes, with escapes for all that cannot be seen."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_go_character, text)) + '"'


def _go_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

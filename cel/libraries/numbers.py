"""Numbers and truth values in text, as Go reads and writes them."""

from __future__ import annotations

import math
import re

_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_DECIMAL = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEX_DIGITS = r"[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
_HEXADECIMAL = re.compile(rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}")
_SPECIAL = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 4000
_MOST_CHARACTERS = 10_000


def format_bool(value: bool) -> str:
    """``true`` or ``false``."""
    return "true" if value else "false"


def parse_integer(text: str) -> int | None:
    """A signed decimal integer of any size that matters; None for anything else."""
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    number = int(digits[:_MOST_DIGITS])
    return -number if text[0] == "-" else number


def parse_double(text: str) -> float | None:
    """A double; None for what Go refuses, which includes what overflows, and for texts of absurd length."""
    if len(text) > _MOST_CHARACTERS:
        return None
    if _SPECIAL.fullmatch(text):
        return float(text)
    if _DECIMAL.fullmatch(text):
        number = float(text.replace("_", ""))
    elif _HEXADECIMAL.fullmatch(text):
        number = _parse_hexadecimal(text.replace("_", ""))
    else:
        return None
    return None if math.isinf(number) else number


def _parse_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return math.inf


def format_double(number: float) -> str:
    """The shortest text that reads back as the same double, in Go's ``%g``."""
    special = format_special(number)
    if special is not None:
        return special
    digits, exponent = shortest_digits(number)
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if exponent < -4 or exponent >= 6:
        return sign + _scientific(digits, exponent)
    return sign + fixed_digits(digits, exponent)


def format_special(number: float) -> str | None:
    """``NaN``, ``+Inf`` or ``-Inf``; None for a finite number."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return None


def shortest_digits(number: float) -> tuple[str, int]:
    """The significant digits, and the exponent of the first."""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0") if fraction != "0" else ""
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0", 0
    leading = len(whole) if whole != "0" else len(digits) - len(fraction)
    return digits.rstrip("0") or "0", leading - 1 + int(exponent or 0)


def fixed_digits(digits: str, exponent: int) -> str:
    """Digits written out without an exponent."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _scientific(digits: str, exponent: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"

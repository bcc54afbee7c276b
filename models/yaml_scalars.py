"""What a YAML scalar means, as kubectl's reader (sigs.k8s.io/yaml on go-yaml v2) has it.

That is YAML 1.1 with corrections: yes, no, on, off, y and n are booleans, numbers may hold
underscores, timestamps and sexagesimal numbers stay strings. Stricter here: infinities, NaN,
integers beyond float and unknown tags are refused.
"""

import base64
import math
import re
import struct
from collections.abc import Callable
from typing import Any

from .unreadable import NUMBER_TOO_LARGE

_MAPS: dict[Any, str] = {
    None: "~ null Null NULL",
    True: "y Y yes Yes YES true True TRUE on On ON",
    False: "n N no No NO false False FALSE off Off OFF",
}
_WORDS: dict[str, Any] = {"": None, **{word: value for value, words in _MAPS.items() for word in words.split()}}
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NUMBER_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_FRACTION = re.compile(r"\._.*|\..*_")  # oddities of go-yaml's
_DIGITS = re.compile(r"[-+]?[0-9]+")
_LONGEST_INTEGER = 70  # a sign, 0b and 64 digits, with some room
_BASES = {"x": 16, "o": 8, "b": 2}


class ScalarError(ValueError):
    """A scalar without a value in JSON."""


def resolve(text: str) -> Any:
    """Give the value of a plain scalar without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in _NUMBER_STARTS else text


def _number(text: str) -> Any:
    """Read a number, or give back the text if it is none."""
    if _NOT_FINITE.fullmatch(text):
        raise ScalarError(f"{text} is not a finite number")
    plain = text if _NO_FRACTION.fullmatch(text) else text.replace("_", "")
    if len(plain) <= _LONGEST_INTEGER and _INTEGER.fullmatch(plain):
        value = _integer(plain)
        if -(2**63) <= value < 2**64:
            return value
    return _float(plain, text) if _FLOAT.fullmatch(plain) else text


def _integer(plain: str) -> int:
    digits = plain.lstrip("+-")
    base = 10
    if digits[0] == "0" and len(digits) > 1:
        base = _BASES.get(digits[1].lower(), 8)
    value = int(digits, base)
    return -value if plain[0] == "-" else value


def _float(plain: str, text: str) -> str | int | float:
    value = float(plain)
    digits = _DIGITS.fullmatch(plain)
    if math.isinf(value):
        if digits:
            raise ScalarError(f"{NUMBER_TOO_LARGE}: {plain[:20]}...")
        return text  # more likely a part of a hash than a number
    # Digits that are no integer above are like 08, or have more than 64 bits.
    return int(value) if digits and abs(value) < 2**53 else value


def _typed(*types: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = resolve(text)
        if type(value) not in types:
            raise ScalarError(f'"{text}" does not fit its tag')
        return value

    return read


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\n", ""), validate=True).decode()
    except ValueError:
        raise ScalarError("!!binary holds no base64 of UTF-8 text") from None


_TAG = "tag:yaml.org,2002:"
_READERS: dict[str, Callable[[str], Any]] = {
    "!": str,
    _TAG + "str": str,
    _TAG + "timestamp": str,
    _TAG + "int": _typed(int),
    _TAG + "float": _typed(int, float),
    _TAG + "bool": _typed(bool),
    _TAG + "null": _typed(type(None)),
    _TAG + "binary": _decoded,
}
COLLECTION_TAGS = {"map": frozenset({None, "!", _TAG + "map"}), "seq": frozenset({None, "!", _TAG + "seq"})}


def resolve_tagged(text: str, tag: str) -> Any:
    """Give the value of a scalar with a tag."""
    if tag not in _READERS:
        raise ScalarError(unknown_tag(tag))
    return _READERS[tag](text)


def unknown_tag(tag: str) -> str:
    """Word the reason for refusing a tag."""
    return f"unknown tag {tag.replace(_TAG, '!!')}"


def key_text(value: Any) -> str:
    """Turn a key that is no string into one, as JSON needs it: ``1`` to "1", ``yes`` to "true"."""
    writer = _KEY_WRITERS.get(type(value))
    if writer is None:
        raise ScalarError("a key must be a string, a number or a boolean")
    return writer(value)


def _float_key(value: float) -> str:
    """Write a float as go-yaml's users see it: the fewest digits that single precision needs."""
    try:
        single = struct.pack("<f", value)
    except OverflowError:
        raise ScalarError(NUMBER_TOO_LARGE) from None
    texts = (f"{value:.{digits}e}" for digits in range(17))
    shortest = next(text for text in texts if struct.pack("<f", float(text)) == single)
    mantissa, _, exponent = shortest.partition("e")
    if not -4 <= int(exponent) < 6:
        return shortest
    return f"{value:.{max(len(mantissa.lstrip('-').replace('.', '')) - 1 - int(exponent), 0)}f}"


_KEY_WRITERS: dict[type, Callable[[Any], str]] = {
    str: str,
    bool: lambda value: str(value).lower(),
    int: str,
    float: _float_key,
}

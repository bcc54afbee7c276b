"""How ``string.format`` prints values: a printer for each clause and type, as cel-go has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NoReturn, TypeAlias

from ..cost_meter import PACE, tick
from ..errors import CelRuntimeError
from ..values import CelMap, Duration, Timestamp, TypeValue, UInt, Value, type_name
from .declare import check_length
from .numbers import format_bool, format_double, format_special
from .quoting import go_quote
from .time_text import format_duration, format_timestamp

Print: TypeAlias = Callable[[Value, int], str]
"""Prints a value with a precision."""

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def fail(message: str) -> NoReturn:
    """Raise the error of a value that a clause does not print."""
    raise CelRuntimeError(f"error during formatting: {message}")


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        fail('could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string')


def _nested_double(value: float) -> str:
    special = format_special(value)
    return f"{value:.6f}" if special is None else f'"{special}"'


# What %s prints of a scalar inside a list or a map.
_NESTED: dict[type, Callable[[Value], str]] = {
    str: go_quote,
    bytes: lambda value: f"b{go_quote(_decoded(value))}",
    bool: format_bool,
    int: str,
    UInt: str,
    float: _nested_double,
    type(None): lambda value: "null",
    Duration: lambda value: f'duration("{format_duration(value.ns)}")',
    Timestamp: lambda value: f'timestamp("{format_timestamp(value.ns)}")',
    TypeValue: lambda value: value.name,
}


class _Text(str):
    """Text to be printed as it is."""

    __slots__ = ()


_OPENING, _COMMA, _CLOSING = map(_Text, ("[", ", ", "]"))


def _list_parts(values: Sequence[Value]) -> Iterator[Value]:
    yield _OPENING
    for number, value in enumerate(values):
        if number:
            yield _COMMA
        yield value
    yield _CLOSING


def _map_parts(values: CelMap) -> Iterator[Value]:
    """Entries in the order of their keys as text."""
    opening = "{"
    for key, value in sorted(((_scalar(key), value) for key, value in values.items()), key=itemgetter(0)):
        yield _Text(f"{opening}{key}:")
        yield value
        opening = ", "
    yield _Text("}" if values else "{}")


_PARTS: dict[type, Callable[[Value], Iterator[Value]]] = {
    list: _list_parts,
    tuple: _list_parts,
    CelMap: _map_parts,
}


def _scalar(value: Value) -> str:
    printer = _NESTED.get(type(value))
    if printer is None:
        fail(f"no formatting function for {type_name(value)}")
    return printer(value)


def _container(value: Value, precision: int) -> str:
    """A list or a map. Parts shared many times over may print to more than memory holds, hence the check."""
    written: list[str] = []
    length, opened = 0, [_PARTS[type(value)](value)]
    while opened:
        for part in opened[-1]:
            parts = _PARTS.get(type(part))
            if parts is not None:
                opened.append(parts(part))
                break
            text = part if type(part) is _Text else _scalar(part)
            written.append(text)
            if len(written) % PACE == 0:
                tick(PACE)
            length += len(text)
            check_length(length)
        else:
            opened.pop()
    return "".join(written)


def _fixed(value: float, precision: int) -> str:
    """Grouped by thousands; a negative zero loses its sign."""
    return _odd(value) or f"{value + 0.0:,.{precision}f}"


def _scientific(value: float, precision: int) -> str:
    """Always six places; what is no number is padded to the precision asked for."""
    odd = _odd(value)
    if odd:
        return odd.rjust(precision)
    digits, _, exponent = f"{value + 0.0:.6e}".partition("e")
    return f"{digits}\u00d710{exponent.lstrip('+').translate(_SUPERSCRIPTS)}"


def _odd(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return ("\u221e" if value > 0 else "-\u221e") if math.isinf(value) else ""


def _word(printer: Print, complaint: str) -> Print:
    """A printer of the numbers that go by name, as strings."""

    def printed(value: str, precision: int) -> str:
        if value not in _WORDS:
            fail(f"{complaint}, was given string")
        return printer(_WORDS[value], precision)

    return printed


def _integers(code: str) -> dict[type, Print]:
    return dict.fromkeys((int, UInt), lambda value, precision: format(int(value), code))


def _hexadecimal(code: str) -> dict[type, Print]:
    case = str.upper if code == "X" else str.lower
    return {
        **_integers(code),
        str: lambda value, precision: case(value.encode("utf-8", "surrogatepass").hex()),
        bytes: lambda value, precision: case(value.hex()),
    }


_DOUBLES_ONLY = "fixed-point clause can only be used on doubles"
_SCIENTIFIC_ONLY = "scientific clause can only be used on doubles"
_HEXADECIMAL_ONLY = "only integers, byte buffers, and strings can be formatted as hex"
_PLAIN: dict[type, Print] = {
    kind: lambda value, precision, printer=printer: printer(value)  # type: ignore[misc]
    for kind, printer in {
        **_NESTED,
        str: str,
        bytes: _decoded,
        float: format_double,
        Duration: lambda value: format_duration(value.ns),
        Timestamp: lambda value: format_timestamp(value.ns),
    }.items()
}

CLAUSES: dict[str, tuple[Mapping[type, Print], str]] = {
    "s": (
        {**_PLAIN, **dict.fromkeys(_PARTS, _container)},
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        "timestamps",
    ),
    "d": (_integers("d"), "decimal clause can only be used on integers"),
    "f": ({float: _fixed, str: _word(_fixed, _DOUBLES_ONLY)}, _DOUBLES_ONLY),
    "e": ({float: _scientific, str: _word(_scientific, _SCIENTIFIC_ONLY)}, _SCIENTIFIC_ONLY),
    "b": ({**_integers("b"), bool: _integers("b")[int]}, "only integers and bools can be formatted as binary"),
    "o": (_integers("o"), "octal clause can only be used on integers"),
    "x": (_hexadecimal("x"), _HEXADECIMAL_ONLY),
    "X": (_hexadecimal("X"), _HEXADECIMAL_ONLY),
}
"""By letter: the printers by type, and the complaint about other types."""

"""``string.format``: the clauses ``%s %d %f %e %b %o %x %X``, with a printer for each clause and type, as in cel-go."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NoReturn, TypeAlias

from ..declarations import Function
from ..errors import CelRuntimeError
from ..meter import PACE, check_size, tick
from ..types import DYN, STRING, list_of
from ..values import CelMap, Duration, Timestamp, TypeValue, UInt, Value, inner_size, type_name
from .declare import MOST_CHARACTERS, cost_per_length, format_bool, format_double, format_special, method
from .strings import go_quote
from .times import format_duration, format_timestamp

_PARSE = "could not parse formatting clause: "
_PRECISION = f"{_PARSE}error while parsing precision: "
_DEFAULT_PRECISION = 6
# cel-go's printer goes wrong beyond.
_MOST_PRECISION = 250


def _format(template: str, args: Sequence[Value]) -> str:
    parts: list[str] = []
    length = used = 0
    for text, letter, precision in read_clauses(template):
        parts.append(text)
        if not letter:
            continue
        if used >= len(args):
            raise CelRuntimeError(f"index {used} out of range")
        value = args[used]
        printers, complaint = CLAUSES[letter]
        printer = printers.get(type(value))
        if printer is None:
            fail(f"{complaint}, was given {type_name(value)}")
        printed = printer(value, precision)
        parts.append(printed)
        used += 1
        length += len(printed)
        check_size(length, MOST_CHARACTERS)
    return "".join(parts)


def read_clauses(template: str, *, static: bool = False) -> Iterator[tuple[str, str, int]]:
    """The clauses of a format string: the text before each, its letter and its precision; last, text alone.

    ``CelRuntimeError`` for what is no clause. The ``static`` check of cel-go takes any precision, and prints a wrong
    letter as a character, where the function itself looks at bytes, and prints the first one as a character.
    """
    begun = end = 0
    while (start := template.find("%", end)) >= 0:
        end, precision = start + 1, _DEFAULT_PRECISION
        if end == len(template):
            raise CelRuntimeError("unexpected end of string")
        letter = template[end]
        if letter == "%":
            yield template[begun:end], "", precision
            begun = end = end + 1
            continue
        if letter == ".":
            end, precision = _precision(template, end + 1, static)
            letter = template[end]
        if letter not in CLAUSES:
            wrong = letter if static else letter.encode("utf-8", "surrogatepass")[:1].decode("latin-1")
            raise CelRuntimeError(f'{_PARSE}unrecognized formatting clause "{wrong}"')
        yield template[begun:start], letter, precision
        begun = end = end + 1
    yield template[begun:], "", 0


def _precision(template: str, start: int, static: bool) -> tuple[int, int]:
    end = start
    while end < len(template) and template[end] in "0123456789":
        end += 1
    if end == len(template):
        raise CelRuntimeError(f"{_PRECISION}could not find end of precision specifier")
    digits = template[start:end]
    if not digits:
        raise CelRuntimeError(
            f'{_PRECISION}error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        )
    if static:
        return end, 0
    if len(digits) > 18 or int(digits) > _MOST_PRECISION:
        raise CelRuntimeError(f"{_PRECISION}precision {digits[:20]} is too large")
    return end, int(digits)


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


class _Verbatim(str):
    """Text to be printed as it is."""

    __slots__ = ()


_OPENING, _COMMA, _CLOSING = map(_Verbatim, ("[", ", ", "]"))


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
        yield _Verbatim(f"{opening}{key}:")
        yield value
        opening = ", "
    yield _Verbatim("}" if values else "{}")


def _scalar(value: Value) -> str:
    printer = _NESTED.get(type(value))
    if printer is None:
        fail(f"no formatting function for {type_name(value)}")
    return printer(value)


_PARTS: dict[type, Callable[[Value], Iterator[Value]]] = {list: _list_parts, tuple: _list_parts, CelMap: _map_parts}


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
            text = part if type(part) is _Verbatim else _scalar(part)
            written.append(text)
            if len(written) % PACE == 0:
                tick(PACE)
            length += len(text)
            check_size(length, MOST_CHARACTERS)
        else:
            opened.pop()
    return "".join(written)


def _fixed(value: float, precision: int) -> str:
    """Grouped by thousands; a negative zero loses its sign."""
    return _special_double(value) or f"{value + 0.0:,.{precision}f}"


def _scientific(value: float, precision: int) -> str:
    """Always six places; what is no number is padded to the precision asked for."""
    odd = _special_double(value)
    if odd:
        return odd.rjust(precision)
    digits, _, exponent = f"{value + 0.0:.6e}".partition("e")
    return f"{digits}\u00d710{exponent.lstrip('+').translate(_SUPERSCRIPTS)}"


def _special_double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return ("\u221e" if value > 0 else "-\u221e") if math.isinf(value) else ""


def _special_number_printer(printer: Print, complaint: str) -> Print:
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
    "f": ({float: _fixed, str: _special_number_printer(_fixed, _DOUBLES_ONLY)}, _DOUBLES_ONLY),
    "e": ({float: _scientific, str: _special_number_printer(_scientific, _SCIENTIFIC_ONLY)}, _SCIENTIFIC_ONLY),
    "b": ({**_integers("b"), bool: _integers("b")[int]}, "only integers and bools can be formatted as binary"),
    "o": (_integers("o"), "octal clause can only be used on integers"),
    "x": (_hexadecimal("x"), _HEXADECIMAL_ONLY),
    "X": (_hexadecimal("X"), _HEXADECIMAL_ONLY),
}
"""By letter: the printers by type, and the complaint about other types."""
STRING_FORMAT_FUNCTIONS: tuple[Function, ...] = (
    method("format", "string_format", (STRING, list_of(DYN)), STRING, _format, **cost_per_length(measure=inner_size)),
)

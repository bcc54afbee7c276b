"""``string.format``: the clauses %s %d %f %e %b %o %x %X, as cel-go prints them."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import CelRuntimeError
from ..library import Function
from ..types import DYN, STRING, list_of
from ..values import Value, inner_size, type_name
from .costs import per_length
from .declare import check_length, method, only
from .format_clauses import CLAUSES, fail

_PARSE = "could not parse formatting clause: "
_PRECISION = f"{_PARSE}error while parsing precision: "
_DEFAULT_PRECISION = 6
# cel-go's printer goes wrong beyond.
_MOST_PRECISION = 250


def _format(template: str, args: Sequence[Value]) -> str:
    parts: list[str] = []
    length = end = used = 0
    while (start := template.find("%", end)) >= 0:
        parts.append(template[end:start])
        letter, precision, end = _clause(template, start + 1)
        if letter == "%":
            parts.append("%")
            continue
        if used >= len(args):
            raise CelRuntimeError(f"index {used} out of range")
        parts.append(_print(letter, args[used], precision))
        used += 1
        length += len(parts[-1])
        check_length(length)
    parts.append(template[end:])
    return "".join(parts)


def _clause(template: str, start: int) -> tuple[str, int, int]:
    """The letter of the clause, its precision, and where it ends."""
    if start == len(template):
        raise CelRuntimeError("unexpected end of string")
    end, precision = start, _DEFAULT_PRECISION
    if template[start] == ".":
        end, precision = _precision(template, start + 1)
    letter = template[end]
    if letter not in CLAUSES and not (letter == "%" and end == start):
        # Go looks at bytes, and prints the first one as a character.
        first = letter.encode("utf-8", "surrogatepass")[:1].decode("latin-1")
        raise CelRuntimeError(f'{_PARSE}unrecognized formatting clause "{first}"')
    return letter, precision, end + 1


def _precision(template: str, start: int) -> tuple[int, int]:
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
    if len(digits) > 18 or int(digits) > _MOST_PRECISION:
        raise CelRuntimeError(f"{_PRECISION}precision {digits[:20]} is too large")
    return end, int(digits)


def _print(letter: str, value: Value, precision: int) -> str:
    printers, complaint = CLAUSES[letter]
    printer = printers.get(type(value))
    if printer is None:
        fail(f"{complaint}, was given {type_name(value)}")
    return printer(value, precision)


FUNCTIONS: tuple[Function, ...] = (
    only("format", method("string_format", (STRING, list_of(DYN)), STRING, _format, **per_length(measure=inner_size))),
)

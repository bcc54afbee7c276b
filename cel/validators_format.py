"""Constant format strings are checked against the types of their constant argument list."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .checker import Checked
from .errors import Issue
from .syntax import ListLiteral, Literal, MapLiteral, Method, Node, position
from .types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, UINT, Type, full_name
from .walk import children

_PRECISION = re.compile(r"\.([0-9]*)")

_Clause = tuple[frozenset[str], str]


def _clause(complaint: str, *allowed: Type) -> _Clause:
    return frozenset(type_.name for type_ in (*allowed, DYN)), complaint


_HEXADECIMAL = _clause(
    "only integers, byte buffers, and strings can be formatted as hex", INT, UINT, BYTES, STRING
)  # fmt: skip
_CLAUSES: dict[str, _Clause] = {
    "s": _clause(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        "timestamps",
        STRING, BOOL, BYTES, INT, UINT, DOUBLE, NULL, DURATION, TIMESTAMP, Type("list"), Type("map"), Type("type"),
    ),
    "d": _clause("decimal clause can only be used on integers", INT, UINT),
    "f": _clause("fixed-point clause can only be used on doubles", DOUBLE, STRING),
    "e": _clause("scientific clause can only be used on doubles", DOUBLE, STRING),
    "b": _clause("only integers and bools can be formatted as binary", INT, UINT, BOOL),
    "x": _HEXADECIMAL,
    "X": _HEXADECIMAL,
    "o": _clause("octal clause can only be used on integers", INT, UINT),
}  # fmt: skip


def format_issues(checked: Checked, receiver: Node, call: Method) -> Iterator[Issue]:
    """At most one complaint about ``'...'.format([...])``; none where either is not written out."""
    if len(call.args) != 1 or type(receiver) is not Literal or type(receiver.value) is not str:
        return
    args = call.args[0]
    if type(args) is not ListLiteral:
        return
    used = 0
    try:
        for letter in _letters(receiver.value):
            if used == len(args.elements):
                raise ValueError(f"index {used} out of range")
            issue = _misfit(checked, args.elements[used], _CLAUSES[letter])
            if issue:
                yield issue
                return
            used += 1
        if used < len(args.elements):
            raise ValueError(
                f"too many arguments supplied to string.format (expected {used}, got {len(args.elements)})"
            )
    except ValueError as error:
        yield Issue(call.pos, str(error))


def _letters(text: str) -> Iterator[str]:
    """The letters of the clauses of a format string; ValueError for what is none."""
    end = 0
    while (start := text.find("%", end)) >= 0:
        end = start + 1
        if end == len(text):
            raise ValueError("unexpected end of string")
        if text[end] == "%":
            end += 1
            continue
        end = _skip_precision(text, end)
        if text[end] not in _CLAUSES:
            raise ValueError(f'could not parse formatting clause: unrecognized formatting clause "{text[end]}"')
        yield text[end]
        end += 1


def _skip_precision(text: str, start: int) -> int:
    match = _PRECISION.match(text, start)
    if match is None:
        return start
    prefix = "could not parse formatting clause: error while parsing precision: "
    if match.end() == len(text):
        raise ValueError(f"{prefix}could not find end of precision specifier")
    if not match.group(1):
        raise ValueError(
            f'{prefix}error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        )
    return match.end()


def _misfit(checked: Checked, arg: Node, clause: _Clause) -> Issue | None:
    """The first constituent of an argument that the clause cannot print; it looks into literals."""
    allowed, complaint = clause
    pending = [arg]
    while pending:
        node = pending.pop()
        found = checked.type_of(node)
        if found.name not in allowed:
            name = full_name(Type(found.name))
            return Issue(position(node), f"error during formatting: {complaint}, was given {name}")
        if type(node) in (ListLiteral, MapLiteral):
            pending.extend(reversed(list(children(node))))
    return None

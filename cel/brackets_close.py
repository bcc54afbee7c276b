"""What a closing bracket makes of what has been read inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from . import brackets, macros
from .brackets import Bracket, Kind
from .macros import Report
from .precedence import Expression
from .syntax import Call, Index, ListLiteral, MapLiteral, Method, Struct

Close: TypeAlias = Callable[[Bracket, Expression, frozenset[str], Report], None]
"""Gives the node or step for a closed bracket to the expression around it; the names are those of dotted functions."""


def _parenthesis(bracket: Bracket, around: Expression, functions: frozenset[str], report: Report) -> None:
    around.begin(bracket.items[0], bracket.depth)


def _list(bracket: Bracket, around: Expression, functions: frozenset[str], report: Report) -> None:
    around.begin(ListLiteral(tuple(bracket.items), frozenset(bracket.optional), bracket.pos), bracket.depth)


def _map(bracket: Bracket, around: Expression, functions: frozenset[str], report: Report) -> None:
    entries = tuple(zip(bracket.keys, bracket.items, strict=True))
    around.begin(MapLiteral(entries, frozenset(bracket.optional), bracket.pos), bracket.depth)


def _struct(bracket: Bracket, around: Expression, functions: frozenset[str], report: Report) -> None:
    entries = tuple(zip(bracket.keys, bracket.items, strict=True))
    around.replace(Struct(bracket.name, entries, bracket.pos), bracket.depth)


def _index(bracket: Bracket, around: Expression, functions: frozenset[str], report: Report) -> None:
    around.step(Index(bracket.items[0], bool(bracket.optional), bracket.pos), bracket.depth)


def _call(bracket: Bracket, around: Expression, functions: frozenset[str], report: Report) -> None:
    if bracket.name == "has" and len(bracket.items) == 1:
        around.begin(macros.has(bracket.items, bracket.pos, report), bracket.depth)
    else:
        around.begin(Call(bracket.name, tuple(bracket.items), bracket.pos), bracket.depth)


def _method(bracket: Bracket, around: Expression, functions: frozenset[str], report: Report) -> None:
    name, args = bracket.name, bracket.items
    qualified = around.qualified(name)
    if qualified == "cel.bind" and len(args) == 3:
        around.replace(macros.bind(args, bracket.pos, report), bracket.depth)
    elif macros.is_macro(name, len(args)):
        around.step(macros.macro(name, around.receiver, args, bracket.pos, report), bracket.depth)
    elif qualified is not None and qualified.lstrip(".") in functions:
        around.replace(Call(qualified, tuple(args), bracket.pos), bracket.depth)
    else:
        around.step(Method(name, tuple(args), bracket.pos), bracket.depth)


CLOSE: dict[Kind, Close] = {
    brackets.PARENTHESIS: _parenthesis,
    brackets.LIST: _list,
    brackets.MAP: _map,
    brackets.STRUCT: _struct,
    brackets.INDEX: _index,
    brackets.CALL: _call,
    brackets.METHOD: _method,
}

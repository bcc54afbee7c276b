"""What may stand between the brackets of CEL, and what is said where something else does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .lexer import Token
from .precedence import Expression
from .syntax import Node

OPERAND_KINDS = frozenset(
    {"[", "{", "(", ".", "-", "!", "true", "false", "null", "double", "int", "uint", "string", "bytes", "name"}
)
_MARKS = ("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?")
_WORDS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of bracket.

    ``separated``: commas may stand inside;
    ``trailing``: one may be last; ``marks``: items may begin with a question mark; ``keyed``: items are pairs.
    """

    name: str
    closer: str
    separated: bool = False
    trailing: bool = False
    marks: bool = False
    keyed: bool = False


ROOT = Kind("root", "end")
PARENTHESIS = Kind("parenthesis", ")")
CALL = Kind("call", ")", separated=True)
METHOD = Kind("method", ")", separated=True)
INDEX = Kind("index", "]", marks=True)
LIST = Kind("list", "]", separated=True, trailing=True, marks=True)
MAP = Kind("map", "}", separated=True, trailing=True, marks=True, keyed=True)
STRUCT = Kind("struct", "}", separated=True, trailing=True)


@dataclass(slots=True)
class Bracket:
    """An open bracket and what has been read inside."""

    kind: Kind
    expression: Expression
    pos: int = 0
    name: str = ""
    key: Node | None = None
    items: list[Node] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)
    optional: set[int] = field(default_factory=set)
    depth: int = 0

    def end_expression(self) -> Node:
        """The expression read last, and its share in the depth."""
        node = self.expression.finish()
        self.depth = max(self.depth, self.expression.depth)
        return node

    def accepts(self, kind: str) -> bool:
        """Whether a token that is no operator may follow an operand here."""
        if self.awaits_colon:
            return kind == ":"
        return kind == self.kind.closer or (kind == "," and self.kind.separated)

    @property
    def awaits_colon(self) -> bool:
        """Whether a conditional or a key lacks its colon."""
        return self.expression.awaits_colon or (self.kind.keyed and self.key is None)


def unexpected(stack: list[Bracket], token: Token, following: Token) -> str:
    """The complaint about a token that cannot stand where it does, worded as ANTLR does for cel-go."""
    bracket = stack[-1]
    if not bracket.expression.complete:
        extra = following.kind in OPERAND_KINDS
        return _worded(token, _operands_expected(bracket), extra)
    expected = _after_expected(bracket)
    if bracket.accepts(following.kind):
        return _worded(token, _listed(expected), True)
    if len(expected) == 1 and _missing(stack, token):
        return f"missing {expected[0]} at '{token.text}'"
    return _worded(token, _listed(expected), False)


def unexpected_comma(bracket: Bracket, comma: Token, following: Token) -> str:
    """The complaint about a second comma in a row."""
    return _worded(comma, f"'{bracket.kind.closer}'", following.kind == bracket.kind.closer)


def _worded(token: Token, expected: str, extra: bool) -> str:
    return f"{'extraneous' if extra else 'mismatched'} input '{token.text}' expecting {expected}"


def _missing(stack: list[Bracket], token: Token) -> bool:
    """Whether the token could follow what is expected instead, so that only that is missing."""
    if stack[-1].awaits_colon:
        return token.kind in OPERAND_KINDS
    return len(stack) > 1 and stack[-2].accepts(token.kind)


def _after_expected(bracket: Bracket) -> list[str]:
    if bracket.awaits_colon:
        return ["':'"]
    if bracket.kind is ROOT:
        return ["<EOF>"]
    return [f"'{bracket.kind.closer}'"] + (["','"] if bracket.kind.trailing else [])


def _operands_expected(bracket: Bracket) -> str:
    marks = {"[", "{", "(", ".", "-", "!"}
    if not bracket.items and not bracket.expression.begun and bracket.key is None:
        marks |= {"?"} if bracket.kind.marks and not bracket.optional else set()
        marks |= {bracket.kind.closer} if bracket.kind.separated and not bracket.optional else set()
        marks |= {","} if bracket.kind.trailing and not bracket.optional else set()
    return f"{{{', '.join(f'{chr(39)}{mark}{chr(39)}' for mark in _MARKS if mark in marks)}, {_WORDS}}}"


def _listed(expected: list[str]) -> str:
    return expected[0] if len(expected) == 1 else f"{{{', '.join(expected)}}}"

"""Operators and operands between two brackets, folded into flat nodes as they arrive, by precedence.

A ``BracketKind`` says what may stand inside; ``unexpected`` words the error for a token that may not, as ANTLR does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .lexer import Token
from .syntax import Chain, Conditional, Ident, Logical, Node, Postfix, Select, Step, Unary

OPERAND_KINDS = frozenset(
    {"[", "{", "(", ".", "-", "!", "true", "false", "null", "double", "int", "uint", "string", "bytes", "name"}
)
_MARKS = ("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?")
_WORDS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"


@dataclass(frozen=True, slots=True)
class BracketKind:
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


ROOT = BracketKind("root", "end")
PARENTHESIS = BracketKind("parenthesis", ")")
CALL = BracketKind("call", ")", separated=True)
METHOD = BracketKind("method", ")", separated=True)
INDEX = BracketKind("index", "]", marks=True)
LIST = BracketKind("list", "]", separated=True, trailing=True, marks=True)
MAP = BracketKind("map", "}", separated=True, trailing=True, marks=True, keyed=True)
STRUCT = BracketKind("struct", "}", separated=True, trailing=True)


@dataclass(slots=True)
class Bracket:
    """An open bracket and what has been read inside."""

    kind: BracketKind
    expression: ExpressionBuilder
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
        return _syntax_message(token, _operands_expected(bracket), extra)
    expected = _after_expected(bracket)
    if bracket.accepts(following.kind):
        return _syntax_message(token, _expected_list(expected), True)
    if len(expected) == 1 and _is_only_missing(stack, token):
        return f"missing {expected[0]} at '{token.text}'"
    return _syntax_message(token, _expected_list(expected), False)


def unexpected_comma(bracket: Bracket, comma: Token, following: Token) -> str:
    """The complaint about a second comma in a row."""
    return _syntax_message(comma, f"'{bracket.kind.closer}'", following.kind == bracket.kind.closer)


def _syntax_message(token: Token, expected: str, extra: bool) -> str:
    return f"{'extraneous' if extra else 'mismatched'} input '{token.text}' expecting {expected}"


def _is_only_missing(stack: list[Bracket], token: Token) -> bool:
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


def _expected_list(expected: list[str]) -> str:
    return expected[0] if len(expected) == 1 else f"{{{', '.join(expected)}}}"


LEVELS = {
    **dict.fromkeys(("*", "/", "%"), 0),
    **dict.fromkeys(("+", "-"), 1),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 2),
    "&&": 3,
    "||": 4,
}
_LOGICAL = 3
_ABOVE_ALL = 5
MAX_DEPTH = 250
"""How many binary operators, selections, indexes, methods and conditionals cel-go lets stand inside one another."""
_Pending = tuple[Node, int, str, int]


class UnexpectedToken(Exception):
    """A token that cannot stand here; the parser knows which."""


class NestingTooDeep(Exception):
    """More operations inside one another than cel-go takes, be it in a row."""


@dataclass(slots=True)
class DottedNames:
    """The dotted names that stand for one identifier; ``limits`` are how many parts to join at most at a place.

    ``joined`` is set when any have been joined.
    """

    names: frozenset[str]
    limits: Mapping[int, int]
    joined: bool = False


class ExpressionBuilder:
    """One expression under construction: prefixes, an operand with its postfix steps, and what waits to the left."""

    __slots__ = ("_branches", "_condition", "_depth", "_names", "_operand", "_pending", "_prefixes", "_steps", "depth")

    def __init__(self, names: DottedNames) -> None:
        """``names`` are shared by all expressions of a text."""
        self._names = names
        self._pending: tuple[list[_Pending], ...] = ([], [], [], [], [])
        self._prefixes: list[tuple[str, int]] = []
        self._operand: Node | None = None
        self._steps: list[Step] = []
        self._condition: tuple[Node, int, int] | None = None
        self._branches: list[tuple[Node, Node, int, int]] = []
        self._depth = 0
        self.depth = 0
        """How many operations stand inside one another, once finished."""

    @property
    def complete(self) -> bool:
        """Whether an operand has been read, so that an operator or the end may follow."""
        return self._operand is not None

    @property
    def begun(self) -> bool:
        """Whether anything has been read."""
        return bool(self._prefixes or self._branches or self._condition or any(self._pending)) or self.complete

    @property
    def prefixed(self) -> str:
        """The prefix that has been read while its operand has not."""
        return self._prefixes[0][0] if self._prefixes else ""

    @property
    def awaits_colon(self) -> bool:
        """Whether a question mark is still without its colon."""
        return self._condition is not None

    def prefix(self, operator: str, pos: int) -> None:
        """``!`` or ``-`` before an operand; the grammar does not mix them."""
        if self._prefixes and self._prefixes[0][0] != operator:
            raise UnexpectedToken
        self._prefixes.append((operator, pos))

    def begin(self, operand: Node, depth: int = 0) -> None:
        """The operand; a bracketed chain of selections goes on as if it had no brackets."""
        self._operand, self._depth = operand, depth
        if type(operand) is Postfix:
            self._operand, self._steps = operand.operand, list(operand.steps)

    def step(self, step: Step, depth: int = 0) -> None:
        """A selection, index, method or macro on what has been read; ``depth`` is that of its arguments."""
        self._steps.append(step)
        self._depth = _max_depth(self._depth, depth)

    def replace(self, operand: Node, depth: int) -> None:
        """Put one operand in place of what has been read since the last operator."""
        self._operand, self._steps, self._depth = operand, [], depth

    @property
    def receiver(self) -> Node:
        """What has been read since the last operator, without prefixes."""
        assert self._operand is not None
        if not self._steps:
            return self._operand
        return self._named() or Postfix(self._operand, tuple(self._steps), self._operand.pos)

    def qualified(self, name: str) -> str | None:
        """``a.b.name`` where what has been read is ``a.b``, else None."""
        parts = self._name_parts()
        if len(parts) != len(self._steps) + 1:
            return None
        return ".".join([*parts, name])

    def infix(self, operator: str, pos: int) -> None:
        """A binary operator: what binds tighter to its left is folded."""
        level = LEVELS[operator]
        node, depth = self._fold(level)
        self._pending[level].append((node, depth, operator, pos))

    def question(self, pos: int) -> None:
        """The question mark of a conditional; in its middle another needs brackets."""
        if self._condition is not None:
            raise UnexpectedToken
        self._condition = *self._fold(_ABOVE_ALL), pos

    def colon(self) -> None:
        """The colon of a conditional."""
        assert self._condition is not None
        condition, condition_depth, pos = self._condition
        value, depth = self._fold(_ABOVE_ALL)
        self._branches.append((condition, value, max(depth, condition_depth), pos))
        self._condition = None

    def finish(self) -> Node:
        """The node of the whole expression."""
        if self._condition is not None:
            raise UnexpectedToken
        last, self.depth = self._fold(_ABOVE_ALL)
        if not self._branches:
            return last
        for _, _, depth, _ in reversed(self._branches):
            self.depth = _max_depth(self.depth, depth)
        pairs = tuple((condition, value) for condition, value, _, _ in self._branches)
        positions = tuple(pos for _, _, _, pos in self._branches)
        return Conditional(pairs, last, positions[0], positions)

    def _fold(self, below: int) -> tuple[Node, int]:
        node, depth = self._take()
        for level in range(below):
            pending = self._pending[level]
            if pending:
                node, depth = (_logical if level >= _LOGICAL else _chain)(pending, node, depth)
                pending.clear()
        return node, depth

    def _take(self) -> tuple[Node, int]:
        if self._operand is None:
            raise UnexpectedToken
        node = self.receiver
        if len(self._prefixes) % 2:
            operator, pos = self._prefixes[0]
            node = Unary(operator, node, pos)
        self._operand, self._steps, self._prefixes = None, [], []
        return node, self._depth

    def _named(self) -> Node | None:
        """The longest dotted name at the start that stands for one identifier."""
        parts = self._name_parts() if self._names.names else []
        if len(parts) < 2:
            return None
        assert self._operand is not None
        most = self._names.limits.get(self._operand.pos, len(parts))
        for length in range(min(most, len(parts)), 1, -1):
            name = ".".join(parts[:length])
            if name.lstrip(".") in self._names.names:
                self._names.joined = True
                ident = Ident(name, self._operand.pos)
                rest = tuple(self._steps[length - 1 :])
                return Postfix(ident, rest, ident.pos) if rest else ident
        return None

    def _name_parts(self) -> list[str]:
        if type(self._operand) is not Ident:
            return []
        parts = [self._operand.name]
        for step in self._steps:
            if type(step) is not Select or step.optional:
                break
            parts.append(step.field)
        return parts


def _chain(pending: list[_Pending], last: Node, last_depth: int) -> tuple[Node, int]:
    first, depth, _, _ = pending[0]
    rest = []
    following = [(node, node_depth) for node, node_depth, _, _ in pending[1:]] + [(last, last_depth)]
    for (_, _, operator, pos), (node, node_depth) in zip(pending, following, strict=True):
        rest.append((operator, node, pos))
        depth = _max_depth(depth, node_depth)
    return Chain(first, tuple(rest), first.pos), depth


def _logical(pending: list[_Pending], last: Node, last_depth: int) -> tuple[Node, int]:
    """``&&`` and ``||`` do not count as depth: cel-go balances them."""
    operands = (*(node for node, _, _, _ in pending), last)
    positions = tuple(pos for _, _, _, pos in pending)
    depth = max(last_depth, *(depth for _, depth, _, _ in pending))
    return Logical(pending[0][2], operands, positions[0], positions), depth


def _max_depth(one: int, other: int) -> int:
    depth = max(one, other) + 1
    if depth > MAX_DEPTH:
        raise NestingTooDeep
    return depth

"""The open brackets of a text that is being parsed, and what ends them."""

from __future__ import annotations

from . import brackets
from .brackets import Bracket, Kind
from .brackets_close import CLOSE
from .precedence import Expression, Misplaced
from .syntax import Node
from .tokens import TokenReader

MAX_NESTING = 250
"""How many brackets may stand inside one another, the whole text being the first."""


class OpenBrackets(TokenReader):
    """Tokens, and a stack of the brackets that are open at a place among them."""

    result: Node

    def __init__(self, text: str, functions: frozenset[str], names: frozenset[str]) -> None:
        """``functions`` and ``names`` are the dotted names that are functions, and identifiers."""
        super().__init__(text)
        self._functions = functions
        self._names = names
        self.stack: list[Bracket] = []

    @property
    def innermost(self) -> Bracket:
        """The bracket opened last."""
        return self.stack[-1]

    @property
    def here(self) -> Expression:
        """The expression being read."""
        return self.stack[-1].expression

    def expression(self) -> Expression:
        """A new expression."""
        return Expression(self._names)

    def open(self, kind: Kind, pos: int = 0, name: str = "") -> None:
        """A bracket opens; CelCompileError where it stands too deep."""
        if len(self.stack) >= MAX_NESTING:
            raise self.refusal(f"expression recursion limit exceeded: {MAX_NESTING}")
        self.stack.append(Bracket(kind, self.expression(), pos, name))

    def end_item(self, bracket: Bracket) -> None:
        """A comma or the closing bracket after an item."""
        if bracket.kind.keyed:
            if bracket.key is None:
                raise Misplaced
            bracket.keys.append(bracket.key)
            bracket.key = None
        bracket.items.append(bracket.end_expression())

    def end_empty(self, bracket: Bracket) -> None:
        """A closing bracket where an item might begin: nothing was written, or a trailing comma."""
        before = self.previous()
        if not bracket.kind.separated or not (
            before.pos == bracket.pos or (before.kind == "," and bracket.kind.trailing)
        ):
            raise Misplaced
        self.close(bracket)

    def close(self, bracket: Bracket) -> None:
        """Give what a bracket holds to the expression around it; that of the outermost is the result."""
        self.stack.pop()
        if bracket.kind is brackets.ROOT:
            self.result = bracket.items[0]
        else:
            CLOSE[bracket.kind](bracket, self.here, self._functions, self.report)

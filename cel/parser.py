"""Tokens to syntax tree, without recursion: one stack entry for each open bracket.

The limits are those of cel-go's parser as Kubernetes uses it: how deep brackets may nest, and how many operations may
stand inside one another, be it only in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from . import brackets, literals
from .brackets import unexpected, unexpected_comma
from .brackets_open import OpenBrackets
from .errors import CelCompileError, Issue
from .lexer import Token
from .precedence import LEVELS, Misplaced, TooDeep
from .syntax import Ident, Literal, Node, Select

MAX_BYTES = 10_240

RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"}
    | {"namespace", "return", "var", "void", "while"}
)
_FIELD = "{IDENTIFIER, ESC_IDENTIFIER}"
_CONSTANTS = {"true": True, "false": False, "null": None}


def parse(text: str, functions: frozenset[str] = frozenset(), names: frozenset[str] = frozenset()) -> Node:
    """The syntax tree of an expression.

    ``functions`` are the dotted names that are functions (``sets.contains``), ``names`` those that are identifiers.
    Raises CelCompileError with every complaint that does not hinder reading on, and the first that does. The work
    is linear in the length, which is at most 10,240 bytes (CLM-6); that bounds the number of tokens too.
    """
    try:
        length = len(require_text(text).encode())
    except UnicodeEncodeError as error:
        raise CelCompileError.at("", [Issue(0, f"invalid unicode code point at {error.start}")]) from None
    if length > MAX_BYTES:
        raise CelCompileError(f"Too long: may not be more than {MAX_BYTES} bytes")
    return _Parser(text, functions, names).run()


def require_text(text: str) -> str:
    """The text of an expression as it is; CelCompileError for what is no text, whatever annotations say."""
    if isinstance(text, str):
        return text
    raise CelCompileError(f"an expression must be a string, not {type(text).__name__}")


class _Parser(OpenBrackets):
    def run(self) -> Node:
        self.open(brackets.ROOT)
        while self.stack:
            token = self.take()
            try:
                if self.here.complete:
                    self._after_operand(token)
                else:
                    self._at_operand(token)
            except Misplaced:
                raise self.failure(token, unexpected(self.stack, token, self.peek())) from None
            except TooDeep:
                raise self.refusal("max recursion depth exceeded") from None
        self.finish()
        return self.result

    # --- where an operand may begin

    def _at_operand(self, token: Token) -> None:
        handler = self._OPERANDS.get(token.kind)
        bracket = self.innermost
        if handler is not None:
            handler(self, token)
        elif token.kind == bracket.kind.closer:
            self.end_empty(bracket)
        elif token.kind == "," and bracket.kind.trailing and self.previous().pos == bracket.pos:
            self.expect(f"'{bracket.kind.closer}'", bracket.kind.closer)
            self.close(bracket)
        else:
            raise Misplaced

    def _constant(self, token: Token) -> None:
        self.here.begin(Literal(_CONSTANTS[token.kind], token.pos))

    def _literal(self, token: Token, sign: str = "") -> None:
        try:
            value = literals.PARSERS[token.kind](sign + token.text)
        except ValueError as error:
            self.report(Issue(token.pos, str(error)))
            value = None
        self.here.begin(Literal(value, token.pos))

    def _minus(self, token: Token) -> None:
        following = self.peek()
        if following.kind in ("int", "double") and not self.here.minus_pending:
            self._literal(self.take()._replace(pos=token.pos), "-")
        elif following.kind not in brackets.OPERAND_KINDS or following.kind == "!" or self.here.not_pending:
            raise self.dead_end("-", following)
        else:
            self.here.prefix("-", token.pos)

    def _not(self, token: Token) -> None:
        self.here.prefix("!", token.pos)

    def _leading_dot(self, token: Token) -> None:
        self._name(self.expect(".", "name"), ".")

    def _name(self, token: Token, dot: str = "") -> None:
        if token.text in RESERVED:
            self.report(Issue(token.pos, f"reserved identifier: {token.text}"))
        if self.peek().kind == "(":
            self.open(brackets.CALL, self.take().pos, dot + token.text)
        else:
            self.here.begin(Ident(dot + token.text, token.pos))

    def _parenthesis(self, token: Token) -> None:
        self.open(brackets.PARENTHESIS, token.pos)

    def _list(self, token: Token) -> None:
        self.open(brackets.LIST, token.pos)

    def _map(self, token: Token) -> None:
        self.open(brackets.MAP, token.pos)

    def _mark(self, token: Token) -> None:
        bracket = self.innermost
        if not bracket.kind.marks or self.previous().kind not in ("[", "{", ","):
            raise Misplaced
        bracket.optional.add(len(bracket.items))

    # --- what may follow an operand

    def _after_operand(self, token: Token) -> None:
        bracket = self.innermost
        if token.kind == bracket.kind.closer:
            self.end_item(bracket)
            self.close(bracket)
        elif token.kind in LEVELS:
            self.here.infix(token.kind, token.pos)
        elif token.kind in self._FOLLOWERS:
            self._FOLLOWERS[token.kind](self, token)
        else:
            raise Misplaced

    def _dot(self, token: Token) -> None:
        if self.peek().kind == "?":
            self.take()
            name = self._field(_FIELD)
            self.here.step(Select(name, True, token.pos))
        elif self.peek().kind == "name" and self.peek(1).kind == "(":
            name = self.take().text
            self.open(brackets.METHOD, self.take().pos, name)
        else:
            self.here.step(Select(self._field("."), False, token.pos))

    def _field(self, expected: str) -> str:
        return self.expect(expected, "name", "quoted").text.strip("`")

    def _subscript(self, token: Token) -> None:
        self.open(brackets.INDEX, token.pos)

    def _brace(self, token: Token) -> None:
        name = self.here.qualified("")
        if name is None:
            raise Misplaced
        self.open(brackets.STRUCT, token.pos, name[:-1])
        self._struct_field()

    def _struct_field(self) -> None:
        """A field name and its colon; they are no expression, so they are read ahead of it."""
        if self.peek().kind in ("}", ","):
            return
        if self.peek().kind == "?":
            self.take()
        self.innermost.keys.append(self._field(_FIELD))
        self.expect("':'", ":")

    def _question(self, token: Token) -> None:
        self.here.question(token.pos)

    def _colon(self, token: Token) -> None:
        bracket = self.innermost
        if self.here.awaits_colon:
            self.here.colon()
        elif bracket.awaits_colon:
            bracket.key = bracket.end_expression()
            bracket.expression = self.expression()
        else:
            raise Misplaced

    def _comma(self, token: Token) -> None:
        bracket = self.innermost
        if not bracket.kind.separated:
            raise Misplaced
        self.end_item(bracket)
        bracket.expression = self.expression()
        if bracket.kind is brackets.STRUCT:
            self._struct_field()
        elif bracket.kind.trailing and self.peek().kind == ",":
            raise self.failure(self.peek(), unexpected_comma(bracket, self.peek(), self.peek(1)))

    _OPERANDS: ClassVar[dict[str, Callable[[_Parser, Token], None]]] = {
        **dict.fromkeys(_CONSTANTS, _constant),
        **dict.fromkeys(literals.PARSERS, _literal),
        "-": _minus,
        "!": _not,
        ".": _leading_dot,
        "name": _name,
        "(": _parenthesis,
        "[": _list,
        "{": _map,
        "?": _mark,
    }
    _FOLLOWERS: ClassVar[dict[str, Callable[[_Parser, Token], None]]] = {
        ".": _dot,
        "[": _subscript,
        "{": _brace,
        "?": _question,
        ":": _colon,
        ",": _comma,
    }

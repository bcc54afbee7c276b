"""Tokens to syntax tree, without recursion: one stack entry for each open bracket.

The limits are those of cel-go's parser as Kubernetes uses it: how deep brackets may nest, and how many operations may
stand inside one another, be it only in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from . import brackets, literals, macros
from .brackets import Bracket, Kind, unexpected, unexpected_comma
from .errors import CelCompileError, Issue
from .lexer import Token, tokenize
from .precedence import LEVELS, Expression, Misplaced, TooDeep
from .syntax import Call, Ident, Index, ListLiteral, Literal, MapLiteral, Method, Node, Select, Struct

MAX_BYTES = 10_240
MAX_NESTING = 250

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
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise CelCompileError(f"Too long: may not be more than {MAX_BYTES} bytes")
    return _Parser(text, functions, names).run()


class _Parser:
    def __init__(self, text: str, functions: frozenset[str], names: frozenset[str]) -> None:
        self._text = text
        self._functions = functions
        self._names = names
        self._tokens, self._issues = tokenize(text)
        self._next = 0
        self._result: Node | None = None
        self._stack: list[Bracket] = []
        self._open(brackets.ROOT)

    def run(self) -> Node:
        while self._result is None:
            token = self._take()
            try:
                if self._here.complete:
                    self._after_operand(token)
                else:
                    self._at_operand(token)
            except Misplaced:
                raise self._failure(token, unexpected(self._stack, token, self._peek())) from None
            except TooDeep:
                raise self._whole("max recursion depth exceeded") from None
        if self._issues:
            raise CelCompileError.at(self._text, self._issues)
        return self._result

    # --- tokens

    @property
    def _here(self) -> Expression:
        return self._stack[-1].expression

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def _previous(self) -> Token:
        """The token before the one just taken."""
        return self._tokens[self._next - 2]

    def _expect(self, expected: str, *kinds: str) -> Token:
        """The next token, which must be of one of the kinds; ``expected`` are they, or what leads to a dead end."""
        token = self._take()
        if token.kind in kinds:
            return token
        if expected == ".":
            raise self._failure(token, f"no viable alternative at input '.{_shown(token)}'")
        raise self._failure(token, f"mismatched input '{token.text}' expecting {expected}")

    def _failure(self, token: Token, message: str) -> CelCompileError:
        return CelCompileError.at(self._text, [*self._issues, Issue(token.pos, f"Syntax error: {message}")])

    def _whole(self, message: str) -> CelCompileError:
        return CelCompileError.at(self._text, [Issue(-1, message)])

    def _report(self, issue: Issue) -> None:
        self._issues.append(issue)

    # --- where an operand may begin

    def _at_operand(self, token: Token) -> None:
        handler = self._OPERANDS.get(token.kind)
        bracket = self._stack[-1]
        if handler is not None:
            handler(self, token)
        elif token.kind == bracket.kind.closer:
            self._end_empty(bracket)
        elif token.kind == "," and bracket.kind.trailing and self._previous().pos == bracket.pos:
            self._expect(f"'{bracket.kind.closer}'", bracket.kind.closer)
            self._close(bracket)
        else:
            raise Misplaced

    def _constant(self, token: Token) -> None:
        self._here.begin(Literal(_CONSTANTS[token.kind], token.pos))

    def _literal(self, token: Token, sign: str = "") -> None:
        try:
            value = literals.PARSERS[token.kind](sign + token.text)
        except ValueError as error:
            self._report(Issue(token.pos, str(error)))
            value = None
        self._here.begin(Literal(value, token.pos))

    def _minus(self, token: Token) -> None:
        following = self._peek()
        if following.kind in ("int", "double") and not self._here.minus_pending:
            self._literal(self._take()._replace(pos=token.pos), "-")
        elif following.kind not in brackets.OPERAND_KINDS or following.kind == "!" or self._here.not_pending:
            raise self._failure(following, f"no viable alternative at input '-{_shown(following)}'")
        else:
            self._here.prefix("-", token.pos)

    def _not(self, token: Token) -> None:
        self._here.prefix("!", token.pos)

    def _leading_dot(self, token: Token) -> None:
        self._name(self._expect(".", "name"), ".")

    def _name(self, token: Token, dot: str = "") -> None:
        if token.text in RESERVED:
            self._report(Issue(token.pos, f"reserved identifier: {token.text}"))
        if self._peek().kind == "(":
            self._open(brackets.CALL, self._take().pos, dot + token.text)
        else:
            self._here.begin(Ident(dot + token.text, token.pos))

    def _parenthesis(self, token: Token) -> None:
        self._open(brackets.PARENTHESIS, token.pos)

    def _list(self, token: Token) -> None:
        self._open(brackets.LIST, token.pos)

    def _map(self, token: Token) -> None:
        self._open(brackets.MAP, token.pos)

    def _mark(self, token: Token) -> None:
        bracket = self._stack[-1]
        if not bracket.kind.marks or self._previous().kind not in ("[", "{", ","):
            raise Misplaced
        bracket.optional.add(len(bracket.items))

    # --- what may follow an operand

    def _after_operand(self, token: Token) -> None:
        bracket = self._stack[-1]
        if token.kind == bracket.kind.closer:
            self._end_item(bracket)
            self._close(bracket)
        elif token.kind in LEVELS:
            self._here.infix(token.kind, token.pos)
        elif token.kind in self._FOLLOWERS:
            self._FOLLOWERS[token.kind](self, token)
        else:
            raise Misplaced

    def _dot(self, token: Token) -> None:
        if self._peek().kind == "?":
            self._take()
            name = self._field(_FIELD)
            self._here.step(Select(name, True, token.pos))
        elif self._peek().kind == "name" and self._peek(1).kind == "(":
            name = self._take().text
            self._open(brackets.METHOD, self._take().pos, name)
        else:
            self._here.step(Select(self._field("."), False, token.pos))

    def _field(self, expected: str) -> str:
        return self._expect(expected, "name", "quoted").text.strip("`")

    def _subscript(self, token: Token) -> None:
        self._open(brackets.INDEX, token.pos)

    def _brace(self, token: Token) -> None:
        name = self._here.qualified("")
        if name is None:
            raise Misplaced
        self._open(brackets.STRUCT, token.pos, name[:-1])
        self._struct_field()

    def _struct_field(self) -> None:
        """A field name and its colon; they are no expression, so they are read ahead of it."""
        if self._peek().kind in ("}", ","):
            return
        if self._peek().kind == "?":
            self._take()
        self._stack[-1].keys.append(self._field(_FIELD))
        self._expect("':'", ":")

    def _question(self, token: Token) -> None:
        self._here.question(token.pos)

    def _colon(self, token: Token) -> None:
        bracket = self._stack[-1]
        if self._here.awaits_colon:
            self._here.colon()
        elif bracket.awaits_colon:
            bracket.key = bracket.end_expression()
            bracket.expression = Expression(self._names)
        else:
            raise Misplaced

    def _comma(self, token: Token) -> None:
        bracket = self._stack[-1]
        if not bracket.kind.separated:
            raise Misplaced
        self._end_item(bracket)
        bracket.expression = Expression(self._names)
        if bracket.kind is brackets.STRUCT:
            self._struct_field()
        elif bracket.kind.trailing and self._peek().kind == ",":
            raise self._failure(self._peek(), unexpected_comma(bracket, self._peek(), self._peek(1)))

    # --- brackets

    def _open(self, kind: Kind, pos: int = 0, name: str = "") -> None:
        if len(self._stack) >= MAX_NESTING:
            raise self._whole(f"expression recursion limit exceeded: {MAX_NESTING}")
        self._stack.append(Bracket(kind, Expression(self._names), pos, name))

    def _end_item(self, bracket: Bracket) -> None:
        if bracket.kind.keyed:
            if bracket.key is None:
                raise Misplaced
            bracket.keys.append(bracket.key)
            bracket.key = None
        bracket.items.append(bracket.end_expression())

    def _end_empty(self, bracket: Bracket) -> None:
        """A closing bracket where an item might begin: nothing was written, or a trailing comma."""
        before = self._previous()
        if not bracket.kind.separated or not (before.pos == bracket.pos or (before.kind == "," and bracket.kind.trailing)):
            raise Misplaced
        self._close(bracket)

    def _close(self, bracket: Bracket) -> None:
        self._stack.pop()
        self._CLOSERS[bracket.kind.close](self, bracket)

    def _close_root(self, bracket: Bracket) -> None:
        self._result = bracket.items[0]

    def _close_parenthesis(self, bracket: Bracket) -> None:
        self._here.begin(bracket.items[0], bracket.depth)

    def _close_list(self, bracket: Bracket) -> None:
        node = ListLiteral(tuple(bracket.items), frozenset(bracket.optional), bracket.pos)
        self._here.begin(node, bracket.depth)

    def _close_map(self, bracket: Bracket) -> None:
        entries = tuple(zip(bracket.keys, bracket.items, strict=True))
        self._here.begin(MapLiteral(entries, frozenset(bracket.optional), bracket.pos), bracket.depth)

    def _close_struct(self, bracket: Bracket) -> None:
        entries = tuple(zip(bracket.keys, bracket.items, strict=True))
        self._here.replace(Struct(bracket.name, entries, bracket.pos), bracket.depth)

    def _close_index(self, bracket: Bracket) -> None:
        self._here.step(Index(bracket.items[0], bool(bracket.optional), bracket.pos), bracket.depth)

    def _close_call(self, bracket: Bracket) -> None:
        if bracket.name == "has" and len(bracket.items) == 1:
            self._here.begin(macros.has(bracket.items, bracket.pos, self._report), bracket.depth)
        else:
            self._here.begin(Call(bracket.name, tuple(bracket.items), bracket.pos), bracket.depth)

    def _close_method(self, bracket: Bracket) -> None:
        name, args = bracket.name, bracket.items
        qualified = self._here.qualified(name)
        if qualified == "cel.bind" and len(args) == 3:
            self._here.replace(macros.bind(args, bracket.pos, self._report), bracket.depth)
        elif macros.is_macro(name, len(args)):
            self._here.step(macros.macro(name, args, bracket.pos, self._report), bracket.depth)
        elif qualified is not None and qualified.lstrip(".") in self._functions:
            self._here.replace(Call(qualified, tuple(args), bracket.pos), bracket.depth)
        else:
            self._here.step(Method(name, tuple(args), bracket.pos), bracket.depth)

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
    _CLOSERS: ClassVar[dict[str, Callable[[_Parser, Bracket], None]]] = {
        "root": _close_root,
        "parenthesis": _close_parenthesis,
        "list": _close_list,
        "map": _close_map,
        "struct": _close_struct,
        "index": _close_index,
        "call": _close_call,
        "method": _close_method,
    }


def _shown(token: Token) -> str:
    return "" if token.kind == "end" else token.text

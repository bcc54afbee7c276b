"""Tokens to syntax tree, without recursion: one stack entry for each open bracket.

The nesting limit is the one of Kubernetes' parser; operators, selections and conditionals in a row do not nest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from . import literals, macros
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
_CONSTANTS = {"true": True, "false": False, "null": None}
_OPERANDS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


@dataclass(slots=True)
class _Bracket:
    """An open bracket: what closes it, what to do then, and what has been read inside."""

    closer: str
    close: Callable[[_Bracket], None]
    expression: Expression
    pos: int = 0
    name: str = ""
    separated: bool = False
    """Whether commas may stand inside, and ``trailing`` whether one may be last."""
    trailing: bool = False
    marks: bool = False
    """Whether an item may begin with a question mark."""
    keyed: bool = False
    key: Node | None = None
    items: list[Node] = field(default_factory=list)
    keys: list[Node] = field(default_factory=list)
    optional: set[int] = field(default_factory=set)
    depth: int = 0


def parse(text: str, functions: frozenset[str] = frozenset(), names: frozenset[str] = frozenset()) -> Node:
    """The syntax tree of an expression.

    ``functions`` are the dotted names that are functions (``sets.contains``), ``names`` those that are identifiers.
    Raises CelCompileError with every complaint that does not hinder reading on, at most one that does. The work
    is linear in the length, which is at most 10,240 bytes (CLM-6).
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise CelCompileError(f"Too long: may not be more than {MAX_BYTES} bytes")
    return _Parser(text, functions, names).run()


class _Parser:
    def __init__(self, text: str, functions: frozenset[str], names: frozenset[str]) -> None:
        self._text = text
        self._functions = functions
        self._names = names
        self._tokens = tokenize(text)
        self._next = 0
        self._issues: list[Issue] = []
        self._result: Node | None = None
        self._stack: list[_Bracket] = []
        self._open("end", self._close_root)

    def run(self) -> Node:
        while self._result is None:
            token = self._take()
            try:
                if self._here.complete:
                    self._after_operand(token)
                else:
                    self._at_operand(token)
            except Misplaced:
                raise self._failure(token) from None
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

    def _peek(self, ahead: int = 0) -> str:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)].kind

    def _previous(self) -> Token:
        """The token before the one just taken."""
        return self._tokens[self._next - 2]

    def _expect(self, *kinds: str) -> Token:
        token = self._take()
        if token.kind not in kinds:
            expected = {"name": "IDENTIFIER"}.get(kinds[0], f"'{kinds[0]}'")
            raise self._failure(token, f"mismatched input '{token.text}' expecting {expected}")
        return token

    def _failure(self, token: Token, message: str = "") -> CelCompileError:
        if not message:
            expected = "<EOF>" if self._here.complete else _OPERANDS
            message = f"mismatched input '{token.text}' expecting {expected}"
        return CelCompileError.at(self._text, [*self._issues, Issue(token.pos, f"Syntax error: {message}")])

    def _whole(self, message: str) -> CelCompileError:
        return CelCompileError.at(self._text, [Issue(-1, message)])

    def _report(self, issue: Issue) -> None:
        self._issues.append(issue)

    # --- where an operand may begin

    def _at_operand(self, token: Token) -> None:
        handler = self._OPERAND_HANDLERS.get(token.kind)
        if handler is not None:
            handler(self, token)
        elif token.kind == self._stack[-1].closer:
            self._end_empty()
        elif token.kind == "," and self._stack[-1].trailing and self._previous().pos == self._stack[-1].pos:
            self._expect(self._stack[-1].closer)
            self._stack[-1].close(self._stack[-1])
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
        if self._peek() in ("int", "double") and not self._here.minus_pending:
            self._literal(self._take()._replace(pos=token.pos), "-")
        else:
            self._here.prefix("-", token.pos)

    def _not(self, token: Token) -> None:
        self._here.prefix("!", token.pos)

    def _leading_dot(self, token: Token) -> None:
        self._name(self._expect("name"), ".")

    def _name(self, token: Token, dot: str = "") -> None:
        if token.text in RESERVED:
            self._report(Issue(token.pos, f"reserved identifier: {token.text}"))
        if self._peek() == "(":
            self._open(")", self._close_call, self._take().pos, name=dot + token.text, separated=True)
        else:
            self._here.begin(Ident(dot + token.text, token.pos))

    def _parenthesis(self, token: Token) -> None:
        self._open(")", self._close_parenthesis, token.pos)

    def _list(self, token: Token) -> None:
        self._open("]", self._close_list, token.pos, separated=True, trailing=True, marks=True)

    def _map(self, token: Token) -> None:
        self._open("}", self._close_map, token.pos, separated=True, trailing=True, marks=True, keyed=True)

    def _mark(self, token: Token) -> None:
        bracket = self._stack[-1]
        position = len(bracket.items)
        if not bracket.marks or position in bracket.optional or self._previous().kind not in ("[", "{", ","):
            raise Misplaced
        bracket.optional.add(position)

    # --- what may follow an operand

    def _after_operand(self, token: Token) -> None:
        bracket = self._stack[-1]
        if token.kind == bracket.closer:
            self._end_item(bracket)
            bracket.close(bracket)
        elif token.kind in LEVELS:
            self._here.infix(token.kind, token.pos)
        elif token.kind in self._FOLLOWERS:
            self._FOLLOWERS[token.kind](self, token)
        else:
            raise Misplaced

    def _dot(self, token: Token) -> None:
        if self._peek() == "?":
            self._take()
            self._here.step(Select(self._field(), True, token.pos))
        elif self._peek() == "name" and self._peek(1) == "(":
            name = self._take().text
            self._open(")", self._close_method, self._take().pos, name=name, separated=True)
        else:
            self._here.step(Select(self._field(), False, token.pos))

    def _field(self) -> str:
        token = self._expect("name", "quoted")
        return token.text.strip("`")

    def _subscript(self, token: Token) -> None:
        self._open("]", self._close_index, token.pos, marks=True)

    def _brace(self, token: Token) -> None:
        name = self._here.qualified("")
        if name is None:
            raise Misplaced
        self._open("}", self._close_struct, token.pos, name=name[:-1], separated=True, trailing=True, marks=True)
        self._struct_field()

    def _struct_field(self) -> None:
        """A field name and its colon; they are no expression, so they are read ahead of it."""
        if self._peek() == "}":
            return
        if self._peek() == "?":
            self._take()
        token = self._expect("name", "quoted")
        self._stack[-1].keys.append(Ident(token.text.strip("`"), token.pos))
        self._expect(":")

    def _question(self, token: Token) -> None:
        self._here.question(token.pos)

    def _colon(self, token: Token) -> None:
        bracket = self._stack[-1]
        if self._here.awaits_colon:
            self._here.colon()
        elif bracket.keyed and bracket.key is None:
            bracket.key = self._here.finish()
            bracket.depth = max(bracket.depth, self._here.depth)
            bracket.expression = Expression(self._names)
        else:
            raise Misplaced

    def _comma(self, token: Token) -> None:
        bracket = self._stack[-1]
        if not bracket.separated:
            raise Misplaced
        self._end_item(bracket)
        bracket.expression = Expression(self._names)
        if bracket.close == self._close_struct:
            self._struct_field()

    # --- brackets

    def _open(self, closer: str, close: Callable[[_Bracket], None], pos: int = 0, **rules: object) -> None:
        if len(self._stack) >= MAX_NESTING:
            raise self._whole(f"expression recursion limit exceeded: {MAX_NESTING}")
        self._stack.append(_Bracket(closer, close, Expression(self._names), pos, **rules))  # type: ignore[arg-type]

    def _end_item(self, bracket: _Bracket) -> None:
        if bracket.keyed:
            if bracket.key is None:
                raise Misplaced
            bracket.keys.append(bracket.key)
            bracket.key = None
        bracket.items.append(bracket.expression.finish())
        bracket.depth = max(bracket.depth, bracket.expression.depth)

    def _end_empty(self) -> None:
        """A closing bracket where an item might begin: nothing was written, or a trailing comma."""
        bracket = self._stack[-1]
        before = self._previous()
        if not bracket.separated or not (before.pos == bracket.pos or (before.kind == "," and bracket.trailing)):
            raise Misplaced
        bracket.close(bracket)

    def _pop(self) -> Expression:
        self._stack.pop()
        return self._here

    def _close_root(self, bracket: _Bracket) -> None:
        self._result = bracket.items[0]

    def _close_parenthesis(self, bracket: _Bracket) -> None:
        self._pop().begin(bracket.items[0], bracket.depth)

    def _close_list(self, bracket: _Bracket) -> None:
        self._pop().begin(ListLiteral(tuple(bracket.items), frozenset(bracket.optional), bracket.pos), bracket.depth)

    def _close_map(self, bracket: _Bracket) -> None:
        entries = tuple(zip(bracket.keys, bracket.items, strict=True))
        self._pop().begin(MapLiteral(entries, frozenset(bracket.optional), bracket.pos), bracket.depth)

    def _close_struct(self, bracket: _Bracket) -> None:
        names = [key.name for key in bracket.keys if type(key) is Ident]
        entries = tuple(zip(names, bracket.items, strict=True))
        self._pop().replace(Struct(bracket.name, entries, bracket.pos), bracket.depth)

    def _close_index(self, bracket: _Bracket) -> None:
        self._pop().step(Index(bracket.items[0], bool(bracket.optional), bracket.pos), bracket.depth)

    def _close_call(self, bracket: _Bracket) -> None:
        here = self._pop()
        if bracket.name == "has" and len(bracket.items) == 1:
            here.begin(macros.has(bracket.items, bracket.pos, self._report), bracket.depth)
        else:
            here.begin(Call(bracket.name, tuple(bracket.items), bracket.pos), bracket.depth)

    def _close_method(self, bracket: _Bracket) -> None:
        here = self._pop()
        name, args = bracket.name, bracket.items
        qualified = here.qualified(name)
        if qualified == "cel.bind" and len(args) == 3:
            here.replace(macros.bind(args, bracket.pos, self._report), bracket.depth)
        elif macros.is_macro(name, len(args)):
            here.step(macros.macro(name, args, bracket.pos, self._report), bracket.depth)
        elif qualified is not None and qualified.lstrip(".") in self._functions:
            here.replace(Call(qualified, tuple(args), bracket.pos), bracket.depth)
        else:
            here.step(Method(name, tuple(args), bracket.pos), bracket.depth)

    _OPERAND_HANDLERS: ClassVar[dict[str, Callable[[_Parser, Token], None]]] = {
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

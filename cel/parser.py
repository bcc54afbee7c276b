"""Tokens to syntax tree, without recursion: one stack entry for each open bracket.

The limits are those of cel-go's parser as Kubernetes uses it: how deep brackets may nest, and how many operations may
stand inside one another or in a row. ``precedence`` folds what stands between two brackets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from . import lexer, macros, precedence
from .errors import CelCompileError, Issue
from .lexer import Token, TokenReader
from .macros import Report
from .precedence import Bracket, BracketKind, DottedNames, ExpressionBuilder, UnexpectedToken
from .syntax import (
    Bind,
    Call,
    Ident,
    Index,
    ListLiteral,
    Literal,
    Macro,
    MapLiteral,
    Method,
    Node,
    Postfix,
    Select,
    Step,
    Struct,
    children,
)

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
    dotted = DottedNames(names, {})
    tree = _Parser(text, functions, dotted).run()
    limits = _name_limits(tree, names) if dotted.joined else {}
    return _Parser(text, functions, DottedNames(names, limits)).run() if limits else tree


def _name_limits(tree: Node, names: frozenset[str]) -> dict[int, int]:
    """Where fewer parts of a dotted name belong together than were joined, and how many.

    What a macro binds hides dotted names that begin with it, and ``has(a.b)`` asks for the field ``b``.
    """
    limits: dict[int, int] = {}
    pending: list[tuple[Node | Step, frozenset[str]]] = [(tree, frozenset())]
    while pending:
        node, bound = pending.pop()
        if type(node) is Ident and "." in node.name[1:]:
            first, *rest = node.name.split(".")
            if first in bound:
                limits[node.pos] = 1
            elif node.name.lstrip(".") not in names:
                limits[node.pos] = len(rest)
        if type(node) is Bind:
            pending += ((node.init, bound), (node.body, bound | {node.variable}))
        elif type(node) is Postfix:
            pending += ((part, bound) for part in (node.operand, *node.steps))
        else:
            inner = bound | frozenset(node.variables) if type(node) is Macro else bound
            pending += ((child, inner) for child in children(node))
    return limits


def require_text(text: str) -> str:
    """The text of an expression as it is; CelCompileError for what is no text, whatever annotations say."""
    if isinstance(text, str):
        return text
    raise CelCompileError(f"an expression must be a string, not {type(text).__name__}")


MAX_NESTING = 250
"""How many brackets may stand inside one another, the whole text being the first."""


class _Parser(TokenReader):
    """Tokens, and a stack of the brackets that are open at a place among them."""

    result: Node

    def __init__(self, text: str, functions: frozenset[str], names: DottedNames) -> None:
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
    def here(self) -> ExpressionBuilder:
        """The expression being read."""
        return self.stack[-1].expression

    def expression(self) -> ExpressionBuilder:
        """A new expression."""
        return ExpressionBuilder(self._names)

    def open(self, kind: BracketKind, pos: int = 0, name: str = "") -> None:
        """A bracket opens; CelCompileError where it stands too deep."""
        if len(self.stack) >= MAX_NESTING:
            raise self.refusal(f"expression recursion limit exceeded: {MAX_NESTING}")
        self.stack.append(Bracket(kind, self.expression(), pos, name))

    def end_item(self, bracket: Bracket) -> None:
        """A comma or the closing bracket after an item."""
        if bracket.kind.keyed:
            if bracket.key is None:
                raise UnexpectedToken
            bracket.keys.append(bracket.key)
            bracket.key = None
        bracket.items.append(bracket.end_expression())

    def end_empty(self, bracket: Bracket) -> None:
        """A closing bracket where an item might begin: nothing was written, or a trailing comma."""
        before = self.previous()
        if not bracket.kind.separated or not (
            before.pos == bracket.pos or (before.kind == "," and bracket.kind.trailing)
        ):
            raise UnexpectedToken
        self.close(bracket)

    def close(self, bracket: Bracket) -> None:
        """Give what a bracket holds to the expression around it; that of the outermost is the result."""
        self.stack.pop()
        if bracket.kind is precedence.ROOT:
            self.result = bracket.items[0]
        else:
            CLOSE[bracket.kind](bracket, self.here, self._functions, self.report)

    def run(self) -> Node:
        self.open(precedence.ROOT)
        while self.stack:
            token = self.take()
            try:
                if self.here.complete:
                    self._after_operand(token)
                else:
                    self._at_operand(token)
            except UnexpectedToken:
                raise self.failure(token, precedence.unexpected(self.stack, token, self.peek())) from None
            except precedence.NestingTooDeep:
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
            raise UnexpectedToken

    def _literal(self, token: Token, sign: str = "") -> None:
        try:
            value = lexer.PARSERS[token.kind](sign + token.text)
        except ValueError as error:
            self.report(Issue(token.pos, str(error)))
            value = None
        self.here.begin(Literal(value, token.pos))

    def _minus(self, token: Token) -> None:
        following = self.peek()
        if following.kind in ("int", "double") and self.here.prefixed != "-":
            self._literal(self.take()._replace(pos=token.pos), "-")
        elif following.kind not in precedence.OPERAND_KINDS or following.kind == "!" or self.here.prefixed == "!":
            raise self.dead_end("-", following)
        else:
            self.here.prefix("-", token.pos)

    def _name(self, token: Token, dot: str = "") -> None:
        if token.text in RESERVED:
            self.report(Issue(token.pos, f"reserved identifier: {token.text}"))
        if self.peek().kind == "(":
            self.open(precedence.CALL, self.take().pos, dot + token.text)
        else:
            self.here.begin(Ident(dot + token.text, token.pos))

    def _mark(self, token: Token) -> None:
        bracket = self.innermost
        if not bracket.kind.marks or self.previous().kind not in ("[", "{", ","):
            raise UnexpectedToken
        bracket.optional.add(len(bracket.items))

    # --- what may follow an operand

    def _after_operand(self, token: Token) -> None:
        bracket = self.innermost
        if token.kind == bracket.kind.closer:
            self.end_item(bracket)
            self.close(bracket)
        elif token.kind in precedence.LEVELS:
            self.here.infix(token.kind, token.pos)
        elif token.kind in self._FOLLOWERS:
            self._FOLLOWERS[token.kind](self, token)
        else:
            raise UnexpectedToken

    def _dot(self, token: Token) -> None:
        if self.peek().kind == "?":
            self.take()
            name = self._field(_FIELD)
            self.here.step(Select(name, True, token.pos))
        elif self.peek().kind == "name" and self.peek(1).kind == "(":
            name = self.take().text
            self.open(precedence.METHOD, self.take().pos, name)
        else:
            self.here.step(Select(self._field("."), False, token.pos))

    def _field(self, expected: str) -> str:
        return self.expect(expected, "name", "quoted").text.strip("`")

    def _brace(self, token: Token) -> None:
        name = self.here.qualified("")
        if name is None:
            raise UnexpectedToken
        self.open(precedence.STRUCT, token.pos, name[:-1])
        self._struct_field()

    def _struct_field(self) -> None:
        """A field name and its colon; they are no expression, so they are read ahead of it."""
        if self.peek().kind in ("}", ","):
            return
        if self.peek().kind == "?":
            self.take()
        self.innermost.keys.append(self._field(_FIELD))
        self.expect("':'", ":")

    def _colon(self, token: Token) -> None:
        bracket = self.innermost
        if self.here.awaits_colon:
            self.here.colon()
        elif bracket.awaits_colon:
            bracket.key = bracket.end_expression()
            bracket.expression = self.expression()
        else:
            raise UnexpectedToken

    def _comma(self, token: Token) -> None:
        bracket = self.innermost
        if not bracket.kind.separated:
            raise UnexpectedToken
        self.end_item(bracket)
        bracket.expression = self.expression()
        if bracket.kind is precedence.STRUCT:
            self._struct_field()
        elif bracket.kind.trailing and self.peek().kind == ",":
            raise self.failure(self.peek(), precedence.unexpected_comma(bracket, self.peek(), self.peek(1)))

    _OPERANDS: ClassVar[dict[str, Callable[[_Parser, Token], None]]] = {
        **dict.fromkeys(_CONSTANTS, lambda self, token: self.here.begin(Literal(_CONSTANTS[token.kind], token.pos))),
        **dict.fromkeys(lexer.PARSERS, _literal),
        "-": _minus,
        "!": lambda self, token: self.here.prefix("!", token.pos),
        ".": lambda self, token: self._name(self.expect(".", "name"), "."),
        "name": _name,
        "(": lambda self, token: self.open(precedence.PARENTHESIS, token.pos),
        "[": lambda self, token: self.open(precedence.LIST, token.pos),
        "{": lambda self, token: self.open(precedence.MAP, token.pos),
        "?": _mark,
    }
    _FOLLOWERS: ClassVar[dict[str, Callable[[_Parser, Token], None]]] = {
        ".": _dot,
        "[": lambda self, token: self.open(precedence.INDEX, token.pos),
        "{": _brace,
        "?": lambda self, token: self.here.question(token.pos),
        ":": _colon,
        ",": _comma,
    }


Close: TypeAlias = Callable[[Bracket, ExpressionBuilder, frozenset[str], Report], None]
"""Gives the node or step for a closed bracket to the expression around it; the names are those of dotted functions."""


def _parenthesis(bracket: Bracket, around: ExpressionBuilder, functions: frozenset[str], report: Report) -> None:
    around.begin(bracket.items[0], bracket.depth)


def _list(bracket: Bracket, around: ExpressionBuilder, functions: frozenset[str], report: Report) -> None:
    around.begin(ListLiteral(tuple(bracket.items), frozenset(bracket.optional), bracket.pos), bracket.depth)


def _map(bracket: Bracket, around: ExpressionBuilder, functions: frozenset[str], report: Report) -> None:
    entries = tuple(zip(bracket.keys, bracket.items, strict=True))
    around.begin(MapLiteral(entries, frozenset(bracket.optional), bracket.pos), bracket.depth)


def _struct(bracket: Bracket, around: ExpressionBuilder, functions: frozenset[str], report: Report) -> None:
    entries = tuple(zip(bracket.keys, bracket.items, strict=True))
    around.replace(Struct(bracket.name, entries, bracket.pos), bracket.depth)


def _index(bracket: Bracket, around: ExpressionBuilder, functions: frozenset[str], report: Report) -> None:
    around.step(Index(bracket.items[0], bool(bracket.optional), bracket.pos), bracket.depth)


def _call(bracket: Bracket, around: ExpressionBuilder, functions: frozenset[str], report: Report) -> None:
    if bracket.name == "has" and len(bracket.items) == 1:
        around.begin(macros.make_has(bracket.items, bracket.pos, report), bracket.depth)
    else:
        around.begin(Call(bracket.name, tuple(bracket.items), bracket.pos), bracket.depth)


def _method(bracket: Bracket, around: ExpressionBuilder, functions: frozenset[str], report: Report) -> None:
    name, args = bracket.name, bracket.items
    qualified = around.qualified(name)
    if qualified == "cel.bind" and len(args) == 3:
        around.replace(macros.make_bind(args, bracket.pos, report), bracket.depth)
    elif macros.is_macro(name, len(args)):
        around.step(macros.make_macro(name, around.receiver, args, bracket.pos, report), bracket.depth)
    elif qualified is not None and qualified.lstrip(".") in functions:
        around.replace(Call(qualified, tuple(args), bracket.pos), bracket.depth)
    else:
        around.step(Method(name, tuple(args), bracket.pos), bracket.depth)


CLOSE: dict[BracketKind, Close] = {
    precedence.PARENTHESIS: _parenthesis,
    precedence.LIST: _list,
    precedence.MAP: _map,
    precedence.STRUCT: _struct,
    precedence.INDEX: _index,
    precedence.CALL: _call,
    precedence.METHOD: _method,
}

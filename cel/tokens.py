"""Reading tokens one after another, and complaining of them."""

from __future__ import annotations

from .errors import CelCompileError, Issue
from .lexer import Token, tokenize


class TokenReader:
    """The tokens of a text and a place among them; complaints are kept until the end, or until one is fatal."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens, self.issues = tokenize(text)
        self._next = 0

    def take(self) -> Token:
        """The next token."""
        token = self._tokens[self._next]
        self._next += 1
        return token

    def peek(self, ahead: int = 0) -> Token:
        """A token not yet taken; the last again and again."""
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def previous(self) -> Token:
        """The token before the one taken last."""
        return self._tokens[self._next - 2]

    def expect(self, expected: str, *kinds: str) -> Token:
        """The next token, which must be of one of the kinds; ``expected`` are they, or what leads to a dead end."""
        token = self.take()
        if token.kind in kinds:
            return token
        if expected == ".":
            raise self.dead_end(expected, token)
        raise self.failure(token, f"mismatched input '{token.text}' expecting {expected}")

    def report(self, issue: Issue) -> None:
        """A complaint that does not hinder reading on."""
        self.issues.append(issue)

    def dead_end(self, begun: str, token: Token) -> CelCompileError:
        """The error for a token that cannot follow what has been begun."""
        shown = "" if token.kind == "end" else token.text
        return self.failure(token, f"no viable alternative at input '{begun}{shown}'")

    def failure(self, token: Token, message: str) -> CelCompileError:
        """The error for a token, after all complaints so far."""
        return CelCompileError.at(self._text, [*self.issues, Issue(token.pos, f"Syntax error: {message}")])

    def refusal(self, message: str) -> CelCompileError:
        """The error for the text as a whole."""
        return CelCompileError.at(self._text, [Issue(-1, message)])

    def finish(self) -> None:
        """Raise CelCompileError if there were complaints."""
        if self.issues:
            raise CelCompileError.at(self._text, self.issues)

"""Errors of expressions, and the places in the text that they are about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MAX_REPORTED = 100
# Full-width forms, for places under characters that cel-go takes for wide.
WIDE_DOT, WIDE_CARET = "\uff0e", "\uff3e"


class CelError(Exception):
    """Any error of an expression; the text is cel-go's where users may have met it."""


@dataclass(frozen=True, slots=True, order=True)
class Issue:
    """One complaint about an expression; ``pos`` is an offset into its text, in code points, or -1 for the whole."""

    pos: int
    message: str


class CelCompileError(CelError):
    """The text does not parse, does not type-check, or is refused for its length or cost.

    ``issues`` holds the single complaints where they have a place in the text, in the order of that place; ``steps`` is
    the work done by then, as ``Program.steps`` counts it.
    """

    issues: tuple[Issue, ...] = ()
    steps: int = 0

    @classmethod
    def at(cls, text: str, issues: Iterable[Issue]) -> CelCompileError:
        """The error for complaints about ``text``, worded as cel-go prints them (cel.md 1.3)."""
        ordered = tuple(sorted(issues, key=lambda issue: issue.pos))
        error = cls(describe(text, ordered))
        error.issues = ordered
        return error


class CelRuntimeError(CelError):
    """Evaluation met an error that nothing absorbed."""


class CelCostError(CelRuntimeError):
    """Evaluation used up its cost budget (CLM-6); never absorbed."""


class CelDeadlineError(CelError):
    """The deadline passed during evaluation; not an error of the expression (CEL-11), never absorbed."""


def location(text: str, pos: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1; columns count code points."""
    start = text.rfind("\n", 0, pos) + 1
    return text.count("\n", 0, start) + 1, pos - start + 1


def describe(text: str, issues: Iterable[Issue]) -> str:
    """``ERROR: <input>:L:C: message`` for each issue, each with the line of the text and a caret under the place."""
    listed = list(issues)
    shown = [_describe_one(text, issue) for issue in listed[:MAX_REPORTED]]
    if len(listed) > MAX_REPORTED:
        shown.append(f"{len(listed) - MAX_REPORTED} more errors were truncated")
    return "\n".join(shown)


def _describe_one(text: str, issue: Issue) -> str:
    if issue.pos < 0 or not text:
        return f"ERROR: <input>:{-1 if text else 1}:0: {issue.message}"
    line, column = location(text, issue.pos)
    source = text.split("\n")[line - 1].replace("\t", " ")
    dots = "".join(WIDE_DOT if _wide(character) else "." for character in source[: column - 1])
    caret = WIDE_CARET if _wide(source[column - 1 : column]) else "^"
    return f"ERROR: <input>:{line}:{column}: {issue.message}\n | {source}\n | {dots}{caret}"


def _wide(character: str) -> bool:
    """Whether cel-go marks the character's place with a wide dot or caret: every one outside ASCII."""
    return character > "\x7f"

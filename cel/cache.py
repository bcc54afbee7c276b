"""Compiled expressions, remembered by their text: parsing costs far more than evaluating."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

from .declarations import declared_types
from .errors import CelCompileError
from .parser import require_text
from .program import Program
from .selector import Selector
from .types import Type

T = TypeVar("T")
_MOST_REMEMBERED = 1024


def compile(text: str, variables: Mapping[str, Type | str] | None = None, *, check: bool = True) -> Program:  # noqa: A001
    """The program of an expression over variables of the given types (``{"x": "list(int)"}``).

    Lists and maps may be written with values of several types, as in standard CEL; in selectors Kubernetes forbids it.
    With ``check=False`` the text is parsed but not type-checked. Raises ``CelCompileError``.
    """
    return _unwrap(_program(require_text(text), tuple(declared_types(variables).items()), check))


def compile_selector(text: str) -> Selector:
    """The selector of a text; ``CelCompileError`` (CEL-5, CEL-6)."""
    return _unwrap(_selector(require_text(text)))


@lru_cache(maxsize=_MOST_REMEMBERED)
def _program(text: str, variables: tuple[tuple[str, Type], ...], check: bool) -> Program | CelCompileError:
    try:
        return Program(text, dict(variables), check=check, mixed_literals=True)
    except CelCompileError as error:
        return error


@lru_cache(maxsize=_MOST_REMEMBERED)
def _selector(text: str) -> Selector | CelCompileError:
    try:
        return Selector(text)
    except CelCompileError as error:
        return error


def _unwrap(compiled: T | CelCompileError) -> T:
    if isinstance(compiled, CelCompileError):
        raise compiled.with_traceback(None)
    return compiled

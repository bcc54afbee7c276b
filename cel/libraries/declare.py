"""Short ways to declare functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from ..errors import CelCostError, CelRuntimeError
from ..library import Function, Overload
from ..types import Type
from ..values import Value
from .costs import Rule

# Values of more parts use up a budget in a few steps, whatever is done with them; memory and time are used up sooner.
MOST_CHARACTERS = 2_000_000
MOST_ELEMENTS = 1_000_000
MOST_PAIRS = 4_000_000


def function(
    id_: str, args: tuple[Type, ...], result: Type, apply: Callable[..., Value], **rule: Unpack[Rule]
) -> Overload:
    """An overload called as ``f(a, b)``."""
    return Overload(id_, args, result, apply, **rule)


def method(
    id_: str, args: tuple[Type, ...], result: Type, apply: Callable[..., Value], **rule: Unpack[Rule]
) -> Overload:
    """An overload called as ``a.f(b)``."""
    return Overload(id_, args, result, apply, member=True, **rule)


def only(name: str, overload: Overload) -> Function:
    """A function of one overload."""
    return Function(name, (overload,))


def no_overload(name: str = "", *types: str) -> CelRuntimeError:
    """The error for arguments of the wrong types."""
    return CelRuntimeError(f"no such overload: {name}({', '.join(types)})" if name else "no such overload")


def check_length(characters: int) -> None:
    """``CelCostError`` for a string nothing could be done with any more."""
    if characters > MOST_CHARACTERS:
        raise CelCostError("operation cancelled: actual cost limit exceeded")


def check_pairs(pairs: int) -> None:
    """``CelCostError`` where every element would be compared with too many others."""
    if pairs > MOST_PAIRS:
        raise CelCostError("operation cancelled: actual cost limit exceeded")


def check_elements(elements: int) -> None:
    """``CelCostError`` for a list nothing could be done with any more."""
    if elements > MOST_ELEMENTS:
        raise CelCostError("operation cancelled: actual cost limit exceeded")

"""What calls cost: the rules of the API server and of cel-go, as pairs of run-time cost and estimate (cel.md 1.5).

Both follow from the same weights: the run-time cost from the sizes of values, the estimate from the sizes that
declared limits allow. A rule is given to an overload as ``**rule``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias, TypedDict

from ..cost_meter import PACE, tick
from ..estimate_sizes import ONE, UNKNOWN, plus, scaled, times
from ..library import Estimate, Operand, Range
from ..syntax import Literal
from ..types import BYTES, STRING
from ..values import CelMap, Value, inner_size, size_of

Cost: TypeAlias = Callable[[tuple[Value, ...], Value], int]
Estimator: TypeAlias = Callable[[tuple[Operand, ...]], Estimate]
ResultSize: TypeAlias = Callable[[tuple[Operand, ...]], Range | None]

STRING_FACTOR = 0.1
REPLACE_FACTOR = 0.2
REGEX_FACTOR = 0.25
LIST_CREATION = 10
_MOST_SEEN = 4_000_000
# Values counted in the time of a step.
_QUICK = 4
_TEXTS = frozenset({STRING, BYTES})


class Rule(TypedDict, total=False):
    """How to charge for a call."""

    cost: Cost
    estimate: Estimator


def part(amount: int, factor: float) -> int:
    """``amount`` times ``factor``, rounded up."""
    return math.ceil(amount * factor)


def literal_int(operand: Operand) -> int | None:
    """The number an operand is written as, if it is."""
    node = operand.node
    return node.value if isinstance(node, Literal) and type(node.value) is int else None


def of_size(index: int) -> ResultSize:
    """A result as long as an argument."""
    return lambda operands: operands[index].size


def up_to_size(index: int) -> ResultSize:
    """A result that may be shorter than an argument."""
    return lambda operands: Range(0, operands[index].size.max)


def unknown_size(operands: tuple[Operand, ...]) -> None:
    """A result of which no more is known than its type tells."""


def nothing() -> Rule:
    """A call that costs nothing when it happens, though it is estimated at 1."""
    return {"cost": lambda args, result: 0}


def sized(result: ResultSize) -> Rule:
    """A call of cost 1 that knows the size of its result."""
    return {"estimate": lambda operands: Estimate(ONE, result(operands))}


def per_length(
    factor: float = STRING_FACTOR,
    index: int = 0,
    result: ResultSize = unknown_size,
    measure: Callable[[Value], int] = size_of,
) -> Rule:
    """``factor`` for each character of an argument."""
    return {
        "cost": lambda args, _: part(measure(args[index]), factor),
        "estimate": lambda operands: Estimate(scaled(operands[index].size, factor), result(operands)),
    }


def search(result: ResultSize = unknown_size) -> Rule:
    """A search for one string in another."""
    return {
        "cost": lambda args, _: part(inner_size(args[0]), STRING_FACTOR) * part(inner_size(args[1]), STRING_FACTOR),
        "estimate": lambda operands: Estimate(
            times(scaled(operands[0].size, STRING_FACTOR), scaled(operands[1].size, STRING_FACTOR)), result(operands)
        ),
    }


def regex_search(result: ResultSize = unknown_size, measure: Callable[[Value], int] = size_of) -> Rule:
    """A search for a pattern (second) in a text (first)."""
    return {
        "cost": lambda args, _: part(measure(args[0]) + 1, STRING_FACTOR) * part(measure(args[1]), REGEX_FACTOR),
        "estimate": lambda operands: Estimate(
            times(
                scaled(plus(operands[0].size, ONE), STRING_FACTOR),
                scaled(operands[1].size, REGEX_FACTOR),
            ),
            result(operands),
        ),
    }


def traversal(result: ResultSize = unknown_size, whole: float = STRING_FACTOR) -> Rule:
    """A look at all of the first argument; ``whole`` is the estimate for one unit of what is no list."""
    return {
        "cost": lambda args, _: traversed(args[0]),
        "estimate": lambda operands: Estimate(_estimated_traversal(operands[0], whole), result(operands)),
    }


def traversed(value: Value) -> int:
    """What looking at all of a value costs: 1 for a scalar, a tenth of the bytes of a string, rounded down.

    Lists that hold one another many times over have more parts than can be counted; the count stops where no budget
    would do.
    """
    total = seen = 0
    pending = [value]
    while pending and seen < _MOST_SEEN:
        one = pending.pop()
        seen += 1
        if seen % PACE == 0:
            tick(PACE // _QUICK)
        kind = type(one)
        if kind in _PARTS:
            pending.extend(_PARTS[kind](one))
        else:
            total += _WEIGHTS.get(kind, _one)(one)
    return max(total, seen) if pending else total


def _estimated_traversal(operand: Operand, whole: float) -> Range:
    """For each element 1, and a tenth of its length if it is a string."""
    if operand.type.name not in _CONTAINERS:
        return scaled(operand.size, whole)
    each = ONE
    if operand.type.params[0] in _TEXTS:
        each = plus(ONE, scaled(operand.element or UNKNOWN, STRING_FACTOR))
    return times(operand.size, each)


def _one(value: Value) -> int:
    return 1


def _string_weight(value: str) -> int:
    return len(value if value.isascii() else value.encode("utf-8", "surrogatepass")) // 10


_WEIGHTS: dict[type, Callable[[Value], int]] = {str: _string_weight, bytes: lambda value: len(value) // 10}
_PARTS: dict[type, Callable[[Value], list[Value]]] = {
    list: lambda value: value,
    tuple: list,
    CelMap: lambda value: [*value, *value.entries.values()],
}
# cel-go takes an optional for a list of values of its type.
_CONTAINERS = frozenset({"list", "map", "optional_type"})

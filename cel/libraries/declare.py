"""What function libraries are declared with: functions with an overload, rules of cost, numbers in text.

A rule of cost is that of the API server or of cel-go, as a pair: the run-time cost from the sizes of values, and the
estimate from the sizes that declared limits allow (cel.md 1.5). It is given to a function as ``**rule``. Numbers and
truth values are read and written as Go does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeAlias, TypedDict, Unpack

from ..declarations import ONE_RANGE, UNKNOWN_RANGE, Estimate, Function, Operand, Overload, Range
from ..errors import CelCostError, CelRuntimeError
from ..meter import PACE, tick
from ..syntax import Literal
from ..types import BYTES, STRING, Type
from ..values import CelMap, Value, inner_size, size_of

# Values of more parts use up a budget in a few steps, whatever is done with them; memory and time are used up sooner.
MOST_CHARACTERS = 2_000_000
MOST_ELEMENTS = 1_000_000
MOST_PAIRS = 4_000_000


def function(
    name: str, id_: str, args: tuple[Type, ...], result: Type, apply: Callable[..., Value], **rule: Unpack[CostRule]
) -> Function:
    """A function with an overload that is called as ``f(a, b)``; functions of one name add up."""
    return Function(name, (Overload(id_, args, result, apply, **rule),))


def method(
    name: str, id_: str, args: tuple[Type, ...], result: Type, apply: Callable[..., Value], **rule: Unpack[CostRule]
) -> Function:
    """A function with an overload that is called as ``a.f(b)``; functions of one name add up."""
    return Function(name, (Overload(id_, args, result, apply, member=True, **rule),))


def is_read_by(read: Callable[..., object]) -> Callable[..., bool]:
    """The function that tells whether ``read`` takes its arguments."""

    def check(*args: Value) -> bool:
        try:
            read(*args)
        except CelCostError:
            raise
        except (CelRuntimeError, ValueError):
            return False
        return True

    return check


def no_overload(name: str = "", *types: str) -> CelRuntimeError:
    """The error for arguments of the wrong types."""
    return CelRuntimeError(f"no such overload: {name}({', '.join(types)})" if name else "no such overload")


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


class CostRule(TypedDict, total=False):
    """How to charge for a call."""

    cost: Cost
    estimate: Estimator


def scaled_cost(amount: int, factor: float) -> int:
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


def free_call() -> CostRule:
    """A call that costs nothing when it happens, though it is estimated at 1."""
    return {"cost": lambda args, result: 0}


def cost_per_length(
    factor: float = STRING_FACTOR,
    index: int = 0,
    result: ResultSize = unknown_size,
    measure: Callable[[Value], int] = size_of,
) -> CostRule:
    """``factor`` for each character of an argument."""
    return {
        "cost": lambda args, _: scaled_cost(measure(args[index]), factor),
        "estimate": lambda operands: Estimate(operands[index].size.scaled(factor), result(operands)),
    }


def search() -> CostRule:
    """A search for one string in another."""
    return {
        "cost": lambda args, _: (
            scaled_cost(inner_size(args[0]), STRING_FACTOR) * scaled_cost(inner_size(args[1]), STRING_FACTOR)
        ),
        "estimate": lambda operands: Estimate(
            operands[0].size.scaled(STRING_FACTOR) * operands[1].size.scaled(STRING_FACTOR)
        ),
    }


def regex_search(result: ResultSize = unknown_size, measure: Callable[[Value], int] = size_of) -> CostRule:
    """A search for a pattern (second) in a text (first)."""
    return {
        "cost": lambda args, _: (
            scaled_cost(measure(args[0]) + 1, STRING_FACTOR) * scaled_cost(measure(args[1]), REGEX_FACTOR)
        ),
        "estimate": lambda operands: Estimate(
            (operands[0].size + ONE_RANGE).scaled(STRING_FACTOR) * operands[1].size.scaled(REGEX_FACTOR),
            result(operands),
        ),
    }


def traversal(result: ResultSize = unknown_size, whole: float = STRING_FACTOR) -> CostRule:
    """A look at all of the first argument; ``whole`` is the estimate for one unit of what is no list."""
    return {
        "cost": lambda args, _: traversal_cost(args[0]),
        "estimate": lambda operands: Estimate(_estimated_traversal(operands[0], whole), result(operands)),
    }


def traversal_cost(value: Value) -> int:
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
            weigh = _WEIGHTS.get(kind)
            total += weigh(one) if weigh else 1
    return max(total, seen) if pending else total


def _estimated_traversal(operand: Operand, whole: float) -> Range:
    """For each element 1, and a tenth of its length if it is a string."""
    if operand.type.name not in _CONTAINERS:
        return operand.size.scaled(whole)
    each = ONE_RANGE
    if operand.type.params[0] in _TEXTS:
        each = ONE_RANGE + (operand.element or UNKNOWN_RANGE).scaled(STRING_FACTOR)
    return operand.size * each


_WEIGHTS: dict[type, Callable[[Value], int]] = {
    str: lambda value: len(value if value.isascii() else value.encode("utf-8", "surrogatepass")) // 10,
    bytes: lambda value: len(value) // 10,
}
_PARTS: dict[type, Callable[[Value], list[Value]]] = {
    list: lambda value: value,
    tuple: list,
    CelMap: lambda value: [*value, *value.entries.values()],
}
# cel-go takes an optional for a list of values of its type.
_CONTAINERS = frozenset({"list", "map", "optional_type"})
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_DECIMAL = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEX_DIGITS = r"[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
_HEXADECIMAL = re.compile(rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}")
_SPECIAL = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 4000
_MOST_CHARACTERS = 10_000


def format_bool(value: bool) -> str:
    """``true`` or ``false``."""
    return "true" if value else "false"


def parse_integer(text: str) -> int | None:
    """A signed decimal integer of any size that matters; None for anything else."""
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    number = int(digits[:_MOST_DIGITS])
    return -number if text[0] == "-" else number


def parse_double(text: str) -> float | None:
    """A double; None for what Go refuses, which includes what overflows, and for texts of absurd length."""
    if len(text) > _MOST_CHARACTERS:
        return None
    if _SPECIAL.fullmatch(text):
        return float(text)
    if _DECIMAL.fullmatch(text):
        number = float(text.replace("_", ""))
    elif _HEXADECIMAL.fullmatch(text):
        number = _parse_hexadecimal(text.replace("_", ""))
    else:
        return None
    return None if math.isinf(number) else number


def _parse_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return math.inf


def format_double(number: float) -> str:
    """The shortest text that reads back as the same double, in Go's ``%g``."""
    special = format_special(number)
    if special is not None:
        return special
    digits, exponent = shortest_digits(number)
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if exponent < -4 or exponent >= 6:
        return sign + _scientific(digits, exponent)
    return sign + fixed_digits(digits, exponent)


def format_special(number: float) -> str | None:
    """``NaN``, ``+Inf`` or ``-Inf``; None for a finite number."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return None


def shortest_digits(number: float) -> tuple[str, int]:
    """The significant digits, and the exponent of the first."""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0") if fraction != "0" else ""
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0", 0
    leading = len(whole) if whole != "0" else len(digits) - len(fraction)
    return digits.rstrip("0") or "0", leading - 1 + int(exponent or 0)


def fixed_digits(digits: str, exponent: int) -> str:
    """Digits written out without an exponent."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _scientific(digits: str, exponent: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"

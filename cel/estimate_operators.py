"""Estimated costs of operators (cel.md 1.5)."""

from __future__ import annotations

from collections.abc import Callable

from . import types
from .estimate_sizes import ONE, plus, scaled
from .library import Estimate, Operand, Overload, Range

_OPAQUE = frozenset({types.QUANTITY, types.SEMVER, types.IP, types.CIDR})
_FORMATS = Range(1, 7)
_SIZED = ("string", "bytes")


def estimate_call(overload: Overload, operands: tuple[Operand, ...]) -> Estimate:
    """The cost of one overload without that of its operands, and the size of its result where that is known."""
    estimator = overload.estimate or _OPERATORS.get(overload.id)
    return estimator(operands) if estimator else Estimate(ONE)


def _compare(operands: tuple[Operand, ...]) -> Estimate:
    """A tenth of the shorter side, but at least 1 unless a side cannot be anything but empty."""
    most = scaled(Range(0, min(operand.size.max for operand in operands)), 0.1).max
    return Estimate(Range(min(1, most), most))


def _equal(operands: tuple[Operand, ...]) -> Estimate:
    if all(operand.type in _OPAQUE for operand in operands):
        return Estimate(ONE)
    if all(operand.type is types.FORMAT for operand in operands):
        return Estimate(_FORMATS)
    return _compare(operands)


def _concatenate(operands: tuple[Operand, ...]) -> Estimate:
    size = plus(operands[0].size, operands[1].size)
    return Estimate(scaled(size, 0.1), size)


def _concatenate_lists(operands: tuple[Operand, ...]) -> Estimate:
    return Estimate(ONE, plus(operands[0].size, operands[1].size))


def _search(operands: tuple[Operand, ...]) -> Estimate:
    return Estimate(operands[1].size)


_OPERATORS: dict[str, Callable[[tuple[Operand, ...]], Estimate]] = {
    "equals": _equal,
    "not_equals": _compare,
    "in_list": _search,
    "add_list": _concatenate_lists,
    **{f"add_{name}": _concatenate for name in _SIZED},
    **{
        f"{order}_{name}": _compare for order in ("less", "less_equals", "greater", "greater_equals") for name in _SIZED
    },
}

"""``sets``: lists compared without regard to order and repetition, by CEL's equality."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..cost_meter import PACE, paced, tick
from ..estimate_sizes import ONE, plus, times
from ..library import Estimate, Function, Operand
from ..types import BOOL, list_of, parameter
from ..values import Value, size_of, surely_equal
from .costs import Rule
from .declare import check_pairs, function, only

_LISTS = (list_of(parameter("T")), list_of(parameter("T")))
_EXACT = frozenset({str, bool, bytes})


def _members(values: Sequence[Value]) -> Callable[[Value], bool]:
    """A test of membership; strings are looked up, all else is compared one by one."""
    kinds = set(map(type, values))
    if len(kinds) <= 1 and kinds <= _EXACT:
        known = set(values)
        return lambda value: type(value) in kinds and value in known
    return lambda value: _anymatches(values, value)


def _anymatches(values: Sequence[Value], wanted: Value) -> bool:
    tick(len(values) % PACE)
    return any(surely_equal(wanted, value) for value in paced(values))


def _contains(values: Sequence[Value], wanted: Sequence[Value]) -> bool:
    check_pairs(len(values) * len(wanted))
    return all(map(_members(values), wanted))


def _intersects(a: Sequence[Value], b: Sequence[Value]) -> bool:
    check_pairs(len(a) * len(b))
    return any(map(_members(b), a))


def _equivalent(a: Sequence[Value], b: Sequence[Value]) -> bool:
    return _contains(a, b) and _contains(b, a)


def _pairs(weight: int) -> Rule:
    """1, and ``weight`` for each pair of elements."""

    def estimate(operands: tuple[Operand, ...]) -> Estimate:
        pairs = times(operands[0].size, operands[1].size)
        return Estimate(plus(ONE, *(pairs,) * weight))

    return {"cost": lambda args, _: 1 + weight * size_of(args[0]) * size_of(args[1]), "estimate": estimate}


FUNCTIONS: tuple[Function, ...] = (
    only("sets.contains", function("list_sets_contains_list", _LISTS, BOOL, _contains, **_pairs(1))),
    only("sets.intersects", function("list_sets_intersects_list", _LISTS, BOOL, _intersects, **_pairs(1))),
    only("sets.equivalent", function("list_sets_equivalent_list", _LISTS, BOOL, _equivalent, **_pairs(2))),
)

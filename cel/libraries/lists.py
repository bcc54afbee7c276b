"""Functions on lists.

``slice flatten sort reverse distinct lists.range`` are cel-go's, ``min max sum isSorted indexOf lastIndexOf`` those by
which the API server extends lists. ``sets`` compares lists without regard to order and repetition, by CEL's equality.
``includes`` is one test for attributes that may be lists or single values (CEL-4); ``include`` is the same (SEM-8).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any

from ..declarations import ONE_RANGE, UNBOUNDED, Estimate, Function, Operand, Range
from ..errors import CelRuntimeError
from ..meter import PACE, check_size, tick, ticking
from ..operators import checked_int, checked_uint
from ..types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, list_of, parameter
from ..values import Duration, Timestamp, UInt, Value, compare, size_of, surely_equal
from . import declare
from .declare import CostRule, function, method, no_overload

_ELEMENT = parameter("T")
_ELEMENT_LIST = list_of(_ELEMENT)
# What can be ordered: types, and the classes of their values.
_ORDERED_TYPES = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_ORDERED_CLASSES = frozenset({int, UInt, float, bool, str, bytes, Duration, Timestamp})
_TEXTS = frozenset({STRING, BYTES})
# A call and a list.
_NEW_LIST_COST = 1 + declare.LIST_CREATION
_NEW_LIST = Range.of(_NEW_LIST_COST)


def _slice(values: Sequence[Value], start: int, end: int) -> Sequence[Value]:
    call = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise CelRuntimeError(f"{call}negative indexes not supported")
    if start > end:
        raise CelRuntimeError(f"{call}start index must be less than or equal to end index")
    if end > len(values):
        raise CelRuntimeError(f"{call}list is length {len(values)}")
    return values[start:end]


def _flatten(values: Sequence[Value], depth: int = 1) -> Sequence[Value]:
    if depth < 0:
        raise CelRuntimeError("level must be non-negative")
    while depth > 0 and any(type(value) in (list, tuple) for value in values):
        values, depth = _flat_once(values), depth - 1
    return values


def _flat_once(values: Sequence[Value]) -> list[Value]:
    flat: list[Value] = []
    for value in ticking(values):
        if type(value) in (list, tuple):
            check_size(len(flat) + len(value), declare.MOST_ELEMENTS)
            flat.extend(value)
        else:
            flat.append(value)
    return flat


def sort_by_keys(values: Sequence[Value], keys: Sequence[Value]) -> list[Value]:
    """The values in the order of their keys, which must be of one comparable type; equals keep their order."""
    if len(values) != len(keys):
        raise CelRuntimeError("lists must be same length")
    if not keys:
        return []
    check_size(len(keys) ** 2, declare.MOST_PAIRS)
    kind = type(keys[0])
    if kind not in _ORDERED_CLASSES:
        raise CelRuntimeError("list elements must be comparable")
    if any(type(key) is not kind for key in keys):
        raise CelRuntimeError("list elements must have the same type")
    return [values[index] for index in sorted(range(len(keys)), key=keys.__getitem__)]


def _distinct(values: Sequence[Value]) -> list[Value]:
    """The first of each group of equal values."""
    check_size(len(values) ** 2, declare.MOST_PAIRS)
    found: list[Value] = []
    known: set[Value] = set()
    others: list[Value] = []
    for value in values:
        if type(value) in (str, bytes):
            if value in known:
                continue
            known.add(value)
        else:
            tick(len(others))
            if any(surely_equal(value, other) for other in others):
                continue
            others.append(value)
        found.append(value)
    return found


def _range(count: int) -> list[int]:
    if count < 0:
        raise CelRuntimeError(f"lists.range: size must be non-negative, got {count}")
    if count > declare.MOST_ELEMENTS:
        raise CelRuntimeError(f"lists.range: size {count} exceeds maximum allowed ({declare.MOST_ELEMENTS})")
    return list(range(count))


def _estimate_slice(operands: tuple[Operand, ...]) -> Estimate:
    """Bounds that are written out give the size; where one is not, it is as far out as it may be."""
    start, end = declare.literal_int(operands[1]) or 0, declare.literal_int(operands[2])
    length = (operands[0].size.max if end is None else max(end, 0)) - max(start, 0)
    if length < 0 or (operands[0].size.max == UNBOUNDED and end is None):
        length = UNBOUNDED
    return _new_list_rule(Range(length, length))


def _new_list_rule(length: Range) -> Estimate:
    """A new list."""
    return Estimate(_NEW_LIST + length, length)


def _estimate_flatten(operands: tuple[Operand, ...]) -> Estimate:
    depth = 1 if len(operands) == 1 else declare.literal_int(operands[1])
    length = operands[0].size
    if depth is None:
        return Estimate(Range(_NEW_LIST_COST, UNBOUNDED), length)
    visited = Range(length.min * max(depth, 0), min(length.max * max(depth, 0), UNBOUNDED))
    return Estimate(_NEW_LIST + visited, length)


def _pairwise(texts: bool) -> CostRule:
    """Comparisons of each with each; a string costs a little more. The last argument holds what is compared."""

    def cost(args: tuple[Value, ...], result: Value) -> int:
        count, compared = size_of(args[0]), args[-1]
        are_texts = bool(size_of(compared)) and type(compared[0]) in (str, bytes)
        return _NEW_LIST_COST + int(count * count * (2 + (declare.STRING_FACTOR if are_texts else 0)))

    def estimate(operands: tuple[Operand, ...]) -> Estimate:
        """As cel-go has it, the result may be as long as the square of what is sorted."""
        length = operands[0].size
        square = Range(min(length.min**2, UNBOUNDED), min(length.max**2, UNBOUNDED))
        return Estimate(_NEW_LIST + square.scaled(2 + declare.STRING_FACTOR if texts else 2), square)

    return {"cost": cost, "estimate": estimate}


def _sorts() -> Iterator[Function]:
    """``sort`` and what ``sortBy`` becomes, for each ordered type."""
    for type_ in _ORDERED_TYPES:
        rule, keys = _pairwise(type_ in _TEXTS), list_of(type_)
        yield method("sort", f"list_{type_}_sort", (keys,), keys, lambda values: sort_by_keys(values, values), **rule)
        id_ = f"list_{type_}_sortByAssociatedKeys"
        yield method("@sortByAssociatedKeys", id_, (_ELEMENT_LIST, keys), _ELEMENT_LIST, sort_by_keys, **rule)


LIST_FUNCTIONS: tuple[Function, ...] = (
    method(
        "slice", "list_slice", (_ELEMENT_LIST, INT, INT), _ELEMENT_LIST, _slice,
        cost=lambda args, result: _NEW_LIST_COST + size_of(result), estimate=_estimate_slice,
    ),
    method(
        "flatten", "list_flatten", (list_of(_ELEMENT_LIST),), _ELEMENT_LIST, _flatten,
        cost=lambda args, result: _NEW_LIST_COST + size_of(args[0]), estimate=_estimate_flatten,
    ),
    method(
        "flatten", "list_flatten_int", (list_of(DYN), INT), list_of(DYN), _flatten,
        cost=lambda args, result: _NEW_LIST_COST + size_of(args[0]) * (args[1] if args[1] >= 0 else 1),
        estimate=_estimate_flatten,
    ),
    *_sorts(),
    method(
        "reverse", "list_reverse", (_ELEMENT_LIST,), _ELEMENT_LIST, lambda values: values[::-1],
        cost=lambda args, result: _NEW_LIST_COST + size_of(result),
        estimate=lambda operands: _new_list_rule(operands[0].size),
    ),
    method("distinct", "list_distinct", (_ELEMENT_LIST,), _ELEMENT_LIST, _distinct, **_pairwise(texts=False)),
    function(
        "lists.range", "lists_range", (INT,), list_of(INT), _range,
        cost=lambda args, result: _NEW_LIST_COST + size_of(result),
        estimate=lambda operands: _new_list_rule(_range_size(operands[0])),
    ),
)  # fmt: skip


def _range_size(count: Operand) -> Range:
    written = declare.literal_int(count)
    return Range(UNBOUNDED, UNBOUNDED) if written is None else Range(max(written, 0), max(written, 0))


def _compare_or_equal(a: Value, b: Value) -> int:
    """As ``compare``, but values that cannot be compared (NaN, other types) count as in order."""
    try:
        return compare(a, b)
    except CelRuntimeError:
        return 0


def _extreme(name: str, sign: int, values: Sequence[Value]) -> Value:
    if not values:
        raise CelRuntimeError(f"{name} called on empty list")
    _check_ordered(name, values)
    if len(set(map(type, values))) == 1 and type(values[0]) is not float:
        return (max if sign > 0 else min)(values)
    best = values[0]
    for value in ticking(values):
        if _compare_or_equal(value, best) == sign:
            best = value
    return best


def _check_ordered(name: str, values: Sequence[Value]) -> None:
    wrong = next((index for index, value in enumerate(values) if type(value) not in _ORDERED_CLASSES), None)
    if wrong is not None:
        raise no_overload() if wrong else no_overload(name, "list")


def _is_sorted(values: Sequence[Value]) -> bool:
    _check_ordered("isSorted", values)
    return all(_compare_or_equal(a, b) <= 0 for a, b in ticking(pairwise(values)))


_ADDERS: dict[type, Callable[[Sequence[Any]], Value]] = {
    int: lambda numbers: checked_int(sum(numbers)),
    UInt: lambda numbers: checked_uint(sum(numbers)),
    float: partial(reduce, operator.add),
    Duration: lambda durations: Duration.checked(sum(duration.ns for duration in durations)),
}
_SUM_ZEROS: tuple[tuple[Type, Value], ...] = ((INT, 0), (UINT, UInt(0)), (DOUBLE, 0.0), (DURATION, Duration(0)))


def _sum(zero: Value, values: Sequence[Value]) -> Value:
    if not values:
        return zero
    adder = _ADDERS.get(type(values[0]))
    if adder is None:
        raise no_overload("sum", "list")
    if any(type(value) is not type(values[0]) for value in values):
        raise no_overload()
    return adder(values)


def _index_of(values: Sequence[Value], wanted: Value) -> int:
    return next((index for index, value in enumerate(ticking(values)) if surely_equal(value, wanted)), -1)


def _last_index_of(values: Sequence[Value], wanted: Value) -> int:
    return next((index for index in ticking(range(len(values) - 1, -1, -1)) if surely_equal(values[index], wanted)), -1)


_TRAVERSAL = declare.traversal()
LIST_FOLD_FUNCTIONS: tuple[Function, ...] = (
    *(
        method(name, f"list_{one}_{name}_{one}", (list_of(one),), one, partial(_extreme, name, sign), **_TRAVERSAL)
        for name, sign in (("min", -1), ("max", 1))
        for one in _ORDERED_TYPES
    ),
    *(
        method("sum", f"list_{one}_sum_{one}", (list_of(one),), one, partial(_sum, zero), **_TRAVERSAL)
        for one, zero in _SUM_ZEROS
    ),
    *(
        method("isSorted", f"list_{one}_is_sorted_bool", (list_of(one),), BOOL, _is_sorted, **_TRAVERSAL)
        for one in _ORDERED_TYPES
    ),
    method("indexOf", "list_a_index_of_int", (list_of(_ELEMENT), _ELEMENT), INT, _index_of, **_TRAVERSAL),
    method("lastIndexOf", "list_a_last_index_of_int", (list_of(_ELEMENT), _ELEMENT), INT, _last_index_of, **_TRAVERSAL),
)
_TWO_LISTS = (list_of(parameter("T")), list_of(parameter("T")))
_EXACT = frozenset({str, bool, bytes})


def _membership_test(values: Sequence[Value]) -> Callable[[Value], bool]:
    """A test of membership; strings are looked up, all else is compared one by one."""
    kinds = set(map(type, values))
    if len(kinds) <= 1 and kinds <= _EXACT:
        known = set(values)
        return lambda value: type(value) in kinds and value in known
    return lambda value: _anymatches(values, value)


def _anymatches(values: Sequence[Value], wanted: Value) -> bool:
    tick(len(values) % PACE)
    return any(surely_equal(wanted, value) for value in ticking(values))


def _contains(values: Sequence[Value], wanted: Sequence[Value]) -> bool:
    check_size(len(values) * len(wanted), declare.MOST_PAIRS)
    return all(map(_membership_test(values), wanted))


def _intersects(a: Sequence[Value], b: Sequence[Value]) -> bool:
    check_size(len(a) * len(b), declare.MOST_PAIRS)
    return any(map(_membership_test(b), a))


def _pairwise_rule(weight: int) -> CostRule:
    """1, and ``weight`` for each pair of elements."""

    def estimate(operands: tuple[Operand, ...]) -> Estimate:
        pairs = operands[0].size * operands[1].size
        return Estimate(sum((pairs,) * weight, ONE_RANGE))

    return {"cost": lambda args, _: 1 + weight * size_of(args[0]) * size_of(args[1]), "estimate": estimate}


SET_FUNCTIONS: tuple[Function, ...] = (
    function("sets.contains", "list_sets_contains_list", _TWO_LISTS, BOOL, _contains, **_pairwise_rule(1)),
    function("sets.intersects", "list_sets_intersects_list", _TWO_LISTS, BOOL, _intersects, **_pairwise_rule(1)),
    function(
        "sets.equivalent", "list_sets_equivalent_list", _TWO_LISTS, BOOL,
        lambda a, b: _contains(a, b) and _contains(b, a), **_pairwise_rule(2),
    ),
)  # fmt: skip


def _includes(value: Value, wanted: Value) -> bool:
    values = value if type(value) in (list, tuple) else (value,)
    return any(surely_equal(one, wanted) for one in ticking(values))


INCLUDES_FUNCTIONS: tuple[Function, ...] = tuple(
    method(name, name, (DYN, DYN), BOOL, _includes, **declare.traversal(whole=1.0)) for name in ("includes", "include")
)

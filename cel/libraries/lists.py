"""Lists: ``slice``, ``flatten``, ``sort``, ``reverse``, ``distinct``, ``lists.range``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..cost_meter import paced, tick
from ..errors import CelRuntimeError
from ..estimate_sizes import plus
from ..library import UNBOUNDED, Estimate, Function, Operand, Overload, Range
from ..types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, list_of, parameter
from ..values import Duration, Timestamp, UInt, Value, size_of, surely_equal
from .costs import LIST_CREATION, STRING_FACTOR, Rule, literal_int, part
from .declare import MOST_ELEMENTS, check_elements, check_pairs, function, method, only

_T = parameter("T")
_LIST = list_of(_T)
_COMPARABLE = frozenset({int, UInt, float, bool, str, bytes, Duration, Timestamp})
_TEXTS = frozenset({STRING, BYTES})
# A call and a list.
_BASE = 1 + LIST_CREATION


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
    for value in paced(values):
        if type(value) in (list, tuple):
            check_elements(len(flat) + len(value))
            flat.extend(value)
        else:
            flat.append(value)
    return flat


def _sort(values: Sequence[Value]) -> list[Value]:
    return sort_by_keys(values, values)


def sort_by_keys(values: Sequence[Value], keys: Sequence[Value]) -> list[Value]:
    """The values in the order of their keys, which must be of one comparable type; equals keep their order."""
    if len(values) != len(keys):
        raise CelRuntimeError("lists must be same length")
    if not keys:
        return []
    check_pairs(len(keys) ** 2)
    kind = type(keys[0])
    if kind not in _COMPARABLE:
        raise CelRuntimeError("list elements must be comparable")
    if any(type(key) is not kind for key in keys):
        raise CelRuntimeError("list elements must have the same type")
    return [values[index] for index in sorted(range(len(keys)), key=keys.__getitem__)]


def _reverse(values: Sequence[Value]) -> Sequence[Value]:
    return values[::-1]


def _distinct(values: Sequence[Value]) -> list[Value]:
    """The first of each group of equal values."""
    check_pairs(len(values) ** 2)
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
    if count > MOST_ELEMENTS:
        raise CelRuntimeError(f"lists.range: size {count} exceeds maximum allowed ({MOST_ELEMENTS})")
    return list(range(count))


def _estimate_slice(operands: tuple[Operand, ...]) -> Estimate:
    """Bounds that are written out give the size; where one is not, it is as far out as it may be."""
    start, end = literal_int(operands[1]) or 0, literal_int(operands[2])
    length = (operands[0].size.max if end is None else max(end, 0)) - max(start, 0)
    if length < 0 or (operands[0].size.max == UNBOUNDED and end is None):
        length = UNBOUNDED
    return _made(Range(length, length))


def _made(length: Range) -> Estimate:
    """A new list."""
    return Estimate(plus(Range(_BASE, _BASE), length), length)


def _estimate_flatten(operands: tuple[Operand, ...]) -> Estimate:
    depth = 1 if len(operands) == 1 else literal_int(operands[1])
    length = operands[0].size
    if depth is None:
        return Estimate(Range(_BASE, UNBOUNDED), length)
    visited = Range(length.min * max(depth, 0), min(length.max * max(depth, 0), UNBOUNDED))
    return Estimate(plus(Range(_BASE, _BASE), visited), length)


def _squares(count: int, texts: bool) -> float:
    """Comparisons of each with each; a string costs a little more."""
    return count * count * (2 + (STRING_FACTOR if texts else 0))


def _pairwise_cost(args: tuple[Value, ...], result: Value) -> int:
    """The last argument holds what is compared."""
    texts = bool(size_of(args[-1])) and type(args[-1][0]) in (str, bytes)
    return _BASE + int(_squares(size_of(args[0]), texts))


def _estimate_pairwise(operands: tuple[Operand, ...], texts: bool = False) -> Estimate:
    """As cel-go has it, the result may be as long as the square of what is sorted."""
    length = operands[0].size
    square = Range(min(length.min**2, UNBOUNDED), min(length.max**2, UNBOUNDED))
    cost = Range(
        *(min(part(amount, 2 + STRING_FACTOR if texts else 2), UNBOUNDED) for amount in (square.min, square.max))
    )
    return Estimate(plus(Range(_BASE, _BASE), cost), square)


def _pairwise(texts: bool) -> Rule:
    return {"cost": _pairwise_cost, "estimate": lambda operands: _estimate_pairwise(operands, texts)}


def _by_type(name: str, apply: Callable[..., Value], keyed: bool) -> Function:
    """One overload for each comparable type."""
    return Function(name, tuple(_sorter(type_, apply, keyed) for type_ in _SORTED))


def _sorter(type_: Type, apply: Callable[..., Value], keyed: bool) -> Overload:
    rule = _pairwise(type_ in _TEXTS)
    if keyed:
        id_ = f"list_{type_}_sortByAssociatedKeys"
        return method(id_, (_LIST, list_of(type_)), _LIST, apply, **rule)
    return method(f"list_{type_}_sort", (list_of(type_),), list_of(type_), apply, **rule)


_SORTED = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)

FUNCTIONS: tuple[Function, ...] = (
    only(
        "slice",
        method(
            "list_slice",
            (_LIST, INT, INT),
            _LIST,
            _slice,
            cost=lambda args, result: _BASE + size_of(result),
            estimate=_estimate_slice,
        ),
    ),
    Function(
        "flatten",
        (
            method(
                "list_flatten",
                (list_of(_LIST),),
                _LIST,
                _flatten,
                cost=lambda args, result: _BASE + size_of(args[0]),
                estimate=_estimate_flatten,
            ),
            method(
                "list_flatten_int",
                (list_of(DYN), INT),
                list_of(DYN),
                _flatten,
                cost=lambda args, result: _BASE + size_of(args[0]) * (args[1] if args[1] >= 0 else 1),
                estimate=_estimate_flatten,
            ),
        ),
    ),
    _by_type("sort", _sort, keyed=False),
    _by_type("@sortByAssociatedKeys", sort_by_keys, keyed=True),
    only(
        "reverse",
        method(
            "list_reverse",
            (_LIST,),
            _LIST,
            _reverse,
            cost=lambda args, result: _BASE + size_of(result),
            estimate=lambda operands: _made(operands[0].size),
        ),
    ),
    only("distinct", method("list_distinct", (_LIST,), _LIST, _distinct, **_pairwise(texts=False))),
    only(
        "lists.range",
        function(
            "lists_range",
            (INT,),
            list_of(INT),
            _range,
            cost=lambda args, result: _BASE + size_of(result),
            estimate=lambda operands: _made(_range_size(operands[0])),
        ),
    ),
)


def _range_size(count: Operand) -> Range:
    written = literal_int(count)
    return Range(UNBOUNDED, UNBOUNDED) if written is None else Range(max(written, 0), max(written, 0))

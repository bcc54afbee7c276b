"""What functions do with parts of devices, and with the order of lists (CELC-7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from . import types
from .device_sets_flow import LONGEST, MOST_NESTING, Flow, Order, joined, strict, typed, worst
from .device_sets_reads import Reads
from .devices import CAPACITY
from .devices_projection import Path
from .types import Type

Rule: TypeAlias = Callable[[Reads, Sequence[Flow], Type], Flow]
"""From the arguments, receiver first, and the type of the result."""

# Values of these types that are equal are the same; a double may be no number, or a zero with a sign.
_EXACT = {
    types.INT: "int", types.BOOL: "bool", types.STRING: "string",
    types.UINT: "uint", types.BYTES: "bytes", types.DURATION: "duration", types.TIMESTAMP: "timestamp",
}  # fmt: skip
_FIELDS = frozenset({("driver",), ("allowMultipleAllocations",)})


def apply(name: str, reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """What a function gives; of one without a rule no more is known than its type."""
    return _RULES.get(name.removeprefix("."), opaque)(reads, args, type_)


def opaque(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """Whatever its arguments are, they are read, and their order may matter."""
    return _over(Order.FREE)(reads, args, type_)


def _over(allowed: Order) -> Rule:
    """A function that takes lists in any order."""

    def rule(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
        reads.consume(*args)
        return typed(type_, strict(*args, allowed=allowed))

    return rule


def _includes(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    reads.consume(*args)
    return typed(type_, max(_order(args[0]), strict(*args[1:])))


def _size(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """The elements themselves do not count."""
    reads.touch(*args)
    return typed(type_, strict(*args, allowed=Order.CLASSES))


def _present(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """Whether there is an attribute was read when it was selected; all else of a device is always there."""
    return typed(type_, strict(*args))


def _same(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    return args[0]


def _fallback(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """``or`` and ``orValue``: one or the other."""
    return reads.shallow(joined([_unwrapped(args[0]), args[1]]), max(strict(args[0]), args[1].order))


def _value(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    return _unwrapped(args[0])


def _unwrapped(flow: Flow) -> Flow:
    """What is in an optional."""
    inner = (type_.params[0] if type_.name == "optional_type" else type_ for type_ in flow.rest)
    return replace(flow, rest=frozenset(inner))


def _kept(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """A list of the same elements, in another order."""
    reads.touch(args[0])
    return Flow(items=args[0].element(), order=max(args[0].order, strict(*args[1:])))


def _flat(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """Elements, and elements of elements."""
    levels = [args[0].element()]
    for _ in range(MOST_NESTING):
        levels.append(levels[-1].element())
    reads.touch(args[0])
    reads.consume(*args[1:])
    return Flow(items=reads.shallow(joined(levels)), order=max(args[0].order, strict(*args[1:])))


def _picked(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """``slice``: some of the elements, by their places."""
    reads.touch(args[0])
    reads.consume(*args[1:])
    return Flow(items=args[0].element(), order=strict(*args))


def _end(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """``first`` and ``last``."""
    reads.touch(args[0])
    return reads.shallow(args[0].element(), strict(*args))


def _sum(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """Whole numbers add up in any order; several types are an error in any."""
    reads.consume(*args)
    return typed(type_, _order(args[0]) if _exact(args[0].element()) else strict(*args))


def _extreme(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """``min`` and ``max``: of values that cannot be compared, the first ones win."""
    reads.consume(*args)
    element = args[0].element()
    if args[0].order is Order.BAG and _exact(element):
        return typed(type_, _order(args[0]) if reads.demand(element.parts, _kinds(element)) else Order.ORDERED)
    return typed(type_, strict(*args))


def _sort(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """Sorted, a list is the same whatever it came from; several types are an error in any order."""
    reads.consume(*args)
    element = args[0].element()
    return Flow(items=element, order=_order(args[0]) if _exact(element) else strict(*args))


def _distinct(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """The first of each group of equal values; that it does not matter which rests on equality being mutual."""
    reads.consume(*args)
    element, order = args[0].element(), args[0].order
    leaves = element.leaves()
    if order is Order.BAG:
        if not _plain(leaves) or not reads.demand(leaves.parts, _kinds(leaves)):
            order = Order.ORDERED
        elif any(part[0] == CAPACITY for part in leaves.parts):
            # Equal amounts may be written differently.
            order = Order.CLASSES
    return Flow(items=element, order=order)


def _order(bag: Flow) -> Order:
    """Of what is computed from all elements whatever their order."""
    return strict(bag, allowed=Order.BAG)


def _exact(element: Flow) -> bool:
    return element.items is None and _plain(element)


def _plain(element: Flow) -> bool:
    """Whether only values of fields and of exact types are among these."""
    return all(map(_is_value, element.parts)) and element.rest <= _EXACT.keys()


def _is_value(part: Path) -> bool:
    """Attributes are never doubles (ATTR-2)."""
    return len(part) >= LONGEST or part in _FIELDS


def _kinds(element: Flow) -> frozenset[str]:
    return frozenset(_EXACT[type_] for type_ in element.rest)


def concatenated(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """``+``: of lists all their elements, of anything else something new."""
    if type_.name != "list":
        return opaque(reads, args, type_)
    reads.touch(*args)
    return Flow(items=reads.shallow(joined(one.element() for one in args)), order=worst(args))


def contained(reads: Reads, args: Sequence[Flow], type_: Type) -> Flow:
    """``in``."""
    return _includes(reads, args[::-1], type_)


_RULES: dict[str, Rule] = {
    "size": _size,
    "hasValue": _present,
    **dict.fromkeys(("dyn", "optional.of"), _same),
    "value": _value,
    **dict.fromkeys(("or", "orValue"), _fallback),
    "reverse": _kept,
    "flatten": _flat,
    "slice": _picked,
    **dict.fromkeys(("first", "last"), _end),
    "sum": _sum,
    **dict.fromkeys(("min", "max"), _extreme),
    "sort": _sort,
    "distinct": _distinct,
    **dict.fromkeys(("includes", "include"), _includes),
    **dict.fromkeys(("sets.contains", "sets.intersects", "sets.equivalent"), _over(Order.BAG)),
}

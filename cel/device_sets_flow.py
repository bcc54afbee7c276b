"""What is known of a value of an expression over ``devices``: where it comes from, and what the order does to it.

A *flow* says which parts of devices a value may be, and what its elements may be where it is a list that the
expression made. Parts are paths as in ``devices_projection``; the elements of a list attribute go by its path too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from .devices_projection import Path
from .types import ANY, DYN, Type

_OPEN = frozenset({DYN, ANY})
LONGEST = 3
"""Steps from a device to an attribute or capacity."""
MOST_NESTING = 4
"""Lists in lists that are told apart; what is in deeper ones counts as read whole."""


class Order(IntEnum):
    """What another order of the devices does to a value (CELC-7)."""

    FREE = 0
    """Nothing."""
    BAG = 1
    """Its elements come in another order."""
    CLASSES = 2
    """The same, and of equal elements another stands for all: only their number is the same."""
    ORDERED = 3
    """Anything."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What a value may be: one of ``parts`` of a device, or something of the types ``rest``, or a list of ``items``.

    ``text`` is its value where it is written as a string. Optionals are as their values.
    """

    parts: frozenset[Path] = frozenset()
    rest: frozenset[Type] = frozenset()
    items: Flow | None = None
    order: Order = Order.FREE
    text: str | None = None

    def element(self, value: bool = False) -> Flow:
        """What a loop over the value sees: elements, or keys; of maps the values instead, with ``value``."""
        types = {type_.params[-1 if value else 0] for type_ in self.rest if type_.params}
        types |= self.rest & _OPEN
        if any(len(part) < LONGEST for part in self.parts):
            types.add(DYN)
        own = Flow(frozenset(part for part in self.parts if len(part) >= LONGEST), frozenset(types))
        return own if self.items is None else joined([own, self.items])

    def nesting(self) -> int:
        """How many lists there are in one another."""
        depth, flow = 0, self
        while flow.items is not None:
            depth, flow = depth + 1, flow.items
        return depth

    def leaves(self) -> Flow:
        """What is in the lists in lists, without the lists."""
        levels = [self]
        while levels[-1].items is not None:
            levels.append(levels[-1].items)
        parts = frozenset(part for level in levels for part in level.parts)
        return Flow(parts, frozenset(type_ for level in levels for type_ in level.rest))


DEVICES = Flow(items=Flow(frozenset({()})), order=Order.BAG)
"""The variable itself."""


def typed(type_: Type, order: Order = Order.FREE) -> Flow:
    """Something of a type that is no part of a device."""
    return Flow(rest=frozenset({type_}), order=order)


def joined(flows: Iterable[Flow]) -> Flow:
    """Any of these."""
    flows = list(flows)
    nested = [flow.items for flow in flows if flow.items is not None]
    return Flow(
        frozenset(part for flow in flows for part in flow.parts),
        frozenset(type_ for flow in flows for type_ in flow.rest),
        joined(nested) if nested else None,
        worst(flows),
    )


def worst(flows: Iterable[Flow]) -> Order:
    """The order of what is any of these."""
    return max((flow.order for flow in flows), default=Order.FREE)


def strict(*flows: Flow, allowed: Order = Order.FREE) -> Order:
    """The order of what is computed from these, and takes lists whose order is as ``allowed``."""
    return Order.FREE if worst(flows) <= allowed else Order.ORDERED

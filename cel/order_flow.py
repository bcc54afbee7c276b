"""Where a value of an expression over ``devices`` comes from, and what the order of devices does to it (CELC-7).

A *flow* says which parts of devices a value may be, and what its elements may be where it is a list that the
expression made. Parts are paths as in ``devices.read_paths``; the elements of a list attribute go by its path too.
``Reads`` collects what the expression reads, ``Dependence`` is the result of the analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeAlias

from .devices import CAPACITY, DeviceShape, Path, PreparedDevice
from .types import ANY, DYN, Type

_OPEN = frozenset({DYN, ANY})
LONGEST_PATH = 3
"""Steps from a device to an attribute or capacity."""
MOST_LIST_NESTING = 4
"""Lists in lists that are told apart; what is in deeper ones counts as read whole."""


class OrderEffect(IntEnum):
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
    order: OrderEffect = OrderEffect.FREE
    text: str | None = None

    def element(self, value: bool = False) -> Flow:
        """What a loop over the value sees: elements, or keys; of maps the values instead, with ``value``."""
        types = {type_.params[-1 if value else 0] for type_ in self.rest if type_.params}
        types |= self.rest & _OPEN
        if any(len(part) < LONGEST_PATH for part in self.parts):
            types.add(DYN)
        own = Flow(frozenset(part for part in self.parts if len(part) >= LONGEST_PATH), frozenset(types))
        return own if self.items is None else union_of_flows([own, self.items])

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


DEVICES = Flow(items=Flow(frozenset({()})), order=OrderEffect.BAG)
"""The variable itself."""


def typed_flow(type_: Type, order: OrderEffect = OrderEffect.FREE) -> Flow:
    """Something of a type that is no part of a device."""
    return Flow(rest=frozenset({type_}), order=order)


def union_of_flows(flows: Iterable[Flow]) -> Flow:
    """Any of these."""
    flows = list(flows)
    nested = [flow.items for flow in flows if flow.items is not None]
    return Flow(
        frozenset(part for flow in flows for part in flow.parts),
        frozenset(type_ for flow in flows for type_ in flow.rest),
        union_of_flows(nested) if nested else None,
        worst_order(flows),
    )


def worst_order(flows: Iterable[Flow]) -> OrderEffect:
    """The order of what is any of these."""
    return max((flow.order for flow in flows), default=OrderEffect.FREE)


def order_if_within(*flows: Flow, allowed: OrderEffect = OrderEffect.FREE) -> OrderEffect:
    """The order of what is computed from these, and takes lists whose order is as ``allowed``."""
    return OrderEffect.FREE if worst_order(flows) <= allowed else OrderEffect.ORDERED


Demand: TypeAlias = tuple[frozenset[Path], frozenset[str]]
"""Parts of devices whose values must all be of one kind, together with values of these kinds (one at most)."""


@dataclass(slots=True)
class Reads:
    """Collects what is read, whether devices are compared, and what the claims about order rest on."""

    paths: set[Path] = field(default_factory=set)
    compares: bool = False
    demands: set[Demand] = field(default_factory=set)

    def touch(self, *flows: Flow) -> None:
        """Read the values, but not the elements that lists among them hold."""
        for flow in flows:
            self.paths |= flow.parts

    def consume(self, *flows: Flow) -> None:
        """Read the values with all they hold; a device as a whole may be compared then."""
        for flow in flows:
            one: Flow | None = flow
            while one is not None:
                self.paths |= one.parts
                self.compares = self.compares or () in one.parts
                one = one.items

    def select(self, parts: frozenset[Path], name: str) -> frozenset[Path]:
        """The parts a step further on; selecting an attribute depends on its being there."""
        further = frozenset((*part, name) if len(part) < LONGEST_PATH else part for part in parts)
        self.paths |= {part for part in further if len(part) >= LONGEST_PATH}
        return further

    def demand(self, parts: frozenset[Path], kinds: frozenset[str]) -> bool:
        """Ask for values of one kind; False where they cannot be."""
        if parts:
            self.demands.add((parts, kinds))
        return len(kinds) <= 1

    def shallow(self, flow: Flow, order: OrderEffect | None = None) -> Flow:
        """The flow, with another order; of lists too deep in one another no more is known than that they are."""
        order = flow.order if order is None else order
        if flow.nesting() < MOST_LIST_NESTING:
            return replace(flow, order=order)
        self.consume(flow)
        return Flow(rest=frozenset({DYN}), order=order)


_FIELD_KINDS = {"driver": "string", "allowMultipleAllocations": "bool"}


@dataclass(frozen=True, slots=True)
class Dependence:
    """What an expression reads of devices, whether it compares them, and how it depends on their order.

    ``demands`` are what must hold for the order not to matter, where ``ordered`` does not say that it does.
    """

    reads: frozenset[Path]
    compares: bool
    ordered: bool
    demands: frozenset[Demand]

    def agrees_for(self, devices: Iterable[PreparedDevice]) -> bool:
        """Whether the demands hold of devices: all values that a demand is about are of one kind."""
        shapes = {device.shape for device in devices} if self.demands else set()
        return all(len(kinds.union(_kinds_of_parts(parts, shapes))) <= 1 for parts, kinds in self.demands)


def _kinds_of_parts(parts: Iterable[Path], shapes: Iterable[DeviceShape]) -> Iterator[str]:
    for part in parts:
        if part[0] in _FIELD_KINDS:
            yield _FIELD_KINDS[part[0]]
        elif part[0] == CAPACITY:
            yield "quantity"
        else:
            yield from (shape.fields[position].kind for shape in shapes for position in shape.positions(part))

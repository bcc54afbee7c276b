"""What an expression over ``devices`` reads of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from .device_sets_flow import LONGEST, MOST_NESTING, Flow, Order
from .devices_projection import Path
from .types import DYN

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
        further = frozenset((*part, name) if len(part) < LONGEST else part for part in parts)
        self.paths |= {part for part in further if len(part) >= LONGEST}
        return further

    def demand(self, parts: frozenset[Path], kinds: frozenset[str]) -> bool:
        """Ask for values of one kind; False where they cannot be."""
        if parts:
            self.demands.add((parts, kinds))
        return len(kinds) <= 1

    def shallow(self, flow: Flow, order: Order | None = None) -> Flow:
        """The flow, with another order; of lists too deep in one another no more is known than that they are."""
        order = flow.order if order is None else order
        if flow.nesting() < MOST_NESTING:
            return replace(flow, order=order)
        self.consume(flow)
        return Flow(rest=frozenset({DYN}), order=order)

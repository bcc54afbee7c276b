"""Nodes as they fill up: equal nodes in equal states are one, so that a state is looked at once for a unit class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ..linear.resources import LinearNode, LinearUnit


@dataclass(frozen=True)
class State:
    """What is left of a node of some class: of its devices, in order, and of the node as a whole."""

    node_class: int
    free: tuple[int, ...]
    left: tuple[int, ...]
    capacity: int

    @cached_property
    def whole(self) -> int:
        """Devices that are free as a whole."""
        return sum(free == self.capacity for free in self.free)

    def fits(self, unit: LinearUnit) -> bool:
        """Whether a unit fits."""
        return (
            all(need <= left for need, left in zip(unit.needs, self.left, strict=True))
            and unit.devices <= self.whole
            and (not unit.share or unit.share <= max(self.free, default=0))
        )

    def placements(self, unit: LinearUnit) -> list[State]:
        """What may become of the state: a share may come from any device that has so much."""
        left = tuple(left - need for left, need in zip(self.left, unit.needs, strict=True))
        if unit.devices:
            return [self._with((0,) * unit.devices + self.free[unit.devices :], left)]
        if not unit.share:
            return [self._with(self.free, left)]
        choices = sorted({free for free in self.free if free >= unit.share})
        return [self._with(self._less(free, unit.share), left) for free in choices]

    def _less(self, free: int, share: int) -> tuple[int, ...]:
        place = self.free.index(free)
        return (*self.free[:place], free - share, *self.free[place + 1 :])

    def _with(self, free: Iterable[int], left: tuple[int, ...]) -> State:
        return State(self.node_class, tuple(sorted(free, reverse=True)), left, self.capacity)


def state_of(node_class: int, node: LinearNode) -> State:
    """A node before anything is placed."""
    return State(node_class, tuple(sorted(node.free, reverse=True)), node.left, node.capacity)

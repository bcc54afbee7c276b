"""Units and nodes with linear resources only: shares of one device, whole devices, and what the node has as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True, slots=True)
class LinearUnit:
    """A unit takes ``devices`` whole, or a ``share`` of one device, or none; and of the node as a whole ``needs``."""

    devices: int = 0
    share: int = 0
    needs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LinearNode:
    """A node: what is free of each device, what a device has when all of it is free, and what the node has left.

    ``takes`` names the unit classes that may run here, None for all.
    """

    free: tuple[int, ...]
    capacity: int
    left: tuple[int, ...]
    takes: frozenset[int] | None = None

    @property
    def whole(self) -> int:
        """How many devices are free as a whole."""
        return sum(free == self.capacity for free in self.free)

    def allows(self, index: int, unit: LinearUnit) -> bool:
        """Whether one unit fits alone."""
        return (
            (self.takes is None or index in self.takes)
            and unit.devices <= self.whole
            and unit.share <= max(self.free, default=0)
            and all(need <= left for need, left in zip(unit.needs, self.left, strict=True))
        )

    def alone(self, unit: LinearUnit) -> int | None:
        """How many equal units fit when there is nothing else; None where nothing limits them."""
        limits = [left // need for need, left in zip(unit.needs, self.left, strict=True) if need]
        if unit.devices:
            limits.append(self.whole // unit.devices)
        if unit.share:
            limits.append(sum(free // unit.share for free in self.free))
        return min(limits, default=None)


def common_step(node: LinearNode, shares: list[int]) -> int:
    """The step in which devices are filled."""
    return gcd(*shares, *node.free, node.capacity) or 1

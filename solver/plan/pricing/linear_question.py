"""One pricing question in the form that the dynamic programs read: worthwhile units only, by kind.

Units and nodes with linear resources only: shares of one device, whole devices, and what the node has as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

# Steps of a device that a table has at most, unless shares are smaller still: sizes are rounded down to whole steps,
# which keeps bounds valid.
_MOST_STEPS = 2000


@dataclass(frozen=True, slots=True)
class KnapsackItem:
    """A unit class that is worth ``value`` and may be taken at most ``most`` times.

    ``is_scarce``: the node could take more, so that it matters how many are taken.
    """

    index: int
    unit: LinearUnit
    value: int
    most: int
    is_scarce: bool

    def size(self, capacity: int) -> int:
        """What it takes of one device, where it takes one at most."""
        return capacity if self.unit.devices else self.unit.share


@dataclass(frozen=True, slots=True)
class LinearQuestion:
    """Offers that fill one device or a part of it, offers of several devices, and those without a device."""

    node: LinearNode
    single: tuple[KnapsackItem, ...]
    several: tuple[KnapsackItem, ...]
    without: tuple[KnapsackItem, ...]
    step: int

    def steps(self, amount: int) -> int:
        """An amount of a device in steps of the table."""
        return amount // self.step

    @property
    def offers(self) -> tuple[KnapsackItem, ...]:
        """All offers."""
        return self.single + self.several + self.without


def build_linear_question(
    node: LinearNode, units: Sequence[LinearUnit], values: Sequence[int], most: Sequence[int], dominance: bool = True
) -> LinearQuestion:
    """Drop what is worth nothing, what does not fit, and, by dominance, what another unit replaces at no loss."""
    offers = []
    for index, (unit, value, asked) in enumerate(zip(units, values, most, strict=True)):
        if value <= 0 or asked <= 0 or not node.allows(index, unit):
            continue
        alone = node.alone(unit)
        is_scarce = alone is None or asked < alone
        offers.append(KnapsackItem(index, unit, value, asked if alone is None else min(asked, alone), is_scarce))
    kept = _undominated(offers) if dominance else offers
    devices = [unit.unit.devices for unit in kept]
    several = tuple(offer for offer, number in zip(kept, devices, strict=True) if number > 1)
    single = tuple(offer for offer in kept if offer.unit.devices == 1 or offer.unit.share)
    without = tuple(offer for offer in kept if not (offer.unit.devices or offer.unit.share))
    sizes = [offer.size(node.capacity) for offer in single]
    return LinearQuestion(node, single, several, without, _table_step(node, sizes))


def _table_step(node: LinearNode, sizes: list[int]) -> int:
    """The step of tables: with nothing to fill a device with, the whole of it."""
    if not sizes:
        return node.capacity
    return min(max(common_step(node, sizes), -(-node.capacity // _MOST_STEPS)), *sizes, node.capacity)


def _undominated(offers: list[KnapsackItem]) -> list[KnapsackItem]:
    """Drop offers that another one, which the node may be filled with, replaces one for one."""
    kept: list[KnapsackItem] = []
    plenty: list[KnapsackItem] = []
    for offer in sorted(offers, key=lambda offer: (-offer.value, offer.unit.devices, offer.unit.share, offer.index)):
        if not any(_replaces(other, offer) for other in plenty):
            kept.append(offer)
            plenty += [] if offer.is_scarce else [offer]
    return sorted(kept, key=lambda offer: offer.index)


def _replaces(other: KnapsackItem, offer: KnapsackItem) -> bool:
    """Whether ``other``, worth no less, can stand wherever ``offer`` does."""
    one, two = other.unit, offer.unit
    if one.devices > two.devices or (one.share > two.share and not two.devices):
        return False
    return all(need <= most for need, most in zip(one.needs, two.needs, strict=True))


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

"""One pricing question in the form that the dynamic programs read: worthwhile units only, by kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .resources import LinearNode, LinearUnit, common_step

# Steps of a device that a table has at most, unless shares are smaller still: sizes are rounded down to whole steps,
# which keeps bounds valid.
_STEPS = 2000


@dataclass(frozen=True, slots=True)
class Offer:
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
class Question:
    """Offers that fill one device or a part of it, offers of several devices, and those without a device."""

    node: LinearNode
    single: tuple[Offer, ...]
    several: tuple[Offer, ...]
    without: tuple[Offer, ...]
    step: int

    def steps(self, amount: int) -> int:
        """An amount of a device in steps of the table."""
        return amount // self.step

    @property
    def offers(self) -> tuple[Offer, ...]:
        """All offers."""
        return self.single + self.several + self.without


def question(
    node: LinearNode,
    units: Sequence[LinearUnit],
    values: Sequence[int],
    most: Sequence[int],
    dominance: bool = True,
) -> Question:
    """Drop what is worth nothing, what does not fit, and, by dominance, what another unit replaces at no loss."""
    offers = []
    for index, (unit, value, asked) in enumerate(zip(units, values, most, strict=True)):
        if value <= 0 or asked <= 0 or not node.allows(index, unit):
            continue
        alone = node.alone(unit)
        is_scarce = alone is None or asked < alone
        offers.append(Offer(index, unit, value, asked if alone is None else min(asked, alone), is_scarce))
    kept = _undominated(offers) if dominance else offers
    devices = [unit.unit.devices for unit in kept]
    several = tuple(offer for offer, number in zip(kept, devices, strict=True) if number > 1)
    single = tuple(offer for offer in kept if offer.unit.devices == 1 or offer.unit.share)
    without = tuple(offer for offer in kept if not (offer.unit.devices or offer.unit.share))
    sizes = [offer.size(node.capacity) for offer in single]
    return Question(node, single, several, without, _step(node, sizes))


def _step(node: LinearNode, sizes: list[int]) -> int:
    """The step of tables: with nothing to fill a device with, the whole of it."""
    if not sizes:
        return node.capacity
    return min(max(common_step(node, sizes), -(-node.capacity // _STEPS)), *sizes, node.capacity)


def _undominated(offers: list[Offer]) -> list[Offer]:
    """Drop offers that another one, which the node may be filled with, replaces one for one."""
    kept: list[Offer] = []
    plenty: list[Offer] = []
    for offer in sorted(offers, key=lambda offer: (-offer.value, offer.unit.devices, offer.unit.share, offer.index)):
        if not any(_replaces(other, offer) for other in plenty):
            kept.append(offer)
            plenty += [] if offer.is_scarce else [offer]
    return sorted(kept, key=lambda offer: offer.index)


def _replaces(other: Offer, offer: Offer) -> bool:
    """Whether ``other``, worth no less, can stand wherever ``offer`` does."""
    one, two = other.unit, offer.unit
    if one.devices > two.devices or (one.share > two.share and not two.devices):
        return False
    return all(need <= most for need, most in zip(one.needs, two.needs, strict=True))

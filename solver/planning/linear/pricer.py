"""The pricer of nodes with linear resources only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....problem.outcomes import DeadlineExceededError
from ..instance import Column
from ..pricing import Effort, Priced, Prices, PricingLimits
from .labels import Filled, Filling, Labels, Width
from .question import Question, question
from .relaxation import FINE, relax_best
from .relaxed import Relaxed
from .resources import LinearNode, LinearUnit

_WIDTHS = {
    Effort.QUICK: (Width(patterns=24, labels=48),),
    Effort.THOROUGH: (Width(patterns=24, labels=48), Width(patterns=200, labels=600)),
}
_COLUMNS = 6
# To find all columns: more than so many are too many.
_ALL = Width(patterns=400, labels=4000)
_ALL_OFFERS = 24


@dataclass(frozen=True, slots=True)
class LinearPricer:
    """Prices node classes with linear resources; ``nodes`` by node class, ``units`` by unit class.

    A column's payload says which unit classes each device takes, and in one more entry those without a device. Meters
    are not used.
    """

    units: tuple[LinearUnit, ...]
    nodes: tuple[LinearNode, ...]

    def price(self, node_class: int, prices: Prices, most: Sequence[int], limits: PricingLimits) -> Priced:
        """Find columns; what a quick look cannot exclude raises the bound, which is None only after the deadline."""
        asked = question(self.nodes[node_class], self.units, prices.units, most)
        if not asked.offers:
            return Priced((), 0)
        if limits.is_over():
            return Priced((), None)
        relaxed = relax_best(asked, limits.deadline)
        filled = _fill(asked, relaxed, limits)
        return Priced(tuple(_column(node_class, filling.devices) for filling in filled.fillings), filled.bound)

    def enumerate(
        self, node_class: int, prices: Prices, most: Sequence[int], least: int, limits: PricingLimits
    ) -> tuple[Column, ...] | None:
        """Return all columns of some worth, but for units that are worth nothing; None if they are too many."""
        asked = question(self.nodes[node_class], self.units, prices.units, most, dominance=False)
        if not asked.offers:
            return ()
        if len(asked.offers) > _ALL_OFFERS:
            return None
        relaxed = relax_best(asked, limits.deadline)
        labels = Labels(asked, relaxed, _ALL, max(0, least - 1), counted=True, deadline=limits.deadline)
        try:
            filled = labels.run(_ALL.labels)
        except DeadlineExceededError:
            return None
        if not filled.is_complete:
            return None
        return tuple(_column(node_class, filling.devices) for filling in filled.fillings)

    def reduced(self, column: Column, counts: Mapping[int, int]) -> Column:
        """Take units out, from the last device to the first."""
        left = Counter({unit: amount - counts.get(unit, 0) for unit, amount in column.counts})
        devices: list[tuple[int, ...]] = []
        for taken in reversed(column.payload):
            gone = Counter(taken) & left
            left -= gone
            devices.append(tuple((Counter(taken) - gone).elements()))
        return _column(column.node_class, tuple(reversed(devices)))


def _fill(asked: Question, relaxed: Relaxed, limits: PricingLimits) -> Filled:
    """Look ever wider, for what is better than what is known."""
    fillings: tuple[Filling, ...] = ()
    bound = max(0, relaxed.bound // FINE)
    for width in _WIDTHS[limits.effort]:
        least = fillings[0].value if fillings else 0
        try:
            filled = Labels(asked, relaxed, width, least, deadline=limits.deadline).run(_COLUMNS)
        except DeadlineExceededError:
            break
        bound = min(bound, filled.bound)
        fillings = (*filled.fillings, *fillings)[:_COLUMNS]
        if fillings and fillings[0].value >= bound:
            break
    return Filled(fillings, bound, 0, is_complete=False)


def _column(node_class: int, devices: tuple[tuple[int, ...], ...]) -> Column:
    counts = Counter(index for device in devices for index in device)
    return Column(node_class, tuple(sorted(counts.items())), payload=devices)

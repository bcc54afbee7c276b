"""Nodes are filled one class after another, each with the most valuable that is left: a plan to start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic

from .generation import Generator
from .instance import Column, NodeClass
from .pricing import Prices, PricingLimits

# Where columns cannot be repeated because units are few of a kind, each node is priced: so often for every node class
# on average with all that is left, and then with so many unit classes only, those of the highest prices.
_PRICINGS = 12
_WINDOW = 32
# What part of the time that is left may go into filling, for safety.
_PART_OF_TIME = 1 / 3


def fill(
    generator: Generator, prices: Prices, deadline: float | None = None, most: Sequence[int] | None = None
) -> Iterator[tuple[Column, int]]:
    """Fill the nodes of each class with what earlier ones left; a column is repeated while it can be.

    There are ``most`` units of each class, None for all that are asked for.
    """
    filling = _Filling(generator, prices, deadline, generator.instance.most() if most is None else most)
    for node in generator.instance.nodes:
        yield from filling.fill(node)


def filling_ends(deadline: float | None) -> float | None:
    """When to stop filling, so that time remains for more than a plan to start from."""
    now = monotonic()
    return None if deadline is None else now + max(0.0, deadline - now) * _PART_OF_TIME


class _Filling:
    def __init__(self, generator: Generator, prices: Prices, deadline: float | None, most: Sequence[int]) -> None:
        self._pricer = generator.pricer
        self._prices = prices
        self._limits = PricingLimits(deadline=deadline)
        self._left = list(most)
        self._pricings = _PRICINGS * len(generator.instance.nodes)
        self._order = sorted(range(len(self._left)), key=lambda unit: (-prices.units[unit], unit))

    def fill(self, node: NodeClass) -> Iterator[tuple[Column, int]]:
        number = node.count
        while number and not self._limits.is_over():
            column = self._best(node.index)
            if column is None:
                break
            times = min([number, *(self._left[unit] // amount for unit, amount in column.counts)])
            for unit, amount in column.counts:
                self._left[unit] -= amount * times
            number -= times
            yield column, times

    def _best(self, node_class: int) -> Column | None:
        """The most valuable column, or nearly so once pricing has taken long enough."""
        self._pricings -= 1
        column = self._priced(node_class, self._window()) if self._pricings < 0 else None
        return column or self._priced(node_class, self._left)

    def _priced(self, node_class: int, most: list[int]) -> Column | None:
        priced = self._pricer.price(node_class, self._prices, most, self._limits)
        useful = (column for column in priced.columns if self._prices.value(column) > 0)
        return max(useful, key=self._prices.value, default=None)

    def _window(self) -> list[int]:
        """What is left of the unit classes with the highest prices."""
        self._order = [unit for unit in self._order if self._left[unit]]
        most = [0] * len(self._left)
        for unit in self._order[:_WINDOW]:
            most[unit] = self._left[unit]
        return most

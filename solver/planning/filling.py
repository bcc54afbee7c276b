"""Nodes are filled one class after another, each with the most valuable that is left: a plan to start from."""

from __future__ import annotations

from .generation import Generator
from .instance import Column
from .pricing import Prices, PricingLimits


def fill(generator: Generator, prices: Prices) -> list[tuple[Column, int]]:
    """Fill the nodes of each class with what earlier ones left; a column is repeated while it can be."""
    left, found = list(generator.instance.most()), []
    for node in generator.instance.nodes:
        number = node.count
        while number:
            priced = generator.pricer.price(node.index, prices, left, PricingLimits())
            useful = [column for column in priced.columns if prices.value(column) > 0]
            if not useful:
                break
            column = max(useful, key=prices.value)
            times = min([number, *(left[unit] // amount for unit, amount in column.counts)])
            for unit, amount in column.counts:
                left[unit] -= amount * times
            number -= times
            found.append((column, times))
    return found

"""Columns that are nearly as good at the duals as those of the relaxation: with them whole numbers may fit."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from .duals import Pricing, duals_of
from .filling import fill
from .generation import Generator
from .instance import Column, Stage
from .master import Relaxation
from .pricing import Prices

# So many times nodes are filled, at prices that differ from the duals by up to this part.
_FILLS = 10
_PART = 0.15


def varied(generator: Generator, stage: Stage, relaxation: Relaxation, deadline: float | None) -> Iterator[Column]:
    """Fill nodes at prices around the duals. What is pseudo-random depends on nothing but the number of the filling."""
    pricing = Pricing(generator.instance, stage, generator.master.rows, duals_of(relaxation), floor=1)
    for number in range(_FILLS):
        random = Random(number)
        units = tuple(round(price * random.uniform(1 - _PART, 1 + _PART)) for price in pricing.prices.units)
        for column, _ in fill(generator, Prices(units, pricing.prices.meters), deadline):
            yield column

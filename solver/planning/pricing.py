"""What the master asks of a pricer: the most valuable columns of a node class, and a bound on all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from .instance import Column
from .limits import is_past


class Effort(IntEnum):
    """How hard to try: ``QUICK`` while that finds columns, ``THOROUGH`` to prove that there are none."""

    QUICK = 0
    THOROUGH = 1


@dataclass(frozen=True, slots=True)
class PricingLimits:
    """When to stop: after ``work`` steps of the pricer's own kind, and, for safety only, at a monotonic time."""

    effort: Effort = Effort.QUICK
    work: int | None = None
    deadline: float | None = None

    def is_over(self) -> bool:
        """Whether the clock ends it."""
        return is_past(self.deadline)


@dataclass(frozen=True, slots=True)
class Prices:
    """What a column is worth for each unit, and for each unit of a meter that it uses (mostly below zero)."""

    units: tuple[int, ...]
    meters: tuple[int, ...] = ()

    def value(self, column: Column) -> int:
        """What a column is worth."""
        units = sum(self.units[unit] * amount for unit, amount in column.counts)
        return units + sum(self.meters[meter] * amount for meter, amount in column.usage)


@dataclass(frozen=True, slots=True)
class Priced:
    """Columns, the best first, and a number that no column of the class is worth more than; None for unknown."""

    columns: tuple[Column, ...]
    bound: int | None


class Pricer(Protocol):
    """Finds columns. Equal questions must get equal answers, in any process."""

    def price(self, node_class: int, prices: Prices, most: Sequence[int], limits: PricingLimits) -> Priced:
        """Find valuable columns that take at most so many units of each class.

        The bound must hold for all columns within ``most``, even where pricing stopped early.
        """
        ...

    def enumerate(
        self, node_class: int, prices: Prices, most: Sequence[int], least: int, limits: PricingLimits
    ) -> tuple[Column, ...] | None:
        """Return all columns within ``most`` that are worth ``least`` or more, None if they are too many.

        Columns that another one covers, class by class, at no more use of meters may be left out.
        """
        ...

    def reduced(self, column: Column, counts: Mapping[int, int]) -> Column:
        """Take units out of a column until it has so many of each class, at no more use of any meter.

        It may stay as it is where what is left would not do without the rest.
        """
        ...

"""The pricer of all node kinds: those that sums describe by dynamic programs, the others by models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..bundles.pricer import BundlePricer
from ..bundles.question import Bundle, BundleQuestion
from ..instance import Column
from ..pricing import Priced, Pricer, Prices, PricingLimits
from .linear_nodes import LinearPart, linear_part


@dataclass(frozen=True, slots=True)
class Pricers:
    """Asks the pricer that a node kind needs."""

    models: BundlePricer
    linear: LinearPart

    @classmethod
    def of(cls, questions: Mapping[int, BundleQuestion], units: int) -> Pricers:
        """Price these questions about so many unit classes."""
        return cls(BundlePricer(questions), linear_part(questions, units))

    def bundle(self, column: Column) -> Bundle:
        """What a node with this column takes, with devices."""
        if column.node_class in self.linear.devices:
            return self.linear.bundle(column.node_class, column.payload)
        found: Bundle = column.payload
        return found

    def price(self, node_class: int, prices: Prices, most: Sequence[int], limits: PricingLimits) -> Priced:
        """Find valuable columns."""
        return self._of(node_class).price(node_class, prices, most, limits)

    def enumerate(
        self, node_class: int, prices: Prices, most: Sequence[int], least: int, limits: PricingLimits
    ) -> tuple[Column, ...] | None:
        """Return all columns of some worth."""
        return self._of(node_class).enumerate(node_class, prices, most, least, limits)

    def reduced(self, column: Column, counts: Mapping[int, int]) -> Column:
        """Take units out of a column."""
        return self._of(column.node_class).reduced(column, counts)

    def _of(self, node_class: int) -> Pricer:
        return self.linear.pricer if node_class in self.linear.devices else self.models

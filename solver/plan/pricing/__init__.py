"""Pricing: the most valuable columns of a node class, which are the bundles that one of its nodes may take.

A node class whose devices are all alike is priced by dynamic programs (``linear``), every other one by a CP-SAT model
(``cp_sat``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..column_generation import Pricer, Prices, PricingLimits, PricingResult
from ..filling_graph import Fillings, VectorNode
from ..master_problem import Column
from .bundle import Bundle, BundleQuestion
from .cp_sat import BundlePricer
from .linear import LinearNodes, linear_nodes


@dataclass(frozen=True, slots=True)
class DispatchingPricer:
    """Asks the pricer that a node kind needs."""

    models: BundlePricer
    linear: LinearNodes

    @classmethod
    def of(cls, questions: Mapping[int, BundleQuestion], demands: tuple[int, ...]) -> DispatchingPricer:
        """Price these questions about unit classes with so many units."""
        return cls(BundlePricer(questions), linear_nodes(questions, len(demands), demands))

    def column(self, node_class: int, bundle: Bundle) -> Column:
        """The column of a node that takes a bundle."""
        if node_class in self.linear.devices:
            return self.linear.column(node_class, bundle)
        return self.models.column(node_class, bundle)

    def bundle(self, column: Column) -> Bundle:
        """Return the bundle of a node with this column, with devices."""
        if column.node_class in self.linear.devices:
            return self.linear.bundle(column.node_class, column.payload)
        found: Bundle = column.payload
        return found

    def price(
        self, node_class: int, prices: Prices, limits_by_class: Sequence[int], limits: PricingLimits
    ) -> PricingResult:
        """Find valuable columns."""
        return self._of(node_class).price(node_class, prices, limits_by_class, limits)

    def enumerate(
        self, node_class: int, prices: Prices, limits_by_class: Sequence[int], least_value: int, limits: PricingLimits
    ) -> tuple[Column, ...] | None:
        """Return all columns of some worth."""
        return self._of(node_class).enumerate(node_class, prices, limits_by_class, least_value, limits)

    def reduced(self, column: Column, counts: Mapping[int, int]) -> Column:
        """Take units out of a column."""
        return self._of(column.node_class).reduced(column, counts)

    def completed(self, column: Column, prices: Prices, left: Sequence[int], limits: PricingLimits) -> Column:
        """Add valuable units to a column."""
        return self._of(column.node_class).completed(column, prices, left, limits)

    def lightened(self, column: Column) -> Column:
        """Give the units of a column the devices that consume least."""
        return self._of(column.node_class).lightened(column)

    def vector(self, node_class: int) -> VectorNode | None:
        """Return a linear node class as a vector, if it is one."""
        return self._of(node_class).vector(node_class)

    def sizes(self, node_class: int) -> VectorNode:
        """Return a node class as a vector of what every column keeps."""
        return self._of(node_class).sizes(node_class)

    def fillings(self, node_class: int, limits_by_class: Sequence[int]) -> Fillings | None:
        """Return all fillings of a linear node class, if they are not too many."""
        return self._of(node_class).fillings(node_class, limits_by_class)

    def filled(self, node_class: int, counts: Sequence[tuple[int, int]]) -> Column:
        """Return the column of a path of a graph."""
        return self._of(node_class).filled(node_class, counts)

    def _of(self, node_class: int) -> Pricer:
        return self.linear.pricer if node_class in self.linear.devices else self.models

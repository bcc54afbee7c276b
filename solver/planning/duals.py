"""Duals in whole numbers, and the Lagrangian bound that they prove, whatever the linear solver did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .instance import Instance, Row, Stage, Terms
from .master import Relaxation
from .pricing import Prices

# What one more unit may add to a stage, times the stage's scale, is about this.
_PRECISION = 1 << 26
# Duals above so many times that are cut off: sums over a node must stay below what the solvers take.
_LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Duals:
    """What a unit of each class is worth (never below zero), and a row's upper side, in floating point."""

    units: tuple[float, ...]
    rows: tuple[float, ...]

    def mixed(self, other: Duals, part: float) -> Duals:
        """Mix with this part of ``other`` (Wentges 1997)."""
        return Duals(_mix(self.units, other.units, part), _mix(self.rows, other.rows, part))


def _mix(one: Sequence[float], other: Sequence[float], part: float) -> tuple[float, ...]:
    return tuple((1 - part) * mine + part * theirs for mine, theirs in zip(one, other, strict=True))


def duals_of(found: Relaxation) -> Duals:
    """The duals of a solution."""
    return Duals(found.units, found.rows)


class Pricing:
    """A stage with its rows at integer prices: what columns are worth, and what all of them together prove.

    Everything is in 1 / ``scale`` of the stage's unit, and in the sense of maximising. No unit that the stage, a row or
    a gang names is worth less than ``floor``, and no row about usage costs less.
    """

    def __init__(self, instance: Instance, stage: Stage, rows: Sequence[Row], duals: Duals, floor: int = 0) -> None:
        self.scale = max(1, _PRECISION // max(1, instance.largest(stage.terms)))
        self._instance = instance
        self._rows = rows
        self._row_prices = [self._row_price(row, dual, floor) for row, dual in zip(rows, duals.rows, strict=True)]
        sign = self.scale if stage.maximise else -self.scale
        pairs = [(stage.terms, sign)]
        pairs += [(row.terms, -price) for row, price in zip(rows, self._row_prices, strict=True)]
        self._terms = combined(pairs)
        units = [min(max(0, round(dual * self.scale)), _LARGEST) for dual in duals.units]
        named = self._named() if floor else frozenset[int]()
        self.prices = Prices(
            tuple(max(floor, price) if unit in named else price for unit, price in enumerate(self._capped(units))),
            tuple(self._terms.usage.get(m, 0) for m in range(instance.meters)),
        )

    def _row_price(self, row: Row, dual: float, floor: int) -> int:
        price = max(-_LARGEST, min(_LARGEST, round(dual * self.scale)))
        if row.terms.usage and abs(price) < floor:
            price = floor if row.upper is not None else -floor
        if (price > 0 and row.upper is None) or (price < 0 and row.lower is None):
            return 0
        return price

    def _capped(self, units: list[int]) -> tuple[int, ...]:
        """Lower prices to what anybody gains by a unit: that never makes the bound worse."""
        caps = [max(0, self._terms.units.get(index, 0)) for index in range(len(units))]
        for index, gang in enumerate(self._instance.gangs):
            gain = self._terms.gangs.get(index, 0)
            for unit, size in gang.members:
                caps[unit] = max(caps[unit], -(-gain // size))
        return tuple(min(price, cap) for price, cap in zip(units, caps, strict=True))

    def _named(self) -> frozenset[int]:
        """Units that it can matter to place."""
        members = (unit for gang in self._instance.gangs for unit, _ in gang.members)
        return frozenset([*self._terms.units, *members])

    def constant(self, node_class: int) -> int:
        """What a node of the class adds to the worth of its column when it is in use."""
        return self._terms.nodes.get(node_class, 0)

    def bound(self, columns: Sequence[int | None]) -> int | None:
        """Bound the stage, given bounds on the worth of each node class's columns; None for none."""
        total = 0
        for node, worth in zip(self._instance.nodes, columns, strict=True):
            if worth is None:
                return None
            total += node.count * max(0, worth + self.constant(node.index))
        for unit in self._instance.units:
            total += unit.demand * max(0, self._terms.units.get(unit.index, 0) - self.prices.units[unit.index])
        for index, gang in enumerate(self._instance.gangs):
            paid = sum(size * self.prices.units[unit] for unit, size in gang.members)
            total += gang.demand * max(0, self._terms.gangs.get(index, 0) - paid)
        for row, price in zip(self._rows, self._row_prices, strict=True):
            limit = row.upper if price > 0 else row.lower
            total += price * (limit or 0)
        return total


def combined(pairs: Sequence[tuple[Terms, int]]) -> Terms:
    """Add up terms, each times a number."""
    sums: tuple[dict[int, int], ...] = ({}, {}, {}, {})
    for terms, factor in pairs:
        kinds = (terms.units, terms.gangs, terms.nodes, terms.usage)
        for total, kind in zip(sums, kinds, strict=True):
            for index, coefficient in kind.items():
                total[index] = total.get(index, 0) + factor * coefficient
    units, gangs, nodes, usage = sums
    return Terms(units, gangs, nodes, usage)

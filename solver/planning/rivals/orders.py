"""In which order units arrive at a sequential scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random

from ....models.planned_units import PlannedUnit


def _given(units: Iterable[PlannedUnit], _seed: int) -> list[PlannedUnit]:
    return list(units)


def _random(units: Iterable[PlannedUnit], seed: int) -> list[PlannedUnit]:
    shuffled = list(units)
    Random(seed).shuffle(shuffled)
    return shuffled


def _by_priority(units: Iterable[PlannedUnit], _seed: int) -> list[PlannedUnit]:
    return sorted(units, key=lambda unit: -unit.set.shape.priority)


ORDERS: dict[str, Callable[[Iterable[PlannedUnit], int], list[PlannedUnit]]] = {
    "given": _given,
    "random": _random,
    "priority": _by_priority,
}


def arriving(units: Sequence[PlannedUnit], order: str, seed: int) -> list[PlannedUnit]:
    """The units in this order: as read, as the seed decides, or the highest priority first and else as read."""
    return ORDERS[order](units, seed)

"""Bundles with fewer copies: what a plan does not place is taken out again."""

from __future__ import annotations

from collections.abc import Sequence

from ....problem.order import giving_pools
from .question import Bundle, BundleQuestion


def reduced(question: BundleQuestion, bundle: Bundle, counts: Sequence[int]) -> Bundle:
    """Leave at most so many copies of each unit, those that cost least by the first measure, then by the second.

    The rest is a bundle as well: nothing that a copy takes helps another one. Where devices give counters that is not
    so, and the bundle stays as it is.
    """
    if any(giving_pools(unit.problem) for unit in question.units):
        return bundle
    return bundle.kept([_cheapest(question, bundle, number, count) for number, count in enumerate(counts)])


def _cheapest(question: BundleQuestion, bundle: Bundle, number: int, count: int) -> list[int]:
    """Find the copies of a unit that cost least when they are alone; of equal ones the first."""
    nothing: list[tuple[int, ...]] = [() for _ in bundle.copies]

    def costs(copy: int) -> list[int]:
        alone = bundle.kept([(copy,) if unit == number else own for unit, own in enumerate(nothing)])
        return [measure.value(question.units, alone) for measure in question.measures]

    copies = range(len(bundle.copies[number]))
    return sorted(sorted(copies, key=costs)[:count])

"""A node's bundles as one model: how many copies of each unit class are served, under all rules of ``allocate``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

from ....encoders.expansion import expand
from ....encoders.rows import COEFFICIENT_LIMIT, Rows, Term
from ...attempts import Counts
from ...cp_sat_run import Found, Limits, Status
from ...judging import judged
from ...search import Pick
from .building import Building
from .measures import aware
from .question import Bundle, BundleQuestion, Picks

Solver = Callable[[Rows, Limits], Found]
"""A way to run the solver."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What a copy of each unit adds to the value of a bundle, and what each count of a meter or a measure does."""

    units: tuple[int, ...]
    usage: tuple[int, ...] = ()

    @property
    def pays(self) -> bool:
        """Whether a bundle may be worth more than its units."""
        return any(price > 0 for price in self.usage)

    @property
    def priced(self) -> tuple[int, ...]:
        """Numbers of the meters and measures that count."""
        return tuple(number for number, price in enumerate(self.usage) if price)


@dataclass(frozen=True, slots=True)
class Best:
    """The most valuable bundle that was found, and what none is worth more than; None for none, and for unknown."""

    bundle: Bundle | None
    bound: int | None


class BundleModel:
    """The model of a question with at most so many copies of each unit class, which knows some measures by number.

    Raises ``CoefficientError``, ``RoadError`` and ``DeadlineExceededError``.
    """

    def __init__(
        self,
        question: BundleQuestion,
        most: Sequence[int],
        deadline: float | None = None,
        measures: Sequence[int] = (),
    ) -> None:
        self.question = aware(question, measures)
        self.most = tuple(most)
        made = Building(self.question, most, deadline).model()
        self.allocation = made.model
        self._post_resources()
        known = zip(measures, self.question.measures, strict=True)
        self._costs = {len(question.meters) + number: measure.terms(made) for number, measure in known}

    def _post_resources(self) -> None:
        rows = self.allocation.rows
        rows.packs = True
        for resource, free in enumerate(self.question.left):
            needs = [
                (placed, unit.needs[resource])
                for placed, unit in zip(self.allocation.units.placed, self.question.units, strict=True)
            ]
            rows.at_most(needs, max(0, free))

    @property
    def learns(self) -> bool:
        """Whether what is asked leaves traces: relations are judged solution by solution."""
        return bool(self.allocation.lazies)

    def best(self, worth: Worth, most: Sequence[int], solve: Solver, limits: Limits) -> Best:
        """Find the most valuable bundle of at most so many copies.

        Unless the model ``learns``, the answer is the same whatever was asked before.
        """
        divisor = self.aim(worth, most)
        seen: list[int] = []

        def counted(left: Limits) -> Found:
            found = solve(self.allocation.rows, left)
            if found.status in (Status.OPTIMAL, Status.FEASIBLE):
                # What is judged later only takes bundles away.
                seen.append(-found.bound * divisor)
            return found

        found = judged(self.allocation, counted, limits, Counts(), hints=False)
        bundle = self.bundle(found.values) if found.values else None
        return Best(bundle, min(seen, default=None))

    def aim(self, worth: Worth, most: Sequence[int]) -> int:
        """Ask for the most valuable bundle; what the value is divided by, rounded up, is returned."""
        rows = self.allocation.rows
        rows.hint({})
        for placed, price, limit, made in zip(self.allocation.units.placed, worth.units, most, self.most, strict=True):
            # A unit that is worth nothing makes no bundle more valuable, unless its devices do.
            rows.restrict(placed, 0, min(limit, made) if price > 0 or worth.pays else 0)
        terms, divisor = _scaled(self.value(worth))
        rows.minimize(terms)
        return divisor

    def value(self, worth: Worth) -> list[Term]:
        """What a bundle is worth, as terms to be made small."""
        placed = self.allocation.units.placed
        terms = [(variable, -price) for variable, price in zip(placed, worth.units, strict=True)]
        for number in worth.priced:
            terms += [(variable, -worth.usage[number] * amount) for variable, amount in self.usage(number)]
        return _summed(terms)

    def usage(self, number: int) -> list[Term]:
        """What a bundle counts on a meter, or costs by a measure that the model knows."""
        if number in self._costs:
            return self._costs[number]
        amounts, lots = self.question.meters[number], self.allocation.collapsed.lots
        metered = ((taken, amounts.get(lots[lot].first, 0)) for (_, lot), taken in self.allocation.takes.items())
        return [(taken, amount) for taken, amount in metered if amount]

    def bundle(self, values: Sequence[int]) -> Bundle:
        """Tell the copies apart."""
        copies: list[tuple[Picks, ...]] = []
        picks = expand(self.allocation, values)
        start = 0
        for unit, placed, made in zip(self.question.units, self.allocation.units.placed, self.most, strict=True):
            size = len(unit.problem.demands)
            own: list[list[Pick]] = [[] for _ in range(values[placed])]
            for demand, device in picks:
                copy, number = divmod(demand - start, size) if size else (-1, 0)
                if 0 <= copy < made:
                    own[copy].append(Pick(number, device))
            copies.append(tuple(map(tuple, own)))
            start += size * made
        return Bundle(tuple(copies))


def _summed(terms: Sequence[Term]) -> list[Term]:
    """Name each variable once."""
    totals: Counter[int] = Counter()
    for variable, coefficient in terms:
        totals[variable] += coefficient
    return [(variable, total) for variable, total in totals.items() if total]


def _scaled(terms: Sequence[Term]) -> tuple[list[Term], int]:
    """Divide what is worth too much for the solver, rounding in favour of the bundles."""
    divisor = gcd(*(coefficient for _, coefficient in terms)) or 1
    largest = max((abs(coefficient) for _, coefficient in terms), default=0)
    if largest // divisor >= COEFFICIENT_LIMIT:
        divisor = -(-largest // (COEFFICIENT_LIMIT - 1))
    return [(variable, coefficient // divisor) for variable, coefficient in terms], divisor

"""A node's bundles as one model: how many copies of each unit class are served, under all rules of ``allocate``."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import gcd

from ....encoders.collapsed import Collapsed, Merged, UnitCopies
from ....encoders.composition import ENCODERS
from ....encoders.configurations import Configuration, post_configurations
from ....encoders.encoder import Signature
from ....encoders.expansion import expand
from ....encoders.lots import collapse
from ....encoders.merging import merge
from ....encoders.model import AllocationModel, build
from ....encoders.rows import COEFFICIENT_LIMIT, Rows, Term
from ....problem.records import Problem
from ....problem.usable import usable
from ...attempts import Counts
from ...capacity_copies import side_by_side
from ...cp_sat_run import Found, Limits, Status
from ...judging import judged
from ...search import Pick
from .configurations import UnitAlone, alone, configurations, in_need, same_claims
from .question import Bundle, BundleQuestion, Picks

Solver = Callable[[Rows, Limits], Found]
"""A way to run the solver."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What a copy of each unit of a question adds to the value of a bundle, and what each count of a meter does."""

    units: tuple[int, ...]
    meters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Best:
    """The most valuable bundle that was found, and what none is worth more than; None for none, and for unknown."""

    bundle: Bundle | None
    bound: int | None


class BundleModel:
    """The model of a question with at most so many copies of each unit class.

    Raises ``CoefficientError``, ``RoadError`` and ``DeadlineExceededError``.
    """

    def __init__(self, question: BundleQuestion, most: Sequence[int], deadline: float | None = None) -> None:
        self.question = question
        self.most = tuple(most)
        problems = [unit.problem for unit in question.units]
        several = [problem for problem, copies in zip(problems, most, strict=True) for _ in range(copies)]
        problem = side_by_side(several) if several else replace(problems[0], claims=(), demands=())
        self.allocation = _Building(question, most, problem, self._units(), deadline).model()
        self._post_resources()

    def _units(self) -> list[UnitCopies]:
        """Number the claims of all copies, as they come side by side."""
        sizes = [len(unit.problem.claims) for unit in self.question.units]
        firsts = accumulate((size * copies for size, copies in zip(sizes, self.most, strict=True)), initial=0)
        return [
            UnitCopies(tuple(tuple(range(first + copy * size, first + (copy + 1) * size)) for copy in range(copies)))
            for first, size, copies in zip(firsts, sizes, self.most, strict=False)
        ]

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
        rows = self.allocation.rows
        rows.hint({})
        for placed, price, limit, made in zip(self.allocation.units.placed, worth.units, most, self.most, strict=True):
            # A unit that is worth nothing makes no bundle more valuable.
            rows.restrict(placed, 0, min(limit, made) if price > 0 else 0)
        terms, divisor = _scaled(self._value(worth))
        rows.minimize(terms)
        seen: list[int] = []

        def counted(left: Limits) -> Found:
            found = solve(rows, left)
            if found.status in (Status.OPTIMAL, Status.FEASIBLE):
                # What is judged later only takes bundles away.
                seen.append(-found.bound * divisor)
            return found

        found = judged(self.allocation, counted, limits, Counts(), hints=False)
        bundle = self._bundle(found.values) if found.values else None
        return Best(bundle, min(seen, default=None))

    def _value(self, worth: Worth) -> list[Term]:
        """What a bundle is worth, as terms to be made small."""
        placed = self.allocation.units.placed
        terms = [(variable, -price) for variable, price in zip(placed, worth.units, strict=True) if price > 0]
        for price, amounts in zip(worth.meters, self.question.meters, strict=True):
            for (_, lot), taken in self.allocation.takes.items():
                amount = amounts.get(self.allocation.collapsed.lots[lot].first, 0)
                if price * amount:
                    terms.append((taken, -price * amount))
        return terms

    def _bundle(self, values: Sequence[int]) -> Bundle:
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


class _Building:
    """Merges copies where counts say all, and by configurations where they do not."""

    def __init__(
        self,
        question: BundleQuestion,
        most: Sequence[int],
        problem: Problem,
        units: Sequence[UnitCopies],
        deadline: float | None,
    ) -> None:
        self._question = question
        self._most = most
        self._problem = problem
        self._units = units
        self._deadline = deadline
        self._candidates = usable(problem, question.in_use)

    def model(self) -> AllocationModel:
        """Build the model. A unit with too many configurations has copies side by side."""
        collapsed, found = self._configured()
        model = build(_without_entries(collapsed, found), ENCODERS, deadline=self._deadline)
        for number, listed in found.items():
            post_configurations(model, number, listed)
        return model

    def _configured(self) -> tuple[Collapsed, dict[int, list[Configuration]]]:
        """List the configurations of all units that need them and have few enough."""
        merged = self._merged(())
        needy = in_need(self._question, merged)
        wanted = [alone(self._question, number, self._units, self._most) for number in needy]
        while True:
            collapsed = self._collapsed(self._merged(wanted) if wanted else merged)
            listed = {one.number: configurations(one, collapsed, self._deadline) for one in wanted}
            found = {number: own for number, own in listed.items() if own is not None}
            if len(found) == len(wanted):
                return collapsed, found
            wanted = [one for one in wanted if one.number in found]

    def _merged(self, wanted: Sequence[UnitAlone]) -> Merged:
        same = {claim: key for one in wanted for claim, key in same_claims(one, self._units[one.number])}
        return merge(self._problem, self._question.in_use, self._candidates, units=self._units, same=same)

    def _collapsed(self, merged: Merged) -> Collapsed:
        return collapse(merged, [*ENCODERS, _Metering(self._question.meters)])


def _without_entries(collapsed: Collapsed, numbers: Container[int]) -> Collapsed:
    """Leave out the entries of these units, which every configuration keeps; lots stay as they are."""
    merged = collapsed.merged
    kept = [unit for number, unit in enumerate(merged.units) if number in numbers]
    claims = {claim for unit in kept for own in unit.claims for claim in own}
    constraints = tuple(one for one in merged.constraints if one.record.claim not in claims)
    relations = tuple(one for one in merged.relations if claims.isdisjoint(one.claims))
    return replace(collapsed, merged=replace(merged, constraints=constraints, relations=relations))


@dataclass(frozen=True, slots=True)
class _Metering:
    """Devices of one lot count alike for every meter."""

    meters: Sequence[Mapping[int, int]]

    def sign(self, _merged: Merged) -> Signature | None:
        """Sign devices with what they count."""
        return self._counted if self.meters else None

    def _counted(self, device: int) -> Hashable:
        return tuple(meter.get(device, 0) for meter in self.meters)


def _scaled(terms: Sequence[Term]) -> tuple[list[Term], int]:
    """Divide what is worth too much for the solver, rounding in favour of the bundles."""
    divisor = gcd(*(coefficient for _, coefficient in terms)) or 1
    largest = max((abs(coefficient) for _, coefficient in terms), default=0)
    if largest // divisor >= COEFFICIENT_LIMIT:
        divisor = -(-largest // (COEFFICIENT_LIMIT - 1))
    return [(variable, coefficient // divisor) for variable, coefficient in terms], divisor

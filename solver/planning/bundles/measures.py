"""What a node's bundle is like beside which units it has: measures, whose values are never negative and 0 for nothing.

A measure says what it costs twice: as terms of a model, which are no lower than that whatever is chosen and can be as
low, and as the true value of a bundle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

from ....encoders.collapsed import Merged
from ....encoders.encoder import Signature, sees_nothing
from ....encoders.model import AllocationModel
from ....encoders.rows import Term
from ....encoders.stages.holding import post_implied
from ....problem.records import Problem
from ....problem.relations import Relation
from ....problem.soft import soft_relations
from .question import Bundle, BundleQuestion, BundleUnit, Picks


@dataclass(frozen=True, slots=True)
class Measured:
    """A model that measures add terms to.

    ``listed`` has by number the units whose copies take one of a list of configurations: the variable that counts the
    copies, and what each of them takes.
    """

    model: AllocationModel
    units: Sequence[BundleUnit]
    listed: Mapping[int, Sequence[tuple[int, Picks]]]

    def placed(self) -> list[Term]:
        """Terms for the number of units that are measured."""
        pairs = zip(self.units, self.model.units.placed, strict=True)
        return [(variable, unit.size) for unit, variable in pairs if unit.measured]

    def unlisted(self) -> dict[int, tuple[int, int]]:
        """Measured claims of units without configurations: by claim the numbers of the unit and of the copy."""
        copies = enumerate(zip(self.units, self.model.merged.units, strict=True))
        return {
            claim: (number, copy)
            for number, (unit, own) in copies
            if unit.measured and number not in self.listed
            for copy, claims in enumerate(own.claims)
            for claim in claims
        }


class Measure(Protocol):
    """What a bundle costs by one goal."""

    @property
    def id(self) -> str:
        """Name of the goal."""
        ...

    @property
    def sign(self) -> Callable[[Merged], Signature | None]:
        """What it sees of a device, as for an encoder."""
        ...

    def minds(self, relation: Relation) -> bool:
        """Whether it looks at a relation that need not hold."""
        ...

    def parts(self, problem: Problem) -> bool:
        """Whether its terms need the copies of a unit apart, as a count of them does not say enough."""
        ...

    def terms(self, measured: Measured) -> list[Term]:
        """Terms of what a bundle costs, exact once they are as low as they can be; none is negative as a whole."""
        ...

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """What a bundle costs."""
        ...


def aware(question: BundleQuestion, measures: Collection[int]) -> BundleQuestion:
    """Leave only some measures, by number, and of the relations that need not hold those that these look at."""
    known = tuple(question.measures[number] for number in sorted(measures))
    return replace(question, units=tuple(_minding(unit, known) for unit in question.units), measures=known)


def _minding(unit: BundleUnit, measures: Sequence[Measure]) -> BundleUnit:
    kept = tuple(
        relation
        for relation in unit.problem.relations
        if relation.hard or (unit.measured and any(measure.minds(relation) for measure in measures))
    )
    if len(kept) == len(unit.problem.relations):
        return unit
    return replace(unit, problem=replace(unit.problem, relations=kept))


def light(question: BundleQuestion) -> frozenset[int]:
    """Numbers of the measures that make a model hardly larger: they need no copies apart and no further relations."""
    problems = [unit.problem for unit in question.units if unit.measured]
    return frozenset(
        number
        for number, measure in enumerate(question.measures)
        if not any(measure.parts(one) or any(map(measure.minds, soft_relations(one))) for one in problems)
    )


def is_parted(question: BundleQuestion, number: int) -> bool:
    """Whether some measure needs the copies of a unit apart."""
    unit = question.units[number]
    return unit.measured and any(measure.parts(unit.problem) for measure in question.measures)


def _minds_nothing(_about: object) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class CopyMeasure:
    """A sum over copies: ``cost`` is that of one, which depends on nothing but what it takes itself.

    ``rest`` makes the terms for units without configurations.
    """

    id: str
    cost: Callable[[Problem, Picks], int]
    rest: Callable[[Measured], list[Term]]
    sign: Callable[[Merged], Signature | None] = sees_nothing
    minding: Callable[[Relation], bool] = _minds_nothing
    parting: Callable[[Problem], bool] = _minds_nothing

    def minds(self, relation: Relation) -> bool:
        """Whether it looks at a relation that need not hold."""
        return self.minding(relation)

    def parts(self, problem: Problem) -> bool:
        """Whether copies must be told apart."""
        return self.parting(problem)

    def terms(self, measured: Measured) -> list[Term]:
        """Count each configuration at its cost, and the rest as it can be said."""
        found = [
            (variable, self.cost(measured.units[number].problem, picks))
            for number, choices in measured.listed.items()
            if measured.units[number].measured
            for variable, picks in choices
        ]
        return [*found, *self.rest(measured)]

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Add up the copies."""
        pairs = zip(units, bundle.copies, strict=True)
        return sum(self.cost(unit.problem, picks) for unit, copies in pairs if unit.measured for picks in copies)


@dataclass(frozen=True, slots=True)
class Unparted:
    """Needs neither copies apart nor relations; devices of one lot are alike to it."""

    def sign(self, _merged: Merged) -> Signature | None:
        """Devices count nothing."""
        return None

    def minds(self, _relation: Relation) -> bool:
        """Relations count nothing."""
        return False

    def parts(self, _problem: Problem) -> bool:
        """Copies are counted only."""
        return False


@dataclass(frozen=True, slots=True)
class Spread(Unparted):
    """The square of the number of copies, so that nodes with equally many are best."""

    id: str = "spread"

    def terms(self, measured: Measured) -> list[Term]:
        """Write the number in steps: the n-th copy makes the square larger by 2 n - 1."""
        rows, placed = measured.model.rows, measured.placed()
        steps = [rows.boolean() for _ in range(rows.extent(placed)[1])]
        rows.equal([*placed, *((step, -1) for step in steps)], 0)
        for step, following in pairwise(steps):
            rows.at_most([(following, 1), (step, -1)], 0)
        return [(step, 2 * number + 1) for number, step in enumerate(steps)]

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Square the number of copies."""
        return _copies(units, bundle) ** 2


@dataclass(frozen=True, slots=True)
class Occupied(Unparted):
    """``amount`` if anything that is measured is placed: a node in use, beside which other units cost nothing."""

    amount: int = 1
    id: str = "occupied"

    def terms(self, measured: Measured) -> list[Term]:
        """A literal that is true exactly if anything is placed."""
        rows, placed = measured.model.rows, measured.placed()
        literal = rows.boolean()
        post_implied(measured.model, placed, literal)
        rows.at_most([(literal, 1), *((variable, -1) for variable, _ in placed)], 0)
        return [(literal, self.amount)]

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """The amount, or nothing."""
        return self.amount if _copies(units, bundle) else 0


def _copies(units: Sequence[BundleUnit], bundle: Bundle) -> int:
    return sum(unit.size * count for unit, count in zip(units, bundle.counts, strict=True) if unit.measured)


SPREAD = Spread()
"""How evenly units are spread over nodes."""

"""Which units of a question get configurations, and what these are: every set of devices that one copy could take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ....encoders.collapsed import Collapsed, Lot, Merged, UnitCopies
from ....encoders.composition import ENCODERS
from ....encoders.configurations import Configuration
from ....encoders.expansion import expand
from ....encoders.merging import merge
from ....encoders.model import AllocationModel, build
from ....problem.order import giving_pools
from ....problem.usable import usable
from ...capacity_copies import has_admin
from ...enumeration import solutions
from ...search import Pick
from .question import BundleQuestion, Picks

# So many configurations of a unit are listed; beyond that copies stay side by side.
_MOST = 600


@dataclass(frozen=True, slots=True)
class Listed:
    """All that one copy of a unit could take, by branches and lots of the larger question: in its own model, too."""

    configurations: tuple[Configuration, ...]
    model: AllocationModel
    solutions: tuple[tuple[int, ...], ...]

    def picks(self) -> list[Picks]:
        """What a copy takes by each configuration, up to devices that nothing tells apart."""
        return [tuple(Pick(*one) for one in expand(self.model, values)) for values in self.solutions]


@dataclass(frozen=True, slots=True)
class UnitAlone:
    """One copy of a unit, with what it shares with its copies in a larger question: its first demand there."""

    number: int
    merged: Merged
    first_demand: int


def in_need(question: BundleQuestion, merged: Merged) -> Iterator[int]:
    """Yield the units with claims that stay alone: several copies of them, or such as are judged on complete sets.

    Not where the order of units decides what one of them may take.
    """
    alone = {request.claims[0] for request in merged.requests if len(request.claims) == 1}
    for number, (unit, copies) in enumerate(zip(question.units, merged.units, strict=True)):
        judged = any(relation.hard for relation in unit.problem.relations)
        listed = len(copies.claims) > (0 if judged else 1) and not alone.isdisjoint(copies.claims[0])
        if listed and not has_admin(unit.problem) and not giving_pools(unit.problem):
            yield number


def alone(question: BundleQuestion, number: int, most: Sequence[int]) -> UnitAlone:
    """Merge what is equal in one copy."""
    problem = question.units[number].problem
    merged = merge(problem, question.in_use, usable(problem, question.in_use))
    before = zip(question.units[:number], most, strict=False)
    first_demand = sum(len(unit.problem.demands) * copies for unit, copies in before)
    return UnitAlone(number, merged, first_demand)


def same_claims(one: UnitAlone, copies: UnitCopies) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield for each claim of each copy a key: those that are one in a copy are one in all copies."""
    for request in one.merged.requests:
        for claim in request.claims:
            for own in copies.claims:
                yield own[claim], (one.number, request.claims[0])


def configurations(one: UnitAlone, collapsed: Collapsed, deadline: float | None) -> Listed | None:
    """List all that one copy could take, whatever soft entries say; None if that is too much."""
    branches = {branch.demands[0]: branch.index for branch in collapsed.merged.branches}
    there = {branch.index: branches[one.first_demand + branch.demands[0]] for branch in one.merged.branches}
    lots, own = _lots(collapsed, {outer: inner for inner, outer in there.items()})
    of_branch = tuple(tuple(lot.index for lot in own if number in lot.branches) for number in there)
    merged = replace(one.merged, relations=tuple(relation for relation in one.merged.relations if relation.record.hard))
    model = build(Collapsed(merged, tuple(own), of_branch), ENCODERS, deadline=deadline)
    places = {(there[branch], lots[lot]): variable for (branch, lot), variable in model.takes.items()}
    variables, known = list(places.values()), dict[tuple[int, ...], tuple[int, ...]]()

    def holds(values: Sequence[int]) -> bool:
        known[tuple(values[variable] for variable in variables)] = tuple(values)
        return _holds(model, values)

    found = solutions(model.rows, variables, _MOST, holds, deadline)
    if found is None:
        return None
    listed = [tuple((place, count) for place, count in zip(places, one, strict=True) if count) for one in found]
    return Listed(tuple(listed), model, tuple(known[one] for one in found))


def _lots(collapsed: Collapsed, inner: Mapping[int, int]) -> tuple[list[int], list[Lot]]:
    """Take over the lots that a copy could take from: their numbers outside, and what they are inside."""
    kept = [lot for lot in collapsed.lots if any(branch in inner for branch in lot.branches)]
    own = [
        replace(lot, index=index, branches=tuple(sorted(inner[branch] for branch in lot.branches if branch in inner)))
        for index, lot in enumerate(kept)
    ]
    return [lot.index for lot in kept], own


def _holds(model: AllocationModel, values: Sequence[int]) -> bool:
    """Judge the relations that no rows say."""
    if not model.lazies:
        return True
    taken = expand(model, values)
    return all(lazy.relation.record.verdict(taken) is True for lazy in model.lazies if lazy.relation.record.hard)

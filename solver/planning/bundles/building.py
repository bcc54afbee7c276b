"""From a question about bundles to its model: copies side by side, merged, with configurations where counts fail."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ....encoders.collapsed import Collapsed, Merged, UnitCopies
from ....encoders.composition import ENCODERS
from ....encoders.configurations import post_configurations
from ....encoders.encoder import Signature
from ....encoders.lots import collapse
from ....encoders.merging import merge
from ....encoders.model import build
from ....problem.records import Problem
from ....problem.usable import usable
from ...capacity_copies import side_by_side
from .configurations import Listed, UnitAlone, alone, configurations, in_need, same_claims
from .measures import Measured, is_parted
from .question import BundleQuestion, Picks


class Building:
    """Merges copies where counts say all, and by configurations where they do not."""

    def __init__(self, question: BundleQuestion, most: Sequence[int], deadline: float | None) -> None:
        self._question = question
        self._most = most
        self._deadline = deadline
        problems = [unit.problem for unit in question.units]
        several = [problem for problem, copies in zip(problems, most, strict=True) for _ in range(copies)]
        nothing = replace(problems[0], claims=(), demands=(), constraints=(), relations=())
        self._problem = _overlooked(side_by_side(several or [nothing]), problems)
        self._units = self._copies()
        self._candidates = usable(self._problem, question.in_use)
        self._marks = self._marked() if question.measures else None

    def _copies(self) -> list[UnitCopies]:
        """Number the claims of all copies, as they come side by side."""
        sizes = [len(unit.problem.claims) for unit in self._question.units]
        firsts = accumulate((size * copies for size, copies in zip(sizes, self._most, strict=True)), initial=0)
        return [
            UnitCopies(tuple(tuple(range(first + copy * size, first + (copy + 1) * size)) for copy in range(copies)))
            for first, size, copies in zip(firsts, sizes, self._most, strict=False)
        ]

    def _marked(self) -> list[Hashable]:
        """Mark the demands of copies that measures must tell apart, and of units that they do not see."""
        marks: list[Hashable] = []
        for number, (unit, copies) in enumerate(zip(self._question.units, self._most, strict=True)):
            parted, seen = is_parted(self._question, number), len(unit.problem.landscape.groupings)
            for copy in range(copies):
                mark = (number, copy) if parted else (unit.measured, seen)
                marks += [(parted, mark)] * len(unit.problem.demands)
        return marks

    def model(self) -> Measured:
        """Build the model. A unit with too many configurations has copies side by side."""
        collapsed, found = self._configured()
        model = build(_without_entries(collapsed, found), ENCODERS, deadline=self._deadline)
        listed: dict[int, list[tuple[int, Picks]]] = {}
        for number, own in found.items():
            variables = post_configurations(model, number, own.configurations)
            if self._question.measures:
                listed[number] = list(zip(variables, own.picks(), strict=True))
        return Measured(model, self._question.units, listed)

    def _configured(self) -> tuple[Collapsed, dict[int, Listed]]:
        """List the configurations of all units that need them and have few enough."""
        merged = self._merged(())
        needy = in_need(self._question, merged)
        wanted = [alone(self._question, number, self._most) for number in needy]
        while True:
            collapsed = self._collapsed(self._merged(wanted) if wanted else merged)
            listed = {one.number: configurations(one, collapsed, self._deadline) for one in wanted}
            found = {number: own for number, own in listed.items() if own is not None}
            if len(found) == len(wanted):
                return collapsed, found
            wanted = [one for one in wanted if one.number in found]

    def _merged(self, wanted: Sequence[UnitAlone]) -> Merged:
        same = {claim: key for one in wanted for claim, key in same_claims(one, self._units[one.number])}
        asked = self._problem, self._question.in_use, self._candidates
        return merge(*asked, marks=self._marks, units=self._units, same=same)

    def _collapsed(self, merged: Merged) -> Collapsed:
        return collapse(merged, [*ENCODERS, _Metering(self._question.meters), *self._question.measures])


def _overlooked(problem: Problem, problems: Sequence[Problem]) -> Problem:
    """Tell all places apart that any unit's landscape does."""
    groupings = dict.fromkeys(grouping for one in problems for grouping in one.landscape.groupings)
    return replace(problem, landscape=replace(problem.landscape, groupings=tuple(groupings)))


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

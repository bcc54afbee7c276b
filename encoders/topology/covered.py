"""What an entry about a topology covers in a model: what is taken of each device, and how many devices there can be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property

from ...models.placed_devices import Places
from ...problem.records import RESULT_LIMIT
from ...problem.topology import TopologyCondition
from ..collapsed import MergedRelation
from ..model import AllocationModel
from ..rows import Term


@dataclass
class Covered:
    """A relation in a model; every device that has a place is a lot of its own, known by its number in the Problem."""

    model: AllocationModel
    relation: MergedRelation
    condition: TopologyCondition

    @cached_property
    def guard(self) -> int | None:
        """The literal under which the shape is demanded."""
        return self.model.enforcement(self.relation)

    @cached_property
    def _takes(self) -> dict[int, list[Term]]:
        """By first device of each lot what is taken of it."""
        lots = self.model.collapsed.lots
        found: dict[int, list[Term]] = defaultdict(list)
        for branch in self.relation.branches:
            for lot in self.model.collapsed.lots_of[branch]:
                found[lots[lot].first].append((self.model.takes[branch, lot], 1))
        return found

    @cached_property
    def taken(self) -> dict[int, list[Term]]:
        """By device with a place, ascending, terms that are 1 if it is part of the shape and 0 if it is not."""
        homes = self.condition.homes
        return {device: self._once(device) for device in sorted(self._takes) if device in homes}

    def _once(self, device: int) -> list[Term]:
        """A device that can be taken several times is part of the shape once."""
        terms = self._takes[device]
        if not self._repeats(device):
            return terms
        rows = self.model.rows
        literal = rows.boolean()
        most = sum(rows.range_of(variable)[1] for variable, _ in terms)
        rows.between([*terms, (literal, -most)], None, 0)
        rows.at_most([(literal, 1), *((variable, -1) for variable, _ in terms)], 0)
        return [(literal, 1)]

    def _repeats(self, device: int) -> bool:
        merged = self.model.merged
        return device in merged.problem.shared or any(merged.branches[one].admin for one in self.relation.branches)

    def instances(self) -> Iterator[tuple[Places[int], list[int]]]:
        """Yield the devices of each instance of the topology that can be taken."""
        homes = self.condition.homes
        for number, places in enumerate(self.condition.places):
            yield places, [device for device in self.taken if homes[device] == number]

    def allow_only(self, devices: Container[int]) -> None:
        """Keep away from all other devices, such as those without coordinates (TOPO-3)."""
        others = [term for device, terms in self._takes.items() if device not in devices for term in terms]
        if others:
            self.model.rows.at_most(others, 0, self.guard)

    @cached_property
    def sizes(self) -> frozenset[int]:
        """How many devices the shape can have: one number, unless alternatives or shareable devices are covered.

        None where the claims may be left out.

        Where requests may be let go, they take as many as they like, and a claim still no more than it may have.
        """
        if self.open_ended:
            return frozenset(range(min(len(self.taken), RESULT_LIMIT) + 1))
        branches = self.model.merged.branches
        found = {0}
        for request in sorted({branches[number].request for number in self.relation.branches}):
            own = self.model.merged.requests[request].branches
            counts = {branches[number].count if number in self.relation.branches else 0 for number in own}
            for _ in range(branches[own[0]].copies // self.relation.copies):
                found = {size + count for size in found for count in counts}
        if any(map(self.model.optional, self.relation.branches)):
            found.add(0)
        if any(self._repeats(device) for device in self._takes):
            return frozenset(range(min(1, *found), max(found) + 1))
        return frozenset(found)

    @property
    def open_ended(self) -> bool:
        """Whether requests may be let go one by one; those of equal claims are one request, let go as a whole."""
        return self.model.guarded and self.relation.copies == 1

    @property
    def certain(self) -> int | None:
        """The number of devices, None if that depends."""
        return next(iter(self.sizes)) if len(self.sizes) == 1 else None

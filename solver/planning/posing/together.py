"""What is placed ahead of everything else, and what it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ....models.claims import AllocationResult
from ....models.identity import ObjectKey
from ....models.planned_units import PlannedUnit
from ....models.pod_claims import ClaimRef
from ....models.pod_requests import Requests, add, summed
from ....models.running_pods import lacking, running, take
from ....problem.in_use import Ledger
from ...attempts import Session
from ...outcome import ALLOCATED, Reason, UnitOutcome

Rooms = dict[str, Requests | None]
Barred = tuple[ObjectKey, str]
"""A unit, and a node that is not for it."""


@dataclass
class Together:
    """What is placed ahead: by place in the queue a node and allocations, or reasons; what is left after it."""

    ledger: Ledger
    rooms: Rooms
    where: dict[int, tuple[str, tuple[tuple[ClaimRef, AllocationResult], ...]]] = field(default_factory=dict)
    reasons: dict[int, tuple[Reason, ...]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    @property
    def places(self) -> set[int]:
        """Places in the queue that are settled."""
        return {*self.where, *self.reasons}

    @property
    def nodes(self) -> set[str]:
        """Names of the nodes that got units."""
        return {name for name, _ in self.where.values()}

    def taken(
        self, queue: Sequence[PlannedUnit], places: Sequence[int], answers: Sequence[UnitOutcome]
    ) -> Mapping[str, Requests] | None:
        """What the answers take of the room of nodes; None if some unit is not placed, or there is not so much."""
        found: dict[str, Requests] = {}
        shapes = {id(queue[place].unit): queue[place].set.shape for place in places}
        for answer in answers:
            if answer.outcome != ALLOCATED or answer.node is None:
                return None
            add(found.setdefault(answer.node, {}), shapes[id(answer.unit)].requests)
        return found if not any(self.lacks(own, node) for node, own in found.items()) else None

    def lacks(self, requests: Mapping[str, int], node: str) -> bool:
        """Whether a node has no room for so much."""
        return bool(lacking(requests, self.rooms.get(node)))

    def crowding(
        self, queue: Sequence[PlannedUnit], places: Sequence[int], answers: Sequence[UnitOutcome]
    ) -> set[Barred]:
        """The last unit on the first node that has no room for all that it got; none if not all were placed."""
        shapes = {id(queue[place].unit): queue[place] for place in places}
        there: dict[str, list[PlannedUnit]] = {}
        for answer in answers:
            if answer.outcome != ALLOCATED or answer.node is None:
                return set()
            there.setdefault(answer.node, []).append(shapes[id(answer.unit)])
        for node, units in there.items():
            if self.lacks(summed(planned.set.shape.requests for planned in units), node):
                return {(unit_key(units[-1]), node)}
        return set()

    def settle(
        self,
        ledger: Ledger,
        taken: Mapping[str, Requests],
        queue: Sequence[PlannedUnit],
        places: Sequence[int],
        answers: Sequence[UnitOutcome],
        notices: Sequence[str],
    ) -> None:
        """Place a set for good."""
        self.ledger = ledger
        self.notices += notices
        by_unit = {id(queue[place].unit): place for place in places}
        self.where.update((by_unit[id(one.unit)], (one.node or "", one.allocations)) for one in answers)
        for name, own in taken.items():
            take(self.rooms.get(name), own)

    def refuse(self, queue: Sequence[PlannedUnit], places: Sequence[int], answers: Sequence[UnitOutcome]) -> None:
        """Note why a set is not placed."""
        reasons = {id(one.unit): one.reasons for one in answers}
        for place in places:
            said = reasons.get(id(queue[place].unit))
            self.reasons[place] = said or (
                Reason("room", "", "no nodes with room for all that belongs together were found"),
            )


def unit_key(planned: PlannedUnit) -> ObjectKey:
    """What a unit is known by."""
    return planned.unit.namespace, planned.unit.name


def nothing_together(session: Session) -> Together:
    """What there is while nothing is placed."""
    return Together(Ledger(session.cluster.usage(session.gates)), dict(running(session.cluster, session.gates)))

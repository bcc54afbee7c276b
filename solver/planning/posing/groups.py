"""Units that ConstraintGroups couple: they are placed before all others, each set whole or not at all.

What couples them goes over several nodes, so that columns cannot say it. A gang that has such a member is coupled as a
whole. Bounds are then about everything else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from ....models.claims import AllocationResult
from ....models.cluster import Cluster
from ....models.core import Node
from ....models.gates import FeatureGates
from ....models.planned_sets import Gang
from ....models.planned_units import PlannedUnit
from ....models.pod_claims import ClaimRef
from ....models.pod_requests import PODS, Requests
from ....models.running_pods import lacking, running
from ....models.units import Unit, all_units
from ....problem.in_use import Ledger
from ...attempts import Session
from ...capacity_parts import linked
from ...engines import ENGINES
from ...joint.coupling import Coupled, Seat, coupled
from ...outcome import ALLOCATED, Reason, UnitOutcome
from ...placement import Placer

Rooms = dict[str, Requests | None]


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

    def taken(
        self, queue: Sequence[PlannedUnit], places: Sequence[int], answers: Sequence[UnitOutcome]
    ) -> Mapping[str, Requests] | None:
        """What the answers take of the room of nodes; None if some unit is not placed, or there is not so much."""
        found: dict[str, Requests] = {}
        shapes = {id(queue[place].unit): queue[place].set.shape for place in places}
        for answer in answers:
            if answer.outcome != ALLOCATED or answer.node is None:
                return None
            own = found.setdefault(answer.node, {})
            for resource, amount in shapes[id(answer.unit)].requests.items():
                own[resource] = own.get(resource, 0) + amount
        return found if not any(lacking(own, self.rooms.get(node)) for node, own in found.items()) else None

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
            room = self.rooms.get(name)
            if room is not None:
                for resource, amount in own.items():
                    if resource in room or resource != PODS:
                        room[resource] = room.get(resource, 0) - amount

    def refuse(self, queue: Sequence[PlannedUnit], places: Sequence[int], answers: Sequence[UnitOutcome]) -> None:
        """Note why a set is not placed."""
        reasons = {id(one.unit): one.reasons for one in answers}
        for place in places:
            said = reasons.get(id(queue[place].unit))
            self.reasons[place] = said or (
                Reason("room", "", "no nodes with room for all that belongs together were found"),
            )


@dataclass(frozen=True, slots=True)
class _Set:
    """Units that are placed together, by place in the queue, and the gang that binds some of them to a domain."""

    places: tuple[int, ...]
    coupled: Coupled
    gangs: tuple[Gang, ...]


def nothing_together(session: Session) -> Together:
    """What there is while nothing is placed."""
    return Together(Ledger(session.cluster.usage(session.gates)), dict(running(session.cluster, session.gates)))


def placed_together(
    session: Session, queue: Sequence[PlannedUnit], left: Iterable[int], deadline: float | None, *, only_new: bool
) -> Together:
    """Place what groups couple on the nodes there are. Raises ``ValueError`` for a group that is wrong."""
    cluster = session.cluster
    found = nothing_together(session)
    if not cluster.constraint_groups:
        return found
    nodes = {} if only_new else cluster.nodes
    engine = ENGINES["auto"](session)
    for one in _sets(cluster, queue, left):
        answers: Sequence[UnitOutcome] = ()
        for ground in _grounds(one, queue, nodes, found.rooms):
            trial = Ledger(found.ledger.usage)
            placer = Placer(session, engine, trial, ground, deadline)
            answers = placer.place_together(one.coupled)
            taken = found.taken(queue, one.places, answers)
            if taken is not None:
                found.settle(trial, taken, queue, one.places, answers, placer.notices)
                break
        else:
            found.refuse(queue, one.places, answers)
    return found


def _sets(cluster: Cluster, queue: Sequence[PlannedUnit], left: Iterable[int]) -> Iterator[_Set]:
    """Yield the sets, those that a gang connects as one."""
    units = {id(queue[place].unit): place for place in left}
    sets = coupled(cluster, [queue[place].unit for place in units.values()], [*all_units(cluster), *_made(queue)])
    gangs: dict[Gang, list[int]] = {}
    for place in units.values():
        gang = queue[place].set.gang
        if gang is not None:
            gangs.setdefault(gang, []).append(place)
    own: dict[int, list[Hashable]] = {}
    for number, one in enumerate(sets):
        places = [units[id(unit)] for unit in one.units]
        own[number] = [number, *(gang for place in places if (gang := queue[place].set.gang) is not None)]
    for numbers in linked(own):
        parts = [sets[number] for number in numbers]
        met = dict.fromkeys(gang for number in numbers for gang in own[number] if isinstance(gang, Gang))
        there = [units[id(unit)] for part in parts for unit in part.units]
        more = [place for gang in met for place in gangs[gang] if place not in there]
        seats = [seat for part in parts for seat in part.seats]
        seats += [Seat((queue[place].unit,), queue[place].unit.asked) for place in more]
        ties = {tie.label: tie for part in parts for tie in part.ties}
        yield _Set((*there, *more), Coupled(tuple(seats), tuple(ties.values())), tuple(met))


def _made(queue: Sequence[PlannedUnit]) -> Iterator[Unit]:
    """The units of the queue that are no objects of the cluster yet."""
    return (planned.unit for planned in queue if planned.set.copied)


def _grounds(
    one: _Set, queue: Sequence[PlannedUnit], nodes: Mapping[str, Node], rooms: Rooms
) -> Iterator[Mapping[str, Node]]:
    """Yield the nodes to try: those of one domain, and with room for the whole set before those with less."""
    requests = [queue[place].set.shape.requests for place in one.places]
    whole: dict[str, int] = {}
    for own in requests:
        for resource, amount in own.items():
            whole[resource] = whole.get(resource, 0) + amount
    for ground in _domains(one, nodes):
        roomy = {name: node for name, node in ground.items() if not lacking(whole, rooms.get(name))}
        yield roomy
        some = {name: node for name, node in ground.items() if any(not lacking(r, rooms.get(name)) for r in requests)}
        if len(some) > len(roomy):
            yield some


def _domains(one: _Set, nodes: Mapping[str, Node]) -> Iterator[Mapping[str, Node]]:
    """Yield the nodes of each domain that all gangs allow."""
    grounds: list[Mapping[str, Node]] = [nodes]
    for gang in one.gangs:
        if gang.domain is not None:
            grounds = [part for ground in grounds for part in _parts(ground, gang.domain, gang.placed)]
    yield from grounds


def _parts(nodes: Mapping[str, Node], label: str, running_on: Sequence[str]) -> Iterator[Mapping[str, Node]]:
    values: dict[str, dict[str, Node]] = {}
    for name, node in nodes.items():
        value = (node.metadata.labels or {}).get(label)
        if value is not None:
            values.setdefault(value, {})[name] = node
    yield from (part for _, part in sorted(values.items()) if all(name in part for name in running_on))


def opened(cluster: Cluster, gates: FeatureGates, ahead: Together, busy: AbstractSet[str]) -> int:
    """How many nodes got units ahead that were not in use: by pods, or by a device of their own that is held."""
    usage, pools = cluster.usage(gates), cluster.pools(gates)
    nodes = {name: cluster.node(name) for name, _ in ahead.where.values() if name not in busy}
    held = (
        any((one.slice.spec.node_name or one.device.node_name) and usage.holds(one.id) for one in pool.devices)
        for node in nodes.values()
        for pool in pools.pools_for(node)
    )
    return len(nodes) - sum(held)

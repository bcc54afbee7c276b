"""Units that ConstraintGroups couple: they are placed before all others, each set whole or not at all.

A group couples units on several nodes, which columns cannot express. A gang that has such a member is coupled as a
whole. Bounds are then about everything else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ....models.cluster.cluster import Cluster
from ....models.kubernetes.core import Node
from ....models.results.common import Reason, Status
from ....models.workload.expansion import QueuedUnit
from ....models.workload.node_room import missing_resources, subtract_requests
from ....models.workload.requested import all_units
from ....models.workload.requests import sum_requests
from ....models.workload.unit_classes import Gang
from ....problem.node_state import AllocatedState
from ...allocate.coupling import CoupledUnits, SameNodeUnits, find_coupled_units
from ...allocate.placement import Placer
from ...engines.copies import connected_groups
from ...engines.engine import Engine, Session
from ...engines.outcome import UnitOutcome
from ...engines.registry import ENGINES
from ..first_fit import FirstFit, first_fit, remaining_beside
from . import EarlierPlacements, ExcludedNode, MutableRoomByNode, no_earlier_placements, unit_key

_NO_ROOM = (Reason("room", "", "no nodes with room for all that belongs together were found"),)
# How often units are moved from nodes that turn out to have too little room for all of them.
_MOST_ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class _CoupledSet:
    """Units that are placed together, by place in the queue, and the gang that binds some of them to a domain."""

    places: tuple[int, ...]
    coupled: CoupledUnits
    gangs: tuple[Gang, ...]


def place_coupled_units(
    session: Session, queue: Sequence[QueuedUnit], left: Iterable[int], deadline: float | None, *, only_new: bool
) -> EarlierPlacements:
    """Place what groups couple on the nodes there are. Raises ``ValueError`` for a group that is wrong."""
    found = no_earlier_placements(session)
    nodes = {} if only_new else session.cluster.nodes
    engine = ENGINES["auto"](session)
    for one in _coupled_sets(session.cluster, queue, left):
        _place_set(session, engine, queue, one, nodes, deadline, found)
    return found


def place_in_queue_order(
    session: Session, queue: Sequence[QueuedUnit], left: Sequence[int], deadline: float | None
) -> FirstFit:
    """Place units by first fit as ``allocate`` does: what groups couple when the first unit of it arrives."""
    found = no_earlier_placements(session)
    engine = ENGINES["auto"](session)
    sets = {place: one for one in _coupled_sets(session.cluster, queue, left) for place in one.places}
    done: set[int] = set()
    result, run = FirstFit({}, in_time=True), list[int]()
    for number, place in enumerate(left, 1):
        one = sets.get(place)
        if one is None:
            run.append(place)
        if run and (one is not None or number == len(left)):
            result = first_fit(session, queue, run, deadline, placed=found.assigned)
            found.allocated_state, found.room_by_node = remaining_beside(session, queue, result.assigned)
            found.assigned, run = dict(result.assigned), []
        if one is not None and place not in done:
            done.update(one.places)
            _place_set(session, engine, queue, one, session.cluster.nodes, deadline, found)
    return replace(result, assigned=found.assigned)


def _place_set(
    session: Session,
    engine: Engine,
    queue: Sequence[QueuedUnit],
    one: _CoupledSet,
    nodes: Mapping[str, Node],
    deadline: float | None,
    found: EarlierPlacements,
) -> None:
    """Place a set, or say why not."""
    answers: Sequence[UnitOutcome] = ()
    for candidates, barred in _placement_attempts(found, one, queue, nodes):
        trial = AllocatedState(found.allocated_state.usage)
        placer = Placer(session, engine, trial, candidates, deadline, excluded_nodes=barred)
        answers = placer.place_together(one.coupled)
        units = _units_by_node(queue, one, answers)
        excluded = found.exclusion_for_crowded_node(units)
        if units and not excluded:
            found.allocated_state = trial
            _commit(found, queue, one, answers)
            found.notices += placer.notices
            return
        barred |= excluded
    reasons = {id(answer.unit): answer.reasons for answer in answers}
    found.reasons.update((place, reasons.get(id(queue[place].unit)) or _NO_ROOM) for place in one.places)


def _units_by_node(
    queue: Sequence[QueuedUnit], one: _CoupledSet, answers: Sequence[UnitOutcome]
) -> Mapping[str, Sequence[QueuedUnit]]:
    """The units of a set by their nodes; nothing if not all were placed."""
    planned = {id(queue[place].unit): queue[place] for place in one.places}
    found: dict[str, list[QueuedUnit]] = {}
    for answer in answers:
        if answer.outcome != Status.ALLOCATED or answer.node is None:
            return {}
        found.setdefault(answer.node, []).append(planned[id(answer.unit)])
    return found


def _commit(
    found: EarlierPlacements, queue: Sequence[QueuedUnit], one: _CoupledSet, answers: Sequence[UnitOutcome]
) -> None:
    positions = {id(queue[place].unit): place for place in one.places}
    for answer in answers:
        position, node = positions[id(answer.unit)], answer.node or ""
        found.assigned[position] = node, answer.allocations
        subtract_requests(found.room_by_node.get(node), queue[position].unit_set.shape.requests)


def _placement_attempts(
    found: EarlierPlacements, one: _CoupledSet, queue: Sequence[QueuedUnit], nodes: Mapping[str, Node]
) -> Iterator[tuple[Mapping[str, Node], set[ExcludedNode]]]:
    """Yield nodes, and which units are excluded from which of them; if the caller adds some, the same nodes again."""
    for candidates in _candidate_nodes(one, queue, nodes, found.room_by_node):
        units = [queue[place] for place in one.places]
        barred = {
            (unit_key(planned), name)
            for name in candidates
            for planned in units
            if found.lacks(planned.unit_set.shape.requests, name)
        }
        for _ in range(_MOST_ATTEMPTS):
            known = len(barred)
            yield candidates, barred
            if len(barred) == known:
                break


def _coupled_sets(cluster: Cluster, queue: Sequence[QueuedUnit], left: Iterable[int]) -> Iterator[_CoupledSet]:
    """Yield the coupled sets; those that a gang connects are one."""
    units = {id(queue[place].unit): place for place in left}
    # Copies are no objects of the cluster yet.
    copies = (planned.unit for planned in queue if planned.unit_set.is_copied)
    sets = find_coupled_units(cluster, [queue[place].unit for place in units.values()], [*all_units(cluster), *copies])
    gangs: dict[Gang | None, list[int]] = defaultdict(list)
    for place in units.values():
        gangs[queue[place].unit_set.gang].append(place)
    own: dict[int, list[Hashable]] = {}
    for number, one in enumerate(sets):
        places = [units[id(unit)] for unit in one.units]
        own[number] = [number, *(gang for place in places if (gang := queue[place].unit_set.gang) is not None)]
    for numbers in connected_groups(own):
        parts = [sets[number] for number in numbers]
        met = dict.fromkeys(gang for number in numbers for gang in own[number] if isinstance(gang, Gang))
        there = [units[id(unit)] for part in parts for unit in part.units]
        more = [place for gang in met for place in gangs[gang] if place not in there]
        node_groups = [group for part in parts for group in part.node_groups]
        node_groups += [SameNodeUnits((queue[place].unit,), queue[place].unit.requested_claims) for place in more]
        ties = {tie.label: tie for part in parts for tie in part.groups}
        yield _CoupledSet((*there, *more), CoupledUnits(tuple(node_groups), tuple(ties.values())), tuple(met))


def _candidate_nodes(
    one: _CoupledSet, queue: Sequence[QueuedUnit], nodes: Mapping[str, Node], rooms: MutableRoomByNode
) -> Iterator[Mapping[str, Node]]:
    """Yield the nodes to try: those of one domain, and with room for the whole set before those with less."""
    requests = [queue[place].unit_set.shape.requests for place in one.places]
    whole = sum_requests(requests)
    for candidates in _domain_nodes(one, nodes):
        with_room = {name: node for name, node in candidates.items() if not missing_resources(whole, rooms.get(name))}
        yield with_room
        lacking = {name for name in candidates if all(missing_resources(one, rooms.get(name)) for one in requests)}
        some = {name: node for name, node in candidates.items() if name not in lacking}
        if len(some) > len(with_room):
            yield some


def _domain_nodes(one: _CoupledSet, nodes: Mapping[str, Node]) -> Iterator[Mapping[str, Node]]:
    """Yield the nodes of each domain that all gangs allow."""
    grounds: list[Mapping[str, Node]] = [nodes]
    for gang in one.gangs:
        if gang.domain is not None:
            grounds = [part for candidates in grounds for part in _nodes_by_domain(gang, candidates)]
    yield from grounds


def _nodes_by_domain(gang: Gang, nodes: Mapping[str, Node]) -> Iterator[Mapping[str, Node]]:
    values: dict[str, dict[str, Node]] = defaultdict(dict)
    for name, node in nodes.items():
        value = gang.domain_value(node)
        if value is not None:
            values[value][name] = node
    yield from (part for _, part in sorted(values.items()) if part.keys() >= set(gang.running_nodes))

"""Units that are placed before all others: pods of DaemonSets, and units that ConstraintGroups couple.

Pods of DaemonSets come first, each on its node, and are part of the node from then on. A coupled set is placed whole or
not at all.

A group couples units on several nodes, which columns cannot express. A gang that has such a member is coupled as a
whole. Bounds are then about everything else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ....models.cluster.cluster import Cluster
from ....models.cluster.node_fit import SelectorError, selector_test
from ....models.kubernetes.core import Node
from ....models.kubernetes.meta import ObjectKey
from ....models.results.common import Reason, Status
from ....models.workload.expansion import QueuedUnit, unit_runs
from ....models.workload.node_room import missing_resources, room_misfit, subtract_requests
from ....models.workload.requested import all_units
from ....models.workload.requests import sum_requests
from ....models.workload.unit_classes import Gang
from ....models.workload.units import Allocations, Unit
from ....problem.messages import claim_text
from ....problem.node_state import AllocatedState
from ...allocate.coupling import CoupledUnits, SameNodeUnits, find_coupled_units
from ...allocate.placement import Placer
from ...engines.copies import connected_groups
from ...engines.engine import TIME_LIMIT_RULE, Engine, Session
from ...engines.outcome import UnitOutcome
from ...engines.registry import ENGINES
from ..first_fit import AssignedUnits, FirstFit, first_fit, remaining_beside
from ..master_problem import is_past
from . import EarlierPlacements, MutableRoomByNode

_NO_ROOM = (Reason("room", "", "no nodes with room for all that belongs together were found"),)
_COUPLED_WITH_QUOTA = (Reason("quota", "", "a ConstraintGroup couples it, and it needs quota: both are not planned"),)
# How often units are moved from nodes that turn out to have too little room for all of them.
_MOST_ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class _CoupledSet:
    """Units that are placed together, by place in the queue, and the gang that binds some of them to a domain."""

    places: tuple[int, ...]
    coupled: CoupledUnits
    gangs: tuple[Gang, ...]


ExcludedNode = tuple[ObjectKey, str]
"""A unit, and a node that it must not use."""


def place_coupled_units(
    session: Session,
    queue: Sequence[QueuedUnit],
    left: Iterable[int],
    found: EarlierPlacements,
    deadline: float | None,
    *,
    only_new: bool,
    needs_quota: Callable[[QueuedUnit], object] | None = None,
) -> None:
    """Place what groups couple on the nodes there are, beside what was ``found``; it is added there.

    Units that need quota are not placed before the plan. Raises ``ValueError`` for a group that is wrong.
    """
    nodes = {} if only_new else session.cluster.nodes
    engine = ENGINES["auto"](session)
    for one in _coupled_sets(session.cluster, queue, left):
        if needs_quota and any(needs_quota(queue[place]) for place in one.places):
            found.reasons.update(dict.fromkeys(one.places, _COUPLED_WITH_QUOTA))
        else:
            _place_set(session, engine, queue, one, nodes, deadline, found)


def place_in_queue_order(
    session: Session, queue: Sequence[QueuedUnit], left: Sequence[int], placed: AssignedUnits, deadline: float | None
) -> FirstFit:
    """Place units by first fit as ``allocate`` does: what groups couple when the first unit of it arrives.

    ``placed`` is what is placed already.
    """
    state, rooms = remaining_beside(session, queue, placed)
    found = EarlierPlacements(state, rooms, dict(placed))
    engine = ENGINES["auto"](session)
    sets = {place: one for one in _coupled_sets(session.cluster, queue, left) for place in one.places}
    done: set[int] = set()
    result, run = FirstFit(dict(placed), in_time=True), list[int]()
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
        excluded = _exclusion_for_crowded_node(found, units)
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
            (_unit_key(planned), name)
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
    copies = [planned.unit for planned in queue if planned.unit_set.is_copied]
    made = {(copy.pod is None, copy.namespace, copy.name) for copy in copies}
    others = [unit for unit in all_units(cluster) if (unit.pod is None, unit.namespace, unit.name) not in made]
    sets = find_coupled_units(cluster, [queue[place].unit for place in units.values()], [*others, *copies])
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


def place_daemons(
    session: Session, queue: Sequence[QueuedUnit], left: Sequence[int], found: EarlierPlacements, deadline: float | None
) -> None:
    """Place the pods of DaemonSets among these positions, and add them to what was ``found``."""
    own = [place for one, places in unit_runs(queue, left) if one.node for place in places]
    if not own:
        return
    engine: Engine = ENGINES["auto"](session)
    made: dict[ObjectKey, str] = {}
    for place in own:
        planned = queue[place]
        node, requests = planned.unit_set.node, planned.unit_set.shape.requests
        missing = missing_resources(requests, found.room_by_node.get(node))
        answer: Allocations | Reason
        if missing:
            misfit = room_misfit(requests, missing)
            answer = Reason(misfit.id, "", f"node {node}: {misfit.message}")
        elif is_past(deadline):
            answer = Reason(TIME_LIMIT_RULE, "", "the time limit left no time to plan it")
        else:
            answer = _allocations(session, engine, planned.unit, node, found, made, deadline)
        if isinstance(answer, Reason):
            found.reasons[place] = (answer,)
            continue
        subtract_requests(found.room_by_node.get(node), requests)
        found.allocated_state.commit((ref.key, allocation) for ref, allocation in answer)
        made.update((ref.key, node) for ref, _ in answer)
        found.assigned[place] = node, answer
    found.daemons = frozenset(own)


def _allocations(
    session: Session,
    engine: Engine,
    unit: Unit,
    name: str,
    found: EarlierPlacements,
    made: dict[ObjectKey, str],
    deadline: float | None,
) -> Allocations | Reason:
    """What the claims of a pod get on its node, or why they get nothing there."""
    requested = [ref for ref in unit.requested_claims if ref.claim is not None]
    taken = next((ref for ref in requested if ref.key in made), None)
    if taken is not None:
        return Reason("node", claim_text(taken.key), f"the claim is allocated on node {made[taken.key]}")
    node = session.cluster.node(name)
    try:
        selectors = (one.node_selector for one in unit.existing_allocations())
        if not all(selector_test(selector)(node) for selector in selectors if selector is not None):
            return Reason("node", "", f"node {name} cannot use what its claims have")
        if not requested:
            return ()
        claims = [ref.claim for ref in requested if ref.claim is not None]
        answer = engine.allocate_on(node, claims, found.allocated_state, deadline)
    except SelectorError as error:
        return Reason("nodeSelector", "", str(error))
    if answer.status is not Status.ALLOCATED:
        return Reason(answer.rule or "devices", "", f"node {name}: {answer.message or 'too few devices'}")
    return tuple(zip(requested, answer.allocations, strict=True))


def _exclusion_for_crowded_node(
    found: EarlierPlacements, units: Mapping[str, Sequence[QueuedUnit]]
) -> set[ExcludedNode]:
    """The last unit on the first node that has no room for all units that it got; none if all nodes have."""
    for node, own in units.items():
        if found.lacks(sum_requests(planned.unit_set.shape.requests for planned in own), node):
            return {(_unit_key(own[-1]), node)}
    return set()


def _unit_key(planned: QueuedUnit) -> ObjectKey:
    return planned.unit.namespace, planned.unit.name

"""First fit: units arrive one by one, and each is placed for good on the first node that fits, or refused.

``first_fit`` is what a plan is measured against: no plan is worse, and what a plan leaves is filled up in this way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from random import Random

from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import Reason
from ...models.workload.expansion import QueuedUnit
from ...models.workload.gangs import in_one_domain, is_whole
from ...models.workload.group_trees import torn_groups
from ...models.workload.node_room import remaining_allocatable
from ...models.workload.requests import Requests
from ...models.workload.unit_classes import Gang, UnitSet
from ...models.workload.units import Allocations, unallocated_claims
from ...problem.node_state import AllocatedState
from ..engines.engine import Session
from ..engines.registry import auto_engine
from .node_choice import FirstFitPolicy, NodeChooser, PlacementPolicy
from .node_states import (
    AllocationTrials,
    NodeState,
    SequentialContext,
    TimeOverError,
    TrialAbortedError,
    UnitRequirements,
    allocate_claims,
)
from .node_survey import subtract_placed
from .outcome import PlannedUnitOutcome
from .pod_ledger import ledger_beside

# With at most so many units and nodes together first fit is tried in further orders, so many of them drawn at random.
_FEW_UNITS_AND_NODES = 128
_SHUFFLED_ORDERS = 12
# What the solver may do for one question, in deterministic units, where a search does not find its way.
_FIRST_FIT_WORK = 1.0
NO_NODE = Reason("nodes", "", "no node that suits has room and devices")
TIME_OVER = Reason("timeLimit", "", "the time limit passed before this was tried")
_GANG_NOT_WHOLE = Reason("gang", "", "its gang is not whole")
_STRANDED = Reason("gang", "", "it must be near pods whose gang is not whole")


AssignedUnits = Mapping[int, tuple[str, Allocations]]
"""By position in the queue: the node, and the allocations of claims that no unit before it has."""


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Units that are placed, in the order in which they can be; ``in_time``: all of them were tried."""

    assigned: AssignedUnits
    in_time: bool
    interrupted: bool = False


def first_fit(
    session: Session,
    queue: Sequence[QueuedUnit],
    arriving: Sequence[int],
    deadline: float | None = None,
    *,
    placed: AssignedUnits | None = None,
    usable: Container[str] | None = None,
    shuffle: Random | None = None,
) -> FirstFit:
    """Place units of the queue one by one, in the order in which their positions are ``arriving``.

    Each unit goes to the first node by name that suits it, has room and has the devices, beside all that came before,
    by the rules of ``allocate``. A gang that is not whole, or not in one domain, is removed again.

    Parameters
    ----------
    session
        The cluster, with the nodes that are to be bought, and the rules.
    queue, arriving
        The units, and the positions of those to be placed. They must have all that they refer to, or they are refused.
    deadline
        A reading of ``time.monotonic``: what was not tried by then is not placed.
    placed
        What is placed already, in order; it is kept.
    usable
        Names of the nodes that may be used; None: all.
    shuffle
        Puts the nodes into a random order; None: they are by name.

    """
    before, units = dict(placed or {}), [queue[position] for position in arriving]
    try:
        context = context_beside(session, queue, units, deadline, before, usable, shuffle)
    except TimeOverError:
        return FirstFit(before, False)
    earlier = [(queue[position], name) for position, (name, _) in before.items()]
    made = {ref.key: allocation for _, own in before.values() for ref, allocation in own}
    scheduler = SequentialScheduler(context, FirstFitPolicy(), earlier=earlier, made=made)
    interrupted = False
    try:
        scheduler.run(units)
    except KeyboardInterrupt:
        interrupted = True
    positions = {id(queue[position].unit): position for position in arriving}
    found = {positions[id(unit.unit)]: (name, own) for unit, name, own in scheduler.placements()}
    return FirstFit({**before, **found}, scheduler.in_time and not interrupted, interrupted)


def first_fit_placed(
    session: Session,
    queue: Sequence[QueuedUnit],
    arriving: Sequence[int],
    deadline: float | None = None,
    *,
    placed: AssignedUnits | None = None,
    usable: Container[str] | None = None,
) -> list[int] | None:
    """Return the positions of the units that ``first_fit`` places; None where only ``first_fit`` itself can tell.

    Devices are not chosen node by node: nodes in one state are so again after they got the same. That holds where no
    two nodes reach the same devices, no units share claims, and members of a gang arrive without others between them.
    """
    shapes = {queue[position].unit_set.shape for position in arriving}
    if any(shape.rules is not None or any(claim.key is not None for claim in shape.claims) for shape in shapes):
        return None
    runs = [(gang, [*own]) for gang, own in groupby(arriving, key=lambda place: queue[place].unit_set.gang)]
    gangs = [gang for gang, _ in runs if gang is not None]
    begun = {queue[place].unit_set.gang for place in placed or ()}
    if len(set(gangs)) < len(gangs) or any(gang.parents or gang in begun for gang in gangs):
        return None
    try:
        units = [queue[position] for position in arriving]
        context = context_beside(session, queue, units, deadline, dict(placed or {}), usable)
    except TimeOverError:
        return None
    if (states := context.node_states).have_common_pools:
        return None
    chooser = NodeChooser(states, FirstFitPolicy(), context.trials)
    following: dict[tuple[UnitRequirements, NodeState], NodeState] = {}
    found = list[int]()
    for gang, own in runs:
        there = list[tuple[int, int, NodeState]]()
        for place in own if gang is None or not gang.problem else ():
            requirements = context.requirements.of(queue[place], {})
            try:
                if requirements.refused or (position := chooser.position(requirements)) is None:
                    continue
                key = requirements, states.state(position)
                if key not in following:
                    trial = context.trials.of(requirements, key[1])
                    following[key] = states.state_with(key[1], requirements.requests, trial)
            except TrialAbortedError:
                continue
            except TimeOverError:
                return None
            states.move(position, following[key])
            there.append((place, position, key[1]))
        if gang is not None:
            names = [states.node(position).metadata.name for _, position, _ in there]
            members = [queue[place].unit_set for place, _, _ in there]
            is_kept = is_whole(gang, members, len(own)) and in_one_domain(gang, names, session.cluster.nodes)
            while there and not is_kept:
                states.move(*there.pop()[1:])
        found += [place for place, _, _ in there]
    return found


def arrival_orders(
    queue: Sequence[QueuedUnit], given: Sequence[int], nodes: int, seed: int
) -> Iterator[tuple[Sequence[int], Random | None]]:
    """Yield orders in which units arrive at so many nodes: as they are given, and the highest priority first.

    Where there are few units there are more, some with the nodes in a random order.
    """

    def by_priority(places: Sequence[int]) -> list[int]:
        return sorted(places, key=lambda place: -queue[place].unit_set.shape.priority)

    yield given, None
    if by_priority(given) != list(given):
        yield by_priority(given), None
    if len(given) + nodes <= _FEW_UNITS_AND_NODES:
        by_claims = sorted(given, key=lambda place: len(queue[place].unit.requested_claims))
        for order in (given[::-1], by_claims):
            yield by_priority(order), None
        shuffle = Random(seed)
        for _ in range(_SHUFFLED_ORDERS):
            yield by_priority(shuffle.sample(given, len(given))), shuffle


def context_beside(
    session: Session,
    queue: Sequence[QueuedUnit],
    units: Sequence[QueuedUnit],
    deadline: float | None,
    placed: AssignedUnits,
    usable: Container[str] | None,
    shuffle: Random | None = None,
) -> SequentialContext:
    """Return where first fit of units starts, beside those of the queue that are placed."""
    state, rooms = remaining_beside(session, queue, placed)
    nodes = [node for name, node in session.cluster.nodes.items() if usable is None or name in usable]
    if shuffle:
        shuffle.shuffle(nodes)
    bounded = replace(session, work=_FIRST_FIT_WORK)
    return SequentialContext(bounded, auto_engine(bounded), units, deadline, nodes, state, rooms)


def remaining_beside(
    session: Session, queue: Sequence[QueuedUnit], placed: AssignedUnits
) -> tuple[AllocatedState, dict[str, Requests | None]]:
    """Return what placed units leave of devices, and of the room on nodes."""
    state = AllocatedState(session.cluster.usage(session.gates))
    state.commit((ref.key, allocation) for _, own in placed.values() for ref, allocation in own)
    rooms = remaining_allocatable(session.cluster, session.gates)
    subtract_placed(rooms, session.cluster, session.gates, queue, placed)
    return state, rooms


class SequentialScheduler:
    """A scheduler that knows nothing of gangs, and of each unit nothing before it arrives.

    Members of a gang are placed one by one, wherever each fits. When the last of them has been tried and the gang is
    not whole, or its nodes are not of one domain, those who arrived are removed at once, and what they held is free
    for those who arrive later. ``earlier`` are units with their nodes that the context counts already, and ``made`` is
    what their claims have. ``ledger`` counts pods, where rules look at them.
    """

    def __init__(
        self,
        context: SequentialContext,
        policy: PlacementPolicy,
        trials: AllocationTrials | None = None,
        earlier: Iterable[tuple[QueuedUnit, str]] = (),
        made: Mapping[ObjectKey, AllocationResult] | None = None,
    ) -> None:
        self._context = context
        self._node_states = context.node_states
        self._trials = trials or context.trials
        self._earlier = list(earlier)
        self._has_withdrawn = False
        self.ledger = ledger_beside(context.session.cluster, self._earlier) if context.has_pod_rules else None
        self._chooser = NodeChooser(self._node_states, policy, self._trials, self.ledger)
        self._before = dict(made or {})
        self._made = dict(self._before)
        self._users: Counter[ObjectKey] = Counter()
        self._members_before: dict[Gang, list[tuple[UnitSet, str]]] = defaultdict(list)
        for unit, name in self._earlier:
            self._users.update(ref.key for ref in unit.unit.claims)
            if unit.unit_set.gang is not None:
                self._members_before[unit.unit_set.gang].append((unit.unit_set, name))
        # With the position of its node.
        self._placed: dict[int, tuple[QueuedUnit, int]] = {}
        self._requests: dict[int, Mapping[str, int]] = {}
        self._reasons: dict[int, tuple[Reason, ...]] = {}
        self.in_time = True

    def run(self, arriving: Sequence[QueuedUnit]) -> None:
        """Place all that can be; ``in_time`` says whether there was time for all."""
        members = _gang_members(arriving)
        waiting = {gang: len(units) for gang, units in members.items()}
        for unit in arriving:
            if self.in_time:
                self._arrive(unit)
            if not self.in_time:
                self.refuse(unit, TIME_OVER)
            gang = unit.unit_set.gang
            if gang is not None:
                waiting[gang] -= 1
                if not waiting[gang]:
                    self._settle(gang, members[gang])
        number = -1
        while number != len(self._placed):
            number = len(self._placed)
            self._withdraw_torn_trees(members)
            self._withdraw_stranded(members)

    def placements(self) -> Iterator[tuple[QueuedUnit, str, Allocations]]:
        """Yield each placed unit in order, with its node, and the allocations of claims that nobody before it has."""
        made = {key: allocation for key, allocation in self._made.items() if key not in self._before}
        for unit, position in self._placed.values():
            own = tuple((ref, made.pop(ref.key)) for ref in unit.unit.requested_claims if ref.key in made)
            yield unit, self._node_states.node(position).metadata.name, own

    def outcomes(self, units: Iterable[QueuedUnit]) -> Iterator[PlannedUnitOutcome]:
        """Yield what became of each unit; a shared claim is in the outcome of the first unit that was placed."""
        placed = {id(unit.unit): (name, own) for unit, name, own in self.placements()}
        for one in units:
            name, own = placed.get(id(one.unit), (None, ()))
            yield PlannedUnitOutcome(one, name, self._reasons[id(one.unit)] if name is None else (), own)

    def order(self, units: Sequence[QueuedUnit]) -> list[int]:
        """Return the positions of the placed units among these, in the order in which they were placed."""
        positions = {id(one.unit): position for position, one in enumerate(units)}
        return [positions[key] for key in self._placed]

    def requirements(self, unit: QueuedUnit) -> UnitRequirements:
        """What a unit requires, beside what claims of the queue have by now."""
        return self._context.requirements.of(unit, self._made)

    def _arrive(self, unit: QueuedUnit) -> None:
        requirements = self.requirements(unit)
        gang = unit.unit_set.gang
        if gang is not None and gang.problem:
            self.refuse(unit, Reason("gang", "", gang.problem))
            return
        if requirements.refused:
            self.refuse(unit, *requirements.refused)
            return
        try:
            position = self._chooser.position(requirements)
            if position is None:
                self.refuse(unit, NO_NODE)
            else:
                self._put(unit, position)
        except TimeOverError:
            self.in_time = False
        except TrialAbortedError as error:
            self.refuse(unit, Reason("error", "", str(error)))

    def refuse(self, unit: QueuedUnit, *reasons: Reason) -> None:
        """Note why a unit has no place."""
        self._reasons[id(unit.unit)] = reasons

    def _put(self, unit: QueuedUnit, position: int) -> None:
        """Allocate the unit's own claims on the node, and commit them.

        Raises ``TrialAbortedError`` and ``TimeOverError``.
        """
        requested = unallocated_claims(unit.unit, self._made)
        budget = self.requirements(unit).budget
        trial = allocate_claims(requested, position, self._node_states, self._trials, budget)
        pairs = [(ref.key, allocation) for ref, allocation in zip(requested, trial.made, strict=True)]
        self._made.update(pairs)
        self._users.update(ref.key for ref in unit.unit.claims)
        self._requests[id(unit.unit)] = trial.with_draws(unit.unit_set.shape.requests)
        self._node_states.add_pod(position, self._requests[id(unit.unit)], pairs)
        self._placed[id(unit.unit)] = unit, position
        self._count_pod(unit, position, 1)

    def _count_pod(self, unit: QueuedUnit, position: int, times: int) -> None:
        rules = unit.unit_set.shape.rules
        if self.ledger is not None and rules is not None:
            self.ledger.add(rules, self._node_states.node(position).metadata.name, times)

    def _settle(self, gang: Gang, members: Sequence[QueuedUnit]) -> None:
        """Remove the members of a gang that is not whole."""
        names, nodes = self._nodes_of(gang, members), self._context.session.cluster.nodes
        before, there = self._members_before.get(gang, ()), [one for one in members if self.is_placed(one)]
        placed = [*(one for one, _ in before), *(one.unit_set for one in there)]
        if not (is_whole(gang, placed, len(members) + len(before)) and in_one_domain(gang, names, nodes)):
            self.withdraw(there)

    def _withdraw_torn_trees(self, members: Mapping[Gang, Sequence[QueuedUnit]]) -> None:
        """Remove groups below a group of groups that is not whole, or not in one domain."""
        trees = {gang: units for gang, units in members.items() if gang.parents}
        gone = list(trees)
        while gone:
            gangs = [gang for gang in dict.fromkeys((*trees, *self._members_before)) if gang.parents]
            there = {(one.key, one.parents): self._nodes_of(one, trees.get(one, ())) for one in gangs}
            torn = set(torn_groups(there, self._context.session.cluster.nodes))
            gone = [gang for gang in trees if gang.key in torn and any(map(self.is_placed, trees[gang]))]
            self.withdraw(one for gang in gone for one in trees[gang] if self.is_placed(one))

    def _nodes_of(self, gang: Gang, members: Iterable[QueuedUnit]) -> list[str]:
        """The nodes of members of a gang that were placed before, and of these members."""
        there = [self._node_states.node(self._placed[id(one.unit)][1]) for one in members if self.is_placed(one)]
        return [*(name for _, name in self._members_before.get(gang, ())), *(node.metadata.name for node in there)]

    def _withdraw_stranded(self, members: Mapping[Gang, Sequence[QueuedUnit]]) -> None:
        """Remove units that needed others that are gone: those do not pass when all are placed again in their order."""
        while self.ledger is not None and self._has_withdrawn:
            ledger, stranded = ledger_beside(self._context.session.cluster, self._earlier), list[QueuedUnit]()
            for queued, position in self._placed.values():
                rules, name = queued.unit_set.shape.rules, self._node_states.node(position).metadata.name
                if rules is not None and ledger.refusal(rules, name) is not None:
                    stranded.append(queued)
                elif rules is not None:
                    ledger.add(rules, name)
            if not stranded:
                return
            self.withdraw(stranded, _STRANDED)
            for gang in dict.fromkeys(queued.unit_set.gang for queued in stranded):
                if gang is not None:
                    self._settle(gang, members.get(gang, ()))

    def withdraw(self, units: Iterable[QueuedUnit], reason: Reason = _GANG_NOT_WHOLE) -> None:
        """Remove units that were placed, for their gang is not whole, or for another reason."""
        for queued in units:
            _, position = self._placed.pop(id(queued.unit))
            keys = [ref.key for ref in queued.unit.claims]
            self._users.subtract(keys)
            gone = [key for key in keys if not self._users[key] and key in self._made]
            for key in gone:
                del self._made[key]
            self._node_states.remove_pod(position, self._requests.pop(id(queued.unit)), gone)
            self._count_pod(queued, position, -1)
            self.refuse(queued, reason)
            self._has_withdrawn = True

    def is_placed(self, unit: QueuedUnit) -> bool:
        """Whether a unit has a node."""
        return id(unit.unit) in self._placed

    def requests(self, unit: QueuedUnit) -> Mapping[str, int]:
        """What a placed unit takes of its node, with its devices."""
        return self._requests[id(unit.unit)]

    def position(self, unit: QueuedUnit) -> int | None:
        """The position of a unit's node; None: it has none."""
        found = self._placed.get(id(unit.unit))
        return None if found is None else found[1]


def _gang_members(units: Iterable[QueuedUnit]) -> dict[Gang, list[QueuedUnit]]:
    found: dict[Gang, list[QueuedUnit]] = defaultdict(list)
    for unit in units:
        if unit.unit_set.gang is not None:
            found[unit.unit_set.gang].append(unit)
    return found

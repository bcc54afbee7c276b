"""Greedy consolidation, as a descheduler and the scheduler do it together: nodes are emptied one by one, by trial.

What waits is placed by first fit. As long as something waits, the least used node is looked for whose pods that may
move all fit on other nodes in use, by first fit. They go there, and what waits is tried again. Where nothing waits at
all, nodes are emptied until none is left that can be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import Reason
from ...models.workload.evictions import Evictions
from ...models.workload.expansion import QueuedUnit
from ...models.workload.running import RunningPod, read_running_pods
from ...models.workload.unit_classes import Gang
from ...models.workload.units import Allocations, unallocated_claims
from ..allocate.check import LATE_VERIFICATION
from ..engines.engine import TIME_LIMIT_RULE
from ..engines.registry import backtracking_engine
from ..plan.first_fit import NO_NODE, TIME_OVER, SequentialScheduler, remaining_beside
from ..plan.lifted import LiftedPods, MoveOptions
from ..plan.node_choice import FirstFitPolicy, NodeChooser
from ..plan.node_states import SequentialContext, TimeOverError, TrialAbortedError, UnitRequirements, allocate_claims
from ..plan.outcome import PlannedUnitOutcome, check_plan
from ..verification.verify import VerificationTimeoutError
from . import schedulers
from .figures import PARTS_OF_DEVICE, SchedulingInput, TargetWorkload


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What waited and what moved, with the input in which just that waits; ``moved`` are the pods as they ran.

    ``seconds`` are without the verifier.
    """

    inputs: SchedulingInput
    units: tuple[PlannedUnitOutcome, ...]
    moved: tuple[RunningPod, ...]
    in_time: bool
    seconds: float


def consolidate(
    given: SchedulingInput, options: MoveOptions, order: str, deadline: float | None, latest: float | None = None
) -> Consolidation:
    """Empty nodes with at most so many moves, for what waits in this order, and check the whole.

    Placing ends at ``deadline``; what is not verified by ``latest`` is not kept. Raises ``VerificationError``.
    """
    started = monotonic()
    pods = MovablePods.of(given, options)
    try:
        greedy = _Greedy(pods, options.most, deadline)
    except TimeOverError:
        return _nothing(given, TIME_OVER, monotonic() - started)
    greedy.run(schedulers.arrival_order(pods.waiting, order, given.seed))
    seconds = monotonic() - started
    moved = [pods.homes[place] for place in sorted(greedy.moved)]
    inputs = pods.with_moved(frozenset(one.key for one in moved))
    stays = pods.homes.keys() - greedy.moved.keys()
    places = [place for place in range(len(pods.lifted.units)) if place not in stays]
    outcomes = list(greedy.outcomes())
    units = tuple(outcomes[place] for place in places)
    numbers = {place: number for number, place in enumerate(places)}
    check = partial(check_plan, inputs.cluster, units, given.gates, given.cel_errors, deadline=latest)
    try:
        ordered = [numbers[place] for place in greedy.order()]
        check(order=ordered, namespace=given.namespace, selector=given.selector)
    except VerificationTimeoutError:
        return _nothing(given, Reason(TIME_LIMIT_RULE, "", LATE_VERIFICATION), seconds)
    return Consolidation(inputs, units, tuple(moved), greedy.in_time, seconds)


def _nothing(given: SchedulingInput, reason: Reason, seconds: float) -> Consolidation:
    units = tuple(PlannedUnitOutcome(one, None, (reason,), ()) for one in given.units)
    return Consolidation(given, units, (), False, seconds)


@dataclass(frozen=True, slots=True)
class MovablePods:
    """The pods that may move, as units of an input in which all of them wait: ``homes`` by place in its queue."""

    given: SchedulingInput
    lifted: SchedulingInput
    homes: Mapping[int, RunningPod]
    running: Mapping[ObjectKey, RunningPod]
    options: MoveOptions

    @classmethod
    def of(cls, given: SchedulingInput, options: MoveOptions) -> MovablePods:
        """Find those that are units of the queue off their nodes, of no gang, and without rules about other pods.

        Raises ``ValueError`` as ``read_running_pods`` does.
        """
        running = read_running_pods(given.cluster, given.gates, move_bare=options.bare)
        keys = frozenset(key for key, one in running.items() if not one.stays)
        while True:
            lifted = given.on(_without_places(given, running, keys, options))
            homes = {
                place: running[one.unit.namespace, one.unit.name]
                for place, one in enumerate(lifted.units)
                if one.unit.pod is not None
                and (one.unit.namespace, one.unit.name) in keys
                and one.unit_set.gang is None
                and one.unit_set.shape.rules is None
            }
            found = frozenset(one.key for one in homes.values())
            if found == keys:
                return cls(given, lifted, homes, running, options)
            keys = found

    @property
    def waiting(self) -> list[QueuedUnit]:
        """The units that have no home."""
        return [one for place, one in enumerate(self.lifted.units) if place not in self.homes]

    def with_moved(self, keys: frozenset[ObjectKey]) -> SchedulingInput:
        """The input in which these pods are to be placed, too."""
        cluster = _without_places(self.given, self.running, keys, self.options)
        return replace(self.given.on(cluster), moved=keys)


def _without_places(
    given: SchedulingInput, running: Mapping[ObjectKey, RunningPod], keys: Iterable[ObjectKey], options: MoveOptions
) -> Cluster:
    """The cluster in which these pods wait."""
    units = frozenset(("Pod", key) for key in keys)
    return LiftedPods.of(given.cluster, running, units, options, Evictions(), {}).cluster


class _Greedy:
    """Empties nodes one by one; ``moved`` has the node's position and the allocations of each pod that moved."""

    def __init__(self, pods: MovablePods, most: int | None, deadline: float | None) -> None:
        self._pods = pods
        self._left = len(pods.homes) if most is None else most
        self.in_time = True
        self.moved: dict[int, tuple[int, Allocations]] = {}
        inputs, session = pods.lifted, pods.lifted.session
        self._held: dict[int, Allocations] = {
            place: tuple((own.ref, own.allocation) for own in one.held) for place, one in pods.homes.items()
        }
        placed = {place: (one.node, self._held[place]) for place, one in pods.homes.items()}
        state, rooms = remaining_beside(session, inputs.units, placed)
        engine = backtracking_engine(session, inputs.compiler)
        nodes = list(session.cluster.nodes.values())
        self._context = SequentialContext(session, engine, inputs.units, deadline, nodes, state, rooms)
        self._states, self._trials = self._context.node_states, self._context.trials
        self._workload = TargetWorkload(self._context.classes, self._trials, engine.compiler)
        self._scheduler = SequentialScheduler(self._context, FirstFitPolicy(), self._trials)
        self._chooser = NodeChooser(self._states, FirstFitPolicy(), self._trials)
        self._there: dict[int, list[int]] = defaultdict(list)
        for place, one in pods.homes.items():
            self._there[self._states.position(one.node)].append(place)

    def run(self, waiting: Sequence[QueuedUnit]) -> None:
        """Place what waits, and make room for what has none."""
        left, emptied, candidates = self._placed(waiting), set[int](), set(self._there)
        while candidates and self._left and self.in_time and (left or not waiting):
            position = min(candidates, key=self._use)
            candidates.remove(position)
            try:
                if self._empty(position, emptied):
                    emptied.add(position)
                    left = self._placed(left)
            except TimeOverError:
                self.in_time = False

    def outcomes(self) -> Iterator[PlannedUnitOutcome]:
        """Yield what became of each unit of the queue; pods that stay are not placed."""
        names = [self._states.node(position).metadata.name for position in range(self._states.size)]
        waiting = self._pods.waiting
        found = {id(one.unit): told for one, told in zip(waiting, self._scheduler.outcomes(waiting), strict=True)}
        for place, unit in enumerate(self._pods.lifted.units):
            position, allocations = self.moved.get(place, (None, ()))
            name = None if position is None else names[position]
            yield found.get(id(unit.unit)) or PlannedUnitOutcome(unit, name, (), allocations)

    def order(self) -> list[int]:
        """The places of what moved, and of what was placed behind it."""
        return [*self.moved, *self._scheduler.order(self._pods.lifted.units)]

    def _placed(self, waiting: Sequence[QueuedUnit]) -> list[QueuedUnit]:
        """Place units by first fit; return those that have no place. Of equal units none is tried after one failed."""
        members: dict[Gang, list[QueuedUnit]] = defaultdict(list)
        for unit in waiting:
            if unit.unit_set.gang is not None:
                members[unit.unit_set.gang].append(unit)
        failed: set[bytes] = set()
        for unit in waiting:
            gang, signature = unit.unit_set.gang, unit.unit_set.shape.signature
            if gang is not None:
                self._scheduler.run(members.pop(gang, ()))
            elif signature in failed:
                self._scheduler.refuse(unit, NO_NODE)
            else:
                self._scheduler.run([unit])
                if not self._scheduler.is_placed(unit):
                    failed.add(signature)
            self.in_time = self.in_time and self._scheduler.in_time
        whole = {one.unit_set.gang for one in waiting if self._scheduler.is_placed(one)}
        return [
            one
            for one in waiting
            if not self._scheduler.is_placed(one) and (one.unit_set.gang is None or one.unit_set.gang not in whole)
        ]

    def _use(self, position: int) -> tuple[bool, float, int, int]:
        """How much a node is used: of its devices, then by pods that may move; nodes without devices come last."""
        state = self._states.state(position)
        reached = sum(state.devices.view.shape.reachable)
        free = sum(self._workload.free(state.devices).values()) / PARTS_OF_DEVICE
        part = (reached - free) / reached if reached else 1.0
        return not reached, part, len(self._there[position]), position

    def _unused(self) -> Iterator[int]:
        """The nodes all of whose devices are free: nothing is won by moving to them."""
        for state, positions in self._states.groups.items():
            reached = sum(state.devices.view.shape.reachable)
            if reached and sum(self._workload.free(state.devices).values()) == reached * PARTS_OF_DEVICE:
                yield from positions

    def _empty(self, position: int, emptied: Collection[int]) -> bool:
        """Move all pods that may move from a node to others, or none of them. Raises ``TimeOverError``."""
        units, places = self._pods.lifted.units, self._there[position]
        if not 0 < len(places) <= self._left:
            return False
        excluded = {position, *emptied, *self._unused()}
        for place in places:
            self._remove(place, position, self._held[place])
        found: dict[int, tuple[int, Allocations]] = {}
        for place in places:
            requirements = self._context.requirements.of(units[place], {})
            target = None if requirements.refused else self._target(requirements, excluded)
            if target is None:
                break
            requested = unallocated_claims(units[place].unit, {})
            made = allocate_claims(requested, target, self._states, self._trials, requirements.budget).made
            found[place] = target, tuple(zip(requested, made, strict=True))
            self._add(place, *found[place])
        if len(found) < len(places):
            for place, given in found.items():
                self._remove(place, *given)
            for place in places:
                self._add(place, position, self._held[place])
            return False
        self.moved.update(found)
        self._left -= len(found)
        return True

    def _target(self, requirements: UnitRequirements, excluded: Container[int]) -> int | None:
        """The first node that fits; a question that ends in an error fits nowhere. Raises ``TimeOverError``."""
        with suppress(TrialAbortedError):
            return self._chooser.position(requirements, excluded)
        return None

    def _add(self, place: int, position: int, allocations: Allocations) -> None:
        made = {ref.key: allocation for ref, allocation in allocations}
        self._states.add_pod(position, self._context.requests(self._pods.lifted.units[place], made), made.items())

    def _remove(self, place: int, position: int, allocations: Allocations) -> None:
        made = {ref.key: allocation for ref, allocation in allocations}
        self._states.remove_pod(position, self._context.requests(self._pods.lifted.units[place], made), made)

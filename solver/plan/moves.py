"""Plans that may move running pods: which of them become units of the queue, and what is told of those that stay.

The cluster that is planned is the given one with all pods that may move taken off their nodes. A plan is verified on
the given cluster with only those pods taken off that it moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Pod, PodStatus
from ...models.kubernetes.gates import gates_of
from ...models.kubernetes.karpenter import NodePool
from ...models.kubernetes.meta import DeviceId, ObjectKey, matches_labels, parse_label_selector
from ...models.workload.expansion import QueuedUnit
from ...models.workload.node_room import running_pods
from ...models.workload.queue import read_queue
from ...models.workload.running import RunningPod, read_running_pods
from ..engines.outcome import SearchInterrupted
from .assign import PlanAssignment
from .build.moves import Home, PlanMoves, UnmovableError
from .build.nodes import busy_nodes, with_bought_nodes
from .build.objectives import (
    COST,
    FEWEST_NODES,
    FRAGMENTATION,
    MOVE_STAGES,
    PLACED_STAGES,
    last_stages,
    parse_objective,
)
from .outcome import PlannedMove, PlannedUnitOutcome, PlanOutcome
from .plan import plan
from .steps import ordered_steps


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """What may move: ``most`` so many pods, None for any number, and with ``bare`` also those without a controller.

    ``prices`` are those of nodes, which go when nothing uses them, but for those that are ``kept``.
    """

    most: int | None = None
    bare: bool = False
    prices: Mapping[str, Fraction] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class LiftedPods:
    """The pods of a cluster that may move, taken off their nodes: ``cluster`` is what is planned instead."""

    given: Cluster
    cluster: Cluster
    running: Mapping[ObjectKey, RunningPod]
    keys: frozenset[ObjectKey]
    options: MoveOptions

    def plan_moves(self, queue: Sequence[QueuedUnit], unplaceable: Collection[int]) -> PlanMoves:
        """Find the pods in the queue. Raises ``UnmovableError`` for those that cannot be planned like others."""
        homes: dict[int, Home] = {}
        wrong: list[QueuedUnit] = []
        for place, planned in enumerate(queue):
            key = planned.unit.namespace, planned.unit.name
            if planned.unit.pod is not None and key in self.keys:
                one = self.running[key]
                homes[place] = Home(one.node, one.cost, tuple((held.ref.key, held.allocation) for held in one.held))
                if place in unplaceable or planned.unit_set.gang is not None:
                    wrong.append(planned)
        if wrong:
            raise UnmovableError(wrong)
        parts = frozenset(key for key, one in self.running.items() if one.goes_with_node)
        options = self.options
        return PlanMoves(homes, options.most, parts, options.prices, options.kept)

    def completed(self, assignment: PlanAssignment, moves: PlanMoves) -> PlanAssignment:
        """The assignment, or the one that leaves all pods where they are if it has no place for some."""
        if moves.homes.keys() <= assignment.assigned.keys():
            return assignment
        return replace(assignment, assigned={}, order=(), bought={}, cluster=self.cluster, equivalence={})

    def settled(self, answer: PlanOutcome, whole: Cluster) -> tuple[PlanOutcome, Cluster]:
        """The outcome about what waits and what moves, and the cluster for which that is a plan.

        ``whole`` is the cluster that was planned, with the nodes that are bought.
        """
        moved: list[PlannedMove] = []
        units: list[PlannedUnitOutcome] = []
        numbers = {place: number for number, place in enumerate(answer.order)}
        places: list[tuple[int, int]] = []
        gone: set[ObjectKey] = set()
        for place, one in enumerate(answer.units):
            key = one.unit.namespace, one.unit.name
            run = self.running.get(key) if one.unit.pod is not None and key in self.keys else None
            if run is not None and (one.node is None or _is_at_home(one, run)):
                continue
            if run is not None:
                moved.append(PlannedMove(run, one))
                gone.add(key)
            if place in numbers:
                places.append((numbers[place], len(units)))
            units.append(one)
        order = {unit: number for number, (_, unit) in enumerate(sorted(places), 1)}
        units = [replace(one, order=order.get(number)) for number, one in enumerate(units)]
        stay = [self.running[key] for key in self.keys - gone]
        back = whole.with_pods(one.pod for one in stay)
        back = back.with_claims(held.ref.claim for one in stay for held in one.held if held.ref.claim is not None)
        return replace(answer, units=tuple(units), moves=tuple(moved)), back


def plan_with_moves(cluster: Cluster, options: MoveOptions, **asked: Any) -> PlanOutcome:
    """Answer ``plan`` where running pods may move; ``asked`` are the arguments of ``plan``.

    Raises as ``plan`` does, and ``ValueError`` with quota, or with pods whose cost of a move cannot be read.
    """
    if asked.get("quota") is not None:
        raise ValueError("plans that move running pods do not look at quota: say --quota ignore")
    asked["objective"] = _objective(cluster, options, asked)
    allowed = _allowed(cluster, asked.get("namespace"), asked.get("selector", ""))
    gates = gates_of(asked.get("feature_gates"))
    running = read_running_pods(cluster, gates, move_bare=options.bare, allowed=allowed)
    keys = frozenset(key for key, one in running.items() if not one.stays)
    while True:
        lifted = LiftedPods(cluster, _lifted(cluster, [running[key] for key in sorted(keys)]), running, keys, options)
        try:
            return _with_steps(lifted, partial(plan, lifted.cluster, lifted=lifted, **asked))
        except UnmovableError as error:
            keys -= error.keys


def _with_steps(lifted: LiftedPods, ask: Callable[[], PlanOutcome]) -> PlanOutcome:
    def ordered(answer: PlanOutcome) -> PlanOutcome:
        counts = {name: len(nodes) for name, nodes in answer.bought.items()}
        answer = replace(answer, removed=tuple(_removed(lifted, answer)))
        return ordered_steps(with_bought_nodes(lifted.given, counts)[0], answer)

    try:
        return ordered(ask())
    except SearchInterrupted as interrupted:
        raise SearchInterrupted(ordered(interrupted.answer)) from None


def _objective(cluster: Cluster, options: MoveOptions, asked: Mapping[str, Any]) -> tuple[str, ...]:
    """The stages with those about moves: behind what is placed, or last where nothing waits that moves could help.

    Stages about moves that are named stay where they are. Without any name, and with nothing that waits, the room for a
    mix counts, or else how many nodes are in use.
    """
    given, buys = asked.get("objective", ()), bool(asked.get("buy"))
    few_nodes, alternatives = bool(cluster.objects(NodePool)), asked.get("alternatives", "any")
    names = list(parse_objective(given, buys, few_nodes=few_nodes, alternatives=alternatives))
    gates, narrowed = asked.get("feature_gates"), {key: asked[key] for key in ("namespace", "selector") if key in asked}
    waits = any(one.numbers for one in read_queue(cluster, gates=gates_of(gates), **narrowed))
    if options.prices and COST not in names:
        names.append(COST)
    elif not waits and last_stages(given) and not buys:
        names.append(FEWEST_NODES if asked.get("mix") is None else FRAGMENTATION)
    missing = [name for name in MOVE_STAGES if name not in names]
    first = next((n for n, name in enumerate(names) if name.partition("=")[0] not in PLACED_STAGES), len(names))
    place = first if waits or buys or COST in names else len(names)
    return (*names[:place], *missing, *names[place:])


def _removed(lifted: LiftedPods, answer: PlanOutcome) -> Iterator[tuple[str, Fraction]]:
    """The nodes that can go, with their prices: nothing uses them that does not go with them."""
    prices = lifted.options.prices
    if not prices:
        return
    moved = {one.running.key for one in answer.moves}
    left = lifted.given.without(pods=moved, claims=[held.ref.key for one in answer.moves for held in one.running.held])
    parts = [key for key, one in lifted.running.items() if one.goes_with_node]
    used = {*busy_nodes(left, answer.gates, left.nodes.values(), parts), *(unit.node for unit in answer.units)}
    for name, price in prices.items():
        if name not in used and name not in lifted.options.kept:
            yield name, price


def _allowed(cluster: Cluster, namespace: str | None, selector: str) -> frozenset[ObjectKey] | None:
    """The running pods that a plan is about; None for all."""
    if namespace is None and not selector:
        return None
    requirements = parse_label_selector(selector)
    return frozenset(
        key
        for key, pod in running_pods(cluster).items()
        if namespace in (None, key[0]) and matches_labels(requirements, pod.metadata.labels)
    )


def _lifted(cluster: Cluster, pods: Sequence[RunningPod]) -> Cluster:
    """The cluster with these pods waiting, and with nothing in their claims."""
    claims = (held.ref.claim for one in pods for held in one.held)
    emptied = [structs.replace(claim, status=None) for claim in claims if claim is not None]
    return cluster.with_pods(_waiting(one.pod) for one in pods).with_claims(emptied)


def _waiting(pod: Pod) -> Pod:
    status = pod.status or PodStatus()
    kept = PodStatus(
        phase="Pending",
        resource_claim_statuses=status.resource_claim_statuses,
        extended_resource_claim_status=status.extended_resource_claim_status,
    )
    return structs.replace(pod, spec=structs.replace(pod.spec, node_name=None), status=kept)


def _is_at_home(one: PlannedUnitOutcome, run: RunningPod) -> bool:
    """Whether a pod keeps its node and all devices."""
    had = {held.ref.key: _devices(held.allocation) for held in run.held}
    gets = {ref.key: _devices(allocation) for ref, allocation in one.allocations}
    return one.node == run.node and had == gets


def _devices(allocation: Any) -> list[tuple[str, DeviceId]]:
    return sorted((one.request, (one.driver, one.pool, one.device)) for one in allocation.devices.results or ())

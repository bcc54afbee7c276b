"""Running pods taken off their nodes, so that they can be planned like what waits, and what a plan says of them.

The cluster that is planned is the given one with all pods that may move taken off their nodes. A plan is verified on
the given cluster with only those pods taken off that it moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Pod, PodStatus
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.workload.expansion import QueuedUnit
from ...models.workload.running import RunningPod
from .assign import PlanAssignment
from .build.moves import Home, PlanMoves, UnmovableError
from .outcome import PlannedMove, PlannedUnitOutcome, PlanOutcome


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

    @classmethod
    def of(
        cls, cluster: Cluster, running: Mapping[ObjectKey, RunningPod], keys: frozenset[ObjectKey], options: MoveOptions
    ) -> LiftedPods:
        """Take the pods of these keys off their nodes."""
        return cls(cluster, _lifted(cluster, [running[key] for key in sorted(keys)]), running, keys, options)

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
        counts = Counter(one.node for one in units)
        nodes = tuple(structs.replace(node, units=counts[node.name]) for node in answer.nodes)
        return replace(answer, units=tuple(units), nodes=nodes, moves=tuple(moved)), back


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

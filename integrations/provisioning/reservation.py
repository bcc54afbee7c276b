"""Quota without Kueue's scheduler: the flavors that come first, and the words of a preemption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...models.formats.decode import QuantityText
from ...models.kubernetes.kueue import ClusterQueue, KueuePodSet, PodSetAssignment
from ...models.kubernetes.quantity import Quantity
from .admission_checks import queue_of, why_out_of_queue
from .machine import ReserveQuota, SchedulerEvent
from .state import ProvisioningState, QuotaReservation, SimulatedWorkload


def default_reservation(
    state: ProvisioningState,
    workload: SimulatedWorkload,
    flavors: Mapping[str, Mapping[str, str]] | None = None,
    counts: Mapping[str, int] | None = None,
) -> QuotaReservation:
    """Give the quota that a workload gets in an empty queue: the first flavor of each resource, and all its pods.

    ``flavors`` and ``counts`` say otherwise for pod sets by name. Raises ``ValueError`` for a pod set or a flavor that
    the workload or its queue does not have.
    """
    queue = queue_of(state, workload)
    if queue is None:
        raise ValueError(f"workload {'/'.join(workload.key)} has no ClusterQueue")
    flavors, counts = flavors or {}, counts or {}
    sets = workload.spec.spec.pod_sets or ()
    names = {one.name for one in sets}
    unknown = [name for name in (*flavors, *counts) if name not in names]
    if unknown:
        raise ValueError(f"workload {'/'.join(workload.key)} has no pod set {unknown[0]!r}")
    first = _first_flavors(queue)
    known = {flavor.name for group in queue.spec.resource_groups or () for flavor in group.flavors or ()}
    assignments = []
    for one in sets:
        count = counts.get(one.name, one.count)
        usage = _usage(one, count)
        chosen = {name: first[name] for name in usage if name in first} | dict(flavors.get(one.name, {}))
        strange = [flavor for flavor in chosen.values() if flavor not in known]
        if strange:
            raise ValueError(f"ClusterQueue {queue.metadata.name} has no flavor {strange[0]!r}")
        used: dict[str, QuantityText] = {name: str(Quantity.from_nano(usage.get(name, 0))) for name in chosen}
        assignments.append(PodSetAssignment(name=one.name, flavors=chosen, resource_usage=used, count=count))
    return QuotaReservation(queue.metadata.name, tuple(assignments))


def _first_flavors(queue: ClusterQueue) -> dict[str, str]:
    return {
        resource: group.flavors[0].name
        for group in queue.spec.resource_groups or ()
        if group.flavors
        for resource in group.covered_resources or ()
    }


def _usage(pod_set: KueuePodSet, count: int) -> dict[str, int]:
    """What the containers of a pod set request, in units of 10^-9; init containers are not added."""
    total: dict[str, int] = {}
    for container in pod_set.template.spec.containers or ():
        resources = container.resources
        amounts = {**(resources.limits or {}), **(resources.requests or {})} if resources else {}
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + Quantity.parse(amount).nano * count
    return total


def give_free_quota(state: ProvisioningState) -> Sequence[SchedulerEvent]:
    """Give every workload in an active queue its quota at once: a scheduler of queues that are never full."""
    for key, workload in state.workloads.items():
        if workload.in_queue(state.now) and why_out_of_queue(state, workload) is None:
            return [ReserveQuota(key, default_reservation(state, workload))]
    return ()


def preemption_message(victim: SimulatedWorkload, preemptor: SimulatedWorkload | None) -> tuple[str, str]:
    """Word a preemption within the queue as Kueue does: the message, and what its events add about priorities."""
    queue = victim.reservation.cluster_queue if victim.reservation else ""
    uid = (preemptor.spec.metadata.uid if preemptor else "") or "UNKNOWN"
    where = f"preemptor path: /{queue}; preemptee path: /{queue}"
    message = (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; "
        f"{where}"
    )
    return message, priority_note(victim, preemptor)


def priority_note(victim: SimulatedWorkload, preemptor: SimulatedWorkload | None) -> str:
    """What the events of a preemption add about priorities."""
    if preemptor is None:
        return ""
    high, low = (one.spec.spec.priority or 0 for one in (preemptor, victim))
    note = f"; preemptor effective priority: {high} (base: {high}, boost: 0)"
    return f"{note}; preemptee effective priority: {low} (base: {low}, boost: 0)"

"""Kueue's scheduler beside the machine: the machine leads the lives of workloads, the scheduler gives them quota."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.kueue import (
    AdmissionCheck,
    ClusterQueue,
    KueueWorkload,
    LocalQueue,
    PodSetAssignment,
    ResourceFlavor,
)
from ...models.kubernetes.meta import ObjectKey
from ..kueue.amounts import amount_of, written_amount
from ..kueue.configuration import kueue_configuration
from ..kueue.controllers import EvictionRecord
from ..kueue.cycles import CycleRecord, KueueState
from ..kueue.queues import ClusterQueueState
from ..kueue.scheduling import QueueHead
from ..kueue.workload_state import (
    DEACTIVATED,
    PENDING_EVALUATION,
    QUOTA_RESERVED,
    SUSPENDED,
    PodSetGrant,
    QuotaGrant,
    WorkloadState,
)
from .machine import EvictWorkload, KeepWaiting, ReserveQuota, SchedulerEvent
from .reservation import priority_note
from .state import ProvisioningState, QuotaReservation, SimulatedWorkload

# So many cycles without a word are a circle, of workloads that are tried again and again.
_MOST_SILENT_CYCLES = 100
# The machine writes these reasons itself.
_OF_CONTROLLERS = (SUSPENDED, PENDING_EVALUATION, DEACTIVATED)


class _SchedulerState(KueueState):
    """The queues of Kueue's scheduler, without the controllers that the machine plays."""

    def __init__(self, cluster: Cluster) -> None:
        # Workloads that are not in their queues: they wait, or are out of them for good.
        self.out: set[str] = set()
        self.considered: dict[str, str] = {}
        self._cycles = 0
        super().__init__(cluster, kueue_configuration(cluster))

    def lose(self, key: str, reason: str, message: str) -> None:
        """Take the quota of a workload that the machine evicted."""
        workload = self.workloads[key]
        workload.evict(reason, message, self._now)
        self._give_back(workload)
        workload.release(self._now)
        self._queue_up(workload)

    def hold(self, key: str, grant: QuotaGrant) -> None:
        """Give a workload the quota that it has in the machine."""
        workload = self.workloads[key]
        self._dequeue(workload)
        workload.reserve(grant, self._now, admitted=False)
        self._hold(workload)

    def take_out(self, keys: Collection[str]) -> None:
        """Have these workloads out of their queues, and all others in them."""
        changed, self.out = self.out ^ set(keys), set(keys)
        for key in sorted(changed & self.workloads.keys()):
            workload = self.workloads[key]
            if key in self.out:
                self._dequeue(workload)
            elif not workload.reserved and not workload.finished:
                self._queue_up(workload)

    def _queue_up(self, workload: WorkloadState) -> None:
        if workload.key in self.out:
            self._dequeue(workload)
        else:
            super()._queue_up(workload)

    def _eviction_reason(self, workload: WorkloadState) -> str:
        return ""

    def _cycle(
        self, number: int, heads: list[tuple[WorkloadState, ClusterQueueState]], stops: Callable[[], bool]
    ) -> CycleRecord | None:
        self._cycles += bool(heads)
        return super()._cycle(self._cycles, heads, stops)

    def _admit(self, head: QueueHead) -> tuple[str, QuotaGrant]:
        self.considered[head.workload.key] = head.assignment.considered
        return super()._admit(head)


class KueueScheduler:
    """Decides as Kueue's scheduler does, a cycle at each call; it remembers who is parked and what was tried."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: object = None
        self._queues: _SchedulerState | None = None

    def __call__(self, state: ProvisioningState) -> Sequence[SchedulerEvent]:
        """Give the decisions of the next cycle that decides anything; nothing if none does."""
        queues = self._synchronised(state)
        for _ in range(_MOST_SILENT_CYCLES):
            phase = queues.run(1)
            events = [event for record in phase.cycles for event in _events_of(record, queues.considered, state)]
            events += self._silent(queues, state, {event.workload for event in events})
            if events or phase.settled:
                return events
        return ()

    def _synchronised(self, state: ProvisioningState) -> _SchedulerState:
        """Give the scheduler's state with the objects and the quota that the machine has."""
        seen = (
            [(one.spec, one.active) for one in state.workloads.values()],
            *(state.cluster_queues, state.local_queues, state.flavors, state.checks, state.check_status),
        )
        if self._queues is None:
            self._queues = _SchedulerState(self._described(state))
        elif seen != self._seen:
            self._queues.update(self._described(state))
        self._seen = seen
        queues = self._queues
        for key, workload in state.workloads.items():
            known = queues.workloads["/".join(key)]
            if workload.is_true("Finished"):
                queues.finish(known.key)
            elif workload.reservation is None and known.reserved:
                why = workload.conditions.get("Evicted") or workload.conditions[QUOTA_RESERVED]
                queues.lose(known.key, why.reason, why.message)
            elif workload.reservation is not None and not known.reserved:
                queues.hold(known.key, _grant(workload.reservation))
        waiting = {"/".join(key) for key, one in state.workloads.items() if one.in_queue(state.now)}
        queues.take_out(queues.workloads.keys() - waiting)
        return queues

    def _described(self, state: ProvisioningState) -> Cluster:
        """The cluster with the objects of the state; checks that are not active are as good as missing."""
        objects: dict[type[Any], Mapping[Any, Any]] = {
            ClusterQueue: state.cluster_queues,
            LocalQueue: state.local_queues,
            ResourceFlavor: state.flavors,
            AdmissionCheck: {name: one for name, one in state.checks.items() if _is_active(state, name)},
            KueueWorkload: {key: _described_workload(one) for key, one in state.workloads.items()},
        }
        return replace(self._cluster, integration_objects={**self._cluster.integration_objects, **objects})

    @staticmethod
    def _silent(queues: _SchedulerState, state: ProvisioningState, told: set[ObjectKey]) -> list[SchedulerEvent]:
        """What the queues say of workloads outside a cycle, such as that one of its shape has failed before."""
        found: list[SchedulerEvent] = []
        for key, workload in state.workloads.items():
            said = queues.workloads["/".join(key)].conditions.get(QUOTA_RESERVED)
            known = workload.conditions.get(QUOTA_RESERVED)
            if key in told or not workload.in_queue(state.now) or said is None or said.status:
                continue
            if said.reason not in _OF_CONTROLLERS and (known is None or known.message != said.message):
                found.append(KeepWaiting(key, said.reason, said.message, silent=True))
        return found


def _events_of(record: CycleRecord, considered: Mapping[str, str], state: ProvisioningState) -> list[SchedulerEvent]:
    """Give the decisions of a cycle: evictions, those that wait, and those that got quota."""
    events: list[SchedulerEvent] = [_eviction(one, state) for one in record.evicted]
    events += (
        KeepWaiting(_key(name), condition.reason, condition.message)
        for name, condition in record.waiting
        if condition.reason not in _OF_CONTROLLERS
    )
    events += (
        ReserveQuota(_key(name), _reservation(grant), considered.get(name, "")) for name, grant in record.admitted
    )
    return events


def _key(name: str) -> ObjectKey:
    namespace, _, own = name.partition("/")
    return namespace, own


def _is_active(state: ProvisioningState, check: str) -> bool:
    condition = state.check_status.get(check)
    return condition is not None and condition.status == "True"


def _described_workload(workload: SimulatedWorkload) -> KueueWorkload:
    spec = structs.replace(workload.spec.spec, active=workload.active)
    return structs.replace(workload.spec, spec=spec)


def _grant(reservation: QuotaReservation) -> QuotaGrant:
    sets = (
        PodSetGrant(
            one.name,
            one.count or 0,
            one.flavors or {},
            {name: amount_of(name, amount) for name, amount in (one.resource_usage or {}).items()},
        )
        for one in reservation.assignments
    )
    return QuotaGrant(reservation.cluster_queue, tuple(sets))


def _reservation(grant: QuotaGrant) -> QuotaReservation:
    assignments = (
        PodSetAssignment(
            name=one.name,
            flavors=dict(one.flavors),
            resource_usage={name: written_amount(name, amount) for name, amount in one.usage.items()},
            count=one.count,
        )
        for one in grant.pod_sets
    )
    return QuotaReservation(grant.cluster_queue, tuple(assignments))


def _eviction(record: EvictionRecord, state: ProvisioningState) -> EvictWorkload:
    victim = state.workloads[_key(record.workload)]
    by = next(
        (one for one in state.workloads.values() if f"(UID: {one.spec.metadata.uid}," in record.evicted.message), None
    )
    return EvictWorkload(
        victim.key,
        record.evicted.reason,
        record.evicted.message,
        record.preempted.reason if record.preempted else "",
        by.key if by else None,
        priority_note(victim, by),
    )

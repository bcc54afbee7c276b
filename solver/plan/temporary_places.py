"""Temporary places: where a pod can live meanwhile when pods wait for each other's places (MOV-5).

The pod is placed by first fit beside everything that runs by then, at best on a node to which nobody else goes, and on
devices that nobody else gets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import AllocationResult, ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.core import Pod, PodStatus
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey, PoolId
from ...models.workload.expansion import expand_units
from ...models.workload.queue import read_queue
from ...models.workload.running import RunningPod
from ...models.workload.units import ClaimRef
from ..engines.engine import Session
from .first_fit import first_fit

Allocations = tuple[tuple[ClaimRef, AllocationResult], ...]


@dataclass
class TemporaryPlaces:
    """The cluster while steps are carried out; ``moved`` has the node and the allocations of pods that arrived.

    A pod has one temporary place at most, so that steps come to an end.
    """

    cluster: Cluster
    gates: FeatureGates
    policy: str
    _moved: dict[ObjectKey, tuple[RunningPod, str | None, Allocations]] = field(default_factory=dict)
    _used: set[ObjectKey] = field(default_factory=set)

    def note(self, pod: RunningPod, node: str | None, allocations: Allocations = ()) -> None:
        """A pod runs on a node by now, or nowhere."""
        self._moved[pod.key] = pod, node, allocations

    def find(
        self, pod: RunningPod, avoided: Collection[str], devices: Collection[DeviceId], pools: Collection[PoolId]
    ) -> tuple[str, Allocations] | None:
        """A place for a pod on none of these devices, nor in these pools, and rather not on the nodes ``avoided``."""
        if pod.key in self._used:
            return None
        now = self._cluster_with(pod)
        queue = list(expand_units(now, read_queue(now, namespace=pod.key[0], gates=self.gates), self.gates))
        place = next((n for n, one in enumerate(queue) if one.unit.pod and one.unit.name == pod.key[1]), None)
        if place is None:
            return None
        session = Session(now, self.gates, self.policy, 0)
        for usable in (now.nodes.keys() - set(avoided), now.nodes.keys()):
            found = first_fit(session, queue, [place], usable=usable).assigned.get(place)
            if found is not None and not _clashes(found[1], devices, pools):
                self._used.add(pod.key)
                return found
        return None

    def _cluster_with(self, leaving: RunningPod) -> Cluster:
        """The cluster by now, in which a pod waits."""
        places: Mapping[ObjectKey, tuple[RunningPod, str | None, Allocations]]
        places = {**self._moved, leaving.key: (leaving, None, ())}
        pods: list[Pod] = []
        claims: list[ResourceClaim] = []
        for running, node, allocations in places.values():
            pods.append(_placed(running.pod, node))
            made = {ref.key: allocation for ref, allocation in allocations}
            for held in running.held:
                if held.ref.claim is not None:
                    allocation = made.get(held.ref.key)
                    status = ResourceClaimStatus(allocation=allocation) if allocation is not None else None
                    claims.append(structs.replace(held.ref.claim, status=status))
        away = [key for key, (_, node, _) in places.items() if node is None and key != leaving.key]
        return self.cluster.with_pods(pods).with_claims(claims).without(pods=away)


def _placed(pod: Pod, node: str | None) -> Pod:
    """The pod on another node, or as one that waits."""
    status = pod.status or PodStatus()
    if node is None:
        status = structs.replace(status, phase="Pending")
    return structs.replace(pod, spec=structs.replace(pod.spec, node_name=node), status=status)


def _clashes(allocations: Allocations, devices: Collection[DeviceId], pools: Collection[PoolId]) -> bool:
    results: Iterable[DeviceId] = (
        (one.driver, one.pool, one.device) for _, made in allocations for one in made.devices.results or ()
    )
    return any(device in devices or device[:2] in pools for device in results)

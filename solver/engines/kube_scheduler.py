"""The engine ``kube-scheduler``: the scheduler's own allocator, in a process beside ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from time import monotonic

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import ReachIndex, SelectorError
from ...models.cluster.usage import Usage
from ...models.formats.decode import QuantityText
from ...models.formats.errors import PeerError
from ...models.kubernetes.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClass,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey, ObjectMeta, PoolId
from ...models.kubernetes.quantity import Quantity
from ...models.kubernetes.slices import ResourceSlice
from ...models.results.common import Status
from ...models.workload.node_room import DeviceBudget, plugin_classes
from ...models.workload.requests import without_plugin_requests
from ...peers.answers import AllocatorVerdict
from ...peers.clients import KubeScheduler
from ...peers.requests import AllocateRequest, features_of_gates
from ...problem.messages import KUBE
from ...problem.node_state import AllocatedState
from .engine import TIME_LIMIT_RULE, Counts, NodeResult, Session
from .outcome import device_class_names
from .result import share_id

NAME = "kube-scheduler"
_NO_SOLUTION = "cannot allocate all claims"
_TIME_OVER = "the time limit passed"
_INVALID_POOLS = "invalid resource pools"


class KubeSchedulerEngine:
    """Asks the real allocator about one node at a time.

    Raises ``PeerError``, here and at each attempt, if the peer is not built or cannot be trusted; that never turns
    into an answer. ``ValueError`` for a policy that it does not have: errors of expressions are always fatal to it.
    """

    def __init__(self, session: Session, peer: KubeScheduler | None = None) -> None:
        check_peer_policy(session.policy)
        self.counts = Counts()
        self.budget: DeviceBudget | None = None
        self._session = session
        self._peer = peer or KubeScheduler()
        self._supply = NodeSlices(session.cluster)
        self._features = features_of_gates(session.gates)
        self._plugin_classes = plugin_classes(session.cluster, session.gates)

    def allocate_on(
        self, node: Node, claims: Sequence[ResourceClaim], allocated_state: AllocatedState, deadline: float | None
    ) -> NodeResult:
        """Ask for the claims on the node."""
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            return NodeResult(Status.UNKNOWN, rule=TIME_LIMIT_RULE, message=_TIME_OVER)
        slices = self._supply.slices(node)
        provided = self._plugin_classes.get(node.metadata.name, frozenset())
        asked = [without_plugin_requests(claim, provided) for claim in claims]
        cluster = self._session.cluster
        answer = self._peer.allocate(
            AllocateRequest(
                node=node,
                classes=named_classes(asked, cluster),
                slices=slices,
                taint_rules=cluster.taint_rules,
                allocated=claims_in_use(allocated_state.usage, slices),
                claims=asked,
                features=self._features,
                time_limit_seconds=left or 0.0,
            )
        )
        self.counts.steps += answer.steps or 0
        return node_result_of(answer, claims, self._session.seed)


def check_peer_policy(policy: str) -> None:
    """Raise ``ValueError`` unless errors of expressions are to do what they do in the scheduler (CEL-6)."""
    if policy != KUBE:
        raise ValueError(f"engine {NAME} cannot handle CEL errors as {policy!r}, only as {KUBE!r}")


class NodeSlices:
    """The slices that decide about a node: all those of each pool of which it sees a slice (POOL-5, POOL-6, POOL-8)."""

    def __init__(self, cluster: Cluster) -> None:
        self._slices = cluster.slices
        self._reach = ReachIndex(cluster.slices)
        self._pools: dict[PoolId, list[int]] = defaultdict(list)
        for position, slice_ in enumerate(cluster.slices):
            self._pools[_pool_id(slice_)].append(position)
        self._known: dict[str, tuple[Node, tuple[ResourceSlice, ...]]] = {}

    def slices(self, node: Node) -> tuple[ResourceSlice, ...]:
        """Find the slices, in name order; all of them if one has a selector that cannot be parsed (NODE-2)."""
        known = self._known.get(node.metadata.name)
        if known is None or known[0] is not node:
            known = self._known[node.metadata.name] = node, self._find(node)
        return known[1]

    def _find(self, node: Node) -> tuple[ResourceSlice, ...]:
        try:
            seen = self._reach.positions(node)
        except SelectorError:
            return self._slices
        pools = {_pool_id(self._slices[position]) for position in seen}
        return tuple(self._slices[position] for position in sorted(p for pool in pools for p in self._pools[pool]))


def _pool_id(slice_: ResourceSlice) -> PoolId:
    return slice_.spec.driver, slice_.spec.pool.name


def named_classes(claims: Iterable[ResourceClaim], cluster: Cluster) -> tuple[DeviceClass, ...]:
    """Find the classes that the claims name and that exist, in name order."""
    names = {name for claim in claims for name in device_class_names(claim)}
    return tuple(cluster.classes[name] for name in sorted(names) if name in cluster.classes)


def claims_in_use(usage: Usage, slices: Iterable[ResourceSlice]) -> tuple[ResourceClaim, ...]:
    """Write down as claims what is held of the devices of these slices (IN-2, IN-3)."""
    held: dict[ObjectKey, list[DeviceRequestAllocationResult]] = defaultdict(list)
    devices = ((*_pool_id(slice_), device.name) for slice_ in slices for device in slice_.spec.devices or ())
    for driver, pool, name in dict.fromkeys(devices):
        for hold in usage.holds((driver, pool, name)):
            consumed: dict[str, QuantityText] | None = None
            if hold.consumed is not None:
                consumed = {capacity: str(Quantity.from_nano(nano)) for capacity, nano in hold.consumed.items()}
            result = DeviceRequestAllocationResult(
                driver=driver, pool=pool, device=name, share_id=hold.share_id, consumed_capacity=consumed
            )
            held[hold.claim].append(result)
    return tuple(
        ResourceClaim(
            metadata=ObjectMeta(namespace=namespace, name=name),
            status=ResourceClaimStatus(
                allocation=AllocationResult(devices=DeviceAllocationResult(results=tuple(results)))
            ),
        )
        for (namespace, name), results in held.items()
    )


def node_result_of(verdict: AllocatorVerdict, claims: Sequence[ResourceClaim], seed: int) -> NodeResult:
    """Turn a verdict into an attempt. Raises ``PeerError`` if it does not have an allocation for each claim."""
    if verdict.outcome == "error":
        return NodeResult(Status.ERROR, rule="error", message=verdict.error)
    if verdict.outcome == "timeout":
        return NodeResult(Status.UNKNOWN, rule=TIME_LIMIT_RULE, message=verdict.error or _TIME_OVER)
    if verdict.outcome == "unallocatable":
        rule = "pool" if verdict.error.startswith(_INVALID_POOLS) else ""
        return NodeResult(Status.UNALLOCATABLE, rule=rule, message=verdict.error or _NO_SOLUTION)
    made = verdict.allocations or ()
    if len(made) != len(claims):
        raise PeerError(f"peer {NAME} answered nonsense: {len(made)} allocations for {len(claims)} claims")
    named = (with_seeded_share_ids(allocation, claim, seed) for allocation, claim in zip(made, claims, strict=True))
    return NodeResult(Status.ALLOCATED, tuple(named))


def with_seeded_share_ids(allocation: AllocationResult, claim: ResourceClaim, seed: int) -> AllocationResult:
    """Replace what differs from run to run, the random share ids, by what the seed decides."""
    results = tuple(
        replace(result, share_id=share_id(seed, claim, position, (result.driver, result.pool, result.device)))
        if result.share_id
        else result
        for position, result in enumerate(allocation.devices.results or ())
    )
    return replace(allocation, devices=replace(allocation.devices, results=results or None))

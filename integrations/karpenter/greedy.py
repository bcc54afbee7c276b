"""Karpenter's provisioning round in Python: pods one after the other, on nodes that stay a set of types (4.2).

It needs no program of others, so that comparisons run anywhere. Spread and affinity between pods, and volumes, do not
count. Tests hold it to the real Karpenter, whose round is in ``simulation``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import tolerates
from ...models.kubernetes.core import NodeSelectorTerm, Taint, Toleration
from ...models.kubernetes.karpenter import NODE_POOL_LABEL, RESERVED, NodePool
from ...models.kubernetes.meta import ObjectKey
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.kubernetes.workloads import DaemonSet
from ...models.workload.node_room import allocatable_of, remaining_allocatable
from ...models.workload.requests import Requests, effective_requests, integer_amounts
from ...models.workload.units import Unit, is_deleting
from ...problem.messages import check_deadline
from .device_search import DeviceSearch, DeviceSearchError
from .instance_types import CatalogueOffering
from .overlays import PooledType, pool_requirements, too_few_values
from .requirements import WELL_KNOWN_LABELS, NodeRequirements
from .searched_devices import DeviceUse, selector_requirements
from .simulation import LaunchedNode, ProvisioningRound
from .starting_nodes import leaving_nodes, starting_nodes

_PREFER = "PreferNoSchedule"
_TAINT_EFFECTS = ("NoSchedule", "NoExecute", _PREFER)


_Reservation = tuple[str, int]
"""The type and the number of an offering; pools share its reservation."""


Mended = Literal["pod-requirements", "fitting-types", "reservations"]
"""Defects that a round can do without, to see what they decide (corrections 2, 3 and 13)."""


class _ReservationError(Exception):
    """A pod waits for a reservation, and does not go to another pool (correction 13); one line."""


@dataclass
class _PendingPod:
    """A pod that waits. ``terms`` are the alternatives of its required node affinity that are left."""

    unit: Unit
    name: str
    requests: Requests
    labels: NodeRequirements
    terms: list[NodeSelectorTerm]
    tolerations: list[Toleration]
    claims: tuple[ObjectKey, ...]
    allocated: tuple[ObjectKey, ...]
    problem: str = ""

    @property
    def requirements(self) -> NodeRequirements:
        """What the pod demands of a node's labels now."""
        return self.labels.with_written(self.terms[0].match_expressions or ()) if self.terms else self.labels

    def relax(self, has_preferred_taint: bool) -> bool:
        """Give up one wish (4.2 step 3); False if none is left."""
        if len(self.terms) > 1:
            self.terms.pop(0)
            return True
        gentle = Toleration(operator="Exists", effect=_PREFER)
        if has_preferred_taint and gentle not in self.tolerations:
            self.tolerations.append(gentle)
            return True
        return False


@dataclass
class _NewNode:
    """A node to be: it may still be of any of ``types``."""

    number: int
    pool: NodePool
    requirements: NodeRequirements
    types: list[PooledType]
    pods: list[_PendingPod] = field(default_factory=list)
    requests: Requests = field(default_factory=dict)
    reserved: set[_Reservation] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Nodes are numbered in the order in which they are opened."""
        return f"node-{self.number}"


@dataclass
class _ExistingNode:
    name: str
    requirements: NodeRequirements
    taints: tuple[Taint, ...]
    free: Requests
    pods: list[str] = field(default_factory=list)


class GreedyRound:
    """One round; ``placed_on`` says afterwards which pods are where."""

    def __init__(
        self, cluster: Cluster, units: Sequence[Unit], types: Sequence[PooledType], mended: Collection[Mended] = ()
    ) -> None:
        self._cluster = cluster
        self._mended = frozenset(mended)
        claims = dict(cluster.claims)
        claims.update((ref.key, ref.claim) for unit in units for ref in unit.claims if ref.claim is not None)
        self._claims = claims
        self._search = DeviceSearch(cluster, claims, _held(cluster))
        self._pods = sorted((_pending(unit) for unit in units if unit.pod is not None), key=_queue_order)
        self._types: dict[str, list[PooledType]] = {}
        for one in types:
            self._types.setdefault(one.pool.metadata.name, []).append(one)
        pools = {one.pool.metadata.name: one.pool for one in types if not is_deleting(one.pool.metadata)}
        self._pools = sorted(pools.values(), key=lambda pool: (pool.spec.weight or 0, pool.metadata.name), reverse=True)
        self._left = {pool.metadata.name: _limits_left(cluster, pool) for pool in self._pools}
        # How many nodes each reservation has left.
        self._reserved: dict[_Reservation, int] = {
            (one.type.name, way.offering.number): way.offering.reserved or 0 for one in types for way in one.offerings
        }
        self._has_preferred_taint = any(
            taint.effect == _PREFER for pool in self._pools for taint in pool.spec.template.spec.taints or ()
        )
        self._existing = list(_existing_nodes(cluster))
        self._nodes: list[_NewNode] = []
        self._deadline: float | None = None
        self.errors: dict[str, str] = {}

    def run(self, deadline: float | None) -> None:
        """Place the pods. Raises ``DeadlineExceededError``."""
        self._deadline = deadline
        queue, failed = list(self._pods), 0
        while queue and failed < len(queue):
            check_deadline(deadline)
            pod = queue.pop(0)
            problem = pod.problem or self._placed_or_relaxed(pod)
            if problem:
                self.errors[pod.name] = problem
                queue.append(pod)
                failed += 1
            else:
                self.errors.pop(pod.name, None)
                failed = 0

    def _placed_or_relaxed(self, pod: _PendingPod) -> str:
        """Find a place, with fewer wishes if need be; say why there is none."""
        try:
            problem = self._place(pod)
            while problem and pod.relax(self._has_preferred_taint):
                problem = self._place(pod)
        except _ReservationError as error:
            return str(error)
        return problem

    def _place(self, pod: _PendingPod) -> str:
        """Find a place; say why there is none. Raises ``_ReservationError``."""
        try:
            if any(self._on_existing(node, pod) for node in self._existing):
                return ""
            # Of nodes with equally many pods the order of the last time stays.
            self._nodes.sort(key=lambda node: len(node.pods))
            if any(self._joins(node, pod) for node in self._nodes):
                return ""
            if tied := self._search.tied_node(pod.claims):
                return f"its claim is bound to {min(tied)}"
            return self._open(pod)
        except DeviceSearchError as error:
            return str(error)

    def _on_existing(self, node: _ExistingNode, pod: _PendingPod) -> bool:
        if _untolerated(node.taints, pod) or not has_room(pod.requests, node.free):
            return False
        if not node.requirements.accepts(pod.requirements) or self._search.tied_node(pod.claims):
            return False
        if not node.requirements.accepts(self._demanded(pod)):
            return False
        if pod.claims:
            found = self._search.search(node.name, node.requirements, [None], pod.claims, self._deadline)
            if not found:
                return False
            self._search.commit(node.name, found, pod.claims)
        for resource, amount in pod.requests.items():
            node.free[resource] = node.free.get(resource, 0) - amount
        node.pods.append(pod.name)
        return True

    def _demanded(self, pod: _PendingPod) -> NodeRequirements:
        """What claims that have devices demand of the pod's node: those of the cluster, and those of this round."""
        made = self._search.demanded(pod.claims)
        for key in pod.allocated:
            claim = self._claims.get(key)
            status = claim.status.allocation if claim and claim.status else None
            if status is not None:
                made &= selector_requirements(status.node_selector)
        return made

    def _open(self, pod: _PendingPod) -> str:
        """A further node, from the first pool that takes the pod."""
        problems = []
        for pool in self._pools:
            name = pool.metadata.name
            left = self._left[name]
            if left.get("nodes", 1) <= 0:
                problems.append(f"NodePool {name}: its limit of nodes is reached")
                continue
            types = [one for one in self._types[name] if _is_within(one, left)]
            node = _NewNode(len(self._nodes) + 1, pool, pool_requirements(pool), types)
            if not types:
                problems.append(f"NodePool {name}: all instance types exceed its limits")
            elif self._fits(node, pod):
                self._nodes.append(node)
                for resource in left:
                    most = max(one.counted_capacity.get(resource, 0) for one in node.types)
                    left[resource] -= 0 if resource == "nodes" else most
                return ""
            else:
                problems.append(f"NodePool {name}: no instance type serves the pod")
        return "; ".join(problems) or "there is no NodePool"

    def _joins(self, node: _NewNode, pod: _PendingPod) -> bool:
        try:
            return self._fits(node, pod)
        except _ReservationError:
            return False

    def _fits(self, node: _NewNode, pod: _PendingPod) -> bool:
        """Put the pod on a new node if it can go there (4.2 step 4). Raises ``_ReservationError``."""
        tied = self._search.tied_node(pod.claims)
        if tied and tied != {node.name}:
            return False
        if _untolerated(node.pool.spec.template.spec.taints or (), pod):
            return False
        asked = pod.requirements
        if not node.requirements.accepts(asked, WELL_KNOWN_LABELS):
            return False
        requirements = node.requirements & asked
        demanded = self._demanded(pod)
        if not requirements.accepts(demanded, WELL_KNOWN_LABELS):
            return False
        requirements &= demanded
        requests = {
            name: node.requests.get(name, 0) + pod.requests.get(name, 0) for name in {*node.requests, *pod.requests}
        }
        types, found = list(node.types), None
        if pod.claims:
            # The search sees the node's requirements, not the pod's (correction 2), and types that are too small.
            seen = requirements if "pod-requirements" in self._mended else node.requirements
            if "fitting-types" in self._mended:
                daemons = self._daemon_requests(node.pool, requirements)
                types = [one for one in types if self._serves(node, one, requirements, _sum(requests, daemons))]
            found = self._search.search(node.name, seen, types, pod.claims, self._deadline)
            if not found:
                return False
            for one in found.values():
                if not requirements.accepts(one.demanded, WELL_KNOWN_LABELS):
                    return False
                requirements &= one.demanded
        survived = types if found is None else [one for one in types if one.type.name in found]
        daemons = self._daemon_requests(node.pool, requirements)
        kept = [one for one in survived if self._serves(node, one, requirements, _sum(requests, daemons))]
        if not kept or any(too_few_values(kept, requirements)):
            return False
        self._reserve(node, self._reservable(node, kept, requirements))
        self._search.release(node.name, [one.type.name for one in survived if one not in kept])
        if found is not None:
            names = {one.type.name for one in kept}
            self._search.commit(node.name, {name: one for name, one in found.items() if name in names}, pod.claims)
        node.requirements, node.types, node.requests = requirements, kept, requests
        node.pods.append(pod)
        return True

    def _reservable(
        self, node: _NewNode, types: Sequence[PooledType], requirements: NodeRequirements
    ) -> set[_Reservation]:
        """All reservations that the node could use. Raises ``_ReservationError`` if none of them has room."""
        found: set[_Reservation] = set()
        has_room = is_full = has_others = False
        for one in types:
            for offering in (way.offering for way in one.offerings if way.offering.available):
                if not requirements.accepts(offering.requirements, _open_labels(offering)):
                    continue
                if offering.capacity_type != RESERVED:
                    has_others = True
                elif not offering.reserved:
                    is_full = True
                else:
                    has_room = True
                    reservation = one.type.name, offering.number
                    if reservation in node.reserved or self._reserved[reservation]:
                        found.add(reservation)
        if not found and (has_room or node.reserved) and not (has_others and "reservations" in self._mended):
            raise _ReservationError("reservations that it could use have no room left in this round")
        if not found and is_full and not has_others:
            raise _ReservationError("all reservations that it could use are full")
        return found

    def _reserve(self, node: _NewNode, wanted: set[_Reservation]) -> None:
        for reservation in wanted - node.reserved:
            self._reserved[reservation] -= 1
        for reservation in node.reserved - wanted:
            self._reserved[reservation] += 1
        node.reserved = wanted

    def _serves(self, node: _NewNode, one: PooledType, requirements: NodeRequirements, requests: Requests) -> bool:
        """The type is compatible, the pods fit, and an offering is available."""
        if any(
            not requirements[label].meets(values)
            and not (requirements[label].accepts_absence and values.accepts_absence)
            for label, values in one.type.requirements.by_label.items()
            if label in requirements
        ):
            return False
        return any(
            way.offering.available
            and requirements.accepts(way.offering.requirements, _open_labels(way.offering))
            and has_room(requests, one.counted_allocatable[way.offering.number])
            for way in one.offerings
        )

    def _daemon_requests(self, pool: NodePool, requirements: NodeRequirements) -> Requests:
        total: Requests = {}
        for made in self._cluster.objects(DaemonSet).values():
            spec = made.spec.template.spec
            asked = NodeRequirements.of_labels(spec.node_selector)
            tolerations = list(spec.tolerations or ())
            taints = pool.spec.template.spec.taints or ()
            if requirements.accepts(asked, WELL_KNOWN_LABELS) and not _untolerated_by(taints, tolerations):
                total = _sum(total, effective_requests(spec))
        return total

    def result(self, seconds: float) -> ProvisioningRound:
        """What was decided."""
        nodes = tuple(self._launched(node) for node in sorted(self._nodes, key=lambda node: node.number))
        existing = {node.name: tuple(sorted(node.pods)) for node in self._existing if node.pods}
        return ProvisioningRound(nodes, existing, dict(sorted(self.errors.items())), seconds, "")

    def _launched(self, node: _NewNode) -> LaunchedNode:
        """The cheapest launchable offering of the cheapest type; types by the price of theirs (4.2 step 6)."""
        offers = [
            (way.price.nano, number, one, way)
            for number, one in enumerate(node.types)
            for way in one.offerings
            if way.offering.launchable
            and (not node.reserved or (one.type.name, way.offering.number) in node.reserved)
            and node.requirements.accepts(way.offering.requirements, _open_labels(way.offering))
        ]
        cheapest: dict[str, int] = {}
        for price, _, one, _ in offers:
            cheapest[one.type.name] = min(price, cheapest.get(one.type.name, price))
        names = sorted((one.type.name for one in node.types), key=lambda name: cheapest.get(name, 1 << 200))
        pods = tuple(sorted(pod.name for pod in node.pods))
        pool = node.pool.metadata.name
        if not offers:
            return LaunchedNode(node.name, pool, names[0] if names else "", "", "", 0.0, pods, tuple(names))
        price, _, one, way = min(
            (offer for offer in offers if offer[2].type.name == names[0]), key=lambda offer: offer[:2]
        )
        place = way.offering.zone, way.offering.capacity_type
        return LaunchedNode(node.name, pool, one.type.name, *place, price / NANO, pods, tuple(names))


def greedy_round(
    cluster: Cluster,
    units: Sequence[Unit],
    types: Sequence[PooledType],
    deadline: float | None = None,
    mended: Collection[Mended] = (),
) -> ProvisioningRound:
    """Decide what Karpenter would launch for pending units, those without a pod left aside.

    ``types`` are the instance types of every pool with overlays applied. Raises ``DeadlineExceededError``.
    """
    began = monotonic()
    run = GreedyRound(cluster, units, types, mended)
    run.run(deadline)
    return run.result(monotonic() - began)


def _pending(unit: Unit) -> _PendingPod:
    assert unit.pod is not None
    spec = unit.pod.spec
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required if affinity else None
    return _PendingPod(
        unit,
        f"{unit.namespace}/{unit.name}",
        effective_requests(spec),
        NodeRequirements.of_labels(spec.node_selector),
        list(required.node_selector_terms or () if required else ()),
        list(spec.tolerations or ()),
        tuple(ref.key for ref in unit.claims if not ref.allocated),
        tuple(ref.key for ref in unit.claims if ref.allocated),
        "; ".join(unit.problems),
    )


def _queue_order(pod: _PendingPod) -> tuple[int, int, str, str]:
    """By cpu and memory, both descending, then by age."""
    assert pod.unit.pod is not None
    created = pod.unit.pod.metadata.creation_timestamp or ""
    return -pod.requests.get("cpu", 0), -pod.requests.get("memory", 0), created, pod.unit.pod.metadata.uid


def _held(cluster: Cluster) -> DeviceUse:
    """What claims of the cluster hold."""
    use = DeviceUse()
    for claim in cluster.claims.values():
        allocation = claim.status.allocation if claim.status else None
        for one in (allocation.devices.results or ()) if allocation else ():
            key = one.driver, one.pool, one.device
            if one.consumed_capacity:
                for name, amount in one.consumed_capacity.items():
                    use.capacity[key, name] += Quantity.parse(amount).nano
            else:
                use.exclusive.add(key)
    return use


def _existing_nodes(cluster: Cluster) -> Iterator[_ExistingNode]:
    """Nodes that are there, by name; those that start come last."""
    free, starting, leaving = remaining_allocatable(cluster), starting_nodes(cluster), leaving_nodes(cluster)
    for name, node in sorted(cluster.nodes.items(), key=lambda item: (item[0] in starting, item[0])):
        if not name or name in leaving:
            continue
        labels = {"kubernetes.io/hostname": name, **(node.metadata.labels or {})}
        taints = tuple(node.spec.taints or () if node.spec else ())
        room = dict(free.get(name) or allocatable_of(node) or {})
        yield _ExistingNode(name, NodeRequirements.of_labels(labels), taints, room)


def _limits_left(cluster: Cluster, pool: NodePool) -> Requests:
    """A pool's limits less the capacity of its nodes."""
    left = integer_amounts(pool.spec.limits)
    for node in cluster.nodes.values():
        if (node.metadata.labels or {}).get(NODE_POOL_LABEL) == pool.metadata.name:
            capacity = integer_amounts(node.status.capacity or node.status.allocatable if node.status else None)
            for resource in left:
                left[resource] -= 1 if resource == "nodes" else capacity.get(resource, 0)
    return left


def _is_within(one: PooledType, left: Mapping[str, int]) -> bool:
    """The limits of the pool leave room for such a node; ``nodes`` counts apart."""
    capacity = one.counted_capacity
    return all(capacity.get(resource, 0) <= amount for resource, amount in left.items() if resource != "nodes")


def _open_labels(offering: CatalogueOffering) -> frozenset[str]:
    return WELL_KNOWN_LABELS | frozenset(offering.requirements)


def _untolerated(taints: Iterable[Taint], pod: _PendingPod) -> bool:
    return _untolerated_by(taints, pod.tolerations)


def _untolerated_by(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> bool:
    return any(
        taint.effect in _TAINT_EFFECTS and not any(tolerates(one, taint) for one in tolerations) for taint in taints
    )


def has_room(requests: Mapping[str, int], free: Mapping[str, int]) -> bool:
    """What is asked for is there."""
    return all(amount <= free.get(resource, 0) for resource, amount in requests.items())


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> Requests:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted({*one, *other})}

"""A provisioning round of the real Karpenter: what it is asked, and what it decides (karpenter-dra 4, karpenter-peer).

The program ``peers/karpenter`` runs Karpenter's own scheduling on the objects of the cluster. Instance types are told
as a provider tells them, before overlays, which Karpenter evaluates itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes import karpenter
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import NodeSelectorRequirement
from ...models.kubernetes.meta import ObjectKey
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.kubernetes.workloads import DaemonSet
from ...models.manifests.writer import object_mapping
from ...models.workload.units import Unit, is_deleting, is_finished_or_deleting
from ...peers import requests
from ...peers.answers import ProvisionAnswer
from ...peers.clients import Karpenter
from .instance_types import Amounts, Catalogue, CatalogueOffering, CatalogueType
from .starting_nodes import leaving_nodes

# Pods are ordered by cpu and memory, then by age and UID, so that both must be told (karpenter-dra 4.2).
_CREATED = "2025-01-01T00:00:00Z"
_UID_DIGITS = 8


@dataclass(frozen=True, slots=True)
class LaunchedNode:
    """A node that Karpenter would launch: the cheapest offering of the first of its types, by price for a node."""

    name: str
    pool: str
    instance_type: str
    zone: str
    capacity_type: str
    price: float
    pods: tuple[str, ...]
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProvisioningRound:
    """What a round decided. ``unplaced`` has the reason for each pod without a place, ``existing`` pods by node."""

    nodes: tuple[LaunchedNode, ...]
    existing: Mapping[str, tuple[str, ...]]
    unplaced: Mapping[str, str]
    seconds: float
    version: str

    @property
    def cost(self) -> float:
        """The price of all new nodes."""
        return sum(node.price for node in self.nodes)


def simulate_round(
    cluster: Cluster, units: Sequence[Unit], peer: Karpenter, time_limit: float | None = None
) -> ProvisioningRound:
    """Ask Karpenter what it launches for pending units, those without a pod left aside.

    Raises ``PeerError`` if the program is not built or fails, ``ValueError`` for an instance type that cannot be read.
    """
    answer = peer.provision(provision_request(cluster, units, time_limit))
    return _round(answer, peer.handshake.version)


def _round(answer: ProvisionAnswer, version: str) -> ProvisioningRound:
    nodes = tuple(
        LaunchedNode(
            node.name,
            node.pool,
            next(iter(node.types or ()), ""),
            node.zone,
            node.capacity_type,
            node.price,
            node.pods,
            node.types or (),
        )
        for node in answer.nodes or ()
    )
    existing = {node.name: node.pods for node in answer.existing or ()}
    unplaced = {one.pod: one.error for one in answer.errors or ()}
    return ProvisioningRound(nodes, existing, unplaced, answer.seconds, version)


def provision_request(
    cluster: Cluster, units: Sequence[Unit], time_limit: float | None = None
) -> requests.ProvisionRequest:
    """Write a cluster with its pending units as a request, without nodes on their way out and their pods.

    Raises ``ValueError`` for a bad instance type.
    """
    leaving = leaving_nodes(cluster)
    staying = {name: node for name, node in cluster.nodes.items() if name and name not in leaving}
    running = [
        object_mapping(pod)
        for pod in cluster.pods.values()
        if pod.spec.node_name in staying and not is_finished_or_deleting(pod)
    ]
    claims, pending = _with_pending(cluster.claims, units)
    return requests.ProvisionRequest(
        nodes=[_with_provider_id(object_mapping(node), "spec", name) for name, node in staying.items()],
        node_claims=list(_node_claims(cluster, staying)),
        pods=[*running, *pending],
        daemon_sets=list(_raw_objects(cluster, DaemonSet)),
        node_pools=list(_raw_objects(cluster, karpenter.NodePool)),
        node_overlays=list(_raw_objects(cluster, karpenter.NodeOverlay)),
        classes=list(cluster.classes.values()),
        slices=list(cluster.slices),
        claims=claims,
        instance_types=[_peer_type(one) for one in Catalogue(cluster).types],
        time_limit_seconds=time_limit or 0.0,
    )


def with_pending_units(
    request: requests.ProvisionRequest, cluster: Cluster, units: Sequence[Unit], time_limit: float | None
) -> requests.ProvisionRequest:
    """Ask about these pending units and no other pods."""
    claims, pods = _with_pending(cluster.claims, units)
    return structs.replace(request, claims=claims, pods=pods, time_limit_seconds=time_limit or 0.0)


def _with_pending(
    there: Mapping[ObjectKey, ResourceClaim], units: Sequence[Unit]
) -> tuple[list[ResourceClaim], list[dict[str, Any]]]:
    """All claims, and the pending pods."""
    claims = {key: _staying(claim) for key, claim in there.items()}
    claims.update((ref.key, ref.claim) for unit in units for ref in unit.claims if ref.claim is not None)
    pods = [_pending_pod(number, unit) for number, unit in enumerate(units) if unit.pod is not None]
    return list(claims.values()), pods


def _staying(claim: ResourceClaim) -> ResourceClaim:
    """A claim that is being deleted is there until its pods are gone; the program takes no such objects."""
    if not is_deleting(claim.metadata):
        return claim
    return structs.replace(claim, metadata=structs.replace(claim.metadata, deletion_timestamp=None))


def _node_claims(cluster: Cluster, staying: Collection[str]) -> Iterator[dict[str, Any]]:
    """NodeClaims of nodes that stay, and of those that have not joined; node and claim are joined by provider id."""
    for made in _raw_objects(cluster, karpenter.NodeClaim):
        node = (made.get("status") or {}).get("nodeName") or ""
        if not node or node in staying:
            yield _with_provider_id(made, "status", node or f"claim/{made['metadata']['name']}")


def _with_provider_id(made: dict[str, Any], part: str, name: str) -> dict[str, Any]:
    """Karpenter passes over its own nodes without one."""
    return {**made, part: {**(made.get(part) or {}), "providerID": f"drasat://{name}"}}


def _raw_objects(cluster: Cluster, model: type[Any]) -> Iterator[dict[str, Any]]:
    for found in cluster.objects(model).values():
        if is_deleting(found.metadata):
            continue
        made = object_mapping(found)
        # Karpenter's own API does not have the devices that are proposed for overlays.
        (made.get("spec") or {}).pop("dynamicResources", None)
        yield made


def _pending_pod(number: int, unit: Unit) -> dict[str, Any]:
    """The pod of a unit, with the names of claims that were made for it."""
    assert unit.pod is not None
    made = object_mapping(unit.pod)
    metadata = {**made.get("metadata", {}), "name": unit.name, "namespace": unit.namespace}
    metadata.setdefault("creationTimestamp", _CREATED)
    metadata["uid"] = metadata.get("uid") or f"pod-{number:0{_UID_DIGITS}}"
    statuses = [{"name": ref.entry, "resourceClaimName": ref.name} for ref in unit.claims if ref.generated]
    return {**made, "metadata": metadata, "status": {"resourceClaimStatuses": statuses} if statuses else {}}


def _peer_type(one: CatalogueType) -> requests.PeerInstanceType:
    return requests.PeerInstanceType(
        name=one.name,
        requirements=list(_written(one)),
        capacity=_texts(one.capacity),
        overhead=_overhead(one.offerings[0]) if one.offerings else {},
        offerings=[_peer_offering(one, offering) for offering in one.offerings],
        slices=[
            requests.PeerSliceTemplate(
                driver=template.driver,
                pool=_pool_name(one, template.pool or template.driver),
                devices=template.devices or (),
                shared_counters=template.shared_counters or (),
            )
            for template in one.slices
        ],
        bindings=[
            requests.PeerBinding(devices=list(_bound(one, binding)), attribute=attribute)
            for binding in one.bindings
            for attribute in dict.fromkeys((*filter(None, [binding.attribute]), *(binding.attributes or ())))
        ],
    )


def _pool_name(one: CatalogueType, pool: str) -> str:
    """Pools of their own for each type: Karpenter remembers answers of selectors without the type (correction 1)."""
    return f"{one.name}.{pool}"


def _bound(one: CatalogueType, binding: karpenter.AttributeBinding) -> Iterator[requests.PeerDeviceName]:
    templates = {template.metadata.name: template for template in one.slices if template.metadata.name}
    for device in (*(binding.devices or ()), *(binding.device_selectors or ())):
        template = templates.get(device.template)
        driver = template.driver if template else device.driver
        pool = (template.pool if template else device.pool) or driver
        yield requests.PeerDeviceName(driver=driver, pool=_pool_name(one, pool), device=device.device)


def _written(one: CatalogueType) -> Iterator[NodeSelectorRequirement]:
    for label, values in one.requirements.by_label.items():
        if not values.excludes:
            yield NodeSelectorRequirement(key=label, operator=values.operator, values=tuple(sorted(values.values)))
        else:
            yield from _open_requirements(label, values.values, values.least, values.most)


def _open_requirements(
    label: str, outside: Iterable[str], least: int | None, most: int | None
) -> Iterator[NodeSelectorRequirement]:
    if least is not None:
        yield NodeSelectorRequirement(key=label, operator="Gt", values=(str(least - 1),))
    if most is not None:
        yield NodeSelectorRequirement(key=label, operator="Lt", values=(str(most + 1),))
    if listed := tuple(sorted(outside)):
        yield NodeSelectorRequirement(key=label, operator="NotIn", values=listed)
    elif least is None and most is None:
        yield NodeSelectorRequirement(key=label, operator="Exists")


def _peer_offering(one: CatalogueType, offering: CatalogueOffering) -> requests.PeerOffering:
    changed = {name: amount for name, amount in offering.capacity.items() if one.capacity.get(name) != amount}
    requirements = tuple(
        NodeSelectorRequirement(key=label, operator=values.operator, values=tuple(sorted(values.values)))
        for label, values in offering.requirements.by_label.items()
    )
    reserved = offering.reserved is not None
    return requests.PeerOffering(
        requirements=requirements,
        price=offering.price.nano / NANO,
        available=offering.available,
        reservation_id=f"{one.name}-{offering.number}" if reserved else "",
        reservation_capacity=offering.reserved or 0,
        capacity=_texts(changed),
    )


def _overhead(offering: CatalogueOffering) -> dict[str, str]:
    """What the node keeps: of memory without the huge pages, which Karpenter takes off itself."""
    pages = sum(amount.nano for name, amount in offering.capacity.items() if name.startswith("hugepages-"))
    left = {
        name: amount.nano - offering.allocatable[name].nano - (pages if name == "memory" else 0)
        for name, amount in offering.capacity.items()
    }
    return {name: str(Quantity.from_nano(nano)) for name, nano in left.items() if nano > 0}


def _texts(amounts: Amounts) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}

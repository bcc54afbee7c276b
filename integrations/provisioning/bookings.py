"""The cluster as an autoscaler has booked it: pods that run, room that requests hold, and nodes that were bought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import Source
from ...models.kubernetes.claims import ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.core import Container, Node, Pod, PodSpec, ResourceRequirements
from ...models.kubernetes.extensions import (
    GANG_ANNOTATION,
    GANG_DOMAIN_ANNOTATION,
    REPLICAS_ANNOTATION,
    VALUE_ANNOTATION,
    AnnotationError,
    read_annotations,
)
from ...models.kubernetes.meta import ObjectKey, ObjectMeta, key_of
from ...models.kubernetes.node_templates import node_from_template, slices_from_template
from ...models.kubernetes.provisioning import PodTemplate
from ...models.kubernetes.workloads import DaemonSet
from ...models.manifests.reader import Manifest, read_manifests
from ...models.manifests.writer import is_allocated
from ...models.workload.node_room import running_pods
from ...models.workload.pod_sets import MOST_UNITS
from ...models.workload.requests import EXTENDED_ENTRY, backing_classes, effective_requests, format_amount
from ...solver.plan.outcome import PlannedUnitOutcome
from .state import AutoscalerRequest, ProvisioningState

# On nodes that are there already, in the clusters that plans are made for: requests that may not buy select them.
PRESENT_LABEL = "drasat.dev/present"
# On pods: the request whose room they use.
CONSUME_ANNOTATION = "autoscaling.x-k8s.io/consume-provisioning-request"
_PODS = "pods"
_MADE = Source("(requests)", 0)


class UnanswerableError(ValueError):
    """A request that no cluster could satisfy, for what it says itself; one line."""


@dataclass(frozen=True, slots=True)
class Booking:
    """What a request holds: pods on nodes with what they ask for, claims with devices, and when all of it is there."""

    request: AutoscalerRequest
    units: tuple[PlannedUnitOutcome, ...]
    ready_at: int


class _BoughtNode(NamedTuple):
    node: Node
    template: str
    ready_at: int


class CapacityBook:
    """Nodes, running pods and bookings; ``cluster`` is what the next request finds."""

    def __init__(self, cluster: Cluster) -> None:
        running = running_pods(cluster)
        kept = {DaemonSet: cluster.objects(DaemonSet)} if cluster.objects(DaemonSet) else {}
        self._cluster = replace(cluster, pods=dict(running), workload_objects=kept, integration_objects={})
        self._open_claims = {key: one for key, one in cluster.claims.items() if not is_allocated(one)}
        self._backing = frozenset(backing_classes(cluster.classes))
        self._bought: dict[str, _BoughtNode] = {}
        self._bookings: dict[tuple[ObjectKey, int], Booking] = {}
        self.consumed = frozenset(
            (key[0], name)
            for key, pod in running.items()
            if (name := (pod.metadata.annotations or {}).get(CONSUME_ANNOTATION))
        )

    def book(self, booking: Booking) -> None:
        """Hold room for a request."""
        self._bookings[booking.request.key, booking.request.serial] = booking

    def buy(self, template: str, names: Iterable[str], ready_at: int) -> None:
        """Add nodes of a NodeTemplate, which are there from a time on, and stay."""
        made = self._cluster.node_templates[template]
        for name in names:
            node = node_from_template(made, name)
            # The annotation is for nodes that are still to be bought.
            plain = structs.replace(node, metadata=structs.replace(node.metadata, annotations=None))
            self._bought[name] = _BoughtNode(plain, template, ready_at)

    def ready_at(self, node: str) -> int:
        """When a node is there; those of the input always are."""
        return self._bought[node].ready_at if node in self._bought else 0

    @property
    def bought_counts(self) -> Counter[str]:
        """How many nodes of each NodeTemplate were bought."""
        return Counter(one.template for one in self._bought.values())

    def release(self, state: ProvisioningState) -> None:
        """Give back what requests hold that are over, and whose workloads do not run."""
        for key, booking in list(self._bookings.items()):
            if not _is_held(booking.request, state):
                del self._bookings[key]

    def cluster(self, now: int, pods: Iterable[Pod]) -> Cluster:
        """Give the cluster at a time with these pods to be placed; nodes that are there have ``PRESENT_LABEL``."""
        base, waiting = self._cluster, {key_of(pod.metadata): pod for pod in pods}
        named = {
            (key[0], entry.resource_claim_name)
            for key, pod in waiting.items()
            for entry in pod.spec.resource_claims or ()
            if entry.resource_claim_name
        }
        claims = {key: one for key, one in base.claims.items() if key in named or key not in self._open_claims}
        booked: dict[ObjectKey, Pod] = {}
        known: dict[tuple[int, bool], ResourceRequirements] = {}
        for unit in (one for booking in self._bookings.values() for one in booking.units):
            pod = self._booked_pod(unit, known)
            booked[key_of(pod.metadata)] = pod
            claims.update((ref.key, _allocated(ref.claim, made)) for ref, made in unit.allocations if ref.claim)
        cluster = replace(
            base,
            pods=dict(sorted({**base.pods, **booked, **waiting}.items())),
            claims=dict(sorted(claims.items())),
            node_templates=self._templates_left(),
            # The queue is what was read, in that order.
            read=(*base.read, *(Manifest("Pod", "v1", pod, None, _MADE) for pod in waiting.values())),
            _usages={},
        )
        there = {name: _labelled(node) for name, node in base.nodes.items()}
        new = {name: _labelled(one.node) if one.ready_at <= now else one.node for name, one in self._bought.items()}
        slices = [
            made
            for name, one in self._bought.items()
            for made in slices_from_template(base.node_templates[one.template], name)
        ]
        return cluster.with_nodes([*there.values(), *new.values()], slices)

    def _templates_left(self) -> Mapping[str, Any]:
        """The NodeTemplates with what remains of their limits."""
        counts = self.bought_counts
        left = {}
        for name, one in self._cluster.node_templates.items():
            limit = None if one.spec.limit is None else max(0, one.spec.limit - counts[name])
            left[name] = structs.replace(one, spec=structs.replace(one.spec, limit=limit))
        return left

    def _booked_pod(self, unit: PlannedUnitOutcome, known: dict[tuple[int, bool], ResourceRequirements]) -> Pod:
        """Give a pod on its node that takes what the unit takes there beside its devices."""
        assert unit.unit.pod is not None
        spec = unit.unit.pod.spec
        got_devices = any(ref.entry == EXTENDED_ENTRY for ref, _ in unit.allocations)
        key = id(spec), got_devices
        if key not in known:
            amounts = effective_requests(spec, self._backing if got_devices else ())
            texts = {name: format_amount(name, amount) for name, amount in amounts.items() if name != _PODS}
            known[key] = ResourceRequirements(requests=dict(texts))
        metadata = ObjectMeta(name=unit.unit.name, namespace=unit.unit.namespace, labels=unit.unit.pod.metadata.labels)
        return Pod(
            metadata=metadata,
            spec=PodSpec(node_name=unit.node, containers=(Container(name="booked", resources=known[key]),)),
        )


def _labelled(node: Node) -> Node:
    labels = {**(node.metadata.labels or {}), PRESENT_LABEL: ""}
    return structs.replace(node, metadata=structs.replace(node.metadata, labels=labels))


def _allocated(claim: ResourceClaim, made: Any) -> ResourceClaim:
    return structs.replace(claim, status=ResourceClaimStatus(allocation=made))


def _is_held(request: AutoscalerRequest, state: ProvisioningState) -> bool:
    """Whether a request keeps its room: it is there and not over, or its workload runs.

    A booking that expired is over unless the workload was admitted (provisioning-request 4).
    """
    workload = state.workloads.get((request.namespace, request.owner))
    admitted = workload is not None and workload.is_true("Admitted") and not workload.is_true("Finished")
    current = state.requests.get(request.key)
    if current is None or current.serial != request.serial:
        return admitted
    over = {one.type for one in current.conditions if one.status == "True"}
    if "BookingExpired" in over and not admitted:
        return False
    return not over & {"Failed", "CapacityRevoked"}


def is_booked(request: AutoscalerRequest) -> bool:
    """Whether the autoscaler has provisioned a request, and did not take it back."""
    true = {one.type for one in request.conditions if one.status == "True"}
    return "Provisioned" in true and not true & {"Failed", "BookingExpired", "CapacityRevoked"}


def is_open(request: AutoscalerRequest) -> bool:
    """Whether a request waits for an answer."""
    ends = {"Provisioned", "Failed", "BookingExpired", "CapacityRevoked"}
    return not any(one.status == "True" and one.type in ends for one in request.conditions)


def request_pods(
    request: AutoscalerRequest, state: ProvisioningState, gang: str, values: tuple[str, str], *, may_buy: bool
) -> list[Pod]:
    """Give the pods that a request is about, a copied one for each pod set, as a gang.

    ``values`` are those of the first pod of the request, and of all others.

    Raises
    ------
    UnanswerableError
        If a PodTemplate is missing or cannot be read, or if its annotations contradict those of another one.

    """
    pods: list[Pod] = []
    domains: set[str] = set()
    if sum(entry.count for entry in request.pod_sets) > MOST_UNITS:
        raise UnanswerableError(f"more than {MOST_UNITS:,} pods are not planned")
    for number, entry in enumerate(request.pod_sets):
        template = state.templates.get((request.namespace, entry.template))
        if template is None:
            raise UnanswerableError(f"PodTemplate {request.namespace}/{entry.template} not found")
        made = _read_template(template.template, entry.template)
        given = made.template.metadata.annotations or {}
        annotations = {GANG_ANNOTATION: gang}
        domain = given.get(GANG_DOMAIN_ANNOTATION)
        if domain is not None:
            annotations[GANG_DOMAIN_ANNOTATION] = domain
            domains.add(domain)
        try:
            read_annotations(annotations)
        except AnnotationError as error:
            raise UnanswerableError(f"PodTemplate {request.namespace}/{entry.template}: {error}") from None
        spec = made.template.spec
        if spec.node_name:
            raise UnanswerableError(f"PodTemplate {request.namespace}/{entry.template}: nodeName passes the scheduler")
        selector = spec.node_selector if may_buy else {**(spec.node_selector or {}), PRESENT_LABEL: ""}
        spec = structs.replace(spec, node_selector=selector)
        alone = 1 if not pods and values[0] != values[1] and entry.count else 0
        for part, count, value in (("first.", alone, values[0]), ("", entry.count - alone, values[1])):
            if count:
                metadata = ObjectMeta(
                    name=f"{request.name}.{part}{number}",
                    namespace=request.namespace,
                    labels=made.template.metadata.labels,
                    annotations={**annotations, REPLICAS_ANNOTATION: str(count), VALUE_ANNOTATION: value},
                )
                pods.append(Pod(metadata=metadata, spec=spec))
    if len(domains) > 1:
        raise UnanswerableError(f"the pod sets name two domains, {' and '.join(sorted(domains)[:2])}")
    return pods


def pod_set_number(pods: str) -> int:
    """Which pod set of its request the pods of this name are of."""
    return int(pods.rpartition(".")[2])


def _read_template(template: Mapping[str, Any], name: str) -> PodTemplate:
    manifest = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": template}
    manifests, problems, _ = read_manifests([manifest])
    if not manifests or not isinstance(manifests[0].object, PodTemplate):
        said = next((f"{one.field}: {one.message}" for one in problems), "cannot be read")
        raise UnanswerableError(f"PodTemplate {name}: {said}")
    return manifests[0].object

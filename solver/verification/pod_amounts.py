"""What pods and the devices of their claims take of nodes, read anew from manifests, slices and statuses.

A pod takes of each resource the most that it takes at any time of its life: while an init container runs, that beside
the sidecars started before, and later all containers and sidecars.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count
from math import ceil

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.formats.decode import QuantityText
from ...models.kubernetes.claims import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from ...models.kubernetes.core import (
    Container,
    Node,
    NodeResourceClaimStatus,
    NodeStatus,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey, key_of
from ...models.kubernetes.node_templates import NodeTemplate, node_from_template
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.kubernetes.slices import Device, ResourceSlice
from ...models.workload.controller_kinds import daemon_specs
from .published import Finding

MADE_FOR_ENTRY = "resource.kubernetes.io/pod-claim-name"


AmountsReading = Callable[[Mapping[str, QuantityText]], Counter[str]]
"""Reads written amounts as integers."""


def pod_takes(spec: PodSpec, read: AmountsReading | None = None) -> Counter[str]:
    """What a pod takes of each resource, one of ``pods`` included: cpu in thousandths, all else in whole units.

    ``read`` gives the amounts in other units.
    """
    read = read or whole_amounts
    phases: list[Counter[str]] = []
    sidecars = Counter[str]()
    for container in spec.init_containers or ():
        alone = asked_by(container, read)
        if container.restart_policy == "Always":
            sidecars = sidecars + alone
            phases.append(sidecars)
        else:
            phases.append(sidecars + alone)
    together = Counter(sidecars)
    for container in spec.containers or ():
        together.update(asked_by(container, read))
    phases.append(together)
    found = Counter[str]()
    for phase in phases:
        found |= phase
    if spec.resources is not None:
        every = (*(spec.init_containers or ()), *(spec.containers or ()))
        found = _with_pod_level(found, spec.resources, {name for one in every for name in asked_by(one)}, read)
    found.update(read(spec.overhead or {}))
    found["pods"] = 1
    return found


def _with_pod_level(
    found: Counter[str], resources: ResourceRequirements, asked: Collection[str], read: AmountsReading
) -> Counter[str]:
    """Replace sums by what is asked for the pod as a whole; its limits stand in only where containers ask for nothing.

    That goes for cpu, memory and huge pages.
    """
    total = Counter(found)
    whole, limits = read(resources.requests or {}), read(resources.limits or {})
    for name in {*whole, *limits}:
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            if name in whole:
                total[name] = whole[name]
            elif name not in asked:
                total[name] = limits[name]
    return total


def asked_by(container: Container, read: AmountsReading | None = None) -> Counter[str]:
    """What a container asks for; a request that is absent is the limit."""
    resources, read = container.resources, read or whole_amounts
    if resources is None:
        return Counter()
    return Counter({**read(resources.limits or {}), **read(resources.requests or {})})


def whole_amounts(written: Mapping[str, QuantityText]) -> Counter[str]:
    """Amounts, rounded up: cpu in thousandths, all else in whole units."""
    quantities = ((name, Quantity.parse(text)) for name, text in written.items())
    return Counter({name: one.milli if name == "cpu" else one.value for name, one in quantities})


HeldClaim = tuple[ResourceClaim, AllocationResult]
"""A claim and what it holds."""


class DeviceDraws:
    """What devices of claims take of cpu, memory and so on of the node (NAR-1 to NAR-8), read from slices and statuses.

    Amounts are exact fractions of thousandths of cpu, and of whole units of all else.
    """

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self._counts = "DRANodeAllocatableResources" in gates.enabled
        self._users: dict[ObjectKey, str] = {}
        self._mapped: set[ObjectKey] = set()
        self._devices: Mapping[DeviceId, Device] = {}
        if self._counts:
            self._devices = cluster.slice_memo("verification.draws", lambda: _drawing_devices(cluster.slices))

    @property
    def has_devices(self) -> bool:
        """Whether some device takes resources of its node."""
        return bool(self._devices)

    def of_pod(self, pod: Pod, claims: Iterable[HeldClaim]) -> dict[str, Fraction]:
        """Add up what all claims of a pod take; each counts once (NAR-4)."""
        total: dict[str, Fraction] = defaultdict(Fraction)
        every = (*(pod.spec.init_containers or ()), *(pod.spec.containers or ()))
        for claim, allocation in claims if self._devices else ():
            times = self._references(pod, claim, every)
            for result in allocation.devices.results or ():
                device = self._devices.get((result.driver, result.pool, result.device))
                for name, amount in self._of_result(device, result, times) if device else ():
                    total[name] += amount
                    self._mapped.update([key_of(claim.metadata)] if device and _is_mapped(device) else [])
        return total

    def _of_result(
        self, device: Device, result: DeviceRequestAllocationResult, times: int
    ) -> Iterator[tuple[str, Fraction]]:
        for name, old in (device.node_allocatable_resource_mappings or {}).items():
            if name not in (device.node_allocatable_resources or {}):
                factor = "1" if old.allocation_multiplier is None else old.allocation_multiplier
                count = Fraction(1) if not old.capacity_key else _consumed(result, old.capacity_key)
                yield name, count * _fraction(name, factor)
        for name, terms in (device.node_allocatable_resources or {}).items():
            if terms.mapping is not None and terms.mapping.capacity_key:
                used = _consumed(result, terms.mapping.capacity_key)
                yield name, used * _fraction(name, terms.mapping.capacity_multiplier)
            elif terms.mapping is not None:
                yield name, _fraction(name, terms.mapping.device_multiplier)
            if terms.overhead is not None:
                yield (
                    name,
                    _fraction(name, terms.overhead.per_pod) + times * _fraction(name, terms.overhead.per_container),
                )

    def _references(self, pod: Pod, claim: ResourceClaim, containers: Iterable[Container]) -> int:
        """Count the entries of containers' ``resources.claims`` that mean the claim (NAR-3)."""
        made_for = (claim.metadata.annotations or {}).get(MADE_FOR_ENTRY)
        known = (pod.status.resource_claim_statuses if pod.status else None) or ()
        names = {one.name for one in known if one.resource_claim_name == claim.metadata.name}
        for entry in pod.spec.resource_claims or ():
            by_template = entry.resource_claim_template_name and entry.name == made_for
            if by_template or entry.resource_claim_name == claim.metadata.name:
                names.add(entry.name)
        return sum(one.name in names for each in containers if each.resources for one in each.resources.claims or ())

    def findings(self, pod: Pod, claims: Sequence[HeldClaim], drawn: Mapping[str, Fraction]) -> Iterator[Finding]:
        """NAR-6: what is asked for the pod as a whole covers its containers and devices; NAR-8: claims of one pod."""
        if not drawn:
            return
        yield from self._exceeded_limits(pod, claims, drawn)
        named = named_for_the_pod(pod.spec)
        alone = pod_takes(replace(pod.spec, resources=None, overhead=None))
        for name, amount in drawn.items():
            if name in named and alone[name] + amount > named[name]:
                text = f"pod {'/'.join(key_of(pod.metadata))} asks for less {name} than its containers and devices take"
                yield Finding("NAR-6", text)
        for key in self._mapped:
            user = self._users.setdefault(key, pod.metadata.name)
            if user != pod.metadata.name:
                yield Finding("NAR-8", f"claim {'/'.join(key)} has a mapped device, and is shared by {user}")
        self._mapped.clear()

    def _exceeded_limits(
        self, pod: Pod, claims: Sequence[HeldClaim], drawn: Mapping[str, Fraction]
    ) -> Iterator[Finding]:
        """NAR-6: a limit of the pod covers that of each container with its claims, and all huge pages."""
        most = _limits_of(pod.spec.resources)
        held = pod_takes(replace(pod.spec, resources=None, overhead=None))
        for name in most:
            if name.startswith("hugepages-") and held[name] + drawn.get(name, 0) > most[name]:
                text = f"pod {'/'.join(key_of(pod.metadata))} may use less {name} than its containers and devices take"
                yield Finding("NAR-6", text)
        for one in (*(pod.spec.init_containers or ()), *(pod.spec.containers or ())):
            limits = _limits_of(one.resources)
            extra = self._of_container(pod, one, claims) if limits else {}
            for name in ("cpu", "memory"):
                if name in limits and name in most and limits[name] + extra.get(name, 0) > most[name]:
                    what = f"less {name} than container {one.name} and its devices"
                    yield Finding("NAR-6", f"pod {'/'.join(key_of(pod.metadata))} may use {what}")

    def _of_container(self, pod: Pod, container: Container, claims: Sequence[HeldClaim]) -> Mapping[str, Fraction]:
        """Add up what the claims take that a container refers to, as if no other one did."""
        total: dict[str, Fraction] = defaultdict(Fraction)
        for claim, allocation in claims:
            if self._references(pod, claim, [container]):
                for result in allocation.devices.results or ():
                    device = self._devices.get((result.driver, result.pool, result.device))
                    for name, amount in self._of_result(device, result, 1) if device else ():
                        total[name] += amount
        return total

    def recording(self, pod: Pod, claims: Iterable[HeldClaim]) -> Pod:
        """The pod as it runs with these claims: its status says what their devices take."""
        exact = {name: amount / (1000 if name == "cpu" else 1) for name, amount in self.of_pod(pod, claims).items()}
        texts: dict[str, QuantityText] = {name: f"{ceil(amount * NANO)}n" for name, amount in exact.items()}
        listed = (NodeResourceClaimStatus(resource_claim_name="", resources=texts),) if texts else None
        if listed is None:
            return pod
        return replace(pod, status=replace(pod.status or PodStatus(), node_allocatable_resource_claim_statuses=listed))

    def recorded(self, pod: Pod) -> Counter[str]:
        """NAR-11: what the status of a running pod says."""
        total: dict[str, Fraction] = defaultdict(Fraction)
        listed = (pod.status.node_allocatable_resource_claim_statuses if pod.status else None) or ()
        for status in listed if self._counts else ():
            for name, text in (status.resources or {}).items():
                total[name] += _fraction(name, text)
            for one in status.mapping or ():
                total[one.name] += _fraction(one.name, one.quantity)
            for one in status.overhead or ():
                each = len(status.containers or ()) * _fraction(one.name, one.per_container)
                total[one.name] += _fraction(one.name, one.per_pod) + each
        named = named_for_the_pod(pod.spec)
        return Counter({name: ceil(amount) for name, amount in total.items() if name not in named})


def _limits_of(resources: ResourceRequirements | None) -> Counter[str]:
    return Counter() if resources is None else whole_amounts(resources.limits or {})


def _is_mapped(device: Device) -> bool:
    new = (device.node_allocatable_resources or {}).values()
    return bool(device.node_allocatable_resource_mappings) or any(one.mapping is not None for one in new)


def _consumed(result: DeviceRequestAllocationResult, key: str) -> Fraction:
    """What a result consumes of a capacity, with or without the domain of the driver (NAR-2)."""
    own = f"{result.driver}/"
    for name, text in (result.consumed_capacity or {}).items():
        if name.removeprefix(own) == key.removeprefix(own):
            return Fraction(Quantity.parse(text).nano, NANO)
    return Fraction(0)


def _fraction(name: str, text: QuantityText | None) -> Fraction:
    nano = 0 if text is None else Quantity.parse(text).nano
    return Fraction(nano * (1000 if name == "cpu" else 1), NANO)


def named_for_the_pod(spec: PodSpec) -> Counter[str]:
    """The resources for which the pod as a whole has a request, or a limit where containers ask for nothing (NAR-6)."""
    if spec.resources is None:
        return Counter()
    every = (*(spec.init_containers or ()), *(spec.containers or ()))
    asked = {name for one in every for name in asked_by(one)}
    return _with_pod_level(Counter(), spec.resources, asked, whole_amounts)


def _drawing_devices(slices: Iterable[ResourceSlice]) -> dict[DeviceId, Device]:
    """Devices that take resources of their nodes, by the latest generation of each pool."""
    found: dict[DeviceId, Device] = {}
    latest: dict[tuple[str, str], int] = {}
    for one in (slice_.spec for slice_ in slices):
        pool = one.driver, one.pool.name
        if one.pool.generation >= latest.get(pool, one.pool.generation):
            latest[pool] = one.pool.generation
            for device in one.devices or ():
                if device.node_allocatable_resources or device.node_allocatable_resource_mappings:
                    found[*pool, device.name] = device
                elif found:
                    # A device of an older slice with this name is none any more.
                    found.pop((*pool, device.name), None)
    return found


def template_nodes(cluster: Cluster) -> list[tuple[NodeTemplate, Node]]:
    """A node of each template, as it is with the pods of DaemonSets."""
    found = []
    for name, template in cluster.node_templates.items():
        numbered = (f"{name}-{number}" for number in count(1))
        unused = next(one for one in numbered if one not in cluster.nodes)
        found.append((template, node_of_template(cluster, template, unused)))
    return found


def node_of_template(cluster: Cluster, template: NodeTemplate, name: str) -> Node:
    """The node of this name that a template makes, less what the pods of DaemonSets take of it."""
    node = node_from_template(template, name)
    offered = (node.status.allocatable or node.status.capacity) if node.status else None
    specs = list(daemon_specs(cluster, node)) if offered else []
    if not offered or not specs:
        return node
    taken = sum(map(pod_takes, specs), Counter[str]())
    left: dict[str, QuantityText] = {
        resource: f"{max(0, amount - taken[resource])}{'m' if resource == 'cpu' else ''}"
        for resource, amount in whole_amounts(offered).items()
    }
    return replace(node, status=NodeStatus(allocatable=left, capacity=template.spec.capacity))

"""What devices take of their node, beside what pods request: cpu, memory, ephemeral storage and huge pages (NAR-1).

Amounts of devices are billionths, until those of all claims of a pod are added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from ..cluster.cluster import Cluster
from ..formats.decode import QuantityText
from ..kubernetes.claims import AllocationResult
from ..kubernetes.core import PodSpec
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import DeviceId
from ..kubernetes.quantity import NANO, Quantity
from ..kubernetes.slices import Device, NodeAllocatableResource, NodeResourceMapping, NodeResourceOverhead
from .requests import CPU, Amounts, DeviceLimit, Requests, pod_level_headroom, pod_level_limits, sum_requests
from .units import ClaimRef, Unit


@dataclass(frozen=True, eq=False)
class PodDemand:
    """What a pod takes of a node; pods that take the same share one object.

    ``headroom`` is what its requests as a whole leave for its devices, of resources that they name, and ``limits``, by
    their texts, what its limits leave (NAR-6).
    """

    requests: Requests
    headroom: Requests
    limits: Mapping[str, DeviceLimit]

    def device_limit(self, free: Requests | None, name: str) -> int | None:
        """What devices may take of a resource of a node, or of what a limit leaves; None: anything (NAR-6, NAR-7).

        ``free`` is what other pods leave of the node; None: it takes anything.
        """
        if name in self.limits:
            return self.limits[name].left
        if name in self.headroom:
            return self.headroom[name]
        return None if free is None else free.get(name, 0) - self.requests.get(name, 0)

    def counted_on_node(self, devices: Mapping[str, int]) -> Requests:
        """What counts on the node beside the requests; what devices take is in billionths, the result in whole units.

        A resource that the requests of the pod as a whole name is counted with these (NAR-6).
        """
        apart = {*self.headroom, *self.limits}
        return {name: whole_amount(name, nano) for name, nano in devices.items() if name not in apart}

    def with_limits(self, take: Callable[[int], Requests], users: Counter[str]) -> Requests:
        """What devices of a claim take for references from these containers, and what of it counts for each limit."""
        found = take(users.total())
        once = take(1) if self.limits else {}
        for text, limit in self.limits.items():
            counted = once if limit.container in users else {} if limit.container else found
            if amount := counted.get(limit.resource):
                found[text] = amount
        return found


class NodeResourceError(ValueError):
    """A device is taken in a way of which nobody can say what it takes of the node (NAR-2); one line."""


class NodeResourcesOfDevices:
    """What allocated devices take of their node: cpu, memory, ephemeral storage and huge pages (NAR-1 to NAR-4).

    Amounts are billionths. ``devices`` are those that take anything, of the newest generation of each pool.
    """

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self.devices: Mapping[DeviceId, Mapping[str, NodeAllocatableResource]] = {}
        if gates.node_allocatable_resources:
            self.devices = cluster.slice_memo("node resources of devices", lambda: _devices_with_resources(cluster))

    def of_device(self, device: DeviceId, consumed: Amounts | None, references: int) -> Requests:
        """What one allocated device takes, for so many references of containers to its claim.

        Raises ``NodeResourceError``.
        """
        found: Requests = {}
        for resource, terms in self.devices.get(device, {}).items():
            overhead = terms.overhead or NodeResourceOverhead()
            amount = nano_amount(overhead.per_pod) + references * nano_amount(overhead.per_container)
            found[resource] = amount + _mapped_amount(device, terms.mapping, consumed)
        return found

    def of_allocation(self, allocation: AllocationResult, references: int) -> Requests:
        """What all devices of a claim take. Raises ``NodeResourceError``."""
        results = (allocation.devices.results or ()) if self.devices else ()
        return sum_requests(
            self.of_device((one.driver, one.pool, one.device), one.consumed_capacity, references) for one in results
        )

    def is_mapped(self, allocation: AllocationResult) -> bool:
        """Whether the claim serves one pod only: it has a device with a mapping (NAR-8)."""
        ids = ((one.driver, one.pool, one.device) for one in allocation.devices.results or ())
        return any(terms.mapping is not None for id_ in ids for terms in self.devices.get(id_, {}).values())


def _devices_with_resources(cluster: Cluster) -> Mapping[DeviceId, Mapping[str, NodeAllocatableResource]]:
    found: dict[DeviceId, Mapping[str, NodeAllocatableResource]] = {}
    for slice_ in sorted(cluster.slices, key=lambda one: one.spec.pool.generation):
        for device in slice_.spec.devices or ():
            if device.node_allocatable_resources or device.node_allocatable_resource_mappings:
                found[slice_.spec.driver, slice_.spec.pool.name, device.name] = device.node_resources
            elif found:
                found.pop((slice_.spec.driver, slice_.spec.pool.name, device.name), None)
    return found


def _mapped_amount(device: DeviceId, mapping: NodeResourceMapping | None, consumed: Amounts | None) -> int:
    if mapping is None:
        return 0
    if not mapping.capacity_key:
        return nano_amount(mapping.device_multiplier)
    if consumed is None:
        raise NodeResourceError(f"device {'/'.join(device)} has no consumedCapacity for {mapping.capacity_key}")
    plain = mapping.capacity_key.removeprefix(f"{device[0]}/")
    text = consumed.get(mapping.capacity_key) or consumed.get(plain) or consumed.get(f"{device[0]}/{plain}")
    # Whole billionths, rounded up.
    return -(-nano_amount(text) * nano_amount(mapping.capacity_multiplier) // NANO)


def nano_amount(text: QuantityText | None) -> int:
    """A quantity in billionths; nothing is none."""
    return 0 if text is None else Quantity.parse(text).nano


def whole_amount(resource: str, nano: int) -> int:
    """Billionths in the units of ``effective_requests``, rounded up."""
    return -(-nano // nano_of(resource, 1))


def nano_of(resource: str, amount: int) -> int:
    """The units of ``effective_requests`` in billionths."""
    return amount * (NANO // 1000 if resource == CPU else NANO)


def publishes_node_resources(cluster: Cluster) -> bool:
    """Whether a device of a node, or of one that could be bought, takes resources of its node."""
    templates = (part.devices for one in cluster.node_templates.values() for part in one.spec.slices or ())
    published = cluster.slice_memo("publishes", lambda: _takes_any(one.spec.devices for one in cluster.slices))
    return published or _takes_any(templates)


def _takes_any(lists: Iterable[Sequence[Device] | None]) -> bool:
    return any(
        device.node_allocatable_resources or device.node_allocatable_resource_mappings
        for devices in lists
        for device in devices or ()
    )


def draw_ranges(cluster: Cluster, references: int) -> dict[str, tuple[int, int]]:
    """For each resource a step of what devices take of it, and the most that one takes, in whole units.

    The most is for so many ``references`` of containers to its claim. Devices of which a share takes less than the step
    are no multiples of it.
    """
    found: dict[str, tuple[int, int]] = {}
    for device in (device for one in cluster.slices for device in one.spec.devices or ()):
        for resource, terms in device.node_resources.items():
            overhead, mapping = terms.overhead or NodeResourceOverhead(), terms.mapping or NodeResourceMapping()
            each = [overhead.per_pod, overhead.per_container, mapping.device_multiplier, mapping.capacity_multiplier]
            parts = [whole_amount(resource, nano_amount(text)) for text in each]
            shares = [-(-nano_amount(one.value) // NANO) for one in (device.capacity or {}).values()]
            most = parts[0] + references * parts[1] + parts[2] + max(shares, default=0) * parts[3]
            step, before = found.get(resource, (0, 0))
            found[resource] = gcd(step, *parts), max(before, most)
    return found


def draw_terms(spec: PodSpec) -> tuple[object, ...]:
    """What decides, beside its claims, how much devices may take of a node for a pod; equal for pods that are alike."""
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    pairs = [(one.name, entry.name) for one in containers if one.resources for entry in one.resources.claims or ()]
    users = [Counter(name for name, entry in pairs if entry == one.name) for one in spec.resource_claims or ()]
    limits = [(str(limit), limit.left) for limit in pod_level_limits(spec)]
    # A limit is that of a container.
    uses = [sorted(own.items()) if limits else own.total() for own in users]
    return uses, limits, sorted(pod_level_headroom(spec).items())


def claim_users(unit: Unit, claim: ClaimRef) -> Counter[str]:
    """The containers that refer to a claim, by name, and how often: each ``resources.claims`` entry counts (NAR-3)."""
    spec = unit.pod.spec if unit.pod else PodSpec()
    names = {claim.entry} | {
        one.name
        for one in spec.resource_claims or ()
        if one.resource_claim_name and one.resource_claim_name == claim.name
    }
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    uses = ((one, entry) for one in containers if one.resources for entry in one.resources.claims or ())
    return Counter(container.name for container, entry in uses if entry.name in names)

"""Claims of a group that have their devices already: they stay as they are, and the others must suit them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from ...models.claims import (
    AllocationResult,
    DeviceClass,
    DeviceDerivedAttribute,
    ExactDeviceRequest,
    ResourceClaim,
)
from ...models.cluster import Cluster
from ...models.core import Node
from ...models.identity import DeviceId, ObjectKey
from ...models.pools import Pool, PoolDevice
from ...models.selection import node_matches
from ...models.slices import ResourceSlice
from ...problem.asks import EXACT_COUNT, Ask

# No driver's pool can have this name.
HELD_POOL = "//held"


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim with what it holds: for each request the devices, in result order."""

    key: ObjectKey
    claim: ResourceClaim
    allocation: AllocationResult
    requests: Mapping[str, tuple[DeviceId, ...]]

    def asks(self, number: int) -> Iterator[tuple[Ask, tuple[DeviceId, ...]]]:
        """Yield requests for just these devices, as the claim of this number."""
        for label, devices in self.requests.items():
            request, _, subrequest = label.partition("/")
            derived = self._derived(request, subrequest)
            spec = ExactDeviceRequest(allocation_mode=EXACT_COUNT, count=len(devices), derived_attributes=derived)
            yield Ask(number, request, subrequest, spec, DeviceClass(), {}), devices

    def _derived(self, request: str, subrequest: str) -> tuple[DeviceDerivedAttribute, ...] | None:
        """Find what entries see of the devices beside what they publish (CON-12)."""
        for one in self.claim.spec.devices.requests or ():
            if one.name == request:
                parts = [one.exactly, *(part for part in one.first_available or () if part.name == subrequest)]
                return next((part.derived_attributes for part in parts if part is not None), None)
        return None

    def label_values(self, label: str, nodes: Iterable[Node]) -> frozenset[str]:
        """Find the values of a label on the nodes where the claim can be used. Raises ``SelectorError``."""
        usable = (node for node in nodes if node_matches(self.allocation.node_selector, node))
        found = ((node.metadata.labels or {}).get(label) for node in usable)
        return frozenset(value for value in found if value is not None)


def held_claims(cluster: Cluster, keys: Iterable[ObjectKey]) -> list[HeldClaim]:
    """Find which of these claims hold devices."""
    found = []
    for key in keys:
        claim = cluster.claims.get(key)
        if claim is not None and claim.status is not None and claim.status.allocation is not None:
            allocation = claim.status.allocation
            found.append(HeldClaim(key, claim, allocation, _by_request(allocation)))
    return found


def _by_request(allocation: AllocationResult) -> dict[str, tuple[DeviceId, ...]]:
    found: dict[str, list[DeviceId]] = {}
    for result in allocation.devices.results or ():
        found.setdefault(result.request, []).append((result.driver, result.pool, result.device))
    return {label: tuple(devices) for label, devices in found.items()}


def stand_in(id_: DeviceId) -> DeviceId:
    """Name what stands for a held device: nobody else can take it, and it draws nothing."""
    driver, pool, name = id_
    return driver, HELD_POOL, f"{pool}/{name}"


def held_pool(published: Mapping[DeviceId, PoolDevice], ids: Iterable[DeviceId]) -> Pool | None:
    """Make a pool of stand-ins for the held devices that are published; None if there are none."""
    devices = tuple(_stand_in_device(published[id_]) for id_ in dict.fromkeys(ids) if id_ in published)
    return Pool("", HELD_POOL, 1, devices=devices) if devices else None


def published_devices(cluster: Cluster) -> Mapping[DeviceId, PoolDevice]:
    """List all devices of a cluster, those of the newest generation where there are several."""
    return cluster.kept("devices by id", lambda: _published(cluster.slices))


def _published(slices: Iterable[ResourceSlice]) -> dict[DeviceId, PoolDevice]:
    found: dict[DeviceId, PoolDevice] = {}
    for slice_ in sorted(slices, key=lambda one: one.spec.pool.generation):
        for device in slice_.spec.devices or ():
            id_ = slice_.spec.driver, slice_.spec.pool.name, device.name
            found[id_] = PoolDevice(device, slice_, id_)
    return found


def _stand_in_device(device: PoolDevice) -> PoolDevice:
    bare = replace(device.device, consumes_counters=None)
    return PoolDevice(bare, device.slice, stand_in(device.id))

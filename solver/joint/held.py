"""Claims of a group that have their devices already: they stay as they are, and the others must suit them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from ...models.claims import AllocationResult, DeviceClass, ExactDeviceRequest
from ...models.cluster import Cluster
from ...models.core import Node
from ...models.identity import DeviceId, ObjectKey
from ...models.pools import Pool, PoolDevice
from ...models.selection import SelectorError, node_matches
from ...models.slices import ResourceSlice
from ...problem.asks import EXACT_COUNT, Ask

# No driver's pool can have this name.
HELD_POOL = "//held"


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim with what it holds: for each request the devices."""

    key: ObjectKey
    requests: Mapping[str, tuple[DeviceId, ...]]
    allocation: AllocationResult

    def asks(self, claim: int) -> Iterator[tuple[Ask, tuple[DeviceId, ...]]]:
        """Yield requests for just these devices, as the claim of this number."""
        for label, devices in self.requests.items():
            request, _, subrequest = label.partition("/")
            spec = ExactDeviceRequest(allocation_mode=EXACT_COUNT, count=len(devices))
            yield Ask(claim, request, subrequest, spec, DeviceClass(), {}), devices

    def label_value(self, label: str, nodes: Iterable[Node]) -> str | None:
        """Return the value of a label on all nodes where the claim can be used; None if they have no one value."""
        try:
            usable = [node for node in nodes if node_matches(self.allocation.node_selector, node)]
        except SelectorError:
            return None
        values = {(node.metadata.labels or {}).get(label) for node in usable}
        return values.pop() if len(values) == 1 else None


def held_claims(
    cluster: Cluster, keys: Iterable[ObjectKey], made: Mapping[ObjectKey, AllocationResult]
) -> list[HeldClaim]:
    """Find which of these claims hold devices, by their status or since they were placed."""
    found = []
    for key in keys:
        claim = cluster.claims.get(key)
        status = claim.status if claim else None
        allocation = made.get(key) or (status.allocation if status else None)
        if allocation is not None:
            found.append(HeldClaim(key, _by_request(allocation), allocation))
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


def held_pool(cluster: Cluster, claims: Iterable[HeldClaim]) -> Pool | None:
    """Make a pool of stand-ins for the held devices that are published; None if there are none."""
    published = cluster.kept("devices by id", lambda: _published(cluster.slices))
    ids = dict.fromkeys(id_ for claim in claims for devices in claim.requests.values() for id_ in devices)
    devices = tuple(_stand_in_device(published[id_], id_) for id_ in ids if id_ in published)
    return Pool("", HELD_POOL, 1, devices=devices) if devices else None


def _published(slices: Iterable[ResourceSlice]) -> dict[DeviceId, PoolDevice]:
    return {
        (slice_.spec.driver, slice_.spec.pool.name, device.name): PoolDevice(
            device, slice_, (slice_.spec.driver, slice_.spec.pool.name, device.name)
        )
        for slice_ in slices
        for device in slice_.spec.devices or ()
    }


def _stand_in_device(device: PoolDevice, id_: DeviceId) -> PoolDevice:
    bare = replace(device.device, consumes_counters=None, allow_multiple_allocations=None, taints=None)
    return PoolDevice(bare, device.slice, stand_in(id_))

"""Allocated claims that the rules cannot tell apart but by the names of their devices, pools and nodes.

The rules of one claim read its spec, fields of results, and of devices what selectors, constraints and sizes read. Two
claims that agree in all of this get the same findings, but for rules about what is in use and where devices are. A
claim of a class in which one was judged and found faultless is judged by those rules alone. A claim is in no class, and
judged by all rules, where the text of its spec does not tell what is read of devices (see ``equal_devices``), or where
what a rule says depends on more: requests for all devices, admin access, shared devices, derived attributes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ...models.kubernetes.claims import DeviceClass, DeviceRequestAllocationResult, RequestSpec, ResourceClaim
from ...models.kubernetes.extensions import CONSTRAINTS_ANNOTATION
from .equal_devices import EqualDevices
from .published import PoolView, PublishedDevice
from .requests import ClaimReading, all_requested, is_admin

if TYPE_CHECKING:
    from .offers import NodeOffers

ClaimClass: TypeAlias = tuple[Hashable, ...]
"""Equal for claims of one reading that differ in names of devices, pools and nodes alone."""
_encode = msgspec.msgpack.Encoder().encode


class EqualClaims:
    """Tells the classes of claims, and keeps those in which a claim was found to be faultless."""

    def __init__(self, classes: Mapping[str, DeviceClass], *, sharing: bool) -> None:
        self._classes = classes
        self._sharing = sharing
        # By the identity of a reading, which is kept with it.
        self._devices: dict[int, tuple[ClaimReading, EqualDevices | None]] = {}
        self._kinds: dict[Hashable, int] = {}
        self._faultless: set[ClaimClass] = set()

    def class_of(
        self,
        claim: ResourceClaim,
        reading: ClaimReading,
        results: Sequence[DeviceRequestAllocationResult],
        entries: Sequence[PublishedDevice],
    ) -> ClaimClass | None:
        """The class of a claim whose results name these published devices; None where nothing is known."""
        annotations = claim.metadata.annotations
        if annotations and CONSTRAINTS_ANNOTATION in annotations:
            return None
        known = self._devices.get(id(reading))
        if known is None:
            equal = None if reading.for_all else _equal_to_claims([claim], self._classes)
            known = self._devices[id(reading)] = reading, equal
        equal = known[1]
        if equal is None:
            return None
        found: list[Hashable] = [id(reading)]
        for result, entry in zip(results, entries, strict=True):
            kind = self._kind(entry, equal) if _is_plain(result) else None
            if kind is None:
                return None
            found.append(result.request)
            found.append(kind)
        return tuple(found)

    def _kind(self, entry: PublishedDevice, equal: EqualDevices) -> int | None:
        """A number for all that rules of one claim read of a device, its place and what is in use apart."""
        device = entry.device
        if entry.slice.spec.skip_node_operations or (self._sharing and device.allow_multiple_allocations):
            return None
        key: Hashable = equal.key(entry)
        if key is None:
            return None
        if device.taints or device.binding_failure_conditions or device.consumes_counters:
            more = _encode((device.taints, device.binding_failure_conditions))
            key = key, more, bool(device.consumes_counters)
        return self._kinds.setdefault(key, len(self._kinds))

    def is_faultless(self, claims: ClaimClass) -> bool:
        """Whether a claim of the class was found to be faultless."""
        return claims in self._faultless

    def add_faultless(self, claims: ClaimClass) -> None:
        """Say that a claim of the class breaks no rule."""
        self._faultless.add(claims)


class EqualNodes:
    """Tells which nodes offer some claims the same, beside what is held, but for names of devices and pools.

    Nothing is known where devices of one slice are for several nodes, or claims may read more than their texts tell.
    """

    def __init__(self, claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass]) -> None:
        annotated = any(CONSTRAINTS_ANNOTATION in (one.metadata.annotations or {}) for one in claims)
        self._equal = None if annotated else _equal_to_claims(claims, classes)
        self._kinds: dict[Hashable, int] = {}

    def class_of(self, offers: NodeOffers) -> Hashable | None:
        """Equal for nodes of which the claims can take the same; None where nothing is known."""
        found = [self._pool(view, offers) for view in offers.views]
        return None if None in found else tuple(found)

    def _pool(self, view: PoolView, offers: NodeOffers) -> Hashable | None:
        if view.trouble is not None:
            return view.stops_all
        devices = [self._device(entry, offers) for entry in view.devices.values()]
        stock: Hashable = None
        if view.generation.counter_sets:
            counters, left = offers.stock(view), offers.stock(view).left()
            groups = tuple((one.name, counters.common_groups(one.name)) for one in view.generation.counter_sets)
            stock = offers.gives(view), groups, None if left is None else tuple(left.items())
        return None if None in devices else (tuple(devices), stock)

    def _device(self, entry: PublishedDevice, offers: NodeOffers) -> int | None:
        """A number for all that is read of a device, with what others hold of it."""
        device, spec = entry.device, entry.slice.spec
        key: Hashable = None if self._equal is None else self._equal.key(entry)
        if key is None or spec.per_device_node_selection or spec.skip_node_operations:
            return None
        more = _encode((device.taints, device.consumes_counters)) if device.taints or device.consumes_counters else b""
        key = key, more, offers.held_part(entry)
        return self._kinds.setdefault(key, len(self._kinds))


def _equal_to_claims(claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass]) -> EqualDevices | None:
    """What is equal to all requests and constraints of claims; None where their texts do not tell what they read."""
    requests = [requested for claim in claims for _, requested in all_requested(claim)]
    constraints = [one for claim in claims for one in claim.spec.devices.constraints or ()]
    if any(_reads_more(one) for one in requests) or any(one.cel for one in constraints):
        return None
    named = {one.match_attribute or one.distinct_attribute or "" for one in constraints}
    return EqualDevices({*_selectors(requests, classes)}, named)


def _selectors(requests: Iterable[RequestSpec], classes: Mapping[str, DeviceClass]) -> Iterator[str]:
    for requested in requests:
        known = classes.get(requested.device_class_name)
        for one in (*((known.spec.selectors if known else None) or ()), *(requested.selectors or ())):
            if one.cel is not None:
                yield one.cel.expression


def _reads_more(requested: RequestSpec) -> bool:
    """Whether more is read of devices than selectors and constraints name."""
    return is_admin(requested) or bool(requested.derived_attributes)


def _is_plain(result: DeviceRequestAllocationResult) -> bool:
    """Whether a result says nothing but which device it is."""
    return (
        result.admin_access is None
        and result.share_id is None
        and result.consumed_capacity is None
        and not result.tolerations
        and not result.binding_conditions
        and not result.binding_failure_conditions
        and not result.skip_node_operations
    )

"""What an allocation repeats of request, device and class: copies and configuration (section 15, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...models.claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceClass,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from ...models.gates import FeatureGates
from .findings import Finding
from .published import Published
from .requests import Asked, is_admin


def copies(
    result: DeviceRequestAllocationResult, asked: Asked, entry: Published, gates: FeatureGates
) -> Iterator[Finding]:
    """RES-2: what a result repeats of its request and its device."""
    device, binds, skips = entry.device, gates.binding_conditions, gates.optional_node_operations
    skipped = entry.slice.spec.skip_node_operations if skips else None
    if not (
        is_admin(asked)
        or result.admin_access is not None
        or result.tolerations
        or asked.tolerations
        or result.binding_conditions
        or device.binding_conditions
        or result.binding_failure_conditions
        or device.binding_failure_conditions
        or result.skip_node_operations
        or skipped
    ):
        # Nearly always there is nothing to repeat.
        return
    expected: dict[str, tuple[Any, Any]] = {
        "adminAccess": (result.admin_access, is_admin(asked) or None),
        "tolerations": (result.tolerations or (), asked.tolerations or ()),
        "bindingConditions": (result.binding_conditions or (), (binds and device.binding_conditions) or ()),
        "bindingFailureConditions": (
            result.binding_failure_conditions or (),
            (binds and device.binding_failure_conditions) or (),
        ),
        "skipNodeOperations": (result.skip_node_operations or (), skipped or ()),
    }
    for field, (found, wanted) in expected.items():
        if found != wanted:
            yield Finding("RES-2", f"{field} is {found!r}, not {wanted!r}")


def configs(
    claim: ResourceClaim,
    chosen: Mapping[str, Asked],
    classes: Mapping[str, DeviceClass],
    allocation: AllocationResult,
) -> Iterator[Finding]:
    """RES-3 to RES-5; ``chosen`` is what was asked by the names in use, in order."""
    found = [_key(entry) for entry in allocation.devices.config or ()]
    of_classes = [_key(_widened(entry, chosen)) for entry in _from_classes(chosen, classes)]
    of_claim = [_key(_widened(entry, chosen)) for entry in _from_claim(claim, chosen)]
    number = sum(source != "FromClaim" for source, _, _ in found)
    for rule, there, wanted in (("RES-3", found[:number], of_classes), ("RES-4", found[number:], of_claim)):
        unnamed, unnamed_wanted = ([(source, opaque) for source, _, opaque in part] for part in (there, wanted))
        if unnamed != unnamed_wanted:
            yield Finding(rule, f"the config entries are {there!r}, not {wanted!r}")
        elif there != wanted:
            yield Finding("RES-5", f"config entries are for {there!r}, not {wanted!r}")


def _key(entry: DeviceAllocationConfiguration) -> tuple[str, tuple[str, ...], Any]:
    return entry.source, entry.requests or (), entry.opaque


def _from_classes(
    chosen: Mapping[str, Asked], classes: Mapping[str, DeviceClass]
) -> Iterator[DeviceAllocationConfiguration]:
    """RES-3: each class once, for all that used it."""
    for name in dict.fromkeys(asked.device_class_name for asked in chosen.values()):
        users = tuple(request for request, asked in chosen.items() if asked.device_class_name == name)
        known = classes.get(name)
        for entry in (known.spec.config if known else None) or ():
            yield DeviceAllocationConfiguration(source="FromClass", requests=users, opaque=entry.opaque)


def _from_claim(claim: ResourceClaim, chosen: Mapping[str, Asked]) -> Iterator[DeviceAllocationConfiguration]:
    """RES-4: entries for everything, for a request, or for an alternative that was chosen."""
    known = chosen.keys() | {request.name for request in claim.spec.devices.requests or ()}
    for entry in claim.spec.devices.config or ():
        if not entry.requests or not known.isdisjoint(entry.requests):
            yield DeviceAllocationConfiguration(source="FromClaim", requests=entry.requests, opaque=entry.opaque)


def _widened(entry: DeviceAllocationConfiguration, chosen: Mapping[str, Asked]) -> DeviceAllocationConfiguration:
    """RES-5: naming every request is naming none."""
    named = set(entry.requests or ())
    everywhere = all(name in named or name.partition("/")[0] in named for name in chosen)
    requests = None if everywhere else entry.requests
    return DeviceAllocationConfiguration(source=entry.source, requests=requests, opaque=entry.opaque)

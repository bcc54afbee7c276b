"""What an allocation repeats of request, device and class: copies and configuration (section 15, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

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

_Config: TypeAlias = tuple[str, tuple[str, ...], Any]
"""Source, requests and parameters of an entry."""


def has_copies(result: DeviceRequestAllocationResult, asked: Asked, entry: Published) -> bool:
    """Whether there is anything that is repeated, or should be (RES-2); nearly always there is nothing."""
    device = entry.device
    return bool(
        is_admin(asked)
        or result.admin_access is not None
        or result.tolerations
        or asked.tolerations
        or result.binding_conditions
        or device.binding_conditions
        or result.binding_failure_conditions
        or device.binding_failure_conditions
        or result.skip_node_operations
        or entry.slice.spec.skip_node_operations
    )


def copies(
    result: DeviceRequestAllocationResult, asked: Asked, entry: Published, gates: FeatureGates
) -> Iterator[Finding]:
    """RES-2: what a result repeats of its request and its device."""
    device, binds = entry.device, gates.binding_conditions
    skipped = entry.slice.spec.skip_node_operations if gates.optional_node_operations else None
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


@dataclass(frozen=True, slots=True)
class WantedConfigs:
    """The config entries that an allocation must have: those of classes, then those of the claim."""

    of_classes: Sequence[_Config]
    of_claim: Sequence[_Config]


def wanted_configs(
    claim: ResourceClaim, chosen: Mapping[str, Asked], classes: Mapping[str, DeviceClass]
) -> WantedConfigs:
    """RES-3 to RES-5; ``chosen`` is what was asked by the names in use, in order."""
    of_classes = [_key(_widened(entry, chosen)) for entry in _from_classes(chosen, classes)]
    return WantedConfigs(of_classes, [_key(_widened(entry, chosen)) for entry in _from_claim(claim, chosen)])


def configs(wanted_entries: WantedConfigs, allocation: AllocationResult) -> Iterator[Finding]:
    """RES-3 to RES-5: whether an allocation has the config entries that it must have."""
    found = [_key(entry) for entry in allocation.devices.config or ()]
    of_classes, of_claim = wanted_entries.of_classes, wanted_entries.of_claim
    if found == [*of_classes, *of_claim]:
        return
    number = sum(source != "FromClaim" for source, _, _ in found)
    for rule, there, wanted in (("RES-3", found[:number], of_classes), ("RES-4", found[number:], of_claim)):
        unnamed, unnamed_wanted = ([(source, opaque) for source, _, opaque in part] for part in (there, wanted))
        if unnamed != unnamed_wanted:
            yield Finding(rule, f"the config entries are {there!r}, not {wanted!r}")
        elif there != wanted:
            yield Finding("RES-5", f"config entries are for {there!r}, not {wanted!r}")


def _key(entry: DeviceAllocationConfiguration) -> _Config:
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

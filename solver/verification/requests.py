"""What a claim asks for, and whether the results answer it one for one (sections 6 and 14, read anew)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from ...models.claims import (
    DeviceClass,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from ...models.gates import FeatureGates
from .findings import Finding
from .ledger import device_id

Asked: TypeAlias = ExactDeviceRequest | DeviceSubRequest
Results: TypeAlias = Sequence[DeviceRequestAllocationResult]

EXACT_COUNT, ALL = "ExactCount", "All"
MAX_RESULTS = 32


def is_admin(asked: Asked) -> bool:
    """Whether admin access is asked for; alternatives cannot."""
    return isinstance(asked, ExactDeviceRequest) and bool(asked.admin_access)


def everything_asked(claim: ResourceClaim) -> Iterator[tuple[str, Asked]]:
    """All exact requests and alternatives, by the name that results would use."""
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            yield request.name, request.exactly
        for alternative in request.first_available or ():
            yield f"{request.name}/{alternative.name}", alternative


def selected(claim: ResourceClaim, used: Collection[str]) -> dict[str, Asked]:
    """Pick the exact requests, and the alternatives that have results, by name in the order of the claim.

    ``used`` are the names in results.
    """
    return {
        name: asked for name, asked in everything_asked(claim) if isinstance(asked, ExactDeviceRequest) or name in used
    }


def shape(claim: ResourceClaim, used: Sequence[str], chosen: Mapping[str, Asked]) -> Iterator[Finding]:
    """Whether results answer the requests one for one, in order, and are not too many.

    ``used`` are the names in the results, one for each.
    """
    if len(used) > MAX_RESULTS:
        yield Finding("PRE-11", f"{len(used)} results exceed the limit of {MAX_RESULTS}")
    for name in sorted(set(used) - chosen.keys()):
        yield Finding("RES-1", f"results for request {name}, which the claim does not have")
    order = {name: place for place, name in enumerate(chosen)}
    places = [order[name] for name in used if name in order]
    if places != sorted(places):
        yield Finding("RES-1", "the results are not in the order of the requests")
    answers = Counter(name.partition("/")[0] for name in chosen)
    for request in claim.spec.devices.requests or ():
        if answers[request.name] != 1:
            yield Finding("SRCH-4", f"request {request.name} is answered by {answers[request.name]} alternatives")
    numbers = Counter(used)
    for name, asked in chosen.items():
        yield from _number(name, asked, numbers[name])


def _number(name: str, asked: Asked, number: int) -> Iterator[Finding]:
    if asked.allocation_mode == EXACT_COUNT and number != (asked.count or 0):
        yield Finding("PRE-7", f"request {name} has {number} devices, not {asked.count or 0}")
    if asked.allocation_mode == ALL and not number:
        yield Finding("SRCH-6", f"request {name} asks for all devices and has none")


def repeated(results: Results) -> Iterator[Finding]:
    """DEV-13: requests that have a device twice."""
    if len(results) < 2:
        return
    taken = [(result.request, device_id(result)) for result in results]
    if len(set(taken)) < len(taken):
        for name in dict.fromkeys(name for (name, _), times in Counter(taken).items() if times > 1):
            yield Finding("DEV-13", f"request {name} has a device twice")


def unsupported(claim: ResourceClaim, classes: Mapping[str, DeviceClass], gates: FeatureGates) -> Iterator[Finding]:
    """PRE-1 to PRE-6, PRE-10, PRE-12: what no allocator takes, also in alternatives that were not chosen."""
    for request in claim.spec.devices.requests or ():
        if request.first_available and not gates.prioritized_list:
            yield Finding("PRE-1", f"request {request.name} has alternatives, and that feature is off")
    for name, asked in everything_asked(claim):
        for rule, problem in _problems(asked, classes, gates):
            yield Finding(rule, f"request {name}: {problem}")
    for constraint in claim.spec.devices.constraints or ():
        has_distinct = constraint.distinct_attribute is not None and gates.variant != "stable"
        has_cel = constraint.cel is not None and gates.cel_device_constraint
        if constraint.match_attribute is None and not has_distinct and not has_cel:
            yield Finding("PRE-12", "a constraint has no type that is known")


def _problems(asked: Asked, classes: Mapping[str, DeviceClass], gates: FeatureGates) -> Iterator[tuple[str, str]]:
    # The stable variant has never heard of capacity requests.
    if asked.capacity is not None and not gates.consumable_capacity and gates.variant != "stable":
        yield "PRE-2", "capacity is requested, and that feature is off"
    if asked.derived_attributes and not gates.derived_attributes:
        yield "PRE-3", "attributes are derived, and that feature is off"
    if any(selector.cel is None for selector in asked.selectors or ()):
        yield "PRE-4", "a selector has no expression"
    if isinstance(asked, ExactDeviceRequest) and asked.admin_access is not None and not gates.admin_access:
        yield "PRE-5", "admin access is requested, and that feature is off"
    if asked.device_class_name not in classes:
        yield "PRE-6", f"there is no device class {asked.device_class_name!r}"
    if asked.allocation_mode not in (EXACT_COUNT, ALL):
        yield "PRE-10", f"there is no allocation mode {asked.allocation_mode!r}"

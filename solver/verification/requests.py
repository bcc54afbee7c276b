"""Which request a result answers, and how many results each request must have (sections 6 and 14, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...models.claims import DeviceRequestAllocationResult, ExactDeviceRequest, ResourceClaim
from ...models.gates import FeatureGates
from .results import Asked

MAX_RESULTS = 32


def selected(claim: ResourceClaim, results: Sequence[DeviceRequestAllocationResult]) -> dict[str, Asked]:
    """The requests and chosen alternatives by the name that results use, in the order of the claim.

    A list request without any result stands under its first alternative that may take no device: All over an
    empty pool fails (SRCH-6) and counts are positive, so such a request is an error found by ``shape``.
    """
    used = {result.request for result in results}
    found: dict[str, Asked] = {}
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            found[request.name] = request.exactly
        for alternative in request.first_available or ():
            if f"{request.name}/{alternative.name}" in used:
                found[f"{request.name}/{alternative.name}"] = alternative
    return found


def shape(
    claim: ResourceClaim, results: Sequence[DeviceRequestAllocationResult], chosen: dict[str, Asked]
) -> Iterator[str]:
    """Whether the results answer the requests one for one, in order, and not too many of them."""
    if len(results) > MAX_RESULTS:
        yield f"PRE-11: {len(results)} results exceed the limit of {MAX_RESULTS}"
    for name in {result.request for result in results} - chosen.keys():
        yield f"RES-1: result for {name}, which the claim does not ask for"
    order = {name: place for place, name in enumerate(chosen)}
    places = [order[result.request] for result in results if result.request in order]
    if places != sorted(places):
        yield "RES-1: the results are not in the order of the requests"
    for request in claim.spec.devices.requests or ():
        alternatives = [name for name in chosen if name.split("/")[0] == request.name]
        if len(alternatives) != 1:
            yield f"SRCH-4: request {request.name} is answered by {len(alternatives)} alternatives"
    for name, asked in chosen.items():
        yield from _count(name, asked, [result for result in results if result.request == name])


def _count(name: str, asked: Asked, results: Sequence[DeviceRequestAllocationResult]) -> Iterator[str]:
    devices = {(result.driver, result.pool, result.device) for result in results}
    if len(devices) != len(results):
        yield f"DEV-13: request {name} holds a device twice"
    if asked.allocation_mode == "ExactCount" and len(results) != (asked.count or 0):
        yield f"PRE-7: request {name} has {len(results)} devices, not {asked.count}"
    if asked.allocation_mode not in ("ExactCount", "All"):
        yield f"PRE-10: unsupported count mode {asked.allocation_mode!r}"
    if asked.allocation_mode == "All" and not results:
        yield f"SRCH-6: request {name} asks for all devices and has none"


def switched_off(claim: ResourceClaim, gates: FeatureGates) -> Iterator[str]:
    """PRE-1 to PRE-5: what the claim uses while its feature is off."""
    for request in claim.spec.devices.requests or ():
        if request.first_available and not gates.prioritized_list:
            yield f"PRE-1: request {request.name} has subrequests, but the DRAPrioritizedList feature is disabled"
        for asked in (request.exactly, *(request.first_available or ())):
            if asked is not None:
                yield from _asked_switched_off(request.name, asked, gates)


def _asked_switched_off(name: str, asked: Asked, gates: FeatureGates) -> Iterator[str]:
    if asked.capacity is not None and not gates.consumable_capacity:
        yield f"PRE-2: request {name} has capacity requests, but the DRAConsumableCapacity feature is disabled"
    if asked.derived_attributes and not gates.derived_attributes:
        yield f"PRE-3: request {name} has derived attributes, but the feature is disabled"
    if isinstance(asked, ExactDeviceRequest) and asked.admin_access is not None and not gates.admin_access:
        yield f"PRE-5: admin access is requested by {name}, but the feature is disabled"

"""ResourceClaims and their templates (dra-semantics 2.3).

DeviceClasses (dra-semantics 2.2).

Requests of a claim: exact ones and lists of alternatives (dra-semantics 2.3).

``status`` of a claim: what the scheduler wrote, looked at lightly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ..kubernetes.claims import (
    AllocationResult,
    CapacityRequirements,
    DeviceAllocationConfiguration,
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    ResourceClaimTemplate,
)
from ..kubernetes.meta import extended_resource_complaints, share_id_complaints
from .annotations import (
    check_annotated,
    check_annotated_template,
    check_claim_entry,
    check_configs,
    check_expression,
    check_gang,
    check_plan_annotations,
    check_references,
    check_selectors,
    reference_names,
)
from .findings import (
    LIMIT,
    STRUCTURE,
    Findings,
    MapKey,
    Path,
    check_driver,
    check_fully_qualified,
    check_label,
    check_labels,
    check_metadata,
    check_pool,
    check_quantity,
    check_subdomain,
)
from .nodes import check_node_operations, check_node_selector, check_time, check_tolerations

CONSTRAINTS_MAX = 32


def check_claim(found: Findings, claim: ResourceClaim) -> None:
    """Check a ResourceClaim, with its status if it has one."""
    check_metadata(found, claim.metadata, namespaced=True)
    if claim.metadata.annotations:
        check_plan_annotations(found, claim.metadata)
        check_gang(found, ("metadata",), False, claim.metadata)
    check_devices(found, ("spec", "devices"), claim.spec.devices)
    check_annotated(found, ("metadata",), claim.metadata, claim.spec.devices)
    if claim.status is not None:
        check_status(found, ("status",), claim.status)


def check_template(found: Findings, template: ResourceClaimTemplate) -> None:
    """Check a ResourceClaimTemplate; of the claim's metadata it may give labels and annotations only."""
    check_metadata(found, template.metadata, namespaced=True)
    path: Path = ("spec", "metadata")
    if (meta := template.spec.metadata) is not None:
        check_labels(found, path, meta)
        for field, text in (("name", meta.name), ("generateName", meta.generate_name), ("namespace", meta.namespace)):
            if text:
                found.forbidden((*path, field), "cannot be set for a claim template")
    check_devices(found, ("spec", "spec", "devices"), template.spec.spec.devices)
    check_annotated_template(found, template)


def check_devices(found: Findings, path: Path, claim: DeviceClaim) -> None:
    """``spec.devices`` of a claim."""
    requests = claim.requests or ()
    check_requests(found, (*path, "requests"), requests)
    names = set(reference_names(requests))
    constraints = claim.constraints or ()
    found.at_most((*path, "constraints"), constraints, CONSTRAINTS_MAX)
    for index, constraint in enumerate(constraints):
        check_references(found, (*path, "constraints", index, "requests"), constraint.requests, names)
        check_claim_entry(found, (*path, "constraints", index), constraint)
    check_configs(found, (*path, "config"), claim.config)
    for index, entry in enumerate(claim.config or ()):
        check_references(found, (*path, "config", index, "requests"), entry.requests, names)
    _check_derived_used(found, (*path, "requests"), requests, constraints)


def _check_derived_used(
    found: Findings, path: Path, requests: Iterable[DeviceRequest], constraints: Iterable[DeviceConstraint]
) -> None:
    """CON-12: a derived attribute serves constraints, so one of those on the request must name it."""
    used = _attributes_used(constraints)
    for where, names, derived in _derivations(path, requests):
        for index, attribute in enumerate(derived):
            if not any(attribute.name in used.get(name, ()) for name in names):
                detail = "must be used by a constraint that applies to the request"
                found.invalid((*where, "derivedAttributes", index, "name"), attribute.name, detail)


_EVERY_REQUEST = ""


def _attributes_used(constraints: Iterable[DeviceConstraint]) -> dict[str, set[str | None]]:
    """Map requests to the attributes of the constraints that list them."""
    used: dict[str, set[str | None]] = defaultdict(set)
    for constraint in constraints:
        for name in constraint.requests or (_EVERY_REQUEST,):
            used[name] |= {constraint.match_attribute, constraint.distinct_attribute}
    return used


def _derivations(
    path: Path, requests: Iterable[DeviceRequest]
) -> Iterator[tuple[Path, tuple[str, ...], tuple[DeviceDerivedAttribute, ...]]]:
    """Each list of derived attributes, with the names by which constraints reach it (CON-1)."""
    for index, request in enumerate(requests):
        reached = (_EVERY_REQUEST, request.name)
        if request.exactly is not None:
            yield (*path, index, "exactly"), reached, request.exactly.derived_attributes or ()
        for position, alternative in enumerate(request.first_available or ()):
            where = (*path, index, "firstAvailable", position)
            yield where, (*reached, f"{request.name}/{alternative.name}"), alternative.derived_attributes or ()


def check_class(found: Findings, device_class: DeviceClass) -> None:
    """Check a DeviceClass; without selectors it admits every device."""
    check_metadata(found, device_class.metadata, namespaced=False)
    path: Path = ("spec",)
    spec = device_class.spec
    check_selectors(found, (*path, "selectors"), spec.selectors)
    check_configs(found, (*path, "config"), spec.config)
    if (resource := spec.extended_resource_name) is not None:
        found.each_invalid((*path, "extendedResourceName"), resource, extended_resource_complaints(resource))


REQUESTS_MAX = 32
ALTERNATIVES_MAX = 8
_MODES = ("All", "ExactCount")
_ONE_FORM_REQUIRED = "exactly one of `exactly` or `firstAvailable` is required"


def check_requests(found: Findings, path: Path, requests: tuple[DeviceRequest, ...] | None) -> None:
    """All requests of a claim. Results name their request, so two of one name are not to be told apart."""
    found.at_most(path, requests, REQUESTS_MAX)
    found.unique(path, (request.name for request in requests or ()), ("name",), STRUCTURE)
    for index, request in enumerate(requests or ()):
        _check_request(found, (*path, index), request)


def _check_request(found: Findings, path: Path, request: DeviceRequest) -> None:
    _check_name(found, (*path, "name"), request.name)
    if request.exactly is None and not request.first_available:
        found.required(path, _ONE_FORM_REQUIRED, STRUCTURE)
    if request.exactly is not None and request.first_available:
        found.invalid(path, "{`exactly`, `firstAvailable`}", f"{_ONE_FORM_REQUIRED}, but both are set", STRUCTURE)
    if request.exactly is not None:
        _check_device_request(found, (*path, "exactly"), request.exactly)
    if request.first_available:
        _check_alternatives(found, (*path, "firstAvailable"), request.first_available)


def _check_name(found: Findings, path: Path, name: str) -> None:
    """Results say ``request`` or ``request/alternative``, which must stay readable whatever else is lifted."""
    check_label(found, path, name, STRUCTURE if not name or "/" in name else LIMIT)


def _check_alternatives(found: Findings, path: Path, alternatives: tuple[DeviceSubRequest, ...]) -> None:
    found.at_most(path, alternatives, ALTERNATIVES_MAX)
    found.unique(path, (alternative.name for alternative in alternatives), ("name",), STRUCTURE)
    for index, alternative in enumerate(alternatives):
        _check_name(found, (*path, index, "name"), alternative.name)
        _check_device_request(found, (*path, index), alternative)


def _check_device_request(found: Findings, path: Path, request: ExactDeviceRequest | DeviceSubRequest) -> None:
    check_subdomain(found, (*path, "deviceClassName"), request.device_class_name)
    check_selectors(found, (*path, "selectors"), request.selectors)
    _check_mode(found, path, request.allocation_mode, request.count or 0)
    check_tolerations(found, (*path, "tolerations"), request.tolerations)
    if request.capacity is not None:
        _check_capacity(found, (*path, "capacity", "requests"), request.capacity)
    if request.derived_attributes:
        _check_derived(found, (*path, "derivedAttributes"), request.derived_attributes)


def _check_mode(found: Findings, path: Path, mode: str, count: int) -> None:
    if mode not in _MODES:
        found.unsupported((*path, "allocationMode"), mode, _MODES)
    if mode == "All" and count:
        found.invalid((*path, "count"), count, "must not be specified when allocationMode is 'All'")
    if mode == "ExactCount" and count <= 0:
        # Zero devices can be allocated (CLM-1), fewer cannot.
        detail = "must be greater than zero"
        found.invalid((*path, "count"), count, detail, STRUCTURE if count < 0 else LIMIT)


def _check_capacity(found: Findings, path: Path, capacity: CapacityRequirements) -> None:
    """Names and values are not validated (CLM-4), but a malformed quantity cannot even be read."""
    for name, text in (capacity.requests or {}).items():
        check_quantity(found, (*path, MapKey(name)), text)


def _check_derived(found: Findings, path: Path, derived: tuple[DeviceDerivedAttribute, ...]) -> None:
    found.unique(path, (attribute.name for attribute in derived), ("name",), STRUCTURE)
    for index, attribute in enumerate(derived):
        check_fully_qualified(found, (*path, index, "name"), attribute.name)
        check_expression(found, (*path, index, "expression"), attribute.expression)


RESULTS_MAX = 32
RESULT_CONFIG_MAX = 64
CONSUMERS_MAX = 256
_SOURCES = ("FromClaim", "FromClass")


def check_status(found: Findings, path: Path, status: ResourceClaimStatus) -> None:
    """Check the allocation and the consumers of a claim."""
    if status.allocation is not None:
        _check_allocation(found, (*path, "allocation"), status.allocation)
    consumers = status.reserved_for or ()
    found.at_most((*path, "reservedFor"), consumers, CONSUMERS_MAX)
    found.unique((*path, "reservedFor"), (consumer.uid for consumer in consumers if consumer.uid), ("uid",))
    for index, consumer in enumerate(consumers):
        _check_consumer(found, (*path, "reservedFor", index), consumer)


def _check_consumer(found: Findings, path: Path, consumer: ResourceClaimConsumerReference) -> None:
    for field, text in (("resource", consumer.resource), ("name", consumer.name), ("uid", consumer.uid)):
        if not text:
            found.required((*path, field))


def _check_allocation(found: Findings, path: Path, allocation: AllocationResult) -> None:
    results, config = allocation.devices.results, allocation.devices.config
    found.at_most((*path, "devices", "results"), results, RESULTS_MAX)
    for index, result in enumerate(results or ()):
        _check_result(found, (*path, "devices", "results", index), result)
    check_configs(found, (*path, "devices", "config"), config, RESULT_CONFIG_MAX)
    for index, entry in enumerate(config or ()):
        _check_source(found, (*path, "devices", "config", index, "source"), entry)
    if allocation.node_selector is not None:
        check_node_selector(found, (*path, "nodeSelector"), allocation.node_selector, one_term=True)
    check_time(found, (*path, "allocationTimestamp"), allocation.allocation_timestamp)


def _check_source(found: Findings, path: Path, entry: DeviceAllocationConfiguration) -> None:
    if not entry.source:
        found.required(path)
    elif entry.source not in _SOURCES:
        found.unsupported(path, entry.source, _SOURCES)


def _check_device_id(found: Findings, path: Path, result: DeviceRequestAllocationResult) -> None:
    """Insist on the full id of what is in use; a badly spelt name is only a name."""
    rules = (
        ("driver", result.driver, check_driver),
        ("pool", result.pool, check_pool),
        ("device", result.device, check_label),
    )
    for field, text, rule in rules:
        if text:
            rule(found, (*path, field), text)
        else:
            found.required((*path, field), category=STRUCTURE)


def _check_result(found: Findings, path: Path, result: DeviceRequestAllocationResult) -> None:
    if not result.request:
        found.required((*path, "request"))
    _check_device_id(found, path, result)
    check_tolerations(found, (*path, "tolerations"), result.tolerations)
    if result.share_id is not None:
        found.each_invalid((*path, "shareID"), result.share_id, share_id_complaints(result.share_id))
    for name, text in (result.consumed_capacity or {}).items():
        check_quantity(found, (*path, "consumedCapacity", MapKey(name)), text)
    check_node_operations(found, (*path, "skipNodeOperations"), result.skip_node_operations)

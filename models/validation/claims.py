"""DeviceClasses, ResourceClaims and their templates, with their requests (dra-semantics 2.2, 2.3).

``status`` of a claim, which the scheduler wrote, is checked lightly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ..kubernetes import claims
from ..kubernetes.claims import ResourceClaim
from ..kubernetes.meta import extended_resource_complaints, share_id_complaints
from . import entries
from .findings import LIMIT, STRUCTURE, Findings, MapKey, Path
from .nodes import check_node_operations, check_time, check_tolerations
from .selectors import check_node_selector

CONSTRAINTS_MAX = 32


def check_claim(findings: Findings, claim: ResourceClaim) -> None:
    """Check a ResourceClaim, with its status if it has one."""
    findings.check_metadata(claim.metadata, namespaced=True)
    if claim.metadata.annotations:
        entries.check_plan_annotations(findings, claim.metadata)
        entries.check_gang(findings, ("metadata",), False, claim.metadata)
    check_devices(findings, ("spec", "devices"), claim.spec.devices)
    entries.check_annotated(findings, ("metadata",), claim.metadata, claim.spec.devices)
    if claim.status is not None:
        check_status(findings, ("status",), claim.status)


def check_template(findings: Findings, template: claims.ResourceClaimTemplate) -> None:
    """Check a ResourceClaimTemplate; of the claim's metadata it may give labels and annotations only."""
    findings.check_metadata(template.metadata, namespaced=True)
    path: Path = ("spec", "metadata")
    if (meta := template.spec.metadata) is not None:
        findings.check_labels(path, meta)
        for field, text in (("name", meta.name), ("generateName", meta.generate_name), ("namespace", meta.namespace)):
            if text:
                findings.forbidden((*path, field), "cannot be set for a claim template")
    check_devices(findings, ("spec", "spec", "devices"), template.spec.spec.devices)
    entries.check_annotated_template(findings, template)


def check_devices(findings: Findings, path: Path, claim: claims.DeviceClaim) -> None:
    """``spec.devices`` of a claim."""
    requests = claim.requests or ()
    check_requests(findings, (*path, "requests"), requests)
    names = set(entries.reference_names(requests))
    constraints = claim.constraints or ()
    findings.at_most((*path, "constraints"), constraints, CONSTRAINTS_MAX)
    for index, constraint in enumerate(constraints):
        entries.check_references(findings, (*path, "constraints", index, "requests"), constraint.requests, names)
        entries.check_claim_entry(findings, (*path, "constraints", index), constraint)
    entries.check_configs(findings, (*path, "config"), claim.config)
    for index, entry in enumerate(claim.config or ()):
        entries.check_references(findings, (*path, "config", index, "requests"), entry.requests, names)
    _check_derived_used(findings, (*path, "requests"), requests, constraints)


def _check_derived_used(
    findings: Findings,
    path: Path,
    requests: Iterable[claims.DeviceRequest],
    constraints: Iterable[claims.DeviceConstraint],
) -> None:
    """CON-12: a derived attribute serves constraints, so one of those on the request must name it."""
    used: dict[str, set[str | None]] = defaultdict(set)
    for constraint in constraints:
        for name in constraint.requests or (_EVERY_REQUEST,):
            used[name] |= {constraint.match_attribute, constraint.distinct_attribute}
    for where, names, derived in _derivations(path, requests):
        for index, attribute in enumerate(derived):
            if not any(attribute.name in used.get(name, ()) for name in names):
                detail = "must be used by a constraint that applies to the request"
                findings.invalid((*where, "derivedAttributes", index, "name"), attribute.name, detail)


_EVERY_REQUEST = ""


def _derivations(
    path: Path, requests: Iterable[claims.DeviceRequest]
) -> Iterator[tuple[Path, tuple[str, ...], tuple[claims.DeviceDerivedAttribute, ...]]]:
    """Each list of derived attributes, with the names by which constraints reach it (CON-1)."""
    for index, request in enumerate(requests):
        reached = (_EVERY_REQUEST, request.name)
        if request.exactly is not None:
            yield (*path, index, "exactly"), reached, request.exactly.derived_attributes or ()
        for position, alternative in enumerate(request.first_available or ()):
            where = (*path, index, "firstAvailable", position)
            yield where, (*reached, f"{request.name}/{alternative.name}"), alternative.derived_attributes or ()


def check_class(findings: Findings, device_class: claims.DeviceClass) -> None:
    """Check a DeviceClass; without selectors it admits every device."""
    findings.check_metadata(device_class.metadata, namespaced=False)
    path: Path = ("spec",)
    spec = device_class.spec
    entries.check_selectors(findings, (*path, "selectors"), spec.selectors)
    entries.check_configs(findings, (*path, "config"), spec.config)
    if (resource := spec.extended_resource_name) is not None:
        findings.each_invalid((*path, "extendedResourceName"), resource, extended_resource_complaints(resource))


REQUESTS_MAX = 32
ALTERNATIVES_MAX = 8
_MODES = ("All", "ExactCount")
_ONE_FORM_REQUIRED = "exactly one of `exactly` or `firstAvailable` is required"


def check_requests(findings: Findings, path: Path, requests: tuple[claims.DeviceRequest, ...] | None) -> None:
    """Check all requests of a claim. Results name their request, so names are unique."""
    findings.at_most(path, requests, REQUESTS_MAX)
    findings.unique(path, (request.name for request in requests or ()), ("name",), STRUCTURE)
    for index, request in enumerate(requests or ()):
        _check_request(findings, (*path, index), request)


def _check_request(findings: Findings, path: Path, request: claims.DeviceRequest) -> None:
    _check_name(findings, (*path, "name"), request.name)
    if request.exactly is None and not request.first_available:
        findings.required(path, _ONE_FORM_REQUIRED, STRUCTURE)
    if request.exactly is not None and request.first_available:
        findings.invalid(path, "{`exactly`, `firstAvailable`}", f"{_ONE_FORM_REQUIRED}, but both are set", STRUCTURE)
    if request.exactly is not None:
        _check_device_request(findings, (*path, "exactly"), request.exactly)
    if request.first_available:
        path = (*path, "firstAvailable")
        findings.at_most(path, request.first_available, ALTERNATIVES_MAX)
        findings.unique(path, (alternative.name for alternative in request.first_available), ("name",), STRUCTURE)
        for index, alternative in enumerate(request.first_available):
            _check_name(findings, (*path, index, "name"), alternative.name)
            _check_device_request(findings, (*path, index), alternative)


def _check_name(findings: Findings, path: Path, name: str) -> None:
    """Results say ``request`` or ``request/alternative``, which must stay readable whatever else is lifted."""
    findings.check_label(path, name, STRUCTURE if not name or "/" in name else LIMIT)


_NEGATIVE = "negative: allocation ends with an error at a device that has no policy to round it up (CAP-6)"


def _check_device_request(
    findings: Findings, path: Path, request: claims.ExactDeviceRequest | claims.DeviceSubRequest
) -> None:
    findings.check_subdomain((*path, "deviceClassName"), request.device_class_name)
    entries.check_selectors(findings, (*path, "selectors"), request.selectors)
    _check_mode(findings, path, request.allocation_mode, request.count or 0)
    check_tolerations(findings, (*path, "tolerations"), request.tolerations)
    # Capacities are not validated (CLM-4), but a malformed quantity cannot even be read.
    for name, text in ((request.capacity and request.capacity.requests) or {}).items():
        where = (*path, "capacity", "requests", MapKey(name))
        amount = findings.check_quantity(where, text)
        if amount is not None and amount.nano < 0:
            findings.warning(where, _NEGATIVE)
    derived, path = request.derived_attributes or (), (*path, "derivedAttributes")
    findings.unique(path, (attribute.name for attribute in derived), ("name",), STRUCTURE)
    for index, attribute in enumerate(derived):
        findings.check_fully_qualified((*path, index, "name"), attribute.name)
        entries.check_expression(findings, (*path, index, "expression"), attribute.expression)


def _check_mode(findings: Findings, path: Path, mode: str, count: int) -> None:
    if mode not in _MODES:
        findings.unsupported((*path, "allocationMode"), mode, _MODES)
    if mode == "All" and count:
        findings.invalid((*path, "count"), count, "must not be specified when allocationMode is 'All'")
    if mode == "ExactCount" and count <= 0:
        # Zero devices can be allocated (CLM-1), fewer cannot.
        findings.invalid((*path, "count"), count, "must be greater than zero", STRUCTURE if count < 0 else LIMIT)


RESULTS_MAX = 32
RESULT_CONFIG_MAX = 64
_SOURCES = ("FromClaim", "FromClass")


def check_status(findings: Findings, path: Path, status: claims.ResourceClaimStatus) -> None:
    """Check the allocation and the consumers of a claim."""
    if status.allocation is not None:
        _check_allocation(findings, (*path, "allocation"), status.allocation)
    consumers = status.reserved_for or ()
    findings.at_most((*path, "reservedFor"), consumers, claims.CONSUMERS_MAX)
    findings.unique((*path, "reservedFor"), (consumer.uid for consumer in consumers if consumer.uid), ("uid",))
    for index, consumer in enumerate(consumers):
        for field, text in (("resource", consumer.resource), ("name", consumer.name), ("uid", consumer.uid)):
            if not text:
                findings.required((*path, "reservedFor", index, field))


def _check_allocation(findings: Findings, path: Path, allocation: claims.AllocationResult) -> None:
    results, config = allocation.devices.results, allocation.devices.config
    findings.at_most((*path, "devices", "results"), results, RESULTS_MAX)
    for index, result in enumerate(results or ()):
        _check_result(findings, (*path, "devices", "results", index), result)
    entries.check_configs(findings, (*path, "devices", "config"), config, RESULT_CONFIG_MAX)
    for index, entry in enumerate(config or ()):
        findings.check_choice((*path, "devices", "config", index, "source"), entry.source, _SOURCES)
    if allocation.node_selector is not None:
        check_node_selector(findings, (*path, "nodeSelector"), allocation.node_selector, one_term=True)
    check_time(findings, (*path, "allocationTimestamp"), allocation.allocation_timestamp)


def _check_result(findings: Findings, path: Path, result: claims.DeviceRequestAllocationResult) -> None:
    if not result.request:
        findings.required((*path, "request"))
    # The full id of what is in use is needed; a badly spelt name is only a name.
    rules = (
        ("driver", result.driver, findings.check_driver),
        ("pool", result.pool, findings.check_pool),
        ("device", result.device, findings.check_label),
    )
    for field, text, rule in rules:
        if text:
            rule((*path, field), text)
        else:
            findings.required((*path, field), category=STRUCTURE)
    check_tolerations(findings, (*path, "tolerations"), result.tolerations)
    if result.share_id is not None:
        findings.each_invalid((*path, "shareID"), result.share_id, share_id_complaints(result.share_id))
    for name, amount in (result.consumed_capacity or {}).items():
        findings.check_quantity((*path, "consumedCapacity", MapKey(name)), amount)
    check_node_operations(findings, (*path, "skipNodeOperations"), result.skip_node_operations)

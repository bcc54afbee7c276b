"""ResourceClaims and their templates (dra-semantics 2.3)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ..claims import (
    DeviceClaim,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimTemplate,
)
from .allocations import check_status
from .configs import check_configs
from .constraints import check_subject
from .entries import check_annotated, check_annotated_template
from .findings import Findings, Path
from .metadata import check_labels, check_metadata
from .plan_annotations import check_gang, check_plan_annotations
from .request_references import check_references, reference_names
from .requests import check_requests

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
        check_subject(found, (*path, "constraints", index), constraint)
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

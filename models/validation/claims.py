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
from .checked_names import check_fully_qualified
from .configs import check_configs
from .findings import Findings, Path
from .metadata import check_labels, check_metadata
from .requests import check_requests

CONSTRAINTS_MAX = 32
REFERENCES_MAX = 32


def check_claim(found: Findings, claim: ResourceClaim) -> None:
    """Check a ResourceClaim, with its status if it has one."""
    check_metadata(found, claim.metadata, namespaced=True)
    check_devices(found, ("spec", "devices"), claim.spec.devices)
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


def check_devices(found: Findings, path: Path, claim: DeviceClaim) -> None:
    """``spec.devices`` of a claim."""
    requests = claim.requests or ()
    check_requests(found, (*path, "requests"), requests)
    names = set(_reference_names(requests))
    constraints = claim.constraints or ()
    found.at_most((*path, "constraints"), constraints, CONSTRAINTS_MAX)
    for index, constraint in enumerate(constraints):
        _check_constraint(found, (*path, "constraints", index), constraint, names)
    check_configs(found, (*path, "config"), claim.config)
    for index, entry in enumerate(claim.config or ()):
        _check_references(found, (*path, "config", index, "requests"), entry.requests, names)
    _check_derived_used(found, (*path, "requests"), requests, constraints)


def _reference_names(requests: Iterable[DeviceRequest]) -> Iterator[str]:
    for request in requests:
        yield request.name
        yield from (f"{request.name}/{alternative.name}" for alternative in request.first_available or ())


def _check_references(found: Findings, path: Path, listed: tuple[str, ...] | None, names: set[str]) -> None:
    if not listed:
        return
    found.at_most(path, listed, REFERENCES_MAX)
    found.unique(path, listed)
    detail = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
    for index, name in enumerate(listed):
        if name not in names:
            found.invalid((*path, index), name, detail)


def _check_constraint(found: Findings, path: Path, constraint: DeviceConstraint, names: set[str]) -> None:
    _check_references(found, (*path, "requests"), constraint.requests, names)
    match, distinct = constraint.match_attribute, constraint.distinct_attribute
    if match is None and distinct is None:
        found.required(path, "exactly one of `matchAttribute` or `distinctAttribute` is required")
    if match is not None:
        check_fully_qualified(found, (*path, "matchAttribute"), match)
    if distinct is not None:
        check_fully_qualified(found, (*path, "distinctAttribute"), distinct)
    if match is not None and distinct is not None:
        found.warning((*path, "distinctAttribute"), "ignored: only `matchAttribute` is evaluated (CLM-2)")


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

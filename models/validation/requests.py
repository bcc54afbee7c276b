"""Requests of a claim: exact ones and lists of alternatives (dra-semantics 2.3)."""

from ..claims import CapacityRequirements, DeviceDerivedAttribute, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from .amounts import check_quantity
from .checked_names import check_fully_qualified, check_label, check_subdomain
from .findings import LIMIT, STRUCTURE, Findings, Key, Path
from .selectors import check_expression, check_selectors
from .taints import check_tolerations

REQUESTS_MAX = 32
ALTERNATIVES_MAX = 8
_MODES = ("All", "ExactCount")
_FORMS = "exactly one of `exactly` or `firstAvailable` is required"


def check_requests(found: Findings, path: Path, requests: tuple[DeviceRequest, ...] | None) -> None:
    """All requests of a claim. Results name their request, so two of one name are not to be told apart."""
    found.at_most(path, requests, REQUESTS_MAX)
    found.unique(path, (request.name for request in requests or ()), ("name",), STRUCTURE)
    for index, request in enumerate(requests or ()):
        _check_request(found, (*path, index), request)


def _check_request(found: Findings, path: Path, request: DeviceRequest) -> None:
    _check_name(found, (*path, "name"), request.name)
    if request.exactly is None and not request.first_available:
        found.required(path, _FORMS, STRUCTURE)
    if request.exactly is not None and request.first_available:
        found.invalid(path, "{`exactly`, `firstAvailable`}", f"{_FORMS}, but both are set", STRUCTURE)
    if request.exactly is not None:
        _check_wish(found, (*path, "exactly"), request.exactly)
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
        _check_wish(found, (*path, index), alternative)


def _check_wish(found: Findings, path: Path, wish: ExactDeviceRequest | DeviceSubRequest) -> None:
    check_subdomain(found, (*path, "deviceClassName"), wish.device_class_name)
    check_selectors(found, (*path, "selectors"), wish.selectors)
    _check_mode(found, path, wish.allocation_mode, wish.count or 0)
    check_tolerations(found, (*path, "tolerations"), wish.tolerations)
    if wish.capacity is not None:
        _check_capacity(found, (*path, "capacity", "requests"), wish.capacity)
    if wish.derived_attributes:
        _check_derived(found, (*path, "derivedAttributes"), wish.derived_attributes)


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
        check_quantity(found, (*path, Key(name)), text)


def _check_derived(found: Findings, path: Path, derived: tuple[DeviceDerivedAttribute, ...]) -> None:
    found.unique(path, (attribute.name for attribute in derived), ("name",), STRUCTURE)
    for index, attribute in enumerate(derived):
        check_fully_qualified(found, (*path, index, "name"), attribute.name)
        check_expression(found, (*path, index, "expression"), attribute.expression)

"""What is asked, resolved: each exact request or alternative with its class (an *ask*), and checked (section 6).

What the expressions and constraints of a question can see of devices: the rest makes no difference to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..cel.devices import Path
from ..models.kubernetes.claims import DeviceClass, DeviceRequest, DeviceSelector, DeviceSubRequest, ExactDeviceRequest
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.quantity import Quantity
from .messages import FatalError, Message, Placeholder

EXACT_COUNT = "ExactCount"
ALL = "All"
RequestSpec = ExactDeviceRequest | DeviceSubRequest


@dataclass(frozen=True, slots=True)
class Alternative:
    """An alternative of a list request, or (without a name) an exact request."""

    name: str
    spec: RequestSpec


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedRequest:
    """An exact request or one alternative of a list, before it is known which devices there are."""

    claim: int
    request: str
    subrequest: str
    spec: RequestSpec
    device_class: DeviceClass
    capacity: Mapping[str, Quantity]

    @property
    def own_name(self) -> str:
        """Name of the request or the alternative, whichever this is."""
        return self.subrequest or self.request

    @property
    def admin(self) -> bool:
        """Asks for admin access; alternatives cannot."""
        return isinstance(self.spec, ExactDeviceRequest) and bool(self.spec.admin_access)

    @property
    def all_devices(self) -> bool:
        """Asks for every matching device instead of a count."""
        return self.spec.allocation_mode == ALL


def alternatives(claim: int, request: DeviceRequest, gates: FeatureGates) -> tuple[Alternative, ...]:
    """List what a request consists of: itself, or its alternatives. Raises ``FatalError`` (PRE-1, PRE-2)."""
    if request.exactly is not None:
        _check_capacity(claim, "request", request.name, request.exactly, gates)
        return (Alternative("", request.exactly),)
    if request.first_available is None:
        raise _request_error(claim, "request", request.name, "neither exactly nor firstAvailable is set")
    if not gates.prioritized_list:
        problem = "has subrequests, but the DRAPrioritizedList feature is disabled"
        raise _request_error(claim, "request", request.name, problem)
    for sub in request.first_available:
        _check_capacity(claim, "subrequest", sub.name, sub, gates)
    return tuple(Alternative(sub.name, sub) for sub in request.first_available)


def resolve_request(
    claim: int, request: str, alternative: Alternative, classes: Mapping[str, DeviceClass], gates: FeatureGates
) -> ResolvedRequest:
    """Check an exact request or alternative and look up its class. Raises ``FatalError`` (PRE-3 to PRE-6)."""
    spec = alternative.spec
    name = alternative.name or request
    if spec.derived_attributes and not gates.derived_attributes:
        problem = "cannot handle request with derived attributes, the feature is disabled"
        raise _request_error(claim, "request", name, problem)
    _check_selectors(claim, name, spec.selectors or ())
    if isinstance(spec, ExactDeviceRequest) and spec.admin_access is not None and not gates.admin_access:
        raise _request_error(claim, "request", name, "admin access is requested, but the feature is disabled")
    device_class = _device_class(claim, name, spec.device_class_name, classes)
    return ResolvedRequest(claim, request, alternative.name, spec, device_class, _requested_capacity(claim, name, spec))


def _request_error(claim: int, kind: str, name: str, problem: str, rule: str = "request") -> FatalError:
    return FatalError(rule, ("claim ", Placeholder.CLAIM, f", {kind} {name}: {problem}"), claim=claim)


def _check_capacity(claim: int, kind: str, name: str, spec: RequestSpec, gates: FeatureGates) -> None:
    """PRE-2; the stable variant has never heard of capacity requests and does not mind them."""
    if spec.capacity is not None and not gates.consumable_capacity and gates.variant != "stable":
        problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        raise _request_error(claim, kind, name, problem)


def _check_selectors(claim: int, name: str, selectors: tuple[DeviceSelector, ...]) -> None:
    for index, selector in enumerate(selectors):
        if selector.cel is None:
            place = f", request {name}, selector #{index}"
            message: Message = (
                "claim ",
                Placeholder.CLAIM,
                f"{place}: CEL expression empty (unsupported selector type?)",
            )
            raise FatalError("request", message, claim=claim)


def _device_class(claim: int, name: str, class_name: str, classes: Mapping[str, DeviceClass]) -> DeviceClass:
    if not class_name:
        raise _request_error(claim, "request", name, "missing device class name (unsupported request type?)")
    if class_name not in classes:
        missing = f'could not retrieve device class {class_name}: deviceclass.resource.k8s.io "{class_name}" not found'
        raise _request_error(claim, "request", name, missing, "deviceClass")
    return classes[class_name]


def _requested_capacity(claim: int, name: str, spec: RequestSpec) -> dict[str, Quantity]:
    requests = (spec.capacity.requests if spec.capacity else None) or {}
    try:
        return {capacity: Quantity.parse(amount) for capacity, amount in requests.items()}
    except ValueError as error:
        raise _request_error(claim, "request", name, f"bad capacity: {error}") from None


ATTRIBUTES = "attributes"


@dataclass(frozen=True, slots=True)
class VisibleAttributes:
    """Which attributes are looked at: those on the ``paths`` of expressions, and those that constraints name.

    ``names`` are compared, so that devices match by them; ``coordinates`` only say where devices stand. Of all of them
    the values are seen; which attributes there are, and everything else of a device, can always be seen.
    """

    paths: frozenset[Path] = frozenset()
    names: frozenset[str] = frozenset()
    coordinates: frozenset[str] = frozenset()

    def joined(self, other: VisibleAttributes) -> VisibleAttributes:
        """What either of two sees: devices that look the same so look the same to each."""
        return VisibleAttributes(
            self.paths | other.paths, self.names | other.names, self.coordinates | other.coordinates
        )

    def of(self, driver: str, attributes: Iterable[str]) -> tuple[str, ...]:
        """List the names that are seen among those of a device's attributes."""
        return tuple(name for name in attributes if self._sees(driver, name))

    def _sees(self, driver: str, name: str) -> bool:
        """CEL-10, CON-2: a name without a domain is the driver's."""
        domain, slash, identifier = name.partition("/")
        path = (ATTRIBUTES, domain, identifier) if slash else (ATTRIBUTES, driver, name)
        if any(path[:length] in self.paths for length in range(len(path) + 1)):
            return True
        full = f"{driver}/{name}"
        return any(one in known for known in (self.names, self.coordinates) for one in (name, full))


ALL_VISIBLE = VisibleAttributes(frozenset({()}))

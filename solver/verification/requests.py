"""What a claim asks for, and whether the results of its allocation answer it.

Results answer requests one for one (sections 6 and 14, read anew), repeat fields of request and device, come with the
configuration of classes and claim (section 15), and are usable on the right nodes (RES-7). Specs of claims are read
once for all claims that have the same spec, such as those made from one template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from ...models.cluster.node_fit import NAME_FIELD
from ...models.kubernetes import claims
from ...models.kubernetes.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ...models.kubernetes.gates import FeatureGates
from .published import Finding, PublishedDevice
from .state import device_id

Results: TypeAlias = Sequence[claims.DeviceRequestAllocationResult]
EXACT_COUNT, ALL = "ExactCount", "All"
MAX_RESULTS = 32


def is_admin(requested: claims.RequestSpec) -> bool:
    """Whether admin access is asked for; alternatives cannot."""
    return isinstance(requested, claims.ExactDeviceRequest) and bool(requested.admin_access)


def all_requested(claim: claims.ResourceClaim) -> Iterator[tuple[str, claims.RequestSpec]]:
    """All exact requests and alternatives, by the name that results would use."""
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            yield request.name, request.exactly
        for alternative in request.first_available or ():
            yield f"{request.name}/{alternative.name}", alternative


def selected_requests(claim: claims.ResourceClaim, used: Collection[str]) -> dict[str, claims.RequestSpec]:
    """Pick the exact requests, and the alternatives that have results, by name in the order of the claim.

    ``used`` are the names in results.
    """
    return {
        name: requested
        for name, requested in all_requested(claim)
        if isinstance(requested, claims.ExactDeviceRequest) or name in used
    }


def result_shape_findings(
    claim: claims.ResourceClaim, used: Sequence[str], chosen: Mapping[str, claims.RequestSpec]
) -> Iterator[Finding]:
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
    for name, requested in chosen.items():
        if requested.allocation_mode == EXACT_COUNT and numbers[name] != (requested.count or 0):
            yield Finding("PRE-7", f"request {name} has {numbers[name]} devices, not {requested.count or 0}")
        if requested.allocation_mode == ALL and not numbers[name]:
            yield Finding("SRCH-6", f"request {name} asks for all devices and has none")


def repeated_device_findings(results: Results) -> Iterator[Finding]:
    """DEV-13: requests that have a device twice."""
    if len(results) < 2:
        return
    taken = [(result.request, device_id(result)) for result in results]
    if len(set(taken)) < len(taken):
        for name in dict.fromkeys(name for (name, _), times in Counter(taken).items() if times > 1):
            yield Finding("DEV-13", f"request {name} has a device twice")


def unsupported_findings(
    claim: claims.ResourceClaim, classes: Mapping[str, claims.DeviceClass], gates: FeatureGates
) -> Iterator[Finding]:
    """PRE-1 to PRE-6, PRE-10, PRE-12: what no allocator takes, also in alternatives that were not chosen."""
    for request in claim.spec.devices.requests or ():
        if request.first_available and not gates.prioritized_list:
            yield Finding("PRE-1", f"request {request.name} has alternatives, and that feature is off")
    for name, requested in all_requested(claim):
        for rule, problem in _request_problems(requested, classes, gates):
            yield Finding(rule, f"request {name}: {problem}")
    for constraint in claim.spec.devices.constraints or ():
        has_distinct = constraint.distinct_attribute is not None and gates.variant != "stable"
        has_cel = constraint.cel is not None and gates.cel_device_constraint
        if constraint.match_attribute is None and not has_distinct and not has_cel:
            yield Finding("PRE-12", "a constraint has no type that is known")


def _request_problems(
    requested: claims.RequestSpec, classes: Mapping[str, claims.DeviceClass], gates: FeatureGates
) -> Iterator[tuple[str, str]]:
    # The stable variant has never heard of capacity requests.
    if requested.capacity is not None and not gates.consumable_capacity and gates.variant != "stable":
        yield "PRE-2", "capacity is requested, and that feature is off"
    if requested.derived_attributes and not gates.derived_attributes:
        yield "PRE-3", "attributes are derived, and that feature is off"
    if any(selector.cel is None for selector in requested.selectors or ()):
        yield "PRE-4", "a selector has no expression"
    if (
        isinstance(requested, claims.ExactDeviceRequest)
        and requested.admin_access is not None
        and not gates.admin_access
    ):
        yield "PRE-5", "admin access is requested, and that feature is off"
    if requested.device_class_name not in classes:
        yield "PRE-6", f"there is no device class {requested.device_class_name!r}"
    if requested.allocation_mode not in (EXACT_COUNT, ALL):
        yield "PRE-10", f"there is no allocation mode {requested.allocation_mode!r}"


@dataclass(frozen=True, slots=True)
class ResultReading:
    """The requests that results of certain names answer, what is wrong with that, and the configs that they need."""

    chosen: Mapping[str, claims.RequestSpec]
    misshapen: tuple[Finding, ...]
    configs: _WantedConfigs


class ClaimReading:
    """A claim's spec, read; nothing else of the claim counts here.

    ``unsupported_findings`` is what no allocator takes. ``for_all`` is who asks for all devices, if only as
    an alternative.
    """

    def __init__(
        self, claim: claims.ResourceClaim, classes: Mapping[str, claims.DeviceClass], gates: FeatureGates
    ) -> None:
        self._claim = claim
        self._classes = classes
        self.unsupported = tuple(unsupported_findings(claim, classes, gates))
        self.for_all = tuple(one for one in all_requested(claim) if one[1].allocation_mode == ALL)
        self._answers: dict[tuple[str, ...], ResultReading] = {}

    def answer(self, used: tuple[str, ...]) -> ResultReading:
        """Read results that have these names, in this order."""
        found = self._answers.get(used)
        if found is None:
            chosen = selected_requests(self._claim, used)
            misshapen = tuple(result_shape_findings(self._claim, used, chosen))
            configs = wanted_configs(self._claim, chosen, self._classes)
            found = self._answers[used] = ResultReading(chosen, misshapen, configs)
        return found


class ClaimReadings:
    """The specs of claims, each read once: by identity, and by all that they say."""

    def __init__(self, classes: Mapping[str, claims.DeviceClass], gates: FeatureGates) -> None:
        self._classes = classes
        self._gates = gates
        # With the spec itself, so that its id is no other's.
        self._known: dict[int, tuple[claims.ResourceClaimSpec, ClaimReading]] = {}
        self._by_content: dict[bytes, ClaimReading] = {}

    def of(self, claim: claims.ResourceClaim) -> ClaimReading:
        """Return the reading of the claim's spec."""
        known = self._known.get(id(claim.spec))
        if known is not None:
            return known[1]
        content = _spec_content(claim.spec)
        found = None if content is None else self._by_content.get(content)
        if found is None:
            found = ClaimReading(claim, self._classes, self._gates)
            if content is not None:
                self._by_content[content] = found
        self._known[id(claim.spec)] = claim.spec, found
        return found


def _spec_content(spec: claims.ResourceClaimSpec) -> bytes | None:
    """All that a spec says; None where that cannot be written, as with parameters of drivers, which may be anything."""
    if spec.devices.config:
        return None
    try:
        return msgspec.msgpack.encode(spec)
    except (TypeError, ValueError, OverflowError):
        return None


_Config: TypeAlias = tuple[str, tuple[str, ...], Any]
"""Source, requests and parameters of an entry."""
_WantedConfigs: TypeAlias = tuple[Sequence[_Config], Sequence[_Config]]
"""The config entries that an allocation must have: those of classes, then those of the claim."""


def has_copied_fields(
    result: claims.DeviceRequestAllocationResult, requested: claims.RequestSpec, entry: PublishedDevice
) -> bool:
    """Whether there is anything that is repeated, or should be (RES-2); nearly always there is nothing."""
    device = entry.device
    return bool(
        is_admin(requested)
        or result.admin_access is not None
        or result.tolerations
        or requested.tolerations
        or result.binding_conditions
        or device.binding_conditions
        or result.binding_failure_conditions
        or device.binding_failure_conditions
        or result.skip_node_operations
        or entry.slice.spec.skip_node_operations
    )


def copied_field_findings(
    result: claims.DeviceRequestAllocationResult,
    requested: claims.RequestSpec,
    entry: PublishedDevice,
    gates: FeatureGates,
) -> Iterator[Finding]:
    """RES-2: what a result repeats of its request and its device."""
    device, binds = entry.device, gates.binding_conditions
    skipped = entry.slice.spec.skip_node_operations if gates.optional_node_operations else None
    expected: dict[str, tuple[Any, Any]] = {
        "adminAccess": (result.admin_access, is_admin(requested) or None),
        "tolerations": (result.tolerations or (), requested.tolerations or ()),
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


def wanted_configs(
    claim: claims.ResourceClaim, chosen: Mapping[str, claims.RequestSpec], classes: Mapping[str, claims.DeviceClass]
) -> _WantedConfigs:
    """RES-3 to RES-5; ``chosen`` are the requests that have results, by name, in order."""
    of_classes: list[_Config] = []
    # Each class once, for all that used it.
    for name in dict.fromkeys(requested.device_class_name for requested in chosen.values()):
        users = tuple(request for request, requested in chosen.items() if requested.device_class_name == name)
        named, known = _named_requests(users, chosen), classes.get(name)
        of_classes += [("FromClass", named, entry.opaque) for entry in (known.spec.config if known else None) or ()]
    # Entries for everything, for a request, or for an alternative that was chosen.
    names = chosen.keys() | {request.name for request in claim.spec.devices.requests or ()}
    of_claim = [
        ("FromClaim", _named_requests(entry.requests or (), chosen), entry.opaque)
        for entry in claim.spec.devices.config or ()
        if not entry.requests or not names.isdisjoint(entry.requests)
    ]
    return of_classes, of_claim


def _named_requests(named: tuple[str, ...], chosen: Mapping[str, claims.RequestSpec]) -> tuple[str, ...]:
    """RES-5: naming every request is naming none."""
    return () if all(name in named or name.partition("/")[0] in named for name in chosen) else named


def config_findings(required: _WantedConfigs, allocation: claims.AllocationResult) -> Iterator[Finding]:
    """RES-3 to RES-5: whether an allocation has the config entries that it must have."""
    of_classes, of_claim = required
    if not (allocation.devices.config or of_classes or of_claim):
        return
    found = [(entry.source, entry.requests or (), entry.opaque) for entry in allocation.devices.config or ()]
    if found == [*of_classes, *of_claim]:
        return
    number = sum(source != "FromClaim" for source, _, _ in found)
    for rule, there, wanted in (("RES-3", found[:number], of_classes), ("RES-4", found[number:], of_claim)):
        unnamed, unnamed_wanted = ([(source, opaque) for source, _, opaque in part] for part in (there, wanted))
        if unnamed != unnamed_wanted:
            yield Finding(rule, f"the config entries are {there!r}, not {wanted!r}")
        elif there != wanted:
            yield Finding("RES-5", f"config entries are for {there!r}, not {wanted!r}")


SelectorRequirement: TypeAlias = tuple[str, str, str, frozenset[str]]
"""Whether it is about a label or a field, key, operator and values."""


def node_selector_findings(
    entries: Sequence[PublishedDevice], node: Node, found: NodeSelector | None, gates: FeatureGates
) -> Iterator[Finding]:
    """Compare the selector of an allocation with what its devices demand; the order of requirements is free.

    The stable variant has never heard of devices that bind to a node (FEAT-3).
    """
    wanted: list[SelectorRequirement] = []
    for entry in entries:
        place = entry.place
        if place.node_name or (entry.device.binds_to_node and gates.variant != "stable"):
            wanted = [("field", NAME_FIELD, "In", frozenset({node.metadata.name}))]
            break
        selector = None if place.all_nodes else place.node_selector
        terms = (selector.node_selector_terms if selector else None) or ()
        if len(terms) > 1:
            yield Finding("RES-7", f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms")
        wanted += [requirement for term in terms for requirement in _requirements(term) if requirement not in wanted]
    terms = (found.node_selector_terms if found else None) or ()
    there, demanded = [_requirements(term) for term in terms], [wanted] if wanted else []
    same = there == demanded or sorted(map(_sorted_requirements, there)) == list(map(_sorted_requirements, demanded))
    if (found is not None) != bool(wanted) or not same:
        yield Finding("RES-7", f"the node selector demands {there}, not {wanted}")


def _sorted_requirements(requirements: Sequence[SelectorRequirement]) -> list[tuple[str, str, str, list[str]]]:
    return sorted((kind, key, operator, sorted(values)) for kind, key, operator, values in requirements)


def _requirements(term: NodeSelectorTerm) -> list[SelectorRequirement]:
    labels = [_as_requirement("label", requirement) for requirement in term.match_expressions or ()]
    return labels + [_as_requirement("field", requirement) for requirement in term.match_fields or ()]


def _as_requirement(kind: str, requirement: NodeSelectorRequirement) -> SelectorRequirement:
    return kind, requirement.key, requirement.operator, frozenset(requirement.values or ())

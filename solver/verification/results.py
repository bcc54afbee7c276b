"""The result document of a claim: configs, copies and the node selector (section 15, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...models.claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceClass,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from ...models.core import Node, NodeSelector, NodeSelectorRequirement
from ...models.gates import FeatureGates
from .published import Published, node_name_of, selector_of

Asked = ExactDeviceRequest | DeviceSubRequest


def copies(
    result: DeviceRequestAllocationResult, asked: Asked, entry: Published, gates: FeatureGates
) -> Iterator[str]:
    """RES-2: what a result repeats of its request and its device."""
    admin = isinstance(asked, ExactDeviceRequest) and asked.admin_access
    binds = gates.binding_conditions
    expected = {
        "adminAccess": (result.admin_access, admin or None),
        "tolerations": (result.tolerations or (), asked.tolerations or ()),
        "bindingConditions": (result.binding_conditions or (), entry.device.binding_conditions or () if binds else ()),
        "bindingFailureConditions": (
            result.binding_failure_conditions or (),
            entry.device.binding_failure_conditions or () if binds else (),
        ),
        "skipNodeOperations": (result.skip_node_operations or (), entry.slice.spec.skip_node_operations or ()),
    }
    for field, (found, wanted) in expected.items():
        if found != wanted:
            yield f"RES-2: {field} of {result.request} is {found!r}, not {wanted!r}"


def configs(
    claim: ResourceClaim,
    selected: Mapping[str, Asked],
    classes: Mapping[str, DeviceClass],
    allocation: AllocationResult,
) -> Iterator[str]:
    """RES-3 to RES-5; ``selected`` maps the names used (``name`` or ``name/sub``) to what was asked, in order."""
    expected = [*_from_classes(selected, classes), *_from_claim(claim, selected)]
    wanted = tuple(_widened(entry, selected) for entry in expected)
    if (allocation.devices.config or ()) != wanted:
        yield f"RES-3: the config entries are {allocation.devices.config or ()!r}, not {wanted!r}"


def _from_classes(
    selected: Mapping[str, Asked], classes: Mapping[str, DeviceClass]
) -> Iterator[DeviceAllocationConfiguration]:
    names = dict.fromkeys(asked.device_class_name for asked in selected.values())
    for name in names:
        users = tuple(request for request, asked in selected.items() if asked.device_class_name == name)
        for entry in classes[name].spec.config or () if name in classes else ():
            yield DeviceAllocationConfiguration(source="FromClass", requests=users, opaque=entry.opaque)


def _from_claim(claim: ResourceClaim, selected: Mapping[str, Asked]) -> Iterator[DeviceAllocationConfiguration]:
    used = {name for request in selected for name in (request, request.split("/")[0])}
    main = {request.name for request in claim.spec.devices.requests or ()}
    for entry in claim.spec.devices.config or ():
        if not entry.requests or any(name in main or name in used for name in entry.requests):
            yield DeviceAllocationConfiguration(source="FromClaim", requests=entry.requests, opaque=entry.opaque)


def _widened(entry: DeviceAllocationConfiguration, selected: Mapping[str, Asked]) -> DeviceAllocationConfiguration:
    """RES-5: naming every request is naming none."""
    named = set(entry.requests or ())
    everywhere = all(request in named or request.split("/")[0] in named for request in selected)
    requests = None if everywhere else entry.requests
    return DeviceAllocationConfiguration(source=entry.source, requests=requests, opaque=entry.opaque)


def node_selector(entries: Sequence[Published], node: Node, allocation: AllocationResult) -> Iterator[str]:
    """RES-7."""
    found = _requirements(allocation.node_selector)
    if any(node_name_of(entry) or entry.device.binds_to_node for entry in entries):
        wanted = {("field", "metadata.name", "In", frozenset({node.metadata.name}))}
    else:
        wanted = set().union(*(_requirements(selector_of(entry)) for entry in entries))
    if found != wanted or bool(found) != (allocation.node_selector is not None):
        yield f"RES-7: the node selector is {sorted(map(str, found))}, not {sorted(map(str, wanted))}"


Requirement = tuple[str, str, str, frozenset[str]]


def _requirements(selector: NodeSelector | None) -> set[Requirement]:
    found: set[Requirement] = set()
    for term in (selector.node_selector_terms if selector else None) or ():
        found |= {_plain("label", requirement) for requirement in term.match_expressions or ()}
        found |= {_plain("field", requirement) for requirement in term.match_fields or ()}
    return found


def _plain(kind: str, requirement: NodeSelectorRequirement) -> Requirement:
    return kind, requirement.key, requirement.operator, frozenset(requirement.values or ())

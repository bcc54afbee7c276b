"""Node selectors, and the choice of one way to say which nodes a slice or device serves (SLC-1)."""

import re
from collections.abc import Callable

from ..core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ..slices import Device, ResourceSliceSpec
from . import names
from .findings import LIMIT, STRUCTURE, Category, Findings, Path

_is_integer = re.compile("[+-]?[0-9]+").fullmatch

RequirementRule = Callable[[Findings, Path, NodeSelectorRequirement], None]


def _check_values(found: Findings, path: Path, requirement: NodeSelectorRequirement) -> None:
    if not requirement.values:
        found.required((*path, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
    for index, value in enumerate(requirement.values or ()):
        found.each_invalid((*path, "values", index), value, names.label_value(value))


def _check_no_values(found: Findings, path: Path, requirement: NodeSelectorRequirement) -> None:
    if requirement.values:
        found.forbidden((*path, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


def _check_bound(found: Findings, path: Path, requirement: NodeSelectorRequirement) -> None:
    values = requirement.values or ()
    if len(values) != 1:
        found.required((*path, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif not _is_integer(values[0]):
        found.warning((*path, "values", 0), "not an integer: the selector cannot be evaluated (NODE-2)")


_OPERATORS: dict[str, RequirementRule] = {
    "In": _check_values,
    "NotIn": _check_values,
    "Exists": _check_no_values,
    "DoesNotExist": _check_no_values,
    "Gt": _check_bound,
    "Lt": _check_bound,
}


def _check_expression(found: Findings, path: Path, requirement: NodeSelectorRequirement) -> None:
    found.each_invalid((*path, "key"), requirement.key, names.label_key(requirement.key))
    rule = _OPERATORS.get(requirement.operator)
    if rule is None:
        found.invalid((*path, "operator"), requirement.operator, "not a valid selector operator")
    else:
        rule(found, path, requirement)


def _check_field(found: Findings, path: Path, requirement: NodeSelectorRequirement) -> None:
    if requirement.key != "metadata.name":
        found.invalid((*path, "key"), requirement.key, "not a valid field selector key")
    if requirement.operator not in ("In", "NotIn"):
        found.invalid((*path, "operator"), requirement.operator, "not a valid selector operator")
    elif len(requirement.values or ()) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.required((*path, "values"), detail)
    for index, value in enumerate(requirement.values or ()):
        found.each_invalid((*path, "values", index), value, names.subdomain(value))


def _check_term(found: Findings, path: Path, term: NodeSelectorTerm) -> None:
    for index, requirement in enumerate(term.match_expressions or ()):
        _check_expression(found, (*path, "matchExpressions", index), requirement)
    for index, requirement in enumerate(term.match_fields or ()):
        _check_field(found, (*path, "matchFields", index), requirement)


def check_node_selector(found: Findings, path: Path, selector: NodeSelector, one_term: bool = False) -> None:
    """Check a node selector; slices may have one term only, devices and pods any number above zero (RES-7)."""
    path = (*path, "nodeSelectorTerms")
    terms = selector.node_selector_terms or ()
    if one_term and len(terms) != 1:
        found.invalid(path, len(terms), "must have exactly one node selector term")
    elif not terms:
        found.required(path, "must have at least one node selector term")
    for index, term in enumerate(terms):
        _check_term(found, (*path, index), term)


def _ways(owner: ResourceSliceSpec | Device) -> list[str]:
    """List the node fields that are set, by API name; ``""`` and ``false`` are rejected, not counted."""
    ways = {
        "nodeName": owner.node_name,
        "nodeSelector": owner.node_selector is not None,
        "allNodes": owner.all_nodes,
    }
    return [name for name, value in ways.items() if value]


def _check_fields(found: Findings, path: Path, owner: ResourceSliceSpec | Device, one_term: bool) -> None:
    if owner.node_name == "":
        found.invalid((*path, "nodeName"), "", "must be either unset or set to a non-empty string")
    elif owner.node_name and (complaints := names.subdomain(owner.node_name)):
        found.each_invalid((*path, "nodeName"), owner.node_name, complaints)
    if owner.node_selector is not None:
        check_node_selector(found, (*path, "nodeSelector"), owner.node_selector, one_term)
    if owner.all_nodes is False:
        found.invalid((*path, "allNodes"), False, "must be either unset or set to true")


def _check_one(found: Findings, path: Path, ways: list[str], offered: str, category: Category) -> None:
    if not ways:
        found.required(path, f"exactly one of {offered} is required")
    elif len(ways) > 1:
        listed = ", ".join(f"`{way}`" for way in ways)
        detail = f"exactly one of {offered} is required, but multiple fields are set"
        found.invalid(path, f"{{{listed}}}", detail, category)


def check_slice_nodes(found: Findings, path: Path, spec: ResourceSliceSpec) -> None:
    """SLC-1. Allocation has an order for three of the fields (NODE-1), but none for per-device selection with them."""
    _check_fields(found, path, spec, one_term=True)
    if spec.per_device_node_selection is False:
        found.invalid((*path, "perDeviceNodeSelection"), False, "must be either unset or set to true")
    ways = _ways(spec)
    if spec.per_device_node_selection:
        ways.append("perDeviceNodeSelection")
    offered = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
    _check_one(found, path, ways, offered, STRUCTURE if spec.per_device_node_selection else LIMIT)


def check_device_nodes(found: Findings, path: Path, device: Device, per_device: bool) -> None:
    """Check that a device names its nodes if, and only if, its slice leaves it to the devices."""
    _check_fields(found, path, device, one_term=False)
    ways = _ways(device)
    if per_device:
        _check_one(found, path, ways, "`nodeName`, `nodeSelector`, `allNodes`", LIMIT)
        return
    for way in ways:
        detail = "may not be set unless the slice has `perDeviceNodeSelection`"
        found.forbidden((*path, way), detail)

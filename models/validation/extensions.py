"""ConstraintGroups: which claims are meant, and entries across them.

A selector that cannot be evaluated, and a group about nothing, have no meaning: that is never lifted.

DeviceTopologies: what each shape needs, and what it may not have.

A topology that breaks a rule of its shape has no meaning: that is never lifted. Names of attributes are a limit.

NodeTemplates: what a node would cost and hold.

A price that is no number, and places that a bought node cannot have, have no meaning: that is never lifted.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ..kubernetes.extensions import (
    LATTICES,
    SCOPES,
    SHAPES,
    STRAIGHT,
    ConstraintGroup,
    ConstraintGroupSpec,
    DeviceTopology,
    DeviceTopologySpec,
    Entry,
    LabelSelector,
    NodeTemplate,
    TemplateSlice,
    is_decimal,
)
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import LabelError, label_complaints, label_key_complaints, subdomain_complaints
from ..kubernetes.slices import ResourceSliceSpec
from ..topology.places import MOST_CELLS
from .annotations import REFERENCES_MAX, check_entries
from .findings import (
    STRUCTURE,
    Findings,
    Path,
    check_driver,
    check_fully_qualified,
    check_label,
    check_label_map,
    check_metadata,
    check_subdomain,
)
from .nodes import check_amounts, check_node_taints
from .slices import check_published

CLAIMS_MAX = 1024
_LABEL_OPERATORS = ("DoesNotExist", "Exists", "In", "NotIn")


def check_group(found: Findings, group: ConstraintGroup) -> None:
    """Check a ConstraintGroup; whether its claims are there, only all objects together can tell."""
    check_metadata(found, group.metadata, namespaced=True)
    spec, path = group.spec, ("spec",)
    _check_selects_claims(found, path, spec)
    _check_claim_names(found, path, spec)
    for field, selector in (("claimSelector", spec.claim_selector), ("podSelector", spec.pod_selector)):
        if selector is not None:
            _check_label_selector(found, (*path, field), selector)
    if not spec.constraints and not spec.same_node_label:
        found.required(path, "at least one of `constraints` or `sameNodeLabel` is required", STRUCTURE)
    if spec.same_node_label:
        found.each_invalid((*path, "sameNodeLabel"), spec.same_node_label, label_key_complaints(spec.same_node_label))
    check_entries(
        found,
        (*path, "constraints"),
        spec.constraints or (),
        lambda where, entry: _check_group_requests(found, where, entry),
    )


def _check_selects_claims(found: Findings, path: Path, spec: ConstraintGroupSpec) -> None:
    ways = (spec.claims, spec.pods, spec.claim_selector, spec.pod_selector)
    if all(way is None or way == () for way in ways):
        offered = "`claims`, `claimSelector`, `pods` or `podSelector`"
        found.required(path, f"at least one of {offered} is required", STRUCTURE)


def _check_claim_names(found: Findings, path: Path, spec: ConstraintGroupSpec) -> None:
    found.at_most((*path, "claims"), spec.claims, CLAIMS_MAX)
    found.at_most((*path, "pods"), spec.pods, CLAIMS_MAX)
    found.unique((*path, "claims"), (claim.name for claim in spec.claims or ()), ("name",))
    for index, claim in enumerate(spec.claims or ()):
        check_subdomain(found, (*path, "claims", index, "name"), claim.name)
    for index, pod in enumerate(spec.pods or ()):
        place: Path = (*path, "pods", index)
        if pod.name:
            check_subdomain(found, (*place, "name"), pod.name)
        elif spec.pod_selector is None:
            found.required((*place, "name"), "without a `podSelector`", STRUCTURE)
        for number, name in enumerate(pod.claims or ()):
            check_label(found, (*place, "claims", number), name)


def _check_label_selector(found: Findings, path: Path, selector: LabelSelector) -> None:
    for index, one in enumerate(selector.match_expressions or ()):
        if one.operator not in _LABEL_OPERATORS:
            place: Path = (*path, "matchExpressions", index, "operator")
            found.unsupported(place, one.operator, _LABEL_OPERATORS, STRUCTURE)
            return
    for requirement in selector.requirements:
        try:
            requirement.check()
        except LabelError as error:
            found.error(path, f"Invalid value: {error}", STRUCTURE)


def _check_group_requests(found: Findings, path: Path, entry: Entry) -> None:
    """``REQUEST``, ``CLAIM/REQUEST`` or ``CLAIM/REQUEST/SUBREQUEST``."""
    listed = entry.requests or ()
    found.at_most(path, listed, REFERENCES_MAX)
    found.unique(path, listed)
    for index, text in enumerate(listed):
        if not _is_reference(text):
            detail = "must be the name of a request, after `CLAIM/` for that of one claim only"
            found.invalid((*path, index), text, detail)


def _is_reference(text: str) -> bool:
    claim, slash, own = text.partition("/")
    requests = own.split("/") if slash else [text]
    wrong = [
        *(subdomain_complaints(claim) if slash else ()),
        *(told for name in requests for told in label_complaints(name)),
    ]
    return not wrong and len(requests) <= 2


AXES_MAX = 6
_SPEC_PATH: Path = ("spec",)
_COORDINATES_PATH: Path = (*_SPEC_PATH, "coordinates")
_SIZE_PATH: Path = (*_SPEC_PATH, "size")
_PERIODIC_PATH: Path = (*_SPEC_PATH, "periodic")
_LINKS_PATH: Path = (*_SPEC_PATH, "links")


def check_topology(found: Findings, topology: DeviceTopology) -> None:
    """Check a DeviceTopology (TOPO-1 to TOPO-3)."""
    check_metadata(found, topology.metadata, namespaced=False)
    spec = topology.spec
    _check_driver_or_class(found, spec)
    if spec.scope not in SCOPES:
        found.unsupported((*_SPEC_PATH, "scope"), spec.scope, SCOPES, STRUCTURE)
    if not spec.shape:
        found.required((*_SPEC_PATH, "shape"), category=STRUCTURE)
    elif spec.shape not in SHAPES:
        found.unsupported((*_SPEC_PATH, "shape"), spec.shape, SHAPES, STRUCTURE)
    else:
        _check_shape(found, spec)


def _check_driver_or_class(found: Findings, spec: DeviceTopologySpec) -> None:
    """Check that it is a driver's or a class's devices that it places."""
    if (spec.driver is None) == (spec.device_class_name is None):
        given = "" if spec.driver is None else spec.driver
        found.invalid(_SPEC_PATH, given, "must specify exactly one of: `driver`, `deviceClassName`", STRUCTURE)
    if spec.driver is not None:
        check_driver(found, (*_SPEC_PATH, "driver"), spec.driver)
    if spec.device_class_name is not None:
        check_subdomain(found, (*_SPEC_PATH, "deviceClassName"), spec.device_class_name)


def _check_shape(found: Findings, spec: DeviceTopologySpec) -> None:
    if spec.shape == "Links":
        _forbid_fields(found, spec, ("coordinates", "size", "periodic"))
        _check_links(found, spec)
        return
    others = ("links",) if spec.shape == "Grid" else ("links", "periodic")
    _forbid_fields(found, spec, others if spec.shape in LATTICES else (*others, "size"))
    _check_coordinates(found, spec)
    if spec.size is not None and spec.shape in LATTICES:
        _check_size(found, spec.size, spec)
    if spec.periodic is not None and spec.shape == "Grid":
        _check_number(found, _PERIODIC_PATH, len(spec.periodic), spec)


_FORBIDDEN_BECAUSE = {
    "coordinates": "is not for shape `Links`",
    "size": "is for shapes `Ring`, `Line`, `Grid` and `Torus` only",
    "periodic": "is for shape `Grid` only",
    "links": "is for shape `Links` only",
}
_SHAPE_DEPENDENT_FIELDS: dict[str, Callable[[DeviceTopologySpec], object]] = {
    "coordinates": lambda spec: spec.coordinates,
    "size": lambda spec: spec.size,
    "periodic": lambda spec: spec.periodic,
    "links": lambda spec: spec.links,
}


def _forbid_fields(found: Findings, spec: DeviceTopologySpec, fields: tuple[str, ...]) -> None:
    for field in fields:
        if _SHAPE_DEPENDENT_FIELDS[field](spec) is not None:
            found.forbidden((*_SPEC_PATH, field), _FORBIDDEN_BECAUSE[field], STRUCTURE)


def _check_coordinates(found: Findings, spec: DeviceTopologySpec) -> None:
    names = spec.coordinates or ()
    if not names:
        found.required(_COORDINATES_PATH, category=STRUCTURE)
    elif spec.shape in STRAIGHT and len(names) != 1:
        found.invalid(_COORDINATES_PATH, names, f"shape `{spec.shape}` has exactly one", STRUCTURE)
    elif len(names) > AXES_MAX:
        found.error(_COORDINATES_PATH, f"Too many: {len(names)}: must have at most {AXES_MAX} items", STRUCTURE)
    for index, name in enumerate(names):
        _check_attribute(found, (*_COORDINATES_PATH, index), name)
    found.unique(_COORDINATES_PATH, names, category=STRUCTURE)


def _check_attribute(found: Findings, path: Path, name: str) -> None:
    if name:
        check_fully_qualified(found, path, name)
    else:
        found.required(path, category=STRUCTURE)


def _check_number(found: Findings, path: Path, number: int, spec: DeviceTopologySpec) -> None:
    axes = len(spec.coordinates or ())
    if number != axes:
        found.invalid(path, number, f"must have one item for each of the {axes} coordinates", STRUCTURE)


def _check_size(found: Findings, size: tuple[int, ...], spec: DeviceTopologySpec) -> None:
    _check_number(found, _SIZE_PATH, len(size), spec)
    for index, places in enumerate(size):
        if places < 1:
            found.invalid((*_SIZE_PATH, index), places, "must be greater than zero", STRUCTURE)
    if min(size, default=1) > 0 and prod(size) > MOST_CELLS:
        found.invalid(_SIZE_PATH, size, f"must not make more than {MOST_CELLS} cells", STRUCTURE)


def _check_links(found: Findings, spec: DeviceTopologySpec) -> None:
    if spec.links is None:
        found.required(_LINKS_PATH, category=STRUCTURE)
        return
    _check_attribute(found, (*_LINKS_PATH, "id"), spec.links.id)
    _check_attribute(found, (*_LINKS_PATH, "peers"), spec.links.peers)


def check_node_template(found: Findings, template: NodeTemplate, gates: FeatureGates) -> None:
    """Check a NodeTemplate."""
    check_metadata(found, template.metadata, namespaced=False)
    spec = template.spec
    _check_price(found, spec.price)
    if spec.limit is not None and spec.limit < 0:
        found.invalid((*_SPEC_PATH, "limit"), spec.limit, "must be greater than or equal to 0", STRUCTURE)
    if spec.labels:
        check_label_map(found, (*_SPEC_PATH, "labels"), spec.labels)
    check_node_taints(found, (*_SPEC_PATH, "taints"), spec.taints)
    check_amounts(found, (*_SPEC_PATH, "allocatable"), spec.allocatable)
    for index, one in enumerate(spec.slices or ()):
        _check_template_slice(found, (*_SPEC_PATH, "slices", index), one, gates)


def _check_price(found: Findings, price: str | float | None) -> None:
    if price is None:
        found.required((*_SPEC_PATH, "price"), category=STRUCTURE)
    elif not is_decimal(str(price)):
        detail = "must be a decimal number, at least 0, of at most 12 digits before the point and 6 behind it"
        found.invalid((*_SPEC_PATH, "price"), price, detail, STRUCTURE)


def _check_template_slice(found: Findings, path: Path, one: TemplateSlice, gates: FeatureGates) -> None:
    published = ResourceSliceSpec(
        driver=one.driver,
        devices=one.devices,
        shared_counters=one.shared_counters,
        partition_type_attribute=one.partition_type_attribute,
        skip_node_operations=one.skip_node_operations,
    )
    check_published(found, path, published, gates)

"""ConstraintGroups, DeviceTopologies and NodeTemplates, whose rules are drasat's own.

What has no meaning is never lifted: a selector that cannot be evaluated, a group about nothing, a topology that breaks
a rule of its shape, a price that is no number, places that a bought node cannot have. Names of attributes are a limit.
"""

from __future__ import annotations

from functools import partial
from math import prod

import msgspec

from ..kubernetes import extensions
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import label_complaints, subdomain_complaints
from ..kubernetes.node_templates import NodeTemplate
from ..kubernetes.slices import ResourceSliceSpec
from ..topology.places import MOST_CELLS
from .entries import REFERENCES_MAX, check_entries
from .findings import STRUCTURE, Findings, Path
from .nodes import check_amounts, check_node_taints
from .selectors import check_label_selector
from .slices import check_published

CLAIMS_MAX = 1024


def check_group(findings: Findings, group: extensions.ConstraintGroup) -> None:
    """Check a ConstraintGroup; whether its claims are there, only all objects together can tell."""
    findings.check_metadata(group.metadata, namespaced=True)
    spec, path = group.spec, ("spec",)
    ways = (spec.claims, spec.pods, spec.claim_selector, spec.pod_selector)
    if all(way is None or way == () for way in ways):
        offered = "`claims`, `claimSelector`, `pods` or `podSelector`"
        findings.required(path, f"at least one of {offered} is required", STRUCTURE)
    _check_claim_names(findings, path, spec)
    for field, selector in (("claimSelector", spec.claim_selector), ("podSelector", spec.pod_selector)):
        if selector is not None:
            check_label_selector(findings, (*path, field), selector)
    if not spec.constraints and not spec.same_node_label:
        findings.required(path, "at least one of `constraints` or `sameNodeLabel` is required", STRUCTURE)
    if spec.same_node_label:
        findings.check_label_key((*path, "sameNodeLabel"), spec.same_node_label)
    entries, check_requests = spec.constraints or (), partial(_check_group_requests, findings)
    check_entries(findings, (*path, "constraints"), entries, check_requests)


def _check_claim_names(findings: Findings, path: Path, spec: extensions.ConstraintGroupSpec) -> None:
    findings.at_most((*path, "claims"), spec.claims, CLAIMS_MAX)
    findings.at_most((*path, "pods"), spec.pods, CLAIMS_MAX)
    findings.unique((*path, "claims"), (claim.name for claim in spec.claims or ()), ("name",))
    for index, claim in enumerate(spec.claims or ()):
        findings.check_subdomain((*path, "claims", index, "name"), claim.name)
    for index, pod in enumerate(spec.pods or ()):
        place: Path = (*path, "pods", index)
        if pod.name:
            findings.check_subdomain((*place, "name"), pod.name)
        elif spec.pod_selector is None:
            findings.required((*place, "name"), "without a `podSelector`", STRUCTURE)
        for number, name in enumerate(pod.claims or ()):
            findings.check_label((*place, "claims", number), name)


def _check_group_requests(findings: Findings, path: Path, entry: extensions.Entry) -> None:
    """``REQUEST``, ``CLAIM/REQUEST`` or ``CLAIM/REQUEST/SUBREQUEST``."""
    listed = entry.requests or ()
    findings.at_most(path, listed, REFERENCES_MAX)
    findings.unique(path, listed)
    for index, text in enumerate(listed):
        if not _is_reference(text):
            detail = "must be the name of a request, after `CLAIM/` for that of one claim only"
            findings.invalid((*path, index), text, detail)


def _is_reference(text: str) -> bool:
    claim, slash, own = text.partition("/")
    requests = own.split("/") if slash else [text]
    wrong = [
        *(subdomain_complaints(claim) if slash else ()),
        *(complaint for name in requests for complaint in label_complaints(name)),
    ]
    return not wrong and len(requests) <= 2


AXES_MAX = 6
_SPEC_PATH: Path = ("spec",)
_COORDINATES_PATH: Path = (*_SPEC_PATH, "coordinates")
_SIZE_PATH: Path = (*_SPEC_PATH, "size")
_PERIODIC_PATH: Path = (*_SPEC_PATH, "periodic")
_LINKS_PATH: Path = (*_SPEC_PATH, "links")


def check_topology(findings: Findings, topology: extensions.DeviceTopology) -> None:
    """Check a DeviceTopology (TOPO-1 to TOPO-3)."""
    findings.check_metadata(topology.metadata, namespaced=False)
    spec = topology.spec
    if (spec.driver is None) == (spec.device_class_name is None):
        given = "" if spec.driver is None else spec.driver
        findings.invalid(_SPEC_PATH, given, "must specify exactly one of: `driver`, `deviceClassName`", STRUCTURE)
    if spec.driver is not None:
        findings.check_driver((*_SPEC_PATH, "driver"), spec.driver)
    if spec.device_class_name is not None:
        findings.check_subdomain((*_SPEC_PATH, "deviceClassName"), spec.device_class_name)
    if spec.scope not in extensions.SCOPES:
        findings.unsupported((*_SPEC_PATH, "scope"), spec.scope, extensions.SCOPES, STRUCTURE)
    if findings.check_choice((*_SPEC_PATH, "shape"), spec.shape, extensions.SHAPES, STRUCTURE):
        _check_shape(findings, spec)


def _check_shape(findings: Findings, spec: extensions.DeviceTopologySpec) -> None:
    if spec.shape == "Links":
        _forbid_fields(findings, spec, ("coordinates", "size", "periodic"))
        if spec.links is None:
            findings.required(_LINKS_PATH, category=STRUCTURE)
        else:
            _check_attribute(findings, (*_LINKS_PATH, "id"), spec.links.id)
            _check_attribute(findings, (*_LINKS_PATH, "peers"), spec.links.peers)
        return
    others = ("links",) if spec.shape == "Grid" else ("links", "periodic")
    _forbid_fields(findings, spec, others if spec.shape in extensions.LATTICES else (*others, "size"))
    _check_coordinates(findings, spec)
    if spec.size is not None and spec.shape in extensions.LATTICES:
        _check_size(findings, spec.size, spec)
    if spec.periodic is not None and spec.shape == "Grid":
        _check_number(findings, _PERIODIC_PATH, len(spec.periodic), spec)


_FORBIDDEN_BECAUSE = {
    "coordinates": "is not for shape `Links`",
    "size": "is for shapes `Ring`, `Line`, `Grid` and `Torus` only",
    "periodic": "is for shape `Grid` only",
    "links": "is for shape `Links` only",
}


def _forbid_fields(findings: Findings, spec: extensions.DeviceTopologySpec, fields: tuple[str, ...]) -> None:
    for field in fields:
        if getattr(spec, field) is not None:
            findings.forbidden((*_SPEC_PATH, field), _FORBIDDEN_BECAUSE[field], STRUCTURE)


def _check_coordinates(findings: Findings, spec: extensions.DeviceTopologySpec) -> None:
    names = spec.coordinates or ()
    if not names:
        findings.required(_COORDINATES_PATH, category=STRUCTURE)
    elif spec.shape in extensions.STRAIGHT and len(names) != 1:
        findings.invalid(_COORDINATES_PATH, names, f"shape `{spec.shape}` has exactly one", STRUCTURE)
    elif len(names) > AXES_MAX:
        findings.error(_COORDINATES_PATH, f"Too many: {len(names)}: must have at most {AXES_MAX} items", STRUCTURE)
    for index, name in enumerate(names):
        _check_attribute(findings, (*_COORDINATES_PATH, index), name)
    findings.unique(_COORDINATES_PATH, names, category=STRUCTURE)


def _check_attribute(findings: Findings, path: Path, name: str) -> None:
    if name:
        findings.check_fully_qualified(path, name)
    else:
        findings.required(path, category=STRUCTURE)


def _check_number(findings: Findings, path: Path, number: int, spec: extensions.DeviceTopologySpec) -> None:
    axes = len(spec.coordinates or ())
    if number != axes:
        findings.invalid(path, number, f"must have one item for each of the {axes} coordinates", STRUCTURE)


def _check_size(findings: Findings, size: tuple[int, ...], spec: extensions.DeviceTopologySpec) -> None:
    _check_number(findings, _SIZE_PATH, len(size), spec)
    for index, places in enumerate(size):
        if places < 1:
            findings.invalid((*_SIZE_PATH, index), places, "must be greater than zero", STRUCTURE)
    if min(size, default=1) > 0 and prod(size) > MOST_CELLS:
        findings.invalid(_SIZE_PATH, size, f"must not make more than {MOST_CELLS} cells", STRUCTURE)


def check_node_template(findings: Findings, template: NodeTemplate, gates: FeatureGates) -> None:
    """Check a NodeTemplate."""
    findings.check_metadata(template.metadata, namespaced=False)
    spec = template.spec
    price_path: Path = (*_SPEC_PATH, "price")
    if spec.price is None:
        findings.required(price_path, category=STRUCTURE)
    elif not extensions.is_decimal(str(spec.price)):
        detail = "must be a decimal number, at least 0, of at most 12 digits before the point and 6 behind it"
        findings.invalid(price_path, spec.price, detail, STRUCTURE)
    if spec.limit is not None and spec.limit < 0:
        findings.invalid((*_SPEC_PATH, "limit"), spec.limit, "must be greater than or equal to 0", STRUCTURE)
    if spec.labels:
        findings.check_label_map((*_SPEC_PATH, "labels"), spec.labels)
    check_node_taints(findings, (*_SPEC_PATH, "taints"), spec.taints)
    check_amounts(findings, (*_SPEC_PATH, "allocatable"), spec.allocatable)
    check_amounts(findings, (*_SPEC_PATH, "capacity"), spec.capacity)
    for index, one in enumerate(spec.slices or ()):
        published = ResourceSliceSpec(**msgspec.structs.asdict(one))
        check_published(findings, (*_SPEC_PATH, "slices", index), published, gates)

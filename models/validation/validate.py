"""Validation of everything that was read: the rules of the API server over typed objects (dra-semantics 2).

Fields that an API server with a feature gate off drops on write are reported, never dropped here. Nothing here knows
CEL: ``expressions`` hands the texts to those who can compile them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

from ..formats.decode import Model, api_name
from ..formats.errors import InputProblem, plural
from ..kubernetes import workloads
from ..kubernetes.claims import (
    SEMANTICS_FIELDS,
    DeviceClaim,
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
)
from ..kubernetes.core import LimitRange, Namespace, Node, Pod, RuntimeClass
from ..kubernetes.extensions import ConstraintGroup, DeviceTopology
from ..kubernetes.gates import FeatureGates
from ..kubernetes.karpenter import DRAConfig, InstanceType, NodeClaim, NodeOverlay, NodePool
from ..kubernetes.kinds import INTEGRATION_MODELS, WORKLOAD_MODELS
from ..kubernetes.meta import label_complaints, label_key_complaints
from ..kubernetes.node_templates import NodeTemplate
from ..kubernetes.provisioning import PodTemplate
from ..kubernetes.slices import ResourceSlice
from ..kubernetes.workloads import CompositePodGroup, PodGroup, PriorityClass, Workload
from ..manifests.reader import Manifest, ObjectChecks
from . import nodes
from .claims import check_claim, check_class, check_template
from .devices import has_list
from .extensions import check_group, check_node_template, check_topology
from .findings import STRUCTURE, FieldProblem, Findings, Path, render_path
from .karpenter import check_dra_config, check_instance_type, check_node_claim, check_node_overlay, check_node_pool
from .kueue import check_quota_object
from .nodes import check_claim_entries
from .references import cross_checks, input_problem
from .slices import check_slice

_SPEC_PATH: Path = ("spec",)


def check_workload(findings: Findings, workload: workloads.Workload) -> None:
    """Check a Workload: the names of its groups are unique."""
    findings.check_metadata(workload.metadata, namespaced=True)
    groups, path = workload.spec.pod_groups or (), (*_SPEC_PATH, "podGroups")
    findings.unique(path, (group.name for group in groups), ("name",), STRUCTURE)
    for index, group in enumerate(groups):
        findings.check_label((*path, index, "name"), group.name)
        _check_gang_policy(findings, (*path, index, "policy"), group.policy)


def check_pod_group(findings: Findings, group: workloads.PodGroup) -> None:
    """Check a PodGroup."""
    findings.check_metadata(group.metadata, namespaced=True)
    _check_gang_policy(findings, (*_SPEC_PATH, "schedulingPolicy"), group.spec.scheduling_policy)
    entries, where = group.spec.resource_claims or (), (*_SPEC_PATH, "resourceClaims")
    # PGC-1.
    findings.at_most(where, entries, GROUP_CLAIMS_MAX)
    check_claim_entries(findings, where, entries)
    _check_group(findings, group)


def check_composite_pod_group(findings: Findings, group: workloads.CompositePodGroup) -> None:
    """Check a CompositePodGroup."""
    findings.check_metadata(group.metadata, namespaced=True)
    gang, where = group.spec.scheduling_policy.gang, (*_SPEC_PATH, "schedulingPolicy", "gang", "minGroupCount")
    if gang is not None and gang.min_group_count < 1:
        findings.invalid(where, gang.min_group_count, "must be greater than zero", STRUCTURE)
    _check_group(findings, group)


def _check_group(findings: Findings, group: workloads.PodGroup | workloads.CompositePodGroup) -> None:
    if group.spec.priority is not None and group.spec.priority > GROUP_PRIORITY_MAX:
        detail = f"must be less than or equal to {GROUP_PRIORITY_MAX}"
        findings.invalid((*_SPEC_PATH, "priority"), group.spec.priority, detail)
    if group.domain is not None:
        where = (*_SPEC_PATH, "schedulingConstraints", "topology", 0, "key")
        findings.each_invalid(where, group.domain, label_key_complaints(group.domain), STRUCTURE)
    mode = group.spec.disruption_mode
    if mode not in (None, *_DISRUPTION_MODES) and not isinstance(mode, dict):
        detail = f"Invalid value: must be {' or '.join(_DISRUPTION_MODES)}, or an object"
        findings.error((*_SPEC_PATH, "disruptionMode"), detail, STRUCTURE)


# Of Kubernetes 1.36; later it is an object.
_DISRUPTION_MODES = ("Pod", "PodGroup")
GROUP_CLAIMS_MAX = 4
GROUP_PRIORITY_MAX = 10**9


def _check_gang_policy(findings: Findings, path: Path, policy: workloads.SchedulingPolicy) -> None:
    if policy.gang is not None and policy.gang.min_count < 1:
        where = (*path, "gang", "minCount")
        findings.invalid(where, policy.gang.min_count, "must be greater than zero", STRUCTURE)


_ALL_ON = FeatureGates.all_on()
_CHECKS: dict[type[Any], Callable[[Findings, Any], None]] = {
    DeviceClass: check_class,
    ResourceClaim: check_claim,
    ResourceClaimTemplate: check_template,
    DeviceTaintRule: nodes.check_taint_rule,
    Node: nodes.check_node,
    Pod: nodes.check_pod,
    Namespace: lambda findings, one: findings.check_metadata(one.metadata, False, label_complaints),
    DeviceTopology: check_topology,
    ConstraintGroup: check_group,
    PriorityClass: lambda findings, one: findings.check_metadata(one.metadata, namespaced=False),
    Workload: check_workload,
    PodGroup: check_pod_group,
    **dict.fromkeys(WORKLOAD_MODELS, nodes.check_controller),
    CompositePodGroup: check_composite_pod_group,
    **dict.fromkeys(INTEGRATION_MODELS, check_quota_object),
    PodTemplate: nodes.check_controller,
    LimitRange: nodes.check_limit_range,
    RuntimeClass: nodes.check_runtime_class,
    NodePool: check_node_pool,
    NodeClaim: check_node_claim,
}
_GATED_CHECKS: dict[type[Any], Callable[[Findings, Any, FeatureGates], None]] = {
    ResourceSlice: check_slice,
    NodeTemplate: check_node_template,
    NodeOverlay: check_node_overlay,
    InstanceType: check_instance_type,
    DRAConfig: check_dra_config,
}


def validate_object(obj: Any, gates: FeatureGates | None = None) -> list[FieldProblem]:
    """Everything wrong with an object in v1 shape, with defaults applied (CLM-1); nothing for other types.

    ``gates`` (default: all on) decide about fractional ranges (POL-3) and warn of fields that would be dropped.
    """
    findings = Findings()
    gates = gates or _ALL_ON
    if gated := _GATED_CHECKS.get(type(obj)):
        gated(findings, obj, gates)
    elif check := _CHECKS.get(type(obj)):
        check(findings, obj)
    _check_gates(findings, obj, gates)
    return findings.problems


def _object_problems(manifest: Manifest, gates: FeatureGates | None) -> list[FieldProblem]:
    """Those of the typed object, then what its schema has to say about other fields."""
    found = validate_object(manifest.object, gates)
    if type(manifest.object) not in INTEGRATION_MODELS or manifest.raw is None:
        return found
    # Many clusters have none of these objects.
    from .schemas import schema_problems

    named = {one.path for one in found}
    by_schema = schema_problems(manifest.kind, manifest.api_version, manifest.raw)
    return [*found, *(one for one in by_schema if one.path not in named)]


_OLDEST_API = "resource.k8s.io/v1alpha3"
# Criteria of early DeviceTaintRules; newer servers drop them, and the rule then taints more devices.
_DROPPED_CRITERIA = ("deviceClassName", "selectors")


def object_checks(gates: FeatureGates | None = None, skip_validation: bool = False) -> ObjectChecks:
    """The rules for single objects, which ``read_manifests`` applies where several processes read."""

    def problems_of(manifest: Manifest) -> list[InputProblem]:
        if manifest.object is None:
            return []
        own = [*_version_problems(manifest)] if manifest.api_version == _OLDEST_API else []
        own += [
            input_problem(manifest, problem.path, problem.message, problem.severity)
            for problem in _object_problems(manifest, gates)
            if not skip_validation or problem.severity == "warning" or problem.category == STRUCTURE
        ]
        return own

    return ObjectChecks(problems_of)


def validate_manifests(
    manifests: Iterable[Manifest],
    gates: FeatureGates | None = None,
    skip_validation: bool = False,
    unreadable: Iterable[InputProblem] = (),
    good: Container[int] = (),
) -> list[InputProblem]:
    """Problems of each object in reading order, then those across objects.

    ``skip_validation`` leaves out errors about names and limits, never those about structure, and no warnings.
    ``unreadable`` are problems of objects that could not be read, ``good`` numbers of those known to have none.
    """
    listed, problems_of = [*manifests], object_checks(gates, skip_validation).problems_of
    own = [one for number, manifest in enumerate(listed) if number not in good for one in problems_of(manifest)]
    return own + cross_checks(listed, skip_validation, unreadable)


def _version_problems(manifest: Manifest) -> Iterator[InputProblem]:
    """Warnings about v1alpha3: kinds it lost in Kubernetes 1.33, and criteria dropped in 1.35."""
    if manifest.kind != "DeviceTaintRule":
        message = f"Kubernetes 1.33 removed {manifest.kind} from v1alpha3"
        yield input_problem(manifest, "apiVersion", message, "warning")
        return
    selector = _mapping_at(_mapping_at(manifest.raw, "spec"), "deviceSelector")
    for field in _DROPPED_CRITERIA:
        if selector.get(field):
            message = "dropped in Kubernetes 1.35 and not read: the rule taints more devices than these"
            yield input_problem(manifest, f"spec.deviceSelector.{field}", message, "warning")


def _mapping_at(outer: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    inner = (outer or {}).get(key)
    return inner if isinstance(inner, Mapping) else {}


# Field to gate, of each part of an object that has gated fields (dra-semantics 2 and 17).
_SLICE = {
    "shared_counters": "DRAPartitionableDevices",
    "per_device_node_selection": "DRAPartitionableDevices",
    "partition_type_attribute": "DRAPartitionableDevicesType",
    "skip_node_operations": "DRAOptionalNodeOperations",
}
_DEVICE = {
    "consumes_counters": "DRAPartitionableDevices",
    "taints": "DRADeviceTaints",
    "binds_to_node": "DRADeviceBindingConditions",
    "binding_conditions": "DRADeviceBindingConditions",
    "binding_failure_conditions": "DRADeviceBindingConditions",
    "allow_multiple_allocations": "DRAConsumableCapacity",
    "node_allocatable_resources": "DRANodeAllocatableResources",
    "node_allocatable_resource_mappings": "DRANodeAllocatableResources",
}
_REQUEST = {"first_available": "DRAPrioritizedList"}
_DEVICE_REQUEST = {
    "capacity": "DRAConsumableCapacity",
    "tolerations": "DRADeviceTaints",
    "derived_attributes": "DRADerivedAttributes",
}
_EXACT_REQUEST = {**_DEVICE_REQUEST, "admin_access": "DRAAdminAccess"}
_LIST_ATTRIBUTES = "DRAListTypeAttributes"
_CONSTRAINT = {"cel": "DRACELDeviceConstraint", **dict.fromkeys(SEMANTICS_FIELDS, _LIST_ATTRIBUTES)}
_TABLES = (_SLICE, _DEVICE, _REQUEST, _EXACT_REQUEST, _CONSTRAINT)
_KNOWN_GATES = frozenset(gate for table in _TABLES for gate in table.values())
# Where a gated field is used, and the gate.
_Use = tuple[Path, str]


def _gated_uses(path: Path, part: Model, table: Mapping[str, str]) -> Iterator[_Use]:
    for field, gate in table.items():
        if getattr(part, field) not in (None, ()):
            yield (*path, api_name(field)), gate


def _slice_uses(resource_slice: ResourceSlice) -> Iterator[_Use]:
    path: Path = ("spec",)
    yield from _gated_uses(path, resource_slice.spec, _SLICE)
    for index, device in enumerate(resource_slice.spec.devices or ()):
        where = (*path, "devices", index)
        yield from _gated_uses(where, device, _DEVICE)
        if has_list(device.attributes):
            yield (*where, "attributes"), _LIST_ATTRIBUTES


def _claim_uses(path: Path, claim: DeviceClaim) -> Iterator[_Use]:
    for index, request in enumerate(claim.requests or ()):
        where = (*path, "requests", index)
        yield from _gated_uses(where, request, _REQUEST)
        if request.exactly is not None:
            yield from _gated_uses((*where, "exactly"), request.exactly, _EXACT_REQUEST)
        for position, alternative in enumerate(request.first_available or ()):
            yield from _gated_uses((*where, "firstAvailable", position), alternative, _DEVICE_REQUEST)
    for index, constraint in enumerate(claim.constraints or ()):
        yield from _gated_uses((*path, "constraints", index), constraint, _CONSTRAINT)


_GATED_FIELD_FINDERS: dict[type[Any], Callable[[Any], Iterator[_Use]]] = {
    ResourceSlice: _slice_uses,
    ResourceClaim: lambda claim: _claim_uses(("spec", "devices"), claim.spec.devices),
    ResourceClaimTemplate: lambda template: _claim_uses(("spec", "spec", "devices"), template.spec.spec.devices),
}


def _check_gates(findings: Findings, obj: Any, gates: FeatureGates) -> None:
    """Warn of each gated field in use while its gate is off, once for all devices or requests."""
    finder = _GATED_FIELD_FINDERS.get(type(obj))
    if finder is None or not (off := _KNOWN_GATES - gates.enabled):
        return
    places: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path, gate in finder(obj):
        if gate in off:
            places[str(path[-1]), gate].append(path)
    for (_, gate), paths in places.items():
        others = (
            f" (also in {plural(len(paths) - 1, 'other place')}, last {render_path(paths[-1])})"
            if len(paths) > 1
            else ""
        )
        findings.warning(paths[0], f"an API server drops this field on write while feature gate {gate} is off{others}")

"""Nodes and pods: the nodes that slices and devices are for (SLC-1), taints and tolerations.

Node, Pod, Namespace, controllers and PriorityClass are checked lightly, as far as allocation and
planning read them. ``skipNodeOperations`` belongs to slices and to results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..formats.decode import QuantityText, api_name
from ..kubernetes import core, workloads
from ..kubernetes.claims import DeviceTaint, DeviceTaintRule, DeviceTaintSelector, DeviceToleration
from ..kubernetes.core import Node, Pod
from ..kubernetes.kinds import kind_of
from ..kubernetes.meta import (
    KubernetesObject,
    extended_resource_complaints,
    label_key_complaints,
    label_value_complaints,
    subdomain_complaints,
)
from ..kubernetes.quantity import NANO
from ..kubernetes.slices import Device, ResourceSliceSpec
from .entries import check_gang, check_plan_annotations, forbid_replicas
from .findings import LIMIT, STRUCTURE, Category, Findings, MapKey, Path, parse_nano, quote
from .selectors import check_node_affinity, check_node_selector, check_pod_terms


def _node_fields_set(owner: ResourceSliceSpec | Device) -> list[str]:
    """List the node fields that are set, by API name; ``""`` and ``false`` are rejected, not counted."""
    ways = {"nodeName": owner.node_name, "nodeSelector": owner.node_selector is not None, "allNodes": owner.all_nodes}
    return [name for name, value in ways.items() if value]


def _check_node_fields(findings: Findings, path: Path, owner: ResourceSliceSpec | Device, one_term: bool) -> None:
    if owner.node_name == "":
        findings.invalid((*path, "nodeName"), "", "must be either unset or set to a non-empty string")
    elif owner.node_name and (complaints := subdomain_complaints(owner.node_name)):
        findings.each_invalid((*path, "nodeName"), owner.node_name, complaints)
    if owner.node_selector is not None:
        check_node_selector(findings, (*path, "nodeSelector"), owner.node_selector, one_term)
    if owner.all_nodes is False:
        findings.invalid((*path, "allNodes"), False, "must be either unset or set to true")


def _check_exactly_one(findings: Findings, path: Path, ways: list[str], offered: str, category: Category) -> None:
    if not ways:
        findings.required(path, f"exactly one of {offered} is required")
    elif len(ways) > 1:
        listed = ", ".join(f"`{way}`" for way in ways)
        detail = f"exactly one of {offered} is required, but multiple fields are set"
        findings.invalid(path, f"{{{listed}}}", detail, category)


def check_slice_nodes(findings: Findings, path: Path, spec: ResourceSliceSpec) -> None:
    """SLC-1. Allocation has an order for three of the fields (NODE-1), but none for per-device selection with them."""
    _check_node_fields(findings, path, spec, one_term=True)
    if spec.per_device_node_selection is False:
        findings.invalid((*path, "perDeviceNodeSelection"), False, "must be either unset or set to true")
    ways = _node_fields_set(spec)
    if spec.per_device_node_selection:
        ways.append("perDeviceNodeSelection")
    offered = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
    _check_exactly_one(findings, path, ways, offered, STRUCTURE if spec.per_device_node_selection else LIMIT)


def check_device_nodes(findings: Findings, path: Path, device: Device, per_device: bool) -> None:
    """Check that a device names its nodes if, and only if, its slice leaves it to the devices."""
    _check_node_fields(findings, path, device, one_term=False)
    ways = _node_fields_set(device)
    if per_device:
        _check_exactly_one(findings, path, ways, "`nodeName`, `nodeSelector`, `allNodes`", LIMIT)
        return
    for way in ways:
        findings.forbidden((*path, way), "may not be set unless the slice has `perDeviceNodeSelection`")


_NODE_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")


def check_node(findings: Findings, node: Node) -> None:
    """Check a Node: taints and amounts."""
    findings.check_metadata(node.metadata, namespaced=False)
    check_node_taints(findings, ("spec", "taints"), node.spec.taints if node.spec else None)
    if node.status is not None:
        check_amounts(findings, ("status", "allocatable"), node.status.allocatable)
        check_amounts(findings, ("status", "capacity"), node.status.capacity)


def check_node_taints(findings: Findings, path: Path, taints: tuple[core.Taint, ...] | None) -> None:
    """Check the taints of a node."""
    for index, taint in enumerate(taints or ()):
        findings.check_label_key((*path, index, "key"), taint.key)
        findings.check_label_value((*path, index, "value"), taint.value)
        if taint.effect not in _NODE_EFFECTS:
            findings.unsupported((*path, index, "effect"), taint.effect, _NODE_EFFECTS)


def check_pod(findings: Findings, pod: Pod) -> None:
    """Check a Pod: the nodes it may run on, what it takes there, and the claims it names."""
    findings.check_metadata(pod.metadata, namespaced=True)
    check_plan_annotations(findings, pod.metadata)
    check_gang(findings, ("metadata",), pod.spec.grouped, pod.metadata)
    check_pod_spec(findings, ("spec",), pod.spec)
    _check_claims_of_containers(findings, ("spec",), pod.spec)
    listed = (pod.status.node_allocatable_resource_claim_statuses if pod.status else None) or ()
    for index, status in enumerate(listed):
        path: Path = ("status", "nodeAllocatableResourceClaimStatuses", index)
        check_amounts(findings, (*path, "resources"), status.resources)
        for field, entries in (("mapping", status.mapping), ("overhead", status.overhead)):
            for number, one in enumerate(entries or ()):
                given = {"quantity": one.quantity, "perPod": one.per_pod, "perContainer": one.per_container}
                amounts = {name: text for name, text in given.items() if text is not None}
                check_amounts(findings, (*path, field, number), amounts)


Amounts = dict[str, QuantityText]


def check_pod_spec(findings: Findings, path: Path, spec: core.PodSpec) -> None:
    """Check a pod's spec, as far as it is read."""
    if spec.node_selector:
        findings.check_label_map((*path, "nodeSelector"), spec.node_selector)
    check_node_affinity(findings, path, spec)
    check_pod_terms(findings, path, spec)
    check_claim_entries(findings, (*path, "resourceClaims"), spec.resource_claims or ())
    _check_containers(findings, (*path, "containers"), spec.containers or ())
    _check_containers(findings, (*path, "initContainers"), spec.init_containers or ())
    if spec.resources is not None:
        _check_resources(findings, (*path, "resources"), spec.resources)
    check_amounts(findings, (*path, "overhead"), spec.overhead)


def check_claim_entries(findings: Findings, path: Path, entries: Sequence[core.PodResourceClaim]) -> None:
    """Check entries of claims; their names distinguish generated claims."""
    findings.unique(path, (entry.name for entry in entries), ("name",), STRUCTURE)
    for index, entry in enumerate(entries):
        _check_pod_claim(findings, (*path, index), entry)


def _check_claims_of_containers(findings: Findings, path: Path, spec: core.PodSpec) -> None:
    """Containers use claims of their pod, each claim or request of it once."""
    known = sorted({one.name for one in spec.resource_claims or ()})
    for field, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers or ()):
            used = container.resources.claims if container.resources else None
            if not used:
                continue
            where = (*path, field, index, "resources", "claims")
            findings.unique(where, (f"{one.name}/{one.request}" if one.request else one.name for one in used))
            for number, one in enumerate(used):
                if one.name not in known:
                    names = f": {', '.join(known)}" if known else " which is empty"
                    detail = f"must be one of the names in pod.spec.resourceClaims{names}"
                    findings.error((*where, number), f"Not found: {quote(one.name)}: {detail}")


def check_amounts(findings: Findings, path: Path, amounts: Amounts | None) -> None:
    """Check amounts of resources: quantities that are not negative."""
    for name, text in (amounts or {}).items():
        amount = parse_nano(text)
        if amount is None:
            findings.check_quantity((*path, MapKey(name)), text)
        elif amount < 0:
            findings.invalid((*path, MapKey(name)), text, "must be greater than or equal to 0", STRUCTURE)


def _check_containers(findings: Findings, path: Path, containers: Iterable[core.Container]) -> None:
    for index, container in enumerate(containers):
        if container.resources is not None:
            _check_resources(findings, (*path, index, "resources"), container.resources)


def _check_resources(findings: Findings, path: Path, resources: core.ResourceRequirements) -> None:
    for field, amounts in (("requests", resources.requests), ("limits", resources.limits)):
        if not amounts:
            continue
        check_amounts(findings, (*path, field), amounts)
        for name, text in amounts.items():
            if not extended_resource_complaints(name) and (parse_nano(text) or 0) % NANO:
                findings.invalid((*path, field, MapKey(name)), text, "must be an integer")


def _check_pod_claim(findings: Findings, path: Path, claim: core.PodResourceClaim) -> None:
    findings.check_label((*path, "name"), claim.name)
    claimed, made_from = claim.resource_claim_name, claim.resource_claim_template_name
    if (claimed is None) == (made_from is None):
        detail = "must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"
        findings.invalid(path, claim.name, detail, STRUCTURE)
    if claimed is not None:
        findings.check_subdomain((*path, "resourceClaimName"), claimed)
    if made_from is not None:
        findings.check_subdomain((*path, "resourceClaimTemplateName"), made_from)


_SPEC_PATH: Path = ("spec",)


# Fields of controllers that are numbers of pods, or of what makes pods.
_COUNTS = (
    "replicas",
    "parallelism",
    "completions",
    "size",
    "slices",
    "start",
    "num_nodes",
    "num_of_hosts",
    "min_replicas",
    "max_replicas",
    "min_available",
)
_NUMBER_FIELDS: dict[type[KubernetesObject], str] = {workloads.Job: "`spec.parallelism`"}


def check_controller(findings: Findings, made: KubernetesObject) -> None:
    """Check an object that makes pods: its name, its numbers, and all its pod templates."""
    kind = kind_of(type(made))
    findings.check_metadata(made.metadata, namespaced=kind.namespaced)
    check_plan_annotations(findings, made.metadata)
    number = _NUMBER_FIELDS.get(type(made), "`spec.replicas`")
    forbid_replicas(findings, made.metadata, ("metadata",), number)
    for path, part in workloads.parts_of(made):
        if isinstance(part, workloads.PodTemplateSpec):
            where = (*path, "metadata")
            findings.check_labels(where, part.metadata)
            check_plan_annotations(findings, part.metadata, where)
            forbid_replicas(findings, part.metadata, where, number)
            check_gang(findings, ("metadata",), part.spec.grouped, made.metadata, part.metadata)
            check_pod_spec(findings, (*path, "spec"), part.spec)
            # Operators complete the templates of their kinds.
            if not kind.is_custom:
                _check_claims_of_containers(findings, (*path, "spec"), part.spec)
        elif isinstance(part, core.PodSpec):
            check_pod_spec(findings, path, part)
        else:
            for field in _COUNTS:
                count = getattr(part, field, None)
                if isinstance(count, int) and count < 0:
                    where = (*path, api_name(field))
                    findings.invalid(where, count, "must be greater than or equal to 0", STRUCTURE)


# Fields of a LimitRange of which the first must not be above the second, with their names in Kubernetes' message.
_RANGE_ORDER = (
    (("min", "min"), ("max", "max")),
    (("min", "min"), ("default_request", "default request")),
    (("default_request", "default request"), ("max", "max")),
    (("default_request", "default request"), ("default", "default limit")),
    (("min", "min"), ("default", "default")),
    (("default", "default"), ("max", "max")),
)


def check_limit_range(findings: Findings, limits: core.LimitRange) -> None:
    """Check a LimitRange: its amounts can be read, and minima, defaults and maxima are in this order."""
    findings.check_metadata(limits.metadata, namespaced=True)
    for index, item in enumerate(limits.spec.limits or ()):
        path: Path = (*_SPEC_PATH, "limits", index)
        if not item.type:
            findings.required((*path, "type"), category=STRUCTURE)
        for field in ("max", "min", "default", "default_request"):
            check_amounts(findings, (*path, api_name(field)), getattr(item, field))
        for (first, its_name), (last, name_of_last) in _RANGE_ORDER:
            low, high = getattr(item, first) or {}, getattr(item, last) or {}
            for name in sorted(low.keys() & high.keys()):
                least, most = parse_nano(low[name]), parse_nano(high[name])
                if least is not None and most is not None and least > most:
                    detail = f"{its_name} value {low[name]} is greater than {name_of_last} value {high[name]}"
                    findings.invalid((*path, api_name(first), MapKey(name)), low[name], detail)


def check_runtime_class(findings: Findings, runtime: core.RuntimeClass) -> None:
    """Check a RuntimeClass: the amounts of its overhead."""
    findings.check_metadata(runtime.metadata, namespaced=False)
    if runtime.overhead is not None:
        check_amounts(findings, ("overhead", "podFixed"), runtime.overhead.pod_fixed)


TAINTS_MAX = 16
TOLERATIONS_MAX = 16
_DEVICE_EFFECTS = ("NoExecute", "NoSchedule", "None")
_TOLERATION_OPERATORS = ("Equal", "Exists")
_is_time = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?"
    r"([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
).fullmatch


def check_time(findings: Findings, path: Path, text: str | None) -> None:
    """Check a moment as the API writes it, RFC 3339."""
    if text is not None and not _is_time(text):
        findings.invalid(path, text, "must be a time as in RFC 3339, e.g. 2026-01-31T09:00:00Z")


def check_device_taint(findings: Findings, path: Path, taint: DeviceTaint) -> None:
    """Check a device taint: label key and value, and an effect."""
    if not taint.key:
        findings.required((*path, "key"))
    elif complaints := label_key_complaints(taint.key):
        findings.each_invalid((*path, "key"), taint.key, complaints)
    if complaints := label_value_complaints(taint.value):
        findings.each_invalid((*path, "value"), taint.value, complaints)
    findings.check_choice((*path, "effect"), taint.effect, _DEVICE_EFFECTS)
    check_time(findings, (*path, "timeAdded"), taint.time_added)


def check_device_taints(findings: Findings, path: Path, taints: tuple[DeviceTaint, ...]) -> None:
    """Check the taints of a device."""
    findings.at_most(path, taints, TAINTS_MAX)
    for index, taint in enumerate(taints):
        check_device_taint(findings, (*path, index), taint)


def check_tolerations(findings: Findings, path: Path, tolerations: tuple[DeviceToleration, ...] | None) -> None:
    """Check the tolerations of a request (CLM-3); their documented number is not enforced."""
    for index, toleration in enumerate(tolerations or ()):
        _check_toleration(findings, (*path, index), toleration)
    if tolerations and len(tolerations) > TOLERATIONS_MAX:
        findings.warning(path, f"{len(tolerations)} tolerations: the documented maximum is {TOLERATIONS_MAX}")


def _check_toleration(findings: Findings, path: Path, toleration: DeviceToleration) -> None:
    if toleration.key and (complaints := label_key_complaints(toleration.key)):
        findings.each_invalid((*path, "key"), toleration.key, complaints)
    if not toleration.key and toleration.operator == "Equal":
        findings.warning((*path, "operator"), "an empty key with operator Equal tolerates every key with this value")
    findings.check_choice((*path, "operator"), toleration.operator, _TOLERATION_OPERATORS)
    if toleration.operator == "Exists" and toleration.value:
        findings.invalid((*path, "value"), toleration.value, "must be empty for operator `Exists`")
    elif complaints := label_value_complaints(toleration.value):
        findings.each_invalid((*path, "value"), toleration.value, complaints)
    if toleration.effect and toleration.effect not in _DEVICE_EFFECTS:
        findings.unsupported((*path, "effect"), toleration.effect, ("NoExecute", "NoSchedule"))


def check_taint_rule(findings: Findings, rule: DeviceTaintRule) -> None:
    """Check a DeviceTaintRule (2.4)."""
    findings.check_metadata(rule.metadata, namespaced=False)
    selector = rule.spec.device_selector
    if selector is None:
        findings.warning(("spec", "deviceSelector"), "without a selector the rule taints nothing (TNT-6)")
    elif selector == DeviceTaintSelector():
        findings.warning(("spec", "deviceSelector"), "without criteria the rule taints every device (TNT-6)")
    else:
        if selector.driver is not None:
            findings.check_driver(("spec", "deviceSelector", "driver"), selector.driver)
        if selector.pool is not None:
            findings.check_pool(("spec", "deviceSelector", "pool"), selector.pool)
        if selector.device is not None:
            findings.check_label(("spec", "deviceSelector", "device"), selector.device)
    check_device_taint(findings, ("spec", "taint"), rule.spec.taint)


_PREPARE = "NodePrepareResources"
_UNPREPARE = "NodeUnprepareResources"
_ALL_OPERATIONS = "*"
_OPERATIONS = (_ALL_OPERATIONS, _PREPARE, _UNPREPARE)


def check_node_operations(findings: Findings, path: Path, operations: tuple[str, ...] | None) -> None:
    """Check a set of operations; what was not prepared cannot be unprepared, so the first takes the second with it."""
    if not operations:
        return
    findings.unique(path, operations)
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            findings.unsupported((*path, index), operation, _OPERATIONS)
    if _PREPARE in operations and _UNPREPARE not in operations and _ALL_OPERATIONS not in operations:
        findings.invalid(path, list(operations), f"{_PREPARE} may only be skipped together with {_UNPREPARE}")

"""The rules of the API server over typed objects (dra-semantics 2), and checks across objects.

Nothing here knows CEL: ``expressions`` hands the texts to those who can compile them.

Validation of everything that was read, as input problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..formats.errors import InputProblem
from ..kubernetes.gates import FeatureGates
from ..manifests.reader import Manifest
from .claims import check_claim, check_class, check_template
from .extensions import check_group, check_node_template, check_topology
from .findings import STRUCTURE, FieldProblem, Findings
from .gates import check_gates
from .nodes import (
    check_job,
    check_namespace,
    check_node,
    check_pod,
    check_pod_group,
    check_priority_class,
    check_replicas,
    check_stateful_set,
    check_taint_rule,
    check_workload,
)
from .references import cross_checks, input_problem
from .slices import check_slice

_ALL_ON = FeatureGates.all_on()
_CHECKS: dict[str, Callable[[Findings, Any], None]] = {
    "DeviceClass": check_class,
    "ResourceClaim": check_claim,
    "ResourceClaimTemplate": check_template,
    "DeviceTaintRule": check_taint_rule,
    "Node": check_node,
    "Pod": check_pod,
    "Namespace": check_namespace,
    "DeviceTopology": check_topology,
    "ConstraintGroup": check_group,
    "Job": check_job,
    "Deployment": check_replicas,
    "StatefulSet": check_stateful_set,
    "ReplicaSet": check_replicas,
    "PriorityClass": check_priority_class,
    "Workload": check_workload,
    "PodGroup": check_pod_group,
}
_GATED_CHECKS: dict[str, Callable[[Findings, Any, FeatureGates], None]] = {
    "ResourceSlice": check_slice,
    "NodeTemplate": check_node_template,
}


def validate_object(kind: str, obj: Any, gates: FeatureGates | None = None) -> list[FieldProblem]:
    """Everything wrong with an object in v1 shape, with defaults applied (CLM-1); nothing for unknown kinds.

    ``gates`` (default: all on) decide about fractional ranges (POL-3) and warn of fields that would be dropped.
    """
    found = Findings()
    gates = gates or _ALL_ON
    if gated := _GATED_CHECKS.get(kind):
        gated(found, obj, gates)
    elif check := _CHECKS.get(kind):
        check(found, obj)
    check_gates(found, kind, obj, gates)
    return found.problems


_OLDEST_API = "resource.k8s.io/v1alpha3"
# Criteria of early DeviceTaintRules; newer servers drop them, and the rule then taints more devices.
_DROPPED_CRITERIA = ("deviceClassName", "selectors")


def validate_manifests(
    manifests: Iterable[Manifest], gates: FeatureGates | None = None, skip_validation: bool = False
) -> list[InputProblem]:
    """Problems of each object in reading order, then those across objects.

    ``skip_validation`` leaves out errors about names and limits, never those about structure, and no warnings.
    """
    typed = [manifest for manifest in manifests if manifest.object is not None]
    own = [problem for manifest in typed for problem in _object_problems(manifest, gates, skip_validation)]
    return own + cross_checks(typed, skip_validation)


def _object_problems(manifest: Manifest, gates: FeatureGates | None, skip_validation: bool) -> Iterator[InputProblem]:
    yield from _version_problems(manifest)
    for problem in validate_object(manifest.kind, manifest.object, gates):
        if not skip_validation or problem.severity == "warning" or problem.category == STRUCTURE:
            yield input_problem(manifest, problem.path, problem.message, problem.severity)


def _version_problems(manifest: Manifest) -> Iterator[InputProblem]:
    """Warnings about v1alpha3: kinds it lost in Kubernetes 1.33, and criteria dropped in 1.35."""
    if manifest.api_version != _OLDEST_API:
        return
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

"""The rules of the API server over typed objects (dra-semantics 2), and checks across objects.

Nothing here knows CEL: ``expressions`` hands the texts to those who can compile them.
"""

from collections.abc import Callable
from typing import Any

from ..gates import FeatureGates
from .claims import check_claim, check_template
from .classes import check_class
from .constraint_groups import check_group
from .core import check_namespace, check_node, check_pod
from .expressions import Expression, Purpose, expressions
from .findings import LIMIT, STRUCTURE, Category, FieldProblem, Findings
from .gated import check_gates
from .node_templates import check_node_template
from .slices import check_slice
from .taints import check_taint_rule
from .topologies import check_topology
from .workloads import (
    check_job,
    check_pod_group,
    check_priority_class,
    check_replicas,
    check_stateful_set,
    check_workload,
)

__all__ = [
    "LIMIT",
    "STRUCTURE",
    "Category",
    "Expression",
    "FieldProblem",
    "Purpose",
    "expressions",
    "validate_object",
]

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

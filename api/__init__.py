"""Allocate Kubernetes DRA devices with a constraint solver.

>>> import drasat
>>> cluster = drasat.load("examples/whole-gpus")  # doctest: +SKIP
>>> drasat.allocate(cluster).to_frame()  # doctest: +SKIP

Names are resolved when first used, so that importing a submodule loads no more than it needs.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .capacities import CapacityInterrupted, CapacityResult, capacity
    from .comparing import ComparisonResult, compare
    from .explaining import ExplanationInterrupted, ExplanationResult, explain
    from .functions import allocate, load, validate
    from .models.cluster import Cluster
    from .models.gates import FeatureGates
    from .models.predicates import ChosenDevice, Predicate
    from .models.problems import InputError
    from .plan_comparing import PlanComparisonResult, compare_plans
    from .plans import PlanInterrupted, PlanResult, plan
    from .results import AllocationInterrupted, AllocationResult, ValidationResult
    from .topologies import TopologyResult, topology

_HOMES = {
    "AllocationInterrupted": ".results",
    "AllocationResult": ".results",
    "CapacityInterrupted": ".capacities",
    "CapacityResult": ".capacities",
    "Cluster": ".models.cluster",
    "ChosenDevice": ".models.predicates",
    "ComparisonResult": ".comparing",
    "ExplanationInterrupted": ".explaining",
    "ExplanationResult": ".explaining",
    "FeatureGates": ".models.gates",
    "InputError": ".models.problems",
    "PlanComparisonResult": ".plan_comparing",
    "PlanInterrupted": ".plans",
    "PlanResult": ".plans",
    "Predicate": ".models.predicates",
    "TopologyResult": ".topologies",
    "ValidationResult": ".results",
    "allocate": ".functions",
    "capacity": ".capacities",
    "compare": ".comparing",
    "compare_plans": ".plan_comparing",
    "explain": ".explaining",
    "load": ".functions",
    "plan": ".plans",
    "topology": ".topologies",
    "validate": ".functions",
}

__all__ = [
    "AllocationInterrupted",
    "AllocationResult",
    "CapacityInterrupted",
    "CapacityResult",
    "ChosenDevice",
    "Cluster",
    "ComparisonResult",
    "ExplanationInterrupted",
    "ExplanationResult",
    "FeatureGates",
    "InputError",
    "PlanComparisonResult",
    "PlanInterrupted",
    "PlanResult",
    "Predicate",
    "TopologyResult",
    "ValidationResult",
    "allocate",
    "capacity",
    "compare",
    "compare_plans",
    "explain",
    "load",
    "plan",
    "topology",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

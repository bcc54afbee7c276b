"""Allocate Kubernetes DRA devices with a constraint solver.

>>> import drasat
>>> cluster = drasat.load("examples/whole-gpus")  # doctest: +SKIP
>>> drasat.allocate(cluster).to_frame()  # doctest: +SKIP

Names are resolved when first used, so that importing a submodule loads no more than it needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .models.cluster.cluster import Cluster
    from .models.formats.errors import InputError
    from .models.kubernetes.extensions import ChosenDevice, Predicate, PredicateError
    from .models.kubernetes.gates import FeatureGates
    from .solver.allocate.load import load
    from .verbs.allocate import AllocationInterrupted, AllocationResult, allocate, allocate_each
    from .verbs.capacity import (
        CapacityInterrupted,
        CapacityResult,
        QueueCapacityInterrupted,
        QueueCapacityResult,
        capacity,
        queue_capacity,
    )
    from .verbs.check import CheckResult, check
    from .verbs.compare import ComparisonResult, PlanComparisonResult, compare, compare_plans
    from .verbs.explain import ExplanationInterrupted, ExplanationResult, explain
    from .verbs.overlay import OverlayResult, overlay
    from .verbs.plan import PlanInterrupted, PlanResult, plan
    from .verbs.provision import ProvisionResult, provision
    from .verbs.purchases import PurchaseComparisonResult, compare_purchases
    from .verbs.quota import QuotaInterrupted, QuotaResult, quota
    from .verbs.show import InventoryResult, show
    from .verbs.snapshot import SnapshotResult, snapshot
    from .verbs.study import StudyInterrupted, StudyResult, study
    from .verbs.topology import TopologyResult, topology
    from .verbs.tune import TuneResult, tune
    from .verbs.validate import ValidationResult, validate

# The module of each public name.
_HOMES = {
    name: module
    for module, names in {
        ".verbs.allocate": "AllocationInterrupted AllocationResult allocate allocate_each",
        ".verbs.capacity": "CapacityInterrupted CapacityResult QueueCapacityInterrupted QueueCapacityResult "
        "capacity queue_capacity",
        ".verbs.check": "CheckResult check",
        ".models.cluster.cluster": "Cluster",
        ".models.kubernetes.extensions": "ChosenDevice Predicate PredicateError",
        ".verbs.compare": "ComparisonResult PlanComparisonResult compare compare_plans",
        ".verbs.explain": "ExplanationInterrupted ExplanationResult explain",
        ".models.kubernetes.gates": "FeatureGates",
        ".models.formats.errors": "InputError",
        ".verbs.overlay": "OverlayResult overlay",
        ".verbs.plan": "PlanInterrupted PlanResult plan",
        ".verbs.provision": "ProvisionResult provision",
        ".verbs.quota": "QuotaInterrupted QuotaResult quota",
        ".verbs.purchases": "PurchaseComparisonResult compare_purchases",
        ".verbs.show": "InventoryResult show",
        ".verbs.snapshot": "SnapshotResult snapshot",
        ".verbs.study": "StudyInterrupted StudyResult study",
        ".verbs.topology": "TopologyResult topology",
        ".verbs.tune": "TuneResult tune",
        ".verbs.validate": "ValidationResult validate",
        ".solver.allocate.load": "load",
    }.items()
    for name in names.split()
}
__all__ = [
    "AllocationInterrupted",
    "AllocationResult",
    "CapacityInterrupted",
    "CapacityResult",
    "CheckResult",
    "ChosenDevice",
    "Cluster",
    "ComparisonResult",
    "ExplanationInterrupted",
    "ExplanationResult",
    "FeatureGates",
    "InputError",
    "InventoryResult",
    "OverlayResult",
    "PlanComparisonResult",
    "PlanInterrupted",
    "PlanResult",
    "Predicate",
    "PredicateError",
    "ProvisionResult",
    "PurchaseComparisonResult",
    "QueueCapacityInterrupted",
    "QueueCapacityResult",
    "QuotaInterrupted",
    "QuotaResult",
    "SnapshotResult",
    "StudyInterrupted",
    "StudyResult",
    "TopologyResult",
    "TuneResult",
    "ValidationResult",
    "allocate",
    "allocate_each",
    "capacity",
    "check",
    "compare",
    "compare_plans",
    "compare_purchases",
    "explain",
    "load",
    "overlay",
    "plan",
    "provision",
    "queue_capacity",
    "quota",
    "show",
    "snapshot",
    "study",
    "topology",
    "tune",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

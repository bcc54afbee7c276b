"""What is odd about objects in the oldest API version (VER-4, dra-semantics 2.4)."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..manifests import Manifest
from ..problems import InputProblem
from .references import input_problem

_OLDEST = "resource.k8s.io/v1alpha3"
# Criteria of early DeviceTaintRules; newer servers drop them, and the rule then taints more devices.
_DROPPED_CRITERIA = ("deviceClassName", "selectors")


def version_problems(manifest: Manifest) -> Iterator[InputProblem]:
    """Warnings about v1alpha3: kinds it lost in Kubernetes 1.33, and criteria dropped in 1.35."""
    if manifest.api_version != _OLDEST:
        return
    if manifest.kind != "DeviceTaintRule":
        message = f"Kubernetes 1.33 removed {manifest.kind} from v1alpha3"
        yield input_problem(manifest, "apiVersion", message, "warning")
        return
    selector = _mapping(_mapping(manifest.raw, "spec"), "deviceSelector")
    for field in _DROPPED_CRITERIA:
        if selector.get(field):
            message = "dropped in Kubernetes 1.35 and not read: the rule taints more devices than these"
            yield input_problem(manifest, f"spec.deviceSelector.{field}", message, "warning")


def _mapping(outer: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    inner = (outer or {}).get(key)
    return inner if isinstance(inner, Mapping) else {}

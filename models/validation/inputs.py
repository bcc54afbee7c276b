"""Validation of everything that was read, as input problems."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..gates import FeatureGates
from ..manifests import Manifest
from ..problems import InputProblem
from . import validate_object
from .findings import STRUCTURE
from .references import cross_checks, input_problem

_OLDEST = "resource.k8s.io/v1alpha3"
# Criteria of early DeviceTaintRules; newer servers drop them, and the rule then taints more devices.
_DROPPED_CRITERIA = ("deviceClassName", "selectors")


def validate_manifests(
    manifests: Iterable[Manifest], gates: FeatureGates | None = None, skip_validation: bool = False
) -> list[InputProblem]:
    """Problems of each object in reading order, then those across objects.

    ``skip_validation`` leaves out errors about names and limits, never those about structure, and no warnings.
    """
    typed = [manifest for manifest in manifests if manifest.object is not None]
    own = [problem for manifest in typed for problem in _own_problems(manifest, gates, skip_validation)]
    return own + cross_checks(typed, skip_validation)


def _own_problems(manifest: Manifest, gates: FeatureGates | None, skip_validation: bool) -> Iterator[InputProblem]:
    yield from _version_problems(manifest)
    for problem in validate_object(manifest.kind, manifest.object, gates):
        if not skip_validation or problem.severity == "warning" or problem.category == STRUCTURE:
            yield input_problem(manifest, problem.path, problem.message, problem.severity)


def _version_problems(manifest: Manifest) -> Iterator[InputProblem]:
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

"""Checks across objects: duplicates, and names that lead nowhere in the input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..formats.errors import InputProblem, Severity, Source
from ..kubernetes.claims import DeviceClaim, DeviceClass, ResourceClaim, ResourceClaimTemplate
from ..kubernetes.core import FINISHED_PHASES, Namespace, Pod, PodSpec
from ..kubernetes.extensions import (
    COVERAGE_ANNOTATION,
    GANG_DOMAIN_ANNOTATION,
    AnnotationError,
    ConstraintGroup,
    DeviceTopology,
    read_annotations,
)
from ..kubernetes.kinds import WORKLOAD_MODELS, kind_of
from ..kubernetes.meta import DEFAULT_NAMESPACE, DeviceId
from ..kubernetes.serving import ComputeDomain, channel_template
from ..kubernetes.slices import ResourceSlice
from ..kubernetes.workloads import BUILT_IN_PRIORITIES, PodTemplateSpec, PriorityClass, parts_of, pod_specs
from ..manifests.reader import Manifest
from .findings import LIMIT, STRUCTURE, Category, MapKey, Path, quote, render_path

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
# Model of the kind, namespace and name; the namespace is empty for kinds without.
ObjectId = tuple[type[Any], str, str]


@dataclass(frozen=True, slots=True)
class CrossProblem:
    """A problem between objects, with the category that says whether it can be lifted."""

    problem: InputProblem
    category: Category = LIMIT


def identify(manifest: Manifest) -> ObjectId:
    """By what an object is known; ``manifest.object`` must not be None."""
    read = _typed_object(manifest)
    namespace = (read.metadata.namespace or DEFAULT_NAMESPACE) if kind_of(type(read)).namespaced else ""
    return type(read), namespace, read.metadata.name


def input_problem(manifest: Manifest, path: str, message: str, severity: Severity = "error") -> InputProblem:
    """Place a problem of a field in its manifest."""
    _, namespace, name = identify(manifest)
    shown = f"{namespace}/{name}" if namespace else name
    return InputProblem(manifest.source, path, message, severity, manifest.kind, shown)


def cross_checks(
    manifests: Iterable[Manifest], skip_limits: bool = False, unreadable: Iterable[InputProblem] = ()
) -> list[InputProblem]:
    """Everything wrong between objects, in reading order; ``skip_limits`` leaves out errors that can be lifted.

    ``unreadable`` are problems of objects that could not be read, which are in the input all the same.
    """
    typed = [manifest for manifest in manifests if manifest.object is not None]
    keys = [*map(identify, typed)]
    known = _KnownObjects.of(typed, keys)
    known.unreadable = {(problem.kind, problem.name) for problem in unreadable if problem.severity == "error"}
    found = [
        problem
        for manifest, key in zip(typed, keys, strict=True)
        if key[0] in _CHECKS or len(known.objects[key]) > 1
        for problem in _object_problems(manifest, key, known)
    ]
    return [
        cross.problem
        for cross in found
        if not skip_limits or cross.problem.severity == "warning" or cross.category == STRUCTURE
    ]


@dataclass(slots=True)
class _KnownObjects:
    """What the input holds, by name."""

    objects: dict[ObjectId, list[Manifest]] = field(default_factory=lambda: defaultdict(list))
    devices: set[DeviceId] = field(default_factory=set)
    # What controllers make of objects of the input.
    made: set[ObjectId] = field(default_factory=set)
    # Kinds and names.
    unreadable: set[tuple[str, str]] = field(default_factory=set)
    # By gang or coverage group, what the first member names, and where it is.
    members: dict[tuple[str, str, str], tuple[str, Source]] = field(default_factory=dict)

    @classmethod
    def of(cls, manifests: list[Manifest], keys: list[ObjectId]) -> _KnownObjects:
        known = cls()
        for manifest, key in zip(manifests, keys, strict=True):
            known.objects[key].append(manifest)
            if isinstance(manifest.object, ComputeDomain) and (made := channel_template(manifest.object)):
                known.made.add(
                    (ResourceClaimTemplate, made.metadata.namespace or DEFAULT_NAMESPACE, made.metadata.name)
                )
        if any(isinstance(manifest.object, ResourceClaim) and any(_results(manifest.object)) for manifest in manifests):
            slices = (one.object for one in manifests if isinstance(one.object, ResourceSlice))
            known.devices = {
                (one.spec.driver, one.spec.pool.name, device.name)
                for one in slices
                for device in one.spec.devices or ()
            }
        return known

    def has(self, model: type[Any], namespace: str, name: str) -> bool:
        key = model, namespace, name
        if key in self.objects or key in self.made:
            return True
        shown = {f"{namespace}/{name}" if namespace else name}
        if namespace == DEFAULT_NAMESPACE:
            shown.add(name)
        return any((kind_of(model).name, one) in self.unreadable for one in shown)


def _typed_object(manifest: Manifest) -> Any:
    return manifest.object


def _results(claim: ResourceClaim) -> Iterable[Any]:
    allocation = claim.status.allocation if claim.status else None
    return (allocation.devices.results or ()) if allocation else ()


def _object_problems(manifest: Manifest, key: ObjectId, known: _KnownObjects) -> Iterator[CrossProblem]:
    first = known.objects[key][0]
    # The second and later objects of one name; a generated name is not known yet.
    if first is not manifest and key[2]:
        message = f"Duplicate value: {quote(key[2])}: the same object is in {first.source}"
        yield CrossProblem(input_problem(manifest, "metadata.name", message), STRUCTURE)
    if check := _CHECKS.get(type(manifest.object)):
        yield from check(manifest, known)
        yield from dict.fromkeys(_member_problems(manifest, known))


def _cross_warning(manifest: Manifest, path: Path, message: str) -> CrossProblem:
    return CrossProblem(input_problem(manifest, render_path(path), message, "warning"))


def _claim_problems(manifest: Manifest, known: _KnownObjects) -> Iterator[CrossProblem]:
    claim = _typed_object(manifest)
    yield from _spec_problems(manifest, ("spec", "devices"), claim.spec.devices, known)
    for index, result in enumerate(_results(claim)):
        if (result.driver, result.pool, result.device) not in known.devices:
            message = f"device {result.driver}/{result.pool}/{result.device} is allocated but in no ResourceSlice"
            yield _cross_warning(manifest, ("status", "allocation", "devices", "results", index, "device"), message)


def _spec_problems(manifest: Manifest, path: Path, claim: DeviceClaim, known: _KnownObjects) -> Iterator[CrossProblem]:
    for index, request in enumerate(claim.requests or ()):
        where = (*path, "requests", index)
        requests: list[tuple[Path, Any]] = [((*where, "exactly"), request.exactly)] if request.exactly else []
        requests += [((*where, "firstAvailable", i), one) for i, one in enumerate(request.first_available or ())]
        for place, one in requests:
            if one.device_class_name and not known.has(DeviceClass, "", one.device_class_name):
                message = f"device class {quote(one.device_class_name)} is not in the input"
                yield _cross_warning(manifest, (*place, "deviceClassName"), message)
        if request.exactly and request.exactly.admin_access:
            yield from _admin_problems(manifest, (*where, "exactly", "adminAccess"), known)


def _admin_problems(manifest: Manifest, path: Path, known: _KnownObjects) -> Iterator[CrossProblem]:
    """CLM-5."""
    namespace = identify(manifest)[1]
    rule = f'admin access to devices requires the label `{ADMIN_LABEL}: "true"` on the namespace'
    found = known.objects.get((Namespace, "", namespace))
    if found is None:
        yield _cross_warning(manifest, path, f"{rule}; namespace {quote(namespace)} is not in the input")
    elif (_typed_object(found[0]).metadata.labels or {}).get(ADMIN_LABEL) != "true":
        yield CrossProblem(input_problem(manifest, render_path(path), f"Forbidden: {rule}"))


def _controller_problems(manifest: Manifest, known: _KnownObjects) -> Iterator[CrossProblem]:
    for path, spec in pod_specs(_typed_object(manifest)):
        yield from _pod_spec_problems(manifest, path, spec, known)


def _pod_spec_problems(manifest: Manifest, start: Path, spec: PodSpec, known: _KnownObjects) -> Iterator[CrossProblem]:
    """Report claims and templates that are not there, and a priority class, which then counts as 0."""
    namespace = identify(manifest)[1]
    ranked = spec.priority_class_name
    if (
        ranked
        and spec.priority is None
        and ranked not in BUILT_IN_PRIORITIES
        and not known.has(PriorityClass, "", ranked)
    ):
        message = f"PriorityClass {ranked} is not in the input: priority 0"
        yield _cross_warning(manifest, (*start, "priorityClassName"), message)
    for index, entry in enumerate(spec.resource_claims or ()):
        named = (
            ("resourceClaimName", ResourceClaim, entry.resource_claim_name),
            ("resourceClaimTemplateName", ResourceClaimTemplate, entry.resource_claim_template_name),
        )
        for name_field, model, name in named:
            if name and not known.has(model, namespace, name):
                path = (*start, "resourceClaims", index, name_field)
                yield _cross_warning(manifest, path, f"{model.__name__} {namespace}/{name} is not in the input")


def _member_problems(manifest: Manifest, known: _KnownObjects) -> Iterator[CrossProblem]:
    """Report a domain of a gang or a demand of a coverage group that is not the one of an earlier member."""
    made = _typed_object(manifest)
    if isinstance(made, Pod) and made.status is not None and made.status.phase in FINISHED_PHASES:
        return
    own = made.metadata.annotations or {}
    if not own and isinstance(made, Pod):
        return
    namespace = identify(manifest)[1]
    marked = [(at, one.metadata.annotations or {}) for at, one in parts_of(made) if isinstance(one, PodTemplateSpec)]
    for path, marks in marked or [((), own)]:
        try:
            read = read_annotations({**own, **marks})
        except AnnotationError:
            continue
        if read.coverage is not None:
            key = "coverage group", namespace, read.coverage.group
            said, annotation, named = f"{read.coverage.demand:f}", COVERAGE_ANNOTATION, "demand"
        elif read.gang is not None and read.domain is not None:
            key = "gang", namespace, read.gang
            said, annotation, named = read.domain, GANG_DOMAIN_ANNOTATION, "domain"
        else:
            continue
        first, source = known.members.setdefault(key, (said, manifest.source))
        if first != said:
            place = (*path, "metadata") if annotation in marks else ("metadata",)
            group = f"{key[0]} {namespace}/{key[2]}"
            message = f"{group} has the {named} {first} in {source}, and {said} here: no plan is made"
            yield _cross_warning(manifest, (*place, "annotations", MapKey(annotation)), message)


def _topology_problems(manifest: Manifest, known: _KnownObjects) -> Iterator[CrossProblem]:
    name = _typed_object(manifest).spec.device_class_name
    if name and not known.has(DeviceClass, "", name):
        yield _cross_warning(manifest, ("spec", "deviceClassName"), f"device class {quote(name)} is not in the input")


def _group_problems(manifest: Manifest, known: _KnownObjects) -> Iterator[CrossProblem]:
    """Report claims and pods that a ConstraintGroup names; claims that pods get from templates have names too."""
    group: ConstraintGroup = _typed_object(manifest)
    namespace = identify(manifest)[1]
    pods = [name for model, place, name in known.objects if model is Pod and place == namespace]
    makers = [name for model, place, name in known.objects if model in WORKLOAD_MODELS and place == namespace]
    for index, claim in enumerate(group.spec.claims or ()):
        made = any(claim.name.startswith(f"{pod}-") for pod in (*pods, *makers))
        if claim.name and not made and not known.has(ResourceClaim, namespace, claim.name):
            yield _missing_warning(
                manifest, ("spec", "claims", index, "name"), f"ResourceClaim {namespace}/{claim.name}"
            )
    for index, pod in enumerate(group.spec.pods or ()):
        if pod.name and pod.name not in pods and not any(pod.name.startswith(f"{maker}-") for maker in makers):
            yield _missing_warning(manifest, ("spec", "pods", index, "name"), f"Pod {namespace}/{pod.name}")


def _missing_warning(manifest: Manifest, path: Path, what: str) -> CrossProblem:
    return CrossProblem(input_problem(manifest, render_path(path), f"{what} is not in the input"), STRUCTURE)


_CHECKS: dict[type[Any], Callable[[Manifest, _KnownObjects], Iterator[CrossProblem]]] = {
    ConstraintGroup: _group_problems,
    ResourceClaim: _claim_problems,
    ResourceClaimTemplate: lambda manifest, known: _spec_problems(
        manifest, ("spec", "spec", "devices"), _typed_object(manifest).spec.spec.devices, known
    ),
    Pod: lambda manifest, known: _pod_spec_problems(manifest, ("spec",), _typed_object(manifest).spec, known),
    DeviceTopology: _topology_problems,
    **dict.fromkeys(WORKLOAD_MODELS, _controller_problems),
}

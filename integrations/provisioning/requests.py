"""The ProvisioningRequests and PodTemplates that Kueue makes for a workload with quota (provisioning-request 1.3, 2).

Pod templates are mappings as they were read, so that images, labels and all else that drasat does not read is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...models.kubernetes.kueue import PodSetAssignment, ResourceFlavor
from ...models.kubernetes.provisioning import ProvisioningRequestConfigSpec
from ...models.kubernetes.quantity import Quantity
from ...models.manifests.writer import model_mapping

MANAGED_LABEL = {"kueue.x-k8s.io/managed": "true"}
PARAMETER_PREFIX = "provreq.kueue.x-k8s.io/"
IDENTICAL_TEMPLATES = "IdenticalPodTemplates"
IDENTICAL_REQUIREMENTS = "IdenticalWorkloadSchedulingRequirements"
MERGE_POLICIES = (IDENTICAL_TEMPLATES, IDENTICAL_REQUIREMENTS)
_LONGEST_NAME = 247
_HASH_DIGITS = 5
# Maps of amounts: these are equal by value, in whatever notation.
_AMOUNTS = frozenset({"requests", "limits", "overhead"})
_CONTAINERS = ("initContainers", "containers")
Mappings = Mapping[str, Any]


class RequestError(Exception):
    """A request cannot be made of this workload; Kueue tries again, and fails again."""


@dataclass(frozen=True, slots=True)
class PodSetOfInterest:
    """A pod set that needs the autoscaler: its name, how many pods were admitted, and what it got."""

    name: str
    count: int
    template: Mappings
    assignment: PodSetAssignment


@dataclass(frozen=True, slots=True)
class PodSetEntry:
    """An entry of a request: a PodTemplate, the pod set it was made for, and so many pods."""

    template: str
    pod_set: str
    count: int


def shorten(name: str) -> str:
    """Cut a name above 247 characters, with five digits of the SHA-1 of the whole (provisioning-request 1.3)."""
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha1(name.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return f"{name[:_LONGEST_NAME]}-{digest[:_HASH_DIGITS]}"


def request_name(workload: str, check: str, attempt: int) -> str:
    """Name the request of an attempt, which are counted from 1."""
    return shorten(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    """Name the PodTemplate of a pod set in a request."""
    return shorten(f"ppt-{request}-{pod_set}")


def attempt_of(request: str, workload: str, check: str) -> int | None:
    """Read the attempt from a request's name; None for names of other checks, and for names that had to be cut.

    Kueue does not recognise a cut name either, so that it deletes the request and makes it again, for ever.
    """
    begins = shorten(f"{workload}-{check}-")
    number = request[len(begins) :] if request.startswith(begins) else ""
    return int(number) if number.isascii() and number.isdigit() else None


def parameters(config: ProvisioningRequestConfigSpec, annotations: Mapping[str, str] | None) -> dict[str, str]:
    """Give the parameters of a request: those of the configuration, and over them the workload's annotations."""
    own = {
        key.removeprefix(PARAMETER_PREFIX): value
        for key, value in (annotations or {}).items()
        if key.startswith(PARAMETER_PREFIX)
    }
    return {**(config.parameters or {}), **own}


def pod_sets_of_interest(
    pod_sets: Sequence[tuple[str, int, Mappings]],
    assignments: Iterable[PodSetAssignment] | None,
    config: ProvisioningRequestConfigSpec,
) -> list[PodSetOfInterest]:
    """Choose the pod sets that the request is about, in order (provisioning-request 2).

    ``pod_sets`` are names, counts and pod templates. A pod set needs a managed resource in the requests or limits of a
    container, if any resource is managed at all; claims for devices do not count.

    Raises
    ------
    RequestError
        If a pod set that is needed has no assignment.

    """
    assigned = {one.name: one for one in assignments or ()}
    managed = frozenset(config.managed_resources or ())
    chosen = []
    for name, count, template in pod_sets:
        if count <= 0 or (managed and not names_resource(template, managed)):
            continue
        if name not in assigned:
            raise RequestError("inconsistent podSet assignments")
        admitted = assigned[name].count
        if (count if admitted is None else admitted) > 0:
            chosen.append(PodSetOfInterest(name, count if admitted is None else admitted, template, assigned[name]))
    return chosen


def merge_pod_sets(chosen: Sequence[PodSetOfInterest], policy: str | None) -> list[tuple[PodSetOfInterest, int]]:
    """Join pod sets by the merge policy: each that remains, with the pods of all that joined it.

    Each is compared with those that remain, in order; the flavors that they got are not compared.
    """
    if policy not in MERGE_POLICIES:
        return [(one, one.count) for one in chosen]
    compared = _semantic if policy == IDENTICAL_TEMPLATES else _requirements_key
    kept: list[PodSetOfInterest] = []
    counts: list[int] = []
    for one in chosen:
        key = compared(one.template)
        place = next((index for index, other in enumerate(kept) if compared(other.template) == key), None)
        if place is None:
            kept.append(one)
            counts.append(one.count)
        else:
            counts[place] += one.count
    return list(zip(kept, counts, strict=True))


def entries(request: str, merged: Iterable[tuple[PodSetOfInterest, int]]) -> tuple[PodSetEntry, ...]:
    """Give the pod sets of a request, with the names of their PodTemplates."""
    return tuple(PodSetEntry(template_name(request, one.name), one.name, count) for one, count in merged)


def pod_template(pod_set: PodSetOfInterest, flavors: Mapping[str, ResourceFlavor]) -> dict[str, Any]:
    """Give the pod template of a pod set: with labels and tolerations of its flavors, and requests from limits.

    Raises
    ------
    RequestError
        If the pods select another value of a node label than a flavor has.

    """
    template = dict(pod_set.template)
    spec = dict(template.get("spec") or {})
    selector = dict(spec.get("nodeSelector") or {})
    tolerations = list(spec.get("tolerations") or ())
    for flavor in _flavors_of(pod_set.assignment, flavors):
        for key, value in (flavor.spec.node_labels or {}).items():
            if selector.setdefault(key, value) != value:
                raise RequestError(
                    f"conflict for nodeSelector: conflict for key={key}, value1={selector[key]}, value2={value}"
                )
        tolerations += (
            written for written in map(model_mapping, flavor.spec.tolerations or ()) if written not in tolerations
        )
    if selector:
        spec["nodeSelector"] = selector
    if tolerations:
        spec["tolerations"] = tolerations
    for field in _CONTAINERS:
        if spec.get(field):
            spec[field] = [_with_requests(container) for container in spec[field]]
    return {**template, "spec": spec}


def _flavors_of(assignment: PodSetAssignment, flavors: Mapping[str, ResourceFlavor]) -> Iterator[ResourceFlavor]:
    names = dict.fromkeys(flavor for _, flavor in sorted((assignment.flavors or {}).items()))
    return (flavors[name] for name in names if name in flavors)


def _with_requests(container: Mappings) -> dict[str, Any]:
    """Fill requests from limits, and write amounts as the API server does."""
    resources = dict(container.get("resources") or {})
    limits = _canonical(resources.get("limits"))
    requests = {**limits, **_canonical(resources.get("requests"))}
    resources |= {field: amounts for field, amounts in (("limits", limits), ("requests", requests)) if amounts}
    return {**container, "resources": resources} if resources else dict(container)


def _canonical(amounts: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: str(Quantity.parse(amount)) for name, amount in (amounts or {}).items()}


def names_resource(template: Mappings, managed: Iterable[str]) -> bool:
    """Whether a container names a managed resource in its requests or limits, in whatever amount."""
    spec = template.get("spec") or {}
    amounts = (
        (container.get("resources") or {}).get(field) or {}
        for place in _CONTAINERS
        for container in spec.get(place) or ()
        for field in ("requests", "limits")
    )
    named = frozenset(name for one in amounts for name in one)
    return not named.isdisjoint(managed)


def _requirements_key(template: Mappings) -> Any:
    """What the policy on scheduling requirements compares (provisioning-request 2.1)."""
    spec = template.get("spec") or {}
    requested = [
        [_semantic({"requests": (one.get("resources") or {}).get("requests")}) for one in spec.get(field) or ()]
        for field in _CONTAINERS
    ]
    fields = ("resources", "nodeSelector", "tolerations", "affinity", "resourceClaims")
    return requested, _semantic({field: spec.get(field) for field in fields})


def _semantic(value: Any, key: str = "") -> Any:
    """Give a value that is equal for whatever the API takes as equal: empty is absent, amounts count by value."""
    if isinstance(value, Mapping):
        if key in _AMOUNTS:
            return {name: _amount(amount) for name, amount in value.items()}
        parts = ((name, _semantic(inner, name)) for name, inner in value.items())
        return {name: inner for name, inner in parts if inner not in (None, "", {}, [])}
    if isinstance(value, list | tuple):
        return [_semantic(inner) for inner in value]
    return value


def _amount(value: Any) -> Any:
    """An amount in units of 10^-9; what is none stays, for such maps may stand in fields that are not read here."""
    try:
        return Quantity.parse(value).nano
    except ValueError:
        return _semantic(value)

"""Fields of pods and other objects that have no effect on a plan: one line for each field and kind of object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ..cluster.cluster import Cluster
from ..kubernetes.core import Pod
from ..kubernetes.kinds import WORKLOAD_MODELS, ApiObject
from ..kubernetes.meta import ObjectMeta, key_of
from ..kubernetes.workloads import FieldPath, Job, PodGroup, Workload, pod_specs, raw_part
from ..manifests.reader import Manifest
from .units import has_finished
from .volumes import VolumeRules

RawObject: TypeAlias = Mapping[str, Any]
FieldFinder: TypeAlias = Callable[[RawObject], object]
_VOLUMES = ("persistentVolumeClaim", "ephemeral", "csi")


def unsupported_fields(cluster: Cluster, *, planned: bool = False, prefers: bool = False) -> tuple[str, ...]:
    """Lines, in the order of FIELDS: what is in use and has no effect, how often, and an example.

    ``planned``: the answer is a plan, which keeps rules of pods about one another. ``prefers``: it has the stage
    ``preferences``. Only what was read from manifests can tell: objects made in Python have no other fields.
    """
    found: dict[tuple[str, str], list[str]] = {}
    honoured = (*(PLANNED_FIELDS if planned else ()), *(PREFERRED_FIELDS if prefers else ()))
    volumes = VolumeRules(cluster) if planned else None
    for manifest in cluster.manifests:
        metadata = manifest.object.metadata if manifest.object is not None else ObjectMeta()
        name = "/".join(key_of(metadata)) if metadata.namespace else metadata.name
        for field in _fields_in_use(manifest):
            if field in honoured or (field == "volumes" and volumes and _are_known(volumes, manifest.object)):
                continue
            found.setdefault((field, manifest.kind), []).append(name)
    order = list(UNSUPPORTED_FIELDS)
    lines = [
        f"{field} of {len(names)} {kind}{'s' if len(names) > 1 else ''} is not honoured: {UNSUPPORTED_FIELDS[field]}"
        f" (such as {names[0]})"
        for (field, kind), names in sorted(found.items(), key=lambda one: (order.index(one[0][0]), one[0][1]))
    ]
    return tuple(lines)


def _are_known(volumes: VolumeRules, read: ApiObject | None) -> bool:
    """Whether the input says where the volumes of a pod can be used; of pods that are to be made it does not."""
    kinds = (volume for volume in read.spec.volumes or ()) if isinstance(read, Pod) else ()
    return isinstance(read, Pod) and not any(one.csi for one in kinds) and volumes.is_known(read)


def _fields_in_use(manifest: Manifest) -> Iterator[str]:
    if manifest.raw is None:
        return
    specs = [raw_part(manifest.raw, path) for path in _pod_spec_paths(manifest.object)]
    if isinstance(manifest.object, Pod) and (manifest.object.spec.node_name or has_finished(manifest.object)):
        # It is where it is.
        specs = []
    yield from (field for field, find in _POD_FIELDS.items() if any(map(find, specs)))
    for field, find in _OBJECT_FIELDS.get(type(manifest.object), {}).items():
        if find(manifest.raw):
            yield field


def _items(raw: RawObject, *fields: str) -> Iterator[RawObject]:
    for field in fields:
        listed = raw.get(field)
        yield from (item for item in listed if isinstance(item, Mapping)) if isinstance(listed, list) else ()


def _host_ports(spec: RawObject) -> bool:
    network = bool(spec.get("hostNetwork"))
    ports = (port for container in _items(spec, "containers", "initContainers") for port in _items(container, "ports"))
    return any(network or port.get("hostPort") for port in ports)


def _pod_spec_paths(read: ApiObject | None) -> Iterator[FieldPath]:
    if isinstance(read, Pod):
        yield ("spec",)
    elif type(read) in WORKLOAD_MODELS and read is not None:
        yield from (path for path, _ in pod_specs(read))


def _other_than_preferred(spec: RawObject, field: str) -> bool:
    return any(one != _PREFERRED and value is not None for one, value in raw_part(spec, ("affinity", field)).items())


def _spreads(spec: RawObject, *, hard: bool) -> Iterator[RawObject]:
    for one in _items(spec, "topologySpreadConstraints"):
        if (one.get("whenUnsatisfiable") != "ScheduleAnyway") is hard:
            yield one


_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
# By the field's path in the spec of a pod.
_POD_FIELDS: dict[str, FieldFinder] = {
    f"affinity.nodeAffinity.{_PREFERRED}": lambda spec: raw_part(spec, ("affinity", "nodeAffinity")).get(_PREFERRED),
    "affinity.podAffinity": lambda spec: _other_than_preferred(spec, "podAffinity"),
    "affinity.podAntiAffinity": lambda spec: _other_than_preferred(spec, "podAntiAffinity"),
    f"affinity.podAffinity.{_PREFERRED}": lambda spec: raw_part(spec, ("affinity", "podAffinity")).get(_PREFERRED),
    f"affinity.podAntiAffinity.{_PREFERRED}": lambda spec: raw_part(spec, ("affinity", "podAntiAffinity")).get(
        _PREFERRED
    ),
    "topologySpreadConstraints": lambda spec: any(_spreads(spec, hard=True)),
    "topologySpreadConstraints.ScheduleAnyway": lambda spec: any(_spreads(spec, hard=False)),
    "volumes": lambda spec: any(volume.get(kind) for volume in _items(spec, "volumes") for kind in _VOLUMES),
    "containers.ports.hostPort": _host_ports,
    "runtimeClassName": lambda spec: spec.get("runtimeClassName") and not spec.get("overhead"),
    "schedulingGates": lambda spec: spec.get("schedulingGates"),
}
_OBJECT_FIELDS: dict[type[Any], dict[str, FieldFinder]] = {
    Pod: {
        "status.conditions": lambda pod: any(
            one.get("type") == "PodResizePending" for one in _items(raw_part(pod, ("status",)), "conditions")
        )
    },
    PodGroup: {"spec.preemptionPolicy": lambda raw: raw_part(raw, ("spec",)).get("preemptionPolicy")},
    Job: {"spec.scheduling.resourceClaims": lambda raw: raw_part(raw, ("spec", "scheduling")).get("resourceClaims")},
    Workload: {
        "spec.podGroupTemplates": lambda raw: raw_part(raw, ("spec",)).get("podGroupTemplates"),
        "spec.compositePodGroupTemplates": lambda raw: raw_part(raw, ("spec",)).get("compositePodGroupTemplates"),
    },
}
# What has no effect, and what that means; also the order of the lines.
UNSUPPORTED_FIELDS: dict[str, str] = {
    f"affinity.nodeAffinity.{_PREFERRED}": "any node that fits will do; the stage preferences of a plan counts it",
    "affinity.podAffinity": "pods are placed regardless of each other",
    "affinity.podAntiAffinity": "pods are placed regardless of each other",
    f"affinity.podAffinity.{_PREFERRED}": "other pods do not matter; the stage preferences of a plan counts it",
    f"affinity.podAntiAffinity.{_PREFERRED}": "other pods do not matter; the stage preferences of a plan counts it",
    "topologySpreadConstraints": "pods are not spread",
    "topologySpreadConstraints.ScheduleAnyway": "pods are not spread; the stage preferences of a plan counts it",
    "volumes": "where volumes can be used is not known",
    "containers.ports.hostPort": "pods with one port may be on one node",
    "runtimeClassName": "nodes and overhead of a RuntimeClass count only if the pod has them",
    "schedulingGates": "pods are planned as if they had none",
    "status.conditions": "pods that are being resized count with what their spec asks for",
    "spec.preemptionPolicy": "pods that run are never removed",
    "spec.scheduling.resourceClaims": "each pod has claims of its own; in a PodGroup they are shared",
    "spec.podGroupTemplates": "PodGroups count, not what they are made of",
    "spec.compositePodGroupTemplates": "CompositePodGroups count, not what they are made of",
}
# What plans keep.
PLANNED_FIELDS = (
    "affinity.podAffinity",
    "affinity.podAntiAffinity",
    "topologySpreadConstraints",
    "containers.ports.hostPort",
)
# What the stage ``preferences`` counts.
PREFERRED_FIELDS = (
    f"affinity.nodeAffinity.{_PREFERRED}",
    f"affinity.podAffinity.{_PREFERRED}",
    f"affinity.podAntiAffinity.{_PREFERRED}",
    "topologySpreadConstraints.ScheduleAnyway",
)

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

RawObject: TypeAlias = Mapping[str, Any]
FieldFinder: TypeAlias = Callable[[RawObject], object]
_VOLUMES = ("persistentVolumeClaim", "ephemeral", "csi")


def unsupported_fields(cluster: Cluster) -> tuple[str, ...]:
    """Lines, in the order of FIELDS: what is in use and has no effect on a plan, how often, and an example.

    Only what was read from manifests can tell: objects made in Python have no other fields.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for manifest in cluster.manifests:
        metadata = manifest.object.metadata if manifest.object is not None else ObjectMeta()
        name = "/".join(key_of(metadata)) if metadata.namespace else metadata.name
        for field in _fields_in_use(manifest):
            found.setdefault((field, manifest.kind), []).append(name)
    order = list(UNSUPPORTED_FIELDS)
    lines = [
        f"{field} of {len(names)} {kind}{'s' if len(names) > 1 else ''} is not honoured: {UNSUPPORTED_FIELDS[field]}"
        f" (such as {names[0]})"
        for (field, kind), names in sorted(found.items(), key=lambda one: (order.index(one[0][0]), one[0][1]))
    ]
    return tuple(lines)


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


_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
# By the field's path in the spec of a pod.
_POD_FIELDS: dict[str, FieldFinder] = {
    f"affinity.nodeAffinity.{_PREFERRED}": lambda spec: raw_part(spec, ("affinity", "nodeAffinity")).get(_PREFERRED),
    "affinity.podAffinity": lambda spec: raw_part(spec, ("affinity",)).get("podAffinity"),
    "affinity.podAntiAffinity": lambda spec: raw_part(spec, ("affinity",)).get("podAntiAffinity"),
    "topologySpreadConstraints": lambda spec: spec.get("topologySpreadConstraints"),
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
    f"affinity.nodeAffinity.{_PREFERRED}": "any node that fits will do",
    "affinity.podAffinity": "pods are placed regardless of each other",
    "affinity.podAntiAffinity": "pods are placed regardless of each other",
    "topologySpreadConstraints": "pods are not spread",
    "volumes": "where volumes can be used is not known",
    "containers.ports.hostPort": "pods with one port may be on one node",
    "runtimeClassName": "nodes and overhead of a RuntimeClass count only if the pod has them",
    "schedulingGates": "pods are planned as if they had none",
    "status.conditions": "pods that are being resized count with what their spec asks for",
    "spec.preemptionPolicy": "pods that run are never removed",
    "spec.scheduling.resourceClaims": "each pod has claims of its own; in a PodGroup they are shared",
    "spec.podGroupTemplates": "PodGroups count, not what they are made of",
    "spec.compositePodGroupTemplates": "PodGroups count, not groups of groups",
}

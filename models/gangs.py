"""Gangs: which units are placed together or not at all."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from .core import PodSpec
from .plan_annotations import PlanAnnotations
from .planned_sets import Gang, GangKind

if TYPE_CHECKING:
    from .cluster import Cluster

# What a gang is known by while its members are still looked for.
GangKey: TypeAlias = tuple[GangKind, str, str]


class GangError(ValueError):
    """Members that contradict each other; one line."""


class Gangs:
    """Collects what the members say of their gangs."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._domains: dict[GangKey, str] = {}
        self._placed: dict[GangKey, list[str]] = {}

    def join(self, namespace: str, said: PlanAnnotations, spec: PodSpec | None) -> GangKey | None:
        """The gang of a unit, None if it is in none; the annotation counts before groups of scheduling.k8s.io.

        Raises ``GangError`` if members name different domains.
        """
        key = _key(namespace, said, spec)
        if key is not None and said.domain is not None:
            known = self._domains.setdefault(key, said.domain)
            if known != said.domain:
                first, second = sorted((known, said.domain))
                raise GangError(f"{key[0]} {namespace}/{key[2]}: its members name two domains, {first} and {second}")
        return key

    def place(self, key: GangKey, node: str) -> None:
        """A member runs on this node."""
        self._placed.setdefault(key, []).append(node)

    def gang(self, key: GangKey) -> Gang | None:
        """The gang, when all members are known; None for a group that asks for nothing."""
        kind, namespace, name = key
        minimum, domain, problem = _FINDERS[kind](self._cluster, namespace, name)
        domain = self._domains.get(key, domain)
        if minimum == 0 and domain is None and not problem:
            return None
        return Gang(kind, namespace, name, minimum, domain, tuple(sorted(self._placed.get(key, ()))), problem)


def _key(namespace: str, said: PlanAnnotations, spec: PodSpec | None) -> GangKey | None:
    if said.gang is not None:
        return "Gang", namespace, said.gang
    if spec is None or not spec.grouped:
        return None
    group = spec.scheduling_group
    if group is not None and group.pod_group_name:
        return "PodGroup", namespace, group.pod_group_name
    reference = spec.workload_ref
    if reference is None:
        return None
    parts = reference.name, reference.pod_group, reference.pod_group_replica_key
    return "Workload", namespace, "/".join(part for part in parts if part)


_Found: TypeAlias = tuple[int | None, str | None, str]


def _annotated(_cluster: "Cluster", _namespace: str, _name: str) -> _Found:
    return None, None, ""


def _in_workload(cluster: "Cluster", namespace: str, name: str) -> _Found:
    workload_name, _, rest = name.partition("/")
    workload = cluster.workloads.get((namespace, workload_name))
    if workload is None:
        return 0, None, f"Workload {namespace}/{workload_name} not found"
    group = workload.group(rest.partition("/")[0])
    if group is None:
        return 0, None, f"Workload {namespace}/{workload_name} has no pod group {rest.partition('/')[0]}"
    return (group.policy.gang.min_count if group.policy.gang else 0), None, ""


def _pod_group(cluster: "Cluster", namespace: str, name: str) -> _Found:
    group = cluster.pod_groups.get((namespace, name))
    if group is None:
        return 0, None, f"PodGroup {namespace}/{name} not found"
    gang = group.spec.scheduling_policy.gang
    return (gang.min_count if gang else 0), group.domain, ""


_FINDERS: Mapping[GangKind, Callable[["Cluster", str, str], _Found]] = {
    "Gang": _annotated,
    "Workload": _in_workload,
    "PodGroup": _pod_group,
}

"""Which running members of a group of pods may move one by one, and where to (WLG-6, WLG-12, MOV-7).

The pod that is made in place of a member joins the group. So it is placed only where the topology of the group allows
it, beside the members that run, and only if these and it are as many as the group needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from ..cluster.cluster import Cluster
from ..kubernetes.core import Pod
from ..kubernetes.extensions import GANG_ANNOTATION, GANG_DOMAIN_ANNOTATION
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectKey
from .gangs import GangKey
from .queue import GroupMembers, read_groups
from .units import is_deleting

# Of groups of other schedulers it is not known who places what is made again.
_KINDS = ("Gang", "PodGroup", "Workload")
_ANNOTATIONS = (GANG_ANNOTATION, GANG_DOMAIN_ANNOTATION)


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """The group of a running pod that may move: so many ``members`` may be ``away`` at once, None for any number.

    All nodes ``within`` this label and value are open to the pod; None: the group has no topology.
    """

    key: GangKey
    members: frozenset[ObjectKey] = frozenset()
    away: int | None = None
    within: tuple[str, str] | None = None


class MemberMoves:
    """The groups of a cluster, read at the first question."""

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self._cluster = cluster
        self._gates = gates
        self._running: dict[GangKey, frozenset[ObjectKey]] = {}

    @cached_property
    def _groups(self) -> Mapping[GangKey, GroupMembers]:
        return read_groups(self._cluster, self._gates, natural_gangs=False)

    def place(self, pod: Pod, key: GangKey | None) -> GroupPlace | str:
        """Where the member of a group may go, or why it stays; ``key`` is that of the group where it counts."""
        if key is None or key[0] not in _KINDS:
            return "it is in a group of pods"
        members, label = self._groups[key], f"{key[0]} {key[1]}/{key[2]}"
        group = self._cluster.pod_groups.get(key[1:]) if key[0] == "PodGroup" else None
        if group is not None and group.is_disrupted_whole:
            return f"its {label} goes as a whole"
        if group is not None and group.spec.parent_composite_pod_group_name:
            return f"its {label} is in a group of groups"
        if members.waiting:
            return f"others of its {label} wait"
        gang = members.gang
        if gang is None:
            return GroupPlace(key)
        if gang.problem:
            return gang.problem
        running = self._staying(key)
        if gang.minimum is not None and len(running) < gang.minimum:
            return f"its {label} has lost members: what is made in its place would wait for {gang.minimum} of them"
        away = len(running) - gang.minimum + 1 if gang.minimum else None
        if gang.domain is None:
            return GroupPlace(key, running, away)
        if pod.spec.topology_spread_constraints:
            return f"its {label} has a topology, and it is spread"
        node = self._cluster.nodes.get(pod.spec.node_name or "")
        value = ((node.metadata.labels if node else None) or {}).get(gang.domain)
        if value is None or (pod.spec.node_selector or {}).get(gang.domain, value) != value:
            return f"its node is in no domain of its {label}"
        return GroupPlace(key, running, away, (gang.domain, value))

    def _staying(self, key: GangKey) -> frozenset[ObjectKey]:
        """The members that run and are not being deleted."""
        if key not in self._running:
            pods, running = self._cluster.pods, self._groups[key].running
            self._running[key] = frozenset(own for own in running if not is_deleting(pods[own].metadata))
        return self._running[key]


def alone(pod: Pod, place: GroupPlace, priority: int) -> Pod:
    """A member of a group as a pod of no group, which goes to the nodes of the group's domain only."""
    selector = dict(pod.spec.node_selector or {})
    if place.within is not None:
        selector[place.within[0]] = place.within[1]
    annotations = {name: text for name, text in (pod.metadata.annotations or {}).items() if name not in _ANNOTATIONS}
    spec = replace(
        pod.spec, scheduling_group=None, workload_ref=None, node_selector=selector or None, priority=priority
    )
    return replace(pod, metadata=replace(pod.metadata, annotations=annotations or None), spec=spec)

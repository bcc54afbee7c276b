"""Groups of groups: CompositePodGroups above PodGroups (groups 1.3).

Of a tree enough groups are placed at every level, or nobody is (WLG-16). A group's domain contains those of the groups
below it. What breaks the structure of a tree keeps all of it waiting (WLG-17).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ..cluster.cluster import Cluster
from ..kubernetes.core import Node
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectKey
from ..kubernetes.workloads import CompositePodGroup, PodGroup, default_priority, priority_of

COMPOSITE = "CompositePodGroup"
MOST_LEVELS = 4
"""So many levels a tree has at most, its PodGroups included."""

GroupKey = tuple[str, str, str]
"""Kind, namespace and name of a PodGroup or CompositePodGroup."""


@dataclass(frozen=True, slots=True)
class ParentGroup:
    """A CompositePodGroup above a gang: ``minimum`` of its groups are needed at once.

    ``satisfied`` are the groups right below it whose running members are enough by themselves. ``domain`` is a node
    label of which all members below have one value, and ``running_nodes`` are the nodes of those that run.
    """

    key: GroupKey
    minimum: int
    domain: str | None = None
    satisfied: frozenset[GroupKey] = frozenset()
    running_nodes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.key[0]} {self.key[1]}/{self.key[2]}"

    @property
    def needed(self) -> int:
        """How many more groups have to be placed."""
        return max(0, self.minimum - len(self.satisfied))


class GroupTrees:
    """The trees of a cluster. ``gates`` decide whether minimum counts and topologies count."""

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self._cluster = cluster
        self._gates = gates

    @cached_property
    def _composites(self) -> Mapping[ObjectKey, CompositePodGroup]:
        return self._cluster.objects(CompositePodGroup)

    @cached_property
    def _children(self) -> Mapping[ObjectKey, Sequence[GroupKey]]:
        found: dict[ObjectKey, list[GroupKey]] = defaultdict(list)
        for kind, objects in (("PodGroup", self._cluster.pod_groups), (COMPOSITE, self._composites)):
            for key, group in objects.items():
                if group.spec.parent_composite_pod_group_name:
                    found[key[0], group.spec.parent_composite_pod_group_name].append((kind, *key))
        return found

    def groups_below(self, key: GroupKey) -> frozenset[GroupKey]:
        """All PodGroups below a CompositePodGroup."""
        below = self._below(key)
        return frozenset(one for one in below if one[0] != COMPOSITE)

    def _below(self, key: GroupKey) -> set[GroupKey]:
        found: set[GroupKey] = {key}
        waiting = [key]
        while waiting:
            own = [one for one in self._children.get(waiting.pop()[1:], ()) if one not in found]
            found.update(own)
            waiting += [one for one in own if one[0] == COMPOSITE]
        return found

    def parents(self, key: ObjectKey, running: Mapping[GroupKey, Sequence[str]]) -> tuple[tuple[ParentGroup, ...], str]:
        """What is above a PodGroup, from below to the root, and why nobody of the tree can be placed.

        ``running`` are the nodes of the members that run, by PodGroup.
        """
        label = f"PodGroup {key[0]}/{key[1]}"
        group = self._cluster.pod_groups[key]
        path: list[ObjectKey] = []
        above = group.spec.parent_composite_pod_group_name
        while above:
            if (key[0], above) in path:
                return (), f"{label}: the CompositePodGroups above it are a circle"
            path.append((key[0], above))
            if path[-1] not in self._composites:
                return (), f"{label}: CompositePodGroup {key[0]}/{above} not found"
            above = self._composites[path[-1]].spec.parent_composite_pod_group_name
        if not path:
            return (), ""
        problem = self._problem(label, group, path[-1])
        return tuple(self._parent(one, running) for one in path), problem

    def _problem(self, label: str, group: PodGroup, root: ObjectKey) -> str:
        """What is wrong with the tree as a whole (WLG-17, WLG-18)."""
        below = self._below((COMPOSITE, *root))
        tree = f"CompositePodGroup {root[0]}/{root[1]}"
        depths = {(COMPOSITE, *root): 1}
        waiting = [(COMPOSITE, *root)]
        while waiting:
            one = waiting.pop()
            for child in self._children.get(one[1:], ()) if one[0] == COMPOSITE else ():
                depths[child] = depths[one] + 1
                waiting.append(child)
        if max(depths.values()) > MOST_LEVELS:
            return f"{label}: the tree of {tree} has more than {MOST_LEVELS} levels"
        specs = [self._composites[one[1:]].spec if one[0] == COMPOSITE else None for one in sorted(below)]
        references = [one.workload_ref for one in specs if one is not None]
        references += [self._cluster.pod_groups[one[1:]].spec.workload_ref for one in below if one[0] != COMPOSITE]
        if len({one.workload_name for one in references if one is not None}) > 1:
            return f"{label}: the tree of {tree} has groups of several Workloads"
        classes = self._cluster.priority_classes
        default = default_priority(classes)
        own, wanted = (priority_of(spec, classes, default) for spec in (group.spec, self._composites[root].spec))
        if own != wanted:
            return f"{label} should have the priority of the root of its tree, {tree}, got {own} and {wanted}"
        return ""

    def _parent(self, key: ObjectKey, running: Mapping[GroupKey, Sequence[str]]) -> ParentGroup:
        group, nodes = self._composites[key], list[str]()
        for one in self.groups_below((COMPOSITE, *key)):
            nodes += running.get(one, ())
        return ParentGroup(
            (COMPOSITE, *key),
            self._minimum(key),
            group.domain if self._gates.pod_group_topology else None,
            frozenset(one for one in self._children.get(key, ()) if self._is_satisfied(one, running)),
            tuple(sorted(nodes)),
        )

    def _minimum(self, key: ObjectKey) -> int:
        gang = self._composites[key].spec.scheduling_policy.gang if self._gates.gangs else None
        return max(1, gang.min_group_count if gang else 1)

    def _is_satisfied(self, key: GroupKey, running: Mapping[GroupKey, Sequence[str]]) -> bool:
        """Whether the members that run are enough; trees that are circles are refused before."""
        if key[0] == COMPOSITE:
            own = (one for one in self._children.get(key[1:], ()) if self._is_satisfied(one, running))
            return sum(1 for _ in own) >= self._minimum(key[1:])
        gang = self._cluster.pod_groups[key[1:]].spec.scheduling_policy.gang if self._gates.gangs else None
        return len(running.get(key, ())) >= max(1, gang.min_count if gang else 1)


PlacedGroups = Mapping[tuple[GroupKey, tuple[ParentGroup, ...]], Sequence[str]]
"""The nodes of the members that are placed, by PodGroup with what is above it: enough of them, or none."""


def torn_groups(placed: PlacedGroups, nodes: Mapping[str, Node]) -> Iterator[GroupKey]:
    """Yield the PodGroups below a CompositePodGroup that has too few groups, or members in several domains."""
    placed = {key: names for key, names in placed.items() if names}
    parents = {one.key: one for _, above in placed for one in above}
    children: dict[GroupKey, set[GroupKey]] = {key: set(one.satisfied) for key, one in parents.items()}
    there: dict[GroupKey, list[str]] = {key: list(one.running_nodes) for key, one in parents.items()}
    for (key, above), names in placed.items():
        for one in above:
            there[one.key] += names
        # From below: a group counts above it once it has enough itself.
        for below, one in zip((key, *(one.key for one in above)), above, strict=False):
            children[one.key].add(below)
    changed = True
    while changed:
        changed = False
        for _, above in placed:
            for part, whole in pairwise(above):
                short = len(children[part.key]) < part.minimum
                if short and part.key in children[whole.key] - whole.satisfied:
                    children[whole.key].discard(part.key)
                    changed = True
    wrong = {
        key
        for key, one in parents.items()
        if len(children[key]) < one.minimum or not _in_one_domain(one, there[key], nodes)
    }
    yield from (key for key, above in placed if wrong.intersection(one.key for one in above))


def _in_one_domain(parent: ParentGroup, names: Iterable[str], nodes: Mapping[str, Node]) -> bool:
    if parent.domain is None:
        return True
    found = {(nodes[name].metadata.labels or {}).get(parent.domain) for name in names if name in nodes}
    return None not in found and len(found) <= 1

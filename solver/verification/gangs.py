"""Gangs, coverage groups and groups of groups in a plan (PLAN-GANG, PLAN-COVERAGE, PLAN-DOMAIN, PLAN-TREE).

Gangs and coverage groups are those of the queue, which the caller reads anew; trees are read from the manifests here.

Who is placed below a CompositePodGroup is there together with enough of its groups, at every level (WLG-16), on nodes
with one value of its label; nobody is placed in a tree that is broken (WLG-17).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.kubernetes.workloads import CompositePodGroup
from ...models.results.plan import CoveredGroup, Number, PlanStage
from ...models.workload.node_room import running_pods
from ...models.workload.unit_classes import Gang, UnitSet
from .published import Finding

_RULE = "PLAN-TREE"
_MOST_LEVELS = 4


GangMemberNodes = Iterable[tuple[Gang, str | None, Decimal]]
"""The gang of each member of the queue, the member's node if it is placed, and what it adds to a coverage group."""


def gang_findings(cluster: Cluster, members: GangMemberNodes, stages: Sequence[PlanStage] = ()) -> Iterator[Finding]:
    """Yield what is wrong with gangs and coverage groups, and with what a stage says of these."""
    gangs: dict[tuple[str, str, str], tuple[Gang, list[str | None]]] = {}
    values: dict[tuple[str, str, str], Decimal] = {}
    for gang, node, value in members:
        key = gang.kind, gang.namespace, gang.name
        gangs.setdefault(key, (gang, []))[1].append(node)
        values[key] = values.get(key, gang.served) + (value if node is not None else 0)
    for key, (gang, nodes) in gangs.items():
        placed = [node for node in nodes if node is not None]
        if placed:
            yield from _incomplete_gang(gang, len(placed), len(nodes), values[key])
            yield from _split_domains(cluster, gang, placed)
    covered = sum(gang.demand is not None and values[key] >= gang.demand for key, (gang, _) in gangs.items())
    for told in (stage.value for stage in stages if stage.stage == "coverage"):
        if told != covered:
            yield Finding("PLAN-VALUE", f"the stage coverage is said to be {told}, and is {covered}")


def covered_groups(queue: Iterable[UnitSet], placed: Iterable[UnitSet]) -> dict[ObjectKey, CoveredGroup]:
    """What each coverage group of the queue has, where units of these sets are placed."""
    gangs: dict[ObjectKey, Gang] = {}
    members, units = Counter[ObjectKey](), Counter[ObjectKey]()
    values: dict[ObjectKey, Decimal] = defaultdict(Decimal)
    for one in queue:
        if one.gang is not None and one.gang.demand is not None:
            key = one.gang.namespace, one.gang.name
            gangs[key] = one.gang
            members[key] += one.replicas
    for one in placed:
        if one.gang is not None and one.gang.demand is not None:
            units[one.gang.namespace, one.gang.name] += 1
            values[one.gang.namespace, one.gang.name] += one.coverage
    return {
        key: CoveredGroup(
            namespace=gang.namespace,
            name=gang.name,
            demand=_number(gang.demand or Decimal(0)),
            covered=_number(gang.served + values[key]),
            members=members[key],
            units=units[key],
        )
        for key, gang in gangs.items()
    }


def _number(amount: Decimal) -> Number:
    return int(amount) if amount == int(amount) else float(amount)


def _incomplete_gang(gang: Gang, placed: int, requested: int, value: Decimal) -> Iterator[Finding]:
    if gang.problem:
        yield Finding("PLAN-GANG", f"{gang.label} has members placed, but {gang.problem}")
    elif gang.demand is not None and value < gang.demand:
        yield Finding("PLAN-COVERAGE", f"{gang.label} demands {gang.demand:f}, and members are there for {value:f}")
    elif gang.minimum is None and placed < requested:
        yield Finding("PLAN-GANG", f"{gang.label}: {placed} of {requested} members are placed")
    elif gang.minimum is not None and placed + len(gang.running_nodes) < gang.minimum:
        there = f"{placed} are placed and {len(gang.running_nodes)} run already"
        yield Finding("PLAN-GANG", f"{gang.label} is of at least {gang.minimum} members, {there}")


def _split_domains(cluster: Cluster, gang: Gang, placed: Sequence[str]) -> Iterator[Finding]:
    """Whether members, those that run included, are in several domains; a node without the label is in none.

    Nothing is known of nodes that are not in the cluster.
    """
    if gang.domain is None:
        return
    domains: set[str] = set()
    for name in dict.fromkeys((*placed, *(name for name in gang.running_nodes if name in cluster.nodes))):
        value = (cluster.node(name).metadata.labels or {}).get(gang.domain)
        if value is None:
            yield Finding("PLAN-DOMAIN", f"{gang.label}: node {name} has no label {gang.domain}")
        else:
            domains.add(value)
    if len(domains) > 1:
        values = ", ".join(sorted(domains))
        yield Finding("PLAN-DOMAIN", f"{gang.label} is in several domains of {gang.domain}: {values}")


def tree_findings(cluster: Cluster, gates: FeatureGates, placed: Iterable[tuple[ObjectKey, str]]) -> Iterator[Finding]:
    """Yield what is wrong; ``placed`` are the PodGroup and the node of each member that the plan places."""
    composites = cluster.objects(CompositePodGroup)
    if not composites or not gates.composite_pod_groups:
        return
    reader = _TreeReader(cluster, gates, composites)
    for key, pod in running_pods(cluster).items():
        named = pod.spec.scheduling_group
        if named is not None and pod.spec.node_name:
            reader.members[key[0], named.pod_group_name or ""].append(pod.spec.node_name)
    new: Counter[ObjectKey] = Counter()
    for group, node in placed:
        reader.members[group].append(node)
        new[group] += 1
    told = set[ObjectKey]()
    for group in new:
        if group in cluster.pod_groups:
            yield from reader.above(group, told)


@dataclass
class _TreeReader:
    cluster: Cluster
    gates: FeatureGates
    composites: Mapping[ObjectKey, CompositePodGroup]
    members: dict[ObjectKey, list[str]] = field(default_factory=lambda: defaultdict(list))

    def above(self, group: ObjectKey, told: set[ObjectKey]) -> Iterator[Finding]:
        """Check all that is above a PodGroup with members that are placed, each once."""
        name, seen = self.cluster.pod_groups[group].spec.parent_composite_pod_group_name, list[ObjectKey]()
        while name:
            key = group[0], name
            label = f"CompositePodGroup {group[0]}/{name}"
            if key not in self.composites or key in seen or len(seen) + 2 > _MOST_LEVELS:
                yield Finding(_RULE, f"{label} above PodGroup {group[0]}/{group[1]} is not there, or too far up")
                return
            seen.append(key)
            if key not in told:
                told.add(key)
                yield from self._of_level(key, label)
            name = self.composites[key].spec.parent_composite_pod_group_name

    def _of_level(self, key: ObjectKey, label: str) -> Iterator[Finding]:
        there, needed = self._count(key), self._needed(key)
        if there < needed:
            yield Finding(_RULE, f"{label} has {there} of its groups, and needs {needed} at once")
        domain = self.composites[key].domain if self.gates.pod_group_topology else None
        if domain is not None:
            names = sorted({name for name in self._nodes(key) if name in self.cluster.nodes})
            values = {(self.cluster.nodes[name].metadata.labels or {}).get(domain) for name in names}
            if len(values) > 1 or None in values:
                listed = ", ".join(sorted(value or "none" for value in values))
                yield Finding(_RULE, f"{label} is in several domains of {domain}, or in none: {listed}")

    def _below(self, key: ObjectKey) -> tuple[list[ObjectKey], list[ObjectKey]]:
        """The PodGroups and the CompositePodGroups right below one."""
        groups = [
            one
            for one, group in self.cluster.pod_groups.items()
            if one[0] == key[0] and group.spec.parent_composite_pod_group_name == key[1]
        ]
        composites = [
            one
            for one, group in self.composites.items()
            if one[0] == key[0] and group.spec.parent_composite_pod_group_name == key[1]
        ]
        return groups, composites

    def _needed(self, key: ObjectKey) -> int:
        gang = self.composites[key].spec.scheduling_policy.gang if self.gates.gangs else None
        return max(1, gang.min_group_count) if gang else 1

    def _count(self, key: ObjectKey) -> int:
        """How many of the groups right below have enough members, or groups."""
        groups, composites = self._below(key)
        return sum(map(self._has_enough, groups)) + sum(self._count(one) >= self._needed(one) for one in composites)

    def _has_enough(self, key: ObjectKey) -> bool:
        gang = self.cluster.pod_groups[key].spec.scheduling_policy.gang if self.gates.gangs else None
        return len(self.members[key]) >= (max(1, gang.min_count) if gang else 1)

    def _nodes(self, key: ObjectKey) -> Iterator[str]:
        groups, composites = self._below(key)
        for group in groups:
            yield from self.members[group]
        for one in composites:
            yield from self._nodes(one)

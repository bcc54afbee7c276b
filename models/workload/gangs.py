"""Gangs, which are placed together or not at all, and sets of units split by the ConstraintGroups that they are in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TypeAlias

from ..cluster.cluster import Cluster
from ..kubernetes.core import Node, Pod, PodSpec
from ..kubernetes.extensions import ConstraintGroup, CoverageEntry, PlanAnnotations, requests_in_claim
from ..kubernetes.gates import VERSIONS, FeatureGates
from ..kubernetes.meta import key_of, matches_labels
from ..kubernetes.serving import CoschedulingPodGroup, VolcanoPodGroup
from ..kubernetes.workloads import PodGroup, PodGroupSpec, default_priority, priority_of
from .expansion import UnitExpander
from .group_trees import COMPOSITE, GroupTrees, ParentGroup
from .pod_sets import KindGang
from .unit_classes import Gang, GangKind, UnitSet, signature_of
from .units import ClaimRef, Unit

GroupMembershipKey = tuple[Hashable, ...]


def split_by_groups(cluster: Cluster, sets: Iterable[UnitSet]) -> list[UnitSet]:
    """The sets, those with members split by the groups that their claims are in and by the requests meant there.

    Groups select claims and pods of their namespace only; other sets stay as they are.
    """
    groups: dict[str, list[ConstraintGroup]] = defaultdict(list)
    for key, group in cluster.constraint_groups.items():
        groups[key[0]].append(group)
    units = UnitExpander(cluster)
    found: list[UnitSet] = []
    for one in sets:
        near = groups.get(one.namespace)
        found += _split_set(one, near, units) if near else [one]
    return found


def _split_set(one: UnitSet, groups: list[ConstraintGroup], units: UnitExpander) -> Iterator[UnitSet]:
    numbers: dict[GroupMembershipKey, list[int]] = defaultdict(list)
    for number in one.numbers:
        unit = units.unit(one, number)
        memberships = ((key_of(group.metadata), _membership_in(group, unit)) for group in groups)
        numbers[tuple((key, part) for key, part in memberships if part is not None)].append(number)
    for membership, same in numbers.items():
        alike = one.numbers if len(numbers) == 1 else tuple(same)
        signature = signature_of(one.signature, membership) if membership else one.signature
        yield one._replace(numbers=alike, signature=signature)


def _membership_in(group: ConstraintGroup, unit: Unit) -> GroupMembershipKey | None:
    """For each claim what the group's entries mean of it, None for no member; None if none is."""
    entries = group.spec.constraints or ()
    found = tuple(
        tuple(requests_in_claim(entry, ref.name) for entry in entries) if _is_member(group, unit, ref) else None
        for ref in unit.claims
    )
    return found if any(part is not None for part in found) else None


def _is_member(group: ConstraintGroup, unit: Unit, ref: ClaimRef) -> bool:
    spec = group.spec
    if any(claim.name == ref.name for claim in spec.claims or ()):
        return True
    labels = (ref.claim.metadata.labels if ref.claim else None) or {}
    if spec.claim_selector is not None and matches_labels(spec.claim_selector.requirements, labels):
        return True
    return unit.pod is not None and any(names is None or ref.entry in names for names in _named_entries(group, unit))


def _named_entries(group: ConstraintGroup, unit: Unit) -> Iterator[tuple[str, ...] | None]:
    """The entries of the pod whose claims are members, for each way that the group names it; None is all of them."""
    spec = group.spec
    pods = spec.pods or ()
    yield from (pod.claims for pod in pods if pod.name == unit.name)
    if spec.pod_selector is not None and matches_labels(spec.pod_selector.requirements, unit.labels):
        nameless = [pod.claims for pod in pods if not pod.name]
        yield from nameless or [None]


# What a gang is known by while its members are still looked for.
GangKey: TypeAlias = tuple[GangKind, str, str]
COVERAGE: GangKind = "Coverage"
"""The kind of coverage groups, which annotations of ours make."""


class GangError(ValueError):
    """Members that contradict each other; one line."""


class GangCollector:
    """Collects what the members say of their gangs; ``gates`` decides what of PodGroups and Workloads counts."""

    def __init__(self, cluster: Cluster, gates: FeatureGates | None = None) -> None:
        self._cluster = cluster
        self._gates = gates or FeatureGates.all_on()
        self._default_priority = default_priority(cluster.priority_classes)
        self._problems: dict[GangKey, str] = {}
        self._domains: dict[GangKey, str] = {}
        self._running_nodes: dict[GangKey, list[str]] = {}
        self._kind_gangs: dict[GangKey, KindGang] = {}
        self._trees = GroupTrees(cluster, self._gates)
        self._demands: dict[GangKey, Decimal] = {}
        self._served: dict[GangKey, Decimal] = defaultdict(Decimal)
        self.has_foreign_groups = any(cluster.objects(model) for model in _FOREIGN_MODELS.values())

    def join(
        self, namespace: str, annotations: PlanAnnotations, pod: Pod | None, own: KindGang | None = None
    ) -> GangKey | None:
        """The gang of a unit, None if it is in none.

        Our annotation counts before groups of scheduling.k8s.io, these before groups of other schedulers, and all of
        them before the gang that the pod's controller asks for (KND-8). Raises ``GangError`` if members name different
        domains.
        """
        spec = pod.spec if pod and self._gates.pod_groups else None
        key = _gang_key(namespace, annotations, spec) or self._foreign_key(namespace, pod)
        if key is None and own is not None:
            key = own.kind, namespace, own.name
            self._kind_gangs[key] = own
        if annotations.coverage is not None:
            return self._join_coverage(namespace, annotations.coverage, key)
        if key is not None and annotations.domain is not None:
            known = self._domains.setdefault(key, annotations.domain)
            if known != annotations.domain:
                first, second = sorted((known, annotations.domain))
                raise GangError(f"{key[0]} {namespace}/{key[2]}: its members name two domains, {first} and {second}")
        if key is not None and key[0] == "PodGroup" and spec is not None:
            self._compare_priority(key, spec)
        return key

    def _join_coverage(self, namespace: str, entry: CoverageEntry, gang: GangKey | None) -> GangKey:
        key = COVERAGE, namespace, entry.group
        if gang is not None:
            raise GangError(f"coverage group {namespace}/{entry.group}: a member is in {gang[0]} {namespace}/{gang[2]}")
        known = self._demands.setdefault(key, entry.demand)
        if known != entry.demand:
            first, second = sorted((known, entry.demand))
            raise GangError(
                f"coverage group {namespace}/{entry.group}: its members name two demands, {first:f} and {second:f}"
            )
        return key

    def group_priority(self, namespace: str, spec: PodSpec) -> int | None:
        """The priority of a pod's PodGroup, which orders the queue in place of the pod's own (WLG-10)."""
        group = self._pod_group(namespace, spec) if self._gates.pod_groups else None
        return None if group is None else self._priority(group.spec)

    def priority(self, namespace: str, spec: PodSpec) -> int:
        """The priority of a pod: that of its PodGroup, else its own."""
        group = self.group_priority(namespace, spec)
        return self._priority(spec) if group is None else group

    def _pod_group(self, namespace: str, spec: PodSpec) -> PodGroup | None:
        named = spec.scheduling_group
        return self._cluster.pod_groups.get((namespace, named.pod_group_name or "")) if named else None

    def _priority(self, spec: PodSpec | PodGroupSpec) -> int:
        return priority_of(spec, self._cluster.priority_classes, self._default_priority)

    def _compare_priority(self, key: GangKey, spec: PodSpec) -> None:
        """Members have the priority of the group, from Kubernetes 1.37 on; else nobody of it is placed (WLG-9)."""
        group = self._cluster.pod_groups.get(key[1:])
        if group is None or self._gates.version == VERSIONS[0]:
            return
        own, wanted = self._priority(spec), self._priority(group.spec)
        if own != wanted:
            text = "all pods in a single pod group should have the same priority as the pod group's priority"
            self._problems.setdefault(key, f"{key[0]} {key[1]}/{key[2]}: {text}, got {own} and {wanted}")

    def _foreign_key(self, namespace: str, pod: Pod | None) -> GangKey | None:
        """The PodGroup of another scheduler, if the input has it."""
        if pod is None or not self.has_foreign_groups:
            return None
        named = (
            (_COSCHEDULING, (pod.metadata.labels or {}).get("scheduling.x-k8s.io/pod-group")),
            (_VOLCANO, (pod.metadata.annotations or {}).get("scheduling.k8s.io/group-name")),
        )
        return next(
            (
                (kind, namespace, name)
                for kind, name in named
                if name and (namespace, name) in self._cluster.objects(_FOREIGN_MODELS[kind])
            ),
            None,
        )

    def record_running_member(self, key: GangKey, node: str, coverage: Decimal = Decimal(0)) -> None:
        """A member runs on this node, and adds so much to its coverage group."""
        self._running_nodes.setdefault(key, []).append(node)
        self._served[key] += coverage

    def gang(self, key: GangKey) -> Gang | None:
        """The gang, when all members are known; None for a group that asks for nothing."""
        kind, namespace, name = key
        running = tuple(sorted(self._running_nodes.get(key, ())))
        if kind == COVERAGE:
            return Gang(kind, namespace, name, 0, None, running, demand=self._demands[key], served=self._served[key])
        own = self._kind_gangs.get(key)
        if own is not None:
            minimum, domain, problem = own.minimum, own.domain, ""
        else:
            minimum, domain, problem = _GANG_TERMS[kind](self._cluster, namespace, name, self._gates)
        problem = problem or self._problems.get(key, "")
        domain = self._domains.get(key, domain)
        parents: tuple[ParentGroup, ...] = ()
        if kind == "PodGroup" and not problem and self._gates.composite_pod_groups:
            parents, problem = self._parents(namespace, name)
        if minimum == 0 and domain is None and not problem and not parents:
            return None
        if kind == "PodGroup" and domain is not None and not problem:
            problem = self._domain_problem(f"{kind} {namespace}/{name}", domain, running)
        if parents and minimum is not None:
            # A group without a minimum needs one pod to count (WLG-16).
            minimum = max(1, minimum)
        return Gang(kind, namespace, name, minimum, domain, running, problem, None, parents)

    def groups_below(self, key: GangKey) -> frozenset[GangKey]:
        """The PodGroups below a CompositePodGroup, or the group itself."""
        return self._trees.groups_below(key) if key[0] == COMPOSITE else frozenset((key,))

    def _parents(self, namespace: str, name: str) -> tuple[tuple[ParentGroup, ...], str]:
        """What is above a PodGroup, and why nobody of the tree is placed."""
        parents, problem = self._trees.parents((namespace, name), self._running_nodes)
        if parents and self._cluster.constraint_groups and not problem:
            problem = f"{parents[-1].label}: groups of groups are not planned beside ConstraintGroups"
        for one in parents:
            if one.domain is not None and not problem:
                problem = self._domain_problem(one.label, one.domain, one.running_nodes)
        return parents, problem

    def _domain_problem(self, label: str, domain: str, running: Iterable[str]) -> str:
        """Nothing of a group is placed whose members run in several domains, or outside of any (WLG-13)."""
        nodes = [self._cluster.nodes[name] for name in dict.fromkeys(running) if name in self._cluster.nodes]
        found = {(node.metadata.labels or {}).get(domain) for node in nodes}
        if None in found:
            return f"{label}: members run on a node without label {domain}"
        values = ", ".join(sorted(filter(None, found)))
        return f"{label}: more than 1 domain found for pod group: {values}" if len(found) > 1 else ""


def covered_amounts(units: Iterable[tuple[UnitSet, bool]]) -> dict[Gang, Decimal]:
    """What the members of each coverage group add up to: those that run, and those of these units that are placed."""
    found: dict[Gang, Decimal] = {}
    for one, is_placed in units:
        gang = one.gang
        if gang is not None and gang.demand is not None:
            found[gang] = found.get(gang, gang.served) + (one.coverage if is_placed else 0)
    return found


def _gang_key(namespace: str, annotations: PlanAnnotations, spec: PodSpec | None) -> GangKey | None:
    if annotations.gang is not None:
        return "Gang", namespace, annotations.gang
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


_GangTerms: TypeAlias = tuple[int | None, str | None, str]


def _workload_terms(cluster: Cluster, namespace: str, name: str, gates: FeatureGates) -> _GangTerms:
    workload_name, _, rest = name.partition("/")
    workload = cluster.workloads.get((namespace, workload_name))
    if workload is None:
        return 0, None, f"Workload {namespace}/{workload_name} not found"
    group = workload.group(rest.partition("/")[0])
    if group is None:
        return 0, None, f"Workload {namespace}/{workload_name} has no pod group {rest.partition('/')[0]}"
    return (group.policy.gang.min_count if group.policy.gang and gates.gangs else 0), None, ""


def _pod_group_terms(cluster: Cluster, namespace: str, name: str, gates: FeatureGates) -> _GangTerms:
    group = cluster.pod_groups.get((namespace, name))
    if group is None:
        return 0, None, f"PodGroup {namespace}/{name} not found"
    gang = group.spec.scheduling_policy.gang if gates.gangs else None
    return (gang.min_count if gang else 0), (group.domain if gates.pod_group_topology else None), ""


_COSCHEDULING, _VOLCANO = "PodGroup.scheduling.x-k8s.io", "PodGroup.scheduling.volcano.sh"
_FOREIGN_MODELS: Mapping[GangKind, type[CoschedulingPodGroup | VolcanoPodGroup]] = {
    _COSCHEDULING: CoschedulingPodGroup,
    _VOLCANO: VolcanoPodGroup,
}


def _foreign_terms(kind: GangKind) -> Callable[[Cluster, str, str, FeatureGates], _GangTerms]:
    def terms(cluster: Cluster, namespace: str, name: str, _gates: FeatureGates) -> _GangTerms:
        return cluster.objects(_FOREIGN_MODELS[kind])[namespace, name].spec.min_member or 0, None, ""

    return terms


_GANG_TERMS: Mapping[GangKind, Callable[[Cluster, str, str, FeatureGates], _GangTerms]] = {
    "Gang": lambda _cluster, _namespace, _name, _gates: (None, None, ""),
    "Workload": _workload_terms,
    "PodGroup": _pod_group_terms,
    _COSCHEDULING: _foreign_terms(_COSCHEDULING),
    _VOLCANO: _foreign_terms(_VOLCANO),
}


def is_whole(gang: Gang, placed: Collection[UnitSet], members: int) -> bool:
    """Tell whether enough members are ``placed``, by the sets of these; the queue has ``members`` of them."""
    if gang.demand is not None:
        return gang.served + sum(one.coverage for one in placed) >= gang.demand
    if gang.minimum is None:
        return len(placed) == members
    return len(placed) + len(gang.running_nodes) >= gang.minimum


def in_one_domain(gang: Gang, names: Iterable[str], nodes: Mapping[str, Node]) -> bool:
    """Tell whether all members, those that run included, are on nodes with one value of the gang's label."""
    if gang.domain is None:
        return True
    there = [nodes.get(name) for name in (*names, *gang.running_nodes)]
    values = {gang.domain_value(node) if node else None for node in there}
    return None not in values and len(values) <= 1

"""The value of the stage ``preferences``, counted from the manifests pair by pair.

What a placed pod counts: the weights of its preferred node terms that hold on its node; minus 100 for each taint with
PreferNoSchedule of the node that it does not tolerate, and for each of its constraints with ScheduleAnyway for which
the node does not count; for each preferred term about other pods, of it and of all others, its weight for each pod that
the term selects in the same domain, with a minus for anti-affinity. Pairs of which no pod is placed count nothing.

What each constraint with ScheduleAnyway of a pod of the queue counts, equal ones once: minus 100 for each pod of a
domain beyond ``maxSkew`` more than the emptiest domain has. Pods that are being deleted are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError, term_matches, tolerates
from ...models.kubernetes.core import Node, Pod, PodAffinityTerm, TopologySpreadConstraint
from ...models.kubernetes.meta import key_of
from ...models.workload.node_room import running_pods
from .pod_rules import PlacedPods, admits, labelled, more_labels, selector_test

_WORST = 100
_Terms = list[tuple[int, PodAffinityTerm]]


@dataclass(frozen=True, slots=True)
class _Group:
    """Equal pods: one of them, and how many are on each node, those that run and those that are placed."""

    pod: Pod
    running: Counter[str] = field(default_factory=Counter)
    placed: Counter[str] = field(default_factory=Counter)


def preference_value(cluster: Cluster, units: Sequence[tuple[Pod, str | None]]) -> int:
    """What pods of the queue count on their nodes; None is the node of one that is not placed."""
    groups: dict[object, _Group] = {}
    for pod, node in units:
        own = groups.setdefault(_content(pod), _Group(pod))
        if node is not None:
            own.placed[node] += 1
    queued = [one.pod for one in groups.values()]
    for pod in running_pods(cluster).values():
        groups.setdefault(_content(pod), _Group(pod)).running[pod.spec.node_name or ""] += 1
    return _Count(cluster, list(groups.values())).total(queued)


def _content(pod: Pod) -> object:
    spec = pod.spec
    about = spec.affinity, spec.topology_spread_constraints, spec.node_selector, spec.tolerations
    return labelled(pod), repr(about)


@dataclass
class _Count:
    cluster: Cluster
    groups: Sequence[_Group]

    def __post_init__(self) -> None:
        self._pods, self._domains = PlacedPods(self.cluster), dict[object, dict[str, str]]()

    def total(self, queued: Sequence[Pod]) -> int:
        """All parts together."""
        total = 0
        for group in self.groups:
            for name, number in group.placed.items():
                total += number * self._of_node(group.pod, self.cluster.nodes[name])
            for weight, term in _pod_terms(group.pod):
                total += weight * self._pairs(group, term)
        rules = {self._identity(pod, one): (pod, one) for pod in queued for one in _soft(pod)}
        return total - _WORST * sum(self._too_many(pod, one) for pod, one in rules.values())

    def _of_node(self, pod: Pod, node: Node) -> int:
        affinity, total = pod.spec.affinity.node_affinity if pod.spec.affinity else None, 0
        for one in (affinity.preferred if affinity else None) or ():
            with suppress(SelectorError):
                total += one.weight if term_matches(one.preference, node) else 0
        for taint in (node.spec.taints if node.spec else None) or ():
            if taint.effect == "PreferNoSchedule":
                total -= 0 if any(tolerates(one, taint) for one in pod.spec.tolerations or ()) else _WORST
        mine = {self._identity(pod, one): one for one in _soft(pod)}
        return total - _WORST * sum(not self._is_counted(pod, node, one) for one in mine.values())

    def _pairs(self, owner: _Group, term: PodAffinityTerm) -> int:
        """Pairs of an owner and another pod that the term selects in its domain, of which one is placed."""
        means, pairs = self._pods.term_test(owner.pod, term), 0
        here = [self._by_domain(nodes, term) for nodes in (owner.running, owner.placed)]
        for other in self.groups:
            if means(labelled(other.pod)):
                there = [self._by_domain(nodes, term) for nodes in (other.running, other.placed)]
                for value in here[0] | here[1]:
                    running, placed = here[0][value], here[1][value]
                    pairs += placed * (there[0][value] + there[1][value]) + running * there[1][value]
                    pairs -= placed if other is owner else 0
        return pairs

    def _by_domain(self, nodes: Mapping[str, int], term: PodAffinityTerm) -> Counter[str]:
        found: Counter[str] = Counter()
        for name, number in nodes.items():
            labels = self.cluster.nodes[name].metadata.labels if name in self.cluster.nodes else None
            if labels and term.topology_key in labels:
                found[labels[term.topology_key]] += number
        return found

    def _is_counted(self, pod: Pod, node: Node, constraint: TopologySpreadConstraint) -> bool:
        """Whether a node has the keys of all such constraints of the pod, and the policies let it count."""
        labels = node.metadata.labels or {}
        return all(one.topology_key in labels for one in _soft(pod)) and admits(pod, node, constraint)

    def _node_choice(self, pod: Pod, constraint: TopologySpreadConstraint) -> tuple[object, ...]:
        """Equal for constraints that count the same nodes in the same domains."""
        spec = pod.spec
        required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
        selected = sorted((spec.node_selector or {}).items()), required
        return (
            constraint.topology_key,
            frozenset(one.topology_key for one in _soft(pod)),
            repr(selected) if constraint.node_affinity_policy != "Ignore" else "",
            repr(spec.tolerations or ()) if constraint.node_taints_policy == "Honor" else "any",
        )

    def _identity(self, pod: Pod, constraint: TopologySpreadConstraint) -> object:
        """Equal for constraints that count the same pods on the same nodes."""
        labels = pod.metadata.labels or {}
        tests: list[tuple[str, str, tuple[str, ...]]] = []
        tests += [(key, "In", (value,)) for key, value, _ in more_labels(labels, constraint.match_label_keys, ())]
        selector = constraint.label_selector
        tests += [(one.key, one.operator, one.values) for one in (selector.requirements if selector else ())]
        told = None if selector is None else frozenset(tests)
        return key_of(pod.metadata)[0], constraint.max_skew, told, self._node_choice(pod, constraint)

    def _too_many(self, pod: Pod, constraint: TopologySpreadConstraint) -> int:
        namespace, key = key_of(pod.metadata)[0], constraint.topology_key
        more = more_labels(pod.metadata.labels or {}, constraint.match_label_keys, ())
        test = selector_test(constraint.label_selector, more)
        which = self._node_choice(pod, constraint)
        domains = self._domains[which] = self._domains.get(which) or {
            name: (node.metadata.labels or {})[key]
            for name, node in self.cluster.nodes.items()
            if name and self._is_counted(pod, node, constraint)
        }
        numbers = dict.fromkeys(domains.values(), 0)
        for group in self.groups:
            kind = labelled(group.pod)
            if kind.namespace == namespace and not kind.leaving and test(dict(kind.labels)):
                for name, number in (group.running + group.placed).items():
                    if name in domains:
                        numbers[domains[name]] += number
        fair = min(numbers.values(), default=0) + constraint.max_skew
        return sum(number - fair for number in numbers.values() if number > fair)


def _soft(pod: Pod) -> Iterator[TopologySpreadConstraint]:
    for one in pod.spec.topology_spread_constraints or ():
        if one.when_unsatisfiable == "ScheduleAnyway":
            yield one


def _pod_terms(pod: Pod) -> _Terms:
    """Preferred terms about other pods, with weights below zero where these had better be elsewhere."""
    affinity, found = pod.spec.affinity, _Terms()
    for sign, way in ((1, affinity.pod_affinity), (-1, affinity.pod_anti_affinity)) if affinity else ():
        found += [(sign * one.weight, one.pod_affinity_term) for one in (way.preferred if way else None) or ()]
    return found

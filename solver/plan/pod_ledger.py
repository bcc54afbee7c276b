"""Pods on nodes, as far as rules of pods about one another look at them, and plans that keep these rules.

``PodLedger`` answers as kube-scheduler's filters do when a pod is placed beside those that are there. A plan keeps the
rules if each of its units passes when it is placed in the order that is written: ``valid_order`` finds such an order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey
from ...models.workload.expansion import QueuedUnit
from ...models.workload.node_room import running_pods
from ...models.workload.pod_rules import HostPort, PodRules, PodTerm, SpreadRule, pod_rule_book
from ...models.workload.units import is_deleting

# Ids of reasons, in the order in which rules are looked at.
VOLUMES = "volumes"
HOST_PORTS = "hostPort"
CLAIMS = "readWriteOncePod"
POD_ANTI_AFFINITY = "podAntiAffinity"
POD_AFFINITY = "podAffinity"
SPREAD = "topologySpread"
MESSAGES: Mapping[str, str] = {
    VOLUMES: "node(s) had volume node affinity conflict",
    HOST_PORTS: "node(s) didn't have free ports for the requested pod ports",
    CLAIMS: "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
    POD_ANTI_AFFINITY: "node(s) didn't satisfy anti-affinity rules",
    POD_AFFINITY: "node(s) didn't match pod affinity rules",
    SPREAD: "node(s) didn't match pod topology spread constraints",
}
_TermCounts = Counter[tuple[PodTerm, str]]


class PodLedger:
    """The pods that are on nodes by now, counted by what rules look at."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        # Pods by rules and node, and those of them that are being deleted.
        self._placed: Counter[tuple[PodRules, str]] = Counter()
        self._leaving: Counter[tuple[PodRules, str]] = Counter()
        self._selected: _TermCounts = Counter()
        self._owners: _TermCounts = Counter()
        self._ports: dict[str, Counter[HostPort]] = defaultdict(Counter)
        self._claims: Counter[ObjectKey] = Counter()
        # What is looked at only once a pod asks for it.
        self._near: dict[tuple[PodTerm, ...], _TermCounts] = {}
        self._spread: dict[SpreadRule, tuple[frozenset[str], Counter[str]]] = {}

    @classmethod
    def of_cluster(cls, cluster: Cluster) -> PodLedger:
        """The pods that run."""
        book, found = pod_rule_book(cluster), cls(cluster.nodes)
        for pod in running_pods(cluster).values():
            rules = book.rules(pod)
            if rules is not None:
                found.add(rules, pod.spec.node_name or "", is_leaving=is_deleting(pod.metadata))
        return found

    def add(self, rules: PodRules, node: str, times: int = 1, *, is_leaving: bool = False) -> None:
        """Count a pod on a node; ``times`` below zero takes it away."""
        self._placed[rules, node] += times
        if is_leaving:
            self._leaving[rules, node] += times
        for term in rules.selected_by:
            if (value := self._value(node, term.topology_key)) is not None:
                self._selected[term, value] += times
        for term in rules.anti_affinity:
            if (value := self._value(node, term.topology_key)) is not None:
                self._owners[term, value] += times
        for port in rules.ports:
            self._ports[node][port] += times
        for claim in rules.claims:
            self._claims[claim] += times
        for affinity, near in self._near.items():
            self._add_near(affinity, near, rules, node, times)
        for rule, (there, counts) in self._spread.items():
            if rule in rules.counted_by and node in there and not is_leaving:
                counts[self._value(node, rule.topology_key) or ""] += times

    def refusal(self, rules: PodRules, node: str) -> str | None:
        """The id of the first rule that keeps a pod off a node; None: it may go there."""
        if not rules.suits(self._nodes[node]):
            return VOLUMES
        taken = self._ports[node] if rules.ports else Counter[HostPort]()
        if any(number > 0 and port.conflicts(other) for other, number in taken.items() for port in rules.ports):
            return HOST_PORTS
        if any(self._claims[claim] > 0 for claim in rules.claims):
            return CLAIMS
        if not self._keeps_apart(rules, node):
            return POD_ANTI_AFFINITY
        if rules.affinity and not self._is_near(rules, node):
            return POD_AFFINITY
        return None if all(self._is_even(rule, rules, node) for rule in rules.spread) else SPREAD

    def level(self, rules: PodRules, node: str) -> int:
        """How many pods the fullest domain has that such a pod adds to, of all rules that count it."""
        return max(self._counts(rule)[1][self._value(node, rule.topology_key) or ""] for rule in rules.counted_by)

    def ports_of(self, node: str) -> list[HostPort]:
        """The ports of the host that pods on a node have."""
        return [port for port, number in self._ports.get(node, {}).items() if number > 0]

    def has_claim(self, claim: ObjectKey) -> bool:
        """Whether a pod has a claim that is for one."""
        return self._claims[claim] > 0

    def domain_counts(self, term: PodTerm, value: str) -> tuple[int, int]:
        """How many pods in a domain have an anti-affinity term, and how many it selects."""
        return self._owners[term, value], self._selected[term, value]

    def term_counts(self, term: PodTerm, node: str) -> tuple[int, int]:
        """The same in the domain of a node."""
        value = self._value(node, term.topology_key)
        return (0, 0) if value is None else self.domain_counts(term, value)

    def near_count(self, affinity: tuple[PodTerm, ...], term: PodTerm, value: str) -> int:
        """How many pods in a domain of a term all terms of an affinity select."""
        return self._near_counts(affinity)[term, value]

    def has_near(self, affinity: tuple[PodTerm, ...]) -> bool:
        """Whether all terms of an affinity select some pod."""
        return any(number > 0 for number in self._near_counts(affinity).values())

    def spread_counts(self, rule: SpreadRule) -> Mapping[str, int]:
        """How many pods each domain of a spread rule has."""
        return self._counts(rule)[1]

    def _value(self, node: str, key: str) -> str | None:
        found = self._nodes.get(node)
        return None if found is None else (found.metadata.labels or {}).get(key)

    def _keeps_apart(self, rules: PodRules, node: str) -> bool:
        """Whether neither the pod's terms nor those of pods that are there stand against it."""
        terms = [(self._selected, rules.anti_affinity), (self._owners, rules.selected_by)]
        for counts, own in terms:
            for term in own:
                value = self._value(node, term.topology_key)
                if value is not None and counts[term, value] > 0:
                    return False
        return True

    def _near_counts(self, affinity: tuple[PodTerm, ...]) -> _TermCounts:
        near = self._near.get(affinity)
        if near is None:
            near = self._near[affinity] = Counter()
            for (other, where), number in self._placed.items():
                self._add_near(affinity, near, other, where, number)
        return near

    def _is_near(self, rules: PodRules, node: str) -> bool:
        near = self._near_counts(rules.affinity)
        values = [(term, self._value(node, term.topology_key)) for term in rules.affinity]
        if any(value is None for _, value in values):
            return False
        if all(near[term, value] > 0 for term, value in values if value is not None):
            return True
        # The first pod of those that want to be together may go anywhere.
        return rules.opens and not self.has_near(rules.affinity)

    def _add_near(
        self, affinity: tuple[PodTerm, ...], near: _TermCounts, rules: PodRules, node: str, times: int
    ) -> None:
        if rules.selected_by.issuperset(affinity):
            for term in affinity:
                if (value := self._value(node, term.topology_key)) is not None:
                    near[term, value] += times

    def _counts(self, rule: SpreadRule) -> tuple[frozenset[str], Counter[str]]:
        """The nodes that count for a rule, and the pods in each domain."""
        found = self._spread.get(rule)
        if found is None:
            there = frozenset(name for name, node in self._nodes.items() if rule.counts(node))
            counts: Counter[str] = Counter()
            for name in there:
                counts[self._value(name, rule.topology_key) or ""] += 0
            for (rules, node), number in self._placed.items():
                if rule in rules.counted_by and node in there:
                    counts[self._value(node, rule.topology_key) or ""] += number - self._leaving[rules, node]
            found = self._spread[rule] = there, counts
        return found

    def _is_even(self, rule: SpreadRule, rules: PodRules, node: str) -> bool:
        value = self._value(node, rule.topology_key)
        if value is None:
            return False
        _, counts = self._counts(rule)
        least = min(counts.values(), default=0) if len(counts) >= rule.min_domains else 0
        there = counts.get(value, 0)
        return not counts or there + (rule in rules.counted_by) - least <= rule.max_skew


def has_pod_rules(units: Iterable[QueuedUnit]) -> bool:
    """Whether rules of pods are to be looked at for some of the units."""
    return any(shape.rules is not None for shape in {planned.unit_set.shape for planned in units})


def ledger_beside(cluster: Cluster, placed: Iterable[tuple[QueuedUnit, str]]) -> PodLedger:
    """The pods that run, and units on nodes."""
    found = PodLedger.of_cluster(cluster)
    for planned, node in placed:
        if planned.unit_set.shape.rules is not None:
            found.add(planned.unit_set.shape.rules, node)
    return found


_Placement = tuple[int, PodRules | None, str]
"""A place in the queue, the rules of its unit, and its node."""


def valid_order(ledger: PodLedger, placements: Iterable[_Placement]) -> tuple[list[int], list[int]]:
    """Find an order in which all units pass: return it, and those that pass in none of those that were tried.

    Those go first that must be spread, and whoever only adds to what others count goes when nobody else can: an order
    that is found in this way exists if one does, where no two spread rules count the same pods.
    """
    order: list[int] = []
    waiting: list[tuple[int, PodRules, str]] = []
    for place, rules, node in placements:
        if rules is None:
            order.append(place)
        else:
            waiting.append((place, rules, node))
    spread = {rule for _, rules, _ in waiting for rule in rules.spread}

    def is_late(rules: PodRules) -> bool:
        return not rules.counted_by.isdisjoint(spread) and not rules.spread

    while waiting:
        left = []
        some_are_early = not all(is_late(rules) for _, rules, _ in waiting)
        for place, rules, node in waiting:
            if (some_are_early and is_late(rules)) or ledger.refusal(rules, node) is not None:
                left.append((place, rules, node))
            else:
                ledger.add(rules, node)
                order.append(place)
        if len(left) == len(waiting):
            late = [one for one in left if is_late(one[1]) and ledger.refusal(one[1], one[2]) is None]
            if not late:
                break
            chosen = min(late, key=lambda one: ledger.level(one[1], one[2]))
            ledger.add(chosen[1], chosen[2])
            order.append(chosen[0])
            left.remove(chosen)
        waiting = left
    return order, [place for place, _, _ in waiting]

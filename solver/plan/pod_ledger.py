"""Pods on nodes, as far as rules of pods about one another look at them, and plans that keep these rules.

``PodLedger`` answers as kube-scheduler's filters do when a pod is placed beside those that are there. A plan keeps the
rules if each of its units passes when it is placed in the order that is written: ``valid_order`` finds such an order.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey
from ...models.workload.expansion import QueuedUnit
from ...models.workload.node_room import running_pods
from ...models.workload.pod_rules import HostPort, PodRules, PodTerm, SpreadRule, pod_rule_book
from ...models.workload.unit_classes import UnitSet
from ...models.workload.units import is_deleting
from .master_problem import is_past

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
        self._chosen: dict[Hashable, frozenset[str]] = {}
        # What the emptiest domain of a rule has, and how many domains have so many.
        self._least: dict[SpreadRule, tuple[int, int]] = {}

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
            if (value := self.value(node, term.topology_key)) is not None:
                self._selected[term, value] += times
        for term in rules.anti_affinity:
            if (value := self.value(node, term.topology_key)) is not None:
                self._owners[term, value] += times
        for port in rules.ports:
            self._ports[node][port] += times
        for claim in rules.claims:
            self._claims[claim] += times
        for affinity, near in self._near.items():
            self._add_near(affinity, near, rules, node, times)
        for rule, (there, counts) in self._spread.items():
            if rule in rules.counted_by and node in there and not is_leaving:
                self._count(rule, counts, self.value(node, rule.topology_key) or "", times)

    def _count(self, rule: SpreadRule, counts: Counter[str], domain: str, times: int) -> None:
        """Count pods of a domain, and how many domains are the emptiest still, as long as that is known."""
        known = self._least.get(rule)
        if known is not None and times > 0 and counts[domain] == known[0]:
            self._least[rule] = known[0], known[1] - 1
        elif times < 0:
            self._least.pop(rule, None)
        counts[domain] += times

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
        return None if all(self.is_even(rule, rules, node) for rule in rules.spread) else SPREAD

    def level(self, rules: PodRules, node: str) -> int:
        """How many pods the fullest domain has that such a pod adds to, of all rules that count it."""
        return max(self._counts(rule)[1][self.value(node, rule.topology_key) or ""] for rule in rules.counted_by)

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
        value = self.value(node, term.topology_key)
        return (0, 0) if value is None else self.domain_counts(term, value)

    def near_count(self, affinity: tuple[PodTerm, ...], term: PodTerm, value: str) -> int:
        """How many pods in a domain of a term all terms of an affinity select."""
        return self._near_counts(affinity)[term, value]

    def has_near(self, affinity: tuple[PodTerm, ...]) -> bool:
        """Whether all terms of an affinity select some pod."""
        return any(number > 0 for number in self._near_counts(affinity).values())

    def is_first(self, affinity: tuple[PodTerm, ...], node: str) -> bool:
        """Whether a pod that all terms of an affinity select would be the first in some domain of a node."""
        near = self._near_counts(affinity)
        values = ((term, self.value(node, term.topology_key)) for term in affinity)
        return any(value is not None and near[term, value] <= 0 for term, value in values)

    def least(self, rule: SpreadRule) -> int:
        """How many pods the emptiest domain of a spread rule has."""
        counts = self._counts(rule)[1]
        known = self._least.get(rule)
        if known is None or known[1] <= 0:
            least = min(counts.values(), default=0)
            known = self._least[rule] = least, sum(number == least for number in counts.values())
        return known[0]

    def spread_counts(self, rule: SpreadRule) -> Mapping[str, int]:
        """How many pods each domain of a spread rule has."""
        return self._counts(rule)[1]

    def value(self, node: str, key: str) -> str | None:
        """The value of a label of a node."""
        found = self._nodes.get(node)
        return None if found is None else (found.metadata.labels or {}).get(key)

    def _keeps_apart(self, rules: PodRules, node: str) -> bool:
        """Whether neither the pod's terms nor those of pods that are there stand against it."""
        terms = [(self._selected, rules.anti_affinity), (self._owners, rules.selected_by)]
        for counts, own in terms:
            for term in own:
                value = self.value(node, term.topology_key)
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
        values = [(term, self.value(node, term.topology_key)) for term in rules.affinity]
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
                if (value := self.value(node, term.topology_key)) is not None:
                    near[term, value] += times

    def _counts(self, rule: SpreadRule) -> tuple[frozenset[str], Counter[str]]:
        """The nodes that count for a rule, and the pods in each domain."""
        found = self._spread.get(rule)
        if found is None:
            if (choice := rule.node_choice) not in self._chosen:
                self._chosen[choice] = frozenset(name for name, node in self._nodes.items() if rule.counts(node))
            there = self._chosen[choice]
            counts: Counter[str] = Counter()
            for name in there:
                counts[self.value(name, rule.topology_key) or ""] += 0
            for (rules, node), number in self._placed.items():
                if rule in rules.counted_by and node in there:
                    counts[self.value(node, rule.topology_key) or ""] += number - self._leaving[rules, node]
            found = self._spread[rule] = there, counts
        return found

    def is_even(self, rule: SpreadRule, rules: PodRules, node: str) -> bool:
        """Whether a pod on a node keeps a spread rule."""
        value = self.value(node, rule.topology_key)
        if value is None:
            return False
        _, counts = self._counts(rule)
        least = self.least(rule) if len(counts) >= rule.min_domains else 0
        there = counts.get(value, 0)
        return not counts or there + (rule in rules.counted_by) - least <= rule.max_skew


def has_pod_rules(sets: Iterable[UnitSet]) -> bool:
    """Whether rules of pods are to be looked at for some of the units."""
    return any(one.shape.rules is not None for one in sets)


def ledger_beside(cluster: Cluster, placed: Iterable[tuple[QueuedUnit, str]]) -> PodLedger:
    """The pods that run, and units on nodes."""
    found = PodLedger.of_cluster(cluster)
    for planned, node in placed:
        if planned.unit_set.shape.rules is not None:
            found.add(planned.unit_set.shape.rules, node)
    return found


_Placement = tuple[int, PodRules | None, str]
"""A place in the queue, the rules of its unit, and its node."""


def valid_order(
    ledger: PodLedger, placements: Iterable[_Placement], deadline: float | None = None
) -> tuple[list[int], list[int]]:
    """Find an order in which all units pass: return it, and those that pass in none of those that were tried.

    Those go first that must be spread, and whoever only adds to what others count goes when nobody else can: an order
    that is found in this way exists if one does, where no two spread rules count the same pods. After the ``deadline``,
    a reading of ``time.monotonic``, no more are tried.
    """
    order: list[int] = []
    listed = list(placements)
    waiting: dict[tuple[PodRules, str], list[int]] = defaultdict(list)
    for number, (place, rules, node) in enumerate(listed):
        if rules is None:
            order.append(place)
        else:
            waiting[rules, node].append(number)
    kinds = [_EqualPods(number, *one, own) for number, (one, own) in enumerate(waiting.items())]
    order += [listed[number][0] for number in _PassingOrderSearch(ledger, kinds, deadline).order()]
    return order, [listed[number][0] for number in sorted(one for kind in kinds for one in kind.waiting)]


@dataclass(frozen=True, slots=True)
class _EqualPods:
    """Pods with the same rules that go to one node, and the numbers of those that wait."""

    number: int
    rules: PodRules
    node: str
    waiting: list[int]


class _PassingOrderSearch:
    """Tries pods in rounds, and alike ones again only once what refuses them has changed.

    As pods only come, what keeps apart never changes. A spread rule lets more in once all of its emptiest domains are
    fuller, and an affinity once a domain has its first pod. Of those that a spread rule refuses in a domain one is
    tried again, and the next one if that one is refused by something else or passes.
    """

    def __init__(self, ledger: PodLedger, kinds: Sequence[_EqualPods], deadline: float | None) -> None:
        self._ledger, self._kinds, self._deadline = ledger, kinds, deadline
        spread = {rule for one in kinds for rule in one.rules.spread}
        self._late = [one for one in kinds if not one.rules.counted_by.isdisjoint(spread) and not one.rules.spread]
        late = {one.number for one in self._late}
        self._early = {one.number for one in kinds} - late
        # The next pod of each kind that is to be tried: its round, its number, and which kind it is.
        self._ready: list[tuple[int, int, int]] = []
        self._at = 0, -1
        # Whom spread rules refuse, by their domain and whether the rule counts them; and how many the emptiest one had.
        self._uneven: dict[SpreadRule, dict[tuple[str | None, bool], list[_EqualPods]]] = {}
        self._least: dict[SpreadRule, int] = {}
        # Who is tried for others that the same spread rule refuses.
        self._tried: dict[int, list[_EqualPods]] = {}
        self._alone: dict[tuple[PodTerm, ...], list[_EqualPods]] = defaultdict(list)

    def order(self) -> Iterator[int]:
        """Yield numbers in order, and take them out of what waits."""
        for one in self._kinds:
            if one.number in self._early:
                self._try_again(one)
        while not is_past(self._deadline):
            while self._ready and not is_past(self._deadline):
                turn, number, kind = heappop(self._ready)
                self._at = turn, number
                one = self._kinds[kind]
                others, refusal = self._tried.pop(kind, []), self._ledger.refusal(one.rules, one.node)
                if refusal is None:
                    yield self._place(one, number)
                    self._try_again(one)
                if self._note(one, refusal) is not others:
                    self._try_next(others)
            self._at = self._at[0] + 1, -1
            if self._late and not self._early:
                for one in self._late:
                    self._try_again(one)
                self._late = []
                continue
            chosen = self._late_choice()
            if chosen is None:
                return
            yield self._place(chosen, chosen.waiting[0])

    def _try_again(self, one: _EqualPods) -> None:
        """Let the next of alike pods be tried, in this round or the next."""
        numbers, (turn, last) = one.waiting, self._at
        if numbers:
            place = bisect_right(numbers, last)
            entry = (turn, numbers[place]) if place < len(numbers) else (turn + 1, numbers[0])
            heappush(self._ready, (*entry, one.number))
        else:
            self._early.discard(one.number)

    def _try_next(self, others: list[_EqualPods]) -> None:
        """Let the first of those be tried again whom a spread rule refuses in a domain."""
        if others:
            one = others.pop(0)
            self._tried[one.number] = others
            self._try_again(one)

    def _note(self, one: _EqualPods, refusal: str | None) -> list[_EqualPods] | None:
        """Note what refuses a pod; the list has whom a spread rule refuses as well."""
        if refusal == POD_AFFINITY:
            self._alone[one.rules.affinity].append(one)
        if refusal != SPREAD:
            return None
        rule = next(rule for rule in one.rules.spread if not self._ledger.is_even(rule, one.rules, one.node))
        domain = self._ledger.value(one.node, rule.topology_key), rule in one.rules.counted_by
        own = self._uneven.setdefault(rule, {}).setdefault(domain, [])
        self._least.setdefault(rule, self._ledger.least(rule))
        insort(own, one, key=lambda kind: kind.waiting[0])
        return own

    def _late_choice(self) -> _EqualPods | None:
        """Of those that only add to what others count, the one that goes where the fewest are; None: none passes."""
        open_ones = sorted((one for one in self._late if one.waiting), key=lambda one: one.waiting[0])
        passing = (one for one in open_ones if self._ledger.refusal(one.rules, one.node) is None)
        return min(passing, key=lambda one: self._ledger.level(one.rules, one.node), default=None)

    def _place(self, one: _EqualPods, number: int) -> int:
        first = [
            affinity
            for affinity in self._alone
            if one.rules.selected_by.issuperset(affinity) and self._ledger.is_first(affinity, one.node)
        ]
        self._ledger.add(one.rules, one.node)
        one.waiting.remove(number)
        for affinity in first:
            for other in self._alone.pop(affinity):
                self._try_again(other)
        for rule in [rule for rule in self._uneven if rule in one.rules.counted_by]:
            if (least := self._ledger.least(rule)) > self._least[rule]:
                self._least[rule] = least
                for others in self._uneven[rule].values():
                    self._try_next(others)
        return number

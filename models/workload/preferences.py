"""What pods had better get: preferred terms, spread constraints with ScheduleAnyway, taints with PreferNoSchedule.

The score of placed pods is the sum of

- the weights of the preferred node affinity terms that the node of each pod matches, as in the plugin NodeAffinity,
- for each pod and each other pod that a preferred term of it selects in the same domain the weight of the term, with a
  minus for anti-affinity. kube-scheduler (plugin InterPodAffinity) adds the terms of the pod that it places and those
  of the pods that are there, each pair once: added up over pods that come one after the other, its raw scores come to
  this sum in any order,
- minus ``HEAVIEST`` for each taint with PreferNoSchedule of a pod's node that the pod does not tolerate,
- minus ``HEAVIEST`` for each pod that a domain of a spread constraint has beyond ``maxSkew`` above the emptiest one,
  and for each pod on a node that does not count for its constraint.

kube-scheduler brings taints and constraints to a scale from 0 to 100 for each pod, beside the pods that are there by
then. That is no sum over a plan, so that ``HEAVIEST``, the weight of the heaviest term, stands for it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import msgspec

from ..cluster.cluster import Cluster
from ..cluster.node_fit import SelectorError, term_matches, tolerates
from ..kubernetes.core import Node, NodeSelectorTerm, Pod, Toleration
from ..kubernetes.meta import LabelError, key_of
from .node_room import running_pods
from .pod_rules import PodTerm, PodTermReader, SpreadRule
from .units import is_deleting

HEAVIEST = 100
"""The largest weight of a preferred term."""
SOFT_EFFECT = "PreferNoSchedule"
_encode = msgspec.msgpack.Encoder().encode
NodeTerms = tuple[tuple[NodeSelectorTerm, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class PodPreferences:
    """What equal pods prefer, and what others prefer about them.

    ``nodes`` are terms with weights. ``terms`` are about other pods, with weights below zero for anti-affinity.
    ``selected_by`` are terms of any pod that select these, ``counted_by`` the constraints that count them.
    """

    signature: bytes
    nodes: NodeTerms = ()
    terms: tuple[tuple[PodTerm, int], ...] = ()
    spread: tuple[SpreadRule, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    selected_by: frozenset[PodTerm] = frozenset()
    counted_by: frozenset[SpreadRule] = frozenset()

    def of_node(self, node: Node) -> int:
        """What a node counts by itself: its labels and taints, and whether it counts for the constraints."""
        total = -HEAVIEST * sum(not rule.counts(node) for rule in self.spread)
        for term, weight in self.nodes:
            # As in the scheduler, a term that cannot be parsed does not hold.
            with suppress(SelectorError):
                total += weight * term_matches(term, node)
        taints = (node.spec.taints if node.spec else None) or ()
        soft = (one for one in taints if one.effect == SOFT_EFFECT)
        return total - HEAVIEST * sum(not any(tolerates(own, taint) for own in self.tolerations) for taint in soft)

    def about(self, other: PodPreferences) -> Counter[str]:
        """What such another pod counts for this one, by topology key, where both are in one domain."""
        found: Counter[str] = Counter()
        for term, weight in self.terms:
            if term in other.selected_by:
                found[term.topology_key] += weight
        return found


class PreferenceBook:
    """The preferences of all pods of a cluster that have not finished, and of those that controllers are to make.

    Raises ``ValueError``, one line, for a label selector that cannot be read.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._reader = PodTermReader(cluster)
        self._known: dict[Hashable, PodPreferences] = {}
        self._preferences: dict[bytes, PodPreferences] = {}
        for pod in self._reader.pods():
            self._own(pod)

    def preferences(self, pod: Pod) -> PodPreferences:
        """What a pod prefers."""
        spec, labels = pod.spec, sorted((pod.metadata.labels or {}).items())
        about = labels, spec.affinity, spec.topology_spread_constraints, spec.node_selector, spec.tolerations
        key = key_of(pod.metadata)[0], _encode(about)
        if key not in self._known:
            self._known[key] = self._made(pod)
        return self._known[key]

    def _made(self, pod: Pod) -> PodPreferences:
        nodes, terms, spread = self._own(pod)
        selecting, counting = self._reader.about(key_of(pod.metadata)[0], pod.metadata.labels or {})
        tolerations = tuple(one for one in pod.spec.tolerations or () if one.effect in ("", SOFT_EFFECT))
        names = [(term.name, weight) for term, weight in terms], [rule.name for rule in spread]
        others = sorted(one.name for one in selecting), sorted(one.name for one in counting)
        content = repr((names, others)).encode() + _encode((nodes, tolerations))
        if content not in self._preferences:
            made = PodPreferences(content, nodes, terms, spread, tolerations, frozenset(selecting), frozenset(counting))
            self._preferences[content] = made
        return self._preferences[content]

    def _own(self, pod: Pod) -> tuple[NodeTerms, tuple[tuple[PodTerm, int], ...], tuple[SpreadRule, ...]]:
        """The terms and constraints of a pod; equal terms are one with the sum of their weights."""
        affinity, namespace = pod.spec.affinity, key_of(pod.metadata)[0]
        labels = pod.metadata.labels or {}
        wanted = affinity.node_affinity.preferred if affinity and affinity.node_affinity else None
        terms: Counter[PodTerm] = Counter()
        try:
            for way, sign in ((affinity.pod_affinity, 1), (affinity.pod_anti_affinity, -1)) if affinity else ():
                for one in (way.preferred if way else None) or ():
                    terms[self._reader.term(one.pod_affinity_term, namespace, labels)] += sign * one.weight
            spread = self._reader.spread_rules(pod.spec, namespace, labels, "ScheduleAnyway")
        except LabelError as error:
            raise ValueError(f"Pod {namespace}/{pod.metadata.name}: {error}") from None
        nodes = tuple((one.preference, one.weight) for one in wanted or ())
        return nodes, tuple((term, weight) for term, weight in terms.items() if weight), tuple(dict.fromkeys(spread))


def preference_book(cluster: Cluster) -> PreferenceBook:
    """The preferences of a cluster, read at the first call."""
    return cluster.memo("pod preferences", lambda: PreferenceBook(cluster))


class PreferenceLedger:
    """Pods on nodes, counted by what preferences look at: the running ones of a cluster, and those that are added."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.nodes
        self._selected: Counter[tuple[PodTerm, str]] = Counter()
        self._weights: Counter[tuple[PodTerm, str]] = Counter()
        self._counted: dict[SpreadRule, Counter[str]] = defaultdict(Counter)
        self._domains: dict[Hashable, dict[str, str]] = {}
        book = preference_book(cluster)
        for pod in running_pods(cluster).values():
            self.add(book.preferences(pod), pod.spec.node_name or "", is_leaving=is_deleting(pod.metadata))

    def add(self, own: PodPreferences, node: str, *, is_leaving: bool = False) -> None:
        """Count a pod on a node; one that is being deleted is not to be spread any more."""
        for term in own.selected_by:
            if (value := self._value(node, term.topology_key)) is not None:
                self._selected[term, value] += 1
        for term, weight in own.terms:
            if (value := self._value(node, term.topology_key)) is not None:
                self._weights[term, value] += weight
        for rule in () if is_leaving else own.counted_by:
            self._counted[rule][node] += 1

    def score(self, own: PodPreferences, node: str) -> int:
        """What a pod on a node counts beside those that are there, without constraints."""
        total = own.of_node(self._nodes[node])
        for term, weight in own.terms:
            if (value := self._value(node, term.topology_key)) is not None:
                total += weight * self._selected[term, value]
        for term in own.selected_by:
            if (value := self._value(node, term.topology_key)) is not None:
                total += self._weights[term, value]
        return total

    def numbers(self, rule: SpreadRule) -> Mapping[str, int]:
        """How many pods each domain of a constraint has."""
        domains = self.domains(rule)
        found: Counter[str] = Counter(dict.fromkeys(domains.values(), 0))
        for node, number in self._counted[rule].items():
            if node in domains:
                found[domains[node]] += number
        return found

    def domains(self, rule: SpreadRule) -> Mapping[str, str]:
        """The domain of each node that counts for a constraint."""
        key = rule.topology_key, rule.node_choice
        if key not in self._domains:
            self._domains[key] = {
                name: (node.metadata.labels or {})[rule.topology_key]
                for name, node in self._nodes.items()
                if name and rule.counts(node)
            }
        return self._domains[key]

    def touches(self, term: PodTerm, value: str) -> bool:
        """Whether a pod of a domain has a term, or is selected by it."""
        return bool(self._selected[term, value] or self._weights[term, value])

    def most(self, own: PodPreferences) -> int:
        """No node gives such a pod a higher score, beside those that are there."""
        total = sum(max(0, weight) for _, weight in own.nodes)
        selected, weights = self._largest
        total += sum(weight * selected[term] for term, weight in own.terms if weight > 0)
        return total + sum(weights[term] for term in own.selected_by)

    @cached_property
    def _largest(self) -> tuple[Mapping[PodTerm, int], Mapping[PodTerm, int]]:
        """The most that terms select, and that they weigh, in a domain."""
        found: tuple[Counter[PodTerm], Counter[PodTerm]] = Counter(), Counter()
        for largest, counts in zip(found, (self._selected, self._weights), strict=True):
            for (term, _), number in counts.items():
                largest[term] = max(largest[term], number)
        return found

    def _value(self, node: str, key: str) -> str | None:
        found = self._nodes.get(node)
        return None if found is None else (found.metadata.labels or {}).get(key)


def excess(numbers: Mapping[str, int], most: int) -> int:
    """How many pods domains have that are beyond so many more than the emptiest one has."""
    least = min(numbers.values(), default=0)
    return sum(max(0, number - least - most) for number in numbers.values())


def preference_score(
    cluster: Cluster, placed: Iterable[tuple[PodPreferences, str]], rules: Iterable[SpreadRule]
) -> int:
    """The score of placed pods, beside those that run, with the constraints that count."""
    ledger, total = PreferenceLedger(cluster), 0
    for own, node in placed:
        total += ledger.score(own, node)
        ledger.add(own, node)
    return total - HEAVIEST * sum(excess(ledger.numbers(rule), rule.max_skew) for rule in dict.fromkeys(rules))

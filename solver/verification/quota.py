"""The rules of quota for a whole plan, read from the text of Kueue's quantities (4.2) and not from the planner's rows.

Admissions are replayed one after the other: each needs, of every pair of flavor and resource, no more than is available
in its ClusterQueue at that time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from ...models.kubernetes.core import Pod
from ...models.workload.quota import (
    UNLIMITED,
    Admissions,
    AdmittedPodSet,
    FlavorResource,
    QuotaHolder,
    QuotaMember,
    QuotaQueue,
    QuotaWorkload,
)
from ...models.workload.unit_classes import UnitSet
from .published import Finding

MemberNodes = Iterable[tuple[QuotaMember, str | None]]
"""The workload and pod set of each unit that needs quota, and its node if it is placed."""


def admitted_pod(quota: QuotaQueue, admissions: Admissions, planned: UnitSet, pod: Pod | None) -> Pod | None:
    """The pod of a unit of a set with what its flavors add: node labels to the selector, and tolerations."""
    member = quota.member_of_set(planned)
    pod_sets = admissions.get(member.workload) if member else None
    return (
        pod if member is None or pod_sets is None else chosen_pod(quota, planned, pod, pod_sets[member.pod_set].choice)
    )


def chosen_pod(quota: QuotaQueue, planned: UnitSet, pod: Pod | None, number: int) -> Pod | None:
    """The pod of a unit of a set with what a choice of flavors adds."""
    member = quota.member_of_set(planned)
    if pod is None or member is None:
        return pod
    choices = quota.problem.workloads[member.workload].pod_sets[member.pod_set].choices
    if not 0 <= number < len(choices):
        return pod
    selector = dict(pod.spec.node_selector or {})
    selector.update(choices[number].labels)
    tolerations = [*(pod.spec.tolerations or ()), *choices[number].tolerations]
    spec = replace(
        pod.spec,
        node_selector=selector or pod.spec.node_selector,
        tolerations=tuple(tolerations) or pod.spec.tolerations,
    )
    return replace(pod, spec=spec)


def quota_findings(quota: QuotaQueue, admissions: Admissions, members: MemberNodes) -> Iterator[Finding]:
    """Yield what is wrong with admissions, and with placed pods of workloads that are not admitted so."""
    placed: dict[int, Counter[int]] = defaultdict(Counter)
    for member, node in members:
        if node is not None:
            placed[member.workload][member.pod_set] += 1
    problem = quota.problem
    for place in sorted(placed.keys() - admissions.keys()):
        yield Finding("PLAN-QUOTA", f"{problem.workloads[place].label} has pods placed, but is not admitted")
    sound: list[int] = []
    for place in admissions:
        workload = problem.workloads[place]
        if quota.problems[place]:
            yield Finding("PLAN-QUOTA", f"{workload.label} is admitted, but {quota.problems[place]}")
            continue
        wrong = list(_count_findings(workload, placed[place], admissions, place))
        yield from wrong
        if not wrong:
            sound.append(place)
    if problem.limited:
        replay = QuotaReplay(problem.nodes)
        for place in sound:
            workload = problem.workloads[place]
            if workload.queue is not None:
                yield from replay.admit(workload.label, workload.queue, _usage(workload, admissions[place]))
        yield from _order_findings(quota, admissions)


def _count_findings(
    workload: QuotaWorkload, placed: Mapping[int, int], admissions: Admissions, place: int
) -> Iterator[Finding]:
    pod_sets = admissions[place]
    if len(pod_sets) != len(workload.pod_sets):
        yield Finding("PLAN-QUOTA", f"{workload.label} is admitted with another number of pod sets than it has")
        return
    chosen: dict[str, Mapping[str, str]] = {}
    for number, (one, admitted) in enumerate(zip(workload.pod_sets, pod_sets, strict=True)):
        name = f"{workload.label}, pod set {one.name}"
        if not 0 <= admitted.choice < len(one.choices):
            yield Finding("PLAN-FLAVOR", f"{name}: there is no such choice of flavors")
            continue
        least = one.count if one.minimum is None else one.minimum
        most = one.count if one.maximum is None else min(one.count, one.maximum)
        if not least <= admitted.count <= most:
            limits = f"{least} at least and {most} at most"
            yield Finding("PLAN-COUNT", f"{name}: {admitted.count} of {one.count} pods are admitted, {limits}")
        if placed.get(number, 0) != admitted.count:
            there = placed.get(number, 0)
            yield Finding("PLAN-COUNT", f"{name}: {admitted.count} pods are admitted and {there} are placed")
        flavors = one.choices[admitted.choice].flavors
        missing = sorted(name for name, amount in one.charge.items() if amount and name not in flavors)
        if missing and workload.queue is not None:
            yield Finding("PLAN-FLAVOR", f"{name}: no flavor for {', '.join(missing)}")
        other = chosen.setdefault(one.group or f"/{number}", flavors)
        if any(flavors[resource] != other[resource] for resource in flavors.keys() & other.keys()):
            yield Finding("PLAN-FLAVOR", f"{name}: other flavors than those of its group {one.group}")


def _order_findings(quota: QuotaQueue, admissions: Admissions) -> Iterator[Finding]:
    """In a strict queue nothing is admitted before what could be and comes first (4.6)."""
    waiting: dict[int, QuotaWorkload] = {}
    for place, workload in enumerate(quota.problem.workloads):
        queue = workload.queue
        if queue is None or workload.grant or quota.problems[place] or not quota.problem.nodes[queue].strict:
            continue
        if place not in admissions:
            waiting.setdefault(queue, workload)
        elif queue in waiting:
            before = waiting[queue].label
            yield Finding("PLAN-QUOTA", f"{workload.label} is admitted before {before}, which is first in its queue")


def _usage(workload: QuotaWorkload, admitted: Iterable[AdmittedPodSet]) -> Counter[FlavorResource]:
    """What a workload is charged, by flavor and resource."""
    asked: Counter[FlavorResource] = Counter()
    for one, given in zip(workload.pod_sets, admitted, strict=True):
        flavors = one.choices[given.choice].flavors
        for resource, amount in one.charge.items():
            asked[flavors.get(resource, ""), resource] += amount * given.count
    return asked


class QuotaReplay:
    """The tree with its usage; amounts are computed by the definitions (4.2), without the planner's ledger.

    ``nodes`` have a cohort before its children.
    """

    def __init__(self, nodes: Sequence[QuotaHolder]) -> None:
        self._nodes = nodes
        self._children: list[list[int]] = [[] for _ in nodes]
        for place, node in enumerate(nodes):
            if node.parent is not None:
                self._children[node.parent].append(place)
        # S and L do not change, and U only on the way up from a queue that is charged.
        self._quotas: dict[FlavorResource, tuple[list[int], list[int]]] = {}
        self._usages: dict[FlavorResource, list[int]] = {}

    def lacking(self, queue: int, asked: Mapping[FlavorResource, int]) -> Iterator[tuple[FlavorResource, int]]:
        """The pairs of which a queue has less than is asked for, and what it has left."""
        for pair, amount in sorted(asked.items()):
            left = self.available(queue, pair)
            if amount > 0 and amount > left:
                yield pair, max(0, left)

    def admit(self, label: str, queue: int, asked: Mapping[FlavorResource, int]) -> Iterator[Finding]:
        """Charge a workload; yield what is not available for it."""
        for (flavor, resource), left in self.lacking(queue, asked):
            yield Finding(
                "PLAN-QUOTA",
                f"{label} is charged {asked[flavor, resource]} of {resource} in flavor {flavor}, "
                f"and {self._nodes[queue].label} has {left} left",
            )
        self.charge(queue, asked)

    def admit_in_any_order(
        self, waiting: Sequence[tuple[str, int, Mapping[FlavorResource, int]]]
    ) -> Iterator[tuple[str, FlavorResource, int]]:
        """Charge workloads, given by label, queue and amounts, in an order in which quota is there for each.

        Yield the label of one that lacks some, with the flavor and resource, and what is left of it.
        """
        left = list(waiting)
        while left:
            later = []
            for one in left:
                if any(self.lacking(*one[1:])):
                    later.append(one)
                else:
                    self.charge(*one[1:])
            if len(later) == len(left):
                for label, queue, asked in later:
                    pair, most = next(self.lacking(queue, asked))
                    yield label, pair, most
                    self.charge(queue, asked)
                return
            left = later

    def charge(self, queue: int, asked: Mapping[FlavorResource, int]) -> None:
        """Add to the usage of a queue, and to that of the cohorts above it."""
        for pair, amount in asked.items():
            self._usages_of(pair)[queue] += amount
            above = self._nodes[queue].parent
            while above is not None:
                self._usages[pair][above] = self._sum_of_children(above, pair)
                above = self._nodes[above].parent

    def amounts(self, place: int, pair: FlavorResource) -> tuple[int, int, int]:
        """S, L and U of a node: its quota with that of its subtree, what it does not lend, and what is used."""
        (quota, kept), used = self._quotas_of(pair), self._usages_of(pair)
        return quota[place], kept[place], used[place]

    def potential(self, place: int, pair: FlavorResource) -> int:
        """The most that a node may ever use."""
        quota, kept = self._quotas_of(pair)
        parent = self._nodes[place].parent
        if parent is None:
            return quota[place]
        most = kept[place] + self.potential(parent, pair)
        borrowing = self._nodes[place].borrowing_limit.get(pair, UNLIMITED)
        return min(most, quota[place] + borrowing) if borrowing < UNLIMITED else most

    def room(self, x: int, pair: FlavorResource) -> int:
        """What can be charged at most within a ClusterQueue or cohort: what it may take, and what is kept below it.

        Each charge takes what its queue keeps and does not use, then what the cohort above keeps, and so on up to
        here, and the rest of what is available here.
        """
        (_, kept), used = self._quotas_of(pair), self._usages_of(pair)
        total, below = max(0, self.available(x, pair)), list(self._children[x])
        while below:
            place = below.pop()
            total += max(0, kept[place] - used[place])
            below += self._children[place]
        return total

    def _quotas_of(self, pair: FlavorResource) -> tuple[list[int], list[int]]:
        """S: nominal, and for a cohort also what its children do not keep; L: what is beyond the lending limit."""
        if pair not in self._quotas:
            quota, kept = [0] * len(self._nodes), [0] * len(self._nodes)
            # Children come behind their cohort.
            for x in reversed(range(len(self._nodes))):
                lent = sum(quota[c] - kept[c] for c in self._children[x])
                quota[x] = min(UNLIMITED, self._nodes[x].nominal.get(pair, 0) + lent)
                limit = self._nodes[x].lending_limit.get(pair, UNLIMITED)
                kept[x] = max(0, quota[x] - limit) if limit < UNLIMITED else 0
            self._quotas[pair] = quota, kept
        return self._quotas[pair]

    def _usages_of(self, pair: FlavorResource) -> list[int]:
        """U: what is reserved, and for a cohort what its children use beyond what they keep."""
        if pair not in self._usages:
            used = self._usages[pair] = [node.held.get(pair, 0) for node in self._nodes]
            for x in reversed(range(len(self._nodes))):
                if self._nodes[x].is_cohort:
                    used[x] = self._sum_of_children(x, pair)
        return self._usages[pair]

    def _sum_of_children(self, x: int, pair: FlavorResource) -> int:
        _, kept = self._quotas_of(pair)
        return sum(max(0, self._usages[pair][c] - kept[c]) for c in self._children[x])

    def available(self, x: int, pair: FlavorResource) -> int:
        """What is left for a node; below zero where more is used than there is."""
        (quota, kept), used = self._quotas_of(pair), self._usages_of(pair)
        path = [x]
        while (parent := self._nodes[path[-1]].parent) is not None:
            path.append(parent)
        root = path.pop()
        left = quota[root] - used[root]
        for place in reversed(path):
            borrowing = self._nodes[place].borrowing_limit.get(pair, UNLIMITED)
            if borrowing < UNLIMITED:
                within = quota[place] - kept[place] - max(0, used[place] - kept[place]) + borrowing
                left = min(left, within)
            left += max(0, kept[place] - used[place])
        return left

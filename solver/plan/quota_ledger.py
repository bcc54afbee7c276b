"""Quota that is left in a tree of queues and cohorts while workloads are admitted one by one (Kueue, 4.2).

For a pair of flavor and resource, what a node has is S, what it lends to nobody is L, what it uses is U. A cohort has
its own quota and what its children lend, and uses what its children use beyond what they lend to nobody.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...models.workload.quota import UNLIMITED, Admissions, FlavorResource, QuotaProblem, QuotaWorkload


@dataclass(frozen=True, slots=True)
class QuotaShortage:
    """What an admission asks for of a pair beyond what is left in a queue; ``most``: with nothing in use."""

    queue: int
    pair: FlavorResource
    asked: int
    left: int
    most: int


class QuotaLedger:
    """The usage of every node, and what is left."""

    def __init__(self, problem: QuotaProblem, admissions: Admissions | None = None) -> None:
        self.problem = problem
        self._quota: dict[FlavorResource, tuple[list[int], list[int]]] = {}
        self.usage: dict[FlavorResource, list[int]] = {}
        self._paths: dict[int, list[int]] = {}
        held: dict[FlavorResource, Counter[int]] = defaultdict(Counter)
        for place, node in enumerate(problem.nodes):
            for pair, amount in node.held.items():
                held[pair][place] += amount
        self._held = held
        for place, pod_sets in (admissions or {}).items():
            workload = problem.workloads[place]
            for one, admitted in zip(workload.pod_sets, pod_sets, strict=True):
                self.add(workload, one.usage(one.choices[admitted.choice], admitted.count))

    def quota(self, pair: FlavorResource) -> tuple[list[int], list[int]]:
        """By node, what it has in its subtree, and what of that it lends to nobody."""
        if pair not in self._quota:
            nodes, children = self.problem.nodes, self.problem.children
            has, keeps = [0] * len(nodes), [0] * len(nodes)
            for place in reversed(range(len(nodes))):
                lent = sum(has[child] - keeps[child] for child in children[place])
                has[place] = min(UNLIMITED, nodes[place].nominal.get(pair, 0) + lent)
                limit = nodes[place].lending_limit.get(pair)
                keeps[place] = max(0, has[place] - limit) if limit is not None and limit < UNLIMITED else 0
            self._quota[pair] = has, keeps
        return self._quota[pair]

    def used(self, pair: FlavorResource) -> list[int]:
        """The usage of each node."""
        if pair not in self.usage:
            self.usage[pair] = [0] * len(self.problem.nodes)
            for place, amount in self._held[pair].items():
                self._change(place, pair, amount)
        return self.usage[pair]

    def available(self, node: int, pair: FlavorResource) -> int:
        """How much more a node can use; below zero where quota was taken away."""
        (has, keeps), used = self.quota(pair), self.used(pair)
        *above, root = self.problem.path(node)
        left = has[root] - used[root]
        for place in reversed(above):
            left = max(0, keeps[place] - used[place]) + self._share(place, pair, left)
        return left

    def _share(self, place: int, pair: FlavorResource, above: int) -> int:
        """What a node can get of the ``above`` that is left in its cohort."""
        (has, keeps), used = self.quota(pair), self.used(pair)
        limit = self.problem.nodes[place].borrowing_limit.get(pair)
        if limit is None or limit >= UNLIMITED:
            return above
        return min(above, has[place] - keeps[place] - max(0, used[place] - keeps[place]) + limit)

    def shares_of_cohorts(self, pair: FlavorResource) -> list[int]:
        """By node, what it can get from its cohort; for a root what it has left."""
        (has, keeps), used = self.quota(pair), self.used(pair)
        shares: list[int] = []
        left: list[int] = []
        for place, node in enumerate(self.problem.nodes):
            if node.parent is None:
                shares.append(has[place] - used[place])
                left.append(shares[place])
            else:
                shares.append(self._share(place, pair, left[node.parent]))
                left.append(max(0, keeps[place] - used[place]) + shares[place])
        return shares

    def potential(self, node: int, pair: FlavorResource) -> int:
        """How much a node can use where nothing else is in use."""
        has, keeps = self.quota(pair)
        *above, root = self.problem.path(node)
        most = has[root]
        for place in reversed(above):
            most = min(UNLIMITED, keeps[place] + most)
            limit = self.problem.nodes[place].borrowing_limit.get(pair)
            if limit is not None and limit < UNLIMITED:
                most = min(most, has[place] + limit)
        return most

    def most(self, workload: QuotaWorkload, usage: Mapping[FlavorResource, int], limit: int) -> int:
        """How often a usage fits, up to a limit."""
        if workload.queue is None or not self.problem.limited:
            return limit
        for pair, amount in usage.items():
            if limit and amount:
                limit = min(limit, max(0, self.available(workload.queue, pair)) // amount)
        return limit

    def shortages(self, workload: QuotaWorkload, usage: Mapping[FlavorResource, int]) -> Iterator[QuotaShortage]:
        """Yield what keeps a usage from fitting."""
        if workload.queue is None or not self.problem.limited:
            return
        for pair, amount in sorted(usage.items()):
            left = self.available(workload.queue, pair) if amount else 0
            if amount > left:
                yield QuotaShortage(workload.queue, pair, amount, left, self.potential(workload.queue, pair))

    def add(self, workload: QuotaWorkload, usage: Mapping[FlavorResource, int], times: int = 1) -> None:
        """Charge a queue; with negative ``times`` its usage is given back."""
        for pair, amount in usage.items():
            if pair not in self.usage:
                self.used(pair)
            if workload.queue is not None and amount:
                self._change(workload.queue, pair, amount * times)

    def _change(self, node: int, pair: FlavorResource, amount: int) -> None:
        _, keeps = self.quota(pair)
        used = self.usage[pair]
        path = self._paths.get(node)
        if path is None:
            path = self._paths[node] = self.problem.path(node)
        for place in path:
            before = max(0, used[place] - keeps[place])
            used[place] += amount
            amount = max(0, used[place] - keeps[place]) - before
            if not amount:
                break

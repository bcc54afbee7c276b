"""What limits: the quota that a waiting workload lacks, the least change that admits it, and what more quota is worth.

A change of quota is judged by Kueue's cycles themselves. They run again from the objects of the input, with the
changed ClusterQueue or Cohort, and the answer is whether the workload has quota at the end. Amounts are raised by what
is missing, again where others took what was added, and then lowered by halving: with any one of the amounts of a change
less by one, the workload waits. Kueue compares sums of quotas with sums of requests, so that only multiples of what
divides all of them are tried. The shares of fair sharing are quotients: with it every amount counts.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, product
from math import gcd

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.kueue import ResourceFlavor
from ...models.results import quota as records
from ...models.results.quota import QuotaField
from ...problem.messages import DeadlineExceededError, until
from ...solver.engines.outcome import SearchInterrupted
from .amounts import step_of, written_amount
from .configuration import KueueConfiguration
from .cycles import KueueState
from .flavors import PODS, flavor_misfit
from .queues import ClusterQueueState
from .quota_tree import FlavorResource, QuotaNode
from .quota_trials import QuotaLever, QuotaRaises, QuotaTrials, TrialTimeOverError
from .workload_state import QUOTA_RESERVED, WorkloadState

# With more ways to choose flavors, the first are looked at.
_MOST_WAYS = 8
# So often an amount is raised by what is missing then, before all that could be needed is tried.
_MOST_STEPS = 6
_ALWAYS_TOLD = 50
# What part of the time that is left goes into changes before prices; then into those that are left.
_SHARES_OF_CHANGES = (0.7, 1.0)


def quota_limits(
    cluster: Cluster,
    configuration: KueueConfiguration,
    state: KueueState,
    *,
    max_cycles: int | None = None,
    deadline: float | None = None,
) -> records.QuotaLimitReport:
    """What limits the workloads that wait in ``state``, where the cycles of ``cluster`` have ended.

    Of workloads that are alike the first is judged. ``deadline`` is a reading of ``time.monotonic``: changes and prices
    that are not judged by then are left out, and ``complete`` is False there and for the whole. Raises
    ``SearchInterrupted`` for a KeyboardInterrupt.
    """
    return _LimitFinder(cluster, configuration, state, max_cycles, deadline).report()


@dataclass(slots=True)
class _WaitingKind:
    """Workloads that are alike: what the first of them asks, and the changes that are known to admit it.

    ``open`` are amounts of one field of one owner, with what they are asked for, that are still to be judged.
    """

    alike: Sequence[WorkloadState]
    node: QuotaNode
    ways: Sequence[Mapping[FlavorResource, int]]
    open: list[list[_Attempt]]
    found: list[tuple[tuple[float, ...], records.QuotaChange]] = field(default_factory=list)

    def limit(self) -> records.WorkloadLimit:
        """The record, by what is known."""
        told = self.alike[0].conditions.get(QUOTA_RESERVED)
        return records.WorkloadLimit(
            workloads=tuple(one.key for one in self.alike),
            cluster_queue=self.node.name,
            message=told.message if told is not None else "",
            missing=missing_quota(self.node, self.ways),
            changes=tuple(change for _, change in sorted(self.found, key=lambda pair: pair[0])),
            complete=not self.open,
        )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Amounts that may be raised together for one choice of flavors; ``number`` is the place of their owner."""

    asked: Mapping[FlavorResource, int]
    levers: Sequence[QuotaLever]
    number: int


class _LimitFinder:
    """Finds changes of quota that admit workloads."""

    def __init__(
        self,
        cluster: Cluster,
        configuration: KueueConfiguration,
        state: KueueState,
        max_cycles: int | None,
        deadline: float | None,
    ) -> None:
        self._cluster, self._configuration, self._state = cluster, configuration, state
        self._max_cycles, self._deadline = max_cycles, deadline
        self._flavors = {one.metadata.name: one for one in cluster.objects(ResourceFlavor).values()}
        self._trials: dict[QuotaNode, QuotaTrials] = {}
        self._units: dict[tuple[QuotaNode, str], int] = {}
        self._waiting: dict[QuotaNode, Counter[str]] = {}
        self._prices: dict[QuotaLever, records.QuotaPrice | None] = {}

    def report(self) -> records.QuotaLimitReport:
        """See ``quota_limits``.

        Of all workloads the owner next to them comes first. If the time may be short, prices have a part of it.
        """
        waiting: dict[object, list[WorkloadState]] = defaultdict(list)
        pending = [one for one in self._state.workloads.values() if one.state == "pending" and one.charged]
        for one in sorted(pending, key=lambda one: (-one.priority, one.queued_since, one.uid, one.key)):
            if self._state.place(one) is not None:
                waiting[one.shape].append(one)
        left = iter(waiting.values())
        # What these lack is told though nothing is judged; of the others only those that there is time to look at.
        kinds = [self._kind(alike) for alike in islice(left, _ALWAYS_TOLD)]
        with suppress(DeadlineExceededError):
            kinds += map(self._kind, until(left, self._deadline))
        levers = self._priced(kinds)

        def known() -> records.QuotaLimitReport:
            prices = tuple(price for price in map(self._prices.get, levers) if price is not None)
            is_judged = len(kinds) == len(waiting) and not any(kind.open for kind in kinds)
            complete = is_judged and self._prices.keys() >= levers.keys()
            return records.QuotaLimitReport(tuple(kind.limit() for kind in kinds), prices, complete)

        try:
            for share in _SHARES_OF_CHANGES:
                with suppress(TrialTimeOverError):
                    self._end_after(share)
                    self._judge_changes(kinds)
                with suppress(TrialTimeOverError):
                    self._end_after(1 - share if any(kind.open for kind in kinds) else 1.0)
                    self._judge_prices(levers)
        except KeyboardInterrupt:
            raise SearchInterrupted(known()) from None
        return known()

    def _end_after(self, share: float) -> None:
        """Let trials stop after a part of the time that is left."""
        now = time.monotonic()
        ends = None if self._deadline is None else now + share * max(0.0, self._deadline - now)
        for trials in self._trials.values():
            trials.deadline = ends

    def _kind(self, alike: Sequence[WorkloadState]) -> _WaitingKind:
        first = alike[0]
        node, ways = self._node(first), self._ways(first)
        if node.root not in self._trials:
            self._trials[node.root] = QuotaTrials(
                self._cluster, self._configuration, self._state, node.root, self._max_cycles
            )
        attempts: dict[tuple[QuotaNode, QuotaField], list[_Attempt]] = defaultdict(list)
        for asked in ways:
            for number, levers in enumerate(_levers(node, asked)):
                attempts[levers[0].node, levers[0].field].append(_Attempt(asked, levers, number))
        return _WaitingKind(alike, node, ways, list(attempts.values()))

    def _node(self, workload: WorkloadState) -> QuotaNode:
        place = self._state.place(workload)
        assert place is not None
        return self._state.queues[place[0]].node

    def _ways(self, workload: WorkloadState) -> list[dict[FlavorResource, int]]:
        return quota_ways(workload, self._state.queues[self._node(workload).name], self._flavors)

    def _judge_changes(self, kinds: Sequence[_WaitingKind]) -> None:
        """Find the least change of each owner by which workloads get quota, owner by owner for all workloads."""
        while any(kind.open for kind in kinds):
            for kind in kinds:
                if kind.open:
                    best = self._best(kind, kind.open[0])
                    if best is not None:
                        kind.found.append(best)
                    kind.open.pop(0)

    def _best(
        self, kind: _WaitingKind, attempts: Sequence[_Attempt]
    ) -> tuple[tuple[float, ...], records.QuotaChange] | None:
        """The least change of one field of one owner, with any flavors."""
        trials = self._trials[kind.node.root]
        best: tuple[tuple[float, ...], records.QuotaChange] | None = None
        for one in attempts:
            raises = self._least(kind.alike[0].key, trials, kind.node, one)
            cost = (len(raises), *_size(raises), one.number)
            if raises and (best is None or cost < best[0]):
                best = cost, _change(one.levers[0], raises)
        return best

    def _least(self, key: str, trials: QuotaTrials, node: QuotaNode, attempt: _Attempt) -> dict[QuotaLever, int]:
        """The least raise of these amounts with which the workload has quota; empty if there is none."""
        asked, levers = attempt.asked, attempt.levers
        raises: dict[QuotaLever, int] = {}
        at: QuotaNode = node
        for _ in range(_MOST_STEPS):
            short = {lever: asked[lever.pair] - max(0, at.available(lever.pair)) for lever in levers}
            if not any(amount > 0 for amount in short.values()):
                break
            # Where others took what was added, that much more is needed.
            raises = {lever: more for lever in levers if (more := raises.get(lever, 0) + max(0, short[lever])) > 0}
            if any(amount > self._most(node, lever) for lever, amount in raises.items()):
                break
            end = trials.end(raises)
            if key in end.holders:
                return self._lowered(key, trials, raises)
            at = end.tree.queues[node.name]
        most = {lever: amount for lever in levers if (amount := self._most(node, lever)) > 0}
        return self._lowered(key, trials, most, raises) if key in trials.end(most).holders else {}

    def _lowered(
        self, key: str, trials: QuotaTrials, raises: QuotaRaises, too_small: QuotaRaises | None = None
    ) -> dict[QuotaLever, int]:
        """The same raises, each as low as it can be; those of which others were ``too_small`` may be far too large."""
        now = dict(raises)

        def works(lever: QuotaLever, amount: int) -> bool:
            changed = {**now, lever: amount} if amount else {one: own for one, own in now.items() if one != lever}
            return key in trials.end(changed).holders

        for lever, most in raises.items():
            unit = gcd(self._unit(lever.node.root, lever.pair[1]), most)
            if too_small is None and not works(lever, most - unit):
                continue
            if works(lever, 0):
                del now[lever]
                continue
            fails, enough = 0, most // unit - (too_small is None)
            guess = (too_small or {}).get(lever, 0) // unit
            while enough - fails > 1:
                # Up from what was too small in steps that double, then halving what is left.
                middle = guess if fails < guess < enough else (fails + enough) // 2
                if works(lever, middle * unit):
                    enough, guess = middle, 0
                else:
                    fails, guess = middle, 2 * guess
            now[lever] = enough * unit
        return now

    def _unit(self, root: QuotaNode, resource: str) -> int:
        """What divides all quotas of a resource in a tree, and all requests for it."""
        if self._configuration.fair_sharing is not None:
            return 1
        if (root, resource) not in self._units:
            amounts = [
                amount
                for node in _tree(root)
                for pair, limits in node.limits.items()
                for amount in (limits.nominal, limits.borrowing, limits.lending)
                if pair[1] == resource and amount
            ]
            for one in self._state.workloads.values():
                amounts += [held for pair, held in one.held.items() if pair[1] == resource]
                for charge in one.charged:
                    asked = charge.requests.get(resource, 0)
                    amounts += [asked, asked // max(1, charge.count)]
                for granted in one.grant.pod_sets if one.grant is not None else ():
                    used = granted.usage.get(resource, 0)
                    amounts += [used, used // max(1, granted.count)]
            self._units[root, resource] = gcd(*amounts) or 1
        return self._units[root, resource]

    def _most(self, node: QuotaNode, lever: QuotaLever) -> int:
        """What all workloads of the tree that wait ask, with what its queues use; no queue lends more than it has."""
        if lever.field == _LENT:
            return lever.node.nominal(lever.pair) - (lever.before or 0)
        root = node.root
        if root not in self._waiting:
            self._waiting[root] = Counter()
            for one in self._state.workloads.values():
                if self._state.place(one) is not None and self._node(one).root is root:
                    for charge in one.charged:
                        self._waiting[root].update(charge.requests)
        return self._waiting[root][lever.pair[1]] + root.at(lever.pair).usage

    def _priced(self, kinds: Sequence[_WaitingKind]) -> dict[QuotaLever, None]:
        """The amounts that workloads wait for."""
        levers: dict[QuotaLever, None] = {}
        for kind in kinds:
            for asked in kind.ways:
                short = {pair: amount for pair, amount in asked.items() if amount > max(0, kind.node.available(pair))}
                levers.update((lever, None) for listed in _levers(kind.node, short) for lever in listed)
        return levers

    def _judge_prices(self, levers: Iterable[QuotaLever]) -> None:
        """What one step more of an amount admits."""
        for lever in levers:
            if lever not in self._prices:
                self._prices[lever] = self._price(lever)

    def _price(self, lever: QuotaLever) -> records.QuotaPrice | None:
        trials, step = self._trials[lever.node.root], self._step(lever.pair[1])
        before, after = trials.end({}).holders, trials.end({lever: step}).holders
        if len(after) <= len(before):
            return None
        return records.QuotaPrice(
            owner=lever.node.name,
            cohort=not lever.node.is_queue,
            field=lever.field,
            flavor=lever.pair[0],
            resource=lever.pair[1],
            more=written_amount(lever.pair[1], step),
            admitted=tuple(sorted(after - before)),
            lost=tuple(sorted(before - after)),
        )

    def _step(self, resource: str) -> int:
        charges = (charge for one in self._state.workloads.values() for charge in one.charged if charge.count)
        return step_of(resource, (charge.requests.get(resource, 0) // charge.count for charge in charges))


def quota_ways(
    workload: WorkloadState, queue: ClusterQueueState, flavors: Mapping[str, ResourceFlavor]
) -> list[dict[FlavorResource, int]]:
    """What a workload asks of the quota with each choice of flavors that its pods allow."""
    total: dict[str, int] = defaultdict(int)
    for charge in workload.charged:
        for resource, amount in charge.requests.items():
            total[resource] += amount
        if PODS in queue.group_of:
            total[PODS] += charge.count
    groups = []
    for group in queue.groups:
        asked = {resource: total[resource] for resource in sorted(group.resources) if total.get(resource)}
        fitting = [
            name
            for name in group.flavors
            if all(flavor_misfit(one, name, flavors.get(name)) is None for one in workload.pod_sets)
        ]
        if asked:
            groups.append([{(name, resource): amount for resource, amount in asked.items()} for name in fitting])
    combined = islice(product(*groups), _MOST_WAYS)
    return [{pair: amount for part in parts for pair, amount in part.items()} for parts in combined]


def missing_quota(node: QuotaNode, ways: Sequence[Mapping[FlavorResource, int]]) -> tuple[records.MissingQuota, ...]:
    """Which amounts a queue has too little of, with any way to choose flavors, and where there is no more."""
    pairs = {pair for asked in ways for pair in asked if asked[pair] > max(0, node.available(pair))}
    return tuple(_missing(node, pair, max(asked.get(pair, 0) for asked in ways)) for pair in sorted(pairs))


def _levers(node: QuotaNode, pairs: Collection[FlavorResource]) -> Iterator[list[QuotaLever]]:
    """The amounts that may be raised together: those of one field of one owner."""
    way: tuple[tuple[QuotaNode, QuotaField], ...] = tuple(
        (one, field) for one in reversed(node.from_root) for field in _RAISED if field != "borrowingLimit" or one.parent
    )
    lenders = [
        other for other in _tree(node.root) if other not in node.from_root and any(map(other.local_available, pairs))
    ]
    for owner, changed in (*way, *((lender, _LENT) for lender in lenders)):
        levers = [QuotaLever(owner, changed, pair) for pair in sorted(pairs)]
        listed = [lever for lever in levers if lever.before is not None]
        if listed:
            yield listed


_RAISED: tuple[QuotaField, ...] = ("nominalQuota", "borrowingLimit")
_LENT: QuotaField = "lendingLimit"


def _tree(root: QuotaNode) -> Iterator[QuotaNode]:
    nodes = [root]
    for node in nodes:
        yield node
        nodes.extend([*node.cohorts, *node.queues])


def _size(raises: QuotaRaises) -> tuple[float, ...]:
    """How large a change is, in parts of what was there."""
    return (sum(amount / max(1, lever.before or 0) for lever, amount in raises.items()),)


def _change(first: QuotaLever, raises: QuotaRaises) -> records.QuotaChange:
    amounts = (
        records.ChangedAmount(
            lever.pair[0],
            lever.pair[1],
            written_amount(lever.pair[1], lever.before or 0),
            written_amount(lever.pair[1], (lever.before or 0) + more),
            written_amount(lever.pair[1], more),
        )
        for lever, more in raises.items()
    )
    return records.QuotaChange(first.node.name, not first.node.is_queue, first.field, tuple(amounts))


def _missing(node: QuotaNode, pair: FlavorResource, asked: int) -> records.MissingQuota:
    """Which queue or cohort has no more, on the way from the root to the queue (kueue-dra 4.2)."""
    where, found = node.root, 0
    field: QuotaField = "nominalQuota"
    for one in node.from_root:
        quota = one.at(pair)
        if quota.parent is None:
            found = quota.subtree - quota.usage
            continue
        if quota.borrowing is not None:
            most = quota.subtree - max(quota.kept, quota.usage) + quota.borrowing
            if most < found:
                where, field, found = one, "borrowingLimit", most
        found += quota.unused
    resource = pair[1]
    available = written_amount(resource, max(0, node.available(pair)))
    return records.MissingQuota(
        pair[0], resource, written_amount(resource, asked), available, where.name, not where.is_queue, field
    )

"""What limits: the quota that a waiting workload lacks, the least change that admits it, and what more quota is worth.

A change of quota is judged by Kueue's cycles themselves. They run again from the objects of the input, with the
changed ClusterQueue or Cohort, and the answer is whether the workload has quota at the end. Only the tree of the queue
runs, for trees share nothing. Amounts are searched by halving: with any one of the amounts of a change less by one, the
workload waits. Kueue compares sums of quotas with sums of requests, so that only multiples of what divides all of them
are tried. The shares of fair sharing are quotients: with it every amount counts.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import gcd
from typing import Any, TypeAlias

from msgspec.structs import replace as replace_fields

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import LimitRange, RuntimeClass
from ...models.kubernetes.kueue import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    FlavorResourceQuota,
    KueueWorkload,
    LocalQueue,
    QuotaResourceGroup,
    ResourceFlavor,
)
from ...models.kubernetes.meta import key_of
from ...models.results import quota as records
from ...models.results.quota import QuotaField
from .amounts import amount_of, step_of, written_amount
from .configuration import KueueConfiguration
from .counting import CountingFailure, WorkloadCharge
from .cycles import KueueState
from .flavors import PODS, flavor_misfit
from .queues import ClusterQueueState
from .quota_tree import FlavorResource, QuotaNode
from .workload_state import QUOTA_RESERVED, WorkloadState

# With more ways to choose flavors, the first are looked at.
_MOST_WAYS = 8


class LimitsInterruptedError(Exception):
    """Ctrl-C while changes of quota were judged; ``limits`` has what was known by then."""

    def __init__(self, limits: records.QuotaLimitReport) -> None:
        super().__init__()
        self.limits = limits


class _TimeOverError(Exception):
    """The time limit passed while cycles ran for a change."""


@dataclass(frozen=True, slots=True)
class _Lever:
    """An amount of a queue or cohort that can be raised."""

    node: QuotaNode
    field: QuotaField
    pair: FlavorResource

    @property
    def before(self) -> int | None:
        """What it is now; None: nothing can be changed here."""
        limits = self.node.limits.get(self.pair)
        if limits is None:
            return None
        amounts = {"nominalQuota": limits.nominal, "borrowingLimit": limits.borrowing, "lendingLimit": limits.lending}
        return amounts[self.field]


_Raises: TypeAlias = Mapping[_Lever, int]


class _Judge:
    """Says what has quota in the end in the tree of a queue, once some amounts are raised."""

    def __init__(
        self,
        cluster: Cluster,
        configuration: KueueConfiguration,
        state: KueueState,
        root: QuotaNode,
        max_cycles: int | None,
        deadline: float | None,
    ) -> None:
        self._configuration, self._max_cycles, self._deadline = configuration, max_cycles, deadline
        self._charges: dict[tuple[str, str], WorkloadCharge | CountingFailure | None] = {
            (one.namespace, one.name): one.charge for one in state.workloads.values()
        }
        queues = {one.name for one in root.all_queues()}
        local = {key: one for key, one in cluster.objects(LocalQueue).items() if one.spec.cluster_queue in queues}
        workloads = {}
        for one in (each.object for each in state.workloads.values()):
            key, admission = key_of(one.metadata), one.status.admission
            named = local.get((key[0], one.spec.queue_name)), admission and admission.cluster_queue in queues
            if any(named):
                workloads[key] = one
        objects: dict[type[Any], Mapping[Any, Any]] = {
            kind: cluster.objects(kind) for kind in (ResourceFlavor, AdmissionCheck, Cohort, LimitRange, RuntimeClass)
        }
        own = {key: one for key, one in cluster.objects(ClusterQueue).items() if one.metadata.name in queues}
        objects |= {LocalQueue: local, KueueWorkload: workloads, ClusterQueue: own}
        self._cluster = replace(Cluster.of(()), namespaces=cluster.namespaces, integration_objects=objects)
        self._known: dict[frozenset[tuple[_Lever, int]], frozenset[str]] = {}

    def holders(self, raises: _Raises) -> frozenset[str]:
        """The workloads that have quota at the end. Raises ``_TimeOverError``."""
        key = frozenset(raises.items())
        if key not in self._known:
            state = KueueState(self._changed(raises), self._configuration, self._count)
            if state.run(self._max_cycles, deadline=self._deadline).interrupted:
                raise KeyboardInterrupt
            if self._deadline is not None and time.monotonic() >= self._deadline:
                raise _TimeOverError
            self._known[key] = frozenset(name for name, one in state.workloads.items() if one.reserved)
        return self._known[key]

    def _count(self, workload: KueueWorkload) -> WorkloadCharge | CountingFailure:
        charge = self._charges.get(key_of(workload.metadata))
        # What was never counted is in no queue.
        return charge or CountingFailure("not counted", "not counted", retry=False)

    def _changed(self, raises: _Raises) -> Cluster:
        changed: dict[type[ClusterQueue | Cohort], dict[object, ClusterQueue | Cohort]] = {}
        for kind in (ClusterQueue, Cohort):
            changed[kind] = dict(self._cluster.objects(kind))
            for key, described in changed[kind].items():
                own = {
                    (lever.pair, lever.field): amount
                    for lever, amount in raises.items()
                    if lever.node.is_queue is (kind is ClusterQueue) and lever.node.name == described.metadata.name
                }
                if own:
                    groups = tuple(_raised(group, own) for group in described.spec.resource_groups or ())
                    spec = replace_fields(described.spec, resource_groups=groups)
                    changed[kind][key] = replace_fields(described, spec=spec)
        return replace(self._cluster, integration_objects={**self._cluster.integration_objects, **changed})


def _raised(group: QuotaResourceGroup, own: Mapping[tuple[FlavorResource, QuotaField], int]) -> QuotaResourceGroup:
    """The group with some amounts raised."""

    def raised(flavor: str, one: FlavorResourceQuota) -> FlavorResourceQuota:
        fields: tuple[tuple[QuotaField, str], ...] = (
            ("nominalQuota", "nominal_quota"),
            ("borrowingLimit", "borrowing_limit"),
            ("lendingLimit", "lending_limit"),
        )
        for field, attribute in fields:
            more = own.get(((flavor, one.name), field), 0)
            if more:
                amount = amount_of(one.name, getattr(one, attribute)) + more
                one = replace_fields(one, **{attribute: written_amount(one.name, amount)})
        return one

    flavors = tuple(
        replace_fields(flavor, resources=tuple(raised(flavor.name, one) for one in flavor.resources or ()))
        for flavor in group.flavors or ()
    )
    return replace_fields(group, flavors=flavors)


def quota_limits(
    cluster: Cluster,
    configuration: KueueConfiguration,
    state: KueueState,
    *,
    max_cycles: int | None = None,
    deadline: float | None = None,
) -> records.QuotaLimitReport:
    """What limits the workloads that wait in ``state``, where the cycles of ``cluster`` have ended.

    Of workloads that are alike the first is judged. ``deadline`` is a reading of ``time.monotonic``: what is not
    known by then is left out, and ``complete`` is False. Raises ``LimitsInterruptedError`` for a KeyboardInterrupt.
    """
    return _LimitFinder(cluster, configuration, state, max_cycles, deadline).report()


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
        self._judges: dict[QuotaNode, _Judge] = {}
        self._units: dict[tuple[QuotaNode, str], int] = {}

    def report(self) -> records.QuotaLimitReport:
        """See ``quota_limits``."""
        waiting: dict[object, list[WorkloadState]] = defaultdict(list)
        pending = [one for one in self._state.workloads.values() if one.state == "pending" and one.charged]
        for one in sorted(pending, key=lambda one: (-one.priority, one.queued_since, one.uid, one.key)):
            if self._state.place(one) is not None:
                waiting[one.shape].append(one)
        limits: dict[object, records.WorkloadLimit] = {}
        prices: list[records.QuotaPrice] = []
        complete = True
        try:
            for shape, alike in waiting.items():
                limits[shape] = self._limit(alike)
            prices += self._prices([alike[0] for alike in waiting.values()])
        except _TimeOverError:
            complete = False
        except KeyboardInterrupt:
            found = records.QuotaLimitReport(tuple(limits.values()), tuple(prices), complete=False)
            raise LimitsInterruptedError(found) from None
        return records.QuotaLimitReport(tuple(limits.values()), tuple(prices), complete)

    def _judge(self, node: QuotaNode) -> _Judge:
        root = node.root
        if root not in self._judges:
            self._judges[root] = _Judge(
                self._cluster, self._configuration, self._state, root, self._max_cycles, self._deadline
            )
        return self._judges[root]

    def _limit(self, alike: Sequence[WorkloadState]) -> records.WorkloadLimit:
        first = alike[0]
        ways = self._ways(first)
        node = self._node(first)
        told = first.conditions.get(QUOTA_RESERVED)
        return records.WorkloadLimit(
            workloads=tuple(one.key for one in alike),
            cluster_queue=node.name,
            message=told.message if told is not None else "",
            missing=missing_quota(node, ways),
            changes=tuple(self._changes(first, ways)),
        )

    def _node(self, workload: WorkloadState) -> QuotaNode:
        place = self._state.place(workload)
        assert place is not None
        return self._state.queues[place[0]].node

    def _ways(self, workload: WorkloadState) -> list[dict[FlavorResource, int]]:
        return quota_ways(workload, self._state.queues[self._node(workload).name], self._flavors)

    def _changes(
        self, workload: WorkloadState, ways: Sequence[Mapping[FlavorResource, int]]
    ) -> Iterator[records.QuotaChange]:
        """The least change of each owner by which the workload gets quota, the smallest ones first."""
        node, judge = self._node(workload), self._judge(self._node(workload))
        found: list[tuple[tuple[float, ...], records.QuotaChange]] = []
        for asked in ways:
            for number, levers in enumerate(_levers(node, asked)):
                raises = self._least(workload.key, judge, node, asked, levers)
                if raises:
                    found.append(((len(raises), *_size(raises), number), _change(levers[0], raises)))
        best: dict[tuple[str, bool, str], records.QuotaChange] = {}
        for _, change in sorted(found, key=lambda pair: pair[0]):
            best.setdefault((change.owner, change.cohort, change.field), change)
        yield from best.values()

    def _least(
        self, key: str, judge: _Judge, node: QuotaNode, asked: Mapping[FlavorResource, int], levers: Sequence[_Lever]
    ) -> dict[_Lever, int]:
        """The least raise of these amounts with which the workload has quota; empty if there is none."""
        short = {lever: asked[lever.pair] - max(0, node.available(lever.pair)) for lever in levers}
        raises = {lever: amount for lever, amount in short.items() if amount > 0}
        if not raises or key not in judge.holders(raises):
            # Others take what is added, or come first.
            raises = {lever: most for lever in levers if (most := self._most(node, lever)) > 0}
            if key not in judge.holders(raises):
                return {}
        for lever in levers:
            if lever in raises:
                raises = self._lowered(key, judge, raises, lever)
        return raises

    def _lowered(self, key: str, judge: _Judge, raises: _Raises, lever: _Lever) -> dict[_Lever, int]:
        """The same raises with one of them as low as it can be."""
        kept = {other: amount for other, amount in raises.items() if other != lever}
        if key in judge.holders(kept):
            return kept
        unit = gcd(self._unit(lever.node.root, lever.pair[1]), raises[lever])
        fails, works = 0, raises[lever] // unit
        middle = works - 1
        while works - fails > 1:
            if key in judge.holders({**kept, lever: middle * unit}):
                works = middle
            else:
                fails = middle
            middle = (fails + works) // 2
        return {**kept, lever: works * unit}

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

    def _most(self, node: QuotaNode, lever: _Lever) -> int:
        """What all workloads of the tree that wait ask, with what its queues use; no queue lends more than it has."""
        if lever.field == _LENT:
            return lever.node.nominal(lever.pair) - (lever.before or 0)
        waiting = sum(
            charge.requests.get(lever.pair[1], 0)
            for one in self._state.workloads.values()
            if self._state.place(one) is not None and self._node(one).root is node.root
            for charge in one.charged
        )
        return waiting + node.root.at(lever.pair).usage

    def _prices(self, waiting: Sequence[WorkloadState]) -> Iterator[records.QuotaPrice]:
        """What one step more of an amount admits, for all amounts that workloads wait for."""
        levers: dict[_Lever, None] = {}
        for one in waiting:
            node = self._node(one)
            for asked in self._ways(one):
                short = {pair: amount for pair, amount in asked.items() if amount > max(0, node.available(pair))}
                levers.update((lever, None) for listed in _levers(node, short) for lever in listed)
        for lever in levers:
            judge, step = self._judge(lever.node), self._step(lever.pair[1])
            before, after = judge.holders({}), judge.holders({lever: step})
            if len(after) > len(before):
                yield records.QuotaPrice(
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


def _levers(node: QuotaNode, pairs: Collection[FlavorResource]) -> Iterator[list[_Lever]]:
    """The amounts that may be raised together: those of one field of one owner."""
    way: tuple[tuple[QuotaNode, QuotaField], ...] = tuple(
        (one, field) for one in reversed(node.from_root) for field in _RAISED if field != "borrowingLimit" or one.parent
    )
    lenders = [
        other for other in _tree(node.root) if other not in node.from_root and any(map(other.local_available, pairs))
    ]
    for owner, field in (*way, *((lender, _LENT) for lender in lenders)):
        levers = [_Lever(owner, field, pair) for pair in sorted(pairs)]
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


def _size(raises: _Raises) -> tuple[float, ...]:
    """How large a change is, in parts of what was there."""
    return (sum(amount / max(1, lever.before or 0) for lever, amount in raises.items()),)


def _change(first: _Lever, raises: _Raises) -> records.QuotaChange:
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

"""Trials of quota: Kueue's cycles run again with some amounts of queues or cohorts raised.

Only the tree of a queue runs, for trees share nothing. Trials begin where the first cycle ends in which an amount could
have mattered: before, every workload is admitted within the quota of its queue. Trials are kept, so that equal ones run
once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from ...models.results.quota import QuotaField
from .amounts import amount_of, written_amount
from .configuration import KueueConfiguration
from .counting import CountingFailure, WorkloadCharge
from .cycles import KueueState
from .quota_tree import FlavorResource, QuotaNode, QuotaTree


class TrialTimeOverError(Exception):
    """The time limit passed before a trial, or during it."""


@dataclass(frozen=True, slots=True)
class QuotaLever:
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


QuotaRaises: TypeAlias = Mapping[QuotaLever, int]


@dataclass(frozen=True, slots=True)
class TrialEnd:
    """The workloads that have quota at the end of the cycles, and the tree as it is then."""

    holders: frozenset[str]
    tree: QuotaTree


class QuotaTrials:
    """Says what has quota in the end in the tree of a queue, once some amounts are raised.

    ``deadline`` is a reading of ``time.monotonic``; None: there is none.
    """

    def __init__(
        self,
        cluster: Cluster,
        configuration: KueueConfiguration,
        state: KueueState,
        root: QuotaNode,
        max_cycles: int | None,
    ) -> None:
        self._configuration, self._max_cycles = configuration, max_cycles
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
        # The state with which trials begin, and the cycles that it has behind it.
        self._begun: tuple[KueueState, int] | None = None
        self._known: dict[frozenset[tuple[QuotaLever, int]], TrialEnd] = {}
        self.deadline: float | None = None

    def end(self, raises: QuotaRaises) -> TrialEnd:
        """How the cycles end. Raises ``TrialTimeOverError``."""
        key = frozenset(raises.items())
        found = self._known.get(key)
        if found is None:
            if _is_past(self.deadline):
                raise TrialTimeOverError
            if self._begun is None:
                self._begun = self._quiet_cycles()
            begun, cycles = self._begun
            state = begun.with_quota_of(self._changed(raises))
            self._run(state, None if self._max_cycles is None else self._max_cycles - cycles)
            holders = frozenset(name for name, one in state.workloads.items() if one.reserved)
            found = self._known[key] = TrialEnd(holders, state.tree)
        return found

    def _quiet_cycles(self) -> tuple[KueueState, int]:
        """The state after the first cycles, for as long as they are the same with any amounts raised; how many."""
        state, cycles = KueueState(self._cluster, self._configuration, self._count), 0
        # A copy runs ahead, for no cycle can be taken back.
        ahead = state.with_quota_of(self._cluster)
        while self._configuration.fair_sharing is None and self._max_cycles != cycles + 1:
            ahead.quiet = False
            self._run(ahead, 1)
            if not ahead.quiet:
                break
            cycles += 1
        for _ in range(cycles):
            self._run(state, 1)
        return state, cycles

    def _run(self, state: KueueState, cycles: int | None) -> None:
        if state.run(cycles, deadline=self.deadline, with_quota=False).interrupted:
            raise KeyboardInterrupt
        if _is_past(self.deadline):
            raise TrialTimeOverError

    def _count(self, workload: KueueWorkload) -> WorkloadCharge | CountingFailure:
        charge = self._charges.get(key_of(workload.metadata))
        # What was never counted is in no queue.
        return charge or CountingFailure("not counted", "not counted", retry=False)

    def _changed(self, raises: QuotaRaises) -> Cluster:
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


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


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

"""Quota for plans: queues, cohorts and waiting workloads of a cluster as the records that the planner knows.

``joint`` leaves the choice of workloads and flavors to the plan. ``kueue`` runs Kueue's cycles, and the plan keeps to
what they admit. Workloads that hold quota already keep it; pods of theirs that wait are placed with their flavors.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice, product
from math import prod
from time import monotonic
from typing import Literal

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Toleration
from ...models.kubernetes.kinds import kind_of
from ...models.kubernetes.kueue import ClusterQueue, KueueWorkload, ResourceFlavor
from ...models.kubernetes.meta import key_of
from ...models.workload.quota import (
    UNLIMITED,
    FlavorOption,
    OwnerKey,
    QuotaHolder,
    QuotaPodSet,
    QuotaProblem,
    QuotaWorkload,
)
from .configuration import kueue_configuration
from .cycles import KueueState, PhaseRecord
from .flavors import PODS, flavor_misfit
from .pod_domains import PodDomains, UnplannedTopologyError, check_notices, rejected_check
from .queues import STRICT_FIFO, ClusterQueueState, ResourceGroup
from .quota_tree import FlavorResource, QuotaNode
from .scheduling import NAMESPACE_MISMATCH
from .workload_state import QUOTA_RESERVED, PodSetGrant, QuotaGrant, WorkloadState
from .workloads import kueue_workloads, without_pods_of

QuotaMode = Literal["joint", "kueue", "ignore"]
QUOTA_MODES: tuple[QuotaMode, ...] = ("joint", "kueue", "ignore")
# With more ways to choose flavors for a pod set, the first are looked at.
_MOST_OPTIONS = 64
_SHARE_OF_CYCLES = 0.5
_UNSETTLED = "Kueue's cycles did not come to rest: the admissions are those by then"


def quota_problem(
    cluster: Cluster, mode: str = "", time_limit: float | None = None
) -> tuple[Cluster, QuotaProblem] | None:
    """The quota for a plan, and the cluster without evicted pods; None without ClusterQueues or for ``ignore``.

    ``mode`` is one of ``QUOTA_MODES``; empty: ``joint``. Cycles take half of ``time_limit`` seconds at most. Raises
    ``ValueError``, one line, for another mode.
    """
    if mode and mode not in QUOTA_MODES:
        raise ValueError(f"unknown quota mode {mode!r}, known are: {', '.join(QUOTA_MODES)}")
    if mode == "ignore" or not cluster.objects(ClusterQueue):
        return None
    made = {key_of(one.metadata): one for one in kueue_workloads(cluster)}
    whole = replace(cluster, integration_objects={**cluster.integration_objects, KueueWorkload: made})
    deadline = None if time_limit is None else monotonic() + time_limit * _SHARE_OF_CYCLES
    state, by_cycles = KueueState(whole, kueue_configuration(whole)), mode == "kueue"
    held = {key for key, one in state.workloads.items() if one.reserved}
    # Without a cycle there are the evictions of queues that were stopped.
    phase = state.run(None if by_cycles else 0, deadline=deadline)
    settled = not by_cycles or phase.settled
    reader = _QuotaReader(whole, state)
    notices = () if settled else (_UNSETTLED,)
    found = reader.read(held - phase.evicted, phase if by_cycles else None, notices=notices)
    return _after_evictions(cluster, state, phase), found


def given_admissions(
    cluster: Cluster, state: KueueState, phase: PhaseRecord, held: AbstractSet[str]
) -> tuple[Cluster, QuotaProblem]:
    """The admissions of ``state`` at the end of a phase as given, and the cluster without pods that are evicted.

    ``held`` had quota before the phase.
    """
    found = _QuotaReader(cluster, state).read(held - phase.evicted, phase)
    return _after_evictions(cluster, state, phase), found


def _after_evictions(cluster: Cluster, state: KueueState, phase: PhaseRecord) -> Cluster:
    gone = [state.workloads[key].object for key in sorted(phase.evicted) if key in state.workloads]
    return without_pods_of(cluster, gone)


def workload_copies(
    cluster: Cluster, state: KueueState, workload: WorkloadState, queue: ClusterQueueState, copies: int
) -> QuotaProblem:
    """Copies of a workload that was counted, as if they waited in a queue, with quota without limits.

    They are Workloads without owners, named by ``name_of_copy``.
    """
    return _QuotaReader(cluster, state).read_copies(workload, queue, copies)


def name_of_copy(workload: WorkloadState, number: int) -> str:
    """The name of a copy of a workload, from 0."""
    return f"{workload.name}-copy-{number}"


class _QuotaReader:
    """Reads the state of Kueue into records."""

    def __init__(self, cluster: Cluster, state: KueueState) -> None:
        self._state = state
        self._flavors = {one.metadata.name: one for one in cluster.objects(ResourceFlavor).values()}
        self._namespaces = {name: one.metadata.labels or {} for name, one in cluster.namespaces.items()}
        self._ignores_undeclared = state.configuration.quota_check_strategy == "IgnoreUndeclared"
        self._complete = True
        self._options: dict[object, tuple[FlavorOption, ...] | str] = {}
        self._numbers: dict[QuotaNode, int] = {}
        self._domains = PodDomains(cluster, self._flavors)

    def read(
        self, held: Container[str], given: PhaseRecord | None = None, *, notices: Sequence[str] = ()
    ) -> QuotaProblem:
        """Read everything; the admissions that are ``given`` come in the order of their cycles."""
        state = self._state
        waiting = [one for one in state.workloads.values() if not one.finished]
        waiting.sort(key=lambda one: (-one.priority, one.queued_since, one.uid, one.key))
        if given is not None:
            cycle = {key: record.number for record in given.cycles for key, _ in record.admitted}
            waiting.sort(key=lambda one: cycle.get(one.key, 0) if one.reserved else given.number + 1)
        usage: dict[str, Counter[FlavorResource]] = defaultdict(Counter)
        for one in waiting:
            if one.key in held and one.reserved and one.grant is not None:
                usage[one.grant.cluster_queue].update(one.held)
        holders = tuple(self._holders(usage))
        workloads = []
        for one in waiting:
            if one.key in held and one.reserved and one.grant is not None:
                workloads.append(self._holding(one, one.grant))
            elif given is not None:
                workloads.append(self._given(one))
            else:
                workloads.append(self._pending(one))
        return QuotaProblem(
            holders, tuple(workloads), given is None, self._complete, (*notices, *self._notices(waiting))
        )

    def read_copies(self, workload: WorkloadState, queue: ClusterQueueState, copies: int) -> QuotaProblem:
        """See ``workload_copies``."""
        holders = list(self._holders({}))
        whole = self._waiting_in(workload, queue)
        pairs = {
            (flavor, resource): UNLIMITED
            for one in whole.pod_sets
            for choice in one.choices
            for resource, flavor in choice.flavors.items()
        }
        free = tuple(QuotaHolder(one.name, is_cohort=one.is_cohort, nominal=pairs) for one in holders)
        kind = kind_of(KueueWorkload).name
        pod_sets = tuple(replace(one, minimum=None) for one in whole.pod_sets)
        named = [name_of_copy(workload, number) for number in range(copies)]
        made = (
            replace(whole, name=name, owners=((kind, workload.namespace, name),), pod_sets=pod_sets) for name in named
        )
        return QuotaProblem(free, tuple(made), complete=self._complete)

    def _notices(self, waiting: Sequence[WorkloadState]) -> Iterator[str]:
        yield from check_notices((one, self._queue_of(one)) for one in waiting)
        yield from self._domains.notices(waiting)

    def _queue_of(self, workload: WorkloadState) -> ClusterQueueState | None:
        """The queue of which a workload holds quota, or in which it waits."""
        place = self._state.place(workload)
        name = workload.grant.cluster_queue if workload.reserved and workload.grant else place[0] if place else ""
        return self._state.queues.get(name)

    def _holders(self, usage: Mapping[str, Mapping[FlavorResource, int]]) -> Iterator[QuotaHolder]:
        """The tree, a cohort before its children; ``usage`` is what is held of each queue."""
        nodes = list(self._state.tree.nodes())
        waiting = [node for node in nodes if node.parent is None]
        while waiting:
            node = waiting.pop(0)
            self._numbers[node] = len(self._numbers)
            waiting += [*node.cohorts, *node.queues]
            yield self._holder(node, usage.get(node.name, {}) if node.is_queue else {})

    def _holder(self, node: QuotaNode, held: Mapping[FlavorResource, int]) -> QuotaHolder:
        queue = self._state.queues.get(node.name) if node.is_queue else None
        limits = node.limits if node.parent is not None else {}
        return QuotaHolder(
            node.name,
            None if node.parent is None else self._numbers[node.parent],
            not node.is_queue,
            {pair: one.nominal for pair, one in node.limits.items()},
            {pair: one.borrowing for pair, one in limits.items() if one.borrowing is not None},
            {pair: one.lending for pair, one in limits.items() if one.lending is not None},
            {pair: amount for pair, amount in held.items() if amount},
            node.weight,
            queue is not None and queue.spec.queueing_strategy == STRICT_FIFO,
        )

    def _holding(self, workload: WorkloadState, grant: QuotaGrant) -> QuotaWorkload:
        """One that holds its quota: pods that it still has to start get the flavors that it has, as many as there are.

        Jobs have them in their templates already.
        """
        counts = {one.name: one for one in grant.pod_sets}
        pod_sets = []
        for one in workload.pod_sets:
            own = counts.get(one.name)
            flavors = own.flavors if own is not None else {}
            count = max(0, (own.count if own is not None else one.count) - workload.reclaimed.get(one.name, 0))
            option = self._option(flavors) or FlavorOption(flavors)
            pod_sets.append(QuotaPodSet(one.name, count, {}, (option,), 0, "", one.template.spec))
        own_pods = (_itself(workload),)
        return self._record(workload, grant.cluster_queue, pod_sets, owners=own_pods, grant="held")

    def _given(self, workload: WorkloadState) -> QuotaWorkload:
        """One that Kueue admits now, with its flavors and counts, or does not admit."""
        grant = workload.grant
        if not workload.reserved or grant is None:
            said = f"Kueue does not admit it: {_message(workload) or 'it waits in no queue'}"
            return self._refused(workload, said)
        pod_sets, problem = [], ""
        granted_sets = {one.name: one for one in grant.pod_sets}
        for one in workload.pod_sets:
            own = granted_sets.get(one.name) or PodSetGrant(one.name, one.count, {}, {})
            option = self._option(own.flavors)
            if option is None:
                problem = flavors_clash(one.name)
                option = FlavorOption(own.flavors)
            misfits = (self._domains.misfit(one, name) for name in dict.fromkeys(own.flavors.values()))
            problem = problem or next((said for said in misfits if said), "")
            charge = {name: amount // own.count for name, amount in own.usage.items()} if own.count else {}
            count = max(0, one.count - workload.reclaimed.get(one.name, 0))
            granted = min(own.count, count)
            least = granted if granted < count else None
            pod_sets.append(QuotaPodSet(one.name, count, charge, (option,), least, "", one.template.spec, least))
        return self._record(workload, grant.cluster_queue, pod_sets, problem, grant="given")

    def _pending(self, workload: WorkloadState) -> QuotaWorkload:
        """One that waits, with all flavors that it may have."""
        place = self._state.place(workload)
        if place is None:
            return self._refused(workload, _message(workload) or "it waits in no queue")
        return self._waiting_in(workload, self._state.queues[place[0]])

    def _waiting_in(self, workload: WorkloadState, queue: ClusterQueueState) -> QuotaWorkload:
        problem = ""
        if queue.inactive is not None:
            problem = f"ClusterQueue {queue.name} is inactive: {queue.inactive[1]}"
        elif not queue.takes(self._namespaces.get(workload.namespace, {})):
            problem = NAMESPACE_MISMATCH
        elif workload.refusal:
            problem = workload.refusal
        elif rejected := rejected_check(workload, queue):
            problem = rejected
        if problem:
            return self._refused(workload, problem)
        groups: dict[str, list[int]] = {}
        for number, one in enumerate(workload.pod_sets):
            name = one.topology_request.pod_set_group_name if one.topology_request else None
            groups.setdefault(f"/{number}" if name is None else name, []).append(number)
        pod_sets: dict[int, QuotaPodSet] = {}
        for name, members in groups.items():
            options = self._options_of(workload, queue, members)
            if isinstance(options, str):
                return self._refused(workload, options)
            for number in members:
                one, charge = workload.pod_sets[number], workload.charged[number]
                requests = {resource: amount // charge.count for resource, amount in charge.requests.items() if amount}
                if PODS in queue.group_of:
                    requests[PODS] = 1
                declared = {resource: amount for resource, amount in requests.items() if resource in queue.group_of}
                group = "" if name.startswith("/") else name
                least = None if one.min_count is None else min(one.min_count, charge.count)
                pod_sets[number] = QuotaPodSet(
                    one.name, charge.count, declared, options, least, group, one.template.spec
                )
        return self._record(workload, queue.name, [pod_sets[number] for number in sorted(pod_sets)])

    def _refused(self, workload: WorkloadState, problem: str) -> QuotaWorkload:
        pod_sets = [QuotaPodSet(one.name, one.count, {}, ()) for one in workload.pod_sets]
        place = self._state.place(workload)
        return self._record(workload, place[0] if place is not None else "", pod_sets, problem)

    def _record(
        self,
        workload: WorkloadState,
        queue: str,
        pod_sets: Sequence[QuotaPodSet],
        problem: str = "",
        *,
        owners: tuple[OwnerKey, ...] | None = None,
        grant: Literal["", "held", "given"] = "",
    ) -> QuotaWorkload:
        state, domain = self._state.queues.get(queue), None
        if grant != "held" and not problem:
            try:
                domain = self._domains.domain(workload.pod_sets)
            except UnplannedTopologyError as error:
                problem = str(error)
        if grant and state is not None and not problem:
            problem = rejected_check(workload, state)
        return QuotaWorkload(
            workload.namespace,
            workload.name,
            None if state is None else self._numbers[state.node],
            _owners(workload) if owners is None else owners,
            tuple(pod_sets),
            workload.object.spec.priority,
            problem,
            grant,
            domain,
        )

    def _options_of(
        self, workload: WorkloadState, queue: ClusterQueueState, members: Sequence[int]
    ) -> tuple[FlavorOption, ...] | str:
        """The ways to choose flavors for pod sets that are decided together, or why there is none."""
        asked: dict[str, int] = {}
        for number in members:
            for resource, amount in workload.charged[number].requests.items():
                asked[resource] = asked.get(resource, 0) + amount
        if PODS in queue.group_of:
            asked[PODS] = 1
        missing = [name for name, amount in sorted(asked.items()) if amount and name not in queue.group_of]
        first = workload.pod_sets[members[0]]
        if missing and not self._ignores_undeclared:
            said = ", ".join(f"resource {name} unavailable in ClusterQueue" for name in missing)
            return f"couldn't assign flavors to pod set {first.name}: {said}"
        choices: list[list[tuple[ResourceGroup, str]]] = []
        for group in queue.groups:
            if group.resources.isdisjoint(asked):
                continue
            misfits = {name: self._misfit(workload, members, name) for name in group.flavors}
            fitting = [(group, name) for name in group.flavors if misfits[name] is None]
            if not fitting:
                said = ", ".join(sorted(text for text in misfits.values() if text))
                return f"couldn't assign flavors to pod set {first.name}: {said}"
            choices.append(fitting)
        key = tuple(tuple(name for _, name in fitting) for fitting in choices), frozenset(asked), queue.name
        if key not in self._options:
            self._complete &= prod(map(len, choices)) <= _MOST_OPTIONS
            found = []
            for chosen in islice(product(*choices), _MOST_OPTIONS):
                flavors = {name: flavor for group, flavor in chosen for name in asked if name in group.resources}
                option = self._option(flavors)
                if option is not None:
                    found.append(option)
            self._options[key] = tuple(found) or flavors_clash(first.name)
        return self._options[key]

    def _misfit(self, workload: WorkloadState, members: Sequence[int], flavor: str) -> str | None:
        for number in members:
            place = number, flavor
            if place not in workload.misfits:
                workload.misfits[place] = flavor_misfit(workload.pod_sets[number], flavor, self._flavors.get(flavor))
            misfit = workload.misfits[place] or self._domains.misfit(workload.pod_sets[number], flavor)
            if misfit is not None:
                return misfit
        return None

    def _option(self, flavors: Mapping[str, str]) -> FlavorOption | None:
        """What these flavors add to pods; None if no node can have the labels of all of them."""
        labels: dict[str, str] = {}
        tolerations: dict[Toleration, None] = {}
        for name in dict.fromkeys(flavors.values()):
            flavor = self._flavors.get(name)
            for key, value in ((flavor.spec.node_labels if flavor else None) or {}).items():
                if labels.setdefault(key, value) != value:
                    return None
            tolerations.update(dict.fromkeys((flavor.spec.tolerations if flavor else None) or ()))
        return FlavorOption(dict(sorted(flavors.items())), labels, tuple(tolerations))


def flavors_clash(pod_set: str) -> str:
    """What is said of a pod set of which all choices of flavors ask nodes for two values of one label."""
    return f"the flavors of pod set {pod_set} exclude each other"


def _message(workload: WorkloadState) -> str:
    """What the workload's condition says of its quota."""
    found = workload.conditions.get(QUOTA_RESERVED)
    return found.message if found is not None else ""


def _owners(workload: WorkloadState) -> tuple[OwnerKey, ...]:
    """What may own the pods: the job, the pods of a group, or the workload itself."""
    references = workload.object.metadata.owner_references or ()
    return (*((one.kind, workload.namespace, one.name) for one in references), _itself(workload))


def _itself(workload: WorkloadState) -> OwnerKey:
    return kind_of(KueueWorkload).name, workload.namespace, workload.name

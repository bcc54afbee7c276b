"""What a run of Kueue's cycles came to, as the document of ``quota`` and as manifests."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ...models.cluster.cluster import Cluster
from ...models.formats.decode import to_builtins
from ...models.kubernetes.kueue import KueueWorkload
from ...models.kubernetes.meta import key_of
from ...models.results import quota as records
from .amounts import written_amount
from .cycles import REPEATED_WITH_EVICTIONS, KueueState, PhaseRecord
from .quota_tree import QuotaNode
from .workload_state import QUOTA_RESERVED, QuotaGrant, WorkloadState, timestamp_of

_API_VERSION = "kueue.x-k8s.io/v1beta2"
_MOST_NAMED = 10


def quota_document(state: KueueState, phase: PhaseRecord) -> records.QuotaDocument:
    """The document of one run."""
    admitted = {key: cycle.number for cycle in phase.cycles for key, _ in cycle.admitted}
    evictions: dict[str, list[records.QuotaEviction]] = {}
    for cycle in phase.cycles:
        for one in cycle.evicted:
            preempted = one.preempted.reason if one.preempted is not None else ""
            made = records.QuotaEviction(cycle.number, one.evicted.reason, preempted, one.evicted.message)
            evictions.setdefault(one.workload, []).append(made)
    return records.QuotaDocument(
        settled=phase.settled,
        repeating=phase.repeating,
        cycles_run=phase.number,
        workloads=tuple(
            _workload(state, state.workloads[key], admitted, tuple(evictions.get(key, ())))
            for key in sorted(state.workloads)
        ),
        quota=tuple(_quota(node, pair) for node in state.shown_nodes() for pair in node.pairs),
        shares=tuple(
            records.QuotaShare(name, not is_queue, None if infinite else float(value))
            for (name, is_queue), (infinite, value) in sorted((phase.shares or {}).items())
        ),
        cycles=tuple(
            records.QuotaCycle(
                cycle.number,
                tuple(key for key, _ in cycle.admitted),
                tuple(one.workload for one in cycle.evicted),
                tuple(key for key, _ in cycle.waiting),
            )
            for cycle in phase.cycles
        ),
        inactive={name: text for name, (_, text) in sorted(state.inactive.items())},
        notices=tuple(_circles(phase)),
    )


def _circles(phase: PhaseRecord) -> Iterator[str]:
    """Which workloads are evicted again and again, so that the cycles have no end."""
    times = Counter(one.workload for cycle in phase.cycles for one in cycle.evicted)
    again = sorted(key for key, number in times.items() if number >= REPEATED_WITH_EVICTIONS - 1)
    if phase.repeating and again:
        more = f" and {len(again) - _MOST_NAMED} more" if len(again) > _MOST_NAMED else ""
        yield f"Kueue admits and evicts again and again: {', '.join(again[:_MOST_NAMED])}{more}"


def _workload(
    state: KueueState,
    workload: WorkloadState,
    admitted: Mapping[str, int],
    evictions: tuple[records.QuotaEviction, ...],
) -> records.WorkloadQuota:
    place = state.place(workload)
    told = workload.conditions.get(QUOTA_RESERVED)
    waits = told is not None and not told.status and not workload.finished
    grant = workload.grant
    return records.WorkloadQuota(
        namespace=workload.namespace,
        name=workload.name,
        queue=workload.object.spec.queue_name,
        cluster_queue=grant.cluster_queue if grant is not None else place[0] if place is not None else "",
        priority=workload.priority,
        state=workload.state,
        place="" if place is None else "active" if place[1] else "parked",
        cycle=admitted.get(workload.key) if workload.reserved else None,
        reason=told.reason if told is not None and waits else "",
        message=told.message if told is not None and waits else "",
        charge=tuple(records.ChargedPodSet(one.name, one.count, _written(one.requests)) for one in workload.charged),
        assignments=() if grant is None else _assignments(grant),
        evictions=evictions,
    )


def _assignments(grant: QuotaGrant) -> tuple[records.QuotaAssignment, ...]:
    return tuple(
        records.QuotaAssignment(one.name, one.count, dict(sorted(one.flavors.items())), _written(one.usage))
        for one in grant.pod_sets
    )


def _written(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: written_amount(name, amount) for name, amount in sorted(amounts.items())}


def _quota(node: QuotaNode, pair: tuple[str, str]) -> records.NodeQuotaReport:
    flavor, resource = pair
    quota = node.at(pair)
    nominal, used, subtree = quota.nominal, quota.usage, quota.subtree
    amounts = {
        "nominal": nominal,
        "used": used,
        "borrowed": max(0, used - (nominal if node.is_queue else subtree)),
        "lendable": subtree - quota.kept if node.parent is not None else 0,
    }
    written = {name: written_amount(resource, amount) for name, amount in amounts.items()}
    available = written_amount(resource, max(0, node.available(pair))) if node.is_queue else None
    return records.NodeQuotaReport(node.name, not node.is_queue, flavor, resource, available=available, **written)


def workload_manifests(cluster: Cluster, state: KueueState) -> list[dict[str, Any]]:
    """Workloads as they were read, or made from jobs, with ``status.admission`` and conditions as Kueue leaves them."""
    raw = {
        key_of(one.object.metadata): one.raw
        for one in cluster.read
        if isinstance(one.object, KueueWorkload) and one.raw is not None
    }
    manifests = []
    for workload in state.workloads.values():
        read = raw.get((workload.namespace, workload.name))
        if read is None:
            manifest = {"apiVersion": _API_VERSION, "kind": "Workload", **to_builtins(workload.object)}
        else:
            manifest = copy.deepcopy(dict(read))
        status = manifest.setdefault("status", {})
        status.pop("admission", None)
        if workload.grant is not None:
            status["admission"] = _admission(workload.grant)
        status["conditions"] = [
            {
                "type": name,
                "status": "True" if one.status else "False",
                "reason": one.reason,
                "message": one.message,
                "lastTransitionTime": timestamp_of(one.since),
            }
            for name, one in sorted(workload.conditions.items())
        ]
        manifests.append(manifest)
    return manifests


def _admission(grant: QuotaGrant) -> dict[str, Any]:
    sets = [
        {"name": one.pod_set, "count": one.count, "flavors": one.flavors, "resourceUsage": one.usage}
        for one in _assignments(grant)
    ]
    return {"clusterQueue": grant.cluster_queue, "podSetAssignments": sets}

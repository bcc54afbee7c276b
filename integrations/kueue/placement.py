"""Whether what Kueue admits can be placed: one plan of the pods of all admitted workloads, with their flavors.

Pods of a workload get the node labels and tolerations of its flavors, and its claims get devices, beside all that runs.
A workload is placed whole. Kueue counts, so what it admits may find no place (kueue-dra 4.9).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.results.common import ProofKind, Reason
from ...models.results.quota import QuotaPlacement, WorkloadPlacement
from ...solver.engines.outcome import SearchInterrupted
from ...solver.plan.outcome import OPTIMAL, PlanOutcome, planned_units
from ...solver.plan.plan import plan
from .cycles import KueueState, PhaseRecord
from .joint import given_admissions

# So many pods of a workload say why they have no place.
_MOST_EXPLAINED = 256


def place_admitted(
    cluster: Cluster,
    state: KueueState,
    phase: PhaseRecord,
    held: AbstractSet[str],
    *,
    time_limit: float | None = None,
    seed: int = 0,
) -> QuotaPlacement:
    """Plan the pods of workloads that have quota in ``state``; ``held`` had it before the cycles ran.

    Pods of workloads that were evicted are gone, and their devices are free. Pods that wait and need no quota are
    planned as well. Raises ``SearchInterrupted`` for a KeyboardInterrupt.
    """
    deadline = None if time_limit is None else monotonic() + time_limit
    cluster, problem = given_admissions(cluster, state, phase, held)
    held = held - phase.evicted
    left = None if deadline is None else max(0.0, deadline - monotonic())
    try:
        found = plan(cluster, quota=problem, gap=0.0, time_limit=left, seed=seed, may_be_unread=True)
        return _placement_of(found, held)
    except SearchInterrupted as stopped:
        raise SearchInterrupted(_placement_of(stopped.answer, held)) from None


def _placement_of(found: PlanOutcome, held: Collection[str]) -> QuotaPlacement:
    """The records of a plan with given admissions."""
    nodes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    reasons: dict[tuple[str, str], dict[Reason, None]] = defaultdict(dict)
    explained = Counter[tuple[str, str]]()
    for unit in found.units:
        if unit.node is None:
            explained[unit.namespace, unit.gang] += 1
            if explained[unit.namespace, unit.gang] <= _MOST_EXPLAINED:
                reasons[unit.namespace, unit.gang].update(dict.fromkeys(unit.reasons))
        else:
            nodes[unit.namespace, unit.gang][unit.node] += 1
    workloads = []
    for one in found.quota.workloads if found.quota else ():
        if one.outcome == "NotAdmitted":
            continue
        key = one.namespace, one.name
        # Some pods of a workload that held quota may run: the others are placed as far as they fit.
        counts = (each.count if "/".join(key) in held else each.admitted for each in one.pod_sets)
        own, asked = nodes[key], sum(counts)
        placed = sum(own.values())
        because = () if placed == asked else tuple(reasons[key])
        workloads.append(WorkloadPlacement(*key, asked, placed, dict(sorted(own.items())), because))
    workloads.sort(key=lambda one: (one.namespace, one.name))
    proof = _proof_of(found, workloads)
    certified = proof is not None and proof.is_checked
    told = tuple(workloads)
    return QuotaPlacement(
        proof is not None, found.verified, told, found.notices, tuple(planned_units(found)), proof, certified
    )


def _proof_of(found: PlanOutcome, workloads: Collection[WorkloadPlacement]) -> ProofKind | None:
    """What it rests on that no plan places more; None if that is not proven."""
    if not found.unread and all(one.placed == one.asked for one in workloads):
        return ProofKind.WITNESS
    if found.outcome != OPTIMAL:
        return None
    return ProofKind.weakest(one.proof or ProofKind.SOLVER for one in found.objective) or ProofKind.SOLVER

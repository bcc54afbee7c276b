"""The running pods that lose their places in a plan: what for, which claims are free, and which budgets allow less."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...models.kubernetes.meta import ObjectKey
from ...models.kubernetes.workloads import PodDisruptionBudget
from ...models.results.plan import PlanVictim
from ...models.workload.gangs import GangCollector
from ...models.workload.running import RunningPod, disruptions_allowed
from .lifted import LiftedPods
from .outcome import PlanOutcome

_MOST_NAMES = 3
_Arrivals = Mapping[str, Sequence[tuple[int, str]]]
"""What comes to each node, with its priority."""


def with_victims(lifted: LiftedPods, answer: PlanOutcome) -> PlanOutcome:
    """The outcome about what waits and what moves alone, with the pods that lose their places as victims."""
    lost = {key for kind, key in answer.lost if kind == "Pod"}
    free = {key for kind, key in answer.lost if kind != "Pod"}
    gangs = GangCollector(lifted.given, answer.gates)
    arrivals: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for one in answer.units:
        if one.node is not None and one.unit.pod is not None:
            priority = gangs.priority(one.unit.namespace, one.unit.pod.spec)
            arrivals[one.node].append((priority, f"{one.unit.namespace}/{one.unit.name}"))
    budgets = _exceeded_budgets(lifted, lost)
    victims = tuple(_victim(lifted, lifted.running[key], free, budgets, arrivals) for key in sorted(lost))
    gone = set(answer.lost)
    kept = [one for one in answer.units if (_kind(one.unit.pod), (one.unit.namespace, one.unit.name)) not in gone]
    return replace(answer, units=tuple(kept), victims=victims)


def _kind(pod: object) -> str:
    return "ResourceClaim" if pod is None else "Pod"


def _exceeded_budgets(lifted: LiftedPods, lost: Collection[ObjectKey]) -> frozenset[ObjectKey]:
    """The PodDisruptionBudgets that allow fewer pods to go than do (EVT-5)."""
    counted = Counter(budget for key in lost for budget in lifted.running[key].budgets)
    there = lifted.given.objects(PodDisruptionBudget)
    return frozenset(budget for budget, number in counted.items() if number > disruptions_allowed(there[budget]))


def _victim(
    lifted: LiftedPods,
    one: RunningPod,
    free: Collection[ObjectKey],
    exceeded: Collection[ObjectKey],
    arrivals: _Arrivals,
) -> PlanVictim:
    shared = [key for key, claim in lifted.evictions.shared.items() if key in free and one.key in claim.users]
    claims = sorted({*lifted.evictions.own.get(one.key, ()), *shared})
    devices = sum(len(held.allocation.devices.results or ()) for held in one.held if held.ref.key in claims)
    return PlanVictim(
        namespace=one.key[0],
        name=one.key[1],
        node=one.node,
        priority=one.priority,
        devices=devices,
        claims=tuple("/".join(key) for key in claims),
        budgets=tuple("/".join(budget) for budget in one.budgets if budget in exceeded),
        gang=f"{one.gang[0]} {one.gang[1]}/{one.gang[2]}" if one.gang else "",
        returns=one.is_made_again,
        reason=_reason(lifted, one, arrivals),
    )


def _reason(lifted: LiftedPods, one: RunningPod, arrivals: _Arrivals) -> str:
    """What of higher priority comes to its node, or with whom it goes."""
    names = [
        f"{name} of priority {priority}" for priority, name in arrivals.get(one.node, ()) if priority > one.priority
    ]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"makes room for {', '.join(names[:_MOST_NAMES])}{more}"
    tie = next((tie for tie in lifted.evictions.pod_ties if one.key in tie.members), None)
    return f"goes with the others of {tie.label}" if tie else "makes room for a pod that moves there"

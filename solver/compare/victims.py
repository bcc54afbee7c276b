"""Whom kube-scheduler may displace: running pods and groups, how important they are, and what their loss counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.comparison import PreemptionAnswer, PriorityCount
from ...models.results.plan import PlanVictim
from ...models.workload.expansion import QueuedUnit
from ...models.workload.gangs import GangKey
from ...models.workload.node_room import recorded_requests
from ...models.workload.pod_rules import PodRules, pod_rule_book
from ...models.workload.requests import add_requests, effective_requests
from ...models.workload.running import DisruptionBudgets, RunningPod
from ...models.workload.unit_classes import OwnerKind
from ..plan.outcome import PlannedUnitOutcome
from .figures import SchedulingInput

# Later than any time as the API writes it.
_LAST = "~"
_PRIORITY_OFFSET = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class Occupant:
    """A running pod that may be displaced: where it is, and what it takes there."""

    pod: RunningPod
    position: int
    requests: Mapping[str, int]
    rules: PodRules | None
    since: str


@dataclass(frozen=True, slots=True, eq=False)
class VictimUnit:
    """Pods that go or stay together: one, or those of a group that is disrupted whole (EVT-8)."""

    members: tuple[Occupant, ...]
    is_group: bool = False

    @property
    def priority(self) -> int:
        """That of the pod or group."""
        return self.members[0].pod.priority

    @property
    def rank(self) -> tuple[object, ...]:
        """More important ones are smaller: priority, groups, more pods, longer running (EVT-14)."""
        since = min(one.since for one in self.members)
        return -self.priority, not self.is_group, -len(self.members), since, self.members[0].pod.key


class PreemptionCandidate(NamedTuple):
    """A node, who goes there, and of these how many break a budget."""

    position: int
    victims: tuple[VictimUnit, ...]
    breaches: int

    @property
    def pods(self) -> list[Occupant]:
        """All who go."""
        return [one for unit in self.victims for one in unit.members]

    @property
    def cost(self) -> tuple[int, ...]:
        """What counts between nodes, the less the better (EVT-6), but for the last: how long they run."""
        priorities = [one.pod.priority for one in self.pods]
        return self.breaches, max(priorities), sum(one + _PRIORITY_OFFSET for one in priorities), len(priorities)

    @property
    def start(self) -> str:
        """When the longest running one of the highest priority started: the later, the better."""
        highest = max(one.pod.priority for one in self.pods)
        return min(one.since for one in self.pods if one.pod.priority == highest)


def victim_units(
    cluster: Cluster, gates: FeatureGates, running: Iterable[RunningPod], position: Callable[[str], int]
) -> Iterator[VictimUnit]:
    """Yield what is displaced together, of pods on nodes that are there; ``position`` is that of a node by name."""
    book = pod_rule_book(cluster)
    groups: dict[GangKey, list[Occupant]] = defaultdict(list)
    for one in running:
        if one.node not in cluster.nodes:
            continue
        requests = dict(effective_requests(one.pod.spec, one.backed))
        add_requests(requests, recorded_requests(one.pod, gates))
        started = one.pod.status.start_time if one.pod.status else None
        since = started or one.pod.metadata.creation_timestamp or _LAST
        made = Occupant(one, position(one.node), requests, book.rules(one.pod), since)
        group = cluster.pod_groups.get(one.gang[1:]) if one.gang and one.gang[0] == "PodGroup" else None
        if one.gang is not None and group is not None and group.is_disrupted_whole:
            groups[one.gang].append(made)
        else:
            yield VictimUnit((made,))
    yield from (VictimUnit(tuple(members), is_group=True) for members in groups.values())


class BudgetLedger:
    """How many more pods each PodDisruptionBudget allows to go."""

    def __init__(self, cluster: Cluster) -> None:
        self.allowed = Counter(DisruptionBudgets(cluster).allowed)

    def breaking(self, units: Iterable[VictimUnit]) -> set[int]:
        """The identities of those whose loss breaks a budget, if all go in this order (EVT-5)."""
        left, found = Counter(self.allowed), set[int]()
        for unit in units:
            for budget in (budget for one in unit.members for budget in one.pod.budgets):
                left[budget] -= 1
                if left[budget] < 0:
                    found.add(id(unit))
        return found


def preemption_answer(
    inputs: SchedulingInput, outcomes: Iterable[PlannedUnitOutcome], victims: Sequence[PlanVictim]
) -> PreemptionAnswer:
    """What is placed of each priority, and what that costs; ``inputs`` are those before, without pods on their way out.

    ``outcomes`` are those of the queue, others count for nothing.
    """
    priorities = {unit_id(unit): unit.unit_set.shape.priority for unit in inputs.units}
    there = ((one.kind, one.namespace, one.name, one.replica) for one in outcomes if one.node is not None)
    allowed = DisruptionBudgets(inputs.cluster).allowed
    exceeded = Counter(budget for one in victims for budget in one.budgets)
    freed = {claim for one in victims for claim in one.claims}
    claims = [inputs.cluster.claims.get(key_of_text(name)) for name in sorted(freed)]
    made = [claim.status.allocation for claim in claims if claim is not None and claim.status is not None]
    return PreemptionAnswer(
        placed=_by_priority(priorities[key] for key in there if key in priorities),
        lost=_by_priority(one.priority for one in victims),
        beyond_budgets=sum(number - allowed[key_of_text(budget)] for budget, number in exceeded.items()),
        devices_lost=sum(len(one.devices.results or ()) for one in made if one),
        victims=tuple(victims),
    )


def _by_priority(priorities: Iterable[int]) -> tuple[PriorityCount, ...]:
    counts = sorted(Counter(priorities).items(), reverse=True)
    return tuple(PriorityCount(priority=priority, count=count) for priority, count in counts)


def key_of_text(text: str) -> ObjectKey:
    """Namespace and name, as documents write them."""
    namespace, _, name = text.partition("/")
    return namespace, name


UnitId: TypeAlias = tuple[OwnerKind, str, str, int]
"""Kind, namespace and name of a unit's owner, and its number there."""


def unit_id(unit: QueuedUnit) -> UnitId:
    """What tells a unit of the queue from others."""
    own = unit.unit_set
    return own.kind, own.namespace, own.name, unit.number

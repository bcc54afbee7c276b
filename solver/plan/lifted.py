"""Running pods taken off their nodes, so that they can be planned like what waits, and what a plan says of them.

The cluster that is planned is the given one with all pods that may move, or may lose their places, taken off their
nodes. A plan is verified on the given cluster with only those pods taken off that it moves or evicts. A pod that may
only lose its place is planned with what goes with it alone; a claim that several such pods have is a unit of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.core import Pod
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.kubernetes.quantity import Quantity
from ...models.results.common import ProofKind, Reason
from ...models.results.plan import PlanVictim
from ...models.workload.evictions import MOVES_FREELY, DisruptionTerms, Evictions, waiting_again
from ...models.workload.expansion import QueuedUnit
from ...models.workload.gangs import GangCollector
from ...models.workload.member_moves import alone
from ...models.workload.pod_rules import pod_rule_book
from ...models.workload.running import DisruptionBudgets, OwnedClaim, RunningPod
from ...models.workload.unit_classes import UnitShape
from ..allocate.check import VerificationError
from ..verification.verify import Violation
from .assign import PlanAssignment
from .build.departures import EvictionTie, Home, PlanMoves, UnitKey, held_devices
from .build.free_domains import busy_nodes
from .build.moves import UnmovableError
from .build.objectives import BUDGETS, CAPACITY_LOST, DEVICES_LOST, FEWEST_NODES, MOVE_COST, MOVES, VICTIMS
from .outcome import PlannedMove, PlannedUnitOutcome, PlanOutcome


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """What may move: ``most`` so many pods, None for any number, and with ``bare`` also those without a controller.

    With ``preempts`` pods may lose their places for those of higher priority; without ``moves`` none goes elsewhere.
    ``prices`` are those of nodes, which go when nothing uses them, but for those that are ``kept``.
    """

    most: int | None = None
    bare: bool = False
    prices: Mapping[str, Fraction] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    preempts: bool = False
    moves: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class LiftedPods:
    """The units of a cluster that may move or go, taken off their nodes: ``cluster`` is what is planned instead.

    ``evictions`` says who may lose the place. Units of ``refused`` are not placed, for these reasons. ``is_narrowed``:
    others may go, too, and are not planned.
    """

    given: Cluster
    cluster: Cluster
    running: Mapping[ObjectKey, RunningPod]
    keys: frozenset[UnitKey]
    options: MoveOptions
    evictions: Evictions = field(default_factory=Evictions)
    refused: Mapping[UnitKey, Reason] = field(default_factory=dict)
    capacities: Mapping[DeviceId, Mapping[str, int]] = field(default_factory=dict)
    largest: Mapping[tuple[str, str], int] = field(default_factory=dict)
    is_narrowed: bool = False

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        running: Mapping[ObjectKey, RunningPod],
        keys: frozenset[UnitKey],
        options: MoveOptions,
        evictions: Evictions,
        refused: Mapping[UnitKey, Reason],
    ) -> LiftedPods:
        """Take the units of these keys off their nodes."""
        capacities = device_capacities(cluster) if options.preempts else {}
        largest: dict[tuple[str, str], int] = {}
        for (driver, _, _), own in capacities.items():
            for name, amount in own.items():
                largest[driver, name] = max(amount, largest.get((driver, name), amount))
        lifted = cls(cluster, cluster, running, keys, options, evictions, refused, capacities, largest)
        return replace(lifted, cluster=lifted._without_places())

    def _moves(self, one: RunningPod) -> bool:
        return not one.stays and self.options.moves

    def _without_places(self) -> Cluster:
        """The cluster with these units waiting, and with nothing in their claims."""
        pods = [self.running[key] for kind, key in sorted(self.keys) if kind == "Pod"]
        claims = [held.ref.claim for one in pods for held in self._own_claims(one)]
        claims += [self.evictions.shared[key].claim for kind, key in sorted(self.keys) if kind != "Pod"]
        emptied = [structs.replace(claim, status=None) for claim in claims if claim is not None]
        return self.given.with_pods(self._waiting(one) for one in pods).with_claims(emptied)

    def _own_claims(self, one: RunningPod) -> Sequence[OwnedClaim]:
        """The claims that go with a pod alone."""
        alone = self.evictions.own.get(one.key, frozenset())
        return one.held if self._moves(one) else [held for held in one.held if held.ref.key in alone]

    def _waiting(self, one: RunningPod) -> Pod:
        """The pod as one that waits; of one that never gets another place only what it takes is left."""
        pod = waiting_again(one.pod)
        if self._moves(one):
            return pod if one.group is None else alone(pod, one.group, one.priority)
        # Rules of pods about one another look at these.
        looked_at = pod_rule_book(self.given).rules(one.pod) is not None
        entries = {held.ref.entry for held in self._own_claims(one)}
        spec = structs.replace(
            pod.spec,
            resource_claims=tuple(entry for entry in pod.spec.resource_claims or () if entry.name in entries) or None,
            scheduling_group=None,
            workload_ref=None,
            volumes=pod.spec.volumes if looked_at else None,
            priority=one.priority,
        )
        owners = pod.metadata.owner_references
        labels = pod.metadata.labels if looked_at else None
        metadata = structs.replace(pod.metadata, labels=labels, annotations=None, owner_references=owners)
        return structs.replace(pod, metadata=metadata, spec=spec)

    def plan_moves(self, queue: Sequence[QueuedUnit], unplaceable: Collection[int]) -> PlanMoves:
        """Find the units in the queue. Raises ``UnmovableError`` for those that cannot be planned like others."""
        homes: dict[int, Home] = {}
        wrong: list[QueuedUnit] = []
        ties = self._ties()
        tied: dict[UnitKey, list[int]] = defaultdict(list)
        for number, tie in enumerate(ties):
            for own in {*tie.members, *([tie.claim] if tie.claim else [])}:
                tied[own].append(number)
        for place, planned in enumerate(queue):
            key = unit_key(planned)
            if key in self.keys:
                homes[place] = self._home(key, tuple(tied.get(key, ())))
                if place in unplaceable or planned.unit_set.gang is not None:
                    wrong.append(planned)
        if wrong:
            raise UnmovableError(wrong)
        parts = frozenset(key for key, one in self.running.items() if one.goes_with_node)
        options = self.options
        budgets = DisruptionBudgets(self.given).allowed
        return PlanMoves(
            homes, options.most, parts, options.prices, options.kept, options.preempts, budgets, tuple(ties)
        )

    def refused_places(self, queue: Sequence[QueuedUnit]) -> dict[int, tuple[Reason, ...]]:
        """The units of the queue that are not placed, with the reasons."""
        keys = ((place, unit_key(planned)) for place, planned in enumerate(queue)) if self.refused else ()
        return {place: (self.refused[key],) for place, key in keys if key in self.refused}

    def _ties(self) -> list[EvictionTie]:
        """Who goes with whom, as far as they are planned."""
        found = [
            EvictionTie(frozenset(("Pod", key) for key in one.members), one.least, one.may_go)
            for one in self.evictions.pod_ties
        ]
        for key, claim in self.evictions.shared.items():
            if ("ResourceClaim", key) in self.keys:
                users = frozenset(("Pod", user) for user in claim.users)
                found.append(EvictionTie(users, claim=("ResourceClaim", key)))
        return found

    def _home(self, key: UnitKey, tied: tuple[int, ...]) -> Home:
        if key[0] != "Pod":
            shared = self.evictions.shared[key[1]]
            made = shared.claim.status.allocation if shared.claim.status else None
            assert made is not None
            devices, capacity = self._held([made])
            lost = DisruptionTerms(False, True, ties=tied, devices=devices, capacity=capacity, is_claim=True)
            return Home(shared.node, 0, ((key[1], made),), lost)
        one = self.running[key[1]]
        held = self._own_claims(one)
        made_of = tuple((own.ref.key, own.allocation) for own in held)
        disruption = MOVES_FREELY
        if self.options.preempts:
            is_victim, moves = key[1] in self.evictions.pods, self._moves(one)
            devices, capacity = self._held([own.allocation for own in held]) if is_victim else (0, 0)
            cost = one.cost if moves else 0
            disruption = DisruptionTerms(
                moves,
                is_victim,
                one.priority,
                one.budgets,
                tied,
                cost,
                devices,
                capacity,
                moves_uncounted=one.budget is None,
            )
        # Of equal ones the youngest go first, and those that prefer to stay last.
        since = "0" if one.prefers_to_stay else one.pod.metadata.creation_timestamp or ""
        return Home(one.node, one.cost, made_of, disruption, since, one.draws)

    def _held(self, allocations: Iterable[AllocationResult]) -> tuple[int, int]:
        """How many devices are held, and their capacity in thousandths of the largest device of the driver."""
        number = total = 0
        for one in (result for made in allocations for result in made.devices.results or ()):
            number += 1
            has = self.capacities.get((one.driver, one.pool, one.device), {})
            held = {name: Quantity.parse(text).nano for name, text in (one.consumed_capacity or {}).items()}
            parts = [1000 * held.get(name, amount) // self.largest[one.driver, name] for name, amount in has.items()]
            total += max(parts, default=0)
        return number, total

    def completed(self, assignment: PlanAssignment, moves: PlanMoves) -> PlanAssignment:
        """The assignment, or the one that leaves all pods where they are if it has no place for some."""
        kept = {place for place, home in moves.homes.items() if not home.disruption.evictable}
        if kept <= assignment.assigned.keys():
            return assignment
        return replace(assignment, assigned={}, order=(), bought={}, cluster=self.cluster, equivalence={})

    def settled(self, answer: PlanOutcome, whole: Cluster) -> tuple[PlanOutcome, Cluster]:
        """The outcome about what waits and what moves, and the cluster for which that is a plan.

        ``whole`` is the cluster that was planned, with the nodes that are bought.
        """
        moved: list[PlannedMove] = []
        lost: list[UnitKey] = []
        units: list[PlannedUnitOutcome] = []
        numbers = {place: number for number, place in enumerate(answer.order)}
        places: list[tuple[int, int]] = []
        # Where nothing has a place, time was over: then all stay where they are.
        is_empty = all(one.node is None for one in answer.units)
        for place, one in enumerate(answer.units):
            key = outcome_key(one)
            if key in self.keys and (one.node is None or self._is_at_home(key, one)):
                if one.node is not None or is_empty or not self._may_go(key):
                    continue
                lost.append(key)
            elif key in self.keys:
                moved.append(PlannedMove(self.running[key[1]], one))
            if place in numbers:
                places.append((numbers[place], len(units)))
            units.append(one)
        order = {unit: number for number, (_, unit) in enumerate(sorted(places), 1)}
        units = [structs.replace(one, order=order.get(number)) for number, one in enumerate(units)]
        stay = sorted(self.keys.difference(lost, (("Pod", one.running.key) for one in moved)))
        pods = [self.running[key] for kind, key in stay if kind == "Pod"]
        back = whole.with_pods(one.pod for one in pods)
        claims = [held.ref.claim for one in pods for held in self._own_claims(one) if held.ref.claim is not None]
        back = back.with_claims([*claims, *(self.evictions.shared[key].claim for kind, key in stay if kind != "Pod")])
        counts = Counter(one.node for one in units)
        nodes = tuple(structs.replace(node, units=counts[node.name]) for node in answer.nodes)
        return replace(answer, units=tuple(units), nodes=nodes, moves=tuple(moved), lost=tuple(sorted(lost))), back

    def recounted(self, answer: PlanOutcome, queue: Sequence[QueuedUnit], moves: PlanMoves) -> PlanOutcome:
        """A settled answer in which no stage is shown by a value of nothing that is not counted again here.

        Raises ``VerificationError`` if more leaves, or more nodes are in use, than a stage says: a defect of drasat.
        """
        known = {unit_key(planned): planned for planned in queue}
        answer = answer.with_derived_witnesses([known[outcome_key(one)] for one in answer.units])
        homes = {unit_key(queue[place]): home for place, home in moves.homes.items()}
        lost = [homes[key].disruption for key in answer.lost]
        pods = [one for one in lost if not one.is_claim]
        gone, away = Counter(name for one in pods for name in one.budgets), [one.running for one in answer.moves]
        moved = {name for one in away for name in one.budgets}
        counts = {
            MOVES: len(away),
            MOVE_COST: sum(one.cost for one in away),
            VICTIMS: len(pods),
            **{f"{VICTIMS}={level}": number for level, number in Counter(one.priority for one in pods).items()},
            DEVICES_LOST: sum(one.devices for one in lost),
            CAPACITY_LOST: sum(one.capacity for one in lost),
            BUDGETS: sum(max(0, n + (name in moved) - moves.budgets.get(name, 0)) for name, n in gone.items()),
        }
        if any(stage.stage == FEWEST_NODES for stage in answer.objective):
            left = {*answer.lost, *(("Pod", one.key) for one in away)}
            used = {homes[key].node for key in homes if key not in left} | {
                one.node for one in answer.units if one.node
            }
            counts[FEWEST_NODES] = len(used - busy_nodes(self.cluster, answer.gates, self.cluster.nodes.values(), ()))
        stages = []
        for stage in answer.objective:
            if counts.get(stage.stage, 0) > stage.value:
                said = f"the stage {stage.stage} is said to be {stage.value}, and is {counts[stage.stage]}"
                raise VerificationError([Violation("PLAN-VALUE", "", said)])
            is_counted = stage.sense == "max" or stage.stage.partition("=")[0] in counts
            rests = stage.proof if is_counted or stage.proof is not ProofKind.WITNESS else ProofKind.SOLVER
            stages.append(structs.replace(stage, proof=rests))
        return replace(answer, objective=tuple(stages))

    def _may_go(self, key: UnitKey) -> bool:
        return key[0] != "Pod" or key[1] in self.evictions.pods

    def _is_at_home(self, key: UnitKey, one: PlannedUnitOutcome) -> bool:
        """Whether a unit keeps its node and all devices."""
        if key[0] != "Pod":
            return True
        run = self.running[key[1]]
        had = {held.ref.key: held_devices(held.allocation) for held in self._own_claims(run)}
        gets = {ref.key: held_devices(allocation) for ref, allocation in one.allocations}
        return one.node == run.node and had == gets


def device_capacities(cluster: Cluster) -> dict[DeviceId, dict[str, int]]:
    """The capacities of all devices that are more than nothing."""
    found: dict[DeviceId, dict[str, int]] = {}
    for slice_ in cluster.slices:
        for device in slice_.spec.devices or ():
            amounts = {name: Quantity.parse(own.value).nano for name, own in (device.capacity or {}).items()}
            found[slice_.spec.driver, slice_.spec.pool.name, device.name] = {n: a for n, a in amounts.items() if a > 0}
    return found


@dataclass(frozen=True, slots=True)
class DeviceParts:
    """What part of a device a share is, by the capacities of devices."""

    capacities: Mapping[DeviceId, Mapping[str, int]]

    def held(self, device: DeviceId, consumed: Mapping[str, str | int | float] | None) -> float:
        """The part that is held; all of it where nothing else is said."""
        has = self.capacities.get(device, {})
        parts = [Quantity.parse(text).nano / has[name] for name, text in (consumed or {}).items() if name in has]
        return max(parts, default=1.0)

    def part(self, shape: UnitShape) -> float:
        """The part of each device that a unit asks for, as far as requests say so."""
        largest: dict[str, int] = {}
        for has in self.capacities.values():
            for name, amount in has.items():
                largest[name] = max(amount, largest.get(name, 0))
        requests = [one for claim in shape.claims if claim.spec for one in claim.spec.devices.requests or ()]
        asked = [one.exactly.capacity.requests for one in requests if one.exactly and one.exactly.capacity]
        parts = [
            Quantity.parse(text).nano / largest[name]
            for own in asked
            for name, text in (own or {}).items()
            if name in largest
        ]
        return max(parts, default=1.0) if len(asked) == len(requests) else 1.0


def unit_key(planned: QueuedUnit) -> UnitKey:
    """The key of a unit that runs, or could."""
    unit = planned.unit
    return "ResourceClaim" if unit.pod is None else "Pod", (unit.namespace, unit.name)


def outcome_key(one: PlannedUnitOutcome) -> UnitKey:
    """The key of a unit by what became of it."""
    return "ResourceClaim" if one.unit.pod is None else "Pod", (one.unit.namespace, one.unit.name)


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
    budgets = exceeded_budgets(lifted.given, (lifted.running[key] for key in lost))
    victims = tuple(_victim(lifted, lifted.running[key], free, budgets, arrivals) for key in sorted(lost))
    gone = set(answer.lost)
    kept = [one for one in answer.units if (_unit_kind(one.unit.pod), (one.unit.namespace, one.unit.name)) not in gone]
    return replace(answer, units=tuple(kept), victims=victims)


def _unit_kind(pod: object) -> str:
    return "ResourceClaim" if pod is None else "Pod"


def exceeded_budgets(cluster: Cluster, lost: Iterable[RunningPod]) -> frozenset[ObjectKey]:
    """The PodDisruptionBudgets that allow fewer pods to go than do (EVT-5)."""
    counted, allowed = Counter(budget for one in lost for budget in one.budgets), DisruptionBudgets(cluster).allowed
    return frozenset(budget for budget, number in counted.items() if number > allowed[budget])


def _victim(
    lifted: LiftedPods,
    one: RunningPod,
    free: Collection[ObjectKey],
    exceeded: Collection[ObjectKey],
    arrivals: _Arrivals,
) -> PlanVictim:
    shared = [key for key, claim in lifted.evictions.shared.items() if key in free and one.key in claim.users]
    claims = sorted({*lifted.evictions.own.get(one.key, ()), *shared})
    return plan_victim(one, claims, exceeded, _reason(lifted, one, arrivals))


def plan_victim(
    one: RunningPod, claims: Sequence[ObjectKey], exceeded: Collection[ObjectKey], reason: str
) -> PlanVictim:
    """What documents say of a pod that loses its place; ``claims`` are free then."""
    return PlanVictim(
        namespace=one.key[0],
        name=one.key[1],
        node=one.node,
        priority=one.priority,
        devices=sum(len(held.allocation.devices.results or ()) for held in one.held if held.ref.key in claims),
        claims=tuple("/".join(key) for key in claims),
        budgets=tuple("/".join(budget) for budget in one.budgets if budget in exceeded),
        gang=f"{one.gang[0]} {one.gang[1]}/{one.gang[2]}" if one.gang else "",
        returns=one.is_made_again,
        reason=reason,
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

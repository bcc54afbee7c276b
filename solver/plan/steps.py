"""An order in which a plan can be carried out: what moves, what waits, nodes that join and nodes that go.

After each step everything that runs has room and devices of its own. A pod moves when there is room for it where it
goes, at best while it still runs where it was. Where pods wait for each other's places, the cheapest one with a
temporary place goes there first, which takes one more move. If there is none, the one that is cheapest to evict waits
without a place until the others have moved. Pods of a PodDisruptionBudget move one after the other, so that
no more of them are away than it allows (MOV-4, MOV-5).

A pod moves once its rules about other pods hold beside those that are there by then. If that is never so before it has
to move, the step says so.

Devices whose capacity or counters several units share are looked at as a whole: a pod arrives there once all that leave
have left. Then what is there is a part of what there is in the end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.formats.decode import QuantityText
from ...models.formats.errors import plural
from ...models.kubernetes.claims import AllocationResult, ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.core import NodeResourceClaimStatus, Pod, PodStatus
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey, PoolId
from ...models.results.common import ClaimAnswer
from ...models.results.plan import PlanStep, PlanVictim, StepAction
from ...models.workload.expansion import expand_units
from ...models.workload.node_room import DeviceBudgets, missing_resources, remaining_allocatable, subtract_requests
from ...models.workload.pod_rules import pod_rule_book
from ...models.workload.queue import read_queue
from ...models.workload.requests import Requests, effective_requests, format_amount, sum_requests
from ...models.workload.running import DisruptionBudgets, OwnedClaim, RunningPod
from ...models.workload.units import Allocations, Unit
from ..engines.engine import Session
from ..verification.steps import RULES_BROKEN
from .first_fit import first_fit
from .master_problem import is_past
from .outcome import PlannedMove, PlannedUnitOutcome
from .pod_ledger import MESSAGES, PodLedger

_TEMPORARY = "a temporary place: pods wait for each other's places, and it goes on once its own is free"


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A pod that moves: where it goes, the devices that it has and gets, and what it takes there and leaves."""

    move: PlannedMove
    requests: Requests
    leaves: Requests
    has: frozenset[DeviceId]
    gets: frozenset[DeviceId]

    @property
    def pod(self) -> RunningPod:
        """The pod as it runs."""
        return self.move.running

    @property
    def has_named_claim(self) -> bool:
        """Whether a claim of it was not made for it alone: the next pod has the same one, once this pod is gone."""
        claims = (held.ref.claim for held in self.pod.held)
        return any(claim is not None and not claim.metadata.owner_references for claim in claims)

    @property
    def node(self) -> str:
        """Where it goes."""
        return self.move.unit.node or ""


@dataclass
class TemporaryPlaces:
    """The cluster while steps are carried out, and where pods can live meanwhile (MOV-5).

    A place is found by first fit beside everything that runs by then, at best on a node to which nobody else goes. A
    pod has one temporary place at most, so that steps come to an end. ``is_late``: after the deadline none was looked
    for.
    """

    cluster: Cluster
    gates: FeatureGates
    policy: str
    deadline: float | None = None
    is_late: bool = field(init=False, default=False)
    _moved: dict[ObjectKey, tuple[RunningPod, str | None, Allocations]] = field(default_factory=dict)
    _used: set[ObjectKey] = field(default_factory=set)

    def note(self, pod: RunningPod, node: str | None, allocations: Allocations = ()) -> None:
        """A pod runs on a node by now, or nowhere."""
        self._moved[pod.key] = pod, node, allocations

    def find(
        self, move: PlannedMove, avoided: Collection[str], devices: Collection[DeviceId], pools: Collection[PoolId]
    ) -> tuple[str, Allocations] | None:
        """A place for a pod on none of these devices, nor in these pools, and rather not on the nodes ``avoided``."""
        pod = move.running
        self.is_late |= is_past(self.deadline)
        if pod.key in self._used or self.is_late:
            return None
        now = self._cluster_with(move)
        queue = list(expand_units(now, read_queue(now, namespace=pod.key[0], gates=self.gates), self.gates))
        place = next((n for n, one in enumerate(queue) if one.unit.pod and one.unit.name == pod.key[1]), None)
        if place is None:
            return None
        session = Session(now, self.gates, self.policy, 0)
        for usable in (now.nodes.keys() - set(avoided), now.nodes.keys()):
            found = first_fit(session, queue, [place], usable=usable).assigned.get(place)
            if found is not None and not _clashes(found[1], devices, pools):
                self._used.add(pod.key)
                return found
        return None

    def _cluster_with(self, leaving: PlannedMove) -> Cluster:
        """The cluster by now, in which a pod waits."""
        own = leaving.running
        places: Mapping[ObjectKey, tuple[RunningPod, str | None, Allocations]]
        places = {**self._moved, own.key: (own, None, ())}
        pods = [leaving.unit.unit.pod] if leaving.unit.unit.pod is not None else []
        claims: list[ResourceClaim] = []
        for running, node, allocations in places.values():
            made = {ref.key: allocation for ref, allocation in allocations}
            if node is not None:
                pods.append(self._on_node(running, node, made))
            for held in running.held:
                if held.ref.claim is not None:
                    allocation = made.get(held.ref.key)
                    status = ResourceClaimStatus(allocation=allocation) if allocation is not None else None
                    claims.append(structs.replace(held.ref.claim, status=status))
        away = [key for key, (_, node, _) in places.items() if node is None and key != own.key]
        return self.cluster.with_pods(pods).with_claims(claims).without(pods=away)

    def _on_node(self, running: RunningPod, node: str, made: Mapping[ObjectKey, AllocationResult]) -> Pod:
        """The pod on another node, with what its devices take there in its status."""
        unit = Unit(running.pod, tuple(held.ref for held in running.held), *running.key)
        draws = DeviceBudgets(self.cluster, self.gates).taken(unit, made)
        texts: dict[str, QuantityText] = {name: format_amount(name, amount) for name, amount in draws.items()}
        listed = (NodeResourceClaimStatus(resource_claim_name="", resources=texts),) if texts else None
        status = structs.replace(running.pod.status or PodStatus(), node_allocatable_resource_claim_statuses=listed)
        return structs.replace(running.pod, spec=structs.replace(running.pod.spec, node_name=node), status=status)


def _clashes(allocations: Allocations, devices: Collection[DeviceId], pools: Collection[PoolId]) -> bool:
    results: Iterable[DeviceId] = (
        (one.driver, one.pool, one.device) for _, made in allocations for one in made.devices.results or ()
    )
    return any(device in devices or device[:2] in pools for device in results)


class StepOrder:
    """Carries out moves one by one, and notes what is free by then; what loses its place goes before them."""

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates,
        moves: Sequence[PlannedMove],
        places: TemporaryPlaces,
        victims: Sequence[PlanVictim] = (),
        last: Collection[ObjectKey] = (),
    ) -> None:
        self._victims = victims
        self._last = last
        self._places = places
        budgets = DisruptionBudgets(cluster)
        keys = [(one.namespace, one.name) for one in victims]
        self._budgets_of = {key: budgets.losing(cluster.pods[key]) for key in keys}
        self._devices = DeviceBudgets(cluster, gates)
        self._left = [self._arrival(one) for one in moves]
        usage = cluster.usage(gates)
        gets = {device for one in self._left for device in one.gets}
        self._holders = Counter({device: len(usage.holds(device)) for device in gets})
        self._joint = _joint_pools(cluster)
        groups = {one.pod.group for one in self._left if one.pod.group is not None and one.pod.group.away is not None}
        # So many pods of a budget or a group may be away at once.
        self._allowed: dict[_Limit, int] = dict(
            [*budgets.allowed.items(), *((one.key, one.away or 0) for one in groups)]
        )
        self._leaving = Counter(device[:2] for one in self._left for device in one.has)
        self._away: dict[_Limit, set[ObjectKey]] = defaultdict(set)
        for one in groups:
            self._away[one.key].update(one.members.intersection(keys))
        self._evicted: list[_Arrival] = []
        # The room of those that lose their places is free from the first move on.
        gone = {(one.namespace, one.name) for one in victims}
        left = cluster.without(pods=gone) if gone else cluster
        self._room = dict(remaining_allocatable(left, gates))
        self._book = pod_rule_book(cluster)
        self._ledger = None if self._book.is_empty else PodLedger.of_cluster(left)
        self._holders.subtract(_freed_devices(cluster, victims, gets))

    def steps(self) -> Iterator[PlanStep]:
        """Yield the steps; cheap moves come first where several are possible, and the ``last`` ones after others."""
        yield from self._evictions()
        self._left.sort(key=lambda one: (one.pod.key in self._last, one.pod.cost, one.pod.key))
        while self._left or self._evicted:
            found = self._next(self._fits) or self._next(self._has_room)
            if found is not None:
                action, one, overlap = found
                if action == "place":
                    self._evicted.remove(one)
                else:
                    self._left.remove(one)
                    self._leave(one)
                note = self._broken_rules(one.pod.pod, one.node)
                self._arrive(one)
                yield _step(action, one, overlap=overlap, note=note)
                continue
            if not self._left:
                # What remains fits beside everything that has arrived: that is the plan.
                raise AssertionError("the pods that are left have no room")
            step = self._by_temporary_place()
            if step is not None:
                yield step
                continue
            one = self._to_evict()
            self._left.remove(one)
            self._evicted.append(one)
            self._leave(one)
            note = self._reason(one)
            for limit in _limits(one.pod):
                self._away[limit].add(one.pod.key)
            self._places.note(one.pod, None)
            yield _step("evict", one, note=note)

    def _by_temporary_place(self) -> PlanStep | None:
        """Let the cheapest pod that is in the way of another one live elsewhere meanwhile; None: there is no place."""
        for one in self._left:
            if not self._may_leave(one) or not self._helps(one):
                continue
            others = [other for other in (*self._left, *self._evicted) if other is not one]
            devices = {device for other in others for device in other.gets}
            pools = {device[:2] for device in devices} & self._joint
            found = self._places.find(one.move, {other.node for other in others}, devices, pools)
            if found is None:
                continue
            node, made = found
            self._leave(one)
            held = tuple(OwnedClaim(ref, allocation) for ref, allocation in made)
            there = replace(one.move, running=replace(one.pod, node=node, held=held))
            at = structs.replace(one.move.unit, node=node, allocations=made)
            leaves = self._arrival(replace(one.move, unit=at)).requests
            between = replace(one, move=there, has=_devices(allocation for _, allocation in made), leaves=leaves)
            self._left[self._left.index(one)] = between
            self._come_back(between)
            self._places.note(one.pod, node, made)
            return _step("move", replace(one, move=replace(one.move, unit=at)), note=_TEMPORARY)
        return None

    def _helps(self, one: _Arrival) -> bool:
        """Whether another pod can move once this one has left."""
        self._leave(one)
        helps = any(self._has_room(other) for other in self._left if other is not one)
        self._come_back(one)
        return helps

    def _evictions(self) -> Iterator[PlanStep]:
        """Those that lose their places go first; the note says where a budget does not allow it."""
        for one in self._victims:
            exceeded = []
            for name in self._budgets_of[one.namespace, one.name]:
                self._away[name].add((one.namespace, one.name))
                if len(self._away[name]) > self._allowed.get(name, 0):
                    exceeded.append(f"PodDisruptionBudget {'/'.join(name)} allows {self._allowed.get(name, 0)} to go")
            note = "; ".join([one.reason, *exceeded])
            budget = next(("/".join(name) for name in self._budgets_of[one.namespace, one.name]), "")
            step = node_step("evict", one.name)
            yield structs.replace(
                step, kind="Pod", namespace=one.namespace, source=one.node, node="", budget=budget, note=note
            )

    def _arrival(self, move: PlannedMove) -> _Arrival:
        has = _devices(held.allocation for held in move.running.held)
        gets = _devices(allocation for _, allocation in move.unit.allocations)
        own = effective_requests(move.running.pod.spec, move.running.backed)
        draws = self._devices.taken(move.unit.unit, {ref.key: made for ref, made in move.unit.allocations})
        return _Arrival(move, sum_requests((own, draws)), sum_requests((own, move.running.draws)), has, gets)

    def _next(self, fits: Callable[[_Arrival], bool]) -> tuple[StepAction, _Arrival, bool] | None:
        """An evicted pod or a move that fits now, at best beside the pod as it is; True: it does."""
        for one in self._evicted:
            if fits(one):
                return "place", one, False
        for one in self._left:
            if self._may_leave(one) and fits(one):
                return "move", one, not one.has_named_claim
        for one in self._left:
            if not self._may_leave(one):
                continue
            self._leave(one)
            fitting = fits(one)
            self._come_back(one)
            if fitting:
                return "move", one, False
        return None

    def placed(self, unit: PlannedUnitOutcome) -> PlanStep:
        """The step in which a unit of the queue is placed, behind all that were told before."""
        pod, node = unit.unit.pod, unit.node or ""
        note = self._broken_rules(pod, node) if pod is not None else ""
        if pod is not None:
            self._count(pod, node, 1)
        return structs.replace(_unit_step("place", unit), note=note)

    def _fits(self, one: _Arrival) -> bool:
        """Whether there is room for a pod, and its rules about other pods hold."""
        return self._has_room(one) and not self._broken_rules(one.pod.pod, one.node)

    def _broken_rules(self, pod: Pod, node: str) -> str:
        """What kube-scheduler would say of a pod on a node by now, in words of a note; empty if it may go there."""
        rules = self._book.rules(pod) if self._ledger is not None else None
        refusal = self._ledger.refusal(rules, node) if self._ledger is not None and rules is not None else None
        return f"{RULES_BROKEN}: {MESSAGES[refusal]}; it waits until they do" if refusal is not None else ""

    def _count(self, pod: Pod, node: str, times: int) -> None:
        """Count a pod for the rules of others, or no longer."""
        rules = self._book.rules(pod) if self._ledger is not None else None
        if self._ledger is not None and rules is not None:
            self._ledger.add(rules, node, times)

    def _may_leave(self, one: _Arrival) -> bool:
        """Whether its budget and its group allow one more pod to be away."""
        return not any(self._exceeded(one))

    def _exceeded(self, one: _Arrival) -> Iterator[str]:
        """What does not allow it, in words of a note."""
        for limit in _limits(one.pod):
            if len(self._away[limit]) >= self._allowed.get(limit, 0):
                is_budget = limit == one.pod.budget
                yield "its PodDisruptionBudget is exceeded" if is_budget else f"too few of its {limit[0]} are there"

    def _to_evict(self) -> _Arrival:
        """The cheapest pod whose eviction lets another one move, or the cheapest of all; budgets count before."""
        for one in sorted(self._left, key=lambda one: not self._may_leave(one)):
            if self._helps(one):
                return one
        return min(self._left, key=lambda one: not self._may_leave(one))

    def _reason(self, one: _Arrival) -> str:
        wanted = Counter(
            request.exactly.device_class_name
            for ref in one.move.unit.unit.claims
            for request in (ref.claim.spec.devices.requests if ref.claim else None) or ()
            if request.exactly is not None
            for _ in range(request.exactly.count or 1)
        )
        needed = " and ".join(f"{plural(number, 'free device')} of class {name}" for name, number in wanted.items())
        said = "pods wait for each other's places: it waits until its own is free"
        if self._places.is_late:
            said += "; no time was left to look for a temporary place"
        else:
            said += f"; a swap without that needs {needed or 'free room'} elsewhere, which is not there"
        return "; ".join((said, *(f"{why} meanwhile" for why in self._exceeded(one))))

    def _has_room(self, one: _Arrival) -> bool:
        if missing_resources(one.requests, self._room.get(one.node)):
            return False
        return not any(
            self._leaving[device[:2]] if device[:2] in self._joint else self._holders[device] for device in one.gets
        )

    def _leave(self, one: _Arrival) -> None:
        subtract_requests(self._room.get(one.pod.node), {name: -amount for name, amount in one.leaves.items()})
        self._holders.subtract(one.has)
        self._leaving.subtract(device[:2] for device in one.has)
        self._count(one.pod.pod, one.pod.node, -1)

    def _come_back(self, one: _Arrival) -> None:
        subtract_requests(self._room.get(one.pod.node), one.leaves)
        self._holders.update(one.has)
        self._leaving.update(device[:2] for device in one.has)
        self._count(one.pod.pod, one.pod.node, 1)

    def _arrive(self, one: _Arrival) -> None:
        subtract_requests(self._room.get(one.node), one.requests)
        self._holders.update(one.gets)
        self._count(one.pod.pod, one.node, 1)
        self._places.note(one.pod, one.node, one.move.unit.allocations)
        for limit in _limits(one.pod):
            self._away[limit].discard(one.pod.key)


_Limit = tuple[str, ...]
"""The name of a PodDisruptionBudget, or the key of a group."""


def _limits(pod: RunningPod) -> tuple[_Limit, ...]:
    """What limits how many pods like this one may be away at once."""
    group = pod.group.key if pod.group is not None and pod.group.away is not None else None
    return tuple(limit for limit in (pod.budget, group) if limit is not None)


def _devices(allocations: Iterable[AllocationResult]) -> frozenset[DeviceId]:
    results = (one for allocation in allocations for one in allocation.devices.results or ())
    return frozenset((one.driver, one.pool, one.device) for one in results if not one.admin_access)


def _freed_devices(cluster: Cluster, victims: Sequence[PlanVictim], gets: Collection[DeviceId]) -> Counter[DeviceId]:
    """The devices that nobody holds any more once these are gone, of some."""
    claims = {claim for one in victims for claim in one.claims}
    found = Counter[DeviceId]()
    for name in claims:
        namespace, _, rest = name.partition("/")
        claim = cluster.claims.get((namespace, rest))
        made = claim.status.allocation if claim is not None and claim.status is not None else None
        if made is not None:
            found.update(_devices([made]).intersection(gets))
    return found


def _joint_pools(cluster: Cluster) -> set[PoolId]:
    """Pools in which units share devices, or what devices are made of."""
    return {
        (slice_.spec.driver, slice_.spec.pool.name)
        for slice_ in cluster.slices
        if slice_.spec.shared_counters
        or any(one.allow_multiple_allocations or one.consumes_counters for one in slice_.spec.devices or ())
    }


def _step(action: StepAction, one: _Arrival, *, overlap: bool = False, note: str = "") -> PlanStep:
    leaves = action != "place"
    base = _unit_step(action, one.move.unit)
    return structs.replace(
        base,
        source=one.pod.node if leaves else "",
        node=base.node if action != "evict" else "",
        overlap=overlap,
        cost=one.pod.cost if leaves else 0,
        budget="/".join(one.pod.budget) if one.pod.budget and leaves else "",
        claims=base.claims if action != "evict" else (),
        note=note,
    )


def _unit_step(action: StepAction, unit: PlannedUnitOutcome) -> PlanStep:
    """A unit comes to its node."""
    return PlanStep(
        action=action,
        kind="Pod" if unit.unit.pod is not None else "ResourceClaim",
        namespace=unit.unit.namespace,
        name=unit.unit.name,
        source="",
        node=unit.node or "",
        overlap=False,
        cost=0,
        budget="",
        claims=_claims(unit),
        note="",
    )


def node_step(action: StepAction, name: str) -> PlanStep:
    """A node joins or goes."""
    return PlanStep(
        action=action,
        kind="Node",
        namespace="",
        name=name,
        source=name if action == "remove" else "",
        node=name if action == "add" else "",
        overlap=False,
        cost=0,
        budget="",
        claims=(),
        note="",
    )


def _claims(unit: PlannedUnitOutcome) -> tuple[ClaimAnswer, ...]:
    return tuple(
        ClaimAnswer(namespace=ref.namespace, name=ref.name, allocation=allocation)
        for ref, allocation in unit.allocations
    )

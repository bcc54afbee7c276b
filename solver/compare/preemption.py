"""Preemption as kube-scheduler does it, pod by pod or PodGroup by PodGroup (EVT-1 to EVT-16).

What waits comes by priority. A unit that fits nowhere may displace pods of lower priority. On a node all of these are
taken off. If the unit fits then, they are put back as far as it still fits: first those whose loss breaks a
PodDisruptionBudget, then the others, the more important ones first. Of all nodes the one is taken on which that costs
least. A PodGroup is placed on the cluster without any pod of lower priority, and all of these are put back likewise.

Devices of displaced pods count as in use all the while, so that no device is gained (EVT-9). They are free once the
pods are gone: whoever comes later may have them. Nothing else protects a pod: no annotation, owner, or storage.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from time import monotonic
from typing import NamedTuple

from ...models.formats.errors import plural
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import Reason
from ...models.results.plan import PlanVictim, SchedulerAction, SchedulerDecision
from ...models.workload.evictions import ClaimHolders, Evictions, leaving_pods, preempts
from ...models.workload.expansion import QueuedUnit
from ...models.workload.gangs import in_one_domain, is_whole
from ...models.workload.group_trees import torn_groups
from ...models.workload.node_room import missing_resources, remaining_after
from ...models.workload.pod_rules import PodRules
from ...models.workload.requests import Requests
from ...models.workload.running import read_running_pods
from ...models.workload.unit_classes import Gang
from ...models.workload.units import is_reserved_for_others
from ...problem.node_state import AllocatedState
from ..allocate.check import LATE_VERIFICATION, VerificationError
from ..allocate.unsupported import check_planner_support
from ..engines.engine import TIME_LIMIT_RULE
from ..plan.first_fit import TIME_OVER, SequentialScheduler
from ..plan.lifted import LiftedPods, MoveOptions, exceeded_budgets, plan_victim
from ..plan.master_problem import is_past
from ..plan.node_choice import FirstFitPolicy
from ..plan.node_states import TimeOverError, UnitRequirements
from ..plan.outcome import PlannedUnitOutcome, check_plan
from ..plan.pod_ledger import POD_AFFINITY, VOLUMES, ledger_beside
from ..verification.preemption import preemption_violations
from ..verification.verify import VerificationTimeoutError
from .figures import SchedulingContext, SchedulingInput
from .victims import BudgetLedger, Occupant, PreemptionCandidate, UnitId, VictimUnit, key_of_text, unit_id, victim_units

PREEMPTOR = "preempt-like-kube-scheduler"
# At most so many nodes with victims are tried, or a tenth of those where preemption might help (EVT-3).
_LEAST_TRIED = 100
_LOST = Reason("preempted", "", "it loses its place for a pod of higher priority")
_TORN = Reason("gang", "", "its gang is not whole once pods of higher priority are placed")
_BROKEN_LATER = Reason("preempted", "", "what it needs beside it loses its place for a later unit")
_NEVER = "its preemptionPolicy is Never"
_NO_DEVICES = "no node has room and free devices: those of pods that it could displace count as in use"
_NO_ROOM = "no node would have room without pods of lower priority"
_RANDOM = "it begins at a random node, and tries some of those with victims only"
_GIVES_UP = "it gives up one of its claims that nobody else has, at random, and is tried again"
_DOMAIN = "its group has a topology or a parent: how the scheduler displaces pods for such a one is not known"


class PreemptionDecision(NamedTuple):
    """What kube-scheduler does for a unit, and whom it displaces for it; ``reason`` says why not more."""

    action: SchedulerAction
    victims: tuple[ObjectKey, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SchedulerPreemption:
    """What became of the units of the queue: ``decisions`` for each, and who lost the place for others.

    ``inputs`` are those once the victims are gone. ``is_random``: some nodes were not tried, so that another start may
    end otherwise. ``seconds`` are without the verifier.
    """

    inputs: SchedulingInput
    units: tuple[PlannedUnitOutcome, ...]
    decisions: Mapping[UnitId, PreemptionDecision]
    victims: tuple[PlanVictim, ...]
    in_time: bool
    seconds: float
    is_random: bool = False


def preempt_like_scheduler(
    given: SchedulingInput, deadline: float | None, latest: float | None = None, *, may_displace: bool = True
) -> SchedulerPreemption:
    """Place the queue by priority, displace what kube-scheduler would, and check the whole.

    Pods that are being deleted count as gone. Placing ends at ``deadline``; what is not verified by ``latest`` is not
    kept. Without ``may_displace`` nobody loses a place. Raises ``VerificationError``, and ``ValueError`` as
    ``read_running_pods`` does.
    """
    started = monotonic()
    if is_past(deadline):
        return _nothing(given, TIME_OVER, monotonic() - started)
    inputs = given.on(leaving_pods(given.cluster))
    try:
        scheduler = _PreemptingScheduler(inputs, deadline, may_displace)
    except TimeOverError:
        return _nothing(inputs, TIME_OVER, monotonic() - started)
    scheduler.run()
    victims = scheduler.victims()
    after = without_victims(inputs, victims)
    units, order = scheduler.settled(after)
    seconds = monotonic() - started
    check = partial(check_plan, after.cluster, units, given.gates, given.cel_errors, deadline=latest)
    try:
        check(order=order, namespace=given.namespace, selector=given.selector)
    except VerificationTimeoutError:
        return _nothing(inputs, Reason(TIME_LIMIT_RULE, "", LATE_VERIFICATION), seconds)
    if violations := preemption_violations(inputs.cluster, units, victims, by_scheduler=True):
        raise VerificationError(violations)
    told, in_time, is_random = scheduler.decisions, scheduler.in_time, scheduler.is_random
    return SchedulerPreemption(after, units, told, victims, in_time, seconds, is_random)


def _nothing(inputs: SchedulingInput, reason: Reason, seconds: float) -> SchedulerPreemption:
    units = tuple(PlannedUnitOutcome(one, None, (reason,), ()) for one in inputs.units)
    unknown = {unit_id(one): PreemptionDecision("unknown", reason=reason.message) for one in inputs.units}
    return SchedulerPreemption(inputs, units, unknown, (), False, seconds)


def scheduler_decisions(
    given: SchedulingInput, victims: Sequence[PlanVictim], limit: float | None
) -> tuple[SchedulerDecision, ...]:
    """What kube-scheduler would do for each unit of the queue without a plan, and once its victims are gone (EVT-20).

    Who lost the place waits then beside the queue. ``limit`` is in seconds. Raises ``VerificationError``.
    """
    began = monotonic()
    try:
        check_planner_support(PREEMPTOR, given.cluster, [one.unit for one in given.units])
    except ValueError as error:
        return tuple(_told(one, PreemptionDecision("unknown", reason=str(error)), None) for one in given.units)
    parts = [None if limit is None else began + limit * part for part in (0.3, 0.5, 0.8, 1.0)]
    alone = preempt_like_scheduler(given, parts[0], parts[1])
    nodes = dict[UnitId, str | None]()
    if not is_past(parts[2]):
        gone = without_victims(given.on(leaving_pods(given.cluster)), victims)
        later = preempt_like_scheduler(gone, parts[2], parts[3], may_displace=False)
        nodes = {(one.kind, one.namespace, one.name, one.replica): one.node for one in later.units}
    return tuple(_told(one, alone.decisions[unit_id(one)], nodes.get(unit_id(one))) for one in given.units)


def _told(unit: QueuedUnit, decision: PreemptionDecision, node: str | None) -> SchedulerDecision:
    kind, namespace, name, replica = unit_id(unit)
    return SchedulerDecision(
        kind=kind,
        namespace=namespace,
        name=name,
        replica=replica,
        unit=unit.unit.name,
        action=decision.action,
        victims=tuple("/".join(key) for key in decision.victims),
        after_evictions=node,
        reason=decision.reason,
    )


def without_victims(inputs: SchedulingInput, victims: Sequence[PlanVictim]) -> SchedulingInput:
    """The input once pods have lost their places, and what they leave is free: they wait, and nobody asked for them."""
    if not victims:
        return inputs
    own = {(one.namespace, one.name): frozenset(map(key_of_text, one.claims)) for one in victims}
    running = read_running_pods(inputs.cluster, inputs.gates)
    evictions = Evictions({key: running[key] for key in own}, own)
    keys = frozenset(("Pod", key) for key in own)
    lifted = LiftedPods.of(inputs.cluster, running, keys, MoveOptions(moves=False), evictions, {})
    return replace(inputs.on(lifted.cluster), moved=frozenset(own))


def with_lost_units(after: SchedulingInput, outcomes: Iterable[PlannedUnitOutcome]) -> tuple[PlannedUnitOutcome, ...]:
    """The outcomes in the order of the queue ``after``, with those of pods that lost their places."""
    told = {(one.kind, one.namespace, one.name, one.replica): one for one in outcomes}
    return tuple(told.get(unit_id(unit)) or PlannedUnitOutcome(unit, None, (_LOST,), ()) for unit in after.units)


@dataclass
class _PreemptingScheduler:
    """The state of a run, with what was decided for each unit by now."""

    inputs: SchedulingInput
    deadline: float | None
    may_displace: bool
    is_random: bool = False
    decisions: dict[UnitId, PreemptionDecision] = field(default_factory=dict)
    _gone: dict[ObjectKey, tuple[Occupant, str]] = field(default_factory=dict)
    _freed: set[ObjectKey] = field(default_factory=set)

    def __post_init__(self) -> None:
        inputs = self.inputs
        self._context = SchedulingContext(inputs, self.deadline)
        self._states = self._context.node_states
        self._scheduler = SequentialScheduler(self._context, FirstFitPolicy(), self._context.trials)
        self._holders, self._random = ClaimHolders(inputs.cluster), Random(inputs.seed)
        claims = (claim for shape in {unit.unit_set.shape for unit in inputs.units} for claim in shape.claims)
        self._kept_claims = {claim.key for claim in claims if claim.key is not None}
        self._budgets = BudgetLedger(inputs.cluster)
        self._units_on: dict[int, list[VictimUnit]] = defaultdict(list)
        running = read_running_pods(inputs.cluster, inputs.gates).values() if self.may_displace else ()
        for unit in victim_units(inputs.cluster, inputs.gates, running, self._states.position):
            for position in {one.position for one in unit.members}:
                self._units_on[position].append(unit)

    @property
    def in_time(self) -> bool:
        """Whether all units were tried."""
        return self._scheduler.in_time

    def run(self) -> None:
        """Place the queue, the highest priority first, and then as it is read."""
        members: dict[ObjectKey, list[QueuedUnit]] = defaultdict(list)
        for unit in self.inputs.units:
            if (group := self._pod_group(unit)) is not None:
                members[group].append(unit)
        for unit in sorted(self.inputs.units, key=lambda one: -one.unit_set.shape.priority):
            group = self._pod_group(unit)
            self._arrive([unit] if group is None else members.pop(group, ()))

    def _pod_group(self, unit: QueuedUnit) -> ObjectKey | None:
        """The PodGroup of a unit, as far as the scheduler knows it."""
        own, pod = unit.unit_set, unit.unit_set.pod
        if pod is None or not self.inputs.gates.pod_groups or (own.gang is not None and own.gang.kind != "PodGroup"):
            return None
        named = pod.spec.scheduling_group
        return None if named is None else (own.namespace, named.pod_group_name or "")

    def _arrive(self, units: Sequence[QueuedUnit]) -> None:
        """Place a unit, or the members of a PodGroup at once; where that fails, see who can be displaced."""
        was_random = self.is_random
        self._place(units, units)
        left = {unit_id(unit): unit for unit in units if not self._scheduler.is_placed(unit)}
        found = PreemptionDecision("place")
        if left and not self._scheduler.in_time:
            found = PreemptionDecision("unknown", reason=TIME_OVER.message)
        elif left:
            found = self._preempt(units, list(left.values()))
        for unit in units:
            decision = found if unit_id(unit) in left else PreemptionDecision("place")
            self.decisions[unit_id(unit)] = PreemptionDecision("unknown", (), _RANDOM) if was_random else decision

    def _place(self, arriving: Sequence[QueuedUnit], members: Sequence[QueuedUnit]) -> None:
        """Place units by first fit; without what a PodGroup needs at least of its members none of these stays."""
        # Kube-scheduler knows PodGroups alone; what other gangs lack is seen in the end.
        self._scheduler.run([QueuedUnit(one.unit_set._replace(gang=None), one.number, one.unit) for one in arriving])
        gang = arriving[0].unit_set.gang if arriving and self._pod_group(arriving[0]) is not None else None
        if gang is not None and not self._is_whole(gang, members, len(members)):
            self._scheduler.withdraw([unit for unit in arriving if self._scheduler.is_placed(unit)])

    def _is_whole(self, gang: Gang, members: Sequence[QueuedUnit], waiting: int) -> bool:
        """Whether enough of the ``waiting`` members of a gang have a node, in one domain."""
        names, placed = self._names(members), [one.unit_set for one in members if self._node(one) is not None]
        return not gang.problem and (
            is_whole(gang, placed, waiting) and in_one_domain(gang, names, self.inputs.cluster.nodes)
        )

    def _names(self, units: Iterable[QueuedUnit]) -> list[str]:
        """The nodes of those units that have one."""
        return [name for unit in units if (name := self._node(unit)) is not None]

    def _node(self, unit: QueuedUnit) -> str | None:
        position = self._scheduler.position(unit)
        return None if position is None else self._states.node(position).metadata.name

    def _preempt(self, units: Sequence[QueuedUnit], left: Sequence[QueuedUnit]) -> PreemptionDecision:
        """Displace what makes room for those ``left`` of the units; say what was done."""
        first, group = left[0], self._pod_group(left[0])
        gang = first.unit_set.gang if group is not None else None
        requirements = self._scheduler.requirements(first)
        if first.unit_set.pod is None or requirements.refused or (gang is not None and gang.problem):
            return PreemptionDecision("nothing", reason=_NO_ROOM)
        if not preempts(self.inputs.cluster, self.inputs.gates, first.unit_set):
            return PreemptionDecision("nothing", reason=_NEVER)
        # A group without a minimum displaces nobody for the rest of its pods (EVT-12).
        if group is not None and not (gang and gang.minimum) and len(left) < len(units):
            return PreemptionDecision("nothing", reason=_NO_ROOM)
        if gang is not None and (gang.domain is not None or gang.parents):
            return PreemptionDecision("unknown", reason=_DOMAIN)
        if any(ref.allocated and not is_reserved_for_others(ref, first.unit) for ref in first.unit.claims):
            return PreemptionDecision("unknown", reason=_GIVES_UP)
        found = self._for_pod(first, requirements) if group is None else self._for_group(units, left)
        if found is None:
            return PreemptionDecision("nothing", reason=_NO_DEVICES if requirements.claims else _NO_ROOM)
        return found._replace(action="unknown", reason=_RANDOM) if self.is_random else found

    # One pod ---------------------------------------------------------------------------------------------------------

    def _for_pod(self, unit: QueuedUnit, requirements: UnitRequirements) -> PreemptionDecision | None:
        positions = [one for one in range(self._states.size) if self._is_curable(requirements, one)]
        most = max(_LEAST_TRIED, len(positions) // 10)
        start = self._random.randrange(len(positions)) if len(positions) > most else 0
        found: list[PreemptionCandidate] = []
        for number, position in enumerate((*positions[start:], *positions[:start])):
            one = self._candidate(position, requirements, unit.unit_set.shape.priority)
            found += [one] if one is not None else []
            if len(found) >= most and any(not one.breaches for one in found):
                self.is_random = self.is_random or number + 1 < len(positions)
                break
        if not found:
            return None
        least = min(one.cost for one in found)
        cheapest = [one for one in found if one.cost == least]
        latest = max(one.start for one in cheapest)
        best = [one for one in cheapest if one.start == latest]
        self._displace(best[0].pods, unit)
        self._place([unit], [unit])
        told = f"as good as on {plural(len(best) - 1, 'other node')}" if len(best) > 1 else ""
        return PreemptionDecision("preempt", tuple(sorted(one.pod.key for one in best[0].pods)), told)

    def _is_curable(self, requirements: UnitRequirements, position: int) -> bool:
        """Whether the node was refused for what leaves with pods: not for its labels, taints or devices (EVT-3)."""
        if position not in requirements.suitable.members or not self._units_on.get(position):
            return False
        refused = self._refusal(requirements.rules, position)
        if refused not in (None, VOLUMES, POD_AFFINITY):
            return True
        room = self._states.state(position).room
        return bool(missing_resources(self._needs(requirements, position) or requirements.requests, room))

    def _needs(self, requirements: UnitRequirements, position: int) -> Mapping[str, int] | None:
        """What a unit takes of a node with the devices that it gets, whatever room that has; None: it gets none."""
        state, budget = self._states.state(position), requirements.budget
        if budget is None:
            trial = self._context.trials.of(requirements, state)
        else:
            node, usage = self._states.node(position), AllocatedState(state.devices.allocated.usage)
            trial = self._context.trials.on(node, requirements.claims, usage, budget, None)
        return trial.with_draws(requirements.requests) if trial.fits else None

    def _refusal(self, rules: PodRules | None, position: int) -> str | None:
        ledger = self._scheduler.ledger
        return ledger.refusal(rules, self._states.node(position).metadata.name) if ledger and rules else None

    def _candidate(self, position: int, requirements: UnitRequirements, priority: int) -> PreemptionCandidate | None:
        """Who has to go from a node for the unit (EVT-4); None if that does not help."""
        units = sorted((one for one in self._units_on[position] if one.priority < priority), key=lambda one: one.rank)
        needs = self._needs(requirements, position) if units else None
        if needs is None:
            return None
        room = self._states.state(position).room
        own = {id(unit): [one for one in unit.members if one.position == position] for unit in units}
        lifted = [one for unit in units for one in own[id(unit)]]
        for one in lifted:
            room = remaining_after(room, one.requests, -1)
        self._count(lifted, -1)
        try:
            if not self._fits(needs, requirements.rules, position, room):
                return None
            victims, breaking = [], self._budgets.breaking(units)
            for unit in sorted(units, key=lambda one: id(one) not in breaking):
                back = room
                for one in own[id(unit)]:
                    back = remaining_after(back, one.requests)
                self._count(own[id(unit)], 1)
                lifted = [one for one in lifted if one not in own[id(unit)]]
                if self._fits(needs, requirements.rules, position, back):
                    room = back
                else:
                    self._count(own[id(unit)], -1)
                    lifted += own[id(unit)]
                    victims.append(unit)
            return PreemptionCandidate(position, tuple(victims), sum(id(one) in breaking for one in victims))
        finally:
            self._count(lifted, 1)

    def _fits(self, needs: Mapping[str, int], rules: PodRules | None, position: int, room: Requests | None) -> bool:
        """Whether a unit that needs so much fits a node with this room, devices aside."""
        return not missing_resources(needs, room) and self._refusal(rules, position) is None

    def _count(self, occupants: Iterable[Occupant], times: int) -> None:
        """Count pods for the rules of others, or no longer."""
        ledger = self._scheduler.ledger
        for one in occupants if ledger is not None else ():
            if one.rules is not None and ledger is not None:
                ledger.add(one.rules, one.pod.node, times)

    # A PodGroup ------------------------------------------------------------------------------------------------------

    def _for_group(self, units: Sequence[QueuedUnit], left: Sequence[QueuedUnit]) -> PreemptionDecision | None:
        """Place what is left of a group on the cluster without all that may go, and put these back (EVT-13)."""
        priority = left[0].unit_set.shape.priority
        known = {id(one): one for there in self._units_on.values() for one in there if one.priority < priority}
        below = sorted(known.values(), key=lambda one: one.rank)
        self._lift(below)
        self._place(left, units)
        placed = [unit for unit in left if self._scheduler.is_placed(unit)]
        breaking, victims = self._budgets.breaking(below), []
        for one in sorted(below, key=lambda one: id(one) not in breaking):
            self._lift([one], 1)
            if placed and not all(self._still_fits(unit, one) for unit in placed):
                self._lift([one])
                victims.append(one)
        if not placed:
            return None
        pods = [pod for one in victims for pod in one.members]
        self._lift(victims, 1)
        self._displace(pods, left[0])
        return PreemptionDecision("preempt" if pods else "place", tuple(sorted(one.pod.key for one in pods)))

    def _lift(self, units: Iterable[VictimUnit], times: int = -1) -> None:
        """Take pods off their nodes, or put them back; their devices stay in use."""
        for one in (pod for unit in units for pod in unit.members):
            change = self._states.add_pod if times > 0 else self._states.remove_pod
            change(one.position, one.requests, ())
            self._count([one], times)

    def _still_fits(self, unit: QueuedUnit, back: VictimUnit) -> bool:
        """Whether a unit that is placed fits there beside pods that were put back."""
        position, rules = self._scheduler.position(unit), self._scheduler.requirements(unit).rules
        ledger = self._scheduler.ledger
        if position is None or (rules is None and all(one.position != position for one in back.members)):
            return True
        name = self._states.node(position).metadata.name
        if ledger is not None and rules is not None:
            ledger.add(rules, name, -1)
        needs = self._scheduler.requests(unit)
        room = remaining_after(self._states.state(position).room, needs, -1)
        fits = self._fits(needs, rules, position, room)
        if ledger is not None and rules is not None:
            ledger.add(rules, name)
        return fits

    # What is told ----------------------------------------------------------------------------------------------------

    def _displace(self, pods: Sequence[Occupant], unit: QueuedUnit) -> None:
        """Delete pods for a unit; what they alone have is free then (EVT-18)."""
        shape = unit.unit_set.shape
        reason = f"makes room for {unit.unit.namespace}/{unit.unit.name} of priority {shape.priority}"
        self._gone.update((one.pod.key, (one, reason)) for one in pods)
        own = self._holders.freed([one.pod.key for one in pods], self._gone)
        freed = [key for key in own if key not in self._kept_claims]
        self._freed.update(freed)
        for number, one in enumerate(pods):
            self._budgets.allowed.subtract(one.pod.budgets)
            self._states.remove_pod(one.position, one.requests, () if number else freed)
        self._count(pods, -1)
        for position in {one.position for one in pods}:
            there = self._units_on[position]
            self._units_on[position] = [one for one in there if one.members[0].pod.key not in self._gone]

    def victims(self) -> tuple[PlanVictim, ...]:
        """Who lost the place, by name."""
        lost = {key: one.pod for key, (one, _) in sorted(self._gone.items())}
        exceeded = exceeded_budgets(self.inputs.cluster, lost.values())
        claims = {key: sorted(self._freed.intersection(self._holders.claims_of(key))) for key in lost}
        return tuple(plan_victim(one, claims[key], exceeded, self._gone[key][1]) for key, one in lost.items())

    def settled(self, after: SchedulingInput) -> tuple[tuple[PlannedUnitOutcome, ...], list[int]]:
        """What became of the units of the queue ``after`` the victims are gone, and the order of those with a node.

        Withdraws what is not valid then: members of gangs that are not whole, and who needed a victim beside it.
        """
        own = {unit_id(unit): unit for unit in self.inputs.units}
        members: dict[Gang, list[QueuedUnit]] = defaultdict(list)
        waiting = Counter[Gang]()
        for unit in after.units:
            if unit.unit_set.gang is not None:
                waiting[unit.unit_set.gang] += 1
                members[unit.unit_set.gang] += [own[unit_id(unit)]] if unit_id(unit) in own else []
        while True:
            trees = {(one.key, one.parents): self._names(members[one]) for one in members if one.parents}
            torn = set(torn_groups(trees, after.cluster.nodes))
            for gang, there in members.items():
                if gang.key in torn or not self._is_whole(gang, there, waiting[gang]):
                    self._withdraw(there, _TORN)
            if not (broken := list(self._broken(after))):
                break
            self._withdraw(broken, _BROKEN_LATER)
        units = with_lost_units(after, self._scheduler.outcomes(self.inputs.units))
        numbers = {unit_id(unit): number for number, unit in enumerate(after.units)}
        placed = self._scheduler.order(self.inputs.units)
        return units, [numbers[unit_id(self.inputs.units[place])] for place in placed]

    def _broken(self, after: SchedulingInput) -> Iterator[QueuedUnit]:
        """Yield units that do not pass when they are placed again in their order."""
        if self._scheduler.ledger is None or not self._gone:
            return
        ledger = ledger_beside(after.cluster, ())
        for place in self._scheduler.order(self.inputs.units):
            unit = self.inputs.units[place]
            rules, name = unit.unit_set.shape.rules, self._node(unit)
            if rules is not None and name is not None and ledger.refusal(rules, name) is not None:
                yield unit
            elif rules is not None and name is not None:
                ledger.add(rules, name)

    def _withdraw(self, units: Iterable[QueuedUnit], reason: Reason) -> None:
        there = [unit for unit in units if self._scheduler.is_placed(unit)]
        self._scheduler.withdraw(there, reason)
        for unit in there:
            before = self.decisions[unit_id(unit)]
            action = "nothing" if before.action == "place" else before.action
            self.decisions[unit_id(unit)] = before._replace(action=action, reason=reason.message)

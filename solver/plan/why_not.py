"""Why units of the queue are not in a plan: the reasons are found once for equal units.

For a gang, its members are placed beside the plan one after the other: the reasons are those of the first that finds no
node.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import MappingProxyType

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.formats.errors import plural
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import Reason, Status
from ...models.workload.expansion import QueuedUnit, unit_runs
from ...models.workload.gangs import covered_amounts
from ...models.workload.node_room import device_resources, remaining_after, remaining_allocatable
from ...models.workload.requests import Requests, sum_requests
from ...models.workload.unit_classes import Gang
from ...models.workload.units import Unit
from ...problem.messages import DeadlineExceededError, check_deadline
from ...problem.node_state import AllocatedState
from ..engines.outcome import missing_reference_reasons
from .assign import PlanAssignment
from .build import PlanRequest
from .node_survey import (
    NodeScreening,
    RemainingResources,
    RoomByNode,
    ScreeningResult,
    UnitDemand,
    allocated_by_plan,
    share_claims,
    subtract_placed,
    unit_demand,
)
from .outcome import PlacementByUnit, ReasonsByUnit, SharedReasons
from .pod_ledger import MESSAGES, has_pod_rules, ledger_beside
from .relaxation import UnplacedRelaxationSearch, shortage_reasons

# How many classes of equal units are explained, the largest first.
MOST_UNIT_CLASSES = 64


def unplaced_reasons(
    cluster: Cluster,
    queue: Sequence[QueuedUnit],
    assigned: PlacementByUnit,
    gates: FeatureGates,
    cel_errors: str = "strict",
    seed: int = 0,
    usable: Container[str] | None = None,
    equivalence: Mapping[str, Hashable] | None = None,
    known: Container[int] = (),
    deadline: float | None = None,
    given: Sequence[CallerConstraint] = (),
) -> ReasonsByUnit:
    """Return the reasons for each position in the queue that has no node.

    ``cluster`` has the nodes that are to be bought; ``usable`` names those that the plan may use, None: all.
    ``equivalence`` is as for ``UnplacedExplainer``; positions that are ``known`` have their reasons elsewhere. Units
    that are not looked into before ``deadline``, a reading of ``time.monotonic``, have that as their reason. ``given``
    are constraints of all claims, beside their own.
    """
    classes: dict[bytes, list[int]] = defaultdict(list)
    members: dict[Gang, list[int]] = defaultdict(list)
    gang_nodes: dict[Gang, list[str]] = defaultdict(list)
    gangs = ((one, places) for one, places in unit_runs(queue) if one.gang is not None)
    covered = covered_amounts((one, place in assigned) for one, places in gangs for place in places)
    for one, places in unit_runs(queue):
        left, gang = [place for place in places if place not in assigned and place not in known], one.gang
        if left:
            classes[one.signature] += left
        if gang is not None:
            gang_nodes[gang] += (assigned[place][0].metadata.name for place in places if place in assigned)
            members[gang] += (place for place in places if place not in assigned)
    listed = sorted(classes.items(), key=lambda item: (-len(item[1]), item[1][0]))
    asked = [positions for _, positions in listed[:MOST_UNIT_CLASSES]]
    late = Reason(UNEXPLAINED, "", "the time limit left no time to look for the reasons")
    unknown = Reason(UNEXPLAINED, "", f"{len(listed)} kinds of units are left out, the largest are looked into")
    found: list[tuple[Reason, ...] | SharedReasons] = [
        (late if number < MOST_UNIT_CLASSES else unknown,) for number in range(len(listed))
    ]

    def reasons() -> Iterator[tuple[Reason, ...]]:
        check_deadline(deadline)
        placed = {position: (node.metadata.name, own) for position, (node, own) in assigned.items()}
        made, allocated_state = allocated_by_plan(cluster, gates, placed.values())
        rooms = remaining_allocatable(cluster, gates)
        subtract_placed(rooms, cluster, gates, queue, placed)
        explainer = UnplacedExplainer(cluster, gates, cel_errors, seed, usable, equivalence, deadline, given)
        ledger = None
        if has_pod_rules(queue[positions[0]].unit_set for positions in asked):
            ledger = ledger_beside(
                cluster, ((queue[place], node.metadata.name) for place, (node, _) in assigned.items())
            )
        for positions in asked:
            check_deadline(deadline)
            first = queue[positions[0]]
            gang, others, waiting = first.unit_set.gang, list[Unit](), 0
            if gang is not None:
                # Placed members count as running.
                others, waiting = [queue[place].unit for place in members[gang][:MOST_MEMBERS]], len(members[gang])
                there = tuple(sorted((*gang.running_nodes, *gang_nodes[gang])))
                gang = replace(gang, running_nodes=there, served=covered.get(gang, gang.served))
            rules, forbidden = first.unit_set.shape.rules, dict[str, str]()
            if ledger is not None and rules is not None:
                refusals = ((name, ledger.refusal(rules, name)) for name in cluster.nodes)
                forbidden = {name: refusal for name, refusal in refusals if refusal is not None}
            ask = partial(explainer.reasons, members=others, waiting=waiting, made=made, forbidden=forbidden)
            yield ask(first.unit, gang, allocated_state, rooms)

    with suppress(DeadlineExceededError):
        for number, own in enumerate(reasons()):
            found[number] = SharedReasons(own, queue[asked[number][0]].unit)
    return ReasonsByUnit(queue, classes=dict(zip((signature for signature, _ in listed), found, strict=True)))


def reasons_of_plan(
    request: PlanRequest,
    assignment: PlanAssignment,
    refused: dict[int, tuple[Reason, ...]],
    deadline: float | None,
    usable: Container[str] | None,
    given: Sequence[CallerConstraint],
) -> ReasonsByUnit:
    """As ``unplaced_reasons``; those that are ``refused`` have their reasons there, to which those of quota come."""
    there, session = request.queue, request.session
    if request.quota:
        from .quota_outcome import quota_reasons

        admissions = assignment.admissions
        stopped, there = quota_reasons(request.quota, there, assignment.assigned, admissions, refused)
        refused.update(stopped)
    ask = partial(unplaced_reasons, assignment.cluster, there, assignment.assigned, session.gates, session.policy)
    return ask(session.seed, usable, assignment.equivalence, known=refused, deadline=deadline, given=given)


GANG = "gang"
UNEXPLAINED = "unexplained"
LEFT = "left"
NODES = "nodes"
OUTBID = "outbid"
_WHY_LEFT = "the objective gains nothing by it, a group forbids it, or the search ended before"


class UnplacedExplainer:
    """Explains for units of one cluster why they are not placed, and what would place one more of them.

    ``cluster`` has the nodes that are to be bought, and what it allocates and runs is what was there before the plan.
    ``usable`` names the nodes that the plan may use; None: all. Nodes with the same ``equivalence`` are equal for all
    units, before the plan and after it. ``deadline`` is a reading of ``time.monotonic``.
    """

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates,
        cel_errors: str = "strict",
        seed: int = 0,
        usable: Container[str] | None = None,
        equivalence: Mapping[str, Hashable] | None = None,
        deadline: float | None = None,
        given: Sequence[CallerConstraint] = (),
    ) -> None:
        self._cluster = cluster
        self._gates = gates
        self._screening = NodeScreening(cluster, gates, cel_errors, seed, usable, deadline, given)
        self._uncounted = device_resources(cluster, gates)
        self._equivalence = dict(equivalence or {})
        self._before = RemainingResources(
            AllocatedState(cluster.usage(gates)), remaining_allocatable(cluster, gates), self._equivalence
        )
        self._after = self._before
        self._changes = 0

    def reasons(
        self,
        unit: Unit,
        gang: Gang | None,
        allocated_state: AllocatedState,
        room_by_node: RoomByNode,
        *,
        members: Sequence[Unit] = (),
        waiting: int = 0,
        made: Mapping[ObjectKey, AllocationResult] = MappingProxyType({}),
        forbidden: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[Reason, ...]:
        """Return why a unit has no node, and what would help; equal units have the same reasons.

        Ids are those of ``solver.engines.outcome``, and

        - ``room``: there is no room where there are devices, or none at all;
        - ``gang``: the unit's gang is not placed whole;
        - ``outbid``: the unit fitted before the plan, on so many nodes, or on none;
        - those of ``pod_ledger``: rules of pods about one another forbid nodes beside the plan;
        - ``left``: it fits beside the plan, which gains nothing by it, or was not looked into any more;
        - ``relaxation``: a change with which one such unit fits beside the plan; it was tried;
        - ``unexplained``: the deadline ended the search for reasons.

        Parameters
        ----------
        unit, gang
            The unit, and its gang if it is in one.
        allocated_state, room_by_node
            What is in use when the plan is carried out, and what is left of each node.
        members, waiting
            The members of the gang that are to be placed, ``unit`` among them, or the first ``MOST_MEMBERS``, which
            are tried; and how many they are in all, where that is more.
        made
            What the plan allocates, for units that share claims with others.
        forbidden
            Nodes that rules of pods about one another forbid beside the plan, with the id of the rule.

        """
        refused = tuple(missing_reference_reasons(unit, self._cluster.classes))
        if refused:
            return refused
        found: list[Reason] = []
        try:
            found.extend(self._rule_reasons(forbidden))
            after = self._state(allocated_state, room_by_node)
            found.extend(self._reasons(unit, gang, after, members, waiting, made, forbidden))
        except SelectorError as error:
            return (Reason("nodeSelector", "", str(error)),)
        except DeadlineExceededError:
            found.append(Reason(UNEXPLAINED, "", "the time limit ended the search for reasons"))
        return tuple(found)

    def _state(self, allocated_state: AllocatedState, room_by_node: RoomByNode) -> RemainingResources:
        """The state that a plan leaves; what is known of it is kept for the next unit."""
        known = self._after
        if (
            known.allocated_state is not allocated_state
            or known.room_by_node is not room_by_node
            or self._changes != allocated_state.changes
        ):
            self._after, self._changes = (
                RemainingResources(allocated_state, room_by_node, self._equivalence),
                allocated_state.changes,
            )
        return self._after

    def _reasons(
        self,
        unit: Unit,
        gang: Gang | None,
        after: RemainingResources,
        members: Sequence[Unit],
        waiting: int,
        made: Mapping[ObjectKey, AllocationResult],
        forbidden: Mapping[str, str],
    ) -> Iterator[Reason]:
        demand = unit_demand(unit, made, self._uncounted)
        if gang is None:
            nodes = range(len(self._screening.nodes))
            allowed = [node for node in nodes if self._screening.name(node) not in forbidden]
            if allowed or not forbidden:
                yield from self._single_unit_reasons(demand, after, allowed)
        elif gang.problem:
            yield Reason(GANG, "", gang.problem)
        else:
            demands = [unit_demand(one, made, self._uncounted) for one in members] or [demand]
            for one in gang.parents:
                yield Reason(GANG, "", f"{one.label} needs {plural(one.minimum, 'group')} at once")
            yield from self._gang_reasons(gang, demand, demands, max(waiting, len(demands)), after)

    def _rule_reasons(self, forbidden: Mapping[str, str]) -> Iterator[Reason]:
        """Say how many of the nodes each rule forbids."""
        if not forbidden:
            return
        there = [forbidden[node.metadata.name] for node in self._screening.nodes if node.metadata.name in forbidden]
        for rule, number in Counter(there).most_common():
            where = f"{number} of {plural(len(self._screening.nodes), 'node')}"
            yield Reason(rule, "", f"{MESSAGES[rule]}: {where} beside the plan")

    def _gang_reasons(
        self, gang: Gang, demand: UnitDemand, demands: Sequence[UnitDemand], waiting: int, after: RemainingResources
    ) -> Iterator[Reason]:
        """Say how many members find a node, and what the first member that finds none is missing."""
        if gang.demand is not None and gang.served >= gang.demand:
            yield Reason(GANG, "", f"{gang.label} is covered without it: {gang.served:f} of {gang.demand:f}")
            return
        needed = waiting if gang.minimum is None else gang.minimum - len(gang.running_nodes)
        # Where members may be: where there is a domain, the nodes of values that are not ruled out.
        candidates = sorted(node for _, nodes in _gang_domains(self._screening, gang) for node in nodes)
        if too_small := gang.too_small(waiting):
            yield Reason(GANG, "", too_small)
        elif not candidates and gang.domain:
            yield Reason(GANG, "", f"{gang.label}: no value of the label {gang.domain} is left for all members")
        elif gang.demand is not None:
            yield Reason(
                GANG, "", f"{gang.label} is covered or has no place: its members must add up to {gang.demand:f}"
            )
            yield from self._single_unit_reasons(demand, after, candidates)
        elif needed <= 0:
            # The gang is there without this unit, which need only be where the others are.
            yield from self._single_unit_reasons(demand, after, candidates)
        else:
            yield from self._gang_fit_reasons(gang, demands, waiting, needed, after)

    def _gang_fit_reasons(
        self, gang: Gang, demands: Sequence[UnitDemand], waiting: int, needed: int, after: RemainingResources
    ) -> Iterator[Reason]:
        fit = best_gang_fit(self._screening, gang, demands, waiting, after)
        least = "whole" if gang.minimum is None else f"with at least {plural(needed, 'more member')}"
        where = f" with {fit.domain}" if fit.domain else ""
        found = f"{fit.display_count} of {waiting} find a place beside the plan{where}"
        yield Reason(GANG, "", f"{gang.label} is placed {least} or not at all: {found}")
        if fit.placed >= needed:
            yield Reason(LEFT, "", f"it fits beside the plan: {_WHY_LEFT}")
        if fit.placed >= needed or fit.first_unplaced is None:
            return
        among = frozenset(fit.nodes)
        screened = self._screening.screen(fit.first_unplaced, fit.state, self._nodes(fit.first_unplaced, among))
        yield from self._shortage_reasons(fit.first_unplaced, fit.state, screened)
        before = best_gang_fit(self._screening, gang, demands, waiting, self._before)
        message = f"{before.display_count} of {waiting} find a place before the plan, no more"
        if before.placed >= needed:
            message = "the gang fits before the plan: the queue took its places"
        yield Reason(OUTBID, "", message)
        search = UnplacedRelaxationSearch(self._screening, fit.first_unplaced, fit.state, among, self._gates)
        if not share_claims(demands):
            # Gangs with equal members leave equal states, in which the same changes of a pod help.
            search.known, search.key = after.pod_changes, (tuple(one.key for one in demands), among)
        yield from search.relaxations(screened)

    def _nodes(self, demand: UnitDemand, among: Container[int]) -> list[int]:
        return [position for position in self._screening.suitable_nodes(demand)[1] if position in among]

    def _single_unit_reasons(
        self, demand: UnitDemand, after: RemainingResources, among: Sequence[int]
    ) -> Iterator[Reason]:
        there = frozenset(among)
        nodes = self._nodes(demand, there)
        found = self._screening.screen(demand, after, nodes)
        if found.fitting:
            first, number = self._screening.name(found.fitting[0]), len(found.fitting)
            where = f"{number} of {plural(len(self._screening.nodes), 'node')}, such as {first}"
            yield Reason(LEFT, "", f"it fits {where}: {_WHY_LEFT}")
            return
        before = self._screening.screen(demand, self._before, nodes)
        yield from self._shortage_reasons(demand, *((after, found) if before.fitting else (self._before, before)))
        yield from self._outbid_reasons(before, len(nodes))
        yield from UnplacedRelaxationSearch(self._screening, demand, after, there, self._gates).relaxations(found)

    def _shortage_reasons(
        self, demand: UnitDemand, state: RemainingResources, found: ScreeningResult
    ) -> Iterator[Reason]:
        yield from shortage_reasons(self._screening, demand, state, found)
        yield from self._screening.suitable_nodes(demand)[0].reasons
        if not self._screening.nodes:
            yield Reason(NODES, "", "there are no nodes")

    def _outbid_reasons(self, before: ScreeningResult, suited: int) -> Iterator[Reason]:
        """Say whether the unit would fit without the rest of the queue."""
        if before.fitting:
            least = "at least " if before.is_truncated else ""
            number = f"{least}{len(before.fitting)} of {plural(suited, 'node')}"
            yield Reason(OUTBID, "", f"it fits {number} before the plan: the queue took them")
        elif suited and not before.is_truncated:
            yield Reason(OUTBID, "", f"it fits none of {plural(suited, 'node')} before the plan, either")


# Values of the label that are tried, those with most nodes first.
_MOST_DOMAINS = 16
# How many members are tried.
MOST_MEMBERS = 256


@dataclass(frozen=True, slots=True, eq=False)
class GangFit:
    """How many members found a node among ``nodes``, the first that found none, and the state that they leave.

    ``is_cut``: not all were tried.
    """

    placed: int
    first_unplaced: UnitDemand | None
    state: RemainingResources
    nodes: Sequence[int]
    domain: str = ""
    is_truncated: bool = False

    @property
    def display_count(self) -> str:
        """How many they are, in words."""
        return f"at least {self.placed}" if self.is_truncated else str(self.placed)


def best_gang_fit(
    screening: NodeScreening, gang: Gang, members: Sequence[UnitDemand], waiting: int, state: RemainingResources
) -> GangFit:
    """Place members in order, each on the first node that takes it, in the domain where most of them find a place.

    So many are ``waiting``. There must be a domain. Another order might place more of them.
    """
    tried = islice(_gang_domains(screening, gang), _MOST_DOMAINS)
    fits = (_fit_members(screening, members, waiting, state, nodes, domain) for domain, nodes in tried)
    return max(fits, key=lambda fit: fit.placed)


def _gang_domains(screening: NodeScreening, gang: Gang) -> Iterator[tuple[str, Sequence[int]]]:
    """The nodes of each value of the label, most nodes first; members that run already say which one it is."""
    if gang.domain is None:
        yield "", range(len(screening.nodes))
        return
    values: dict[str, list[int]] = defaultdict(list)
    running: set[str | None] = set()
    there = frozenset(gang.running_nodes)
    for position, node in enumerate(screening.nodes):
        value = gang.domain_value(node)
        if node.metadata.name in there:
            running.add(value)
        if value is not None:
            values[value].append(position)
    listed = sorted(values, key=lambda value: (-len(values[value]), value))
    yield from ((f"{gang.domain}={value}", values[value]) for value in listed if running <= {value})


def _fit_members(
    screening: NodeScreening,
    members: Sequence[UnitDemand],
    waiting: int,
    state: RemainingResources,
    nodes: Sequence[int],
    domain: str,
) -> GangFit:
    placement = _FirstFitPlacement(screening, state, frozenset(nodes))
    left: UnitDemand | None = None
    for demand in members[:MOST_MEMBERS]:
        if not placement.place(demand) and left is None:
            left = demand
    is_cut = waiting > MOST_MEMBERS
    return GangFit(placement.placed, left and left.after(placement.made), placement.state, nodes, domain, is_cut)


class _FirstFitPlacement:
    """Places units one after the other, each on the first node that takes it; ``state`` is what they leave."""

    def __init__(self, screening: NodeScreening, state: RemainingResources, among: Container[int]) -> None:
        self._screening = screening
        self._before = state
        self._among = among
        self._room_by_node: dict[str, Requests | None] = {}
        # A node that failed for a unit fails for equal ones: room and devices only become fewer.
        self._waiting: dict[Hashable, list[int]] = {}
        self.state = state
        self.made: dict[ObjectKey, AllocationResult] = {}
        self.placed = 0

    def place(self, unit: UnitDemand) -> bool:
        """Place a unit; False: no node takes it."""
        demand = unit.after(self.made)
        if demand.key not in self._waiting:
            may = self._screening.open_nodes(demand, self._before)
            self._waiting[demand.key] = [node for node in reversed(may) if node in self._among]
        waiting = self._waiting[demand.key]
        while waiting:
            if self._take(demand, waiting[-1]):
                return True
            waiting.pop()
        return False

    def _take(self, demand: UnitDemand, position: int) -> bool:
        name = self._screening.name(position)
        if self.state.lacks(name, demand.requests):
            return False
        attempt = self._screening.attempt(demand, self.state, position)
        if attempt.status is not Status.ALLOCATED:
            return False
        if not self.placed:
            # Where nothing is placed, what is known of the state is known for the next gang, too.
            self._room_by_node = dict(self._before.room_by_node)
            are_local = self._screening.devices_are_local
            self.state = self._before.copied(self._room_by_node, devices_are_local=are_local)
        made = dict(zip((ref.key for ref in demand.unit.requested_claims), attempt.allocations, strict=True))
        self.made.update(made)
        self.state.allocated_state.commit(made.items())
        self.state.changed(name)
        drawn = self._screening.budgets.taken(demand.unit, self.made)
        self._room_by_node[name] = remaining_after(self._room_by_node[name], sum_requests((demand.requests, drawn)))
        self.placed += 1
        return True

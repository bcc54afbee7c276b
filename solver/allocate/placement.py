"""Place units one after the other, each beside what earlier ones took.

``FirstNodeWalk`` takes the first node by name that fits. With an objective, ``BestNodeWalk`` asks every node, and takes
the first by name of equally good ones.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from ...models.cluster.node_fit import Misfit, SelectorError
from ...models.kubernetes.claims import AllocationResult, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import annotated_entries
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import Reason, Status
from ...models.workload.node_resources import NodeResourceError, PodDemand
from ...models.workload.node_room import NODE_RESOURCES, ROOM, DeviceBudget, NodeRooms, plugin_classes
from ...models.workload.requests import is_extended_claim
from ...models.workload.units import ClaimRef, Unit, allocation_of, is_reserved_for_others
from ...problem.messages import claim_text
from ...problem.node_state import AllocatedState
from ..engines.engine import Engine, NodeResult, Optimizer, Session
from ..engines.outcome import (
    NodeClassFailure,
    Objective,
    UnitOutcome,
    bound_over_nodes,
    device_class_names,
    device_reasons,
    is_zero_objective,
    misfit_reasons,
    missing_reference_reasons,
    objective_vector,
)
from .coupling import AdmissibleNodes, CoupledUnits, SameNodeUnits, split_soft_coupling
from .nodes import FailedNodes, OpenNodes, SuitableNodes, encode_key, pod_suitability_key

if TYPE_CHECKING:
    from ..engines.engines import NodeEngine
    from .groups import GroupPlacer


@dataclass(slots=True)
class _CandidateNodes:
    """Nodes for units that are alike: those that suit the pod, and of these the ones still open."""

    suitable: SuitableNodes
    open: OpenNodes


class Placer:
    """Places units on ``nodes``, which are by name, in their order; ``deadline`` is a reading of ``time.monotonic``.

    ``walk`` finds the node of a unit; the default takes the first that fits. ``excluded_nodes`` are pairs of a unit's
    key (namespace, name) and a node's name: the unit does not go there when it is placed together with others.
    ``rooms`` are what the units placed so far leave of the nodes. ``interrupted``: Ctrl-C came while the last unit was
    placed, which has an answer nevertheless. ``notices`` say which parts of the question were left aside.
    """

    def __init__(
        self,
        session: Session,
        engine: Engine,
        allocated_state: AllocatedState,
        nodes: Mapping[str, Node],
        deadline: float | None,
        walk: NodeWalk | None = None,
        excluded_nodes: Container[tuple[ObjectKey, str]] = (),
    ) -> None:
        self.rooms = NodeRooms(session.cluster, session.gates)
        self._session = session
        self._engine = engine
        self._ledger = allocated_state
        self._nodes = list(nodes.values())
        self._names = list(nodes)
        self._deadline = deadline
        self._walk = walk or FirstNodeWalk(engine, self._nodes, allocated_state, deadline)
        self._excluded_nodes = excluded_nodes
        self.interrupted = False
        self.notices: list[str] = []
        self._timed_out = False
        self._allocated: dict[ObjectKey, AllocationResult] = {}
        self._used: set[ObjectKey] = set()
        self._suitable: dict[bytes, SuitableNodes] = {}
        self._candidates: dict[tuple[bytes, PodDemand | None, bytes], _CandidateNodes] = {}
        self._group_placer: GroupPlacer | None = None

    def place(self, unit: Unit) -> UnitOutcome:
        """Find a node and devices for a unit, and commit them."""
        if self._timed_out:
            return unplaced_outcome(
                unit, Status.UNKNOWN, [Reason("timeLimit", "", "the time limit passed before this was tried")]
            )
        reasons = missing_reference_reasons(unit, self._session.cluster.classes)
        if reasons:
            return unplaced_outcome(unit, Status.UNALLOCATABLE, reasons)
        requested = [ref for ref in unit.requested_claims if ref.key not in self._allocated]
        try:
            candidates = self._candidates_for(unit, requested)
        except SelectorError as error:
            return unplaced_outcome(unit, Status.ERROR, [Reason("nodeSelector", "", str(error))])
        shared = self._shared_mapped_claim(unit)
        if shared:
            return unplaced_outcome(unit, Status.UNALLOCATABLE, [shared])
        budget = partial(self._budget, unit, requested) if self.rooms.devices.devices else None
        try:
            walked = self._walk.walk(_claims_of_refs(requested), candidates.open, budget)
        except NodeResourceError as error:
            return unplaced_outcome(unit, Status.ERROR, [Reason(NODE_RESOURCES, "", str(error))])
        self.interrupted = walked.interrupted
        # What failed before this unit's own allocation is known to fail until something changes.
        pools_for = self._session.cluster.pools(self._session.gates).pools_for
        candidates.open.fail(
            (position, attempt, [pool.id for pool in pools_for(self._nodes[position])])
            for position, attempt in walked.failed
        )
        if walked.decisive is None:
            return self._no_node_outcome(unit, requested, candidates)
        position, attempt = walked.decisive
        answer = self._decided_outcome(unit, requested, self._nodes[position], attempt)
        if answer.outcome == Status.ALLOCATED:
            self.take(answer)
        return answer

    def place_together(self, coupled: CoupledUnits) -> list[UnitOutcome]:
        """Find nodes and devices for all of the coupled units, and commit them, or for none.

        What is tied by soft entries only is placed one by one if that fails, and ``notices`` say so (SOFT-1).
        """
        answers = self._together(coupled)
        soft = ", ".join(tie.label for tie in coupled.groups if tie.is_soft)
        if not soft or all(answer.outcome == Status.ALLOCATED for answer in answers):
            return answers
        parts = split_soft_coupling(coupled)
        if len(parts) == 1 and answers[0].outcome == Status.UNALLOCATABLE:
            # A no never depends on soft entries.
            return answers
        self.notices.append(f"not all units fit together: soft entries are left aside, those of {soft}")
        placed = ([self.place(part)] if isinstance(part, Unit) else self._together(part) for part in parts)
        return [answer for own in placed for answer in own]

    def _together(self, coupled: CoupledUnits) -> list[UnitOutcome]:
        refused = [
            reason
            for unit in coupled.units
            for reason in missing_reference_reasons(unit, self._session.cluster.classes)
        ]
        if refused:
            return [unplaced_outcome(unit, Status.UNALLOCATABLE, refused) for unit in coupled.units]
        try:
            admissible = [self._nodes_for_all(group) for group in coupled.node_groups]
        except SelectorError as error:
            return [
                unplaced_outcome(unit, Status.ERROR, [Reason("nodeSelector", "", str(error))]) for unit in coupled.units
            ]
        if self._group_placer is None:
            from .groups import GroupPlacer

            engine = cast("NodeEngine", self._engine)
            self._group_placer = GroupPlacer(self._session, engine, self._ledger, self.rooms, self._deadline)
        answers = self._group_placer.place(coupled, admissible)
        if any(self.rooms.devices.of_allocation(made, 1) for one in answers for _, made in one.allocations):
            text = "the devices take resources of their nodes, which is not counted for units of a ConstraintGroup"
            answers = [
                unplaced_outcome(unit, Status.UNKNOWN, [Reason(NODE_RESOURCES, "", text)]) for unit in coupled.units
            ]
        self.interrupted |= self._group_placer.interrupted
        for answer in answers:
            if answer.outcome == Status.ALLOCATED:
                self.take(answer)
        return answers

    def _nodes_for_all(self, group: SameNodeUnits) -> AdmissibleNodes:
        """Find the nodes that suit all units of a seat, in order. Raises ``SelectorError``."""
        suitable = [self._candidates_for(unit, unit.requested_claims).suitable for unit in group.units]
        demands = [self._demand(unit) for unit in group.units]
        every = set.intersection(*map(set, suitable))
        common = {position for position in every if self.rooms.fit_together(demands, self._names[position])}
        lacking = (self._missing_room(demand, position) for position in sorted(every - common) for demand in demands)
        reasons = dict.fromkeys(
            (
                *misfit_reasons([misfit for misfit in lacking if misfit], len(self._nodes)),
                *(reason for one in suitable for reason in one.reasons),
            )
        )
        keys = [(unit.namespace, unit.name) for unit in group.units]
        # Claims of coupled units are the same on all nodes.
        plugins = plugin_classes(self._session.cluster, self._session.gates)
        wanted = {name for claim in group.claims if is_extended_claim(claim) for name in device_class_names(claim)}
        nodes = (
            position
            for position in sorted(common)
            if wanted.isdisjoint(plugins.get(self._names[position], ()))
            and not any((key, self._names[position]) in self._excluded_nodes for key in keys)
        )
        return AdmissibleNodes(tuple(self._nodes[position] for position in nodes), tuple(reasons))

    def _decided_outcome(
        self, unit: Unit, requested: Sequence[ClaimRef], node: Node, attempt: NodeResult
    ) -> UnitOutcome:
        """Turn an attempt that decides about the unit into its outcome."""
        if attempt.status is Status.ALLOCATED:
            pairs = tuple(zip(requested, attempt.allocations, strict=True))
            return UnitOutcome(
                unit,
                Status.ALLOCATED,
                node.metadata.name,
                allocations=pairs,
                objective=attempt.objective,
                soft_entries=attempt.soft_entries,
            )
        claim = "" if attempt.claim is None else claim_text(requested[attempt.claim].key)
        reason = Reason(attempt.rule, claim, f"node {node.metadata.name}: {attempt.message}")
        self._timed_out = attempt.timed_out
        return unplaced_outcome(unit, attempt.status, [reason])

    def take(self, answer: UnitOutcome) -> None:
        """Take what a unit got out of what is left; it may have been found elsewhere."""
        made = [(ref.key, allocation) for ref, allocation in answer.allocations]
        budget = self._budget_on(answer.unit, [ref for ref, _ in answer.allocations], answer.node or "")
        devices = None if budget is None else budget.total(allocation for _, allocation in made)
        self.rooms.take(self._demand(answer.unit), answer.node or "", devices)
        self._allocated.update(made)
        self._used.update(ref.key for ref in answer.unit.claims)
        self._ledger.commit(made)

    def _budget(self, unit: Unit, requested: Sequence[ClaimRef], position: int) -> DeviceBudget | None:
        return self._budget_on(unit, requested, self._names[position])

    def _budget_on(self, unit: Unit, requested: Sequence[ClaimRef], node: str) -> DeviceBudget | None:
        """What devices of the unit may take of a node (NAR-7). Raises ``NodeResourceError``."""
        if not self.rooms.devices.devices:
            return None
        return self.rooms.device_budget(unit, requested, self._held(unit), node)

    def _held(self, unit: Unit) -> dict[ObjectKey, AllocationResult]:
        """What claims of the unit hold already."""
        return {ref.key: made for ref in unit.claims if (made := self._allocated.get(ref.key) or allocation_of(ref))}

    def _shared_mapped_claim(self, unit: Unit) -> Reason | None:
        """Why a claim serves no further pod: it is another one's, and has a device with a mapping (NAR-8)."""
        for ref in unit.claims if self.rooms.devices.devices else ():
            held = self._allocated.get(ref.key) or allocation_of(ref)
            taken = ref.key in self._used or is_reserved_for_others(ref, unit)
            if held is not None and taken and unit.pod is not None and self.rooms.devices.is_mapped(held):
                text = f"node allocatable resource claim {ref.name} has a mapped device"
                return Reason(NODE_RESOURCES, claim_text(ref.key), f"{text} and cannot be shared across pods")
        return None

    def _no_node_outcome(self, unit: Unit, requested: Sequence[ClaimRef], candidates: _CandidateNodes) -> UnitOutcome:
        failed = candidates.open.failed
        report = failed.report()
        position = failed.first_erring
        if position is not None:
            # An error that may be why nothing fits (policy ``strict``), in words for this unit's own claims.
            node = self._nodes[position]
            again = self._engine.allocate_on(node, _claims_of_refs(requested), self._ledger, self._deadline)
            message = f"node {node.metadata.name}: {again.error or failed[position].error}"
            return unplaced_outcome(unit, Status.ERROR, [Reason("expression", "", message)], report)
        names = [claim_text(ref.key) for ref in requested]
        crowded = misfit_reasons(candidates.open.crowded, len(self._nodes))
        reasons = [*device_reasons(report, names, len(self._nodes)), *crowded, *candidates.suitable.reasons]
        outcome = Status.UNKNOWN if failed.undecided else Status.UNALLOCATABLE
        return unplaced_outcome(unit, outcome, reasons or [Reason("nodes", "", "there are no nodes")], report)

    def _candidates_for(self, unit: Unit, requested: Sequence[ClaimRef]) -> _CandidateNodes:
        """Find the nodes that suit the pod and its claims that are allocated already (SCHED-2).

        Raises ``SelectorError``.
        """
        earlier = [*unit.existing_allocations(self._allocated)]
        spec = unit.pod.spec if unit.pod else None
        place, demand = pod_suitability_key(spec, earlier), self._demand(unit)
        key = (
            place,
            demand,
            encode_key([(claim.spec, annotated_entries(claim.metadata)) for claim in _claims_of_refs(requested)]),
        )
        if key not in self._candidates:
            if place not in self._suitable:
                self._suitable[place] = SuitableNodes(self._nodes, spec, earlier)
            suitable = self._suitable[place]
            room = partial(self._missing_room, demand)
            self._candidates[key] = _CandidateNodes(
                suitable, OpenNodes(suitable, FailedNodes(self._names), self._ledger, room)
            )
        return self._candidates[key]

    def _demand(self, unit: Unit) -> PodDemand | None:
        return self.rooms.demand(unit.pod.spec if unit.pod else None)

    def _missing_room(self, demand: PodDemand | None, position: int) -> Misfit | None:
        return self.rooms.misfit(demand, self._names[position])


def _claims_of_refs(refs: Sequence[ClaimRef]) -> list[ResourceClaim]:
    return [ref.claim for ref in refs if ref.claim is not None]


def unplaced_outcome(
    unit: Unit, outcome: Status, reasons: Sequence[Reason], failures: tuple[NodeClassFailure, ...] = ()
) -> UnitOutcome:
    """Make the outcome of a unit that got nothing."""
    return UnitOutcome(unit, outcome, reasons=tuple(reasons), failures=failures)


PositionedResult = tuple[int, NodeResult]
"""The position of a node, and the attempt made there."""


@dataclass(frozen=True, slots=True)
class WalkResult:
    """What a walk came to: the attempt that decides, if any, and those that failed.

    ``interrupted``: Ctrl-C came, and there is an answer all the same.
    """

    decisive: PositionedResult | None
    failed: list[PositionedResult]
    interrupted: bool = False


NodeBudget = Callable[[int], DeviceBudget | None]
"""What devices of a pod may take of a node, by its position. Raises ``NodeResourceError``."""


def ask_within(engine: Engine, budget: DeviceBudget | None, ask: Callable[[], NodeResult]) -> NodeResult:
    """Ask an engine about devices; a node that lacks what they take of it is none (NAR-7, NAR-9)."""
    engine.budget = budget
    try:
        attempt = ask()
    finally:
        engine.budget = None
    if budget is None or attempt.status is not Status.ALLOCATED:
        return attempt
    misfit = budget.misfit(attempt.allocations)
    return attempt if misfit is None else NodeResult(Status.UNALLOCATABLE, rule=ROOM, message=misfit.message)


class NodeWalk(Protocol):
    """A way to find a node for claims."""

    def walk(
        self, claims: Sequence[ResourceClaim], positions: Iterable[int], budget: NodeBudget | None = None
    ) -> WalkResult:
        """Ask nodes, by position, in order; ``budget`` is what devices may take. Raises ``NodeResourceError``."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class FirstNodeWalk:
    """Takes the first node that fits; ``deadline`` is a reading of ``time.monotonic``."""

    engine: Engine
    nodes: Sequence[Node]
    allocated_state: AllocatedState
    deadline: float | None

    def walk(
        self, claims: Sequence[ResourceClaim], positions: Iterable[int], budget: NodeBudget | None = None
    ) -> WalkResult:
        """Ask until a node decides."""
        failed: list[PositionedResult] = []
        for position in positions:
            ask = partial(self.engine.allocate_on, self.nodes[position], claims, self.allocated_state, self.deadline)
            attempt = ask() if budget is None else ask_within(self.engine, budget(position), ask)
            if not attempt.fails_here:
                return WalkResult((position, attempt), failed, attempt.interrupted)
            failed.append((position, attempt))
        return WalkResult(None, failed)


@dataclass(frozen=True, slots=True)
class BestNodeWalk:
    """Takes the best of all nodes; ``deadline`` is a reading of ``time.monotonic``.

    ``work`` is what the solver may do for one unit, in its own units: a node may use its share of what is left. An
    interrupt or the time limit ends the walk: what was found by then counts, and nodes that were not asked could be
    better. A fatal error decides as long as nothing was found, as it does for who takes the first node (SCHED-6).
    """

    engine: Optimizer
    nodes: Sequence[Node]
    allocated_state: AllocatedState
    deadline: float | None
    work: float | None

    def walk(
        self, claims: Sequence[ResourceClaim], positions: Iterable[int], budget: NodeBudget | None = None
    ) -> WalkResult:
        """Ask all nodes, unless one has an answer that nothing can beat."""
        requested, search = list(positions), _BestNodeSearch()
        begun = self.engine.counts.work
        for number, position in enumerate(requested):
            share = None
            if self.work is not None:
                share = max(0.0, self.work - self.engine.counts.work + begun) / (len(requested) - number)
            ask = partial(self.engine.best, self.nodes[position], claims, self.allocated_state, self.deadline, share)
            try:
                attempt = ask() if budget is None else ask_within(self.engine, budget(position), ask)
            except KeyboardInterrupt:
                if search.best is None:
                    raise
                return search.walked(complete=False, interrupted=True)
            if search.note(position, attempt):
                complete = not attempt.timed_out and number + 1 == len(requested)
                return search.walked(complete=complete, interrupted=attempt.interrupted)
        return search.walked(complete=True)


@dataclass
class _BestNodeSearch:
    """The best so far; of the others what they came to, None where they could come to anything."""

    best: PositionedResult | None = None
    decisive: PositionedResult | None = None
    failed: list[PositionedResult] = field(default_factory=list)
    others: list[Objective | None] = field(default_factory=list)

    def note(self, position: int, attempt: NodeResult) -> bool:
        """Take a node's result into account; return whether the walk is over."""
        if attempt.status is Status.ALLOCATED:
            if self.best is None:
                self.best = position, attempt
            elif objective_vector(attempt.objective) < objective_vector(self.best[1].objective):
                self.others.append(self.best[1].objective)
                self.best = position, attempt
            else:
                self.others.append(attempt.objective)
            return attempt.interrupted or is_zero_objective(attempt.objective)
        if attempt.fails_here:
            self.failed.append((position, attempt))
            if attempt.status is Status.UNKNOWN:
                self.others.append(None)
            return False
        if self.best is None:
            self.decisive = position, attempt
        return self.best is None or attempt.timed_out

    def walked(self, *, complete: bool, interrupted: bool = False) -> WalkResult:
        """Conclude, with bounds that hold over all nodes."""
        if self.best is None:
            return WalkResult(self.decisive, self.failed, interrupted)
        position, attempt = self.best
        others = self.others if complete else [*self.others, None]
        best = replace(attempt, objective=bound_over_nodes(attempt.objective, others))
        return WalkResult((position, best), self.failed, interrupted)

"""Place coupled units together: each seat on a node, all claims with their devices, or nothing.

The question about coupled units: on which nodes it is asked, how it is posed, and how it is decide_or_raise.

Why coupled units cannot be allocated together: one that finds nothing even alone, or what groups demand.

Leave out nodes that make no difference: of nodes that are equal, as many as there are seats are enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import cast

from msgspec import structs

from ...models.cluster.node_fit import Located, SelectorError, per_device
from ...models.cluster.pools import PoolDevice
from ...models.kubernetes.claims import AllocationResult, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.results.common import Reason, SoftEntry, Status
from ...problem.conditions import TokenCondition
from ...problem.in_use import AllocatedState
from ...problem.messages import STRICT, DeadlineExceededError, FatalError, ProblemNames, claim_text
from ...problem.node_classes import node_class_key
from ...problem.problem import InUse, Problem, Relation
from ...problem.shapes import NodeView
from ...problem.surroundings import NodeContextBuilder
from ..engines.auto import decide_by_counting
from ..engines.engine import Decision, OptimizingDecider, Pick, Session
from ..engines.engines import NodeEngine, decisive_error, first_relation_error, problem_names
from ..engines.outcome import NodeClassFailure, UnitOutcome, stage_answers
from ..engines.reasons import deletion_filter, device_reasons
from ..engines.result import has_uncombinable_selector, soft_entries
from .coupling import (
    AdmissibleNodes,
    CoupledUnits,
    GroupAbortedError,
    SameNodeUnits,
    name_fatal_errors,
    reason_from_error,
)
from .group_builder import STAND_IN_POOL, ContradictingViewsError, MergedView, held_claims, merge_views
from .group_problem import GroupProblem, build_group_problem, group_problem_names
from .nodes import FailedNodes

AllocationsByClaim = Mapping[ObjectKey, AllocationResult]


class GroupPlacer:
    """Places coupled units, in the way of an engine. ``interrupted``: Ctrl-C came while the last ones were placed."""

    def __init__(self, session: Session, engine: NodeEngine, ledger: AllocatedState, deadline: float | None) -> None:
        self._session = session
        self._engine = engine
        self._ledger = ledger
        self._deadline = deadline
        self.interrupted = False

    def place(self, coupled: CoupledUnits, suited: Sequence[AdmissibleNodes]) -> list[UnitOutcome]:
        """Find nodes and devices for all units, or for none; nothing is committed.

        ``suited`` are the nodes that each seat may go to, whatever devices they have.
        """
        self.interrupted = False
        self._engine.compiler.limit(self._deadline)
        try:
            return self._place(coupled, suited)
        except SelectorError as error:
            reason = Reason("nodeSelector", "", f"gather pool information: {error}")
            return _same_outcome_for_all(coupled, Status.ERROR, reason)
        except GroupAbortedError as error:
            return _same_outcome_for_all(coupled, Status.ERROR, error.reason)
        except ContradictingViewsError as error:
            return _same_outcome_for_all(coupled, Status.UNKNOWN, Reason("constraintGroup", "", str(error)))
        except DeadlineExceededError as error:
            return _same_outcome_for_all(coupled, Status.UNKNOWN, Reason("timeLimit", "", str(error)))

    def _place(self, coupled: CoupledUnits, suited: Sequence[AdmissibleNodes]) -> list[UnitOutcome]:
        asking = GroupSolver(self._session, self._engine, self._ledger, self._deadline, coupled)
        decision, posed = Decision(Status.UNALLOCATABLE, certified=True), None
        for nodes in asking.candidate_node_sets(suited):
            posed = asking.build_problem(nodes)
            decision = asking.decide_or_raise(posed)
            if decision.status is Status.ALLOCATED:
                self.interrupted = decision.interrupted
                return self._allocated(asking, nodes, posed, decision)
        if decision.status is Status.UNKNOWN:
            return _same_outcome_for_all(coupled, Status.UNKNOWN, Reason("timeLimit", "", decision.message))
        if asking.errors:
            return _same_outcome_for_all(coupled, Status.ERROR, asking.errors[0])
        return GroupFailureExplainer(asking, suited, posed).outcomes()

    def _allocated(
        self, asking: GroupSolver, nodes: CandidateNodes, posed: GroupProblem, decision: Decision
    ) -> list[UnitOutcome]:
        """Build the results; devices whose selectors cannot be combined are an error of the scheduler's (RES-7).

        An engine that chooses devices in no order chooses others if there are any.
        """
        try:
            return self._built(asking.coupled, nodes, posed, decision)
        except GroupAbortedError:
            if self._engine.decider.in_order:
                raise
            devices = enumerate(posed.merged_view.view.devices)
            awkward = {
                number for number, one in devices if one.id[1] != STAND_IN_POOL and has_uncombinable_selector(one)
            }
            other = asking.decide(posed, posed.problem.without_devices(awkward))
            if other.status is not Status.ALLOCATED:
                raise
            return self._built(asking.coupled, nodes, posed, other)

    def _built(
        self, coupled: CoupledUnits, nodes: CandidateNodes, posed: GroupProblem, decision: Decision
    ) -> list[UnitOutcome]:
        found: list[UnitOutcome] = []
        for number, seat in enumerate(coupled.node_groups):
            node, allocations = self._seated(number, seat, nodes[number], posed, decision)
            found += _unit_outcomes(seat, node, allocations)
        soft = soft_entries(posed.problem, decision.picks, posed.builder.keys)
        own = len(soft) - sum(not relation.hard for relation in posed.group_relations)
        # An entry of a group is no claim's, even if it covers one only.
        told_ = (*soft[:own], *(structs.replace(entry, claim="") for entry in soft[own:]))
        return _with_soft_entries(found, told_, decision)

    def _seated(
        self, number: int, seat: SameNodeUnits, nodes: Sequence[Node], posed: GroupProblem, decision: Decision
    ) -> tuple[Node, AllocationsByClaim]:
        """Build what a seat gets, and find on which node; one that asks for no device is on its first."""
        served = posed.builder.served_requests
        picks = [pick for pick in decision.picks if served[pick.demand].seat == number]
        node = next((node for pick in picks if (node := served[pick.demand].node)), nodes[0])
        own = [demand for demand, one in enumerate(served) if one.seat == number and one.node is node]
        renumbered = [Pick(own.index(pick.demand), pick.device) for pick in picks]
        view = replace(posed.merged_view.view, node=node)
        with name_fatal_errors(problem_names(seat.claims, view)):
            made = self._engine.builder.build(seat.claims, [served[demand].ask for demand in own], renumbered, view)
        return node, dict(zip((ref.key for ref in seat.requested), made, strict=True))


def _unit_outcomes(seat: SameNodeUnits, node: Node, allocations: AllocationsByClaim) -> Iterator[UnitOutcome]:
    """Give each unit of a seat what nobody before it got already."""
    left = dict(allocations)
    for unit in seat.units:
        pairs = tuple((ref, left.pop(ref.key)) for ref in unit.requested_claims if ref.key in left)
        yield UnitOutcome(unit, Status.ALLOCATED, node.metadata.name, allocations=pairs)


def _with_soft_entries(
    found: Sequence[UnitOutcome], soft: Iterable[SoftEntry], decision: Decision
) -> list[UnitOutcome]:
    """Give each unit its own soft entries, and the first one those of groups and what the objective came to."""
    owner = {claim_text(ref.key): place for place, one in enumerate(found) for ref, _ in one.allocations}
    own: list[list[SoftEntry]] = [[] for _ in found]
    for entry in soft:
        own[owner.get(entry.claim, 0)].append(entry)
    told_ = [replace(one, soft_entries=tuple(entries)) for one, entries in zip(found, own, strict=True)]
    return [replace(told_[0], objective=stage_answers(decision.objective)), *told_[1:]]


def _same_outcome_for_all(coupled: CoupledUnits, outcome: Status, reason: Reason) -> list[UnitOutcome]:
    return [UnitOutcome(unit, outcome, reasons=(reason,)) for unit in coupled.units]


# Nodes that each seat may go to at first: most questions have an answer on few.
NODES_TRIED_FIRST = 8
CandidateNodes = Sequence[Sequence[Node]]


class GroupSolver:
    """One set of coupled units in front of an engine; ``errors`` are those met where a seat cannot be served."""

    def __init__(
        self,
        session: Session,
        engine: NodeEngine,
        ledger: AllocatedState,
        deadline: float | None,
        coupled: CoupledUnits,
    ) -> None:
        self.session = session
        self.engine = engine
        self.ledger = ledger
        self.deadline = deadline
        self.coupled = coupled
        self.errors: list[Reason] = []
        self.held = held_claims(session.cluster, dict.fromkeys(key for tie in coupled.groups for key in tie.claims))
        claims = [claim for seat in coupled.node_groups for claim in seat.claims]
        entries = [entry for tie in coupled.groups for entry in tie.group.spec.constraints or ()]
        self._visible = engine.compiler.visible(claims, entries)
        self._surveyor = NodeContextBuilder(session.cluster) if session.stages else None

    def candidate_node_sets(self, suited: Sequence[AdmissibleNodes]) -> Iterator[CandidateNodes]:
        """Yield nodes to ask about, the first few of each seat before all; none where a seat has none.

        The last ones are all that make a difference. Whoever looks for the best asks about all at once.
        """
        able = [
            list(self._nodes_with_enough_devices(seat, own.nodes))
            for seat, own in zip(self.coupled.node_groups, suited, strict=True)
        ]
        kept = self._thinned(able)
        if not all(kept):
            return
        if not self.session.stages and any(len(own) > NODES_TRIED_FIRST for own in kept):
            yield [own[:NODES_TRIED_FIRST] for own in kept]
        yield kept

    def _nodes_with_enough_devices(self, seat: SameNodeUnits, nodes: Sequence[Node]) -> Iterator[Node]:
        """Leave out nodes where the seat finds too few devices even alone, and those that are in trouble for it."""
        question = self.engine.compiler.question(seat.claims)
        known: dict[Hashable, bool] = {}
        for node in nodes:
            view = self.engine.compiler.view(node, question)
            in_use = self.ledger.in_use(view)
            key = node_class_key(view, in_use)
            if key not in known:
                known[key] = self._is_able(seat, view, in_use)
            if known[key]:
                yield node

    def _is_able(self, seat: SameNodeUnits, view: NodeView, in_use: InUse) -> bool:
        compiler = self.engine.compiler
        try:
            problem = compiler.problem(compiler.question(seat.claims), view.shape)
        except FatalError as error:
            where = f"node {view.node.metadata.name}: "
            self.errors.append(reason_from_error(error, problem_names(seat.claims, view), where))
            return False
        able = decide_by_counting(problem.order_independent(), in_use, self.deadline)[1] is None
        wrong = None if self.session.policy != STRICT else decisive_error(problem, in_use, self.engine.decider.in_order)
        if wrong is not None:
            where = f"node {view.node.metadata.name}: "
            self.errors.append(reason_from_error(wrong, problem_names(seat.claims, view), where))
        return able

    def _thinned(self, nodes: CandidateNodes) -> list[list[Node]]:
        """Leave out nodes that make no difference."""
        views = {
            node.metadata.name: self.engine.compiler.views.of(node, self._visible) for own in nodes for node in own
        }
        labels = sorted({tie.group.spec.same_node_label for tie in self.coupled.groups} - {""})
        held = {id_ for one in self.held for devices in one.requests.values() for id_ in devices}
        return reduce_nodes(nodes, views, self._state, labels, held)

    def _state(self, view: NodeView) -> Hashable:
        """Return what is in use on a node, and what objectives see of it."""
        landscape = self._surveyor and self._surveyor.survey(view, self._visible)
        return self.ledger.in_use(view).key, landscape

    def may_use_several_nodes(self, seat: SameNodeUnits) -> bool:
        """Tell whether pods that share a claim could be on several nodes after all: it may be usable on each of them.

        A request that only devices of nodes serve ties its claim to one.
        """
        units = [{ref.key for ref in unit.requested_claims} for unit in seat.units]
        shared = {place for place, ref in enumerate(seat.requested) if sum(ref.key in own for own in units) > 1}
        far = (
            [self._requests_served_off_node(seat, node) for node in self.session.cluster.nodes.values()]
            if shared
            else []
        )
        requests = [(place, name) for place, claim in enumerate(seat.claims) for name in _request_names(claim)]
        tied = {place for place, name in requests if not any((place, name) in own for own in far)}
        return not shared <= tied

    def _requests_served_off_node(self, seat: SameNodeUnits, node: Node) -> set[tuple[int, str]]:
        """Find the requests, by claim and name, for which there are devices that do not belong to the node."""
        compiler = self.engine.compiler
        question = compiler.question(seat.claims)
        view = self.engine.compiler.view(node, question)
        try:
            demands = compiler.problem(question, view.shape).demands
        except FatalError:
            return set()
        own = {number for number, device in enumerate(view.devices) if _node_selection_of(device).node_name}
        return {(one.claim, one.request) for one in demands if not own.issuperset(one.candidates)}

    def build_problem(self, nodes: CandidateNodes) -> GroupProblem:
        """Pose the question about these nodes. Raises ``AbortedError`` and ``UndecidedError``."""
        ground = self._merged_view(nodes)
        everywhere = self.session.cluster.nodes.values()
        with name_fatal_errors(self.names(ground)):
            found = build_group_problem(self.engine.compiler, ground, self.coupled, nodes, self.held, everywhere)
        return found if self.engine.decider.in_order else replace(found, problem=found.problem.order_independent())

    def _merged_view(self, nodes: CandidateNodes) -> MergedView:
        views = {
            node.metadata.name: self.engine.compiler.views.of(node, self._visible) for own in nodes for node in own
        }
        ids = [id_ for one in self.held for devices in one.requests.values() for id_ in devices]
        return merge_views(views, self.engine.compiler.views, self.session.cluster, ids, self._visible)

    def names(self, ground: MergedView) -> ProblemNames:
        """Names for the numbers of a question about this ground."""
        return group_problem_names(self.coupled, self.held, ground)

    def decide_or_raise(self, posed: GroupProblem) -> Decision:
        """Decide, or find the error that alone stands in the way (CELC-4). Raises ``AbortedError``."""
        with name_fatal_errors(self.names(posed.merged_view)):
            decision = self.decide(posed, posed.problem)
            if (
                self.session.policy != STRICT
                or decision.status is not Status.UNALLOCATABLE
                or not decision.has_relation_error
            ):
                return decision
            found = self.decide(posed, posed.problem.with_errors_as_true())
            trouble = first_relation_error(posed.problem, found.picks) if found.status is Status.ALLOCATED else None
            if trouble is not None:
                raise trouble
        return decision

    def decide(self, posed: GroupProblem, problem: Problem) -> Decision:
        """Decide about a problem that is posed like this one. Raises ``FatalError`` and ``DeadlineExceededError``."""
        decider, in_use = self.engine.decider, self.ledger.in_use(posed.merged_view.view)
        if self._surveyor is None:
            return decider.decide(problem, in_use, self.deadline)
        seen = replace(problem, landscape=self._surveyor.survey(posed.merged_view.view, self._visible))
        return cast("OptimizingDecider", decider).best(seen, in_use, self.deadline, self.session.work)


def _node_selection_of(device: PoolDevice) -> Located:
    return device.device if per_device(device.slice) else device.slice.spec


def _request_names(claim: ResourceClaim) -> Iterator[str]:
    return (request.name for request in claim.spec.devices.requests or ())


# Demands of groups that are tried one by one; of more all are named.
MAX_GROUP_DEMANDS = 16
CONSTRAINT_GROUP_REASON = "constraintGroup"
AloneFailure = tuple[tuple[Reason, ...], tuple[NodeClassFailure, ...]]
"""Why a seat finds nothing even alone."""


class GroupFailureExplainer:
    """Finds the reasons of a no; ``posed`` is the whole question, None if a seat has nothing to go to."""

    def __init__(self, asking: GroupSolver, suited: Sequence[AdmissibleNodes], posed: GroupProblem | None) -> None:
        self._asking = asking
        self._suited = suited
        self._posed = posed
        coupled = asking.coupled
        self._units = ", ".join(unit.name for unit in coupled.units)
        self._groups = ", ".join(tie.label for tie in coupled.groups)

    def outcomes(self) -> list[UnitOutcome]:
        """Give each unit its outcome, with reasons."""
        coupled = self._asking.coupled
        doubt = self._doubt()
        if doubt:
            return [
                UnitOutcome(unit, Status.UNKNOWN, reasons=(Reason(CONSTRAINT_GROUP_REASON, "", doubt),))
                for unit in coupled.units
            ]
        alone = [self._alone(seat, own) for seat, own in zip(coupled.node_groups, self._suited, strict=True)]
        reasons = self._of_others(alone) if any(alone) else self._of_groups()
        found = []
        for seat, own in zip(coupled.node_groups, alone, strict=True):
            mine, failures = own or (tuple(reasons), ())
            found += [UnitOutcome(unit, Status.UNALLOCATABLE, reasons=mine, failures=failures) for unit in seat.units]
        return found

    def _doubt(self) -> str:
        """Say why the no is not sure, if it is not."""
        together = f"{self._units} cannot be allocated together as {self._groups} demands"
        if any(map(self._asking.may_use_several_nodes, self._asking.coupled.node_groups)):
            return f"{together} with pods that share a claim on one node"
        return ""

    def _alone(self, seat: SameNodeUnits, suited: AdmissibleNodes) -> AloneFailure | None:
        """Try a seat alone on all its nodes; None if it fits, or if that is not known."""
        asking = self._asking
        failed = FailedNodes([node.metadata.name for node in suited.nodes])
        for position, node in enumerate(suited.nodes):
            attempt = asking.engine.allocate_on(node, seat.claims, asking.ledger, asking.deadline)
            if attempt.status is not Status.UNALLOCATABLE:
                return None
            failed.add(position, attempt)
        report = failed.report()
        names = [claim_text(ref.key) for ref in seat.requested]
        reasons = (*device_reasons(report, names), *suited.reasons)
        return reasons or (Reason("nodes", "", "there are no nodes"),), report

    def _of_others(self, alone: Sequence[AloneFailure | None]) -> list[Reason]:
        """Say whose fault it is that a unit that finds devices alone gets none."""
        pairs = zip(self._asking.coupled.node_groups, alone, strict=True)
        names = ", ".join(unit.name for seat, own in pairs if own for unit in seat.units)
        return [
            Reason(
                CONSTRAINT_GROUP_REASON,
                "",
                f"{names} finds no devices, and {self._groups} demands that all are allocated together",
            )
        ]

    def _of_groups(self) -> list[Reason]:
        """Name a minimal set of demands of groups, so that without any one of them all could be allocated."""
        try:
            needed = self._needed()
        except (DeadlineExceededError, FatalError):
            needed = None
        if needed is None:
            return [
                Reason(
                    CONSTRAINT_GROUP_REASON, "", f"{self._units} cannot be allocated together as {self._groups} demands"
                )
            ]
        if not needed:
            text = "each finds devices alone, but not all of them together, whatever groups demand"
            return [Reason("combination", "", f"{self._units}: {text}")]
        together = "cannot hold for devices of all of them" if len(needed) == 1 else "cannot hold with the others named"
        head = Reason(
            CONSTRAINT_GROUP_REASON,
            "",
            f"{self._units}: each finds devices alone, but not all of them as groups demand",
        )
        return [head, *(Reason(one.id, "", f"{_relation_label(one)}: {together}") for one in needed)]

    def _needed(self) -> list[Relation] | None:
        """Leave out demands as long as the rest is still too much (deletion filter); None: too many to try."""
        if self._posed is None:
            return None
        kept = [relation for relation in self._posed.group_relations if relation.hard]
        if self._is_no(self._posed, ()):
            return []
        if len(kept) > MAX_GROUP_DEMANDS:
            return None
        posed = self._posed
        return deletion_filter([[one] for one in kept], lambda rest: bool(rest) and self._is_no(posed, rest))

    def _is_no(self, posed: GroupProblem, kept: Collection[Relation]) -> bool:
        """Tell whether the units still do not fit with only these demands of groups."""
        positions = {relation.position for relation in posed.group_relations} - {relation.position for relation in kept}
        relations = tuple(one for one in posed.problem.relations if one.position not in positions)
        decision = self._asking.decide(posed, replace(posed.problem, relations=relations))
        return decision.status is Status.UNALLOCATABLE


def _relation_label(relation: Relation) -> str:
    condition = relation.condition
    if relation.id == "nodeLabel" or not isinstance(condition, TokenCondition):
        return relation.label
    return f"{relation.label} ({relation.id} {condition.constraint.attribute})"


def reduce_nodes(
    nodes_of: Sequence[Sequence[Node]],
    views: Mapping[str, NodeView],
    state: Callable[[NodeView], Hashable],
    labels: Sequence[str],
    held: Collection[DeviceId],
) -> list[list[Node]]:
    """Keep the first of equal nodes that each seat may go to, as many as there are seats.

    Nodes are equal if exchanging them, with all that they alone see, changes nothing: the same seats may go there,
    their own devices look alike and are used alike (``state``), what others see too is the same, and so are the values
    of these labels. A ``held`` device is like no other.
    """
    open_to = [{node.metadata.name for node in own} for own in nodes_of]
    named = _SharedNames(views, held)
    kept: Counter[Hashable] = Counter()
    left: set[str] = set()
    for name, node in {node.metadata.name: node for node in chain.from_iterable(nodes_of)}.items():
        view, own = views[name], node.metadata.labels or {}
        suits = tuple(name in others for others in open_to)
        key = view.shape.index, state(view), suits, tuple(map(own.get, labels)), named.of(view)
        kept[key] += 1
        if kept[key] > len(nodes_of):
            left.add(name)
    return [[node for node in own if node.metadata.name not in left] for own in nodes_of]


class _SharedNames:
    """Names of what is not a node's own, by its place in the view."""

    def __init__(self, views: Mapping[str, NodeView], held: Collection[DeviceId]) -> None:
        devices = Counter(device.id for view in views.values() for device in view.devices)
        pools = Counter(pool.id for view in views.values() for pool in view.pools)
        self._devices = {id_ for id_, count in devices.items() if count > 1}.union(held)
        self._pools = {id_ for id_, count in pools.items() if count > 1}

    def of(self, view: NodeView) -> Hashable:
        """Return pools that others see too, whose counters they may share, and devices."""
        pools = tuple((place, pool.id) for place, pool in enumerate(view.pools) if pool.id in self._pools)
        devices = tuple((place, one.id) for place, one in enumerate(view.devices) if one.id in self._devices)
        return pools, devices

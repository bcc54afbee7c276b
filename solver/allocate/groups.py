"""Place coupled units together: each node group on one node, all claims with their devices, or nothing.

``GroupPlacer`` is the entry. ``GroupSolver`` chooses the nodes to ask about, compiles the question and decides it.
``GroupFailureExplainer`` names the unit that finds nothing even alone, or a minimal set of demands of groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from msgspec import structs

from ...models.cluster.node_fit import SelectorError
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import ProofKind, Reason, SoftEntry, Status
from ...models.workload.node_room import ROOM, NodeRooms
from ...problem.conditions import TokenCondition
from ...problem.messages import STRICT, DeadlineExceededError, FatalError, ProblemNames, claim_text
from ...problem.node_state import AllocatedState, NodeContextBuilder
from ...problem.problem import InUse, Problem, Relation
from ...problem.shapes import NodeView, node_class_key
from ..engines.auto import decide_by_counting
from ..engines.engine import Decision, OptimizingDecider, Pick, Session
from ..engines.engines import NodeEngine, decisive_error, decisive_relation_error, problem_names, reason_from_error
from ..engines.outcome import (
    NodeClassFailure,
    Objective,
    UnitOutcome,
    bound_over_nodes,
    deletion_filter,
    device_reasons,
    objective_vector,
)
from ..engines.result import has_uncombinable_selector, node_selection_of, soft_entries
from .coupling import AdmissibleNodes, CoupledUnits, GroupAbortedError, SameNodeUnits, name_fatal_errors
from .group_builder import STAND_IN_POOL, ContradictingViewsError, MergedView, held_claims, merge_views, reduce_nodes
from .group_problem import GroupProblem, build_group_problem, group_problem_names
from .nodes import FailedNodes

AllocationsByClaim = dict[ObjectKey, AllocationResult]
BarredNode = tuple[int, str]
"""A node group by number, and the name of a node where it must not go."""
# How often node groups are moved from nodes that turn out to have too little room for all of them.
_MOST_ROOM_ATTEMPTS = 64
_NO_COMMON_ROOM = "no nodes with room for all that belongs together were found"


class GroupPlacer:
    """Places coupled units, in the way of an engine. ``interrupted``: Ctrl-C came while the last ones were placed."""

    def __init__(
        self,
        session: Session,
        engine: NodeEngine,
        allocated_state: AllocatedState,
        rooms: NodeRooms,
        deadline: float | None,
    ) -> None:
        self._session = session
        self._engine = engine
        self._ledger = allocated_state
        self._rooms = rooms
        self._deadline = deadline
        self.interrupted = False

    def place(self, coupled: CoupledUnits, admissible: Sequence[AdmissibleNodes]) -> list[UnitOutcome]:
        """Find nodes and devices for all units, or for none; nothing is committed.

        ``admissible`` are the nodes that each node group may go to, whatever devices they have; each alone has room
        there. Where node groups that meet on a node have none together, one of them must go elsewhere: each is tried.
        """
        self.interrupted = False
        found: list[list[UnitOutcome]] = []
        open_branches: list[frozenset[BarredNode]] = [frozenset()]
        undecided = False
        for _ in range(_MOST_ROOM_ATTEMPTS):
            if not open_branches or (found and not self._session.stages) or self.interrupted:
                break
            barred = open_branches.pop()
            answers = self._place_barring(coupled, admissible, barred)
            if answers[0].outcome != Status.ALLOCATED:
                if not barred:
                    return answers
                undecided |= answers[0].outcome != Status.UNALLOCATABLE
                continue
            crowded = self._crowded(coupled, answers)
            open_branches += [barred | {one} for one in crowded]
            if not crowded:
                found.append(answers)
        undecided |= bool(open_branches)
        if found:
            return _best_of(found, [None] if undecided else [])
        message = f"{', '.join(unit.name for unit in coupled.units)}: {_NO_COMMON_ROOM}"
        outcome = Status.UNKNOWN if undecided else Status.UNALLOCATABLE
        return _same_outcome_for_all(coupled, outcome, Reason(ROOM, "", message))

    def _crowded(self, coupled: CoupledUnits, answers: Sequence[UnitOutcome]) -> list[BarredNode]:
        """Find the node groups on the first node that has no room for all of them."""
        nodes = {id(answer.unit): answer.node or "" for answer in answers}
        of_node: dict[str, list[int]] = defaultdict(list)
        for number, node_group in enumerate(coupled.node_groups):
            of_node[nodes[id(node_group.units[0])]].append(number)
        for node, numbers in of_node.items():
            pods = (unit.pod for number in numbers for unit in coupled.node_groups[number].units)
            if not self._rooms.fit_together([self._rooms.demand(pod.spec) for pod in pods if pod], node):
                return [(number, node) for number in numbers]
        return []

    def _place_barring(
        self, coupled: CoupledUnits, admissible: Sequence[AdmissibleNodes], barred: Collection[BarredNode]
    ) -> list[UnitOutcome]:
        """Place the units with some node groups kept from some nodes."""
        left = [
            replace(own, nodes=tuple(node for node in own.nodes if (number, node.metadata.name) not in barred))
            for number, own in enumerate(admissible)
        ]
        self._engine.compiler.limit(self._deadline)
        try:
            return self._place(coupled, left)
        except SelectorError as error:
            reason = Reason("nodeSelector", "", f"gather pool information: {error}")
            return _same_outcome_for_all(coupled, Status.ERROR, reason)
        except GroupAbortedError as error:
            return _same_outcome_for_all(coupled, Status.ERROR, error.reason)
        except ContradictingViewsError as error:
            return _same_outcome_for_all(coupled, Status.UNKNOWN, Reason("constraintGroup", "", str(error)))
        except DeadlineExceededError as error:
            return _same_outcome_for_all(coupled, Status.UNKNOWN, Reason("timeLimit", "", str(error)))

    def _place(self, coupled: CoupledUnits, admissible: Sequence[AdmissibleNodes]) -> list[UnitOutcome]:
        solver = GroupSolver(self._session, self._engine, self._ledger, self._rooms, self._deadline, coupled)
        decision, group_problem = Decision(Status.UNALLOCATABLE, proof_kind=ProofKind.EXHAUSTED), None
        for nodes in solver.candidate_node_sets(admissible):
            group_problem = solver.build_problem(nodes)
            decision = solver.decide_or_raise(group_problem)
            if decision.status is Status.ALLOCATED:
                self.interrupted = decision.interrupted
                return self._allocated(solver, nodes, group_problem, decision)
        if decision.status is Status.UNKNOWN:
            return _same_outcome_for_all(coupled, Status.UNKNOWN, Reason("timeLimit", "", decision.message))
        if solver.errors:
            return _same_outcome_for_all(coupled, Status.ERROR, solver.errors[0])
        return GroupFailureExplainer(solver, admissible, group_problem).outcomes()

    def _allocated(
        self, solver: GroupSolver, nodes: CandidateNodes, group_problem: GroupProblem, decision: Decision
    ) -> list[UnitOutcome]:
        """Build the results; devices whose selectors cannot be combined are an error of the scheduler's (RES-7).

        An engine that chooses devices in no order chooses others if there are any.
        """
        try:
            return self._built(solver.coupled, nodes, group_problem, decision)
        except GroupAbortedError:
            if self._engine.decider.in_order:
                raise
            devices = enumerate(group_problem.merged_view.view.devices)
            awkward = {
                number for number, one in devices if one.id[1] != STAND_IN_POOL and has_uncombinable_selector(one)
            }
            other = solver.decide(group_problem, group_problem.problem.without_devices(awkward))
            if other.status is not Status.ALLOCATED:
                raise
            return self._built(solver.coupled, nodes, group_problem, other)

    def _built(
        self, coupled: CoupledUnits, nodes: CandidateNodes, group_problem: GroupProblem, decision: Decision
    ) -> list[UnitOutcome]:
        found: list[UnitOutcome] = []
        for number, node_group in enumerate(coupled.node_groups):
            node, left = self._allocate_node_group(number, node_group, nodes[number], group_problem, decision)
            for unit in node_group.units:
                # No earlier unit has these.
                pairs = tuple((ref, left.pop(ref.key)) for ref in unit.requested_claims if ref.key in left)
                found.append(UnitOutcome(unit, Status.ALLOCATED, node.metadata.name, allocations=pairs))
        soft = soft_entries(group_problem.problem, decision.picks, group_problem.builder.keys)
        own = len(soft) - sum(not relation.hard for relation in group_problem.group_relations)
        # An entry of a group is no claim's, even if it covers one only.
        labelled = (*soft[:own], *(structs.replace(entry, claim="") for entry in soft[own:]))
        return _with_soft_entries(found, labelled, decision)

    def _allocate_node_group(
        self,
        number: int,
        node_group: SameNodeUnits,
        nodes: Sequence[Node],
        group_problem: GroupProblem,
        decision: Decision,
    ) -> tuple[Node, AllocationsByClaim]:
        """Build what a node group gets, and find on which node; one that asks for no device is on its first."""
        served = group_problem.builder.served_requests
        picks = [pick for pick in decision.picks if served[pick.demand].node_group == number]
        node = next((node for pick in picks if (node := served[pick.demand].node)), nodes[0])
        own = [demand for demand, one in enumerate(served) if one.node_group == number and one.node is node]
        renumbered = [Pick(own.index(pick.demand), pick.device) for pick in picks]
        view = structs.replace(group_problem.merged_view.view, node=node)
        with name_fatal_errors(problem_names(node_group.claims, view)):
            made = self._engine.builder.build(
                node_group.claims, [served[demand].ask for demand in own], renumbered, view
            )
        return node, dict(zip((ref.key for ref in node_group.requested), made, strict=True))


def _best_of(found: Sequence[list[UnitOutcome]], others: Sequence[Objective | None]) -> list[UnitOutcome]:
    """Choose the answer with the best objective, which the first unit has; ``others`` could still be found."""
    best = min(found, key=lambda answers: objective_vector(answers[0].objective))
    rest = [answers[0].objective for answers in found if answers is not best]
    return [replace(best[0], objective=bound_over_nodes(best[0].objective, [*rest, *others])), *best[1:]]


def _with_soft_entries(
    found: Sequence[UnitOutcome], soft: Iterable[SoftEntry], decision: Decision
) -> list[UnitOutcome]:
    """Give each unit its own soft entries, and the first one those of groups and what the objective came to."""
    owner = {claim_text(ref.key): place for place, one in enumerate(found) for ref, _ in one.allocations}
    own: list[list[SoftEntry]] = [[] for _ in found]
    for entry in soft:
        own[owner.get(entry.claim, 0)].append(entry)
    complete = [replace(one, soft_entries=tuple(entries)) for one, entries in zip(found, own, strict=True)]
    return [replace(complete[0], objective=decision.objective), *complete[1:]]


def _same_outcome_for_all(coupled: CoupledUnits, outcome: Status, reason: Reason) -> list[UnitOutcome]:
    return [UnitOutcome(unit, outcome, reasons=(reason,)) for unit in coupled.units]


# Nodes that each node group may go to at first: most questions have an answer on few.
NODES_TRIED_FIRST = 8
CandidateNodes = Sequence[Sequence[Node]]


class GroupSolver:
    """One set of coupled units in front of an engine; ``errors`` are those met where a node group cannot be served."""

    def __init__(
        self,
        session: Session,
        engine: NodeEngine,
        allocated_state: AllocatedState,
        rooms: NodeRooms,
        deadline: float | None,
        coupled: CoupledUnits,
    ) -> None:
        self._rooms = rooms
        self._demands = [rooms.demand(unit.pod.spec) for unit in coupled.units if unit.pod]
        self.session = session
        self.engine = engine
        self.allocated_state = allocated_state
        self.deadline = deadline
        self.coupled = coupled
        self.errors: list[Reason] = []
        self.held = held_claims(session.cluster, dict.fromkeys(key for scope in coupled.groups for key in scope.claims))
        claims = [claim for node_group in coupled.node_groups for claim in node_group.claims]
        entries = [entry for scope in coupled.groups for entry in scope.group.spec.constraints or ()]
        self._held_devices = [id_ for one in self.held for devices in one.requests.values() for id_ in devices]
        self._visible = engine.compiler.visible(claims, entries)
        self._surveyor = NodeContextBuilder(session.cluster) if session.stages else None

    def candidate_node_sets(self, admissible: Sequence[AdmissibleNodes]) -> Iterator[CandidateNodes]:
        """Yield nodes to ask about, the first few of each node group before all; none where a node group has none.

        The last ones are all that make a difference. Whoever looks for the best asks about all at once.
        """
        able = [
            list(self._nodes_with_enough_devices(node_group, own.nodes))
            for node_group, own in zip(self.coupled.node_groups, admissible, strict=True)
        ]
        labels = sorted({scope.group.spec.same_node_label for scope in self.coupled.groups} - {""})
        # Nodes that make no difference are left out.
        kept = reduce_nodes(able, self._views(able), self._state, labels, self._held_devices)
        if not all(kept):
            return
        if not self.session.stages and any(len(own) > NODES_TRIED_FIRST for own in kept):
            yield [own[:NODES_TRIED_FIRST] for own in kept]
        yield kept

    def _nodes_with_enough_devices(self, node_group: SameNodeUnits, nodes: Sequence[Node]) -> Iterator[Node]:
        """Yield the nodes where the node group finds enough devices alone; note the errors met on the others."""
        question = self.engine.compiler.question(node_group.claims)
        known: dict[Hashable, bool] = {}
        for node in nodes:
            view = self.engine.compiler.view(node, question)
            in_use = self.allocated_state.in_use(view)
            key = node_class_key(view, in_use)
            if key not in known:
                known[key] = self._is_able(node_group, view, in_use)
            if known[key]:
                yield node

    def _is_able(self, node_group: SameNodeUnits, view: NodeView, in_use: InUse) -> bool:
        compiler = self.engine.compiler
        where = f"node {view.node.metadata.name}: "
        try:
            problem = compiler.problem(compiler.question(node_group.claims), view.shape)
        except FatalError as error:
            self.errors.append(reason_from_error(error, problem_names(node_group.claims, view), where))
            return False
        able = decide_by_counting(problem.order_independent(), in_use, self.deadline)[1] is None
        wrong = None if self.session.policy != STRICT else decisive_error(problem, in_use, self.engine.decider.in_order)
        if wrong is not None:
            self.errors.append(reason_from_error(wrong, problem_names(node_group.claims, view), where))
        return able

    def _views(self, nodes: CandidateNodes) -> dict[str, NodeView]:
        views = self.engine.compiler.views
        return {node.metadata.name: views.of(node, self._visible) for own in nodes for node in own}

    def _state(self, view: NodeView) -> Hashable:
        """Return what is in use on a node, the room that is left, and what objectives see of it."""
        node_context = self._surveyor and self._surveyor.survey(view, self._visible)
        room = self._rooms.left_for(self._demands, view.node.metadata.name)
        return self.allocated_state.in_use(view).key, room, node_context

    def may_use_several_nodes(self, node_group: SameNodeUnits) -> bool:
        """Tell whether pods that share a claim could be on several nodes after all: it may be usable on each of them.

        A request that only devices of nodes serve ties its claim to one.
        """
        units = [{ref.key for ref in unit.requested_claims} for unit in node_group.units]
        shared = {place for place, ref in enumerate(node_group.requested) if sum(ref.key in own for own in units) > 1}
        nodes = self.session.cluster.nodes.values() if shared else ()
        far = [self._requests_served_off_node(node_group, node) for node in nodes]
        requests = [
            (place, request.name)
            for place, claim in enumerate(node_group.claims)
            for request in claim.spec.devices.requests or ()
        ]
        tied = {place for place, name in requests if not any((place, name) in own for own in far)}
        return not shared <= tied

    def _requests_served_off_node(self, node_group: SameNodeUnits, node: Node) -> set[tuple[int, str]]:
        """Find the requests, by claim and name, for which there are devices that do not belong to the node."""
        compiler = self.engine.compiler
        question = compiler.question(node_group.claims)
        view = self.engine.compiler.view(node, question)
        try:
            demands = compiler.problem(question, view.shape).demands
        except FatalError:
            return set()
        own = {number for number, device in enumerate(view.devices) if node_selection_of(device).node_name}
        return {(one.claim, one.request) for one in demands if not own.issuperset(one.candidates)}

    def build_problem(self, nodes: CandidateNodes) -> GroupProblem:
        """Compile the question about these nodes. Raises ``AbortedError`` and ``UndecidedError``."""
        views, cluster = self._views(nodes), self.session.cluster
        merged_view = merge_views(views, self.engine.compiler.views, cluster, self._held_devices, self._visible)
        everywhere = self.session.cluster.nodes.values()
        with name_fatal_errors(self.names(merged_view)):
            found = build_group_problem(self.engine.compiler, merged_view, self.coupled, nodes, self.held, everywhere)
        return found if self.engine.decider.in_order else replace(found, problem=found.problem.order_independent())

    def names(self, merged_view: MergedView) -> ProblemNames:
        """Names for the numbers of a question about this ground."""
        return group_problem_names(self.coupled, self.held, merged_view)

    def decide_or_raise(self, group_problem: GroupProblem) -> Decision:
        """Decide, or find the error that alone stands in the way (CELC-4). Raises ``AbortedError``."""
        with name_fatal_errors(self.names(group_problem.merged_view)):
            decision = self.decide(group_problem, group_problem.problem)
            if (
                self.session.policy != STRICT
                or decision.status is not Status.UNALLOCATABLE
                or not decision.has_relation_error
            ):
                return decision
            error = decisive_relation_error(group_problem.problem, partial(self.decide, group_problem))
            if error is not None:
                raise error
        return decision

    def decide(self, group_problem: GroupProblem, problem: Problem) -> Decision:
        """Decide about a variant of the group problem. Raises ``FatalError`` and ``DeadlineExceededError``."""
        decider, in_use = self.engine.decider, self.allocated_state.in_use(group_problem.merged_view.view)
        if self._surveyor is None:
            return decider.decide(problem, in_use, self.deadline)
        seen = replace(problem, node_context=self._surveyor.survey(group_problem.merged_view.view, self._visible))
        return cast("OptimizingDecider", decider).best(seen, in_use, self.deadline, self.session.work)


# Demands of groups that are tried one by one; of more all are named.
MAX_GROUP_DEMANDS = 16
CONSTRAINT_GROUP_REASON = "constraintGroup"
AloneFailure = tuple[tuple[Reason, ...], tuple[NodeClassFailure, ...]]
"""Why a node group finds nothing even alone."""


class GroupFailureExplainer:
    """Finds the reasons of a no; ``group_problem`` is the whole question, None if a node group has nothing to go to."""

    def __init__(
        self, solver: GroupSolver, admissible: Sequence[AdmissibleNodes], group_problem: GroupProblem | None
    ) -> None:
        self._solver = solver
        self._suited = admissible
        self._group_problem = group_problem
        coupled = solver.coupled
        self._units = ", ".join(unit.name for unit in coupled.units)
        self._groups = ", ".join(scope.label for scope in coupled.groups)
        self._together = f"{self._units} cannot be allocated together as {self._groups} demands"

    def outcomes(self) -> list[UnitOutcome]:
        """Give each unit its outcome, with reasons."""
        coupled = self._solver.coupled
        if any(map(self._solver.may_use_several_nodes, coupled.node_groups)):
            # The no is not sure.
            doubt = f"{self._together} with pods that share a claim on one node"
            return _same_outcome_for_all(coupled, Status.UNKNOWN, Reason(CONSTRAINT_GROUP_REASON, "", doubt))
        alone = [
            self._alone(node_group, own) for node_group, own in zip(coupled.node_groups, self._suited, strict=True)
        ]
        if any(alone):
            pairs = zip(coupled.node_groups, alone, strict=True)
            names = ", ".join(unit.name for node_group, own in pairs if own for unit in node_group.units)
            fault = f"{names} finds no devices, and {self._groups} demands that all are allocated together"
            reasons = [Reason(CONSTRAINT_GROUP_REASON, "", fault)]
        else:
            reasons = self._of_groups()
        found = []
        for node_group, own in zip(coupled.node_groups, alone, strict=True):
            mine, failures = own or (tuple(reasons), ())
            # Failures number the claims of all units together, which are not those of each.
            failures = failures if len(node_group.units) == 1 else ()
            found += [
                UnitOutcome(unit, Status.UNALLOCATABLE, reasons=mine, failures=failures) for unit in node_group.units
            ]
        return found

    def _alone(self, node_group: SameNodeUnits, admissible: AdmissibleNodes) -> AloneFailure | None:
        """Try a node group alone on all its nodes; None if it fits, or if that is not known."""
        solver = self._solver
        failed = FailedNodes([node.metadata.name for node in admissible.nodes])
        for position, node in enumerate(admissible.nodes):
            attempt = solver.engine.allocate_on(node, node_group.claims, solver.allocated_state, solver.deadline)
            if attempt.status is not Status.UNALLOCATABLE:
                return None
            failed.add(position, attempt)
        report = failed.report()
        names = [claim_text(ref.key) for ref in node_group.requested]
        reasons = (*device_reasons(report, names), *admissible.reasons)
        return reasons or (Reason("nodes", "", "there are no nodes"),), report

    def _of_groups(self) -> list[Reason]:
        """Name a minimal set of demands of groups, so that without any one of them all could be allocated."""
        whole = self._group_problem
        unexplained = [Reason(CONSTRAINT_GROUP_REASON, "", self._together)]
        if whole is None:
            return unexplained
        kept = [[relation] for relation in whole.group_relations if relation.hard]
        try:
            if self._is_no(whole, ()):
                kept = []
            elif len(kept) > MAX_GROUP_DEMANDS:
                return unexplained
            needed = deletion_filter(kept, lambda rest: bool(rest) and self._is_no(whole, rest)) if kept else []
        except (DeadlineExceededError, FatalError):
            return unexplained
        if not needed:
            text = "each finds devices alone, but not all of them together, whatever groups demand"
            return [Reason("combination", "", f"{self._units}: {text}")]
        together = "cannot hold for devices of all of them" if len(needed) == 1 else "cannot hold with the others named"
        head = Reason(
            CONSTRAINT_GROUP_REASON,
            "",
            f"{self._units}: each finds devices alone, but not all of them as groups demand",
        )
        reasons = [head]
        for one in needed:
            label = one.label
            if one.id != "nodeLabel" and isinstance(one.condition, TokenCondition):
                label += f" ({one.id} {one.condition.constraint.attribute})"
            reasons.append(Reason(one.id, "", f"{label}: {together}"))
        return reasons

    def _is_no(self, group_problem: GroupProblem, kept: Collection[Relation]) -> bool:
        """Tell whether the units still do not fit with only these demands of groups."""
        positions = {relation.position for relation in group_problem.group_relations} - {
            relation.position for relation in kept
        }
        relations = tuple(one for one in group_problem.problem.relations if one.position not in positions)
        decision = self._solver.decide(group_problem, replace(group_problem.problem, relations=relations))
        return decision.status is Status.UNALLOCATABLE

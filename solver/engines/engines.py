"""The engines that compile a question and have it decided: everything about an answer but the decision itself.

``NodeCompiler`` compiles questions about nodes. ``NodeEngine`` answers them one node at a time; ``OptimizingEngine``
also finds the best allocation on a node. Both keep what they know of nodes that are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from ...models.cluster.cluster import Cluster, topology_instances
from ...models.cluster.node_fit import SelectorError
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import LATTICES, DeviceTopology
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import key_of
from ...models.results.common import Reason, Status
from ...models.topology.places import Axis, TopologyError, place_devices
from ...models.workload.node_resources import NodeResourceError
from ...models.workload.node_room import DeviceBudget, plugin_classes
from ...models.workload.requests import Requests
from ...problem.compiler import Compiler, Question
from ...problem.filters import EXPRESSION_FILTERS
from ...problem.messages import STRICT, DeadlineExceededError, FatalError, Justification, ProblemNames, claim_text
from ...problem.node_state import AllocatedState, NodeContextBuilder
from ...problem.problem import InUse, NodeContext, Problem, RelationError, trap_error
from ...problem.requests import ResolvedRequest
from ...problem.selectors import ExpressionEvaluator
from ...problem.shapes import NodeView, NodeViews, node_class_key
from ...problem.topology import membership_of
from .engine import TIME_LIMIT_RULE, Counts, Decider, Decision, NodeResult, OptimizingDecider, Session
from .outcome import DemandTable, demand_tables
from .result import ResultBuilder, consumed_capacity, has_uncombinable_selector, soft_entries


@dataclass(frozen=True, slots=True)
class _NodeFailure:
    """Why there is no solution, without names: it is the same for equal nodes and claims."""

    decision: Decision
    invalid_pools: bool
    tables: tuple[DemandTable, ...]
    error: FatalError | None


@dataclass(frozen=True, slots=True)
class NodeQuery:
    """A question about a node, with what is in use there."""

    question: Question
    claims: Sequence[ResourceClaim]
    view: NodeView
    in_use: InUse


DecideFunction = Callable[[NodeQuery, Problem], Decision]


class NodeCompiler(Compiler):
    """Compiles questions about the nodes of a session's cluster; ``views`` are what the nodes see of its devices."""

    def __init__(self, session: Session) -> None:
        cluster, gates = session.cluster, session.gates
        self.evaluator = ExpressionEvaluator()
        self.views = NodeViews(cluster.pools(gates), gates, plugin_classes(cluster, gates))
        super().__init__(
            cluster.classes,
            gates,
            self.evaluator,
            session.policy,
            session.cel_encoding,
            cluster.topologies,
            session.caller_constraints,
            partial(_cluster_axes, cluster, gates),
        )

    def limit(self, deadline: float | None) -> None:
        """Stop at this reading of ``time.monotonic``, with ``DeadlineExceededError``; None: no limit."""
        self.evaluator.deadline = self.topologies.deadline = self.deadline = deadline

    def view(self, node: Node, question: Question) -> NodeView:
        """Return what a question sees of a node. Raises ``SelectorError``."""
        return self.views.of(node, question.visible)


class NodeEngine:
    """Answers one node at a time. Failures are remembered: the same question on equal nodes with equal usage fails.

    ``budget`` is what devices may take of the node in the next question (NAR-9); an engine that goes by the scheduler's
    order chooses devices without looking at it. Engines of one session may share a ``compiler``.
    """

    def __init__(self, session: Session, decider: Decider, compiler: NodeCompiler | None = None) -> None:
        self._session = session
        self.decider = decider
        self.compiler = compiler or NodeCompiler(session)
        self.builder = ResultBuilder(session.gates, session.seed)
        self._failed: dict[Hashable, _NodeFailure] = {}
        self.budget: DeviceBudget | None = None

    @property
    def counts(self) -> Counts:
        """Work done so far."""
        counts = self.decider.counts
        classes = counts.classes or self.compiler.views.classes
        return replace(counts, cel_evaluations=self.compiler.evaluator.evaluations, classes=classes)

    def allocate_on(
        self, node: Node, claims: Sequence[ResourceClaim], allocated_state: AllocatedState, deadline: float | None
    ) -> NodeResult:
        """Decide about the node, and build the result."""
        return self.answer(
            node,
            claims,
            allocated_state,
            deadline,
            lambda query, problem: self.decider.decide(problem, query.in_use, deadline),
        )

    def answer(
        self,
        node: Node,
        claims: Sequence[ResourceClaim],
        allocated_state: AllocatedState,
        deadline: float | None,
        decide: DecideFunction,
    ) -> NodeResult:
        """Compile the question, have it decided, and build the result."""
        self.compiler.limit(deadline)
        try:
            question = self.compiler.question(claims)
            view = self.compiler.view(node, question)
            return self._decide(NodeQuery(question, claims, view, allocated_state.in_use(view)), decide)
        except SelectorError as error:
            return NodeResult(Status.ERROR, rule="nodeSelector", message=f"gather pool information: {error}")
        except FatalError as error:
            return _fatal_result(error, claims, view)
        except DeadlineExceededError as error:
            return NodeResult(Status.UNKNOWN, rule=TIME_LIMIT_RULE, message=str(error))

    def _decide(self, query: NodeQuery, decide: DecideFunction) -> NodeResult:
        if self.budget is not None and not self.decider.in_order:
            found = self._decide_within(query, self.budget, decide)
            if found is not None:
                return found
        key = query.question.index, node_class_key(query.view, query.in_use)
        failure = self._failed.get(key)
        if failure is None:
            problem = self.compiler.problem(query.question, query.view.shape)
            searched = problem if self.decider.in_order else problem.order_independent()
            decision = decide(query, searched)
            if decision.status is Status.ALLOCATED:
                return self._result_or_other_devices(query, searched, decision, decide)
            error = self._decisive_error(query, problem, searched, decision, decide)
            failure = self._failed[key] = _NodeFailure(
                decision, problem.invalid_pools, demand_tables(problem, query.in_use), error
            )
        return _unallocatable_result(failure, query.claims, query.view)

    def _decide_within(self, query: NodeQuery, budget: DeviceBudget, decide: DecideFunction) -> NodeResult | None:
        """Choose devices for which the node has cpu, memory and so on (NAR-9); None: there are no such devices."""
        problem = self.compiler.problem(query.question, query.view.shape).order_independent()
        asks = self.compiler.resolved_requests(query.question, query.view.shape)
        limited = _with_node_limits(problem, query.view, asks, budget, self._session.gates)
        if not limited.node_limits:
            return None
        decision = decide(query, limited)
        if decision.status is Status.ALLOCATED:
            return self._result_or_other_devices(query, limited, decision, decide)
        if decision.status is Status.UNKNOWN:
            return NodeResult(Status.UNKNOWN, message=decision.message)
        return None

    def _result_or_other_devices(
        self, query: NodeQuery, problem: Problem, decision: Decision, decide: DecideFunction
    ) -> NodeResult:
        """Build the result; devices whose selectors cannot be combined are an error of the scheduler's (RES-7).

        An engine that chooses devices in no order chooses others if there are any.
        """
        try:
            return self._build_result(query, problem, decision)
        except FatalError:
            if self.decider.in_order:
                raise
            awkward = {number for number, device in enumerate(query.view.devices) if has_uncombinable_selector(device)}
            other = decide(query, problem.without_devices(awkward))
            if other.status is not Status.ALLOCATED:
                raise
            return self._build_result(query, problem, other)

    def _build_result(self, query: NodeQuery, problem: Problem, decision: Decision) -> NodeResult:
        asks = self.compiler.resolved_requests(query.question, query.view.shape)
        made = self.builder.build(query.claims, asks, decision.picks, query.view)
        return NodeResult(
            Status.ALLOCATED,
            made,
            objective=decision.objective,
            interrupted=decision.interrupted,
            soft_entries=soft_entries(problem, decision.picks, [key_of(claim.metadata) for claim in query.claims]),
        )

    def _decisive_error(
        self, query: NodeQuery, problem: Problem, searched: Problem, decision: Decision, decide: DecideFunction
    ) -> FatalError | None:
        """Find the error that alone stands in the way, if there is one (policy ``strict``)."""
        if self._session.policy != STRICT or decision.status is not Status.UNALLOCATABLE:
            return None
        error = decisive_error(problem, query.in_use, self.decider.in_order)
        if error is not None or not decision.has_relation_error:
            return error
        return decisive_relation_error(searched, lambda tolerant: decide(query, tolerant))


class OptimizingEngine(NodeEngine):
    """Remembers the best answers: the same question on equal nodes with equal usage has the same one."""

    def __init__(self, session: Session, decider: OptimizingDecider) -> None:
        super().__init__(session, decider)
        self._best_decider = decider
        self._surveyor = NodeContextBuilder(session.cluster) if session.stages else None
        self._best: dict[Hashable, Decision] = {}

    def best(
        self,
        node: Node,
        claims: Sequence[ResourceClaim],
        allocated_state: AllocatedState,
        deadline: float | None,
        work: float | None,
    ) -> NodeResult:
        """Find the best allocation on the node by the session's stages."""

        def decide(query: NodeQuery, problem: Problem) -> Decision:
            survey = self._surveyor and self._surveyor.survey(query.view, query.question.visible)
            node_context = survey or NodeContext()
            # The same question may come with fewer devices.
            devices = tuple(demand.candidates for demand in problem.demands)
            errors_count = any(relation.errors_count_as_true for relation in problem.relations)
            key = query.question.index, node_class_key(query.view, query.in_use), node_context, devices, errors_count
            # What devices may take of the node is another amount for each unit.
            decision = None if problem.node_limits else self._best.get(key)
            if decision is None:
                seen = replace(problem, node_context=node_context)
                decision = self._best_decider.best(seen, query.in_use, deadline, work)
                if decision.status is Status.ALLOCATED and not decision.interrupted and not problem.node_limits:
                    self._best[key] = decision
            return decision

        return self.answer(node, claims, allocated_state, deadline, decide)


def _with_node_limits(
    problem: Problem, view: NodeView, asks: Sequence[ResolvedRequest], budget: DeviceBudget, gates: FeatureGates
) -> Problem:
    """The question with what devices take of the node; the same question if they take nothing (NAR-2, NAR-3)."""
    amounts: list[dict[int, Requests]] = []
    for demand, ask in zip(problem.demands, asks, strict=True):
        drawn: dict[int, Requests] = {}
        for number in demand.candidates:
            device = view.devices[number]
            if device.id in budget.devices.devices:
                consumed = consumed_capacity(device.device, ask, gates)
                with suppress(NodeResourceError):
                    drawn[number] = budget.draws(demand.claim, device.id, consumed)
        amounts.append(drawn)
    names = sorted({name for drawn in amounts for own in drawn.values() for name in own})
    lefts = [(name, left) for name in names if (left := budget.left(name)) is not None]
    rows = {name: row for row, (name, _) in enumerate(lefts)}
    demands = tuple(
        replace(
            demand,
            node_draws={
                device: tuple((rows[name], amount) for name, amount in sorted(own.items()) if name in rows)
                for device, own in drawn.items()
            },
        )
        for demand, drawn in zip(problem.demands, amounts, strict=True)
    )
    return replace(problem, demands=demands, node_limits=tuple(lefts)) if lefts else problem


def decisive_relation_error(problem: Problem, decide: Callable[[Problem], Decision]) -> FatalError | None:
    """Find the error of a relation without which the claims would fit, if there is one (CELC-4).

    ``decide`` is asked again with errors taken for true; the first relation that its devices fail for an error counts.
    """
    found = decide(problem.with_errors_as_true())
    if found.status is not Status.ALLOCATED:
        return None
    members = [(pick.demand, pick.device) for pick in found.picks]
    for relation in problem.relations:
        verdict = relation.verdict(members)
        if relation.hard and isinstance(verdict, RelationError):
            return FatalError(relation.id, verdict.message, claim=relation.claims[0])
    return None


def decisive_error(problem: Problem, in_use: InUse, in_order: bool) -> FatalError | None:
    """Find the first error without which a free device might have been usable (policy ``strict``).

    A search in order meets errors that are not about expressions by itself, if they matter.
    """
    for demand in problem.demands:
        for device, failed in enumerate(demand.failures):
            free = demand.admin or device not in in_use.dedicated
            if (
                failed
                and free
                and all(one.error and (one.filter in EXPRESSION_FILTERS or not in_order) for one in failed)
            ):
                return trap_error(failed[0], demand.claim, device)
    return None


def _unallocatable_result(failure: _NodeFailure, claims: Sequence[ResourceClaim], view: NodeView) -> NodeResult:
    """Say why; an invalid pool is the reason that upstream gives (POOL-13)."""
    decision = failure.decision
    message = "invalid resource pools were encountered" if failure.invalid_pools else "cannot allocate all claims"
    error = failure.error and _fatal_result(failure.error, claims, view).message
    witness, names = decision.witness, problem_names(claims, view)
    return NodeResult(
        decision.status,
        rule="pool" if failure.invalid_pools else "",
        message=decision.message or message,
        error=error or "",
        rejections=failure.tables,
        witness=witness,
        proof=display_message(witness, names) if witness else "",
        proof_kind=decision.proof_kind,
        counted=names.name_devices(witness.counted) if witness and witness.counted else None,
    )


def problem_names(claims: Sequence[ResourceClaim], view: NodeView) -> ProblemNames:
    """Names for the numbers of a Problem about these claims on this node."""
    return ProblemNames(
        tuple(key_of(claim.metadata) for claim in claims),
        tuple(device.id for device in view.devices),
        tuple(pool.id for pool in view.pools),
    )


def display_message(said: FatalError | Justification, names: ProblemNames) -> str:
    """Fill the names of its claim, device and pool into the message of an error or a proof."""
    return names.fill(said.message, claim=said.claim, device=said.device, pool=said.pool)


def reason_from_error(error: FatalError, names: ProblemNames, where: str = "") -> Reason:
    """Return the error as a reason; ``where`` comes before its text."""
    claim = "" if error.claim is None else claim_text(names.claims[error.claim])
    return Reason(error.rule, claim, f"{where}{display_message(error, names)}")


def _fatal_result(error: FatalError, claims: Sequence[ResourceClaim], view: NodeView) -> NodeResult:
    message = display_message(error, problem_names(claims, view))
    return NodeResult(Status.ERROR, rule=error.rule, message=message, claim=error.claim)


Axes = tuple[Axis, ...]


def _cluster_axes(
    cluster: Cluster, gates: FeatureGates, topology: DeviceTopology, deadline: float | None
) -> Axes | None:
    """Find the axes of a topology of scope Cluster that gives no size; kept with the cluster."""
    spec = topology.spec
    if spec.scope != "Cluster" or spec.size is not None or spec.shape not in LATTICES:
        return None
    key = "topology.axes", gates, topology.metadata.name
    return cluster.memo(key, lambda: _instance_axes(topology, cluster, gates, deadline)) or None


def _instance_axes(topology: DeviceTopology, cluster: Cluster, gates: FeatureGates, deadline: float | None) -> Axes:
    """The axes of the only instance; none if there are no devices, or if they contradict the topology."""
    try:
        instances = topology_instances(topology, cluster, gates, membership_of(topology, cluster.classes, deadline))
        return next((place_devices(topology, instance.devices).axes for instance in instances), ())
    except (TopologyError, SelectorError):
        return ()

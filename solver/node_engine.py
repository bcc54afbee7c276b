"""Engines that compile a question and decide it: everything about an attempt but the decision itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from ..models.claims import ResourceClaim
from ..models.core import Node
from ..models.identity import key_of
from ..models.selection import SelectorError
from ..problem.compile import Compiler, Question
from ..problem.expressions import CelExpressions
from ..problem.filters import EXPRESSION_FILTERS
from ..problem.in_use import Ledger
from ..problem.justification import Justification
from ..problem.lenient import lenient, without
from ..problem.messages import Names
from ..problem.outcomes import DeadlineExceededError, FatalError, trapped
from ..problem.policies import STRICT
from ..problem.records import Failure, InUse, Problem
from ..problem.relations import Trouble, tolerant
from ..problem.shapes import NodeView, Views
from .attempts import Attempt, Counts, Ending, Session
from .decision import Answer, Decider, Decision
from .result import ResultBuilder
from .result_nodes import cannot_be_combined
from .search import Pick
from .soft_entries import soft_entries
from .tables import DemandTable, demand_tables
from .topology_axes import cluster_axes

_ENDINGS = {Answer.NO: Ending.NONE, Answer.UNKNOWN: Ending.UNKNOWN}


@dataclass(frozen=True, slots=True)
class _Shortfall:
    """Why there is no solution, without names: it is the same for equal nodes and claims."""

    decision: Decision
    invalid_pools: bool
    tables: tuple[DemandTable, ...]
    error: FatalError | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a node, with what is in use there."""

    question: Question
    claims: Sequence[ResourceClaim]
    view: NodeView
    in_use: InUse


Decide = Callable[[Asked, Problem], Decision]


class NodeEngine:
    """Answers one node at a time. Failures are remembered: the same question on equal nodes with equal usage fails.

    What questions about several nodes are made with is open to whoever poses them.
    """

    def __init__(self, session: Session, decider: Decider) -> None:
        self._session = session
        self.decider = decider
        self.expressions = CelExpressions()
        self.views = Views(session.cluster.pools(session.gates), session.gates)
        cluster = session.cluster
        self.compiler = Compiler(
            cluster.classes,
            session.gates,
            self.expressions,
            session.policy,
            session.cel_road,
            cluster.topologies,
            session.given,
            cluster_axes(cluster, session.gates),
        )
        self.builder = ResultBuilder(session.gates, session.seed)
        self._failed: dict[Hashable, _Shortfall] = {}

    @property
    def counts(self) -> Counts:
        """Work done so far."""
        counts = self.decider.counts
        classes = counts.classes or self.views.classes
        return replace(counts, cel_evaluations=self.expressions.evaluations, classes=classes)

    def attempt(self, node: Node, claims: Sequence[ResourceClaim], ledger: Ledger, deadline: float | None) -> Attempt:
        """Decide about the node, and build the result."""
        return self.answer(
            node, claims, ledger, deadline, lambda asked, problem: self.decider.decide(problem, asked.in_use, deadline)
        )

    def answer(
        self, node: Node, claims: Sequence[ResourceClaim], ledger: Ledger, deadline: float | None, decide: Decide
    ) -> Attempt:
        """Compile the question, have it decided, and build the result."""
        self.expressions.deadline = self.compiler.deadline = deadline
        try:
            question = self.compiler.question(claims)
            view = self.views.of(node, question.visible)
            return self._attempt(Asked(question, claims, view, ledger.in_use(view)), decide)
        except SelectorError as error:
            return Attempt(Ending.FATAL, rule="nodeSelector", message=f"gather pool information: {error}")
        except FatalError as error:
            return _aborted(error, claims, view)
        except DeadlineExceededError as error:
            return Attempt(Ending.TIMEOUT, rule="timeLimit", message=str(error))

    def _attempt(self, asked: Asked, decide: Decide) -> Attempt:
        key = asked.question.index, asked.view.shape.index, asked.in_use.key
        shortfall = self._failed.get(key)
        if shortfall is None:
            problem = self.compiler.problem(asked.question, asked.view.shape)
            posed = problem if self.decider.in_order else lenient(problem)
            decision = decide(asked, posed)
            if decision.answer is Answer.YES:
                return self._allocated(asked, posed, decision, decide)
            error = self._error(asked, problem, posed, decision, decide)
            shortfall = self._failed[key] = self._explain(problem, asked.in_use, decision, error)
        return _unallocatable(shortfall, asked.claims, asked.view)

    def _allocated(self, asked: Asked, problem: Problem, decision: Decision, decide: Decide) -> Attempt:
        """Build the result; devices whose selectors cannot be combined are an error of the scheduler's (RES-7).

        An engine that chooses devices in no order chooses others if there are any.
        """
        try:
            return self._built(asked, problem, decision)
        except FatalError:
            if self.decider.in_order:
                raise
            awkward = {number for number, device in enumerate(asked.view.devices) if cannot_be_combined(device)}
            other = decide(asked, without(problem, awkward))
            if other.answer is not Answer.YES:
                raise
            return self._built(asked, problem, other)

    def _built(self, asked: Asked, problem: Problem, decision: Decision) -> Attempt:
        asks = self.compiler.asks(asked.question)
        made = self.builder.build(asked.claims, asks, decision.picks, asked.view)
        return Attempt(
            Ending.ALLOCATED,
            made,
            objective=decision.objective,
            interrupted=decision.interrupted,
            soft=soft_entries(problem, decision.picks, [key_of(claim.metadata) for claim in asked.claims]),
        )

    def _error(
        self, asked: Asked, problem: Problem, posed: Problem, decision: Decision, decide: Decide
    ) -> FatalError | None:
        """Find the error that alone stands in the way, if there is one (policy ``strict``)."""
        if self._session.policy != STRICT or decision.answer is not Answer.NO:
            return None
        error = decisive_error(problem, asked.in_use, self.decider.in_order)
        if error is not None or not decision.troubled:
            return error
        found = decide(asked, tolerant(posed))
        return first_trouble(posed, found.picks) if found.answer is Answer.YES else None

    def _explain(self, problem: Problem, in_use: InUse, decision: Decision, error: FatalError | None) -> _Shortfall:
        return _Shortfall(decision, problem.invalid_pools, demand_tables(problem, in_use), error)


def first_trouble(problem: Problem, picks: Sequence[Pick]) -> FatalError | None:
    """Find the first relation that devices fail for an error (CELC-4)."""
    members = [(pick.demand, pick.device) for pick in picks]
    for relation in problem.relations:
        found = relation.verdict(members)
        if relation.hard and isinstance(found, Trouble):
            return FatalError(relation.id, found.message, claim=relation.claims[0])
    return None


def decisive_error(problem: Problem, in_use: InUse, in_order: bool) -> FatalError | None:
    """Find the first error without which a free device might have been usable (policy ``strict``).

    A search in order meets errors that are not about expressions by itself, if they matter.
    """
    for demand in problem.demands:
        for device, failed in enumerate(demand.failures):
            free = demand.admin or device not in in_use.dedicated
            if failed and free and all(_is_error(one, in_order) for one in failed):
                return trapped(failed[0], demand.claim, device)
    return None


def _is_error(failure: Failure, in_order: bool) -> bool:
    return bool(failure.error) and (failure.filter in EXPRESSION_FILTERS or not in_order)


def _unallocatable(shortfall: _Shortfall, claims: Sequence[ResourceClaim], view: NodeView) -> Attempt:
    """Say why; an invalid pool is the reason that upstream gives (POOL-13)."""
    decision = shortfall.decision
    message = "invalid resource pools were encountered" if shortfall.invalid_pools else "cannot allocate all claims"
    error = shortfall.error and _aborted(shortfall.error, claims, view).message
    return Attempt(
        _ENDINGS[decision.answer],
        rule="pool" if shortfall.invalid_pools else "",
        message=decision.message or message,
        error=error or "",
        tables=shortfall.tables,
        witness=decision.witness,
        proof=_told(decision.witness, claims, view) if decision.witness else "",
        certified=decision.certified,
    )


def _told(witness: Justification, claims: Sequence[ResourceClaim], view: NodeView) -> str:
    names = names_of(claims, view)
    return names.fill(witness.message, claim=witness.claim, device=witness.device, pool=witness.pool)


def names_of(claims: Sequence[ResourceClaim], view: NodeView) -> Names:
    """Names for the numbers of a Problem about these claims on this node."""
    return Names(
        tuple(key_of(claim.metadata) for claim in claims),
        tuple(device.id for device in view.devices),
        tuple(pool.id for pool in view.pools),
    )


def _aborted(error: FatalError, claims: Sequence[ResourceClaim], view: NodeView) -> Attempt:
    names = names_of(claims, view)
    message = names.fill(error.message, claim=error.claim, device=error.device, pool=error.pool)
    return Attempt(Ending.FATAL, rule=error.rule, message=message, claim=error.claim)

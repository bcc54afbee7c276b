"""The engine ``backtracking``: the scheduler's own search, rule by rule (section 14)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ..models.claims import ResourceClaim
from ..models.core import Node
from ..models.identity import key_of
from ..models.selection import SelectorError
from ..problem.compile import Compiler, Question
from ..problem.demands import STRICT
from ..problem.expressions import CelExpressions
from ..problem.filters import EXPRESSION_FILTERS
from ..problem.in_use import Ledger
from ..problem.messages import Names
from ..problem.outcomes import DeadlineExceededError, FatalError, trapped
from ..problem.records import InUse, Problem
from ..problem.shapes import NodeView, Views
from .attempts import Attempt, Counts, Ending, Session
from .result import ResultBuilder
from .search import Pick, Search
from .tables import DemandTable, demand_tables


@dataclass(frozen=True, slots=True)
class _Shortfall:
    """Why there is no solution, without names: it is the same for equal nodes and claims."""

    invalid_pools: bool
    tables: tuple[DemandTable, ...]
    error: FatalError | None


class Backtracking:
    """Answers one node at a time. Failures are remembered: the same question on equal nodes with equal usage fails."""

    def __init__(self, session: Session) -> None:
        self.counts = Counts()
        self._session = session
        self._expressions = CelExpressions()
        self._views = Views(session.cluster.pools(session.gates), session.gates)
        self._compiler = Compiler(session.cluster.classes, session.gates, self._expressions, session.policy)
        self._builder = ResultBuilder(session.gates, session.seed)
        self._failed: dict[Hashable, _Shortfall] = {}

    def attempt(self, node: Node, claims: Sequence[ResourceClaim], ledger: Ledger, deadline: float | None) -> Attempt:
        """Search the node for a first solution."""
        self._expressions.deadline = self._compiler.deadline = deadline
        try:
            question = self._compiler.question(claims)
            view = self._views.of(node, question.visible)
            return self._attempt(question, claims, view, ledger.in_use(view), deadline)
        except SelectorError as error:
            return Attempt(Ending.FATAL, rule="nodeSelector", message=f"gather pool information: {error}")
        except FatalError as error:
            return _aborted(error, claims, view)
        except DeadlineExceededError as error:
            return Attempt(Ending.TIMEOUT, rule="timeLimit", message=str(error))
        finally:
            self.counts.cel_evaluations = self._expressions.evaluations
            self.counts.classes = self._views.classes

    def _attempt(
        self,
        question: Question,
        claims: Sequence[ResourceClaim],
        view: NodeView,
        in_use: InUse,
        deadline: float | None,
    ) -> Attempt:
        key = question.index, view.shape.index, in_use.key
        shortfall = self._failed.get(key)
        if shortfall is None:
            problem = self._compiler.problem(question, view.shape)
            picks = self._search(problem, in_use, deadline)
            if picks is not None:
                asks = self._compiler.asks(question)
                return Attempt(Ending.ALLOCATED, self._builder.build(claims, asks, picks, view))
            shortfall = self._failed[key] = self._explain(problem, in_use)
        return _unallocatable(shortfall, claims, view)

    def _search(self, problem: Problem, in_use: InUse, deadline: float | None) -> tuple[Pick, ...] | None:
        search = Search(problem, in_use, deadline=deadline)
        try:
            return search.run()
        finally:
            self.counts.steps += search.steps

    def _explain(self, problem: Problem, in_use: InUse) -> _Shortfall:
        decisive = _decisive_error(problem, in_use) if self._session.policy == STRICT else None
        return _Shortfall(problem.invalid_pools, demand_tables(problem, in_use), decisive)


def _decisive_error(problem: Problem, in_use: InUse) -> FatalError | None:
    """Find the first error without which a free device might have been usable (policy ``strict``)."""
    for demand in problem.demands:
        for device, failed in enumerate(demand.failures):
            free = demand.admin or device not in in_use.dedicated
            if failed and free and all(one.error and one.filter in EXPRESSION_FILTERS for one in failed):
                return trapped(failed[0], demand.claim, device)
    return None


def _unallocatable(shortfall: _Shortfall, claims: Sequence[ResourceClaim], view: NodeView) -> Attempt:
    """Say why; an invalid pool is the reason that upstream gives (POOL-13)."""
    message = "invalid resource pools were encountered" if shortfall.invalid_pools else "cannot allocate all claims"
    error = shortfall.error and _aborted(shortfall.error, claims, view).message
    rule = "pool" if shortfall.invalid_pools else ""
    return Attempt(Ending.NONE, rule=rule, message=message, error=error or "", tables=shortfall.tables)


def _names(claims: Sequence[ResourceClaim], view: NodeView) -> Names:
    return Names(
        tuple(key_of(claim.metadata) for claim in claims),
        tuple(device.id for device in view.devices),
        tuple(pool.id for pool in view.pools),
    )


def _aborted(error: FatalError, claims: Sequence[ResourceClaim], view: NodeView) -> Attempt:
    names = _names(claims, view)
    message = names.fill(error.message, claim=error.claim, device=error.device, pool=error.pool)
    return Attempt(Ending.FATAL, rule=error.rule, message=message, claim=error.claim)

"""The conflict of a unit on one node: a minimal set of reasons that are impossible together.

A ``GuardedProblem`` is the question with every obstacle in sight: each reason has a guard, a literal of the model. The
conflict is found by deletion. Each guard is fixed to on or off, so that a check is an ordinary run: unlike cores of
assumptions this neither depends on the solver's choice nor on its known faults with them (or-tools #5141). What is
tried first is most likely to go, so that reasons are in the order of how readily a reader does without them.

Proofs by counting are asked about a Problem in which only some of the reasons hold (``restrict_to_reasons``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ...encoders.constraints import ENCODERS
from ...encoders.constraints.requests import eligibility_encoder
from ...encoders.model import AllocationModel, build_model
from ...encoders.rows import CoefficientError
from ...encoders.symmetry import build_symmetry_classes, merge_equal_requests
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Node
from ...models.results.common import ProofKind, Reason
from ...problem.filters import usable_devices
from ...problem.messages import FatalError, Justification, ProblemNames, claim_text
from ...problem.node_state import AllocatedState
from ...problem.obstacles import Obstacle, Obstacles, find_obstacles, with_all_candidates
from ...problem.problem import Claim, Demand, InUse, Problem
from ...problem.requests import ResolvedRequest
from ...problem.selectors import SelectorTable
from ...problem.shapes import NodeView, node_class_key
from ..engines import cp_sat
from ..engines.engine import Counts, Session
from ..engines.engines import NodeCompiler, problem_names, reason_from_error
from ..engines.outcome import deletion_filter
from ..proofs import find_witness

REQUEST_REASONS = frozenset({"exactCount", "all", "firstAvailable"})
# The only reason where they cannot be taken apart: what that rests on nobody can check.
COMBINATION = "combination"


def obstacle_of(reason: Justification) -> tuple[int | None, Obstacle] | None:
    """Return the obstacle that a reason is about, with the alternative if it belongs to one; None: no obstacle."""
    if isinstance(reason.subject, Obstacle):
        return None, reason.subject
    if isinstance(reason.subject, tuple):
        return reason.subject
    return None


@dataclass(frozen=True, slots=True, eq=False)
class GuardedProblem:
    """The claims of a unit on a node. ``problem`` is as compiled; in that of the model every device is a candidate."""

    claims: tuple[ResourceClaim, ...]
    asks: tuple[ResolvedRequest, ...]
    view: NodeView
    problem: Problem
    in_use: InUse
    allocated_state: AllocatedState
    obstacles: Obstacles
    model: AllocationModel

    @property
    def names(self) -> ProblemNames:
        """Names for the numbers."""
        return problem_names(self.claims, self.view)


class NotCompilableError(Exception):
    """The question ends before devices are chosen; ``reason`` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


class ExplanationCompiler:
    """Compiles questions about the nodes of one cluster, for explanations."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._compiler = NodeCompiler(session)
        self._selectors = SelectorTable(self._compiler.evaluator)

    def limit(self, deadline: float | None) -> None:
        """Stop at this reading of ``time.monotonic``, with ``DeadlineExceededError``."""
        self._compiler.limit(deadline)

    def key(self, node: Node, claims: Sequence[ResourceClaim], allocated_state: AllocatedState) -> Hashable:
        """Equal for nodes on which the claims meet the same. Raises ``SelectorError``."""
        question = self._compiler.question(claims)
        view = self._compiler.view(node, question)
        return node_class_key(view, allocated_state.in_use(view))

    def compile(self, node: Node, claims: Sequence[ResourceClaim], allocated_state: AllocatedState) -> GuardedProblem:
        """Compile. Raises ``NotCompilableError``, ``SelectorError`` and ``DeadlineExceededError``."""
        question = self._compiler.question(claims)
        view = self._compiler.view(node, question)
        try:
            problem = self._compiler.problem(question, view.shape)
            asks = tuple(self._compiler.resolved_requests(question, view.shape))
            holders, gates = _holders_by_device(view, allocated_state), self.session.gates
            obstacles = find_obstacles(problem, asks, view.shape, holders, self._selectors, gates)
            in_use = allocated_state.in_use(view)
            whole = with_all_candidates(problem, asks, view.shape, gates).without_soft()
            encoders = (eligibility_encoder(obstacles), *ENCODERS)
            candidates = [demand.candidates for demand in whole.demands]
            merged = merge_equal_requests(whole, in_use, candidates, labels=obstacles.of)
            model = build_model(build_symmetry_classes(merged, encoders), encoders, guarded=True)
            return GuardedProblem(tuple(claims), asks, view, problem, in_use, allocated_state, obstacles, model)
        except FatalError as error:
            raise NotCompilableError(reason_from_error(error, problem_names(claims, view))) from None
        except CoefficientError as error:
            raise NotCompilableError(Reason(COMBINATION, "", f"the solver cannot be asked: {error}")) from None


def _holders_by_device(view: NodeView, allocated_state: AllocatedState) -> dict[int, list[str]]:
    """Find which claims have which dedicated devices (DEV-1)."""
    found: dict[int, list[str]] = {}
    for number, device in enumerate(view.devices):
        whole = [claim_text(hold.claim) for hold in allocated_state.usage.holds(device.id) if hold.share_id is None]
        if whole:
            found[number] = list(dict.fromkeys(whole))
    return found


# Requests go first, so that what is left speaks of few; then what is exotic; last what says which devices are meant.
_DELETION_ORDER = (
    ("exactCount", "all", "firstAvailable"),
    ("resultLimit",),
    ("compatibilityGroups",),
    ("nodeOperations", "groupsFeature", "countersFeature", "bindingConditions"),
    ("distinctAttribute", "matchAttribute"),
    ("topology", "cel", "predicate"),
    ("counters",),
    ("capacity",),
    ("taint",),
    ("deviceNode",),
    ("inUse",),
    ("requestSelector",),
    ("classSelector",),
)


_DELETION_RANK = {id_: rank for rank, ids in enumerate(_DELETION_ORDER) for id_ in ids}


@dataclass(frozen=True, slots=True)
class MinimalUnsatisfiableSubset:
    """Reasons that are impossible together, those that matter most first; see ``records.NodeClass``.

    ``confirmed``: they can be counted, or a second configuration of the solver comes to the same.
    """

    reasons: tuple[Justification, ...]
    minimal: bool
    proof_kind: ProofKind
    confirmed: bool


InfeasibilityCheck = Callable[[Collection[Justification]], bool]
"""Tells whether reasons are impossible together without a run of the solver; False: it cannot tell."""


def minimal_unsatisfiable_subset(
    model: AllocationModel, limits: cp_sat.Limits, proof: InfeasibilityCheck, without: Justification | None = None
) -> MinimalUnsatisfiableSubset | None:
    """Find a minimal conflict of a model with guards, ``without`` one reason if one is given.

    None if everything is possible together, or that is not known.
    """
    # Of one kind the later reasons go first, so that the first of them are what is left.
    reasons = sorted((one for one in reversed(model.guards) if one != without), key=_deletion_rank)
    undecided = False

    def status_of(
        kept: Collection[Justification], configuration: cp_sat.SolverConfiguration = cp_sat.USUAL
    ) -> cp_sat.SolverStatus:
        for reason, guard in model.guards.items():
            model.rows.fix(guard, int(reason in kept))
        return cp_sat.solve_with_lazy_constraints(
            model, lambda limits: cp_sat.run_solver(model.rows, limits, configuration), limits, Counts()
        ).status

    def is_impossible(rest: list[Justification]) -> bool:
        nonlocal undecided
        status = status_of(frozenset(rest))
        undecided |= status is cp_sat.SolverStatus.UNKNOWN
        return status is cp_sat.SolverStatus.INFEASIBLE

    if status_of(frozenset(reasons)) is not cp_sat.SolverStatus.INFEASIBLE:
        return None
    blocks = [list(block) for _, block in groupby(reasons, key=_deletion_rank)]
    kept = deletion_filter(blocks, is_impossible)
    counted = proof(kept)
    confirmed = counted or status_of(frozenset(kept), cp_sat.CONFIRMING) is cp_sat.SolverStatus.INFEASIBLE
    # Requests open the sentence, then come the reasons that were tried last.
    kept.reverse()
    kept.sort(key=lambda one: (_deletion_rank(one) > 0, -_deletion_rank(one)))
    kind = ProofKind.WITNESS if counted else ProofKind.SOLVER
    return MinimalUnsatisfiableSubset(tuple(kept), not undecided, kind, confirmed)


def _deletion_rank(reason: Justification) -> int:
    return _DELETION_RANK[reason.id]


# More than anything draws.
_UNLIMITED = 1 << 80


def proof_by_counting(guarded: GuardedProblem, reasons: Collection[Justification]) -> Justification | None:
    """Return what shows by counting that these reasons are impossible together; None if that is not enough."""
    problem, in_use = restrict_to_reasons(guarded, reasons)
    found = find_witness(problem, in_use, usable_devices(problem, in_use))
    limits = any(reason.id == "resultLimit" for reason in reasons)
    return found if found is not None and (limits or found.id != "resultLimit") else None


def restrict_to_reasons(guarded: GuardedProblem, reasons: Collection[Justification]) -> tuple[Problem, InUse]:
    """Make a Problem, and what is in use, of these reasons alone; the limit of results always holds.

    Relations are left out: requests that are let go may take devices for them, which no Problem says.
    """
    merged = guarded.model.merged
    whole = merged.problem
    subjects = {(reason.id, reason.subject) for reason in reasons}
    entries = {(reason.claim, reason.subject) for reason in reasons if reason.id.endswith("Attribute")}
    requested = {number for id_, number in subjects if id_ in REQUEST_REASONS}
    kept = {
        demand
        for alternative in merged.alternatives
        if alternative.request in requested
        for demand in alternative.demands
    }
    holding = {
        number
        for number, record in enumerate(whole.constraints)
        if any(
            record.claim in one.claims and record.position == one.position
            for one in merged.constraints
            if (one.claims[0], one.position) in entries
        )
    }
    capacities = whole.capacities
    totals = zip(capacities.names, capacities.totals, strict=True)
    sets = {place for id_, place in subjects if id_ == "compatibilityGroups"}
    problem = replace(
        whole,
        claims=tuple(
            Claim(tuple(request for request in claim.requests if kept.issuperset(request.demands)))
            for claim in whole.claims
        ),
        demands=tuple(_restricted_demand(guarded, demand, reasons, holding) for demand in whole.demands),
        constraints=tuple(
            one if number in holding else replace(one, tokens={}, errors={})
            for number, one in enumerate(whole.constraints)
        ),
        capacities=replace(
            capacities, totals=tuple(total if ("capacity", name) in subjects else _UNLIMITED for name, total in totals)
        ),
        relations=(),
        groups=replace(
            whole.groups,
            membership={
                device: tuple(pair for pair in pairs if pair[0] in sets)
                for device, pairs in whole.groups.membership.items()
            },
        ),
    )
    available = enumerate(guarded.in_use.available)
    left = tuple(amount if ("counters", row) in subjects else _UNLIMITED for row, amount in available)
    return problem, replace(guarded.in_use, dedicated=frozenset(), available=left)


def _restricted_demand(
    guarded: GuardedProblem, demand: Demand, reasons: Collection[Justification], holding: Collection[int]
) -> Demand:
    alternative = next(one.index for one in guarded.model.merged.alternatives if demand.index in one.demands)
    in_the_way = {found[1] for reason in reasons if (found := obstacle_of(reason)) and found[0] in (None, alternative)}
    of_device = guarded.obstacles.of[demand.index]
    candidates = tuple(device for device in demand.candidates if not in_the_way.intersection(of_device[device]))
    constraints = tuple(number for number in demand.constraints if number in holding)
    return replace(demand, candidates=candidates, constraints=constraints)

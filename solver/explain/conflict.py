"""A minimal set of reasons that are impossible together, by deletion.

Each guard of a model is fixed to on or off, so that a check is an ordinary run: unlike cores of assumptions this
neither depends on the solver's choice nor on its known faults with them (or-tools #5141). What is tried first is most
likely to go, so that reasons are in the order of how readily a reader does without them. Of a sequence that can go as
a whole nothing is tried alone: few of many guards are ever needed.

A Problem in which only some reasons hold: what the proofs by counting are asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from ...encoders.model import AllocationModel
from ...problem.filters import usable_devices
from ...problem.problem import Claim, Demand, InUse, Justification, Problem
from ..engines.cp_sat import (
    CONFIRMING,
    USUAL,
    Limits,
    SolverConfiguration,
    SolverStatus,
    run_solver,
    solve_with_lazy_constraints,
)
from ..engines.engine import Counts
from ..proofs import find_witness
from .wording import REQUEST_REASONS, GuardedProblem, obstacle_of

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
    """Reasons that are impossible together, those that matter most first; see ``records.NodeClass``."""

    reasons: tuple[Justification, ...]
    minimal: bool
    certified: bool


InfeasibilityCheck = Callable[[Collection[Justification]], bool]
"""Tells whether reasons are impossible together without a run of the solver; False: it cannot tell."""


def minimal_unsatisfiable_subset(
    model: AllocationModel, limits: Limits, proof: InfeasibilityCheck, without: Justification | None = None
) -> MinimalUnsatisfiableSubset | None:
    """Find a minimal conflict of a model with guards, ``without`` one reason if one is given.

    None if everything is possible together, or that is not known.
    """
    return _DeletionFilter(model, limits, proof, without).run()


class _DeletionFilter:
    def __init__(
        self, model: AllocationModel, limits: Limits, proof: InfeasibilityCheck, without: Justification | None
    ) -> None:
        self._model = model
        self._limits = limits
        self._proof = proof
        self._kept = dict.fromkeys(reason for reason in _in_deletion_order(model) if reason != without)
        self._decided = True

    def run(self) -> MinimalUnsatisfiableSubset | None:
        if self._check(self._kept) is not SolverStatus.INFEASIBLE:
            return None
        for block in _blocks_by_rank(tuple(self._kept)):
            self._delete(block)
        certified = self._proof(self._kept) or self._check(self._kept, CONFIRMING) is SolverStatus.INFEASIBLE
        # Requests open the sentence, then come the reasons that were tried last.
        places = {reason: -place for place, reason in enumerate(self._kept)}
        reasons = sorted(self._kept, key=lambda one: (_DELETION_RANK[one.id] > 0, -_DELETION_RANK[one.id], places[one]))
        return MinimalUnsatisfiableSubset(tuple(reasons), self._decided, certified)

    def _delete(self, block: Sequence[Justification], *, needed: bool = False) -> bool:
        """Do without as much of a block as possible, and say whether that was all; ``needed``: some of it is."""
        if not needed and self._goes(block):
            return True
        if len(block) == 1:
            return False
        half = len(block) // 2
        first = self._delete(block[:half])
        # If the first half can go, the second cannot as well.
        self._delete(block[half:], needed=first)
        return False

    def _goes(self, block: Sequence[Justification]) -> bool:
        gone = frozenset(block)
        rest = [reason for reason in self._kept if reason not in gone]
        status = self._check(rest)
        self._decided &= status is not SolverStatus.UNKNOWN
        if status is SolverStatus.INFEASIBLE:
            self._kept = dict.fromkeys(rest)
        return status is SolverStatus.INFEASIBLE

    def _check(self, reasons: Collection[Justification], configuration: SolverConfiguration = USUAL) -> SolverStatus:
        kept = frozenset(reasons)
        for reason, guard in self._model.guards.items():
            self._model.rows.fix(guard, int(reason in kept))
        rows = self._model.rows
        return solve_with_lazy_constraints(
            self._model, lambda limits: run_solver(rows, limits, configuration), self._limits, Counts()
        ).status


def _in_deletion_order(model: AllocationModel) -> list[Justification]:
    """Sort by kind; of one kind the later first, so that the first of them are what is left."""
    numbered = enumerate(model.guards)
    return [reason for _, reason in sorted(numbered, key=lambda item: (_DELETION_RANK[item[1].id], -item[0]))]


def _blocks_by_rank(reasons: Sequence[Justification]) -> list[tuple[Justification, ...]]:
    ranks = sorted({_DELETION_RANK[reason.id] for reason in reasons})
    return [tuple(reason for reason in reasons if _DELETION_RANK[reason.id] == rank) for rank in ranks]


# More than anything draws.
_UNLIMITED = 1 << 80


def is_refuted_by_counting(case: GuardedProblem, reasons: Collection[Justification]) -> bool:
    """Tell whether counting shows that these reasons are impossible together."""
    problem, in_use = restrict_to_reasons(case, reasons)
    found = find_witness(problem, in_use, usable_devices(problem, in_use))
    limits = any(reason.id == "resultLimit" for reason in reasons)
    return found is not None and (limits or found.id != "resultLimit")


def restrict_to_reasons(case: GuardedProblem, reasons: Collection[Justification]) -> tuple[Problem, InUse]:
    """Make a Problem, and what is in use, of these reasons alone; the limit of results always holds.

    Relations are left out: requests that are let go may take devices for them, which no Problem says.
    """
    merged = case.model.merged
    whole = merged.problem
    subjects = {(reason.id, reason.subject) for reason in reasons}
    entries = {(reason.claim, reason.subject) for reason in reasons if reason.id.endswith("Attribute")}
    asked = {number for id_, number in subjects if id_ in REQUEST_REASONS}
    kept = {demand for branch in merged.branches if branch.request in asked for demand in branch.demands}
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
        demands=tuple(_restricted_demand(case, demand, reasons, holding) for demand in whole.demands),
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
    available = enumerate(case.in_use.available)
    left = tuple(amount if ("counters", row) in subjects else _UNLIMITED for row, amount in available)
    return problem, replace(case.in_use, dedicated=frozenset(), available=left)


def _restricted_demand(
    case: GuardedProblem, demand: Demand, reasons: Collection[Justification], holding: Collection[int]
) -> Demand:
    branch = next(one.index for one in case.model.merged.branches if demand.index in one.demands)
    in_the_way = {found[1] for reason in reasons if (found := obstacle_of(reason)) and found[0] in (None, branch)}
    of_device = case.obstacles.of[demand.index]
    candidates = tuple(device for device in demand.candidates if not in_the_way.intersection(of_device[device]))
    constraints = tuple(number for number in demand.constraints if number in holding)
    return replace(demand, candidates=candidates, constraints=constraints)

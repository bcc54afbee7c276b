"""A minimal set of reasons that are impossible together, by deletion.

Each guard of a model is fixed to on or off, so that a check is an ordinary run: unlike cores of assumptions this
neither depends on the solver's choice nor on its known faults with them (or-tools #5141). What is tried first is most
likely to go, so that reasons are in the order of how readily a reader does without them. Of a sequence that can go as
a whole nothing is tried alone: few of many guards are ever needed.

A Problem in which only some reasons hold: what the proofs by counting are asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import groupby

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
from ..engines.reasons import deletion_filter
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
    # Of one kind the later reasons go first, so that the first of them are what is left.
    reasons = sorted((one for one in reversed(model.guards) if one != without), key=_deletion_rank)
    undecided = False

    def status_of(kept: Collection[Justification], configuration: SolverConfiguration = USUAL) -> SolverStatus:
        for reason, guard in model.guards.items():
            model.rows.fix(guard, int(reason in kept))
        return solve_with_lazy_constraints(
            model, lambda limits: run_solver(model.rows, limits, configuration), limits, Counts()
        ).status

    def is_impossible(rest: list[Justification]) -> bool:
        nonlocal undecided
        status = status_of(frozenset(rest))
        undecided |= status is SolverStatus.UNKNOWN
        return status is SolverStatus.INFEASIBLE

    if status_of(frozenset(reasons)) is not SolverStatus.INFEASIBLE:
        return None
    blocks = [list(block) for _, block in groupby(reasons, key=_deletion_rank)]
    kept = deletion_filter(blocks, is_impossible)
    certified = proof(kept) or status_of(frozenset(kept), CONFIRMING) is SolverStatus.INFEASIBLE
    # Requests open the sentence, then come the reasons that were tried last.
    kept.reverse()
    kept.sort(key=lambda one: (_deletion_rank(one) > 0, -_deletion_rank(one)))
    return MinimalUnsatisfiableSubset(tuple(kept), not undecided, certified)


def _deletion_rank(reason: Justification) -> int:
    return _DELETION_RANK[reason.id]


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
    kept = {
        demand for alternative in merged.alternatives if alternative.request in asked for demand in alternative.demands
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
    alternative = next(one.index for one in case.model.merged.alternatives if demand.index in one.demands)
    in_the_way = {found[1] for reason in reasons if (found := obstacle_of(reason)) and found[0] in (None, alternative)}
    of_device = case.obstacles.of[demand.index]
    candidates = tuple(device for device in demand.candidates if not in_the_way.intersection(of_device[device]))
    constraints = tuple(number for number in demand.constraints if number in holding)
    return replace(demand, candidates=candidates, constraints=constraints)

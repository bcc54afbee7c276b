"""A Problem in which only some reasons hold: what the proofs by counting are asked about."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...problem.justification import Justification
from ...problem.records import Claim, Demand, InUse, Problem
from ...problem.usable import usable
from ..proofs import witness
from .case import Case
from .sentences import REQUESTS, obstacle_of

# More than anything draws.
_PLENTY = 1 << 80


def counted_out(case: Case, reasons: Collection[Justification]) -> bool:
    """Tell whether counting shows that these reasons are impossible together."""
    problem, in_use = restricted(case, reasons)
    found = witness(problem, in_use, usable(problem, in_use))
    limits = any(reason.id == "resultLimit" for reason in reasons)
    return found is not None and (limits or found.id != "resultLimit")


def restricted(case: Case, reasons: Collection[Justification]) -> tuple[Problem, InUse]:
    """Make a Problem, and what is in use, of these reasons alone; the limit of results always holds.

    Relations are left out: requests that are let go may take devices for them, which no Problem says.
    """
    merged = case.model.merged
    whole = merged.problem
    subjects = {(reason.id, reason.subject) for reason in reasons}
    entries = {(reason.claim, reason.subject) for reason in reasons if reason.id.endswith("Attribute")}
    asked = {number for id_, number in subjects if id_ in REQUESTS}
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
        demands=tuple(_demand(case, demand, reasons, holding) for demand in whole.demands),
        constraints=tuple(
            one if number in holding else replace(one, tokens={}, errors={})
            for number, one in enumerate(whole.constraints)
        ),
        capacities=replace(
            capacities,
            totals=tuple(total if ("capacity", name) in subjects else _PLENTY for name, total in totals),
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
    left = tuple(amount if ("counters", row) in subjects else _PLENTY for row, amount in available)
    return problem, replace(case.in_use, dedicated=frozenset(), available=left)


def _demand(case: Case, demand: Demand, reasons: Collection[Justification], holding: Collection[int]) -> Demand:
    branch = next(one.index for one in case.model.merged.branches if demand.index in one.demands)
    in_the_way = {found[1] for reason in reasons if (found := obstacle_of(reason)) and found[0] in (None, branch)}
    of_device = case.obstacles.of[demand.index]
    candidates = tuple(device for device in demand.candidates if not in_the_way.intersection(of_device[device]))
    constraints = tuple(number for number in demand.constraints if number in holding)
    return replace(demand, candidates=candidates, constraints=constraints)

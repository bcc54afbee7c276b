"""One question, asked many times at once: copies of the claims of a unit side by side in one Problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..problem.records import Claim, Constraint, Demand, Problem
from ..problem.relations import Relation
from .search import Pick


def side_by_side(problems: Sequence[Problem]) -> Problem:
    """Ask several questions about one place together, in their order.

    What is placed one after the other can be placed together and the other way round, as long as nothing has admin
    access: all rules beyond one claim are about what is taken by then, whoever took it. What has admin access is in
    nobody's way once it is allocated (IN-3), but within one question it is in the way of all that comes later (DEV-1),
    so that fewer copies may fit together than one after the other. See ``without_admin``.
    """
    claims: list[Claim] = []
    demands: list[Demand] = []
    constraints: list[Constraint] = []
    relations: list[Relation] = []
    for problem in problems:
        shift = _Shift(len(claims), len(demands), len(constraints))
        claims += map(shift.claim, problem.claims)
        demands += map(shift.demand, problem.demands)
        constraints += map(shift.constraint, problem.constraints)
        relations += map(shift.relation, problem.relations)
    return replace(
        problems[0],
        claims=tuple(claims),
        demands=tuple(demands),
        constraints=tuple(constraints),
        relations=tuple(relations),
    )


def per_copy(problem: Problem, picks: tuple[Pick, ...], times: int) -> list[tuple[Pick, ...]]:
    """Tell the picks for so many copies of a problem apart again, by the numbers of the problem itself."""
    size = len(problem.demands)
    copies: list[list[Pick]] = [[] for _ in range(times)]
    for pick in picks:
        copy, demand = divmod(pick.demand, size)
        copies[copy].append(Pick(demand, pick.device))
    return list(map(tuple, copies))


def has_admin(problem: Problem) -> bool:
    """Tell whether a request has admin access."""
    return any(demand.admin for demand in problem.demands)


def without_admin(problem: Problem) -> Problem:
    """Leave out the requests with admin access.

    Whatever copies fit one after the other fit so too: they take less, hold as much, every constraint is about fewer
    devices, and what is judged on complete sets is left out with them. The last of them fits as it is: what it takes is
    in no later one's way.
    """
    demands = {demand.index: place for place, demand in enumerate(_ordinary(problem))}
    covering = [number for number, one in enumerate(problem.constraints) if one.tokens.keys() & demands.keys()]
    entries = {number: place for place, number in enumerate(covering)}
    return replace(
        problem,
        claims=tuple(_narrowed(claim, demands) for claim in problem.claims),
        demands=tuple(
            replace(
                demand,
                index=demands[demand.index],
                constraints=tuple(entries[number] for number in demand.constraints),
            )
            for demand in _ordinary(problem)
        ),
        constraints=tuple(_covering(problem.constraints[number], demands) for number in covering),
        relations=tuple(one.renumbered(0, demands) for one in problem.relations if one.demands <= demands.keys()),
    )


def only_free(problem: Problem) -> Problem:
    """Leave only devices that can be taken any number of times: with admin access, or shares that consume nothing.

    A copy that is content with them fits as often as one likes: the second takes the same again, draws no counters
    (CTR-3) and no capacity. A copy that is not holds a device alone or some of a capacity, so that the number ends.
    """
    return restricted(problem, lambda demand, device: not _holds(problem, device, demand))


def restricted(problem: Problem, allowed: Callable[[Demand, int], bool]) -> Problem:
    """Leave only devices that are allowed; a request for all devices gets none if one of them is not."""
    return replace(problem, demands=tuple(_restricted(demand, allowed) for demand in problem.demands))


def _ordinary(problem: Problem) -> list[Demand]:
    return [demand for demand in problem.demands if not demand.admin]


def _narrowed(claim: Claim, demands: Mapping[int, int]) -> Claim:
    kept = (one for one in claim.requests if all(number in demands for number in one.demands))
    return Claim(tuple(replace(one, demands=tuple(demands[number] for number in one.demands)) for one in kept))


def _covering(constraint: Constraint, demands: Mapping[int, int]) -> Constraint:
    return replace(
        constraint,
        tokens={demands[number]: tokens for number, tokens in constraint.tokens.items() if number in demands},
        errors={demands[number]: errors for number, errors in constraint.errors.items() if number in demands},
    )


def _restricted(demand: Demand, allowed: Callable[[Demand, int], bool]) -> Demand:
    others = frozenset(device for device in demand.candidates if not allowed(demand, device))
    if demand.all_devices:
        return replace(demand, barred=demand.barred | others)
    return replace(demand, candidates=tuple(device for device in demand.candidates if device not in others))


def _holds(problem: Problem, device: int, demand: Demand) -> bool:
    """Tell whether a demand leaves less for the next one when it takes the device."""
    if demand.admin:
        return False
    return device not in problem.shared or any(amount > 0 for _, amount in demand.amounts.get(device, ()))


@dataclass(frozen=True, slots=True)
class _Shift:
    """How far the numbers of a question move when it comes after others."""

    claims: int
    demands: int
    constraints: int

    def claim(self, claim: Claim) -> Claim:
        return Claim(
            tuple(
                replace(request, demands=tuple(number + self.demands for number in request.demands))
                for request in claim.requests
            )
        )

    def demand(self, demand: Demand) -> Demand:
        return replace(
            demand,
            index=demand.index + self.demands,
            claim=demand.claim + self.claims,
            constraints=tuple(number + self.constraints for number in demand.constraints),
        )

    def constraint(self, constraint: Constraint) -> Constraint:
        return replace(
            constraint,
            claim=constraint.claim + self.claims,
            tokens={demand + self.demands: tokens for demand, tokens in constraint.tokens.items()},
            errors={demand + self.demands: errors for demand, errors in constraint.errors.items()},
        )

    def relation(self, relation: Relation) -> Relation:
        return relation.renumbered(self.claims, {demand: demand + self.demands for demand in relation.demands})

"""One question, asked many times at once: copies of the claims of a unit side by side in one Problem.

Devices in parts that have nothing to do with each other, where every copy stays within one of them.

What fits on all parts is then the sum, and each of them is small: eight partitioned GPUs are eight times one. A solver
that has to find out by itself that the parts are independent tries their combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ...problem.constraints import INCOMPARABLE, pools_with_negative_draws
from ...problem.problem import Claim, Constraint, Demand, Problem, Relation
from .engine import Pick


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
        shift = _IndexShift(len(claims), len(demands), len(constraints))
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
    demands = {demand.index: place for place, demand in enumerate(_ordinary_demands(problem))}
    covering = [number for number, one in enumerate(problem.constraints) if one.tokens.keys() & demands.keys()]
    entries = {number: place for place, number in enumerate(covering)}
    return replace(
        problem,
        claims=tuple(_narrowed_claim(claim, demands) for claim in problem.claims),
        demands=tuple(
            replace(
                demand, index=demands[demand.index], constraints=tuple(entries[number] for number in demand.constraints)
            )
            for demand in _ordinary_demands(problem)
        ),
        constraints=tuple(_narrowed_constraint(problem.constraints[number], demands) for number in covering),
        relations=tuple(one.renumbered(0, demands) for one in problem.relations if one.demands <= demands.keys()),
    )


def only_unlimited_devices(problem: Problem) -> Problem:
    """Leave only devices that can be taken any number of times: with admin access, or shares that consume nothing.

    A copy that is content with them fits as often as one likes: the second takes the same again, draws no counters
    (CTR-3) and no capacity. A copy that is not holds a device alone or some of a capacity, so that the number ends.
    """
    return restrict_devices(problem, lambda demand, device: not _consumes(problem, device, demand))


def restrict_devices(problem: Problem, allowed: Callable[[Demand, int], bool]) -> Problem:
    """Leave only devices that are allowed; a request for all devices gets none if one of them is not."""
    return replace(problem, demands=tuple(_restricted_demand(demand, allowed) for demand in problem.demands))


def _ordinary_demands(problem: Problem) -> list[Demand]:
    return [demand for demand in problem.demands if not demand.admin]


def _narrowed_claim(claim: Claim, demands: Mapping[int, int]) -> Claim:
    kept = (one for one in claim.requests if all(number in demands for number in one.demands))
    return Claim(tuple(replace(one, demands=tuple(demands[number] for number in one.demands)) for one in kept))


def _narrowed_constraint(constraint: Constraint, demands: Mapping[int, int]) -> Constraint:
    return replace(
        constraint,
        tokens={demands[number]: tokens for number, tokens in constraint.tokens.items() if number in demands},
        errors={demands[number]: errors for number, errors in constraint.errors.items() if number in demands},
    )


def _restricted_demand(demand: Demand, allowed: Callable[[Demand, int], bool]) -> Demand:
    others = frozenset(device for device in demand.candidates if not allowed(demand, device))
    if demand.all_devices:
        return replace(demand, untakeable=demand.untakeable | others)
    return replace(demand, candidates=tuple(device for device in demand.candidates if device not in others))


def _consumes(problem: Problem, device: int, demand: Demand) -> bool:
    """Tell whether a demand leaves less for the next one when it takes the device."""
    if demand.admin:
        return False
    return device not in problem.shared or any(amount > 0 for _, amount in demand.amounts.get(device, ()))


@dataclass(frozen=True, slots=True)
class _IndexShift:
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


T = TypeVar("T", bound=Hashable)


def connected_groups(keys: Mapping[T, Sequence[Hashable]]) -> list[tuple[T, ...]]:
    """Group what has keys in common, also by way of others; groups and members in the order given."""
    parent: dict[Hashable, Hashable] = {}

    def root(item: Hashable) -> Hashable:
        while (up := parent.setdefault(item, item)) != item:
            parent[item] = item = parent[up]
        return item

    for item, own in keys.items():
        for key in own:
            parent[root(("key", key))] = root(("item", item))
    groups: dict[Hashable, list[T]] = {}
    for item in keys:
        groups.setdefault(root(("item", item)), []).append(item)
    return list(map(tuple, groups.values()))


def independent_parts(problem: Problem, candidates: Sequence[Sequence[int]]) -> list[frozenset[int]]:
    """Divide the usable devices; one part or none where it is not known that copies stay within parts.

    A copy that takes one device does; so does one all of whose devices have a value in common. Devices that draw from
    one counter set stay together.
    """
    if has_admin(problem) or pools_with_negative_draws(problem):
        return []
    ties: list[Constraint] = (
        [] if _takes_one(problem) else [one for one in problem.constraints if _is_tie(problem, one)]
    )
    if not ties and not _takes_one(problem):
        return []
    devices = sorted({device for own in candidates for device in own})
    keys = {device: [*_counter_sets(problem, device), *_tie_values(ties[:1], device)] for device in devices}
    return list(map(frozenset, connected_groups(keys)))


def _takes_one(problem: Problem) -> bool:
    requests = [request for claim in problem.claims for request in claim.requests]
    return len(requests) == 1 and all(one.count == 1 and not one.all_devices for one in problem.demands)


def _is_tie(problem: Problem, constraint: Constraint) -> bool:
    """Tell whether a constraint ties all devices of a copy to one value, which each device has whoever asks."""
    if constraint.kind != "matchAttribute" or len(constraint.tokens) < len(problem.demands):
        return False
    first, *others = constraint.tokens.values()
    alike = all(tokens is first or tokens == first for tokens in others)
    return alike and (constraint.sets or INCOMPARABLE not in first.values())


def _counter_sets(problem: Problem, device: int) -> Iterator[Hashable]:
    """Yield the counter sets that a device draws from."""
    names = problem.counters.names
    for row, _ in problem.counters.consumption.get(device, ()):
        yield problem.counters.pool_of_row[row], names[row][0]
    for place, _ in problem.groups.membership.get(device, ()):
        yield problem.groups.sets[place]


def _tie_values(ties: Sequence[Constraint], device: int) -> Iterator[Hashable]:
    """Yield the value that ties the device to others, of a list every member."""
    for tie in ties:
        token = next(iter(tie.tokens.values())).get(device, 0)
        if not tie.sets:
            yield token
            continue
        yield from (bit for bit in range(token.bit_length()) if token >> bit & 1)

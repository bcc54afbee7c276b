"""How many copies of a unit one node could take if nothing else were there: bounds by counting, one rule at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from ....problem.order import draws_anew, giving_pools
from ....problem.records import Demand, InUse, Problem, Request
from ....problem.usable import usable
from .question import BundleQuestion, BundleUnit

Candidates = Sequence[tuple[int, ...]]


def most_alone(question: BundleQuestion) -> tuple[int, ...]:
    """Bound the number of copies of each unit class; never too low."""
    return tuple(min([unit.most, *_bounds(question, unit)]) for unit in question.units)


def worth_at_most(question: BundleQuestion, worth: Sequence[int], most: Sequence[int]) -> int:
    """Bound what a bundle of at most so many copies is worth, without its devices: never too low."""
    bounds = [sum(one * limit for one, limit in zip(worth, most, strict=True))]
    for resource, free in enumerate(question.left):
        needs = [unit.needs[resource] for unit in question.units]
        bounds.append(_knapsack(max(0, free), list(zip(worth, needs, most, strict=True))))
    return min(bounds)


def _knapsack(free: int, items: Sequence[tuple[int, int, int]]) -> int:
    """Fill up by worth for each piece, the last item in part (Dantzig, 1957)."""
    total = sum(worth * most for worth, need, most in items if need <= 0)
    paid = sorted((item for item in items if item[1] > 0), key=lambda item: Fraction(-item[0], item[1]))
    for worth, need, most in paid:
        taken = min(most * need, free)
        total += -(-worth * taken // need)
        free -= taken
    return total


def _bounds(question: BundleQuestion, unit: BundleUnit) -> Iterator[int]:
    yield from (max(0, free) // need for free, need in zip(question.left, unit.needs, strict=True) if need > 0)
    problem, candidates = unit.problem, usable(unit.problem, question.in_use)
    requests = [request for claim in problem.claims for request in claim.requests]
    for request in requests:
        yield from _by_devices(problem, question.in_use, request, candidates)
    yield from _by_all_devices(problem, requests, candidates)
    yield from _by_counters(problem, question.in_use, requests, candidates)


def _by_devices(problem: Problem, in_use: InUse, request: Request, candidates: Candidates) -> Iterator[int]:
    """Each copy of a request takes as many of its devices as it counts; yields nothing if there is no end to them."""
    total = 0
    for number in request.demands:
        demand, own = problem.demands[number], candidates[number]
        if not demand.count or len(own) < demand.count:
            continue
        rooms = [_room(problem, in_use, demand, device) for device in own]
        if None in rooms:
            return
        total += sum(room for room in rooms if room) // demand.count
    yield total


def _room(problem: Problem, in_use: InUse, demand: Demand, device: int) -> int | None:
    """How often a demand could take a device; None: without end."""
    if demand.admin:
        return None
    if device not in problem.shared:
        return 1
    left = (
        (problem.capacities.totals[row] - in_use.consumed.get(row, 0), amount) for row, amount in _drawn(demand, device)
    )
    return min((free // amount for free, amount in left), default=None)


def _drawn(demand: Demand, device: int) -> list[tuple[int, int]]:
    return [(row, amount) for row, amount in demand.amounts.get(device, ()) if amount > 0]


def _by_all_devices(problem: Problem, requests: Sequence[Request], candidates: Candidates) -> Iterator[int]:
    """All requests of a copy together take devices that nobody else gets."""
    demands = [problem.demands[number] for request in requests for number in request.demands]
    devices = {device for demand in demands for device in candidates[demand.index]}
    taken = sum(_least(problem, request) for request in requests)
    if taken and devices.isdisjoint(problem.shared) and not any(demand.admin for demand in demands):
        yield len(devices) // taken


def _least(problem: Problem, request: Request) -> int:
    return min((problem.demands[number].count for number in request.demands), default=0)


def _by_counters(problem: Problem, in_use: InUse, requests: Sequence[Request], candidates: Candidates) -> Iterator[int]:
    """Each copy draws of a counter at least what the most modest choice of its requests does."""
    giving, drawn = giving_pools(problem), Counter[int]()
    for request in requests:
        demands = [problem.demands[number] for number in request.demands if candidates[number]]
        drawn.update(_in_all([_least_draws(problem, in_use, one, candidates[one.index]) for one in demands]))
    for row, amount in drawn.items():
        if amount > 0 and problem.counters.pool_of_row[row] not in giving:
            yield max(0, in_use.available[row]) // amount


def _least_draws(problem: Problem, in_use: InUse, demand: Demand, devices: Iterable[int]) -> dict[int, int]:
    """What a demand draws of each counter whichever devices it takes; nothing is left out that all draw."""
    if demand.admin:
        # Once a copy is allocated, that draws nothing any more (IN-3).
        return {}
    draws = _in_all(_draws(problem, in_use, device) for device in devices)
    return {row: amount * demand.count for row, amount in draws.items()}


def _draws(problem: Problem, in_use: InUse, device: int) -> dict[int, int]:
    """What surely is drawn by each that takes a device; of a shareable one only the first draws (CTR-3)."""
    if device in problem.shared or not draws_anew(problem, in_use, device):
        return {}
    return dict(problem.counters.consumption.get(device, ()))


def _in_all(draws: Iterable[dict[int, int]]) -> dict[int, int]:
    """Keep the rows that all draw from, with the least amount."""
    found: dict[int, int] | None = None
    for own in draws:
        kept = own.keys() if found is None else found.keys() & own.keys()
        found = {row: own[row] if found is None else min(found[row], own[row]) for row in kept}
        if not found:
            return {}
    return found or {}

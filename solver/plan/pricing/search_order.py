"""Devices of a bundle chosen again by the scheduler's search: the first ones, or those that consume least."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

from ....problem.constraints import pools_with_negative_draws
from ....problem.messages import FatalError
from ....problem.problem import Demand, Problem
from ...engines.engine import Pick
from ...engines.search import BudgetError, Search
from .bundle import Bundle, BundleQuestion, Picks
from .consumption import ConsumptionMeasure

# So many devices are visited for the devices of one node: then they stay as they are.
_MOST_VISITS = 1_000
_Allows = Callable[[Problem, Picks], Callable[[Demand, int], bool]]


def first_in_search_order(question: BundleQuestion, bundle: Bundle) -> Bundle:
    """The first devices in search order (SRCH-2) that cost no more than those of a bundle; it stays if this fails.

    Each request gets devices that consume what its own ones do.
    """
    weighed = _consumption(question)

    def alike(problem: Problem, picks: Picks) -> Callable[[Demand, int], bool]:
        costs: dict[int, set[int]] = defaultdict(set)
        for pick in picks:
            costs[pick.demand].add(_cost(weighed, problem.demands[pick.demand], pick.device))
        return lambda demand, device: demand.all_devices or _cost(weighed, demand, device) in costs[demand.index]

    if bundle.in_order:
        return bundle
    found = _searched(question, bundle, alike)
    return found if found is not None and question.usage(found) == question.usage(bundle) else bundle


def lightest_devices(question: BundleQuestion, bundle: Bundle) -> Bundle:
    """The first devices that consume least of all that serve each request; the bundle stays if not all get such."""
    weighed = _consumption(question)
    if weighed is None or bundle.in_order:
        return bundle

    def light(problem: Problem, picks: Picks) -> Callable[[Demand, int], bool]:
        chosen = {pick.demand for pick in picks}
        least = {
            number: min(
                (
                    _cost(weighed, problem.demands[number], device)
                    for device in problem.demands[number].candidates
                    if device not in question.in_use.dedicated
                ),
                default=0,
            )
            for number in chosen
        }

        def is_light(demand: Demand, device: int) -> bool:
            number = demand.index
            return demand.all_devices or (number in chosen and _cost(weighed, demand, device) == least[number])

        return is_light

    found = _searched(question, bundle, light)
    if found is None:
        return bundle
    before, after = dict(question.usage(bundle)), dict(question.usage(found))
    if any(amount > before.get(meter, 0) for meter, amount in after.items()):
        return bundle
    return replace(found, in_order=True)


def _consumption(question: BundleQuestion) -> ConsumptionMeasure | None:
    return next((one for one in question.measures if isinstance(one, ConsumptionMeasure)), None)


def _cost(weighed: ConsumptionMeasure | None, demand: Demand, device: int) -> int:
    return weighed.consumption.of_pick(demand, device) if weighed else 0


def _searched(question: BundleQuestion, bundle: Bundle, allows: _Allows) -> Bundle | None:
    """The same copies with the first devices that are allowed; None if there are none, or they are not found soon."""
    problems = [unit.problem for unit in question.units]
    if any(question.meters) or any(one.has_admin or pools_with_negative_draws(one) for one in problems):
        return None
    copies = [(problem, picks) for problem, own in zip(problems, bundle.copies, strict=True) for picks in own]
    restricted = [problem.without_soft().restricted(allows(problem, picks)) for problem, picks in copies]
    if not any(problem.demands for problem in restricted):
        return None
    try:
        found = Search(Problem.side_by_side(restricted), question.in_use, budget=_MOST_VISITS).run()
    except (BudgetError, FatalError):
        return None
    if found is None:
        return None
    firsts = list(accumulate((len(problem.demands) for problem in restricted), initial=0))
    dealt: list[list[Pick]] = [[] for _ in copies]
    for pick in found:
        copy = bisect_right(firsts, pick.demand) - 1
        dealt[copy].append(Pick(pick.demand - firsts[copy], pick.device))
    left = iter(dealt)
    return Bundle(tuple(tuple(tuple(next(left)) for _ in own) for own in bundle.copies))

"""Devices of a bundle chosen again: the first ones of the scheduler's search, or those that consume least.

Where the search does not find the lightest devices soon, copies of one device each are packed: those that need most
come first, and each takes the lightest device that the counters still have room for. Copies may also keep their devices
and move to lighter ones one by one. What is packed is found again by the search, so that all rules hold for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping
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
    is_same = found is not None and question.usage(found) == question.usage(bundle) and question.has_room(found)
    return found if found is not None and is_same else bundle


def lightest_devices(question: BundleQuestion, bundle: Bundle) -> Bundle:
    """The first devices that consume least of all that serve each request, else lighter ones that are found soon.

    The bundle stays if there are none.
    """
    weighed = _consumption(question)
    if weighed is None or bundle.in_order:
        return bundle
    least: dict[tuple[int, int], int] = {}

    def least_cost(problem: Problem, number: int) -> int:
        key = id(problem), number
        if key not in least:
            free = (one for one in problem.demands[number].candidates if one not in question.in_use.dedicated)
            least[key] = min((_cost(weighed, problem.demands[number], device) for device in free), default=0)
        return least[key]

    def light(problem: Problem, picks: Picks) -> Callable[[Demand, int], bool]:
        chosen = {pick.demand: least_cost(problem, pick.demand) for pick in picks}

        def is_light(demand: Demand, device: int) -> bool:
            number = demand.index
            return demand.all_devices or (number in chosen and _cost(weighed, demand, device) == chosen[number])

        return is_light

    packing = _packing(question, bundle, weighed)
    # Packing is quicker than a search that fails.
    found = _searched(question, bundle, light) if packing is None or packing.is_lightest else None
    in_order = found is not None
    if found is None and packing is not None:
        found = _packed(question, bundle, packing)
    if found is None or not question.has_room(found):
        return bundle
    before, after = dict(question.usage(bundle)), dict(question.usage(found))
    if any(amount > before.get(meter, 0) for meter, amount in after.items()):
        return bundle
    return replace(found, in_order=in_order)


_Slot = tuple[int, int]
"""A copy in a bundle: number of its unit, and its own."""


def _packing(question: BundleQuestion, bundle: Bundle, weighed: ConsumptionMeasure) -> _Packing | None:
    """Devices for copies of one device each; None if there are others."""
    problems = (unit.problem for unit, own in zip(question.units, bundle.copies, strict=True) if own)
    return _Packing(question, bundle, weighed) if all(map(_takes_one_device, problems)) else None


def _packed(question: BundleQuestion, bundle: Bundle, packing: _Packing) -> Bundle | None:
    """The bundle with the devices of a packing; None if they are its own, or some rule is broken."""
    if packing.chosen == packing.given:
        return None
    pairs = enumerate(bundle.copies)
    packed = Bundle(
        tuple(
            tuple(
                tuple(replace(pick, device=packing.chosen[unit, copy]) for pick in picks)
                for copy, picks in enumerate(own)
            )
            for unit, own in pairs
        )
    )

    def same(_problem: Problem, own: Picks) -> Callable[[Demand, int], bool]:
        there = {(pick.demand, pick.device) for pick in own}
        return lambda demand, device: (demand.index, device) in there

    return _searched(question, packed, same)


def _takes_one_device(problem: Problem) -> bool:
    """Whether a copy is one device that nobody shares, and nothing is said about it beside others."""
    if len(problem.demands) != 1 or problem.constraints or problem.relations or problem.shared:
        return False
    demand = problem.demands[0]
    return demand.count == 1 and not (demand.admin or demand.all_devices)


class _Packing:
    """Devices for the copies of one node, which leave no counter below zero.

    ``given`` are those of the bundle, ``chosen`` lighter ones, as far as some are found. ``is_lightest``: each copy has
    the lightest that there is for it.
    """

    def __init__(self, question: BundleQuestion, bundle: Bundle, weighed: ConsumptionMeasure) -> None:
        self._draws = question.units[0].problem.counters.consumption
        self._left = dict(enumerate(question.in_use.available))
        self.given = {
            (number, copy): picks[0].device
            for number, own in enumerate(bundle.copies)
            for copy, picks in enumerate(own)
        }
        self._choices: dict[int, list[tuple[int, int]]] = {}
        self._weights: dict[_Slot, int] = {}
        for number in {number for number, _ in self.given}:
            demand = question.units[number].problem.demands[0]
            free = (device for device in demand.candidates if device not in question.in_use.dedicated)
            weights = {device: _cost(weighed, demand, device) for device in free}
            self._weights.update(((number, device), weight) for device, weight in weights.items())
            # Sorting keeps the order of the search among those that weigh the same.
            self._choices[number] = sorted(((weight, one) for one, weight in weights.items()), key=lambda one: one[0])
        filled = self._filled()
        self.is_lightest = filled is not None and self._cost(filled) == sum(self._lightest(n) for n, _ in self.given)
        moved = {} if self.is_lightest else self._moved()
        self.chosen = filled if filled and (not moved or self._cost(filled) < self._cost(moved)) else moved

    def _cost(self, chosen: Mapping[_Slot, int]) -> int:
        """What the chosen devices consume."""
        return sum(self._weights[number, device] for (number, _), device in chosen.items())

    def _filled(self) -> dict[_Slot, int] | None:
        """Pack all copies anew, those first whose lightest device is heaviest; None if one finds no room."""
        left, taken, found = dict(self._left), set[int](), dict[_Slot, int]()
        for slot in sorted(self.given, key=lambda slot: (-self._lightest(slot[0]), len(self._choices[slot[0]]), slot)):
            device = self._free(slot[0], left, taken)
            if device is None:
                return None
            found[slot] = device
            self._take(device, left, taken)
        return found

    def _moved(self) -> dict[_Slot, int]:
        """Move copies to lighter devices one by one, as long as there are some."""
        left, taken, found = dict(self._left), set[int](), dict(self.given)
        for device in found.values():
            self._take(device, left, taken)
        waiting = True
        while waiting:
            waiting = False
            for slot, device in found.items():
                own = self._draws.get(device, ())
                for row, amount in own:
                    left[row] += amount
                better = self._free(slot[0], left, taken, below=self._weights[slot[0], device])
                for row, amount in own:
                    left[row] -= amount
                if better is not None:
                    waiting = True
                    for row, amount in own:
                        left[row] += amount
                    taken.discard(device)
                    found[slot] = better
                    self._take(better, left, taken)
        return found

    def _lightest(self, number: int) -> int:
        choices = self._choices[number]
        return choices[0][0] if choices else 0

    def _free(self, number: int, left: Mapping[int, int], taken: set[int], below: int | None = None) -> int | None:
        """The lightest device that is free and leaves no counter below zero, if it weighs less than ``below``."""
        for weight, device in self._choices[number]:
            if below is not None and weight >= below:
                return None
            if device not in taken and all(left[row] >= amount for row, amount in self._draws.get(device, ())):
                return device
        return None

    def _take(self, device: int, left: dict[int, int], taken: set[int]) -> None:
        taken.add(device)
        for row, amount in self._draws.get(device, ()):
            left[row] -= amount


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

"""The node with its node-wide resources at a price instead of a limit: a bound, by knapsacks over devices.

Prices of resources (Lagrange multipliers) are whole numbers in units of 1 / ``FINE`` of a value, so that bounds are
exact. They are found by minimising the bound, a convex and piecewise linear function, resource by resource.
"""

from __future__ import annotations

from ..limits import is_past
from .cutting import lowest
from .question import Offer, Question
from .relaxed import Relaxed

# Values are multiplied by it, so that prices of a single milli-CPU are precise enough.
FINE = 1 << 14

_CYCLES = 3
# A bound that is worse by one part in so many does not matter.
_TIE = 1 << 22
_CUTS = 10


class _Tally:
    """Adds up what a packing uses of the node's resources."""

    def __init__(self, resources: int) -> None:
        self.use = [0] * resources

    def add(self, offer: Offer, times: int = 1) -> None:
        """Count an offer that is taken so often."""
        for resource, need in enumerate(offer.unit.needs):
            self.use[resource] += need * times


def relax(question: Question, resource_prices: tuple[int, ...]) -> Relaxed:
    """Find the best packing at given prices of resources, without their limits and without ``most``."""
    node = question.node
    worth = {
        offer.index: FINE * offer.value
        - sum(need * price for need, price in zip(offer.unit.needs, resource_prices, strict=True))
        for offer in question.offers
    }
    tally = _Tally(len(node.left))
    device, last = _one_device(question, worth)
    whole, chosen = _whole_devices(question, worth, device)
    _count_whole(question, tally, whole, chosen, last)
    parts = [question.steps(free) for free in node.free if free != node.capacity]
    for part in parts:
        _count_device(question, tally, part, last)
    rest = 0
    for offer in question.without:
        if worth[offer.index] > 0:
            rest += worth[offer.index] * offer.most
            tally.add(offer, offer.most)
    kept = sum(left * price for left, price in zip(node.left, resource_prices, strict=True))
    bound = kept + whole[-1] + sum(device[part] for part in parts) + rest
    return Relaxed(resource_prices, bound, tuple(tally.use), worth, device, whole, parts, rest)


def _one_device(question: Question, worth: dict[int, int]) -> tuple[list[int], list[Offer | None]]:
    """Fill a device step by step; the second list has what comes last, None where a step stays free."""
    by_size: dict[int, tuple[int, Offer]] = {}
    for offer in question.single:
        size, value = question.steps(offer.size(question.node.capacity)), worth[offer.index]
        if value > by_size.get(size, (0, offer))[0]:
            by_size[size] = (value, offer)
    items, best_so_far = [], 0
    for size, (value, offer) in sorted(by_size.items()):
        if value > best_so_far:
            items.append((size, value, offer))
            best_so_far = value
    best, last = [0], list[Offer | None]([None])
    for filled in range(1, question.steps(question.node.capacity) + 1):
        most, what = best[filled - 1], None
        for size, value, offer in items:
            if size > filled:
                break
            if best[filled - size] + value > most:
                most, what = best[filled - size] + value, offer
        best.append(most)
        last.append(what)
    return best, last


def _whole_devices(
    question: Question, worth: dict[int, int], device: list[int]
) -> tuple[list[int], list[Offer | None]]:
    """Fill free devices one by one, or several with one unit; the second list has that unit."""
    groups: dict[int, tuple[int, Offer]] = {}
    for offer in question.several:
        if worth[offer.index] > groups.get(offer.unit.devices, (0, offer))[0]:
            groups[offer.unit.devices] = (worth[offer.index], offer)
    best, chosen = [0], list[Offer | None]([None])
    for number in range(1, question.node.whole + 1):
        most, what = best[-1] + device[-1], None
        for size, (value, offer) in groups.items():
            if size <= number and best[number - size] + value > most:
                most, what = best[number - size] + value, offer
        best.append(most)
        chosen.append(what)
    return best, chosen


def _count_whole(
    question: Question, tally: _Tally, whole: list[int], chosen: list[Offer | None], last: list[Offer | None]
) -> None:
    number = len(whole) - 1
    while number:
        offer = chosen[number]
        if offer:
            tally.add(offer)
            number -= offer.unit.devices
        else:
            _count_device(question, tally, len(last) - 1, last)
            number -= 1


def _count_device(question: Question, tally: _Tally, filled: int, last: list[Offer | None]) -> None:
    while filled:
        offer = last[filled]
        if offer:
            tally.add(offer)
            filled -= question.steps(offer.size(question.node.capacity))
        else:
            filled -= 1


def relax_best(question: Question, deadline: float | None = None) -> Relaxed:
    """Find prices of resources that make the bound low, if not the lowest. The clock may end that, for safety."""
    search = _Search(question, deadline)
    best = search.one_by_one()
    if len(search.short) < 2:
        return best
    return lowest(search.at, search.seen, question.node.left, search.least, deadline)


class _Search:
    """Tries prices, and keeps what was ``seen``; of the resources ``short`` some packing used more than there is."""

    def __init__(self, question: Question, deadline: float | None) -> None:
        self.seen: list[Relaxed] = []
        self.short: set[int] = set()
        self._question = question
        self._left = question.node.left
        self._deadline = deadline
        free = self.at((0,) * len(self._left))
        # Among packings of equal value, those that use less are better: a price that is next to nothing says so.
        self.least = tuple((free.bound // _TIE) // left if left else 0 for left in self._left)

    def at(self, prices: tuple[int, ...]) -> Relaxed:
        """Relax at these prices."""
        found = relax(self._question, prices)
        self.seen.append(found)
        self.short.update(number for number, left in enumerate(self._left) if found.use[number] > left)
        return found

    def one_by_one(self) -> Relaxed:
        """Minimise over one price after the other, as long as that lowers the bound."""
        best = self.at(self.least)
        for _ in range(_CYCLES):
            before = best.bound
            for resource, left in enumerate(self._left):
                if is_past(self._deadline):
                    return best
                if left and (best.resource_prices[resource] > self.least[resource] or best.use[resource] > left):
                    best = self._along(best, resource)
            if best.bound == before:
                break
        return best

    def _along(self, start: Relaxed, resource: int) -> Relaxed:
        """Minimise over the price of one resource: two cuts meet where the next one is made."""
        left = self._left[resource]

        def at(price: int) -> Relaxed:
            prices = start.resource_prices
            return self.at((*prices[:resource], price, *prices[resource + 1 :]))

        best = start
        if start.use[resource] > left:
            low, high = start, at(start.resource_prices[resource] + start.bound // left + 1)
        else:
            low, high = at(self.least[resource]), start
        if low.use[resource] <= left:
            return min(best, low, key=_bound)
        for _ in range(_CUTS):
            # The bound falls by ``over`` for each unit of price at the low end, and rises by ``spare`` at the high one.
            over, spare = low.use[resource] - left, left - high.use[resource]
            width = high.resource_prices[resource] - low.resource_prices[resource]
            moved = (low.bound - high.bound + spare * width) // (over + spare)
            if not 0 < moved < width:
                break
            new = at(low.resource_prices[resource] + moved)
            best = min(best, new, key=_bound)
            if low.bound - over * moved >= new.bound - over:
                break
            low, high = (new, high) if new.use[resource] > left else (low, new)
        return min(best, low, high, key=_bound)


def _bound(relaxed: Relaxed) -> int:
    return relaxed.bound

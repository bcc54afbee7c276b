"""A linear node class as a knapsack question, and its Lagrangian relaxation: node-wide resources have prices.

Dynamic programs over the devices solve the relaxation at given prices. Prices (Lagrange multipliers) are whole numbers
in units of 1 / ``VALUE_SCALE`` of a value, so that bounds are exact. The search minimises the bound, a convex and
piecewise linear function: first resource by resource, and where several resources bind over all prices at once, by
cutting planes (Kelley 1960).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from operator import attrgetter, le

from ....encoders.solver_library import mathopt, np
from ..master_problem import is_past


@dataclass(frozen=True, slots=True)
class LinearUnit:
    """A unit takes ``devices`` whole, or a ``share`` of one device, or none; and of the node as a whole ``needs``."""

    devices: int = 0
    share: int = 0
    needs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LinearNode:
    """A node: what is free of each device, what a device has when all of it is free, and what the node has left.

    ``takes`` names the unit classes that may run here, None for all.
    """

    free: tuple[int, ...]
    capacity: int
    left: tuple[int, ...]
    takes: frozenset[int] | None = None

    @property
    def whole(self) -> int:
        """How many devices are free as a whole."""
        return sum(free == self.capacity for free in self.free)

    def allowed(self, units: Sequence[LinearUnit]) -> list[int]:
        """The unit classes of which one unit fits alone."""
        whole, most, left = self.whole, max(self.free, default=0), self.left
        return [
            index
            for index in (range(len(units)) if self.takes is None else sorted(self.takes))
            if (unit := units[index]).devices <= whole and unit.share <= most and all(map(le, unit.needs, left))
        ]

    def alone(self, unit: LinearUnit) -> int | None:
        """How many equal units fit when there is nothing else; None where nothing limits them."""
        limits = [left // need for need, left in zip(unit.needs, self.left, strict=True) if need]
        if unit.devices:
            limits.append(self.whole // unit.devices)
        if unit.share:
            limits.append(sum(free // unit.share for free in self.free))
        return min(limits, default=None)


# Steps of a device that a table has at most, unless shares are smaller still: sizes are rounded down to whole steps,
# which keeps bounds valid.
_MOST_STEPS = 2000
# Among more units it is not looked for those that replace others.
_MOST_COMPARED_UNITS = 1000


@dataclass(frozen=True, slots=True)
class KnapsackItem:
    """A unit class that is worth ``value`` and may be taken at most ``most`` times.

    ``is_scarce``: the node could take more, so that it matters how many are taken.
    """

    index: int
    unit: LinearUnit
    value: int
    most: int
    is_scarce: bool

    def size(self, capacity: int) -> int:
        """The amount that it takes of one device, if it takes one at most."""
        return capacity if self.unit.devices else self.unit.share


@dataclass(frozen=True, slots=True)
class LinearQuestion:
    """Offers that fill one device or a part of it, offers of several devices, and those without a device."""

    node: LinearNode
    single: tuple[KnapsackItem, ...]
    several: tuple[KnapsackItem, ...]
    without: tuple[KnapsackItem, ...]
    step: int

    def steps(self, amount: int) -> int:
        """An amount of a device in steps of the table."""
        return amount // self.step

    @property
    def offers(self) -> tuple[KnapsackItem, ...]:
        """All offers."""
        return self.single + self.several + self.without


@dataclass(frozen=True, slots=True)
class LinearOffers:
    """What does not change from one question about a node to the next: which units fit it, and what replaces what.

    By rank: ``indices`` of units that fit, those first that take least of devices. ``alone`` is how many fit when there
    is nothing else. ``replacing`` has, as bits, the ranks of those that can replace a unit in every packing.
    """

    node: LinearNode
    units: Sequence[LinearUnit]
    indices: Sequence[int]
    alone: Sequence[int | None]
    replacing: Sequence[int]

    @classmethod
    def of(cls, node: LinearNode, units: Sequence[LinearUnit]) -> LinearOffers:
        """Look at each unit on the node."""
        fitting = node.allowed(units)
        fitting.sort(key=lambda index: (units[index].devices, units[index].share, index))
        own = [units[index] for index in fitting]
        return cls(node, units, fitting, [node.alone(unit) for unit in own], _replacing(own))

    def question(self, values: Sequence[int], most: Sequence[int], dominance: bool = True) -> LinearQuestion:
        """Drop what is worth nothing, and, by dominance, what another unit replaces that is worth no less."""
        ranks = [rank for rank, index in enumerate(self.indices) if values[index] > 0 and most[index] > 0]
        if dominance:
            ranks = self._undominated(ranks, values, most)
        offers = [self._offer(rank, values, most) for rank in sorted(ranks, key=self.indices.__getitem__)]
        several = tuple(offer for offer in offers if offer.unit.devices > 1)
        single = tuple(offer for offer in offers if offer.unit.devices == 1 or offer.unit.share)
        without = tuple(offer for offer in offers if not (offer.unit.devices or offer.unit.share))
        sizes = [offer.size(self.node.capacity) for offer in single]
        return LinearQuestion(self.node, single, several, without, _table_step(self.node, sizes))

    def _undominated(self, ranks: Sequence[int], values: Sequence[int], most: Sequence[int]) -> list[int]:
        """Drop units that another one, which the node may be filled with, replaces one for one."""
        kept, plenty = list[int](), 0
        for rank in sorted(ranks, key=lambda rank: -values[self.indices[rank]]):
            if not self.replacing[rank] & plenty:
                kept.append(rank)
                plenty |= 0 if self._is_scarce(rank, most) else 1 << rank
        return kept

    def _is_scarce(self, rank: int, most: Sequence[int]) -> bool:
        alone = self.alone[rank]
        return alone is None or most[self.indices[rank]] < alone

    def _offer(self, rank: int, values: Sequence[int], most: Sequence[int]) -> KnapsackItem:
        index, alone = self.indices[rank], self.alone[rank]
        number = most[index] if alone is None else min(most[index], alone)
        return KnapsackItem(index, self.units[index], values[index], number, self._is_scarce(rank, most))


def _replacing(units: Sequence[LinearUnit]) -> list[int]:
    """As bits, the numbers of those that can replace each unit in every packing; none where they are too many."""
    if not 0 < len(units) <= _MOST_COMPARED_UNITS:
        return [0] * len(units)
    amounts = zip(*((unit.devices, unit.share, *unit.needs) for unit in units), strict=True)
    # Only the order of amounts counts, and they may be larger than the numbers of an array.
    listed = list(amounts)
    orders = [{amount: place for place, amount in enumerate(sorted(set(own)))} for own in listed]
    table = np.array([[order[one] for one in own] for order, own in zip(orders, listed, strict=True)], dtype=np.int32)
    found: list[int] = []
    for number, unit in enumerate(units):
        is_less = table <= table[:, number : number + 1]
        # A device that is taken whole has room for any share.
        is_less[1] |= unit.devices > 0
        found.append(int.from_bytes(np.packbits(is_less.all(axis=0), bitorder="little").tobytes(), "little"))
    return found


def _table_step(node: LinearNode, sizes: list[int]) -> int:
    """The step of tables: with nothing to fill a device with, the whole of it."""
    if not sizes:
        return node.capacity
    common = gcd(*sizes, *node.free, node.capacity) or 1
    return min(max(common, -(-node.capacity // _MOST_STEPS)), *sizes, node.capacity)


@dataclass(frozen=True, slots=True)
class LagrangianRelaxation:
    """The best packing at these resource prices, its worth (in 1 / ``FINE``), and what it uses.

    ``device[c]`` is the best worth of c steps of one device, ``whole[n]`` that of n free devices, ``rest`` that of
    what takes no device or one that is in part in use.
    """

    resource_prices: tuple[int, ...]
    bound: int
    use: tuple[int, ...]
    worth: dict[int, int]
    device: list[int]
    whole: list[int]
    parts: list[int]
    rest: int


# Values are multiplied by it, so that prices of a single milli-CPU are precise enough.
VALUE_SCALE = 1 << 14
_CYCLES = 3
# A bound that is worse by one part in so many does not matter.
_TIE_PRECISION = 1 << 22
_CUTS = 10


def _add_use(use: list[int], offer: KnapsackItem, times: int = 1) -> None:
    """Count what an offer uses of the node's resources that is taken so often."""
    for resource, need in enumerate(offer.unit.needs):
        use[resource] += need * times


def relax_at_prices(question: LinearQuestion, resource_prices: tuple[int, ...]) -> LagrangianRelaxation:
    """Find the best packing at given prices of resources, without their limits and without ``most``."""
    node = question.node
    worth = {
        offer.index: VALUE_SCALE * offer.value
        - sum(need * price for need, price in zip(offer.unit.needs, resource_prices, strict=True))
        for offer in question.offers
    }
    use = [0] * len(node.left)
    device, last = _fill_one_device(question, worth)
    whole, chosen = _fill_whole_devices(question, worth, device)
    _count_whole(question, use, whole, chosen, last)
    parts = [question.steps(free) for free in node.free if free != node.capacity]
    for part in parts:
        _count_device(question, use, part, last)
    rest = 0
    for offer in question.without:
        if worth[offer.index] > 0:
            rest += worth[offer.index] * offer.most
            _add_use(use, offer, offer.most)
    kept = sum(left * price for left, price in zip(node.left, resource_prices, strict=True))
    bound = kept + whole[-1] + sum(device[part] for part in parts) + rest
    return LagrangianRelaxation(resource_prices, bound, tuple(use), worth, device, whole, parts, rest)


def _fill_one_device(question: LinearQuestion, worth: dict[int, int]) -> tuple[list[int], list[KnapsackItem | None]]:
    """Fill a device step by step; the second list has what comes last, None where a step stays free."""
    by_size: dict[int, tuple[int, KnapsackItem]] = {}
    for offer in question.single:
        size, value = question.steps(offer.size(question.node.capacity)), worth[offer.index]
        if value > by_size.get(size, (0, offer))[0]:
            by_size[size] = (value, offer)
    items = list[tuple[int, int, KnapsackItem]]()
    best, last = [0], list[KnapsackItem | None]([None])
    for filled in range(1, question.steps(question.node.capacity) + 1):
        most, what = best[-1], None
        for size, value, offer in items:
            worth_with = best[filled - size] + value
            if worth_with > most:
                most, what = worth_with, offer
        alone = by_size.get(filled)
        if alone is not None and alone[0] > most:
            # Only then it is better than smaller ones in its place.
            most, what = alone
            items.append((filled, *alone))
        best.append(most)
        last.append(what)
    return best, last


def _fill_whole_devices(
    question: LinearQuestion, worth: dict[int, int], device: list[int]
) -> tuple[list[int], list[KnapsackItem | None]]:
    """Fill free devices one by one, or several with one unit; the second list has that unit."""
    groups: dict[int, tuple[int, KnapsackItem]] = {}
    for offer in question.several:
        if worth[offer.index] > groups.get(offer.unit.devices, (0, offer))[0]:
            groups[offer.unit.devices] = (worth[offer.index], offer)
    best, chosen = [0], list[KnapsackItem | None]([None])
    for number in range(1, question.node.whole + 1):
        most, what = best[-1] + device[-1], None
        for size, (value, offer) in groups.items():
            if size <= number and best[number - size] + value > most:
                most, what = best[number - size] + value, offer
        best.append(most)
        chosen.append(what)
    return best, chosen


def _count_whole(
    question: LinearQuestion,
    use: list[int],
    whole: list[int],
    chosen: list[KnapsackItem | None],
    last: list[KnapsackItem | None],
) -> None:
    number = len(whole) - 1
    while number:
        offer = chosen[number]
        if offer:
            _add_use(use, offer)
            number -= offer.unit.devices
        else:
            _count_device(question, use, len(last) - 1, last)
            number -= 1


def _count_device(question: LinearQuestion, use: list[int], filled: int, last: list[KnapsackItem | None]) -> None:
    while filled:
        offer = last[filled]
        if offer:
            _add_use(use, offer)
            filled -= question.steps(offer.size(question.node.capacity))
        else:
            filled -= 1


def best_relaxation(question: LinearQuestion, deadline: float | None = None) -> LagrangianRelaxation:
    """Find prices of resources that make the bound low, if not the lowest. The clock may end that, for safety."""
    search = _PriceSearch(question, deadline)
    best = search.one_by_one()
    if len(search.short) < 2:
        return best
    return minimise_bound(search.at, search.seen, question.node.left, search.least, deadline)


class _PriceSearch:
    """Tries prices, and keeps what was ``seen``; of the resources ``short`` some packing used more than there is."""

    def __init__(self, question: LinearQuestion, deadline: float | None) -> None:
        self.seen: list[LagrangianRelaxation] = []
        self.short: set[int] = set()
        self._question = question
        self._left = question.node.left
        self._deadline = deadline
        free = self.at((0,) * len(self._left))
        # Among packings of equal value, those that use less are better: a price that is next to nothing says so.
        self.least = tuple((free.bound // _TIE_PRECISION) // left if left else 0 for left in self._left)

    def at(self, prices: tuple[int, ...]) -> LagrangianRelaxation:
        """Relax at these prices."""
        found = relax_at_prices(self._question, prices)
        self.seen.append(found)
        self.short.update(number for number, left in enumerate(self._left) if found.use[number] > left)
        return found

    def one_by_one(self) -> LagrangianRelaxation:
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

    def _along(self, start: LagrangianRelaxation, resource: int) -> LagrangianRelaxation:
        """Minimise over the price of one resource: two cuts meet where the next one is made."""
        left = self._left[resource]

        def at(price: int) -> LagrangianRelaxation:
            prices = start.resource_prices
            return self.at((*prices[:resource], price, *prices[resource + 1 :]))

        best = start
        if start.use[resource] > left:
            low, high = start, at(start.resource_prices[resource] + start.bound // left + 1)
        else:
            low, high = at(self.least[resource]), start
        if low.use[resource] <= left:
            return min(best, low, key=_relaxation_bound)
        for _ in range(_CUTS):
            # The bound falls by ``over`` for each unit of price at the low end, and rises by ``spare`` at the high one.
            over, spare = low.use[resource] - left, left - high.use[resource]
            width = high.resource_prices[resource] - low.resource_prices[resource]
            moved = (low.bound - high.bound + spare * width) // (over + spare)
            if not 0 < moved < width:
                break
            new = at(low.resource_prices[resource] + moved)
            best = min(best, new, key=_relaxation_bound)
            if low.bound - over * moved >= new.bound - over:
                break
            low, high = (new, high) if new.use[resource] > left else (low, new)
        return min(best, low, high, key=_relaxation_bound)


_relaxation_bound = attrgetter("bound")
# Rounds at most, and the distance from the lowest bound, relative to it, that does not matter.
_ROUNDS = 24
_CLOSE_GAP = 5e-4
# Each point lies so far from the best one towards the lowest of all cuts, for these lie far out at first.
_STEP_TO_CUTS = 0.5


def minimise_bound(
    relax: Callable[[tuple[int, ...]], LagrangianRelaxation],
    seen: Sequence[LagrangianRelaxation],
    left: Sequence[int],
    least: Sequence[int],
    deadline: float | None = None,
) -> LagrangianRelaxation:
    """Find prices at which the bound is nearly the lowest, from those that were seen already; none below ``least``."""
    best = min(seen, key=_relaxation_bound)
    cuts = _CuttingPlanes(left, least, best.bound)
    cuts.add(seen)
    for _ in range(_ROUNDS):
        found = cuts.lowest()
        if is_past(deadline) or found is None or best.bound - found[0] <= _CLOSE_GAP * best.bound:
            break
        pairs = zip(best.resource_prices, found[1], least, strict=True)
        prices = tuple(max(limit, round(one + _STEP_TO_CUTS * (other - one))) for one, other, limit in pairs)
        if prices == best.resource_prices:
            break
        new = relax(prices)
        cuts.add([new])
        best = min(best, new, key=_relaxation_bound)
    return best


class _CuttingPlanes:
    """The linear program of what is known: the bound is convex, and what is left over says how it changes."""

    def __init__(self, left: Sequence[int], least: Sequence[int], bound: int) -> None:
        self._left = left
        # A resource of which all that is left costs the whole bound has price 1 here.
        self._units = [bound / amount if amount else 1.0 for amount in left]
        self._bound = bound
        self._model = mathopt.Model()
        self._prices = [
            self._model.add_variable(lb=price / unit, ub=2.0 if amount else price / unit)
            for price, unit, amount in zip(least, self._units, left, strict=True)
        ]
        self._value = self._model.add_variable(lb=0)
        self._model.minimize(self._value)
        self._solver = mathopt.IncrementalSolver(self._model, mathopt.SolverType.GLOP)

    def add(self, seen: Iterable[LagrangianRelaxation]) -> None:
        for one in seen:
            spare = [amount - used for amount, used in zip(self._left, one.use, strict=True)]
            paid = sum(amount * price for amount, price in zip(spare, one.resource_prices, strict=True))
            cut = self._model.add_linear_constraint(lb=(one.bound - paid) / self._bound)
            cut.set_coefficient(self._value, 1)
            for price, amount, unit in zip(self._prices, spare, self._units, strict=True):
                cut.set_coefficient(price, -amount * unit / self._bound)

    def lowest(self) -> tuple[float, list[float]] | None:
        """The lowest value of all cuts, and the prices there; None if the solver fails."""
        found = self._solver.solve()
        if found.termination.reason != mathopt.TerminationReason.OPTIMAL:
            return None
        values = found.variable_values(self._prices)
        return found.objective_value() * self._bound, [v * unit for v, unit in zip(values, self._units, strict=True)]

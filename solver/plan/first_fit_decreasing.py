"""Plans where what units take of nodes is one vector: first fit decreasing over classes, and nodes filled one by one.

Units come in order of their size, each class as a whole, and go to the open nodes in order, or to the fullest first.
Sizes are compared by several keys, and every node class is tried as the one that is opened first (Friesen and Langston,
1986). In the end each node becomes the cheapest one that has room for what it got. Where nodes cost something, other
plans fill one node after the other: as far as sums of sizes allow (minimum bin slack: Gupta and Ho, 1999), or, where
there are many classes, at prices of sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, inf

from ...encoders.solver_library import FloatArray, IntArray, np
from .column_generation import Pricer
from .filling_graph import VectorNode, same_needs
from .master_problem import Column, MasterProblem, is_past
from .size_bounds import PRICE_PART, SizePrices

# Ways times node classes times unit classes that are tried; each is some ten microseconds. One way may have more, and
# whole fillings as well, which look at all units for each node.
_MOST_STEPS, _MOST_STEPS_OF_ONE, _MOST_STEPS_OF_WHOLE = 10_000, 5_000_000, 20_000
_SIZE_KEYS: tuple[Callable[..., FloatArray], ...] = (
    lambda sizes: sizes.sum(axis=1),
    lambda sizes: sizes.max(axis=1),
    lambda sizes: sizes.prod(axis=1),
)


def pack_decreasing(
    instance: MasterProblem,
    pricer: Pricer,
    nodes: Mapping[int, VectorNode],
    units: Sequence[int],
    costs: Mapping[int, int],
    deadline: float | None = None,
    *,
    thorough: bool = True,
) -> Iterator[list[tuple[Column, int]]]:
    """Yield plans for so many units of each class, in several ways; nodes of a class cost so much each.

    Nodes that are cheapest for all units come first. Many classes have one plan at least; after ``deadline`` none is
    whole. Where it need not be ``thorough``, only the first class is opened first, and nodes are not filled one by one.
    """
    paid = _cheapest_first(nodes, units, costs)
    mains: Sequence[int | None] = (paid if thorough else paid[:1]) or (None,)
    ways = [(key, main, fullest) for main in mains for key in _SIZE_KEYS for fullest in (False, True)]
    ways.sort(key=lambda way: (way[0] is not _SIZE_KEYS[0], way[2]))
    steps = len(nodes) * sum(number > 0 for number in units)
    if paid and thorough and same_needs(nodes):
        filling = _WholeFillings if steps <= _MOST_STEPS_OF_WHOLE else _PricedFillings
        for way in filling.ways(instance, nodes, units, costs):
            yield [(pricer.filled(index, counts), number) for index, counts, number in way.all(deadline)]
    ways = ways[: max(steps <= _MOST_STEPS_OF_ONE, _MOST_STEPS // max(1, steps))]
    orders = {key: _decreasing(nodes, units, key) for key in {key for key, _, _ in ways}}
    for key, main, fullest in ways:
        packing = _DecreasingPacking(instance, nodes, costs, main, fullest=fullest)
        for unit in orders[key]:
            packing.place(unit, 0 if is_past(deadline) else units[unit])
        columns = Counter[Column]()
        for (node_class, counts), number in Counter(packing.downsized()).items():
            columns[pricer.filled(node_class, counts)] += number
        yield list(columns.items())


def _sizes(nodes: Mapping[int, VectorNode], units: Sequence[int]) -> Iterator[tuple[int, list[int], FloatArray]]:
    """Yield of each node class the unit classes that it takes, with the part that they take of each dimension."""
    known, nothing = same_needs(nodes), (0,) * max((len(node.left) for node in nodes.values()), default=0)
    table = np.array([known.get(unit, nothing) for unit in range(len(units))], dtype=np.float64) if known else None
    for index, node in nodes.items():
        there, left = [unit for unit in node.needs if units[unit]], np.array(node.left, dtype=np.float64)
        if there:
            needs = np.array([node.needs[unit] for unit in there]) if table is None else table[there]
            yield index, there, needs[:, left > 0] / left[left > 0] if left.any() else np.zeros((len(there), 1))


def _decreasing(
    nodes: Mapping[int, VectorNode], units: Sequence[int], key: Callable[[FloatArray], FloatArray]
) -> list[int]:
    """The unit classes that fit anywhere, the largest first, by the nodes where they are smallest."""
    least = np.full(len(units), inf)
    for _, there, sizes in _sizes(nodes, units):
        least[there] = np.minimum(least[there], key(sizes))
    return [int(unit) for unit in np.argsort(-least, kind="stable") if least[unit] < inf]


def _cheapest_first(nodes: Mapping[int, VectorNode], units: Sequence[int], costs: Mapping[int, int]) -> list[int]:
    """The node classes that cost something, by what they cost for all units by the scarcest dimension.

    A unit that a class does not take costs the part of a node that it takes where that is cheapest.
    """
    numbers, alone, parts = np.array(units, dtype=np.float64), np.full(len(units), inf), dict[int, float]()
    known = [(index, there, sizes, costs[index]) for index, there, sizes in _sizes(nodes, units) if costs.get(index)]
    for _, there, sizes, cost in known:
        alone[there] = np.minimum(alone[there], cost * sizes.max(axis=1))
    for index, there, sizes, cost in known:
        others = numbers * (alone < inf)
        others[there] = 0
        parts[index] = cost * (numbers[there] @ sizes).max() + others @ np.where(alone < inf, alone, 0)
    return sorted(parts, key=lambda index: (parts[index], index))


@dataclass
class _OpenNodes:
    """The nodes of a class that are in use: what is left of each, a row each, and what it has."""

    room: IntArray
    counts: list[Counter[int]]


class _DecreasingPacking:
    """Nodes that are filled. Those that cost nothing come first, then the main class, then the best for its price."""

    def __init__(
        self,
        instance: MasterProblem,
        nodes: Mapping[int, VectorNode],
        costs: Mapping[int, int],
        main: int | None,
        *,
        fullest: bool,
    ) -> None:
        self._nodes, self._costs, self._fullest = nodes, costs, fullest
        self._free = {index: instance.nodes[index].count for index in nodes}
        self._open = {
            index: _OpenNodes(np.zeros((0, len(node.left)), dtype=np.int64), []) for index, node in nodes.items()
        }
        self._order = sorted(nodes, key=lambda index: (costs.get(index, 0) > 0, index != main, index))
        self._first = next((index for index in self._order if costs.get(index, 0) > 0), None)
        self._cheap = sorted(nodes, key=lambda index: (costs.get(index, 0), index))

    def place(self, unit: int, number: int) -> None:
        """Place units of a class in open nodes, and then in new ones."""
        takers = [(index, node) for index in self._order if unit in (node := self._nodes[index]).needs]
        for index, _ in takers:
            number -= self._fill(index, unit, number)
        if number <= 0:
            return
        alone = {index: node.alone(unit) for index, node in takers if self._free[index]}
        for index in sorted(alone, key=lambda index: self._price(index, alone[index])):
            if not alone[index] or number <= 0:
                continue
            new, own = min(self._free[index], -(-number // alone[index])), self._open[index]
            empty = np.array([self._nodes[index].left], dtype=np.int64)
            own.room = np.concatenate((own.room, np.repeat(empty, new, axis=0)))
            own.counts += [Counter() for _ in range(new)]
            self._free[index] -= new
            number -= self._fill(index, unit, number)

    def _price(self, index: int, alone: int) -> tuple[bool, float, int]:
        """New nodes of the main class come first; else those that cost least for each unit."""
        cost = self._costs.get(index, 0)
        return cost > 0 and index != self._first, cost / alone if alone else inf, index

    def _fill(self, index: int, unit: int, number: int) -> int:
        own, node = self._open[index], self._nodes[index]
        if not own.counts or number <= 0:
            return 0
        fitting = node.fitting(unit, own.room)
        if unit in node.most:
            fitting = np.minimum(fitting, [node.most[unit] - counts[unit] for counts in own.counts])
        order = np.flatnonzero(fitting)
        if self._fullest and len(order):
            scale = np.array([1 / left if left else 0.0 for left in node.left])
            order = order[np.argsort(own.room[order] @ scale, kind="stable")]
        before = 0
        for place in order.tolist():
            taken = min(int(fitting[place]), number - before)
            own.room[place] -= taken * np.array(node.needs[unit], dtype=np.int64)
            own.counts[place][unit] += taken
            before += taken
            if before == number:
                break
        return before

    def downsized(self) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
        """Yield each node with what it has; it becomes the cheapest that has room for that and is to be had."""
        for index, own in self._open.items():
            cost = self._costs.get(index, 0)
            cheaper = [other for other in self._cheap if self._costs.get(other, 0) < cost]
            for counts in own.counts:
                chosen = next(
                    (other for other in cheaper if self._free[other] > 0 and self._nodes[other].holds(counts)), index
                )
                if chosen != index:
                    self._free[chosen] -= 1
                    self._free[index] += 1
                if counts:
                    yield chosen, tuple(sorted((unit, number) for unit, number in counts.items() if number))


def _taken(
    index: int, counts: Mapping[int, int], free: dict[int, int], left: dict[int, int] | IntArray
) -> tuple[int, tuple[tuple[int, int], ...], int]:
    """Fill nodes of a class so, as many as are free and units are left for; what each takes, and how many they are."""
    times = min(free[index], *(int(left[unit]) // number for unit, number in counts.items()))
    free[index] -= times
    for unit, number in counts.items():
        left[unit] -= number * times
    return index, tuple(sorted(counts.items())), times


# Sums of sizes are counted in at most so many parts of the largest node.
_MOST_SUMS = 1 << 12


@dataclass
class _WholeFillings:
    """Fills one node after the other around the largest unit that is left, at the least price for what is used.

    ``sizes`` and ``rooms`` are in the dimension that is scarcest. Which sums units can have are the bits of a number.
    """

    nodes: Mapping[int, VectorNode]
    costs: Mapping[int, int]
    free: dict[int, int]
    left: dict[int, int]
    sizes: Mapping[int, int]
    rooms: Mapping[int, int]

    @classmethod
    def ways(
        cls, instance: MasterProblem, nodes: Mapping[int, VectorNode], units: Sequence[int], costs: Mapping[int, int]
    ) -> Iterator[_WholeFillings]:
        """Yield the one in the dimension in which units take most of the largest node."""
        needs = {unit: own for node in nodes.values() for unit, own in node.needs.items() if units[unit]}
        most = [max(own) or 1 for own in zip(*(node.left for node in nodes.values()), strict=True)]
        totals = [sum(units[unit] * own[d] for unit, own in needs.items()) / most[d] for d in range(len(most))]
        d = totals.index(max(totals))
        step = max(gcd(*(own[d] for own in needs.values())), -(-most[d] // _MOST_SUMS))
        sizes = {unit: -(-own[d] // step) for unit, own in needs.items()}
        order = sorted(needs, key=lambda unit: (-sizes[unit], [-need for need in needs[unit]], unit))
        free = {index: instance.nodes[index].count for index in nodes}
        rooms = {index: node.left[d] // step for index, node in nodes.items()}
        yield cls(nodes, costs, free, {unit: units[unit] for unit in order}, sizes, rooms)

    def all(self, deadline: float | None) -> Iterator[tuple[int, tuple[tuple[int, int], ...], int]]:
        """Yield node classes with what each node takes, and how many of them do."""
        for seed in self.left:
            while self.left[seed] and not is_past(deadline) and (best := self._best(seed)):
                index, counts = best
                yield _taken(index, counts, self.free, self.left)

    def _best(self, seed: int) -> tuple[int, Counter[int]] | None:
        """The filling with this unit that costs least for what it uses."""
        takers = [index for index, number in self.free.items() if number and self.nodes[index].holds({seed: 1})]
        if not takers:
            return None
        widest = max(0, max(self.rooms[index] for index in takers) - self.sizes[seed])
        others = [unit for unit, number in self.left.items() if number > (unit == seed) and self.sizes[unit] <= widest]
        sums, mask = [1], (1 << (widest + 1)) - 1
        for unit in reversed(others):
            sums.append(self._with(sums[-1], unit, self.left[unit] - (unit == seed), mask))
        sums.reverse()
        found = [(index, self._filled(index, seed, others, sums)) for index in takers]
        return min(found, key=lambda one: (self._price(*one), -self.rooms[one[0]], one[0]))

    def _price(self, index: int, counts: Mapping[int, int]) -> float:
        return self.costs.get(index, 0) / (sum(self.sizes[unit] * number for unit, number in counts.items()) or 1)

    def _with(self, sums: int, unit: int, number: int, mask: int) -> int:
        """The sums with up to so many units more, which are added in growing numbers."""
        size, copies = self.sizes[unit], 1
        while number > 0 and size:
            more = sums | (sums << (size * min(copies, number))) & mask
            if more == sums:
                break
            sums, number, copies = more, number - copies, 2 * copies
        return sums

    def _filled(self, index: int, seed: int, others: Sequence[int], sums: Sequence[int]) -> Counter[int]:
        """The largest units that come to the largest sum; where other dimensions forbid that, what fits of it."""
        counts, room = Counter({seed: 1}), max(0, self.rooms[index] - self.sizes[seed])
        for unit, (before, after) in zip(others, pairwise(sums), strict=True):
            # The largest sum of this unit and those behind it.
            room = (before & ((1 << (room + 1)) - 1)).bit_length() - 1
            while room >= self.sizes[unit] and counts[unit] < self.left[unit]:
                rest = room - self.sizes[unit]
                if not self._with(after, unit, self.left[unit] - counts[unit] - 1, (1 << (rest + 1)) - 1) >> rest & 1:
                    break
                counts[unit] += 1
                if not self.nodes[index].holds(counts):
                    counts[unit] -= 1
                    break
                room = rest
        return +counts


# So many node classes that cost something are filled, so many unit classes are compared, and so many units of one of
# them go to a node.
_MOST_FILLED, _MOST_COMPARED, _MOST_ALIKE = 5, 400, 10_000
_DEAR = 1.1  # times the least cost by sizes is too much


@dataclass
class _PricedFillings:
    """Fills one node after the other, each time of the class that gets most for what it costs, at prices of sizes.

    The unit that comes next is worth most by its sizes times what is left of the node in each dimension, so that all
    dimensions are used up together (the dot products of Panigrahy and others, 2011). ``order`` are the classes, those
    whose sizes come nearest to what they cost first; so many of them are compared.
    """

    nodes: Mapping[int, VectorNode]
    costs: Mapping[int, int]
    prices: FloatArray
    free: dict[int, int]
    left: IntArray
    order: Sequence[int]

    @classmethod
    def ways(
        cls, instance: MasterProblem, nodes: Mapping[int, VectorNode], units: Sequence[int], costs: Mapping[int, int]
    ) -> Iterator[_PricedFillings]:
        """Yield one with the classes first that take most unit classes; where they are dear, one with all alike."""
        takes = {index: sum(units[unit] > 0 for unit in node.needs) for index, node in nodes.items()}
        whole = {index: node for index, node in nodes.items() if takes[index] == max(takes.values())}
        least = SizePrices.of(instance, nodes, units, costs)
        first = SizePrices.of(instance, whole, units, costs)
        for found in (first, least)[: 1 + (first.bound > least.bound * _DEAR)]:
            gains = {index: over / (costs.get(index, 0) or 1) for index, over in found.over.items()}
            order = sorted(nodes, key=lambda index: (-gains.get(index, -inf), costs.get(index, 0), index))
            prices = np.array([price / PRICE_PART for price in found.prices])
            free = {index: instance.nodes[index].count for index in nodes}
            yield cls(nodes, costs, prices, free, np.array(units, dtype=np.int64), order)

    def all(self, deadline: float | None) -> Iterator[tuple[int, tuple[tuple[int, int], ...], int]]:
        """Yield node classes with what each node takes, and how many of them do."""
        paid = [index for index in self.order if self.costs.get(index, 0)]
        first = [index for index in self.order if not self.costs.get(index, 0)] + paid[:_MOST_FILLED]
        tables, others = {index: self._table(index) for index in first}, iter(paid[_MOST_FILLED:])
        while not is_past(deadline) and self.left.any():
            filled = ((index, *self._filled(index, *tables[index])) for index in tables if self.free[index])
            known = [one for one in filled if one[1]]
            if not known:
                # What is left fits other classes only.
                more = next(others, None)
                if more is None:
                    return
                tables[more] = self._table(more)
                continue
            index, counts, worth = min(known, key=lambda one: self.costs.get(one[0], 0) / (one[2] or 1.0))
            index = self._cheapest(index, counts, worth)
            yield _taken(index, counts, self.free, self.left)

    def _table(self, index: int) -> tuple[IntArray, IntArray]:
        """The unit classes that a node takes, and what each needs; those that are worth most come first."""
        node = self.nodes[index]
        units = np.array([unit for unit in node.needs if self.left[unit]], dtype=np.int64)
        needs = np.array([node.needs[unit] for unit in units.tolist()], dtype=np.int64).reshape(-1, len(node.left))
        order = np.argsort(-(needs @ self.prices), kind="stable")
        return units[order], needs[order]

    def _filled(self, index: int, units: IntArray, needs: IntArray) -> tuple[Counter[int], float]:
        """What a node of the class takes of what is left, and what that is worth."""
        node, counts, worth = self.nodes[index], Counter[int](), 0.0
        room = np.array(node.left, dtype=np.int64)
        weights = self.prices / np.maximum(1, room)
        there = np.flatnonzero(self.left[units])
        if len(there) > _MOST_COMPARED:
            there = there[np.linspace(0, len(there) - 1, _MOST_COMPARED).astype(np.int64)]
        units, needs = units[there], needs[there]
        while len(fits := np.flatnonzero((needs <= room).all(axis=1))):
            units, needs = units[fits], needs[fits]
            place = int(np.argmax(needs @ (weights * room)))
            unit = int(units[place])
            most = min(int(self.left[unit]), node.most.get(unit, _MOST_ALIKE))
            counts[unit] += 1 if needs[place].any() else most
            room, worth = room - needs[place], worth + float(self.prices @ needs[place])
            if counts[unit] >= most:
                units, needs = np.delete(units, place), np.delete(needs, place, axis=0)
        return counts, worth

    def _cheapest(self, index: int, counts: Mapping[int, int], worth: float) -> int:
        """The cheapest class that holds the same, which costs no less than that is worth."""
        costs = {one: self.costs.get(one, 0) for one in self.order if self.free[one]}
        cheaper = (one for one, cost in costs.items() if worth <= cost < costs[index] and self.nodes[one].holds(counts))
        return min(cheaper, key=lambda one: (costs[one], one), default=index)

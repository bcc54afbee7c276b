"""First fit decreasing over classes: plans at once, where what units take of nodes is one vector.

Units come in order of their size, each class as a whole, and go to the open nodes in order, or to the fullest first.
Sizes are compared by several keys, and every node class is tried as the one that is opened first (Friesen and Langston,
1986). In the end each node becomes the cheapest one that has room for what it got.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from .column_generation import Pricer
from .filling_graph import VectorNode
from .master_problem import Column, MasterProblem

_Array = NDArray[np.int64]
# Ways times node classes times unit classes that are tried; each is some ten microseconds.
_MOST_STEPS = 10_000
_SIZE_KEYS: tuple[Callable[[Sequence[float]], float], ...] = (sum, max, prod)


def vector_nodes(instance: MasterProblem, pricer: Pricer) -> dict[int, VectorNode] | None:
    """The node classes that there are, as vectors; None where some class is not one."""
    found: dict[int, VectorNode] = {}
    for node in instance.nodes:
        if node.count:
            one = pricer.vector(node.index)
            if one is None:
                return None
            found[node.index] = one
    return found


def pack_decreasing(
    instance: MasterProblem,
    pricer: Pricer,
    nodes: Mapping[int, VectorNode],
    units: Sequence[int],
    costs: Mapping[int, int],
) -> Iterator[list[tuple[Column, int]]]:
    """Yield plans for so many units of each class, in several ways; nodes of a class cost so much each.

    The kinds of nodes that come first are the cheapest ones for all units. There are none where classes are very many.
    """
    paid = sorted(
        (index for index in nodes if costs.get(index, 0) > 0),
        key=lambda index: _cost_of_all(nodes[index], units, costs[index]),
    )
    ways = [
        (key, main, fullest)
        for main in (*paid, *(() if paid else (None,)))
        for key in _SIZE_KEYS
        for fullest in (False, True)
    ]
    ways.sort(key=lambda way: (way[0] is not sum, way[2]))
    steps = len(nodes) * sum(number > 0 for number in units)
    ways = ways[: _MOST_STEPS // max(1, steps)]
    for key, main, fullest in ways:
        packing = _DecreasingPacking(instance, nodes, costs, main, fullest=fullest)
        for unit in _decreasing(nodes, units, key):
            packing.place(unit, units[unit])
        columns = Counter[Column]()
        for (node_class, counts), number in Counter(packing.downsized()).items():
            columns[pricer.filled(node_class, counts)] += number
        yield list(columns.items())


def _cost_of_all(node: VectorNode, units: Sequence[int], cost: int) -> float:
    """What nodes of a class cost for all units, by the scarcest dimension; each that it does not take counts as one."""
    taken = [(number, node.needs[unit]) for unit, number in enumerate(units) if unit in node.needs]
    totals = [sum(number * needs[d] for number, needs in taken) for d in range(len(node.left))]
    missing = sum(number for unit, number in enumerate(units) if unit not in node.needs)
    filled = max((total / left for total, left in zip(totals, node.left, strict=True) if left), default=0.0)
    return cost * (filled + missing)


def _decreasing(
    nodes: Mapping[int, VectorNode], units: Sequence[int], key: Callable[[Sequence[float]], float]
) -> list[int]:
    """The unit classes that fit anywhere, the largest first, by the nodes where they are smallest."""
    sizes: dict[int, float] = {}
    for unit, number in enumerate(units):
        own = [key(node.sizes(unit) or [0.0]) for node in nodes.values() if unit in node.needs] if number else []
        if own:
            sizes[unit] = min(own)
    return sorted(sizes, key=lambda unit: (-sizes[unit], unit))


@dataclass
class _OpenNodes:
    """The nodes of a class that are in use: what is left of each, a row each, and what it has."""

    room: _Array
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

    def place(self, unit: int, number: int) -> None:
        """Place units of a class in open nodes, and then in new ones."""
        takers = [index for index in self._order if unit in self._nodes[index].needs]
        for index in takers:
            number -= self._fill(index, unit, number)
        for index in sorted(takers, key=lambda index: self._price(index, unit)):
            alone = int(self._nodes[index].fitting(unit, np.array([self._nodes[index].left], dtype=np.int64))[0])
            if not alone or number <= 0:
                continue
            new = min(self._free[index], -(-number // alone))
            own, left = self._open[index], np.array([self._nodes[index].left], dtype=np.int64)
            own.room = np.concatenate((own.room, np.repeat(left, new, axis=0)))
            own.counts += [Counter() for _ in range(new)]
            self._free[index] -= new
            number -= self._fill(index, unit, number)

    def _price(self, index: int, unit: int) -> tuple[bool, float, int]:
        """New nodes of the main class come first; else those that cost least for each unit."""
        cost, node = self._costs.get(index, 0), self._nodes[index]
        alone = int(node.fitting(unit, np.array([node.left], dtype=np.int64))[0])
        first = next((one for one in self._order if self._costs.get(one, 0) > 0), None)
        return cost > 0 and index != first, cost / alone if alone else inf, index

    def _fill(self, index: int, unit: int, number: int) -> int:
        own, node = self._open[index], self._nodes[index]
        if not len(own.room) or number <= 0:
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
            for counts in own.counts:
                chosen = min(
                    (other for other in self._nodes if self._is_cheaper(other, index) and self._fits(other, counts)),
                    key=lambda other: (self._costs.get(other, 0), other),
                    default=index,
                )
                if chosen != index:
                    self._free[chosen] -= 1
                    self._free[index] += 1
                if counts:
                    yield chosen, tuple(sorted((unit, number) for unit, number in counts.items() if number))

    def _is_cheaper(self, index: int, other: int) -> bool:
        return self._free[index] > 0 and self._costs.get(index, 0) < self._costs.get(other, 0)

    def _fits(self, index: int, counts: Mapping[int, int]) -> bool:
        node = self._nodes[index]
        if any(number > node.most.get(unit, number) for unit, number in counts.items()):
            return False
        if not node.needs.keys() >= counts.keys():
            return False
        used = (sum(node.needs[unit][d] * number for unit, number in counts.items()) for d in range(len(node.left)))
        return all(amount <= left for amount, left in zip(used, node.left, strict=True))

"""The fillings of one node as paths of a graph: an arc-flow form whose sums have several dimensions.

What a node has left is a vector, and each unit takes a vector of it: resources of the node, its devices where they are
all alike, capacities of one device that claims share, or counters. A layer of the graph decides how many units of one
class the node takes, the largest class first. A state is what is left. It is lowered to what the classes that follow
can still use in each dimension, and states from which the same follows are one, so that graphs stay small (Brandão and
Pedroso, 2016). A longest path is the most valuable column, in exact numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

from ...encoders.solver_library import IntArray, np

MOST_ARCS = 1_000_000
"""A graph with more arcs is not made, before states are merged from which the same follows."""
# The same of numbers, which are as many for each arc as there are dimensions: these are what takes time.
_MOST_NUMBERS = 2_000_000
# Sums in a dimension that are looked at one by one; a larger dimension is not lowered.
_MOST_STEPS = 1 << 18
# No sum of prices comes near this, and three of them can be added.
_NOTHING = -(1 << 60)
_LARGEST_KEY = 1 << 62
# A node takes no more units than this.
_MOST_ALONE = 1 << 62
# Columns of one pricing.
_MOST_PATHS = 24
Filling: TypeAlias = tuple[tuple[int, int], ...]
"""Units by class."""


@dataclass(frozen=True, slots=True)
class VectorNode:
    """A node as a vector: what is left, what one unit of each class takes, and how many of a class it takes at most."""

    left: tuple[int, ...]
    needs: Mapping[int, tuple[int, ...]]
    most: Mapping[int, int]

    def fitting(self, unit: int, room: IntArray) -> IntArray:
        """How many units fit each of several nodes that have so much room, a row each."""
        needs = np.array(self.needs[unit], dtype=np.int64)
        taken = np.flatnonzero(needs)
        most = self.most.get(unit)
        found = np.full(len(room), np.iinfo(np.int64).max if most is None else most, dtype=np.int64)
        return np.minimum(found, (room[:, taken] // needs[taken]).min(axis=1)) if len(taken) else found

    def alone(self, unit: int) -> int:
        """How many units of a class an empty node takes."""
        limits = [left // need for need, left in zip(self.needs[unit], self.left, strict=True) if need]
        return min(*limits, self.most.get(unit, _MOST_ALONE), _MOST_ALONE)

    def holds(self, counts: Mapping[int, int]) -> bool:
        """Whether so many units of each class fit together."""
        if any(unit not in self.needs or number > self.most.get(unit, number) for unit, number in counts.items()):
            return False
        return all(
            sum(self.needs[unit][dimension] * number for unit, number in counts.items()) <= left
            for dimension, left in enumerate(self.left)
        )

    def items(self, limits: Sequence[int]) -> list[GraphItem]:
        """The classes with at most so many units each, and no more than fit."""
        return [
            GraphItem(unit, needs, min(limits[unit], self.alone(unit)))
            for unit, needs in sorted(self.needs.items())
            if limits[unit] > 0
        ]


def same_needs(nodes: Mapping[int, VectorNode]) -> Mapping[int, tuple[int, ...]] | None:
    """What a unit of each class takes; None where that is not the same on all nodes."""
    found: dict[int, tuple[int, ...]] = {}
    for node in sorted(nodes.values(), key=lambda node: -len(node.needs)):
        if not found.items() >= node.needs.items():
            found = {**node.needs, **found}
            if not found.items() >= node.needs.items():
                return None
    return found if len({len(node.left) for node in nodes.values()}) == 1 else None


@dataclass(frozen=True, slots=True)
class GraphItem:
    """A class of units: what each takes, and how many there are at most."""

    index: int
    needs: tuple[int, ...]
    most: int


@dataclass(frozen=True, slots=True)
class GraphLayer:
    """The arcs of one item from states of its layer to states of the next one, in the order of their ``parent``.

    ``copies`` is how many units an arc takes. ``starts`` are the first arcs of each parent, ``by_child`` the order by
    child, and ``child_starts`` the first ones in that order.
    """

    item: GraphItem
    parent: IntArray
    child: IntArray
    copies: IntArray
    starts: IntArray
    by_child: IntArray
    child_starts: IntArray

    @classmethod
    def of(cls, item: GraphItem, parent: IntArray, child: IntArray, copies: IntArray) -> GraphLayer:
        """Order the arcs; each state has one that takes nothing."""
        order = np.lexsort((copies, parent))
        parent, child, copies = parent[order], child[order], copies[order]
        by_child = np.argsort(child, kind="stable")
        return cls(item, parent, child, copies, _first_places(parent), by_child, _first_places(child[by_child]))


def _first_places(ordered: IntArray) -> IntArray:
    """Where each new value begins in an ordered array."""
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _JoinedArcs:
    """The arcs of all layers, whose first ones are the ``starts``; states are numbered from layer to layer."""

    layer: IntArray
    parent: IntArray
    child: IntArray
    copies: IntArray
    starts: IntArray

    @classmethod
    def of(cls, layers: Sequence[GraphLayer], states: Sequence[int]) -> _JoinedArcs:
        first = np.cumsum([0, *states])
        number = np.repeat(np.arange(len(layers)), [len(layer.parent) for layer in layers])
        parent = np.concatenate([layer.parent for layer in layers]) + first[number]
        child = np.concatenate([layer.child for layer in layers]) + first[number + 1]
        return cls(number, parent, child, np.concatenate([one.copies for one in layers]), _first_places(number))


def _last_best(sums: IntArray, state: IntArray, best: IntArray) -> IntArray:
    """By state the last arc of its best sum, which takes most units."""
    found = np.zeros(len(best), dtype=np.int64)
    reaching = np.flatnonzero(sums >= best[state])
    found[state[reaching]] = reaching
    return found


@dataclass(frozen=True, slots=True)
class PathValues:
    """For every layer what arcs are worth, and the best sums from the first state to each state and on to the end."""

    gains: Sequence[IntArray]
    forward: Sequence[IntArray]
    backward: Sequence[IntArray]

    @property
    def best(self) -> int:
        """The worth of the best path."""
        return int(self.backward[0][0])


class Fillings(Protocol):
    """All fillings of a node. ``is_long``: it takes about as long to look at all of them as labels take."""

    @property
    def is_long(self) -> bool: ...  # noqa: D102 - it is described above

    def best_paths(self, prices: Sequence[int], limits: Sequence[int]) -> tuple[int, list[Filling]]:
        """The worth of the best filling, and good ones, the best first: each class is in one if it is in any."""

    def paths(self, prices: Sequence[int], limits: Sequence[int], least: int, most: int) -> list[Filling] | None:
        """All fillings worth ``least`` or more, without units that are worth nothing; None: more than ``most``."""


@dataclass(frozen=True)
class FillingGraph:
    """Layers in order, and the number of states of each, one more than there are layers."""

    layers: tuple[GraphLayer, ...]
    states: tuple[int, ...]

    @property
    def is_long(self) -> bool:
        """Graphs are short."""
        return False

    @property
    def arcs(self) -> int:
        """How many there are."""
        return sum(len(layer.parent) for layer in self.layers)

    def values(self, prices: Sequence[int], limits: Sequence[int]) -> PathValues:
        """Find the best sums at these prices."""
        own = [(layer.copies, max(0, prices[layer.item.index]), limits[layer.item.index]) for layer in self.layers]
        gains = [np.where(copies <= limit, copies * price, _NOTHING) for copies, price, limit in own]
        backward = [np.zeros(1, dtype=np.int64)]
        for layer, gain in zip(reversed(self.layers), reversed(gains), strict=True):
            sums = np.maximum.reduceat(gain + backward[-1][layer.child], layer.starts)
            backward.append(np.maximum(sums, _NOTHING))
        forward = [np.zeros(1, dtype=np.int64)]
        for layer, gain in zip(self.layers, gains, strict=True):
            sums = (gain + forward[-1][layer.parent])[layer.by_child]
            forward.append(np.maximum(np.maximum.reduceat(sums, layer.child_starts), _NOTHING))
        return PathValues(gains, forward, backward[::-1])

    @cached_property
    def _joined(self) -> _JoinedArcs:
        return _JoinedArcs.of(self.layers, self.states)

    def best_paths(self, prices: Sequence[int], limits: Sequence[int]) -> tuple[int, list[Filling]]:
        """The worth of the best path, and good paths, the best first: each class is in one if it is in any.

        A path is the classes that it takes, with the number of units.
        """
        known = self.values(prices, limits)
        found: list[Filling] = []
        if not known.best:
            return 0, found
        arcs, gains = self._joined, np.concatenate(known.gains)
        forward, backward = np.concatenate(known.forward), np.concatenate(known.backward)
        before, behind = gains + forward[arcs.parent], gains + backward[arcs.child]
        through = np.where(arcs.copies > 0, before + backward[arcs.child], _NOTHING)
        best = np.maximum.reduceat(through, arcs.starts)
        middle = _last_best(through, arcs.layer, best)
        # The arc of the best path from each state, and of that to it.
        leaving, entering = _last_best(behind, arcs.parent, backward), _last_best(before, arcs.child, forward)
        ahead = arcs.child[leaving].tolist(), arcs.copies[leaving].tolist()
        back = arcs.parent[entering].tolist(), arcs.copies[entering].tolist()
        items, covered = [layer.item.index for layer in self.layers], set[int]()
        for number in np.argsort(-best, kind="stable").tolist():
            if best[number] <= 0 or len(found) == _MOST_PATHS:
                break
            if items[number] not in covered and prices[items[number]] > 0 and limits[items[number]] > 0:
                arc = middle[number]
                taken = [(items[number], int(arcs.copies[arc]))]
                taken += _walked(items[number + 1 :], *ahead, int(arcs.child[arc]))
                taken += _walked(items[:number][::-1], *back, int(arcs.parent[arc]))
                found.append(tuple(sorted(one for one in taken if prices[one[0]] > 0)))
                covered.update(unit for unit, _ in found[-1])
        return known.best, found

    def restricted(self, prices: Sequence[int], limits: Sequence[int], least: int) -> FillingGraph | None:
        """Leave only arcs of paths that are worth ``least`` or more; None if there are none."""
        known = self.values(prices, limits)
        if known.best < least:
            return None
        layers: list[GraphLayer] = []
        numbers = np.zeros(1, dtype=np.int64)
        sizes = [1]
        for number, layer in enumerate(self.layers):
            sums = known.forward[number][layer.parent] + known.gains[number] + known.backward[number + 1][layer.child]
            kept = np.flatnonzero(sums >= least)
            reached, child = np.unique(layer.child[kept], return_inverse=True)
            parent = np.searchsorted(numbers, layer.parent[kept])
            layers.append(
                GraphLayer.of(layer.item, parent.astype(np.int64), child.astype(np.int64), layer.copies[kept])
            )
            numbers = reached
            sizes.append(len(reached))
        return FillingGraph(tuple(layers), tuple(sizes))

    def paths(self, prices: Sequence[int], limits: Sequence[int], least: int, most: int) -> list[Filling] | None:
        """All paths worth ``least`` or more, without units that are worth nothing; None: more than ``most``."""
        known = self.values(prices, limits)
        if known.best < least:
            return []
        arcs = [_arcs_by_parent(layer, prices[layer.item.index], limits[layer.item.index]) for layer in self.layers]
        backward = [one.tolist() for one in known.backward]
        found: list[Filling] = []
        stack: list[tuple[int, int, int, Filling]] = [(0, 0, 0, ())]
        while stack:
            number, state, worth, taken = stack.pop()
            if number == len(arcs):
                found.append(tuple(sorted(taken)))
                if len(found) > most:
                    return None
                continue
            index, ends = self.layers[number].item.index, backward[number + 1]
            for copies, child, gain in arcs[number][state]:
                if worth + gain + ends[child] >= least:
                    here = (*taken, (index, copies)) if copies else taken
                    stack.append((number + 1, child, worth + gain, here))
        return list(dict.fromkeys(found))


def _walked(
    items: Sequence[int], following: Sequence[int], copies: Sequence[int], state: int
) -> Iterator[tuple[int, int]]:
    """What a path takes that leads from state to state, past so many items."""
    for item in items:
        if copies[state]:
            yield item, copies[state]
        state = following[state]


def _arcs_by_parent(layer: GraphLayer, price: int, limit: int) -> list[list[tuple[int, int, int]]]:
    found: list[list[tuple[int, int, int]]] = [[] for _ in layer.starts]
    price = max(0, price)
    for parent, child, copies in zip(layer.parent.tolist(), layer.child.tolist(), layer.copies.tolist(), strict=True):
        if not copies or (price and copies <= limit):
            found[parent].append((copies, child, copies * price))
    return found


def build_filling_graph(
    items: Sequence[GraphItem], left: Sequence[int], most_arcs: int = MOST_ARCS
) -> FillingGraph | None:
    """Make the graph of a node that has so much left; None if it would be too large."""
    most_arcs = min(most_arcs, _MOST_NUMBERS // max(1, len(left)))
    kept = [item for item in items if item.most > 0]
    kept.sort(key=lambda item: (-_relative_size(item, left), item.index))
    usable = _usable_sums(kept, left)
    state = np.array([left], dtype=np.int64)
    _lower(state, usable[0])
    layers: list[GraphLayer] = []
    arcs = 0
    for item, sums in zip(kept, usable[1:], strict=True):
        needs = np.array(item.needs, dtype=np.int64)
        parents, children, copies = [], [], []
        there, left_over = np.arange(len(state), dtype=np.int64), state
        for number in range(item.most + 1):
            parents.append(there)
            children.append(left_over)
            copies.append(np.full(len(there), number, dtype=np.int64))
            arcs += len(there)
            if arcs > most_arcs:
                return None
            fits = (left_over >= needs).all(axis=1)
            there, left_over = there[fits], left_over[fits] - needs
            if not len(there):
                break
        reached = np.concatenate(children)
        _lower(reached, sums)
        state, child = distinct_rows(reached)
        layers.append(GraphLayer.of(item, np.concatenate(parents), child, np.concatenate(copies)))
        # Later layers have as many states and arcs, but for a few at the end.
        if arcs + len(state) * (len(kept) - len(layers)) * 3 // 4 > most_arcs:
            return None
    return _reduced_graph(layers)


def _relative_size(item: GraphItem, left: Sequence[int]) -> float:
    return sum(need / amount for need, amount in zip(item.needs, left, strict=True) if amount)


def _usable_sums(items: Sequence[GraphItem], left: Sequence[int]) -> list[list[IntArray | None]]:
    """By layer and dimension the sums that the items from there on can have; None where they are too many."""
    bits = [1 if amount <= _MOST_STEPS else 0 for amount in left]
    found = [[_set_bits(own) for own in bits]]
    for item in reversed(items):
        for dimension, (need, amount) in enumerate(zip(item.needs, left, strict=True)):
            if bits[dimension] and need:
                mask = (1 << (amount + 1)) - 1
                for _ in range(min(item.most, amount // need)):
                    more = bits[dimension] | (bits[dimension] << need) & mask
                    if more == bits[dimension]:
                        break
                    bits[dimension] = more
        found.append([_set_bits(own) for own in bits])
    return found[::-1]


def _set_bits(number: int) -> IntArray | None:
    if not number:
        return None
    data = np.frombuffer(number.to_bytes((number.bit_length() + 7) // 8, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(data, bitorder="little")).astype(np.int64)


def _lower(states: IntArray, sums: Sequence[IntArray | None]) -> None:
    """Lower what is left to what can be used, in place."""
    for dimension, own in enumerate(sums):
        if own is not None:
            states[:, dimension] = own[np.searchsorted(own, states[:, dimension], side="right") - 1]


def distinct_rows(rows: IntArray) -> tuple[IntArray, IntArray]:
    """The rows without repetition, and the number of each."""
    if not rows.shape[1]:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    size, key = 1, np.zeros(len(rows), dtype=np.int64)
    for dimension, most in enumerate(rows.max(axis=0).tolist()):
        if size * (most + 1) >= _LARGEST_KEY:
            # Numbers of the different keys are smaller, and in the same order.
            known, key = np.unique(key, return_inverse=True)
            size = len(known)
        size, key = size * (most + 1), key * (most + 1) + rows[:, dimension]
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return rows[first], number.reshape(-1).astype(np.int64)


def _reduced_graph(layers: Sequence[GraphLayer]) -> FillingGraph:
    """Merge states of a layer from which the same follows, from the last layer to the first."""
    number = np.zeros(1 if not layers else int(layers[-1].child.max()) + 1, dtype=np.int64)
    sizes, found = [1], list[GraphLayer]()
    for layer in reversed(layers):
        child = number[layer.child]
        rows = np.full((len(layer.starts), int(layer.copies.max()) + 1), -1, dtype=np.int64)
        rows[layer.parent, layer.copies] = child
        distinct, number = np.unique(rows, axis=0, return_inverse=True)
        number = number.reshape(-1).astype(np.int64)
        parent, copies = np.nonzero(distinct >= 0)
        found.append(
            GraphLayer.of(layer.item, parent.astype(np.int64), distinct[parent, copies], copies.astype(np.int64))
        )
        sizes.append(len(distinct))
    return FillingGraph(tuple(reversed(found)), tuple(reversed(sizes)))

"""Plans where what units take of nodes is one vector: first fit decreasing over classes, and repacking of a few nodes.

Units come in order of their size, each class as a whole, and go to the open nodes in order, or to the fullest first.
Sizes are compared by several keys, and every node class is tried as the one that is opened first (Friesen and Langston,
1986). In the end each node becomes the cheapest one that has room for what it got. Where nodes cost something, another
plan fills one node after the other as far as sums of sizes allow (minimum bin slack: Gupta and Ho, 1999).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd, inf, prod
from random import Random

from ...encoders.rows import CoefficientError, CpSatRows
from ...encoders.solver_library import IntArray, np
from ..engines.cp_sat import Limits, run_solver
from .column_generation import MANY_NODE_CLASSES, Pricer, value_step, vector_nodes
from .filling_graph import VectorNode, same_needs, volume_bound
from .heuristics import remove_slack, settle_units
from .master_problem import (
    Column,
    CouplingRow,
    IntegerPlan,
    MasterProblem,
    ObjectiveStage,
    is_past,
    ordered_columns,
    placed_units,
    required_units,
)

# Ways times node classes times unit classes that are tried; each is some ten microseconds.
_MOST_STEPS = 10_000
_SIZE_KEYS: tuple[Callable[[Sequence[float]], float], ...] = (sum, max, prod)


def cost_bound(
    instance: MasterProblem, pricer: Pricer, stage: ObjectiveStage, rows: Sequence[CouplingRow]
) -> int | None:
    """Bound the cost of nodes by the sizes of the units that have to be placed; None where nodes are no vectors."""
    terms = stage.terms
    if stage.maximise or stage.brief or terms.usage or any(value < 0 for value in terms.nodes.values()):
        return None
    if terms.units or terms.gangs or len(instance.nodes) > MANY_NODE_CLASSES:
        return None
    nodes = vector_nodes(instance, pricer)
    if nodes is None:
        return None
    bound, step = volume_bound(nodes, required_units(instance, rows), terms.nodes), value_step(instance, terms)
    return -(-bound // step) * step


def pack_decreasing(
    instance: MasterProblem,
    pricer: Pricer,
    nodes: Mapping[int, VectorNode],
    units: Sequence[int],
    costs: Mapping[int, int],
    deadline: float | None = None,
) -> Iterator[list[tuple[Column, int]]]:
    """Yield plans for so many units of each class, in several ways; nodes of a class cost so much each.

    Nodes that are cheapest for all units come first. Very many classes have no plan; after ``deadline`` none is whole.
    """
    paid = sorted(
        (index for index in nodes if costs.get(index, 0) > 0),
        key=lambda index: nodes[index].cost_of_all(units, costs[index]),
    )
    mains: Sequence[int | None] = paid or (None,)
    ways = [(key, main, fullest) for main in mains for key in _SIZE_KEYS for fullest in (False, True)]
    ways.sort(key=lambda way: (way[0] is not sum, way[2]))
    if paid and same_needs(nodes):
        fillings = _WholeFillings.of(instance, nodes, units, costs)
        yield [(pricer.filled(index, counts), number) for index, counts, number in fillings.all(deadline)]
    steps = len(nodes) * sum(number > 0 for number in units)
    ways = ways[: _MOST_STEPS // max(1, steps)]
    for key, main, fullest in ways:
        packing = _DecreasingPacking(instance, nodes, costs, main, fullest=fullest)
        for unit in _decreasing(nodes, units, key):
            packing.place(unit, 0 if is_past(deadline) else units[unit])
        columns = Counter[Column]()
        for (node_class, counts), number in Counter(packing.downsized()).items():
            columns[pricer.filled(node_class, counts)] += number
        yield list(columns.items())


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
        takers = [index for index in self._order if unit in self._nodes[index].needs]
        for index in takers:
            number -= self._fill(index, unit, number)
        if number <= 0:
            return
        empty = {index: np.array([self._nodes[index].left], dtype=np.int64) for index in takers}
        alone = {index: int(self._nodes[index].fitting(unit, own)[0]) for index, own in empty.items()}
        for index in sorted(takers, key=lambda index: self._price(index, alone[index])):
            if not alone[index] or number <= 0:
                continue
            new, own = min(self._free[index], -(-number // alone[index])), self._open[index]
            own.room = np.concatenate((own.room, np.repeat(empty[index], new, axis=0)))
            own.counts += [Counter() for _ in range(new)]
            self._free[index] -= new
            number -= self._fill(index, unit, number)

    def _price(self, index: int, alone: int) -> tuple[bool, float, int]:
        """New nodes of the main class come first; else those that cost least for each unit."""
        cost = self._costs.get(index, 0)
        return cost > 0 and index != self._first, cost / alone if alone else inf, index

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
    def of(
        cls, instance: MasterProblem, nodes: Mapping[int, VectorNode], units: Sequence[int], costs: Mapping[int, int]
    ) -> _WholeFillings:
        """Choose the dimension in which units take most of the largest node."""
        needs = {unit: own for node in nodes.values() for unit, own in node.needs.items() if units[unit]}
        most = [max(own) or 1 for own in zip(*(node.left for node in nodes.values()), strict=True)]
        totals = [sum(units[unit] * own[d] for unit, own in needs.items()) / most[d] for d in range(len(most))]
        d = totals.index(max(totals))
        step = max(gcd(*(own[d] for own in needs.values())), -(-most[d] // _MOST_SUMS))
        sizes = {unit: -(-own[d] // step) for unit, own in needs.items()}
        order = sorted(needs, key=lambda unit: (-sizes[unit], [-need for need in needs[unit]], unit))
        free = {index: instance.nodes[index].count for index in nodes}
        rooms = {index: node.left[d] // step for index, node in nodes.items()}
        return cls(nodes, costs, free, {unit: units[unit] for unit in order}, sizes, rooms)

    def all(self, deadline: float | None) -> Iterator[tuple[int, tuple[tuple[int, int], ...], int]]:
        """Yield node classes with what each node takes, and how many of them do."""
        for seed in self.left:
            while self.left[seed] and not is_past(deadline) and (best := self._best(seed)):
                index, counts = best
                times = min(self.free[index], *(self.left[unit] // number for unit, number in counts.items()))
                self.free[index] -= times
                for unit, number in counts.items():
                    self.left[unit] -= number * times
                yield index, tuple(sorted(counts.items())), times

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


# Nodes that are repacked at once, and unit classes in them at most.
_LEAST_REPACKED, _MOST_REPACKED = 3, 8
_MOST_REPACKED_CLASSES = 60
# What CP-SAT may spend on a few nodes, in deterministic units of work, and rounds in vain after which it is over.
_REPACKING_WORK = 0.3
_REPACKINGS_IN_VAIN = 24
# Exchanges in vain by work: more where nodes have many units. Units squared times dimensions are no more for them.
_EXCHANGES, _MOST_SETTLED = 20_000, 2_000_000
# With more nodes in use a few say little.
_MOST_NODES = 2000
# Sizes are counted in such parts of a node.
_SIZE_PARTS = 1000


@dataclass(frozen=True, slots=True, order=True)
class _PackedNode:
    """A node in use, with units by class."""

    node_class: int
    counts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeRepacking:
    """Packs the units of a few nodes anew, so that these cost less; if they do not, so that one of them is emptier.

    What is left over comes together in one node that way, until there is a cheaper way to have the rest. ``needs`` is
    what units take, which is the same on all nodes. Pseudo-random choices depend on the round alone.
    """

    instance: MasterProblem
    pricer: Pricer
    nodes: Mapping[int, VectorNode]
    costs: Mapping[int, int]
    needs: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, instance: MasterProblem, pricer: Pricer, costs: Mapping[int, int]) -> NodeRepacking | None:
        """None where nodes are no vectors or cost nothing, or are too many, or units take something else on others."""
        nodes = vector_nodes(instance, pricer)
        if not nodes or len(nodes) > MANY_NODE_CLASSES or not any(costs.values()):
            return None
        needs = same_needs(nodes)
        return None if needs is None else cls(instance, pricer, nodes, costs, needs)

    def plans(
        self, plan: IntegerPlan, rounds: Iterator[int], work: float, deadline: float | None
    ) -> Iterator[IntegerPlan]:
        """Yield plans that cost ever less, until nothing more is found, or so much work is done.

        ``rounds`` are numbers, each of which stands for choices. Where one class costs, its nodes become fewer.
        """
        columns = remove_slack(self.instance, plan, self.pricer).columns
        packed = [_PackedNode(column.node_class, column.counts) for column, number in columns for _ in range(number)]
        if not _LEAST_REPACKED <= len(packed) <= _MOST_NODES:
            return
        if len(list(filter(self.costs.get, self.nodes))) == 1:
            yield from self._fewer(plan, [node.node_class for node in packed], work, deadline)
            return
        scarce, vain, tried = self._scarce(packed), 0, set[tuple[_PackedNode, ...]]()
        while vain < _REPACKINGS_IN_VAIN and work > 0 and not is_past(deadline):
            chosen = self._chosen(packed, scarce, Random(next(rounds)))
            asked = (packed[chosen[0]], *sorted(packed[place] for place in chosen[1:]))
            if asked in tried:
                # The answer would be the same.
                vain += 1
                continue
            tried.add(asked)
            others = [node for place, node in enumerate(packed) if place not in chosen]
            limits = Limits(deadline=deadline, work=min(work, _REPACKING_WORK))
            found, spent = self._repacked(asked, others, scarce, limits)
            work -= spent
            is_better = self._cost((*others, *found)) < self._cost(packed)
            packed, vain = [*others, *found], 0 if is_better else vain + 1
            if is_better:
                yield self._plan(plan, packed)

    def _fewer(self, plan: IntegerPlan, kinds: list[int], work: float, deadline: float | None) -> Iterator[IntegerPlan]:
        """Yield plans on ever fewer nodes of the class that is paid for, from one on nodes of these classes."""
        units = [unit for unit, number in enumerate(placed_units(self.instance, plan)) for _ in range(number)]
        some = {unit for node in self.nodes.values() for unit in (*node.most, *(self.needs.keys() - node.needs.keys()))}
        # What not all nodes take, or not in any number, is a dimension of its own.
        limited = sorted(some.intersection(units))
        needs = [(*self.needs[unit], *(int(unit == one) for one in limited)) for unit in units]
        room = {
            index: (*node.left, *(node.most.get(one, len(units)) if one in node.needs else 0 for one in limited))
            for index, node in self.nodes.items()
        }
        paid = next(filter(self.costs.get, self.nodes))
        while units and len(units) ** 2 * len(needs[0]) <= _MOST_SETTLED and paid in kinds:
            vain = int(work * _EXCHANGES * len(units) / len(kinds) ** 2)
            kinds.remove(paid)
            places = settle_units(needs, [room[kind] for kind in kinds], vain, deadline)
            if places is None:
                return
            counts: dict[int, Counter[int]] = {place: Counter() for place in sorted(set(places))}
            for unit, place in zip(units, places, strict=True):
                counts[place][unit] += 1
            packed = [_PackedNode(kinds[place], tuple(sorted(own.items()))) for place, own in counts.items()]
            kinds = [node.node_class for node in packed]
            yield self._plan(plan, packed)

    def _plan(self, plan: IntegerPlan, packed: Iterable[_PackedNode]) -> IntegerPlan:
        columns = Counter(self.pricer.filled(node.node_class, node.counts) for node in packed)
        return replace(plan, columns=ordered_columns(columns))

    def _cost(self, packed: Iterable[_PackedNode]) -> int:
        return sum(self.costs.get(node.node_class, 0) for node in packed)

    def _used(self, node: _PackedNode, dimension: int) -> float:
        """What part of a dimension of a node is in use."""
        left = self.nodes[node.node_class].left[dimension]
        return sum(self.needs[unit][dimension] * number for unit, number in node.counts) / left if left else 0.0

    def _scarce(self, packed: Sequence[_PackedNode]) -> list[int]:
        """The dimensions of which most is in use, or at least half as much of all nodes."""
        dimensions = range(len(self.nodes[packed[0].node_class].left))
        totals = [sum(self._used(node, dimension) for node in packed) for dimension in dimensions]
        return [dimension for dimension in dimensions if totals[dimension] >= max(totals) / 2]

    def _chosen(self, packed: Sequence[_PackedNode], scarce: Sequence[int], random: Random) -> list[int]:
        """The node of which most is wasted, others of which much is, and some at random."""
        wastes = [sum(1 - self._used(node, d) for d in scarce) * self.costs.get(node.node_class, 0) for node in packed]
        order = sorted(range(len(packed)), key=lambda place: (-wastes[place], place))
        most = random.randint(_LEAST_REPACKED, _MOST_REPACKED)
        rest = order[1 : most + 2]
        ranked = [order[0], *random.sample(rest, min(len(rest), most // 2))]
        others = [place for place in order if place not in ranked]
        ranked += random.sample(others, min(len(others), most - len(ranked)))
        classes, kept = 0, list[int]()
        for place in ranked:
            classes += len(packed[place].counts)
            if classes <= _MOST_REPACKED_CLASSES or not kept:
                kept.append(place)
        return kept

    def _repacked(
        self, packed: Sequence[_PackedNode], others: Sequence[_PackedNode], scarce: Sequence[int], limits: Limits
    ) -> tuple[Sequence[_PackedNode], float]:
        """The same units on nodes that cost less, or of which the first one has less; and the work that was done."""
        units = _units_of(packed)
        in_use = Counter(node.node_class for node in others)
        free = {index: self.instance.nodes[index].count - in_use[index] for index in sorted(self.nodes)}
        try:
            model = _RepackingModel(self.nodes, self.needs, units, free, packed)
            model.minimise(self.costs, scarce)
            solved = run_solver(model.rows, limits)
        except CoefficientError:
            return packed, limits.work or 0.0
        found = model.packed(solved.values) if solved.values else packed
        return found if _units_of(found) == units else packed, solved.work


def _units_of(packed: Iterable[_PackedNode]) -> Counter[int]:
    return sum((Counter(dict(node.counts)) for node in packed), Counter[int]())


class _RepackingModel:
    """Which kind of node each slot is, and how many units of each class it has; one slot more may split a node."""

    def __init__(
        self,
        nodes: Mapping[int, VectorNode],
        needs: Mapping[int, tuple[int, ...]],
        units: Mapping[int, int],
        free: Mapping[int, int],
        packed: Sequence[_PackedNode],
    ) -> None:
        self.rows = CpSatRows()
        self.rows.has_packing_rows = True
        self._nodes, self._needs, self._units = nodes, needs, units
        slots = [*packed, _PackedNode(packed[0].node_class)] if len(free) > 1 else packed
        self._kinds = [{index: self.rows.boolean() for index in free} for _ in slots]
        self._amounts = [{unit: self.rows.integer(0, number) for unit, number in units.items()} for _ in slots]
        hints = dict[int, int]()
        for kinds, amounts, node in zip(self._kinds, self._amounts, slots, strict=True):
            self._post_slot(kinds, amounts)
            counts = dict(node.counts)
            hints.update({variable: counts.get(unit, 0) for unit, variable in amounts.items()})
            hints.update({kind: int(bool(counts) and index == node.node_class) for index, kind in kinds.items()})
        for unit, number in units.items():
            self.rows.equal([(amounts[unit], 1) for amounts in self._amounts], number)
        for index, number in free.items():
            self.rows.at_most([(kinds[index], 1) for kinds in self._kinds], number)
        self.rows.hint(hints)

    def _post_slot(self, kinds: Mapping[int, int], amounts: Mapping[int, int]) -> None:
        """Post that a slot is one node or none, and what that has room for."""
        self.rows.at_most([(kind, 1) for kind in kinds.values()], 1)
        for dimension in range(len(next(iter(self._nodes.values())).left)):
            taken = [(variable, self._needs[unit][dimension]) for unit, variable in amounts.items()]
            room = [(kind, -self._nodes[index].left[dimension]) for index, kind in kinds.items()]
            self.rows.at_most([*taken, *room], 0)
        for unit, variable in amounts.items():
            most = {index: self._most(index, unit) for index in kinds}
            if min(most.values()) < self._units[unit]:
                self.rows.at_most([(variable, 1), *((kind, -most[index]) for index, kind in kinds.items())], 0)

    def _most(self, index: int, unit: int) -> int:
        node = self._nodes[index]
        return min(self._units[unit], node.most.get(unit, self._units[unit])) if unit in node.needs else 0

    def minimise(self, costs: Mapping[int, int], scarce: Sequence[int]) -> None:
        """Let the slots cost as little as possible, and then the first one have as little as possible."""
        left = [max(node.left[dimension] for node in self._nodes.values()) or 1 for dimension in scarce]
        sizes = {
            unit: sum(_SIZE_PARTS * self._needs[unit][d] // most for d, most in zip(scarce, left, strict=True))
            for unit in self._units
        }
        most, step = 1 + sum(sizes[unit] * number for unit, number in self._units.items()), gcd(*costs.values()) or 1
        terms = [(kind, most * (costs.get(index, 0) // step)) for kinds in self._kinds for index, kind in kinds.items()]
        self.rows.minimize([*terms, *((variable, sizes[unit]) for unit, variable in self._amounts[0].items())])

    def packed(self, values: Sequence[int]) -> list[_PackedNode]:
        """The nodes that have units, by the solver's values."""
        made: list[_PackedNode] = []
        for kinds, amounts in zip(self._kinds, self._amounts, strict=True):
            counts = tuple((unit, values[variable]) for unit, variable in sorted(amounts.items()) if values[variable])
            made += [_PackedNode(index, counts) for index, kind in kinds.items() if counts and values[kind]]
        return made

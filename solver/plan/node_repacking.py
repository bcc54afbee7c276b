"""Repacking of nodes that are in use, where what units take of nodes is one vector.

The units of a few nodes are packed anew by CP-SAT, so that these cost less or one of them is emptier. Where one class
of nodes costs something, all units are packed on one node less by tabu search, again and again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from random import Random

from ...encoders.rows import CoefficientError, CpSatRows
from ...encoders.solver_library import FloatArray, IntArray, np
from ..engines.cp_sat import Limits, run_solver
from .column_generation import MANY_NODE_CLASSES, Pricer, vector_nodes
from .filling_graph import VectorNode, same_needs
from .heuristics import remove_slack
from .master_problem import IntegerPlan, MasterProblem, is_past, ordered_columns, placed_units

# Nodes that are repacked at once, and unit classes in them at most.
_LEAST_REPACKED, _MOST_REPACKED = 3, 8
_MOST_REPACKED_CLASSES = 60
# What CP-SAT may spend on a few nodes, in deterministic units of work, and rounds in vain after which it is over.
_REPACKING_WORK = 0.3
_REPACKINGS_IN_VAIN = 24
# Exchanges in vain by work, the most of it, and dimensions besides that divide them; units squared times dimensions.
_EXCHANGES, _MOST_SEARCHING, _FIXED_DIMENSIONS, _MOST_SETTLED = 30_000, 0.4, 2, 2_000_000
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
        vain = int(min(work, _MOST_SEARCHING) * _EXCHANGES) // (_FIXED_DIMENSIONS + len(self.nodes[paid].left))
        while units and len(units) ** 2 * len(needs[0]) <= _MOST_SETTLED and paid in kinds:
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


# For so many exchanges a unit does not come back to a node. What all of a dimension counts; amounts are not larger.
_LEAST_TABU, _MOST_TABU, _WHOLE, _FORBIDDEN = 10, 20, 1 << 40, float(1 << 62)
# With no more nodes times dimensions sums are exact in floating point. Exchanges seldom fill nodes more than so much.
_MOST_SUMMED, _FULL, _EXACTNESS = 1 << 13, 1 - 1 / 1000, 8


def settle_units(
    needs: Sequence[Sequence[int]], room: Sequence[Sequence[int]], vain: int, deadline: float | None
) -> list[int] | None:
    """Find nodes for all units by tabu search (Glover, 1989): they move or change places while nodes have too much.

    Rows are units and nodes, dimensions columns. None where so many exchanges in a row do not come nearer.
    """
    number, free = len(needs), np.array(room, dtype=np.int64).reshape(len(room), len(needs[0])).T
    # Dimensions are rows here. Behind the units each node has nothing, which changes places with a unit.
    taken = np.pad(np.array(needs, dtype=np.int64).T, ((0, 0), (0, len(room))))
    filled = (taken.sum(axis=1) / np.maximum(free.sum(axis=1), 1 / 2)).max()
    if filled > 1 or free.size > _MOST_SUMMED or not free.size or free.max() > _WHOLE:
        return None
    vain //= _EXACTNESS if filled > _FULL else 1
    weights = (_WHOLE // np.maximum(free.max(axis=1), 1))[:, None]
    amounts, left = (taken * weights).astype(float), (free * weights).astype(float)
    places, whole = np.arange(-number, len(room)), left.copy()
    for unit in np.argsort(-amounts[:, :number].sum(axis=0), kind="stable").tolist():
        # Where it lacks least, and among these where others take something else.
        own = amounts[:, unit]
        place = int(np.lexsort((own / _WHOLE @ (whole - left), np.maximum(own[:, None] - left, 0).sum(axis=0)))[0])
        places[unit] = place
        left[:, place] -= own

    def replaced(units: IntArray) -> FloatArray:
        """What nodes of these units lack more once another unit is there instead, a column each."""
        beside = (left[:, places[units]] + amounts[:, units])[:, :, None]
        found: FloatArray = np.maximum(amounts[:, None] - beside, 0).sum(axis=0) - lacks[places[units], None]
        return found

    lacks = np.maximum(-left, 0).sum(axis=0)
    gains = replaced(np.arange(len(places)))
    tabu, random, step, last, best = np.zeros((len(places), len(room)), int), Random(number), 0, 0, _FORBIDDEN
    while (total := float(lacks.sum())) and step - last <= vain and not is_past(deadline):
        step += 1
        if total < best:
            best, last = total, step
        there = places[bad := np.flatnonzero(lacks[places[:number]])]
        losses = gains[bad] + gains[:, bad].T
        is_tabu = np.maximum(tabu[bad].take(places, axis=1), tabu.take(there, axis=1).T) > step
        losses[is_tabu & (losses >= best - total) | (there[:, None] == places)] = _FORBIDDEN
        row, other = divmod(int(losses.argmin()), len(places))
        unit, ends = int(bad[row]), places[[bad[row], other]]
        left[:, ends] += np.outer(amounts[:, unit] - amounts[:, other], (1, -1))
        for one, before, after in ((unit, *ends), (other, *ends[::-1])):
            if one < number:
                places[one], tabu[one, before] = after, step + random.randint(_LEAST_TABU, _MOST_TABU)
        lacks[ends] = np.maximum(-left[:, ends], 0).sum(axis=0)
        changed = np.flatnonzero((places == ends[0]) | (places == ends[1]))
        gains[changed] = replaced(changed)
    return None if total else places[:number].tolist()

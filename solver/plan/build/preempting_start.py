"""A good plan to start from where running units may be lost, and units put back for which a plan leaves room.

What waits goes one by one, the most important first, to the node where it costs least, as kube-scheduler tries (EVT-4):
all that it may displace are taken off, and put back in the order of what their loss counts, as far as they fit. Both
look at nodes that are vectors; on others a running unit is put back where nothing arrives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush

from ....models.kubernetes.meta import ObjectKey
from ..column_generation import Pricer
from ..filling_graph import VectorNode
from ..master_problem import Column, IntegerPlan, MasterProblem, ordered_columns
from .units import GangRole

_Cost = tuple[int, ...]


@dataclass(slots=True)
class _Node:
    """A node with what is on it: ``left`` is free, ``home`` are running units by role, ``lost`` those taken off."""

    node_class: int
    vector: VectorNode
    left: list[int]
    home: Counter[int] = field(default_factory=Counter)
    lost: Counter[int] = field(default_factory=Counter)
    arrived: Counter[int] = field(default_factory=Counter)
    version: int = 0

    def fits(self, unit: int) -> bool:
        """Whether one more unit of a role fits."""
        return all(need <= left for need, left in zip(self.vector.needs[unit], self.left, strict=True))

    def take(self, unit: int, number: int) -> None:
        """Take room for so many units; a negative number gives it back."""
        self.left = [left - number * need for need, left in zip(self.vector.needs[unit], self.left, strict=True)]


@dataclass
class PreemptingStart:
    """Roles by number, and what each PodDisruptionBudget allows; ``start`` is the plan in which nothing leaves."""

    instance: MasterProblem
    pricer: Pricer
    roles: Sequence[GangRole]
    budgets: Mapping[ObjectKey, int]
    excess: Mapping[ObjectKey, int]
    start: IntegerPlan

    def plan(self) -> IntegerPlan:
        """The plan to start from: that in which nothing leaves, if no better one is found."""
        nodes, others = self._nodes()
        lost = Counter[ObjectKey]()
        for unit, number in self._waiting():
            self._place(unit, number, nodes, lost)
        columns = Counter[Column](dict(others))
        for node in nodes:
            columns[self.pricer.filled(node.node_class, sorted((node.home + node.arrived).items()))] += 1
        placed = list(self.start.units)
        for node in nodes:
            for unit, number in node.lost.items():
                placed[unit] -= number
            for unit, number in node.arrived.items():
                placed[unit] += number
        return self._with_excess(replace(self.start, columns=ordered_columns(columns), units=tuple(placed)))

    def put_back(self, plan: IntegerPlan) -> IntegerPlan:
        """The plan with running units on their nodes again where it leaves room for them."""
        at_home = {column.node_class: column for column, _ in self.start.columns}
        columns, placed = Counter[Column](), list(plan.units)
        seen = Counter[int]()
        for column, number in plan.columns:
            seen[column.node_class] += number
            better = self._filled_up(column, at_home.get(column.node_class))
            columns[better] += number
            for unit, more in (Counter(dict(better.counts)) - Counter(dict(column.counts))).items():
                placed[unit] += more * number
        for column, number in self.start.columns:
            if (rest := number - seen[column.node_class]) > 0:
                columns[column] += rest
                for unit, more in column.counts:
                    placed[unit] += more * rest
        found = self._with_excess(replace(plan, columns=ordered_columns(columns), units=tuple(placed)))
        return found if found.is_feasible(self.instance, self.instance.rows) else plan

    def _filled_up(self, column: Column, at_home: Column | None) -> Column:
        if at_home is None:
            return column
        counts, home = Counter(dict(column.counts)), Counter(dict(at_home.counts))
        if counts.keys() <= home.keys():
            return at_home
        vector = self.pricer.vector(column.node_class)
        if vector is None:
            return column
        node = _Node(column.node_class, vector, list(vector.left))
        for unit, number in counts.items():
            node.take(unit, number)
        missing = sorted((home - counts).items(), key=lambda pair: (self._loss(pair[0]), pair[0]), reverse=True)
        for unit, number in missing:
            for _ in range(number):
                if node.fits(unit):
                    node.take(unit, 1)
                    counts[unit] += 1
        return self.pricer.filled(column.node_class, sorted(counts.items()))

    def _with_excess(self, plan: IntegerPlan) -> IntegerPlan:
        """The plan with what is beyond each budget."""
        gone = Counter[ObjectKey]()
        for role, before, after in zip(self.roles, self.start.units, plan.units, strict=False):
            for budget in role.disruption.budgets if role.disruption and role.disruption.evictable else ():
                gone[budget] += before - after
        gangs = list(plan.gangs)
        for budget, number in self.excess.items():
            gangs[number] = max(0, gone[budget] - self.budgets.get(budget, 0))
        return replace(plan, gangs=tuple(gangs))

    def _nodes(self) -> tuple[list[_Node], list[tuple[Column, int]]]:
        """Nodes that are vectors, one by one, and the columns of the others."""
        found: list[_Node] = []
        others: list[tuple[Column, int]] = []
        at_home = {column.node_class: column for column, _ in self.start.columns}
        for one in self.instance.nodes:
            vector, column = self.pricer.vector(one.index), at_home.get(one.index)
            if vector is None:
                others += [(column, one.count)] if column is not None else []
                continue
            for _ in range(one.count):
                node = _Node(one.index, vector, list(vector.left), Counter(dict(column.counts if column else ())))
                for unit, number in node.home.items():
                    node.take(unit, number)
                found.append(node)
        return found, others

    def _waiting(self) -> Iterator[tuple[int, int]]:
        """What waits, the most important first, and the largest of it."""
        roles = [role for role in self.roles if role.disruption is None and role.ungrouped and role.unit_class.shapes]
        known = {role.index: self._size(role.index) for role in roles}
        for role in sorted(roles, key=lambda role: (-_priority(role), -known[role.index], role.index)):
            yield role.index, len(role.ungrouped)

    def _size(self, unit: int) -> int:
        vectors = (self.pricer.vector(node.index) for node in self.instance.nodes[:1])
        return max((vector.needs.get(unit, (0,))[-1] for vector in vectors if vector is not None), default=0)

    def _loss(self, unit: int) -> _Cost:
        """What the loss of a running unit counts, more for what is better kept: its priority, and that it is small."""
        terms = self.roles[unit].disruption
        return (terms.priority, -terms.devices) if terms is not None else (0, 0)

    def _place(self, unit: int, number: int, nodes: Sequence[_Node], lost: Counter[ObjectKey]) -> None:
        """Place units of a role where each costs least."""
        heap = []
        for place, node in enumerate(nodes):
            if unit in node.vector.needs and (found := self._cost(unit, node, lost)) is not None:
                heap.append((found, place, node.version))
        heapify(heap)
        while heap and number:
            _, place, version = heappop(heap)
            node = nodes[place]
            if version == node.version:
                self._arrive(unit, node, lost)
                number -= 1
            if node.arrived[unit] < node.vector.most.get(unit, number + node.arrived[unit]):
                again = self._cost(unit, node, lost)
                if again is not None:
                    heappush(heap, (again, place, node.version))

    def _victims(self, unit: int, node: _Node, lost: Mapping[ObjectKey, int]) -> Counter[int] | None:
        """Who has to go for one more unit of a role; None if that does not help."""
        if node.fits(unit):
            return Counter()
        priority = _priority(self.roles[unit])
        going = Counter[int]()
        for home, number in node.home.items():
            terms = self.roles[home].disruption
            if terms is not None and terms.evictable and not terms.ties and terms.priority < priority:
                going[home] = number
        left = node.left
        try:
            for home, number in going.items():
                node.take(home, -number)
            if not node.fits(unit):
                return None
            node.take(unit, 1)
            for home in sorted(
                going, key=lambda home: (self._breaks(home, lost), self._loss(home), home), reverse=True
            ):
                while going[home] and node.fits(home):
                    node.take(home, 1)
                    going[home] -= 1
            return +going
        finally:
            node.left = left

    def _breaks(self, home: int, lost: Mapping[ObjectKey, int]) -> int:
        terms = self.roles[home].disruption
        return sum(lost.get(name, 0) >= self.budgets.get(name, 0) for name in (terms.budgets if terms else ()))

    def _cost(self, unit: int, node: _Node, lost: Mapping[ObjectKey, int]) -> tuple[object, ...] | None:
        victims = self._victims(unit, node, lost)
        if victims is None:
            return None
        levels = Counter[int]()
        breaks = devices = 0
        for home, number in victims.items():
            terms = self.roles[home].disruption
            if terms is not None:
                levels[terms.priority] += number
                devices += terms.devices * number
                breaks += self._breaks(home, lost) * number
        spare = node.left[-1] - node.vector.needs[unit][-1]
        return breaks, sorted(levels.items(), reverse=True), sum(levels.values()), devices, spare

    def _arrive(self, unit: int, node: _Node, lost: Counter[ObjectKey]) -> None:
        for home, number in (self._victims(unit, node, lost) or Counter[int]()).items():
            node.take(home, -number)
            node.home[home] -= number
            node.lost[home] += number
            terms = self.roles[home].disruption
            for budget in terms.budgets if terms is not None else ():
                lost[budget] += number
        node.take(unit, 1)
        node.arrived[unit] += 1
        node.version += 1


def _priority(role: GangRole) -> int:
    return role.unit_class.shapes[0].priority

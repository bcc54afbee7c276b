"""Running units that leave their homes: who may move, who may lose the place, and what that counts (EVT-17 to EVT-19).

Of the units with one ``DisruptionTerms`` those are lost that are neither at home nor arrive elsewhere. What is beyond a
PodDisruptionBudget is an amount of its own, and so is for each tie whether its units are there.

Where some may be lost, planning starts from a plan in which what waits goes one by one, the most important first, to
the node where it costs least, as kube-scheduler tries (EVT-4): all that it may displace are taken off, and put back in
the order of what their loss counts, as far as they fit. Only nodes that are vectors are looked at.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heapify, heappop, heappush

from ....models.kubernetes.claims import AllocationResult
from ....models.kubernetes.meta import DeviceId, ObjectKey
from ....models.workload.evictions import MOVES_FREELY, DisruptionTerms
from ....models.workload.requests import Requests
from ....models.workload.units import ClaimRef
from ....problem.shapes import group_equal
from ..column_generation import Pricer
from ..filling_graph import VectorNode
from ..master_problem import (
    Column,
    CouplingRow,
    IntegerPlan,
    MasterGangClass,
    MasterProblem,
    ObjectiveStage,
    Terms,
    ordered_columns,
)
from .gangs import GangAlternative, GangBuilder, GangRole, GangRoles
from .objectives import BUDGETS, CAPACITY_LOST, DEVICES_LOST, MOVE_COST, MOVES
from .units import ColocatedUnits, UnitClass

UnitKey = tuple[str, ObjectKey]
"""What a running unit is, a ``Pod`` or a ``ResourceClaim``, and its namespace and name."""


@dataclass(frozen=True, slots=True)
class EvictionTie:
    """Units that lose their places together: all or none, or down to ``least`` of them; ``all_may`` go, or not all.

    A ``claim`` goes only after all of them, who may go alone.
    """

    members: frozenset[UnitKey]
    least: int | None = None
    all_may: bool = True
    claim: UnitKey | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """Where a running unit is ``since`` when: its node, what its claims hold, and what a move or its loss costs.

    ``draws`` is what its devices take of the node.
    """

    node: str
    cost: int
    allocations: tuple[tuple[ObjectKey, AllocationResult], ...] = ()
    disruption: DisruptionTerms = MOVES_FREELY
    since: str = ""
    draws: Requests = field(default_factory=dict)

    def is_kept(self, node: str, made: Iterable[tuple[ClaimRef, AllocationResult]]) -> bool:
        """Whether this is the node and these are the devices that the unit has."""
        had = {key: held_devices(allocation) for key, allocation in self.allocations}
        return node == self.node and {ref.key: held_devices(allocation) for ref, allocation in made} == had


def held_devices(allocation: AllocationResult) -> list[tuple[str, DeviceId]]:
    """What each request has."""
    return sorted((one.request, (one.driver, one.pool, one.device)) for one in allocation.devices.results or ())


@dataclass(frozen=True, slots=True)
class PlanMoves:
    """What may move: homes by position in the queue, and at ``most`` so many moves, None for any number.

    ``parts`` are the pods that are a part of their nodes: with them alone a node is not in use. ``prices`` are those of
    nodes that can go once nothing uses them; ``kept`` nodes never go. With ``preempts`` some may lose their places:
    ``budgets`` says how many each PodDisruptionBudget allows. ``ties`` say who goes with whom.
    """

    homes: Mapping[int, Home]
    most: int | None = None
    parts: frozenset[ObjectKey] = frozenset()
    prices: Mapping[str, Fraction] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    preempts: bool = False
    budgets: Mapping[ObjectKey, int] = field(default_factory=dict)
    ties: tuple[EvictionTie, ...] = ()

    @property
    def tells_arrivals_apart(self) -> bool:
        """Whether running pods that arrive are apart from those that wait: some may be lost, or go together."""
        return self.preempts or bool(self.ties)

    def counted_share(self, positions: int) -> float:
        """What part of so many open positions counts in the values of stages; what runs at home is in no stage."""
        return 1 if self.tells_arrivals_apart else 1 - len(self.homes) / (positions + 1)

    def arriving(self, positions: Iterable[int]) -> list[int]:
        """The positions of as many units as may come to a node: those that wait, and those that may move."""
        waiting, movable = list[int](), list[int]()
        for place in positions:
            home = self.homes.get(place)
            if home is None:
                waiting.append(place)
            elif home.disruption.movable:
                movable.append(place)
        return [*waiting, *movable[: self.most]]


@dataclass
class Departures:
    """The roles of running units that go elsewhere, and the rows and stages about all that leave home."""

    moves: PlanMoves
    gangs: GangBuilder
    _away: dict[tuple[int, DisruptionTerms], GangRole] = field(default_factory=dict)
    _number: dict[tuple[int, DisruptionTerms], int] = field(default_factory=dict)
    _entries: dict[int, list[ColocatedUnits]] = field(default_factory=lambda: defaultdict(list))
    _excess: dict[ObjectKey, int] = field(default_factory=dict)
    _moved: dict[ObjectKey, int] = field(default_factory=dict)
    _present: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls, moves: PlanMoves, roles: GangRoles, gangs: GangBuilder, unit_classes: Iterable[UnitClass]
    ) -> Departures:
        """Give the running units roles of their own, apart from those that wait."""
        made = cls(moves, gangs)
        for unit_class in unit_classes:
            waiting = roles.of(unit_class)
            own = [one for one in waiting.ungrouped if not moves.homes.keys().isdisjoint(one.positions)]
            if not own:
                continue
            waiting.ungrouped = [one for one in waiting.ungrouped if moves.homes.keys().isdisjoint(one.positions)]
            made._entries[unit_class.index] = own
            for entries in group_equal(own, lambda one: moves.homes[one.positions[0]].disruption):
                terms = moves.homes[entries[0].positions[0]].disruption
                key = unit_class.index, terms
                made._number[key] = len(entries)
                if terms.movable:
                    role = made._away[key] = roles.away(unit_class, terms)
                    role.ungrouped = entries
        made._choices()
        return made

    def entries(self, unit_class: UnitClass) -> Sequence[ColocatedUnits]:
        """The running units of a class."""
        return self._entries.get(unit_class.index, ())

    def _choices(self) -> None:
        """Make the amounts beyond budgets, and the choices whether those that are tied are there."""
        counted: dict[ObjectKey, int] = defaultdict(int)
        for (_, terms), number in self._number.items():
            for budget in terms.budgets if terms.evictable else ():
                counted[budget] += number
        for budget, number in sorted(counted.items()):
            if number + bool(self._away) > self.moves.budgets.get(budget, 0):
                self._excess[budget] = self._choice(number + 1)
        self._present = [self._choice(1) for _ in self.moves.ties]
        self._moved = {budget: self._choice(1) for budget in self._excess}

    def _choice(self, most: int) -> int:
        return self.gangs.add(MasterGangClass((), most), GangAlternative(None, {}))

    def start(self) -> Mapping[int, int]:
        """The choices where nothing leaves: all that are tied are there."""
        return dict.fromkeys(self._present, 1)

    def improved_start(
        self, instance: MasterProblem, pricer: Pricer, roles: Sequence[GangRole], start: IntegerPlan
    ) -> PreemptingStart | None:
        """What finds a better plan to start from; None where nothing may be lost."""
        if not self.moves.preempts:
            return None
        return PreemptingStart(instance, pricer, roles, self.moves.budgets, self._excess, start)

    def rows(self, staying: Sequence[GangRole]) -> Iterator[CouplingRow]:
        """Yield the rows; ``staying`` are the roles at home.

        What may not be lost is at home or arrives, no more than so many move, budgets count what is lost beside one
        that moves, and what is tied goes together.
        """
        for (index, terms), number in self._number.items():
            own = [role for role in staying if role.unit_class.index == index and role.disruption == terms]
            away = self._away.get((index, terms))
            units = dict.fromkeys((role.index for role in [*own, *([away] if away else [])]), 1)
            if away or not terms.evictable:
                yield CouplingRow(Terms(units=units), lower=None if terms.evictable else number, upper=number)
        if self.moves.most is not None and self._away:
            yield CouplingRow(Terms(units={role.index: 1 for role in self._away.values()}), upper=self.moves.most)
        yield from self._budget_rows(staying)
        for number, tie in enumerate(self.moves.ties):
            yield from self._tie_rows(number, tie, staying)

    def _budget_rows(self, staying: Sequence[GangRole]) -> Iterator[CouplingRow]:
        for budget, excess in self._excess.items():
            counted = [key for key in self._number if key[1].evictable and budget in key[1].budgets]
            away = [role for (_, terms), role in self._away.items() if budget in terms.counted]
            moved = {self._moved[budget]: -1} if away else {}
            number, allowed = sum(map(self._number.__getitem__, counted)), self.moves.budgets.get(budget, 0)
            there = self._there(staying, {terms for _, terms in counted})
            yield CouplingRow(Terms(units=there, gangs={excess: 1, **moved}), lower=number - allowed)
            if away:
                most, units = sum(len(role.ungrouped) for role in away), {role.index: 1 for role in away}
                yield CouplingRow(Terms(units=units, gangs={self._moved[budget]: -most}), upper=0)

    def _there(self, staying: Sequence[GangRole], terms: Collection[DisruptionTerms]) -> dict[int, int]:
        """Everything of some terms that is at home or arrives, once."""
        return {role.index: 1 for role in (*staying, *self._away.values()) if role.disruption in terms}

    def _tie_rows(self, number: int, tie: EvictionTie, staying: Sequence[GangRole]) -> Iterator[CouplingRow]:
        tied = {terms for _, terms in self._number if number in terms.ties}
        members = {terms for terms in tied if not terms.is_claim}
        there, present = self._there(staying, members), self._present[number]
        size = sum(count for (_, terms), count in self._number.items() if terms in members)
        if tie.claim is not None:
            claim = self._there(staying, tied - members)
            yield CouplingRow(Terms(units={**there, **dict.fromkeys(claim, -size)}), upper=0)
            yield CouplingRow(Terms(units={**there, **dict.fromkeys(claim, -1)}), lower=0)
            return
        least = size if tie.least is None else tie.least
        if tie.all_may:
            yield CouplingRow(Terms(units=there, gangs={present: -size}), upper=0)
            yield CouplingRow(Terms(units=there, gangs={present: -least}), lower=0)
        else:
            yield CouplingRow(Terms(units=there), lower=least)

    def stage(self, name: str, staying: Sequence[GangRole]) -> tuple[ObjectiveStage, int]:
        """A stage about what leaves, and what it comes to if nothing is at home, to which what is there adds."""
        if name == BUDGETS:
            return ObjectiveStage(name, Terms(gangs=dict.fromkeys(self._excess.values(), 1)), maximise=False), 0
        if name in (MOVES, MOVE_COST):
            costs = {role.index: terms.cost if name == MOVE_COST else 1 for (_, terms), role in self._away.items()}
            return ObjectiveStage(name, Terms(units=costs), maximise=False), 0
        head, _, level = name.partition("=")
        weights: dict[DisruptionTerms, int] = {}
        for _, terms in self._number:
            counts = {DEVICES_LOST: terms.devices, CAPACITY_LOST: terms.capacity}.get(head, int(not terms.is_claim))
            if terms.evictable and counts and (not level or terms.priority == int(level)):
                weights[terms] = counts
        roles = (*staying, *self._away.values())
        units = {role.index: -weights[role.disruption] for role in roles if role.disruption in weights}
        everything = sum(weights.get(terms, 0) * number for (_, terms), number in self._number.items())
        return ObjectiveStage(name, Terms(units=units), maximise=False, offset=everything), everything

    @property
    def victim_priorities(self) -> Sequence[int]:
        """The priorities of what may be lost, the highest first."""
        found = {terms.priority for _, terms in self._number if terms.evictable and not terms.is_claim}
        return sorted(found, reverse=True)


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

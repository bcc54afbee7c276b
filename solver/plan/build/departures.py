"""Running units that leave their homes: who may move, who may lose the place, and what that counts (EVT-17 to EVT-19).

Of the units with one ``DisruptionTerms`` those are lost that are neither at home nor arrive elsewhere. What is beyond a
PodDisruptionBudget is an amount of its own, and so is for each tie whether its units are there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ....models.kubernetes.claims import AllocationResult
from ....models.kubernetes.meta import ObjectKey
from ....models.workload.evictions import MOVES_FREELY, DisruptionTerms
from ..column_generation import Pricer
from ..master_problem import CouplingRow, IntegerPlan, MasterGangClass, MasterProblem, ObjectiveStage, Terms
from .objectives import BUDGETS, CAPACITY_LOST, DEVICES_LOST, MOVE_COST, MOVES
from .preempting_start import PreemptingStart
from .units import ColocatedUnits, GangAlternative, GangBuilder, GangRole, GangRoles, UnitClass

UnitKey = tuple[str, ObjectKey]
"""What a running unit is, a ``Pod`` or a ``ResourceClaim``, and its namespace and name."""


@dataclass(frozen=True, slots=True)
class EvictionTie:
    """Units that lose their places together: all or none, or down to ``least`` of them; ``all_may`` go, or not all.

    ``moves_whole``: where one of them moves all do. A ``claim`` goes only after all of them, who may go alone.
    """

    members: frozenset[UnitKey]
    least: int | None = None
    all_may: bool = True
    moves_whole: bool = False
    claim: UnitKey | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """Where a running unit is ``since`` when: its node, what its claims hold, and what a move or its loss costs."""

    node: str
    cost: int
    allocations: tuple[tuple[ObjectKey, AllocationResult], ...] = ()
    disruption: DisruptionTerms = MOVES_FREELY
    since: str = ""


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
            for one in own:
                terms = moves.homes[one.positions[0]].disruption
                key = unit_class.index, terms
                made._number[key] = made._number.get(key, 0) + 1
                if terms.movable:
                    role = made._away[key] = roles.away(unit_class, terms)
                    role.ungrouped.append(one)
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
        self._present = [self._choice(1) for _ in range(2 * len(self.moves.ties))]
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
            away = [role for (_, terms), role in self._away.items() if budget in terms.budgets]
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
        there, present = self._there(staying, members), self._present[2 * number]
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
        if tie.moves_whole:
            home = {role.index: 1 for role in staying if role.disruption in members}
            yield CouplingRow(Terms(units=home, gangs={self._present[2 * number + 1]: -size}), lower=0, upper=0)

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

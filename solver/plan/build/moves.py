"""Running pods that may move: units of the queue that have a home, where staying costs nothing.

What such a pod holds is free in the instance. On its home node it is a unit of a role of its own, which takes just what
the pod has; elsewhere, or with other devices, it is a unit like those that wait. All of them are placed in every plan,
so that the plan which moves nothing is where planning starts, and the cost of moves is what roles at home lack.

A pod that may lose its place need not be placed. Where some may, running pods that arrive elsewhere have roles of their
own, so that what has no role at home and does not arrive is lost.

Nodes are of one class if they have homes of the same unit classes on the same devices. Where all devices are alike and
taken as a whole, it does not matter which ones a pod has: it keeps its own, and arriving ones get the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add

from ....models.workload.evictions import DisruptionTerms
from ....models.workload.expansion import QueuedUnit
from ....problem.problem import Claim, Problem, Request
from ....problem.shapes import NodeView
from ...engines.engine import Pick
from ...engines.engines import NodeCompiler
from ..master_problem import Column, CouplingRow, IntegerPlan, MasterProblem, ObjectiveStage, Terms, ordered_columns
from ..pricing import DispatchingPricer
from ..pricing.bundle import SPREAD, Bundle, BundleQuestion, BundleUnit, Picks
from ..pricing.linear import alike_devices
from .departures import Departures, Home, PlanMoves, PreemptingStart, UnitKey
from .gangs import GangRole, GangRoles
from .nodes import PlanNodeClass
from .objectives import MEASURED_STAGES, MOVE_COST
from .questions import BundleQuestionBuilder
from .units import ColocatedUnits, UnitClass

# Later than any time as the API writes it.
_LAST = "~"
# To these stages alike devices need not be equal.
_TELL_DEVICES_APART = frozenset(MEASURED_STAGES) - {SPREAD.id}


class UnmovableError(Exception):
    """Running units that cannot be units of the queue; they have to stay where they are.

    ``is_narrowed``: some of them may go, and only cannot be counted exactly.
    """

    def __init__(self, units: Iterable[QueuedUnit], *, is_narrowed: bool = False) -> None:
        super().__init__()
        self.is_narrowed = is_narrowed
        self.keys: frozenset[UnitKey] = frozenset(
            ("ResourceClaim" if one.unit.pod is None else "Pod", (one.unit.namespace, one.unit.name)) for one in units
        )


@dataclass(frozen=True, slots=True, eq=False)
class HomeSlots:
    """Which pod a unit at home is: by node class and role, for each node of the class the positions in the queue.

    ``devices`` has the device numbers that a pod holds; ``alike`` by node class the devices that are all alike.
    ``entries`` are the pods as units.
    """

    homes: Mapping[int, Home]
    positions: Mapping[tuple[int, int], Sequence[Sequence[int]]]
    devices: Mapping[int, frozenset[int]]
    alike: Mapping[int, tuple[int, ...]]
    entries: Mapping[int, ColocatedUnits]

    def _staying(self, node_class: int, number: int, counts: Mapping[int, int]) -> dict[int, list[int]]:
        """The pods that stay on a node, by role, where so many of each role do; none on one that is not there."""
        pairs = ((role, self.positions.get((node_class, role), ())) for role in counts)
        return {role: list(own[number][: counts[role]]) for role, own in pairs if number < len(own)}

    def roles_at_home(self) -> Mapping[tuple[int, int], Mapping[int, int]]:
        """The pods at home, by the numbers of the node class and of the node in it, each with its role there."""
        found: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        for (node_class, role), nodes in self.positions.items():
            for number, places in enumerate(nodes):
                found[node_class, number].update(dict.fromkeys(places, role))
        return found

    def staying_by_node(self, plan: IntegerPlan) -> dict[tuple[int, int], Mapping[int, list[int]]]:
        """The pods that stay, by the number of the node class and of the node in it, and by role."""
        numbers = Counter[int]()
        found: dict[tuple[int, int], Mapping[int, list[int]]] = {}
        for column, times in plan.columns:
            for _ in range(times):
                node = column.node_class, numbers[column.node_class]
                numbers[column.node_class] += 1
                found[node] = self._staying(*node, dict(column.counts))
        return found

    def free_devices(self, node_class: int, staying: Mapping[int, Sequence[int]]) -> Iterator[int] | None:
        """The devices that arriving pods may have beside those that stay; None where the plan says which."""
        alike = self.alike.get(node_class)
        if alike is None:
            return None
        held = {device for own in staying.values() for place in own for device in self.devices[place]}
        return iter([device for device in alike if device not in held])


@dataclass(frozen=True, slots=True)
class _HomeUnit:
    """A pod at home: its position in the queue, its unit class, its home, and which devices it has."""

    position: int
    unit_class: UnitClass
    home: Home
    picks: Picks

    def key(self, alike: bool) -> tuple[Hashable, ...]:
        """Equal for pods that are alike to the instance."""
        picks = () if alike else tuple((p.demand, p.device) for p in self.picks)
        return self.unit_class.index, self.home.cost, self.home.disruption, picks


@dataclass
class HomeBuilder:
    """Adds homes to the node classes and questions of an instance; see ``split``."""

    moves: PlanMoves
    queue: Sequence[QueuedUnit]
    roles: GangRoles
    questions: BundleQuestionBuilder
    compiler: NodeCompiler
    departures: Departures | None = None
    losses: PreemptingStart | None = None
    nodes: list[PlanNodeClass] = field(default_factory=list)
    asked: dict[int, BundleQuestion] = field(default_factory=dict)
    _positions: dict[tuple[int, int], list[list[int]]] = field(default_factory=lambda: defaultdict(list))
    _alike: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _devices: dict[int, frozenset[int]] = field(default_factory=dict)
    _at_home: dict[int, list[GangRole]] = field(default_factory=lambda: defaultdict(list))
    _homes_of: dict[str, list[_HomeUnit]] = field(default_factory=lambda: defaultdict(list))
    _entries: dict[int, ColocatedUnits] = field(default_factory=dict)
    _rounded: bool = False

    def split(
        self,
        nodes: Sequence[PlanNodeClass],
        asked: Mapping[int, BundleQuestion],
        unit_classes: Sequence[UnitClass],
        objective: Collection[str],
    ) -> None:
        """Split node classes by the homes on them, and by what their nodes cost.

        Raises ``UnmovableError`` for pods that the instance cannot express.
        """
        by_node: dict[str, list[tuple[int, UnitClass]]] = defaultdict(list)
        for unit_class in unit_classes:
            entries = [
                *self.roles.of(unit_class).ungrouped,
                *(self.departures.entries(unit_class) if self.departures else ()),
            ]
            for entry in entries:
                for place in entry.positions:
                    if place in self.moves.homes and len(entry.positions) == 1:
                        self._entries[place] = entry
                        by_node[self.moves.homes[place].node].append((place, unit_class))
        missing = self.moves.homes.keys() - self._entries.keys()
        there = {node.metadata.name for one in nodes for node in one.nodes}
        missing |= {place for place in self._entries if self.moves.homes[place].node not in there}
        if missing:
            raise UnmovableError(map(self.queue.__getitem__, missing))
        unmovable: set[int] = set()
        for one in nodes:
            unmovable |= self._survey(one, asked[one.index], by_node)
        if unmovable:
            raise UnmovableError(map(self.queue.__getitem__, unmovable), is_narrowed=self._rounded)
        for one in nodes:
            self._split_class(one, asked[one.index], bool(_TELL_DEVICES_APART.intersection(objective)))

    def _survey(
        self, node: PlanNodeClass, question: BundleQuestion, by_node: Mapping[str, Sequence[tuple[int, UnitClass]]]
    ) -> set[int]:
        """Find out what devices the pods have, in the numbers of the class; return those that cannot be expressed."""
        unmovable: set[int] = set()
        problems: dict[int, tuple[Problem, tuple[int, ...]] | None] = {}
        for one in node.nodes:
            own = by_node.get(one.metadata.name, ())
            view = self.compiler.views.of(one, node.visible) if own else node.view
            for place, unit_class in own:
                if unit_class.index not in problems:
                    problems[unit_class.index] = self.questions.drawn(unit_class, node)
                drawn = problems[unit_class.index]
                picks = self._picks(drawn[0], view, place, unit_class) if drawn else None
                is_exact = drawn is None or picks is None or self._takes_what_it_has(place, *drawn, picks)
                self._rounded |= not is_exact
                if drawn is None or picks is None or not is_exact:
                    unmovable.add(place)
                    continue
                self._devices[place] = frozenset(pick.device for pick in picks)
                self._homes_of[one.metadata.name].append(_HomeUnit(place, unit_class, self.moves.homes[place], picks))
        return unmovable

    def _picks(self, problem: Problem, view: NodeView, place: int, unit_class: UnitClass) -> tuple[Pick, ...] | None:
        """The devices of a pod as picks of its problem; None where the pod could not get them again."""
        made = dict(self.moves.homes[place].allocations)
        demands = {(one.claim, one.request, one.subrequest): one for one in problem.demands}
        numbers = {device.id: number for number, device in enumerate(view.devices)}
        found: list[Pick] = []
        for claim, ref in enumerate(self._entries[place].unallocated_claims):
            allocation = made.get(ref.key)
            for result in (allocation.devices.results or ()) if allocation else ():
                request, _, subrequest = result.request.partition("/")
                demand = demands.get((claim, request, subrequest))
                device = numbers.get((result.driver, result.pool, result.device))
                if demand is None or device is None or device not in demand.candidates:
                    return None
                found.append(Pick(demand.index, device))
        return tuple(found) if len(found) >= bool(unit_class.claims) else None

    def _takes_what_it_has(self, place: int, problem: Problem, drawn: tuple[int, ...], picks: Picks) -> bool:
        """Whether the steps that its devices take are what they take: else it may not fit where it is."""
        resources, has = self.questions.resources, self.moves.homes[place].draws
        steps = self.questions.drawn_by(problem, drawn, picks)
        each = zip(resources.names, resources.steps, steps, strict=True)
        return all(number * step == has.get(name, 0) for name, step, number in each)

    def _split_class(self, node: PlanNodeClass, question: BundleQuestion, apart: bool) -> None:
        """Make a class of all nodes that have equal homes and prices."""
        homes = [self._homes_of.get(one.metadata.name, []) for one in node.nodes]
        alike = None if apart else self._alike_devices(question, node, [one for own in homes for one in own])
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for number, (one, own) in enumerate(zip(node.nodes, homes, strict=True)):
            # Of equal ones the youngest go.
            own.sort(key=lambda unit: (unit.key(alike is not None), unit.home.since or _LAST, unit.position))
            price = self.moves.prices.get(one.metadata.name)
            groups[tuple(unit.key(alike is not None) for unit in own), price].append(number)
        for numbers in groups.values():
            self._add(node, question, [node.nodes[n] for n in numbers], [homes[n] for n in numbers], alike)

    def _alike_devices(
        self, question: BundleQuestion, node: PlanNodeClass, homes: Sequence[_HomeUnit]
    ) -> tuple[int, ...] | None:
        """The devices of a node class if all are alike and taken as a whole; None if it matters which are taken."""
        classes = {unit.unit_class.index: unit.unit_class for unit in homes}
        there = [self._plain_unit(-1 - index, one, node, 1) for index, one in classes.items()]
        alike = alike_devices(replace(question, units=(*there, *question.units)))
        if alike is None or any(not self._devices[unit.position] <= set(alike) for unit in homes):
            return None
        return alike

    def _plain_unit(self, index: int, unit_class: UnitClass, node: PlanNodeClass, most: int) -> BundleUnit:
        drawn = self.questions.drawn(unit_class, node)
        assert drawn is not None
        needs = tuple(map(add, self.questions.resources.needs(unit_class), drawn[1]))
        return BundleUnit(index, drawn[0], most, needs)

    def _add(
        self,
        base: PlanNodeClass,
        question: BundleQuestion,
        nodes: Sequence[object],
        homes: Sequence[Sequence[_HomeUnit]],
        alike: tuple[int, ...] | None,
    ) -> None:
        index = len(self.nodes)
        by_role: dict[int, tuple[GangRole, list[int]]] = {}
        slots = Counter[tuple[int, int, DisruptionTerms]]()
        for number, one in enumerate(homes[0]):
            kind = one.unit_class.index, one.home.cost, one.home.disruption
            slot = 0
            if alike is None and one.picks:
                slot = slots[kind] = slots[kind] + 1
            role = self.roles.at_home(one.unit_class, one.home.cost, slot, one.home.disruption)
            if role not in self._at_home[one.unit_class.index]:
                self._at_home[one.unit_class.index].append(role)
            by_role.setdefault(role.index, (role, []))[1].append(number)
        units: list[BundleUnit] = []
        for role, numbers in by_role.values():
            first = homes[0][numbers[0]]
            unit = replace(self._plain_unit(role.index, role.unit_class, base, len(numbers)), limited=True)
            fixed = alike is None and bool(first.picks)
            units.append(replace(unit, problem=with_picks(unit.problem, first.picks)) if fixed else unit)
            own_places = [[own[number].position for number in numbers] for own in homes]
            self._positions[index, role.index] += own_places
            role.ungrouped = [*role.ungrouped, *(self._entries[place] for own in own_places for place in own)]
        listed = [one for one in base.nodes if one in nodes]
        view = self.compiler.views.of(listed[0], base.visible)
        self.nodes.append(replace(base, index=index, nodes=listed, view=view))
        self.asked[index] = replace(question, units=(*units, *question.units))
        if alike is not None:
            self._alike[index] = alike

    def rows(self) -> Iterator[CouplingRow]:
        """Yield the rows: every pod is placed once, and no more than so many move."""
        if self.departures is not None:
            yield from self.departures.rows(list(self.staying))
            return
        for index, roles in self._at_home.items():
            arriving = self.roles.of(roles[0].unit_class)
            everybody = len(arriving.ungrouped)
            here = sum(place in self.moves.homes for entry in arriving.ungrouped for place in entry.positions)
            terms = Terms(units={arriving.index: 1, **{role.index: 1 for role in self._at_home[index]}})
            yield CouplingRow(terms, lower=here, upper=everybody)
        if self.moves.most is not None:
            staying = Terms(units={role.index: 1 for role in self.staying})
            yield CouplingRow(staying, lower=len(self.moves.homes) - self.moves.most)

    @property
    def staying(self) -> Iterator[GangRole]:
        """The roles at home."""
        return (role for roles in self._at_home.values() for role in roles)

    def slots(self) -> HomeSlots:
        """Say which pods the units at home are."""
        return HomeSlots(self.moves.homes, self._positions, self._devices, self._alike, self._entries)

    def stage(self, name: str) -> tuple[ObjectiveStage, int]:
        """A stage about moves or losses, and what it comes to if all pods go, to which staying pods add."""
        if self.departures is not None:
            return self.departures.stage(name, list(self.staying))
        by_role = {role.index: role for roles in self._at_home.values() for role in roles}
        weights = {index: (role.move_cost or 0) if name == MOVE_COST else 1 for index, role in by_role.items()}
        total = sum(home.cost if name == MOVE_COST else 1 for home in self.moves.homes.values())
        terms = Terms(units={index: -weight for index, weight in weights.items() if weight})
        return ObjectiveStage(name, terms, maximise=False), total

    def start(
        self, instance: MasterProblem, questions: Mapping[int, BundleQuestion], pricer: DispatchingPricer
    ) -> IntegerPlan:
        """The plan that moves nothing and places nothing that waits; ``questions`` are those that are priced.

        Where running pods may be lost, it is one that places what waits, if one is found.
        """
        columns = Counter[Column]()
        for node in self.nodes:
            copies: list[tuple[Picks, ...]] = []
            there = {one.position: one for one in self._homes_of.get(node.nodes[0].metadata.name, ())}
            for unit in questions[node.index].units:
                places = self._positions.get((node.index, unit.index), [[]])[0]
                copies.append(tuple(_numbered(unit.problem, there[place].picks) for place in places))
            if any(copies):
                columns[pricer.column(node.index, Bundle(tuple(copies)))] += node.count
        placed = [0] * len(instance.units)
        for roles in self._at_home.values():
            for role in roles:
                placed[role.index] = len(role.ungrouped)
        gangs = self.departures.start() if self.departures is not None else {}
        numbers = tuple(gangs.get(number, 0) for number in range(len(instance.gangs)))
        plan = IntegerPlan(ordered_columns(columns), tuple(placed), numbers)
        if self.departures is not None:
            self.losses = self.departures.improved_start(instance, pricer, self.roles.all, plan)
        better = self.losses.plan() if self.losses else plan
        return better if better.is_feasible(instance, instance.rows) else plan


def _numbered(problem: Problem, picks: Picks) -> Picks:
    """Picks of a unit in the numbers of what is left of its problem, where each demand has its devices in order."""
    demands = sorted({pick.demand for pick in picks})
    if len(demands) == len(problem.demands):
        return tuple(replace(pick, demand=demands.index(pick.demand)) for pick in picks)
    return picks


def with_picks(problem: Problem, picks: Picks) -> Problem:
    """The problem of a unit that gets these devices and no others; what holds of them held when they were given."""
    taken: dict[int, list[int]] = defaultdict(list)
    for pick in picks:
        taken[pick.demand].append(pick.device)
    numbers = {demand: place for place, demand in enumerate(sorted(taken))}
    demands = tuple(
        replace(
            problem.demands[number],
            index=place,
            count=len(taken[number]),
            all_devices=False,
            candidates=tuple(taken[number]),
            untakeable=frozenset(),
            error_devices={},
            constraints=(),
        )
        for number, place in numbers.items()
    )
    claims = tuple(
        Claim(
            tuple(
                Request(one.name, False, tuple(numbers[number] for number in one.demands if number in numbers))
                for one in claim.requests
                if not numbers.keys().isdisjoint(one.demands)
            )
        )
        for claim in problem.claims
    )
    return replace(problem, claims=claims, demands=demands, constraints=(), relations=())

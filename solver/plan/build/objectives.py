"""The stages of a plan's objective by name, as linear terms over a master problem.

``fragmentation`` is how much of a target mix of units could still be placed beside the plan. The measure of
Fragmentation Gradient Descent (Weng et al., USENIX ATC'23) asks what the units of a target workload can make of the
devices that are left. Here that is a part of the plan: the mix is added as residual units that nobody asks for, and the
stage places as many of them as it can. They are never carried out. So the value is exact for all nodes together, and a
bound proves it. What counts nodes in use must not count nodes with residual units alone: that is what
``OccupiedMeasure`` is for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, gcd, lcm

from ....models.kubernetes.extensions import annotated_entries
from ....models.results.plan import display_number
from ....models.workload.unit_classes import Gang, UnitShape
from ....problem.node_state import FULL_CONSUMPTION
from ..master_problem import CouplingRow, MasterGangClass, MasterProblem, MasterUnitClass, ObjectiveStage, Terms
from ..pricing.bundle import SPREAD, BundleQuestion, Measure, OccupiedMeasure
from .gangs import GangAlternative, GangRole
from .nodes import PlanNodeClass
from .preferences import PREFERENCES, PreferencePlan
from .quota_stages import QUOTA_STAGES, QuotaStages
from .weights import (
    LARGEST_NODE_COEFFICIENT,
    LARGEST_UNIT_COEFFICIENT,
    DeviceCapacities,
    Steps,
    WeightFunction,
    parse_weight,
    requested_devices,
)

COST, FEWEST_NODES, SOFT, COMPACT = "cost", "fewest-nodes", "soft", "compact"
PREFERENCE, LEAST_CONSUMPTION = "preference", "least-consumption"
DEFAULT_STAGES = ("priority", "admitted")
LAST_DEFAULT_STAGES = (PREFERENCE, LEAST_CONSUMPTION)
"""Stages that follow the default ones where a unit has a choice between devices that consume different amounts."""
IN_ORDER = "in-order"
ALTERNATIVES = (IN_ORDER, "any")
"""Whether the order of alternatives counts more than the cost, or less (R9)."""
MEASURED_STAGES = (SPREAD.id, PREFERENCES, PREFERENCE, SOFT, COMPACT, LEAST_CONSUMPTION)
"""Stages about what a node's bundle is like; each is a meter."""
FRAGMENTATION = "fragmentation"
MOVE_COST, MOVES = "move-cost", "moves"
MOVE_STAGES = (MOVE_COST, MOVES)
"""Stages about running pods that go elsewhere."""
BUDGETS, VICTIMS, DEVICES_LOST, CAPACITY_LOST = "budgets", "victims", "devices-lost", "capacity-lost"
LOSS_STAGES = (BUDGETS, VICTIMS, DEVICES_LOST, CAPACITY_LOST)
"""Stages about running pods that lose their places (EVT-19)."""
PLACED_STAGES = ("priority", "admitted", COST)
"""Stages that running pods move for."""
FREE_DOMAINS = "free-domains"
"""The stage about domains of a node label, which follows an equals sign, of which no node is in use."""
COVERAGE_STAGE = "coverage"
"""How many coverage groups have what they demand."""
STAGE_NAMES = (
    *("priority", "admitted", COVERAGE_STAGE, *QUOTA_STAGES, COST, FEWEST_NODES, FREE_DOMAINS),
    *(*MEASURED_STAGES, FRAGMENTATION, *LOSS_STAGES, *MOVE_STAGES),
)
# Where a node takes more units, they are of few classes, and exact prices hardly matter.
_MANY_UNITS_ON_NODE = 256
# A stage that is added for units that count nothing takes little time from so many units on.
_MANY_QUEUED_UNITS = 2000


def parse_objective(
    objective: str | Sequence[str], buys: bool, *, few_nodes: bool = False, alternatives: str = "any"
) -> tuple[str, ...]:
    """Read names of stages; without any the usual ones, and what is bought costs something. Raises ``ValueError``.

    ``few_nodes``: of the cheapest plans one with the fewest nodes is usual (R21). ``alternatives`` says whether the
    order in a request of alternatives counts more than the cost (R9): ``in-order`` or ``any``.
    """
    if alternatives not in ALTERNATIVES:
        raise ValueError(f"alternatives {alternatives!r} is none of: {', '.join(ALTERNATIVES)}")
    usual = (*DEFAULT_STAGES, COST, FEWEST_NODES) if buys and few_nodes else DEFAULT_STAGES
    names = _named_stages(objective) or list(usual)
    if alternatives == IN_ORDER and PREFERENCE not in names:
        names.insert(names.index(COST) if COST in names else len(names), PREFERENCE)
    for number, name in enumerate(names):
        head, equals, rest = name.partition("=")
        if head not in STAGE_NAMES or (equals and head not in ("admitted", FREE_DOMAINS)):
            raise ValueError(f"unknown stage {name!r} of an objective, known are: {', '.join(STAGE_NAMES)}")
        if head == FREE_DOMAINS:
            _check_domains(rest, names, buys)
        elif equals:
            parse_weight(rest)
        if name in names[:number]:
            raise ValueError(f"stage {name!r} comes twice in the objective")
    return (*names, COST) if buys and COST not in names else tuple(names)


def _check_domains(label: str, names: Sequence[str], buys: bool) -> None:
    if not label:
        raise ValueError(f"the stage {FREE_DOMAINS} needs a node label, as in {FREE_DOMAINS}=example.com/rack")
    if buys or FRAGMENTATION in names:
        other = "with nodes that are bought" if buys else f"beside the stage {FRAGMENTATION}"
        raise ValueError(f"the stage {FREE_DOMAINS} makes no sense {other}")


def check_stages(stages: Sequence[str], *, quota: bool, moves: bool, preempts: bool, mix: bool) -> None:
    """Check that stages make sense beside what else is asked. Raises ``ValueError``, one line."""
    for name in stages:
        if name in QUOTA_STAGES and not quota:
            raise ValueError(f"the stage {name} makes sense with quota alone: there are no ClusterQueues that count")
        if name in MOVE_STAGES and not moves:
            raise ValueError(f"the stage {name} makes sense where running pods may move alone")
        if name in LOSS_STAGES and not preempts:
            raise ValueError(f"the stage {name} makes sense where running pods may lose their places alone")
        if name == PREFERENCES and (moves or preempts):
            raise ValueError(f"the stage {name} is for plans in which all running pods stay")
        if name == PREFERENCES and quota:
            raise ValueError(f"the stage {name} does not know flavors of quota: use --quota ignore")
    if mix and FRAGMENTATION not in stages:
        raise ValueError(f"a mix makes sense with the stage {FRAGMENTATION} alone")


def last_stages(objective: str | Sequence[str]) -> tuple[str, ...]:
    """Stages that follow where they have a choice: none, if any stage is named."""
    return () if _named_stages(objective) else LAST_DEFAULT_STAGES


def _named_stages(objective: str | Sequence[str]) -> list[str]:
    parts = [part.strip() for part in objective.split(",")] if isinstance(objective, str) else list(objective)
    return [part for part in parts if part]


def value_annotation(names: Sequence[str]) -> str | None:
    """The annotation that holds the value of units, where a stage names one. Raises ``ValueError`` for two of them."""
    weights = (name.partition("=")[2] for name in names if name.startswith("admitted="))
    keys = list(dict.fromkeys(parse_weight(weight)[1] for weight in weights if weight.startswith("annotation:")))
    if len(keys) > 1:
        raise ValueError(f"an objective may name one annotation, not {' and '.join(keys)}")
    return keys[0] if keys else None


@dataclass(frozen=True, slots=True)
class Goal:
    """A stage of the master problem, whose values are in 1 / ``scale`` of the user's unit.

    ``earlier`` is what earlier placements count, ``limit`` what no plan at all exceeds (or falls below), in the same
    unit. ``weigh`` says what a placed unit counts in the user's unit, where the stage counts units of the queue, and
    ``limit`` is the value of all of them. Where amounts are too large for the solvers they are rounded to steps: the
    value of a plan is then off what it really counts by at most ``rounding``, and by this ``part`` of the value if that
    is less.
    """

    stage: ObjectiveStage
    scale: Fraction = Fraction(1)
    earlier: int = 0
    limit: int = 0
    weigh: WeightFunction | None = None
    rounding: int = 0
    part: Fraction | None = None

    def display_value(self, value: float) -> float:
        """Convert a value to the user's unit."""
        return display_number(Fraction(value + self.earlier) / self.scale)

    def display_bound(self, bound: int) -> float:
        """Convert a bound to the user's unit, so that it holds for what plans really count."""
        rounding = self.rounding
        if self.part is not None:
            rounding = min(rounding, ceil(self.part * abs(bound + self.earlier)))
        return self.display_value(bound + (rounding if self.stage.maximise else -rounding))


@dataclass
class ObjectiveBuilder:
    """Makes the stages that ``names`` ask for, and what they need of instance and questions.

    ``roles``, ``gangs`` and ``nodes`` are those of the instance, ``target_roles`` those for which ``fragmentation``
    leaves room; ``prices`` are those of nodes that could be bought or could go, ``standing`` that of all nodes that
    stay. ``queued`` are all units of the queue, ``earlier`` those that were placed before, on ``opened`` nodes that
    were not in use. ``capacities`` tells what requests take of them,
    ``brief`` the stages that take little time, ``least`` what a unit consumes at least, by role. ``quota`` makes stages
    about quota. ``running`` are the units that run and may move, which are in every plan and count in no stage;
    ``move_stage`` makes the stages about them, ``domain_stage`` those about free domains. ``victim_priorities`` are
    those of what may be lost, from the highest. ``preferences`` makes the stage of that name. ``queued_gangs`` are the
    gangs of all units of the queue.
    """

    names: Sequence[str]
    roles: Sequence[GangRole]
    gangs: Sequence[tuple[MasterGangClass, GangAlternative]]
    nodes: Sequence[PlanNodeClass]
    prices: Mapping[int, Fraction]
    standing: Fraction
    budget_limit: Fraction | None
    queued: Counter[UnitShape]
    earlier: Sequence[UnitShape]
    opened: int
    target_roles: Sequence[GangRole]
    capacities: DeviceCapacities
    brief: Sequence[str] = ()
    quota: QuotaStages | None = None
    least: Mapping[int, int] = field(default_factory=dict)
    running: Sequence[UnitShape] = ()
    move_stage: Callable[[str], tuple[ObjectiveStage, int]] | None = None
    victim_priorities: Sequence[int] = ()
    domain_stage: Callable[[str], ObjectiveStage] | None = None
    preferences: PreferencePlan | None = None
    queued_gangs: AbstractSet[Gang | None] = frozenset()
    _told: set[str] = field(init=False, default_factory=set)

    @cached_property
    def residual_workload(self) -> ResidualWorkload | None:
        """The residual workload of ``fragmentation``, where the objective has that stage."""
        if FRAGMENTATION not in self.names:
            return None
        playing = {role.unit_class.index: role for role in reversed(self.target_roles)}
        target_classes = [
            TargetUnitClass(role.index, len(role.unit_class.entries), requested_devices(role.unit_class.shapes))
            for _, role in sorted(playing.items())
        ]
        devices = sum(node.count * len(node.view.devices) for node in self.nodes if not node.template)
        return build_residual_workload(target_classes, len(self.roles), devices)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures; where nodes may have residual units, a measure says which of these are in use."""
        limited = () if self.budget_limit is None else (COST,)
        counted = [name for name in (COST, FEWEST_NODES) if name in (*self.names, *limited)]
        return (*(name for name in MEASURED_STAGES if name in self.names), *(counted if self.residual_workload else ()))

    @property
    def sizes(self) -> tuple[int, ...]:
        """By how much one more unit may raise each measure, roughly."""
        known = {
            SPREAD.id: min(_MANY_UNITS_ON_NODE, 2 * self.queued.total()),
            SOFT: max((_soft_weight(role) for role in self.roles), default=0),
            COMPACT: _MANY_UNITS_ON_NODE,
            LEAST_CONSUMPTION: FULL_CONSUMPTION,
            COST: max(self._amounts(COST).values(), default=0),
            PREFERENCES: self.preferences.largest if self.preferences and PREFERENCES in self.measures else 0,
        }
        return tuple(max(1, known.get(name, 1)) for name in self.measures)

    def measures_of(self, node: PlanNodeClass, question: BundleQuestion, consumption: Measure | None) -> list[Measure]:
        """The measures of a node class's question, in the order of their names; that of consumption is given."""
        return [self._measure(name, node, question, consumption) for name in self.measures]

    def _measure(
        self, name: str, node: PlanNodeClass, question: BundleQuestion, consumption: Measure | None
    ) -> Measure:
        if name not in MEASURED_STAGES:
            return OccupiedMeasure(self._amounts(name).get(node.index, 0))
        if name == SPREAD.id:
            return SPREAD
        if name == LEAST_CONSUMPTION and consumption is not None:
            return consumption
        if name == PREFERENCES and self.preferences:
            return self.preferences.measure(node.nodes[0], question)
        # Only these measures need the stages of ``allocate``.
        from ..pricing.measures import COPY_MEASURES

        return COPY_MEASURES[name]

    def budget(self, first: int) -> list[CouplingRow]:
        """The row of the budget; ``first`` is the meter of the first measure."""
        if self.budget_limit is None:
            return []
        prices = self.prices.values()
        counts = {node.index: node.count for node in self.nodes}
        if self.budget_limit >= sum((price * counts[node] for node, price in self.prices.items()), Fraction(0)):
            # Nobody can spend that much.
            return []
        if COST in self.measures:
            # A measure counts steps that are rounded up.
            return [CouplingRow(self._counted(COST, first), upper=int(self.budget_limit * self._price_steps.scale))]
        exact = lcm(*(price.denominator for price in prices))
        divisor = gcd(*(int(price * exact) for price in prices)) or 1
        scale = Fraction(exact, divisor)
        terms = Terms(nodes={node: int(price * scale) for node, price in self.prices.items() if price})
        return [CouplingRow(terms, upper=int(self.budget_limit * scale))]

    def stages(self, first: int) -> tuple[Goal, ...]:
        """The stages in order; ``first`` is the meter of the first measure."""
        names = list(self.names)
        self._told.clear()
        weighed = [name for name in names if name.startswith("admitted=")]
        if weighed and not {"admitted", "admitted=count"} & set(names) and self._weighs_nothing(weighed[-1]):
            # As many as possible of those that count nothing, where the stages leave room for them.
            names.append("admitted")
            *goals, last = (goal for name in names for goal in self._made(name, first))
            # Nobody asked for it: where units are many, nearly as many as possible will do.
            brief = self.queued.total() >= _MANY_QUEUED_UNITS
            return (*goals, replace(last, stage=replace(last.stage, brief=brief)))
        return tuple(goal for name in names for goal in self._made(name, first))

    def _weighs_nothing(self, name: str) -> bool:
        """Whether some unit of the queue counts nothing in a stage."""
        weigh = self._weight(name.partition("=")[2])
        return any(not weigh(shape) for shape in self.queued)

    def _weight(self, kind: str) -> WeightFunction:
        return parse_weight(kind or "count", self.capacities)[0]

    def _made(self, name: str, first: int) -> Iterator[Goal]:
        head, _, rest = name.partition("=")
        if head == "priority":
            highest = max((shape.priority for shape in self.queued), default=0)
            for priority in sorted({shape.priority for shape in self.queued}, reverse=True):
                # Nobody is lost for what is no more important: who is lost for others is known before.
                yield from self._victims(one for one in self.victim_priorities if priority <= one < highest)
                yield self._weighted(f"priority={priority}", partial(_has_priority, priority))
        elif head == "admitted":
            yield self._weighted(name, self._weight(rest))
        elif head in QUOTA_STAGES:
            for one in self.quota.goals(name) if self.quota else ():
                yield Goal(one.stage, one.scale, one.earlier, one.most, rounding=one.rounding, part=one.part)
        elif head == VICTIMS:
            yield from self._victims(self.victim_priorities)
            yield from self._departing(name)
        elif head in (*MOVE_STAGES, *LOSS_STAGES):
            yield from self._departing(name)
        elif head == FREE_DOMAINS and self.domain_stage:
            stage = self.domain_stage(name)
            yield Goal(stage, limit=len(stage.terms.gangs))
        elif head == PREFERENCES and self.preferences:
            meter, wishes = first + self.measures.index(name), self.preferences
            stage = wishes.stage([gang for gang, _ in self.gangs], meter)
            yield Goal(stage, earlier=wishes.constant, limit=wishes.limit, rounding=wishes.slack)
        elif head == COVERAGE_STAGE:
            groups = {number: choice.covered for number, (_, choice) in enumerate(self.gangs) if choice.covered}
            possible = {*groups.values()}
            # No member is to be placed, and those that run are enough.
            others = (gang for gang in self.queued_gangs - possible if gang is not None and gang.demand is not None)
            there = sum(gang.served >= (gang.demand or 0) for gang in others)
            stage = ObjectiveStage(name, Terms(gangs=dict.fromkeys(groups, 1)))
            yield Goal(stage, earlier=there, limit=len(possible) + there)
        elif head == FRAGMENTATION and self.residual_workload:
            yield Goal(self.residual_workload.stage, limit=self.residual_workload.largest_value)
        else:
            least = self.least if name == LEAST_CONSUMPTION else {}
            stage = ObjectiveStage(name, self._counted(name, first), False, name in self.brief, least)
            steps = self._price_steps if name == COST else Steps(Fraction(1), exact=True)
            nodes = sum(node.count for node in self.nodes if node.template)
            rounding = 0 if steps.exact else nodes
            earlier = steps.number(self.standing) if name == COST else self.opened if name == FEWEST_NODES else 0
            yield Goal(stage, steps.scale, earlier, rounding=rounding)

    def _victims(self, priorities: Iterable[int]) -> Iterator[Goal]:
        """How many are lost of each priority, but for those that have a stage already."""
        for priority in priorities:
            name = f"{VICTIMS}={priority}"
            if name not in self._told:
                self._told.add(name)
                yield from self._departing(name)

    def _departing(self, name: str) -> Iterator[Goal]:
        if self.move_stage:
            stage, everything = self.move_stage(name)
            yield Goal(stage, earlier=everything)

    def _counted(self, name: str, first: int) -> Terms:
        """A measure by its meter, and nodes by themselves where no measure counts them."""
        if name in self.measures:
            return Terms(usage={first + self.measures.index(name): 1})
        return Terms(nodes=self._amounts(name))

    def _amounts(self, name: str) -> dict[int, int]:
        """What a node of each class counts once it is in use; one that is so anyway counts nothing."""
        if name == COST:
            steps = self._price_steps
            # A budget that counts a measure must not be exceeded.
            number = steps.ceiling if COST in self.measures else steps.number
            return {node: number(price) for node, price in self.prices.items() if price}
        return {node.index: 1 for node in self.nodes if not node.is_in_use}

    @cached_property
    def _price_steps(self) -> Steps:
        return Steps.of((*self.prices.values(), *([self.standing] if self.standing else [])), LARGEST_NODE_COEFFICIENT)

    def _weighted(self, name: str, weigh: WeightFunction) -> Goal:
        shapes = {role.unit_class.index: role.unit_class.shapes for role in self.roles}
        values = {index: _total_weight(own, weigh) for index, own in shapes.items()}
        everything, earlier = _total_weight(self.queued, weigh), _total_weight(self.earlier, weigh)
        running = _total_weight(self.running, weigh)
        alone = (weigh(shape) for shape in Counter((*self.queued, *self.earlier, *self.running)))
        steps = Steps.of((*alone, *values.values()), LARGEST_UNIT_COEFFICIENT)
        worth = {index: steps.number(value) for index, value in values.items()}
        units = {
            role.index: worth[role.unit_class.index]
            for role in self.roles
            # Running units that are told apart from those that wait count nothing.
            if worth[role.unit_class.index] and (self.running or role.disruption is None)
        }
        gangs = {number: total for number, pair in enumerate(self.gangs) if (total := _gang_weight(*pair, worth))}
        stage = ObjectiveStage(name, Terms(units=units, gangs=gangs))
        rounding = 0 if steps.exact else self.queued.total() + 1
        limit = steps.number(everything) + (not steps.exact)
        return Goal(stage, steps.scale, steps.number(earlier) - steps.number(running), limit, weigh, rounding)


def _soft_weight(role: GangRole) -> int:
    """The weight of all soft entries of one member of a role's unit class."""
    return sum(entry.weight or 0 for claim in role.unit_class.claims for entry in annotated_entries(claim.metadata))


def _has_priority(priority: int, shape: UnitShape) -> Fraction:
    return Fraction(shape.priority == priority)


def _total_weight(shapes: Iterable[UnitShape], weigh: Callable[[UnitShape], Fraction]) -> Fraction:
    return sum((weigh(shape) * number for shape, number in Counter(shapes).items()), Fraction(0))


def _gang_weight(gang: MasterGangClass, choice: GangAlternative, worth: Mapping[int, int]) -> int:
    class_of = {role: unit_class for unit_class, role in choice.roles.items()}
    return sum(size * worth[class_of[role]] for role, size in gang.members)


@dataclass(frozen=True, slots=True)
class TargetUnitClass:
    """A unit class of the mix by its number, how often the mix has it, and how many devices one unit asks for."""

    index: int
    demand: int
    devices: int


@dataclass(frozen=True, slots=True)
class ResidualUnit:
    """A unit class that is placed beside the plan; it takes what the class ``same_as`` takes."""

    unit: MasterUnitClass
    same_as: int


@dataclass(frozen=True, slots=True)
class ResidualWorkload:
    """The residual units of a target mix, and the stage that places them."""

    units: tuple[ResidualUnit, ...]
    stage: ObjectiveStage

    @property
    def largest_value(self) -> int:
        """The value of the stage if all residual units are placed."""
        return sum(self.stage.terms.units[unit.unit.index] * unit.unit.demand for unit in self.units)

    def instance(self, instance: MasterProblem) -> MasterProblem:
        """Add the residual units, whose numbers follow those of the units that are there."""
        return replace(instance, units=(*instance.units, *(unit.unit for unit in self.units)))

    def question(self, question: BundleQuestion) -> BundleQuestion:
        """Let a node have residual units wherever it may take the class that they are like; no measure sees them."""
        there = {unit.index: unit for unit in question.units}
        units = [
            replace(there[unit.same_as], index=unit.unit.index, most=unit.unit.demand, measured=False)
            for unit in self.units
            if unit.same_as in there
        ]
        return replace(question, units=(*question.units, *units))


def build_residual_workload(mix: Sequence[TargetUnitClass], first: int, devices: int) -> ResidualWorkload:
    """Make residual units of a mix, numbered from ``first``, as often as it takes to ask for so many ``devices``.

    A residual unit counts the devices that it asks for; units that ask for none are left out. Nothing but the stage
    places residual units.
    """
    asking = [one for one in mix if one.devices > 0 and one.demand > 0]
    once = sum(one.demand * one.devices for one in asking)
    times = max(1, -(-devices // once)) if once else 0
    units = tuple(
        ResidualUnit(MasterUnitClass(first + number, one.demand * times, weight=0), one.index)
        for number, one in enumerate(asking)
    )
    weights = {residual.unit.index: one.devices for residual, one in zip(units, asking, strict=True)}
    return ResidualWorkload(units, ObjectiveStage(FRAGMENTATION, Terms(units=weights)))

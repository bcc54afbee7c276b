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
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import lcm

from ....models.kubernetes.claims import DeviceRequest, RequestSpec
from ....models.kubernetes.extensions import VALUE_ANNOTATION, annotated_entries
from ....models.kubernetes.quantity import Quantity
from ....models.workload.unit_classes import ClaimShape, UnitShape
from ..master_problem import CouplingRow, MasterGangClass, MasterProblem, MasterUnitClass, ObjectiveStage, Terms
from ..pricing.bundle import SPREAD, BundleQuestion, Measure, OccupiedMeasure
from .nodes import PlanNodeClass
from .units import GangAlternative, GangRole

DEFAULT_STAGES = ("priority", "admitted")
COST, FEWEST_NODES, SOFT, COMPACT = "cost", "fewest-nodes", "soft", "compact"
MEASURED_STAGES = (SPREAD.id, "preference", SOFT, COMPACT)
"""Stages about what a node's bundle is like; each is a meter."""
FRAGMENTATION = "fragmentation"
STAGE_NAMES = ("priority", "admitted", COST, FEWEST_NODES, *MEASURED_STAGES, FRAGMENTATION)
# Where a node takes more units, they are of few classes, and exact prices hardly matter.
_MANY_UNITS_ON_NODE = 256


def parse_objective(objective: str | Sequence[str], buys: bool) -> tuple[str, ...]:
    """Read names of stages; without any the usual ones, and what is bought costs something. Raises ``ValueError``."""
    parts = [part.strip() for part in objective.split(",")] if isinstance(objective, str) else list(objective)
    names = [part for part in parts if part] or list(DEFAULT_STAGES)
    for number, name in enumerate(names):
        head, equals, rest = name.partition("=")
        if head not in STAGE_NAMES or (equals and head != "admitted"):
            raise ValueError(f"unknown stage {name!r} of an objective, known are: {', '.join(STAGE_NAMES)}")
        if equals:
            parse_weight(rest)
        if name in names[:number]:
            raise ValueError(f"stage {name!r} comes twice in the objective")
    return (*names, COST) if buys and COST not in names else tuple(names)


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
    ``limit`` is the value of all of them.
    """

    stage: ObjectiveStage
    scale: int = 1
    earlier: int = 0
    limit: int = 0
    weigh: WeightFunction | None = None

    def display_value(self, value: float) -> float:
        """Convert a value to the user's unit."""
        whole = value + self.earlier
        return whole // self.scale if whole % self.scale == 0 else whole / self.scale


@dataclass
class ObjectiveBuilder:
    """Makes the stages that ``names`` ask for, and what they need of instance and questions.

    ``roles``, ``gangs`` and ``nodes`` are those of the instance, ``target_roles`` those for which ``fragmentation``
    leaves room; ``prices`` are those of nodes that could be bought. ``queued`` are all units of the queue, ``earlier``
    those that were placed before, on ``opened`` nodes that were not in use.
    """

    names: Sequence[str]
    roles: Sequence[GangRole]
    gangs: Sequence[tuple[MasterGangClass, GangAlternative]]
    nodes: Sequence[PlanNodeClass]
    prices: Mapping[int, Fraction]
    budget_limit: Fraction | None
    queued: Sequence[UnitShape]
    earlier: Sequence[UnitShape]
    opened: int
    target_roles: Sequence[GangRole]

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
            SPREAD.id: min(_MANY_UNITS_ON_NODE, 2 * len(self.queued)),
            SOFT: max((_soft_weight(role) for role in self.roles), default=0),
            COMPACT: _MANY_UNITS_ON_NODE,
            COST: max(self._amounts(COST).values(), default=0),
        }
        return tuple(max(1, known.get(name, 1)) for name in self.measures)

    def measures_of(self, node: PlanNodeClass) -> list[Measure]:
        """The measures of a node class's question, in the order of their names."""
        return [self._measure(name, node) for name in self.measures]

    def _measure(self, name: str, node: PlanNodeClass) -> Measure:
        if name not in MEASURED_STAGES:
            return OccupiedMeasure(self._amounts(name).get(node.index, 0))
        if name == SPREAD.id:
            return SPREAD
        # Only these measures need the stages of ``allocate``.
        from ..pricing.measures import COPY_MEASURES

        return COPY_MEASURES[name]

    def budget(self, first: int) -> list[CouplingRow]:
        """The row of the budget; ``first`` is the meter of the first measure."""
        if self.budget_limit is None:
            return []
        return [CouplingRow(self._counted(COST, first), upper=int(self.budget_limit * self._price_scale))]

    def stages(self, first: int) -> tuple[Goal, ...]:
        """The stages in order; ``first`` is the meter of the first measure."""
        return tuple(goal for name in self.names for goal in self._made(name, first))

    def _made(self, name: str, first: int) -> Iterator[Goal]:
        head, _, rest = name.partition("=")
        if head == "priority":
            for priority in sorted({shape.priority for shape in self.queued}, reverse=True):
                yield self._weighted(f"priority={priority}", partial(_has_priority, priority))
        elif head == "admitted":
            yield self._weighted(name, parse_weight(rest or "count")[0])
        elif head == FRAGMENTATION and self.residual_workload:
            yield Goal(self.residual_workload.stage, limit=self.residual_workload.largest_value)
        else:
            stage = ObjectiveStage(name, self._counted(name, first), maximise=False)
            scale = self._price_scale if name == COST else 1
            yield Goal(stage, scale, self.opened if name == FEWEST_NODES else 0)

    def _counted(self, name: str, first: int) -> Terms:
        """A measure by its meter, and nodes by themselves where no measure counts them."""
        if name in self.measures:
            return Terms(usage={first + self.measures.index(name): 1})
        return Terms(nodes=self._amounts(name))

    def _amounts(self, name: str) -> dict[int, int]:
        """What a node of each class counts once it is in use; one that is so anyway counts nothing."""
        if name == COST:
            return {node: int(price * self._price_scale) for node, price in self.prices.items() if price}
        return {node.index: 1 for node in self.nodes if not node.is_in_use}

    @cached_property
    def _price_scale(self) -> int:
        return lcm(*(price.denominator for price in (*self.prices.values(), self.budget_limit or Fraction(0))))

    def _weighted(self, name: str, weigh: WeightFunction) -> Goal:
        values = {role.unit_class.index: _total_weight(role.unit_class.shapes, weigh) for role in self.roles}
        everything, earlier = _total_weight(self.queued, weigh), _total_weight(self.earlier, weigh)
        worths = (everything, earlier, *values.values())
        scale = lcm(*(value.denominator for value in worths))
        worth = {index: int(value * scale) for index, value in values.items()}
        units = {role.index: worth[role.unit_class.index] for role in self.roles if worth[role.unit_class.index]}
        gangs = {number: total for number, pair in enumerate(self.gangs) if (total := _gang_weight(*pair, worth))}
        stage = ObjectiveStage(name, Terms(units=units, gangs=gangs))
        return Goal(stage, scale, int(earlier * scale), int(everything * scale), weigh)


def _soft_weight(role: GangRole) -> int:
    """The weight of all soft entries of one member of a role's unit class."""
    return sum(entry.weight or 0 for claim in role.unit_class.claims for entry in annotated_entries(claim.metadata))


def _has_priority(priority: int, shape: UnitShape) -> Fraction:
    return Fraction(shape.priority == priority)


def _total_weight(shapes: Sequence[UnitShape], weigh: Callable[[UnitShape], Fraction]) -> Fraction:
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


WeightFunction = Callable[[UnitShape], Fraction]
_NANO = 1_000_000_000


def parse_weight(kind: str) -> tuple[WeightFunction, str]:
    """Return what weighs units for ``admitted=KIND``, and the annotation that it reads.

    ``count``: each unit 1. ``devices``: as many as its requests count, an alternative list as its smallest, ``All`` as
    one. ``capacity:NAME``: what its requests ask of the capacity, for all their devices. ``annotation:KEY``: the number
    in the annotation, 1 without it. Raises ``ValueError``.
    """
    name, _, rest = kind.partition(":")
    if kind == "count":
        return (lambda _: Fraction(1)), VALUE_ANNOTATION
    if kind == "devices":
        return (lambda shape: Fraction(sum(_least_amounts(shape.claims, _device_count)))), VALUE_ANNOTATION
    if name == "capacity" and rest:
        amount = partial(_requested_capacity, rest)
        return (lambda shape: Fraction(sum(_least_amounts(shape.claims, amount)), _NANO)), VALUE_ANNOTATION
    if name == "annotation" and rest:
        return (lambda shape: Fraction(shape.value)), rest
    raise ValueError(f"unknown weight {kind!r} of admitted: count, devices, capacity:NAME or annotation:KEY")


def requested_devices(shapes: Sequence[UnitShape]) -> int:
    """How many devices units ask for that are placed together; a claim that they share counts once."""
    claims = [claim for shape in shapes for claim in shape.claims]
    shared = {claim.key: claim for claim in claims if claim.key is not None}
    own = [claim for claim in claims if claim.key is None]
    return sum(_least_amounts([*own, *shared.values()], _device_count))


def _least_amounts(claims: Iterable[ClaimShape], amount: Callable[[RequestSpec], int]) -> Iterator[int]:
    for claim in claims:
        for request in (claim.spec.devices.requests if claim.spec and not claim.allocated else None) or ():
            yield min(map(amount, _alternatives(request)), default=0)


def _alternatives(request: DeviceRequest) -> Iterator[RequestSpec]:
    if request.exactly is not None:
        yield request.exactly
    yield from request.first_available or ()


def _device_count(requested: RequestSpec) -> int:
    return 1 if requested.count is None else requested.count


def _requested_capacity(name: str, requested: RequestSpec) -> int:
    amounts = (requested.capacity.requests if requested.capacity else None) or {}
    return _device_count(requested) * Quantity.parse(amounts[name]).nano if name in amounts else 0

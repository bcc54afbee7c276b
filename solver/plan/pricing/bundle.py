"""Bundles: what one node takes jointly, as copies of several units whose devices and other resources it provides.

A measure says what a bundle costs beside which units it has; it is never negative, and 0 for an empty bundle. It says
so twice: as terms of a model, which are no lower than the cost and can be as low, and as the true value of a bundle.

Admin access holds nothing (IN-3), so it takes no device from anybody. But it draws counters and capacity while its own
unit is allocated (DEV-15, CAP-11). A unit that has nothing but admin access is placed before all others, where it finds
what is there now: its devices are decided beforehand (``looks_at``), and in the model it has no claims. For a unit with
other claims, too, the model lets admin access draw for good, so that every bundle can be allocated in any order. As
more may fit, bounds come from the same question without the requests with admin access.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, repeat
from typing import Protocol

from ....encoders.model import AllocationModel
from ....encoders.rows import CpSatRows, Term
from ....encoders.symmetry import MergedProblem, Signature
from ....models.kubernetes.meta import ObjectKey
from ....problem.constraints import pools_with_negative_draws
from ....problem.problem import InUse, Problem, Relation
from ...engines.engine import Pick

Picks = tuple[Pick, ...]


@dataclass(frozen=True, slots=True)
class BundleUnit:
    """A class of equal units that this node may take: its number, and one of them as a Problem.

    A unit without claims is a Problem without any. ``needs`` is what one takes of each of the node's resources,
    ``most`` how many there are at most; ``size`` says as how many units one counts. Not ``measured`` are those that
    only show what else would fit: no measure sees them. ``looks_at`` are the devices of a unit that has nothing but
    admin access, and no claims in the Problem. A unit that ``provides`` a claim is this claim, for all units on the
    node that name it; it is there at most once, and only if one of them is. ``limited``: ``most`` is about this node.
    """

    index: int
    problem: Problem
    most: int
    needs: tuple[int, ...] = ()
    measured: bool = True
    size: int = 1
    looks_at: Picks = ()
    provides: ObjectKey | None = None
    names: frozenset[ObjectKey] = frozenset()
    limited: bool = False


@dataclass(frozen=True, slots=True)
class BundleQuestion:
    """One node: its unit classes, whose Problems are about the same devices, and what is in use of these.

    ``left`` is what the node has left of each resource beside devices (cpu, memory, pods). ``meters`` count what is
    taken of devices that other nodes reach, too: for each by device how much taking it counts. The first ``holding`` of
    them do not count what has admin access. ``measures`` say what a bundle costs otherwise. In the usage of a column
    they are numbered after the meters, so that a question with measures has as many meters as all others, be they
    empty. ``most_configurations`` of a unit are listed; where there are more, its copies stay side by side.
    """

    units: tuple[BundleUnit, ...]
    in_use: InUse
    left: tuple[int, ...] = ()
    meters: tuple[Mapping[int, int], ...] = ()
    holding: int = 0
    measures: tuple[Measure, ...] = ()
    most_configurations: int = 600

    def usage(self, bundle: Bundle) -> tuple[tuple[int, int], ...]:
        """Return the counts of meters and the costs of measures that are not 0, by number."""
        taken = bundle.devices
        held = self._held(bundle) if any(unit.problem.has_admin for unit in self.units) else taken
        meters = enumerate(self.meters)
        metered = [sum(map(amounts.get, held if n < self.holding else taken, repeat(0))) for n, amounts in meters]
        measured = [measure.value(self.units, bundle) for measure in self.measures]
        return tuple((number, amount) for number, amount in enumerate([*metered, *measured]) if amount)

    def has_room(self, bundle: Bundle) -> bool:
        """Whether the node has what the units and their devices take of it."""
        left = list(self.left)
        for unit, copies in zip(self.units, bundle.copies, strict=True):
            for resource, need in enumerate(unit.needs):
                left[resource] -= need * len(copies)
            for pick in (one for picks in copies for one in picks):
                for resource, amount in unit.problem.demands[pick.demand].node_draws.get(pick.device, ()):
                    left[resource] -= amount
        return all(amount >= 0 for amount in left)

    def _held(self, bundle: Bundle) -> list[int]:
        """The devices of picks without admin access."""
        pairs = zip(self.units, bundle.copies, strict=True)
        picks = ((unit.problem.demands[one.demand], one) for unit, copies in pairs for own in copies for one in own)
        return [one.device for demand, one in picks if not demand.admin]


@dataclass(frozen=True, slots=True)
class Bundle:
    """What one node takes jointly: for each unit of the question the picks of each copy, by the unit's own numbers.

    Allocated one after the other in this order, every copy is a valid allocation beside those before it. ``in_order``:
    each request has the first of the devices in search order that consume what its own ones do.
    """

    copies: tuple[tuple[Picks, ...], ...]
    in_order: bool = field(default=False, compare=False)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of copies of each unit."""
        return tuple(map(len, self.copies))

    @property
    def devices(self) -> list[int]:
        """The device of each pick."""
        return [pick.device for copies in self.copies for picks in copies for pick in picks]

    def kept(self, chosen: Sequence[Sequence[int]]) -> Bundle:
        """Keep these copies of each unit; the rest is a bundle still, unless some device gives counters."""
        pairs = zip(self.copies, chosen, strict=True)
        return Bundle(tuple(tuple(copies[place] for place in sorted(own)) for copies, own in pairs))


@dataclass(frozen=True, slots=True)
class MeasureContext:
    """A model that measures add terms to.

    ``listed`` has by number the units whose copies take one of a list of configurations: the variable that counts the
    copies, and what each of them takes.
    """

    model: AllocationModel
    units: Sequence[BundleUnit]
    listed: Mapping[int, Sequence[tuple[int, Picks]]]

    def placed(self) -> list[Term]:
        """Terms for the number of units that are measured."""
        pairs = zip(self.units, self.model.units.placed, strict=True)
        return [(variable, unit.size) for unit, variable in pairs if unit.measured]

    def unlisted(self) -> dict[int, tuple[int, int]]:
        """Measured claims of units without configurations: by claim the numbers of the unit and of the copy."""
        copies = enumerate(zip(self.units, self.model.merged.units, strict=True))
        return {
            claim: (number, copy)
            for number, (unit, own) in copies
            if unit.measured and number not in self.listed
            for copy, claims in enumerate(own.claims)
            for claim in claims
        }


class Measure(Protocol):
    """The cost of a bundle in one stage."""

    @property
    def id(self) -> str:
        """Name of the goal."""

    @property
    def sign(self) -> Callable[[MergedProblem], Signature | None]:
        """The signature that tells devices apart for this measure, as for an encoder."""

    def reads_relation(self, relation: Relation) -> bool:
        """Whether it looks at a relation that need not hold."""

    def needs_separate_copies(self, problem: Problem) -> bool:
        """Whether its terms need the copies of a unit apart, because a count of copies does not determine them."""

    def terms(self, measured: MeasureContext) -> list[Term]:
        """Terms of what a bundle costs, exact once they are as low as they can be; none is negative as a whole."""

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Return the cost of a bundle."""

    def uniform_cost(self, unit: BundleUnit, in_use: InUse) -> int | None:
        """What each copy of a unit adds, whatever it takes and whatever is beside it; None if that differs."""


def uniform_usage(question: BundleQuestion, unit: BundleUnit) -> tuple[tuple[int, int], ...] | None:
    """What each copy of a unit uses by measure, in the numbers of a column's usage; None where that differs."""
    first, found = len(question.meters), list[tuple[int, int]]()
    for number, measure in enumerate(question.measures):
        cost = measure.uniform_cost(unit, question.in_use)
        if cost is None:
            return None
        if cost:
            found.append((first + number, cost))
    return tuple(found)


def with_measures(question: BundleQuestion, measures: Collection[int]) -> BundleQuestion:
    """Leave only some measures, by number, and of the relations that need not hold those that these look at."""
    known = tuple(question.measures[number] for number in sorted(measures))
    units = tuple(_with_measured_relations(unit, known) for unit in question.units)
    return replace(question, units=units, measures=known)


def _with_measured_relations(unit: BundleUnit, measures: Sequence[Measure]) -> BundleUnit:
    kept = tuple(
        relation
        for relation in unit.problem.relations
        if relation.hard or (unit.measured and any(measure.reads_relation(relation) for measure in measures))
    )
    if len(kept) == len(unit.problem.relations):
        return unit
    return replace(unit, problem=replace(unit.problem, relations=kept))


def cheap_measures(question: BundleQuestion) -> frozenset[int]:
    """Numbers of the measures that make a model hardly larger: they need no copies apart and no further relations."""
    problems = [unit.problem for unit in question.units if unit.measured]
    return frozenset(
        number
        for number, measure in enumerate(question.measures)
        if not any(
            measure.needs_separate_copies(one) or any(map(measure.reads_relation, one.soft_relations))
            for one in problems
        )
    )


def needs_separate_copies(question: BundleQuestion, number: int) -> bool:
    """Whether some measure needs the copies of a unit apart."""
    unit = question.units[number]
    return unit.measured and any(measure.needs_separate_copies(unit.problem) for measure in question.measures)


@dataclass(frozen=True, slots=True)
class AggregateMeasure:
    """Needs neither copies apart nor relations; devices of one symmetry class are alike to it."""

    def sign(self, _merged: MergedProblem) -> Signature | None:
        """Devices count nothing."""
        return None

    def reads_relation(self, _relation: Relation) -> bool:
        """Relations count nothing."""
        return False

    def needs_separate_copies(self, _problem: Problem) -> bool:
        """Copies are counted only."""
        return False

    def uniform_cost(self, _unit: BundleUnit, _in_use: InUse) -> int | None:
        """What a copy adds depends on what is beside it."""
        return None


def ordered_steps(rows: CpSatRows, number: Sequence[Term]) -> list[int]:
    """Literals of which as many are true as a sum says, the first ones."""
    steps = [rows.boolean() for _ in range(rows.extent(number)[1])]
    rows.equal([*number, *((step, -1) for step in steps)], 0)
    for step, following in pairwise(steps):
        rows.at_most([(following, 1), (step, -1)], 0)
    return steps


@dataclass(frozen=True, slots=True)
class SpreadMeasure(AggregateMeasure):
    """The square of the number of copies, so that nodes with equally many are best."""

    id: str = "spread"

    def terms(self, measured: MeasureContext) -> list[Term]:
        """Write the number in steps: the n-th copy makes the square larger by 2 n - 1."""
        steps = ordered_steps(measured.model.rows, measured.placed())
        return [(step, 2 * number + 1) for number, step in enumerate(steps)]

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Square the number of copies."""
        return _placed_units(units, bundle) ** 2


@dataclass(frozen=True, slots=True)
class OccupiedMeasure(AggregateMeasure):
    """``amount`` if anything that is measured is placed: a node in use, beside which other units cost nothing."""

    amount: int = 1
    id: str = "occupied"

    def terms(self, measured: MeasureContext) -> list[Term]:
        """A literal that is true exactly if anything is placed."""
        rows, placed = measured.model.rows, measured.placed()
        literal = rows.boolean()
        measured.model.post_implied(placed, literal)
        rows.at_most([(literal, 1), *((variable, -1) for variable, _ in placed)], 0)
        return [(literal, self.amount)]

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """The amount, or nothing."""
        return self.amount if _placed_units(units, bundle) else 0


def _placed_units(units: Sequence[BundleUnit], bundle: Bundle) -> int:
    return sum(unit.size * count for unit, count in zip(units, bundle.counts, strict=True) if unit.measured)


SPREAD = SpreadMeasure()
"""How evenly units are spread over nodes."""


@dataclass(frozen=True, slots=True)
class SharedClaimMeasure(AggregateMeasure):
    """1 if a claim that several units name is allocated here."""

    key: ObjectKey
    id: str = "shared-claim"

    def terms(self, measured: MeasureContext) -> list[Term]:
        """The variable that counts the claim."""
        pairs = zip(measured.units, measured.model.units.placed, strict=True)
        return [(placed, 1) for unit, placed in pairs if unit.provides == self.key]

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Count it."""
        pairs = zip(units, bundle.counts, strict=True)
        return sum(count for unit, count in pairs if unit.provides == self.key)

    def uniform_cost(self, unit: BundleUnit, in_use: InUse) -> int | None:
        """Nothing for all units but the claim itself."""
        return int(unit.provides == self.key)


@dataclass(frozen=True, slots=True)
class _DeviceMeasure(AggregateMeasure):
    """Looks at some devices of the node, by number."""

    devices: frozenset[int]

    def sign(self, _merged: MergedProblem) -> Signature | None:
        """These devices are each of a kind of its own."""
        return (lambda device: device if device in self.devices else None) if self.devices else None


@dataclass(frozen=True, slots=True)
class SharedDraw(_DeviceMeasure):
    """How much is drawn of a row of capacity of a device that several may hold, in steps of ``step``."""

    row: int = 0
    step: int = 1
    id: str = "shared-capacity"

    def terms(self, measured: MeasureContext) -> list[Term]:
        """Each take of the device draws what its request asks for."""
        model = measured.model
        demands = model.merged.problem.demands
        found: list[Term] = []
        for (alternative, class_), taken in model.takes.items():
            device = model.reduced.classes[class_].representative
            if device in self.devices:
                demand = demands[model.merged.alternatives[alternative].demands[0]]
                found.append((taken, self._drawn(demand.amounts.get(device, ()))))
        return found

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Add up what the picks draw."""
        return sum(
            self._drawn(unit.problem.demands[pick.demand].amounts.get(pick.device, ()))
            for unit, copies in zip(units, bundle.copies, strict=True)
            for picks in copies
            for pick in picks
            if pick.device in self.devices
        )

    def _drawn(self, amounts: Collection[tuple[int, int]]) -> int:
        return sum(amount for row, amount in amounts if row == self.row) // self.step


@dataclass(frozen=True, slots=True)
class SharedUse(_DeviceMeasure):
    """1 if anything is taken of devices that only one node may use at a time."""

    id: str = "shared-use"

    def terms(self, measured: MeasureContext) -> list[Term]:
        """A literal that is true if one of the devices is taken."""
        model = measured.model
        takes = [
            (taken, 1)
            for (_, class_), taken in model.takes.items()
            if model.reduced.classes[class_].representative in self.devices
        ]
        if not takes:
            return []
        used = model.rows.boolean()
        model.post_implied(takes, used)
        return [(used, 1)]

    def value(self, _units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Whether a pick is one of the devices."""
        return int(not self.devices.isdisjoint(bundle.devices))


def reduced_bundle(question: BundleQuestion, bundle: Bundle, counts: Sequence[int]) -> Bundle:
    """Leave at most so many copies of each unit, those that cost least by the first measure, then by the second.

    The rest is a bundle as well: nothing that a copy takes helps another one. Where devices give counters that is not
    so, and the bundle stays as it is.
    """
    if any(pools_with_negative_draws(unit.problem) for unit in question.units):
        return bundle
    limits = claims_in_use(question.units, counts)
    return bundle.kept([_cheapest_copies(question, bundle, number, count) for number, count in enumerate(limits)])


def claims_in_use(units: Sequence[BundleUnit], counts: Sequence[int]) -> list[int]:
    """The counts of units, with each shared claim once if a unit names it, and else not at all."""
    named = {key for unit, count in zip(units, counts, strict=True) if count for key in unit.names}
    pairs = zip(units, counts, strict=True)
    return [count if unit.provides is None else int(unit.provides in named) for unit, count in pairs]


def _cheapest_copies(question: BundleQuestion, bundle: Bundle, number: int, count: int) -> list[int]:
    """Find the copies of a unit that cost least when they are alone; of equal ones the first."""

    def costs(copy: int) -> list[int]:
        alone = bundle.kept([(copy,) if unit == number else () for unit in range(len(bundle.copies))])
        return [measure.value(question.units, alone) for measure in question.measures]

    copies = range(len(bundle.copies[number]))
    return sorted(sorted(copies, key=costs)[:count])


def without_admin_access(question: BundleQuestion) -> BundleQuestion | None:
    """Leave out what has admin access; None if it draws nothing, so that the model is exact."""
    if not any(_draws_with_admin(unit.problem) for unit in question.units):
        return None
    units = question.units
    kept = (replace(one, problem=one.problem.without_admin()) if one.problem.has_admin else one for one in units)
    return replace(question, units=tuple(kept))


def _draws_with_admin(problem: Problem) -> bool:
    shared = problem.capacities.rows.keys() & problem.shared
    drawing = problem.counters.consumption.keys() | problem.groups.membership.keys() | shared
    return any(not drawing.isdisjoint(demand.candidates) for demand in problem.demands if demand.admin)

"""The bundles of one node as a CP-SAT model: how many copies of each unit it takes, under all rules of ``allocate``.

Equal copies are merged where counts say all. Units for which they do not get configurations: every set of devices that
one copy could take. A unit with too many configurations has its copies side by side.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product
from math import gcd

from ....encoders import symmetry
from ....encoders.constraints import ENCODERS
from ....encoders.model import AllocationModel, Configuration, build_model, post_configurations
from ....encoders.rows import COEFFICIENT_LIMIT, CpSatRows, Term
from ....encoders.solution import decode_solution
from ....problem.constraints import pools_with_negative_draws
from ....problem.filters import usable_devices
from ....problem.problem import Problem
from ...engines.cp_sat import Limits, SolveResult, SolverStatus, enumerate_solutions, solve_with_lazy_constraints
from ...engines.engine import Counts, Pick
from .bundle import Bundle, BundleQuestion, MeasureContext, Picks, claims_in_use, needs_separate_copies, with_measures

SolveFunction = Callable[[CpSatRows, Limits], SolveResult]
"""A way to run the solver."""


@dataclass(frozen=True, slots=True)
class BundlePrices:
    """The worth of a copy of each unit, and of each count of a meter or a measure."""

    units: tuple[int, ...]
    usage: tuple[int, ...] = ()

    @property
    def pays(self) -> bool:
        """Whether a bundle may be worth more than its units."""
        return any(price > 0 for price in self.usage)

    @property
    def priced(self) -> tuple[int, ...]:
        """Numbers of the meters and measures that count."""
        return tuple(number for number, price in enumerate(self.usage) if price)


@dataclass(frozen=True, slots=True)
class BestBundle:
    """The most valuable bundle that was found, and what none is worth more than; None for none, and for unknown."""

    bundle: Bundle | None
    bound: int | None


class BundleModel:
    """The model of a question with at most so many copies of each unit class, which knows some measures by number.

    Raises ``CoefficientError``, ``RoadError`` and ``DeadlineExceededError``.
    """

    def __init__(
        self, question: BundleQuestion, most: Sequence[int], deadline: float | None = None, measures: Sequence[int] = ()
    ) -> None:
        self.question = with_measures(question, measures)
        self.most = tuple(most)
        made = BundleModelBuilder(self.question, most, deadline).model()
        self.allocation = made.model
        rows, placed = self.allocation.rows, self.allocation.units.placed
        rows.has_packing_rows = True
        drawn = self._node_draws()
        for resource, free in enumerate(self.question.left):
            needs = [unit.needs[resource] for unit in self.question.units]
            rows.at_most([*zip(placed, needs, strict=True), *drawn[resource]], max(0, free))
        self._post_claims()
        known = zip(measures, self.question.measures, strict=True)
        self._costs = {len(question.meters) + number: measure.terms(made) for number, measure in known}

    def _node_draws(self) -> Mapping[int, list[Term]]:
        """What devices take of each resource of the node (NAR-1), where that depends on the device."""
        model, found = self.allocation, defaultdict[int, list[Term]](list)
        for (alternative, class_), taken in model.takes.items():
            demand = model.merged.problem.demands[model.merged.alternatives[alternative].demands[0]]
            for resource, amount in demand.node_draws.get(model.reduced.classes[class_].representative, ()):
                found[resource].append((taken, amount))
        return found

    def _post_claims(self) -> None:
        """Where a unit is, all claims are that it names."""
        rows, placed = self.allocation.rows, self.allocation.units.placed
        claims = {unit.provides: one for unit, one in zip(self.question.units, placed, strict=True) if unit.provides}
        if claims and any(unit.problem.has_admin for unit in self.question.units):
            self._keep_admin_access_apart()
        for unit, one, most in zip(self.question.units, placed, self.most, strict=True):
            for key in unit.names:
                rows.at_most([(one, 1), (claims[key], -max(1, most))], 0)

    def _keep_admin_access_apart(self) -> None:
        """Let no device serve admin access of a unit with shared claims, or of such a claim, and somebody else (DEV-1).

        Which claims are allocated together depends on which unit comes first.
        """
        model, shared = self.allocation, self.allocation.merged.problem.shared
        copies = zip(self.question.units, model.merged.units, strict=True)
        apart = {
            claim for unit, own in copies if unit.provides or unit.names for claims in own.claims for claim in claims
        }
        for class_ in model.reduced.classes:
            users = [model.merged.alternatives[index] for index in class_.alternatives]
            looking = [one for one in users if one.admin and model.merged.claim_of(one) in apart]
            holding = [one for one in users if not one.admin]
            for one, other in product(looking, holding if class_.representative not in shared else ()):
                model.rows.at_most([(model.takes[each.index, class_.index], 1) for each in (one, other)], 1)

    @property
    def learns(self) -> bool:
        """Whether a solve changes the model, because relations are judged solution by solution."""
        return bool(self.allocation.lazy_constraints)

    def best(self, worth: BundlePrices, most: Sequence[int], solve: SolveFunction, limits: Limits) -> BestBundle:
        """Find the most valuable bundle of at most so many copies.

        Unless the model ``learns``, the answer is the same whatever was asked before.
        """
        divisor = self.set_objective(worth, most)
        seen: list[int] = []

        def counted(left: Limits) -> SolveResult:
            found = solve(self.allocation.rows, left)
            if found.status in (SolverStatus.OPTIMAL, SolverStatus.FEASIBLE):
                # What is judged later only takes bundles away.
                seen.append(-found.bound * divisor)
            return found

        found = solve_with_lazy_constraints(self.allocation, counted, limits, Counts(), hints=False)
        bundle = self.bundle(found.values) if found.values else None
        return BestBundle(bundle, min(seen, default=None))

    def set_objective(self, worth: BundlePrices, most: Sequence[int]) -> int:
        """Ask for the most valuable bundle; what the value is divided by, rounded up, is returned."""
        rows = self.allocation.rows
        rows.hint({})
        variables = zip(self.allocation.units.placed, self.question.units, strict=True)
        for (placed, unit), price, limit, made in zip(variables, worth.units, most, self.most, strict=True):
            # A unit that is worth nothing makes no bundle more valuable, unless its devices do.
            rows.restrict(placed, 0, min(limit, made) if price > 0 or worth.pays or unit.provides else 0)
        terms, divisor = _scaled_terms(self.value(worth))
        rows.minimize(terms)
        return divisor

    def value(self, worth: BundlePrices) -> list[Term]:
        """The worth of a bundle, as terms to be minimised."""
        placed = self.allocation.units.placed
        terms = [(variable, -price) for variable, price in zip(placed, worth.units, strict=True)]
        for number in worth.priced:
            terms += [(variable, -worth.usage[number] * amount) for variable, amount in self.usage(number)]
        return _merged_terms(terms)

    def usage(self, number: int) -> list[Term]:
        """The terms of a meter, or of a measure that the model has."""
        if number in self._costs:
            return self._costs[number]
        amounts, classes = self.question.meters[number], self.allocation.reduced.classes
        alternatives, holding = self.allocation.merged.alternatives, number < self.question.holding
        takes = (
            (classes[class_].representative, taken)
            for (alternative, class_), taken in self.allocation.takes.items()
            if not (holding and alternatives[alternative].admin)
        )
        metered = ((taken, amounts.get(device, 0)) for device, taken in takes)
        return [(taken, amount) for taken, amount in metered if amount]

    def bundle(self, values: Sequence[int]) -> Bundle:
        """Decode a solution, with the picks of each copy."""
        copies: list[tuple[Picks, ...]] = []
        picks = decode_solution(self.allocation, values)
        start = 0
        for unit, placed, made in zip(self.question.units, self.allocation.units.placed, self.most, strict=True):
            size = len(unit.problem.demands)
            own: list[list[Pick]] = [[] for _ in range(values[placed])]
            for demand, device in picks:
                copy, number = divmod(demand - start, size) if size else (-1, 0)
                if 0 <= copy < made:
                    own[copy].append(Pick(number, device))
            copies.append(tuple(map(tuple, own)))
            start += size * made
        limits = claims_in_use(self.question.units, list(map(len, copies)))
        return Bundle(tuple(tuple(own[:limit]) for own, limit in zip(copies, limits, strict=True)))


def _merged_terms(terms: Sequence[Term]) -> list[Term]:
    """Name each variable once."""
    totals: Counter[int] = Counter()
    for variable, coefficient in terms:
        totals[variable] += coefficient
    return [(variable, total) for variable, total in totals.items() if total]


def _scaled_terms(terms: Sequence[Term]) -> tuple[list[Term], int]:
    """Divide what is worth too much for the solver, rounding in favour of the bundles."""
    divisor = gcd(*(coefficient for _, coefficient in terms)) or 1
    largest = max((abs(coefficient) for _, coefficient in terms), default=0)
    if largest // divisor >= COEFFICIENT_LIMIT:
        divisor = -(-largest // (COEFFICIENT_LIMIT - 1))
    return [(variable, coefficient // divisor) for variable, coefficient in terms], divisor


class BundleModelBuilder:
    """Merges copies where counts say all, and by configurations where they do not."""

    def __init__(self, question: BundleQuestion, most: Sequence[int], deadline: float | None) -> None:
        self._question = question
        self._most = most
        self._deadline = deadline
        problems = [unit.problem for unit in question.units]
        several = [problem for problem, copies in zip(problems, most, strict=True) for _ in range(copies)]
        nothing = replace(problems[0], claims=(), demands=(), constraints=(), relations=())
        groupings = dict.fromkeys(grouping for one in problems for grouping in one.node_context.groupings)
        whole = Problem.side_by_side(several or [nothing])
        self._problem = replace(whole, node_context=replace(whole.node_context, groupings=tuple(groupings)))
        self._units = self._copies()
        self._candidates = usable_devices(self._problem, question.in_use)
        self._marks = self._marked() if question.measures else None

    def _copies(self) -> list[symmetry.UnitCopies]:
        """Number the claims of all copies, as they come side by side."""
        sizes = [len(unit.problem.claims) for unit in self._question.units]
        firsts = accumulate((size * copies for size, copies in zip(sizes, self._most, strict=True)), initial=0)
        return [
            symmetry.UnitCopies(
                tuple(tuple(range(first + copy * size, first + (copy + 1) * size)) for copy in range(copies))
            )
            for first, size, copies in zip(firsts, sizes, self._most, strict=False)
        ]

    def _marked(self) -> list[Hashable]:
        """Mark the demands of copies that measures must tell apart, and of units that they do not see."""
        marks: list[Hashable] = []
        for number, (unit, copies) in enumerate(zip(self._question.units, self._most, strict=True)):
            parted, seen = needs_separate_copies(self._question, number), len(unit.problem.node_context.groupings)
            for copy in range(copies):
                mark = (number, copy) if parted else (unit.measured, seen)
                marks += [(parted, mark)] * len(unit.problem.demands)
        return marks

    def model(self) -> MeasureContext:
        """Build the model. A unit with too many configurations has copies side by side."""
        reduced, found = self._configured()
        model = build_model(_without_entries(reduced, found), ENCODERS, deadline=self._deadline)
        listed: dict[int, list[tuple[int, Picks]]] = {}
        for number, own in found.items():
            variables = post_configurations(model, number, own.configurations)
            if self._question.measures:
                listed[number] = list(zip(variables, own.picks(), strict=True))
        return MeasureContext(model, self._question.units, listed)

    def _configured(self) -> tuple[symmetry.SymmetryReducedProblem, dict[int, UnitConfigurations]]:
        """List the configurations of all units that need them and have few enough."""
        merged = self._merged(())
        needy = units_needing_configurations(self._question, merged)
        wanted = [single_copy(self._question, number, self._most) for number in needy]
        while True:
            reduced = symmetry.build_symmetry_classes(
                self._merged(wanted) if wanted else merged,
                [*ENCODERS, _MeterSigner(self._question.meters), *self._question.measures],
            )
            most = self._question.most_configurations
            listed = {one.number: list_configurations(one, reduced, most, self._deadline) for one in wanted}
            found = {number: own for number, own in listed.items() if own is not None}
            if len(found) == len(wanted):
                return reduced, found
            wanted = [one for one in wanted if one.number in found]

    def _merged(self, wanted: Sequence[SingleCopy]) -> symmetry.MergedProblem:
        same = {claim: key for one in wanted for claim, key in merged_claim_keys(one, self._units[one.number])}
        requested = self._problem, self._question.in_use, self._candidates
        return symmetry.merge_equal_requests(*requested, labels=self._marks, units=self._units, equal_claims=same)


def _without_entries(
    reduced: symmetry.SymmetryReducedProblem, numbers: Container[int]
) -> symmetry.SymmetryReducedProblem:
    """Leave out the entries of these units, which every configuration keeps; symmetry classes stay as they are."""
    merged = reduced.merged
    kept = [unit for number, unit in enumerate(merged.units) if number in numbers]
    claims = {claim for unit in kept for own in unit.claims for claim in own}
    constraints = tuple(one for one in merged.constraints if one.record.claim not in claims)
    relations = tuple(one for one in merged.relations if claims.isdisjoint(one.claims))
    return replace(reduced, merged=replace(merged, constraints=constraints, relations=relations))


@dataclass(frozen=True, slots=True)
class _MeterSigner:
    """Devices of one symmetry class count alike for every meter."""

    meters: Sequence[Mapping[int, int]]

    def sign(self, _merged: symmetry.MergedProblem) -> symmetry.Signature | None:
        """Sign devices with what they count."""
        return (lambda device: tuple(meter.get(device, 0) for meter in self.meters)) if self.meters else None


@dataclass(frozen=True, slots=True)
class UnitConfigurations:
    """The device sets that one copy of a unit could take, in numbers of the larger question and of its own model."""

    configurations: tuple[Configuration, ...]
    model: AllocationModel
    solutions: tuple[tuple[int, ...], ...]

    def picks(self) -> list[Picks]:
        """The picks of each configuration, up to devices that nothing tells apart."""
        return [tuple(Pick(*one) for one in decode_solution(self.model, values)) for values in self.solutions]


@dataclass(frozen=True, slots=True)
class SingleCopy:
    """One copy of a unit, with what it shares with its copies in a larger question: its first demand there."""

    number: int
    merged: symmetry.MergedProblem
    first_demand: int


def units_needing_configurations(question: BundleQuestion, merged: symmetry.MergedProblem) -> Iterator[int]:
    """Yield the units with claims that stay alone: several copies of them, or such as are judged on complete sets.

    Not where the order of units decides what one of them may take.
    """
    alone = {request.claims[0] for request in merged.requests if len(request.claims) == 1}
    for number, (unit, copies) in enumerate(zip(question.units, merged.units, strict=True)):
        judged = any(relation.hard for relation in unit.problem.relations)
        listed = len(copies.claims) > (0 if judged else 1) and not alone.isdisjoint(copies.claims[0])
        if listed and not unit.problem.has_admin and not pools_with_negative_draws(unit.problem):
            yield number


def single_copy(question: BundleQuestion, number: int, most: Sequence[int]) -> SingleCopy:
    """Merge what is equal in one copy."""
    problem = question.units[number].problem
    merged = symmetry.merge_equal_requests(problem, question.in_use, usable_devices(problem, question.in_use))
    before = zip(question.units[:number], most, strict=False)
    first_demand = sum(len(unit.problem.demands) * copies for unit, copies in before)
    return SingleCopy(number, merged, first_demand)


def merged_claim_keys(one: SingleCopy, copies: symmetry.UnitCopies) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield for each claim of each copy a key: those that are one in a copy are one in all copies."""
    for request in one.merged.requests:
        for claim in request.claims:
            for own in copies.claims:
                yield own[claim], (one.number, request.claims[0])


def list_configurations(
    one: SingleCopy, reduced: symmetry.SymmetryReducedProblem, most: int, deadline: float | None
) -> UnitConfigurations | None:
    """List all that one copy could take, whatever soft entries say; None if these are more than ``most``."""
    alternatives = {alternative.demands[0]: alternative.index for alternative in reduced.merged.alternatives}
    own = one.merged.alternatives
    there = {alternative.index: alternatives[one.first_demand + alternative.demands[0]] for alternative in own}
    classes, inside = _copy_symmetry_classes(reduced, {outer: inner for inner, outer in there.items()})
    of_alternative = tuple(
        tuple(class_.index for class_ in inside if number in class_.alternatives) for number in there
    )
    merged = replace(one.merged, relations=tuple(relation for relation in one.merged.relations if relation.record.hard))
    model = build_model(
        symmetry.SymmetryReducedProblem(merged, tuple(inside), of_alternative), ENCODERS, deadline=deadline
    )
    places = {
        (there[alternative], classes[class_]): variable for (alternative, class_), variable in model.takes.items()
    }
    variables, known = list(places.values()), dict[tuple[int, ...], tuple[int, ...]]()

    def holds(values: Sequence[int]) -> bool:
        known[tuple(values[variable] for variable in variables)] = tuple(values)
        return _relations_hold(model, values)

    found = enumerate_solutions(model.rows, variables, most, holds, deadline)
    if found is None:
        return None
    listed = [tuple((place, count) for place, count in zip(places, one, strict=True) if count) for one in found]
    return UnitConfigurations(tuple(listed), model, tuple(known[one] for one in found))


def _copy_symmetry_classes(
    reduced: symmetry.SymmetryReducedProblem, inner: Mapping[int, int]
) -> tuple[list[int], list[symmetry.SymmetryClass]]:
    """Take over the symmetry classes that a copy could take from: their numbers outside, and what they are inside."""
    kept = [class_ for class_ in reduced.classes if any(alternative in inner for alternative in class_.alternatives)]
    meant = [tuple(sorted(inner[one] for one in class_.alternatives if one in inner)) for class_ in kept]
    pairs = enumerate(zip(kept, meant, strict=True))
    own = [replace(class_, index=index, alternatives=alternatives) for index, (class_, alternatives) in pairs]
    return [class_.index for class_ in kept], own


def _relations_hold(model: AllocationModel, values: Sequence[int]) -> bool:
    """Judge the relations that no rows say."""
    if not model.lazy_constraints:
        return True
    taken = decode_solution(model, values)
    relations = (lazy.relation.record for lazy in model.lazy_constraints)
    return all(relation.verdict(taken) is True for relation in relations if relation.hard)

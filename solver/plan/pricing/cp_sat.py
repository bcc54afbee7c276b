"""The pricer of node classes that need a CP-SAT model: each model is solved again at ever new prices.

Simple counts bound how many copies of a unit one node could take alone. To prove an optimum, all bundles above some
worth are listed, but for those that others cover.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from ....encoders.expressions.posting import OrderLiterals
from ....encoders.model import EncodingError
from ....encoders.rows import CoefficientError, CpSatRows
from ....problem.constraints import draws_counters, pools_with_negative_draws
from ....problem.filters import usable_devices
from ....problem.messages import DeadlineExceededError
from ....problem.problem import Demand, InUse, Problem, Request
from ...engines.cp_sat import (
    Limits,
    SolverConfiguration,
    SolveResult,
    SolverStatus,
    run_solver,
    solve_with_lazy_constraints,
)
from ...engines.engine import Counts
from ..column_generation import Effort, Prices, PricingLimits, PricingResult
from ..filling_graph import VectorNode
from ..master_problem import Column, is_past
from .bundle import Bundle, BundleQuestion, BundleUnit, cheap_measures, reduced_bundle, without_admin_access
from .cp_sat_model import BestBundle, BundleModel, BundlePrices
from .search_order import lightest_devices

# Nearly always the linear relaxation and branching are all it takes: to presolve takes as long as to solve, and cuts
# take longer (measured with 6 units on nodes of 12 devices and of 112 partitions).
PRICING = SolverConfiguration(presolve=False, probing=0, symmetry=0, linearization=2, cuts=False, inprocessing=False)
# What is left has equal copies that cannot be merged.
SYMMETRY_BREAKING = SolverConfiguration(probing=0, symmetry=2, linearization=2)
# Deterministic units, of which a slow machine does about one in a second.
_EASY_WORK = 0.2
_PRICING_WORK = {Effort.QUICK: _EASY_WORK, Effort.THOROUGH: 5.0}
# Columns of a node class that are listed one by one, each by a run of the solver.
_MOST_LISTED_BUNDLES = 200
_WORK_STEP = 1e-3
"""A step of ``PricingLimits.work``, in deterministic units."""


class BundlePricer:
    """Prices the bundles of node classes; ``questions`` says by number what a class is. A ``Pricer`` of the master's.

    Models are made when they are first needed, and stay behind when the pricer is sent to another process. A step of
    work is a thousandth of a deterministic unit of CP-SAT.
    """

    def __init__(self, questions: Mapping[int, BundleQuestion]) -> None:
        self._questions = questions
        self._nodes: dict[int, _NodeModels] = {}

    def enumerate(
        self, node_class: int, prices: Prices, limits_by_class: Sequence[int], least_value: int, limits: PricingLimits
    ) -> tuple[Column, ...] | None:
        """Return all columns of some worth, but for those that others cover and for units that are worth nothing.

        None if they are too many, or cannot all be found. Use of meters and measures without a price is not compared.
        """
        node, worth, own = self._asked(node_class, prices, limits_by_class)
        found = node.listed(worth, own, least_value, limits)
        if found is None:
            return None
        return tuple(_bundle_column(node_class, node.question, bundle) for bundle in found if any(bundle.counts))

    def _asked(
        self, node_class: int, prices: Prices, limits_by_class: Sequence[int]
    ) -> tuple[_NodeModels, BundlePrices, list[int]]:
        """Find a node class, and pick what concerns its units."""
        node = self._nodes.get(node_class)
        if node is None:
            node = self._nodes[node_class] = _NodeModels(self._questions[node_class])
        indices = [unit.index for unit in node.question.units]
        # A node without meters and measures need not say so for each of them.
        usage = prices.meters[: len(node.question.meters) + len(node.question.measures)]
        worth = BundlePrices(tuple(prices.units[index] for index in indices), usage)
        return node, worth, [1 if unit.provides else limits_by_class[unit.index] for unit in node.question.units]

    def column(self, node_class: int, bundle: Bundle) -> Column:
        """The column of a node that takes a bundle."""
        return _bundle_column(node_class, self._questions[node_class], bundle)

    def __reduce__(self) -> tuple[object, ...]:
        return BundlePricer, (self._questions,)

    def price(
        self, node_class: int, prices: Prices, limits_by_class: Sequence[int], limits: PricingLimits
    ) -> PricingResult:
        """Find the most valuable column that takes at most so many units of each class, and a bound."""
        node, worth, own = self._asked(node_class, prices, limits_by_class)
        best = node.best(worth, own, limits)
        columns = () if best.bundle is None else (_bundle_column(node_class, node.question, best.bundle),)
        return PricingResult(tuple(column for column in columns if prices.value(column) > 0), best.bound)

    def reduced(self, column: Column, counts: Mapping[int, int]) -> Column:
        """Take copies out of a column until it has so many units of each class; those that cost most go first."""
        question = self._questions[column.node_class]
        bundle = reduced_bundle(question, column.payload, [counts.get(unit.index, 0) for unit in question.units])
        return _bundle_column(column.node_class, question, bundle)

    def completed(self, column: Column, prices: Prices, left: Sequence[int], limits: PricingLimits) -> Column:
        """Add valuable units; those that are there may go to other devices."""
        own = dict(column.counts)
        # What is there counts more than all that is left.
        more = 1 + sum(price * number for price, number in zip(prices.units, left, strict=True))
        raised = replace(prices, units=tuple(more if unit in own else one for unit, one in enumerate(prices.units)))
        limits_by_class = [own.get(unit, number) for unit, number in enumerate(left)]
        priced = self.price(column.node_class, raised, limits_by_class, limits)
        best = max(priced.columns, key=raised.value, default=column)
        return best if own.items() <= dict(best.counts).items() else column

    def lightened(self, column: Column) -> Column:
        """Give the units of a column the devices that consume least, where the search finds such for all of them."""
        question = self._questions[column.node_class]
        return _bundle_column(column.node_class, question, lightest_devices(question, column.payload))

    def vector(self, _node_class: int) -> VectorNode | None:
        """Bundles are no sums."""
        return None

    def sizes(self, node_class: int) -> VectorNode:
        """What units take of a node, and as the last dimension the devices that they have for themselves."""
        question = self._questions[node_class]
        problems = [unit.problem for unit in question.units]
        devices = {device for one in problems for demand in one.demands for device in demand.candidates}
        left = len(devices.difference(question.in_use.dedicated, *(one.shared for one in problems)))
        needs = {unit.index: (*unit.needs, _own_devices(unit.problem)) for unit in question.units}
        return VectorNode((*question.left, left), needs, {})

    def fillings(self, _node_class: int, _limits_by_class: Sequence[int]) -> None:
        """There are neither graphs nor lists of bundles."""

    def filled(self, node_class: int, counts: Sequence[tuple[int, int]]) -> Column:
        """No graph has a path."""
        raise NotImplementedError


def _own_devices(problem: Problem) -> int:
    """How many devices one unit has at least for itself."""
    found = 0
    for request in (request for claim in problem.claims for request in claim.requests):
        demands = [problem.demands[number] for number in request.demands]
        open_ended = (one.admin or one.all_devices or problem.shared.intersection(one.candidates) for one in demands)
        found += min((0 if is_open else one.count for one, is_open in zip(demands, open_ended, strict=True)), default=0)
    return found


@dataclass(frozen=True, slots=True)
class _ModelVersion:
    """The parts of a model: admin access or not, which measures, and whether units without measures have copies."""

    relaxed: bool
    measures: tuple[int, ...]
    unmeasured: bool


class _NodeModels:
    """A node class: its question and, once they are needed, its models."""

    def __init__(self, question: BundleQuestion) -> None:
        self.question = question
        self._alone = most_copies_alone(question)
        self._relaxed = without_admin_access(question)
        self._light = cheap_measures(question)
        self._models: dict[_ModelVersion, BundleModel] = {}

    def best(self, worth: BundlePrices, most: Sequence[int], limits: PricingLimits) -> BestBundle:
        """Find the most valuable bundle, and a bound that holds in any case."""
        most = [min(limit, alone) for limit, alone in zip(most, self._alone, strict=True)]
        if not any(self._units_among(most)):
            return BestBundle(None, 0)
        counted = worth_bound(self.question, [max(0, price) for price in worth.units], most)
        # What meters and measures pay for on top is not bounded by counting.
        bounds = [] if worth.pays else [counted]
        best = self._asked(worth, most, limits, relaxed=False)
        if self._relaxed is not None:
            best = BestBundle(best.bundle, self._asked(worth, most, limits, relaxed=True).bound)
        bounds += [] if best.bound is None else [best.bound]
        return BestBundle(best.bundle, min(bounds, default=None))

    def listed(
        self, worth: BundlePrices, most: Sequence[int], least: int, limits: PricingLimits
    ) -> list[Bundle] | None:
        """List all bundles of some worth, but for those that others cover; None if that is too much to ask."""
        if self._relaxed is not None or worth.pays:
            return None
        own = [min(limit, alone) for limit, alone in zip(most, self._alone, strict=True)]
        if not any(self._units_among(own)) or not any(price > 0 for price in worth.units):
            return []
        try:
            # What is listed is forbidden, so that this model is of no further use.
            model = self._made(self._version(worth, relaxed=False), limits.deadline)
            return _enumerate_bundles(model, self.question, worth, own, least, _solver_limits(limits))
        except (CoefficientError, EncodingError, DeadlineExceededError):
            return None

    def _units_among(self, most: Sequence[int]) -> list[int]:
        """Leave out the claims, which are there for units only."""
        return [limit for limit, unit in zip(most, self.question.units, strict=True) if not unit.provides]

    def _asked(self, worth: BundlePrices, most: Sequence[int], limits: PricingLimits, *, relaxed: bool) -> BestBundle:
        if relaxed and any(price > 0 for price in worth.usage[len(self.question.meters) :]):
            # A bundle without admin access may cost less, so that it is no bound.
            return BestBundle(None, None)
        # With many node classes those that are left would take long to model.
        if is_past(limits.deadline):
            return BestBundle(None, None)
        try:
            model = self._model(self._version(worth, relaxed), limits.deadline)
            return model.best(worth, most, _solve_with_retry, _solver_limits(limits))
        except (CoefficientError, EncodingError, DeadlineExceededError):
            return BestBundle(None, None)

    def _version(self, worth: BundlePrices, relaxed: bool) -> _ModelVersion:
        """What is worth nothing is left out of the model: that is far quicker.

        Of measures that make little difference there are all or none, so that there are few models.
        """
        first, units = len(self.question.meters), self.question.units
        measures = {number - first for number in worth.priced if number >= first}
        if not self._light.isdisjoint(measures):
            measures |= self._light
        unmeasured = any(price > 0 for price, unit in zip(worth.units, units, strict=True) if not unit.measured)
        return _ModelVersion(relaxed, tuple(sorted(measures)), worth.pays or unmeasured)

    def _model(self, version: _ModelVersion, deadline: float | None) -> BundleModel:
        model = self._models.get(version)
        if model is None or model.learns:
            model = self._models[version] = self._made(version, deadline)
        return model

    def _made(self, version: _ModelVersion, deadline: float | None) -> BundleModel:
        question = self._relaxed if version.relaxed and self._relaxed else self.question
        pairs = zip(question.units, self._alone, strict=True)
        most = [alone if unit.measured or version.unmeasured else 0 for unit, alone in pairs]
        return BundleModel(question, most, deadline, version.measures)


def _solver_limits(limits: PricingLimits) -> Limits:
    work = _PRICING_WORK[limits.effort]
    return Limits(limits.deadline, work if limits.work is None else min(work, limits.work * _WORK_STEP))


def _solve_with_retry(rows: CpSatRows, limits: Limits) -> SolveResult:
    """Solve in the way that is nearly always enough, and then in one that breaks symmetries."""
    work = _PRICING_WORK[Effort.THOROUGH] if limits.work is None else limits.work
    found = run_solver(rows, replace(limits, work=min(work, _EASY_WORK)), PRICING)
    if found.status in (SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE) or work <= _EASY_WORK:
        return found
    if found.values:
        rows.hint(dict(enumerate(found.values)))
    more = run_solver(rows, replace(limits, work=work - found.work), SYMMETRY_BREAKING)
    rows.hint({})
    return _merged_result(found, more)


def _merged_result(easy: SolveResult, thorough: SolveResult) -> SolveResult:
    """Put two runs together: the better bundle, and the tighter bound."""
    found = [one for one in (easy, thorough) if one.values]
    if not found:
        return thorough
    best = min(found, key=lambda one: one.objective)
    status = thorough.status if thorough.values else easy.status
    return replace(best, status=status, bound=max(one.bound for one in found), work=easy.work + thorough.work)


def _bundle_column(node_class: int, question: BundleQuestion, bundle: Bundle) -> Column:
    pairs = zip(question.units, bundle.counts, strict=True)
    counts = tuple((unit.index, count) for unit, count in pairs if count and not unit.provides)
    return Column(node_class, counts, question.usage(bundle), bundle)


Candidates = Sequence[tuple[int, ...]]


def most_copies_alone(question: BundleQuestion) -> tuple[int, ...]:
    """Bound the number of copies of each unit class; never too low."""
    return tuple(min([unit.most, *_copy_bounds(question, unit)]) for unit in question.units)


def worth_bound(question: BundleQuestion, worth: Sequence[int], most: Sequence[int]) -> int:
    """Bound what a bundle of at most so many copies is worth, without its devices: never too low."""
    bounds = [sum(one * limit for one, limit in zip(worth, most, strict=True))]
    for resource, free in enumerate(question.left):
        needs = [unit.needs[resource] for unit in question.units]
        bounds.append(_fractional_knapsack(max(0, free), list(zip(worth, needs, most, strict=True))))
    return min(bounds)


def _fractional_knapsack(free: int, items: Sequence[tuple[int, int, int]]) -> int:
    """Fill up by worth for each piece, the last item in part (Dantzig, 1957)."""
    total = sum(worth * most for worth, need, most in items if need <= 0)
    paid = sorted((item for item in items if item[1] > 0), key=lambda item: Fraction(-item[0], item[1]))
    for worth, need, most in paid:
        taken = min(most * need, free)
        total += -(-worth * taken // need)
        free -= taken
    return total


def _copy_bounds(question: BundleQuestion, unit: BundleUnit) -> Iterator[int]:
    yield from (max(0, free) // need for free, need in zip(question.left, unit.needs, strict=True) if need > 0)
    problem, candidates = unit.problem, usable_devices(unit.problem, question.in_use)
    requests = [request for claim in problem.claims for request in claim.requests]
    for request in requests:
        yield from _device_bounds(problem, question.in_use, request, candidates)
    yield from _all_devices_bound(problem, requests, candidates)
    yield from _counter_bounds(problem, question.in_use, requests, candidates)


def _device_bounds(problem: Problem, in_use: InUse, request: Request, candidates: Candidates) -> Iterator[int]:
    """Each copy of a request takes as many of its devices as it counts; yields nothing if there is no end to them."""
    total = 0
    for number in request.demands:
        demand, own = problem.demands[number], candidates[number]
        if not demand.count or len(own) < demand.count:
            continue
        rooms = [_device_takes(problem, in_use, demand, device) for device in own]
        if None in rooms:
            return
        total += sum(room for room in rooms if room) // demand.count
    yield total


def _device_takes(problem: Problem, in_use: InUse, demand: Demand, device: int) -> int | None:
    """How often a demand could take a device; None: without limit."""
    if demand.admin:
        return None
    if device not in problem.shared:
        return 1
    totals, used = problem.capacities.totals, in_use.consumed
    drawn = ((row, amount) for row, amount in demand.amounts.get(device, ()) if amount > 0)
    return min(((totals[row] - used.get(row, 0)) // amount for row, amount in drawn), default=None)


def _all_devices_bound(problem: Problem, requests: Sequence[Request], candidates: Candidates) -> Iterator[int]:
    """All requests of a copy together take devices that nobody else gets."""
    demands = [problem.demands[number] for request in requests for number in request.demands]
    devices = {device for demand in demands for device in candidates[demand.index]}
    counts = ([problem.demands[number].count for number in request.demands] for request in requests)
    taken = sum(min(own, default=0) for own in counts)
    if taken and devices.isdisjoint(problem.shared) and not any(demand.admin for demand in demands):
        yield len(devices) // taken


def _counter_bounds(
    problem: Problem, in_use: InUse, requests: Sequence[Request], candidates: Candidates
) -> Iterator[int]:
    """Each copy draws of a counter at least what the most modest choice of its requests does."""
    giving, drawn = pools_with_negative_draws(problem), Counter[int]()
    for request in requests:
        demands = [problem.demands[number] for number in request.demands if candidates[number]]
        drawn.update(_common_draws([_least_draws(problem, in_use, one, candidates[one.index]) for one in demands]))
    for row, amount in drawn.items():
        if amount > 0 and problem.counters.pool_of_row[row] not in giving:
            yield max(0, in_use.available[row]) // amount


def _least_draws(problem: Problem, in_use: InUse, demand: Demand, devices: Iterable[int]) -> dict[int, int]:
    """The least amount that a demand draws of each counter, whichever devices it takes."""
    if demand.admin:
        # Once a copy is allocated, that draws nothing any more (IN-3).
        return {}
    draws = _common_draws(_sure_draws(problem, in_use, device) for device in devices)
    return {row: amount * demand.count for row, amount in draws.items()}


def _sure_draws(problem: Problem, in_use: InUse, device: int) -> dict[int, int]:
    """The amounts that each taker of a device surely draws; of a shareable device only the first draws (CTR-3)."""
    if device in problem.shared or not draws_counters(problem, in_use, device):
        return {}
    return dict(problem.counters.consumption.get(device, ()))


def _common_draws(draws: Iterable[dict[int, int]]) -> dict[int, int]:
    """Keep the rows that all draw from, with the least amount."""
    found: dict[int, int] | None = None
    for own in draws:
        kept = own.keys() if found is None else found.keys() & own.keys()
        found = {row: own[row] if found is None else min(found[row], own[row]) for row in kept}
        if not found:
            return {}
    return found or {}


def _enumerate_bundles(
    model: BundleModel, question: BundleQuestion, worth: BundlePrices, most: Sequence[int], least: int, limits: Limits
) -> list[Bundle] | None:
    """List the bundles worth ``least`` or more, the most valuable first; None if there are too many.

    Each takes more of some unit than every one before it, or uses less of some meter or measure with a price, which
    must be below zero. ``question`` is the one whose measures have numbers in ``worth``. The model cannot be asked
    anything else afterwards. Raises ``CoefficientError``.
    """
    rows, further = model.allocation.rows, _DifferenceLiterals(model, worth)
    solve = partial(_solve_with_retry, rows)
    rows.at_most(model.value(worth), -least)
    found: list[Bundle] = []
    while True:
        model.set_objective(worth, most)
        more = solve_with_lazy_constraints(model.allocation, solve, limits, Counts(), hints=False)
        if more.status is SolverStatus.INFEASIBLE:
            return found
        if more.status is not SolverStatus.OPTIMAL or len(found) == _MOST_LISTED_BUNDLES:
            return None
        found.append(model.bundle(more.values))
        rows.clause([*further.than(found[-1].counts, dict(question.usage(found[-1])))])
        if limits.work is not None:
            limits = replace(limits, work=max(0.0, limits.work - more.work))


class _DifferenceLiterals:
    """Literals for what a bundle has that another one has not."""

    def __init__(self, model: BundleModel, worth: BundlePrices) -> None:
        self._most = model.most
        self._priced = worth.priced
        self._claims = [unit.provides is not None for unit in model.question.units]
        placed = [[(variable, 1)] for variable in model.allocation.units.placed]
        self._order = OrderLiterals(model.allocation.rows, [*placed, *map(model.usage, worth.priced)])

    def than(self, counts: Sequence[int], usage: Mapping[int, int]) -> Iterator[int]:
        """Yield those that say what a bundle has more of, or uses less of."""
        for item, (count, most) in enumerate(zip(counts, self._most, strict=True)):
            if count < most and not self._claims[item]:
                yield self._order.at_least(item, count + 1)
        for item, number in enumerate(self._priced, start=len(counts)):
            if usage.get(number):
                yield ~self._order.at_least(item, usage[number])

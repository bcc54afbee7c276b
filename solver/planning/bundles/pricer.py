"""The pricer of nodes whose devices need more than a sum: each node class is a model, asked at ever new prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ....encoders.model import RoadError
from ....encoders.rows import CoefficientError, Rows
from ....problem.outcomes import DeadlineExceededError
from ...cp_sat_run import Configuration, Found, Limits, Status, run
from ..instance import Column
from ..pricing import Effort, Priced, Prices, PricingLimits
from .admin import without_admin_access
from .alone import most_alone, worth_at_most
from .listing import listed
from .measures import light
from .model import Best, BundleModel, Worth
from .question import Bundle, BundleQuestion
from .reduction import reduced

# Nearly always the linear relaxation and branching are all it takes: to presolve takes as long as to solve, and cuts
# take longer (measured with 6 units on nodes of 12 devices and of 112 partitions).
PRICING = Configuration(presolve=False, probing=0, symmetry=0, linearization=2, cuts=False, inprocessing=False)
# What is left has equal copies that cannot be merged.
STUBBORN = Configuration(probing=0, symmetry=2, linearization=2)

# Deterministic units, of which a slow machine does about one in a second.
_EASY_WORK = 0.2
_WORK = {Effort.QUICK: _EASY_WORK, Effort.THOROUGH: 5.0}
# Columns of a node class that are listed one by one, each by a run of the solver.
_LISTED = 200
_STEP = 1e-3
"""What a step of ``PricingLimits.work`` is."""


class BundlePricer:
    """Prices the bundles of node classes; ``questions`` says by number what a class is. A ``Pricer`` of the master's.

    Models are made when they are first needed, and stay behind when the pricer is sent to another process. A step of
    work is a thousandth of a deterministic unit of CP-SAT.
    """

    def __init__(self, questions: Mapping[int, BundleQuestion]) -> None:
        self._questions = questions
        self._nodes: dict[int, _Node] = {}

    def enumerate(
        self, node_class: int, prices: Prices, most: Sequence[int], least: int, limits: PricingLimits
    ) -> tuple[Column, ...] | None:
        """Return all columns of some worth, but for those that others cover and for units that are worth nothing.

        None if they are too many, or cannot all be found. Use of meters and measures without a price is not compared.
        """
        node, worth, own = self._asked(node_class, prices, most)
        found = node.listed(worth, own, least, limits)
        if found is None:
            return None
        return tuple(_column(node_class, node.question, bundle) for bundle in found if any(bundle.counts))

    def _asked(self, node_class: int, prices: Prices, most: Sequence[int]) -> tuple[_Node, Worth, list[int]]:
        """Find a node class, and pick what concerns its units."""
        node = self._nodes.get(node_class)
        if node is None:
            node = self._nodes[node_class] = _Node(self._questions[node_class])
        indices = [unit.index for unit in node.question.units]
        # A node without meters and measures need not say so for each of them.
        usage = prices.meters[: len(node.question.meters) + len(node.question.measures)]
        worth = Worth(tuple(prices.units[index] for index in indices), usage)
        return node, worth, [most[index] for index in indices]

    def __reduce__(self) -> tuple[object, ...]:
        return BundlePricer, (self._questions,)

    def price(self, node_class: int, prices: Prices, most: Sequence[int], limits: PricingLimits) -> Priced:
        """Find the most valuable column that takes at most so many units of each class, and a bound."""
        node, worth, own = self._asked(node_class, prices, most)
        best = node.best(worth, own, limits)
        columns = () if best.bundle is None else (_column(node_class, node.question, best.bundle),)
        return Priced(tuple(column for column in columns if prices.value(column) > 0), best.bound)

    def reduced(self, column: Column, counts: Mapping[int, int]) -> Column:
        """Take copies out of a column until it has so many units of each class; those that cost most go first."""
        question = self._questions[column.node_class]
        bundle = reduced(question, column.payload, [counts.get(unit.index, 0) for unit in question.units])
        return _column(column.node_class, question, bundle)


@dataclass(frozen=True, slots=True)
class _Version:
    """What a model knows: admin access or not, which measures, and whether units that these do not see have copies."""

    relaxed: bool
    measures: tuple[int, ...]
    unmeasured: bool


class _Node:
    """A node class: its question and, once they are needed, its models."""

    def __init__(self, question: BundleQuestion) -> None:
        self.question = question
        self._alone = most_alone(question)
        self._relaxed = without_admin_access(question)
        self._light = light(question)
        self._models: dict[_Version, BundleModel] = {}

    def best(self, worth: Worth, most: Sequence[int], limits: PricingLimits) -> Best:
        """Find the most valuable bundle, and a bound that holds in any case."""
        most = [min(limit, alone) for limit, alone in zip(most, self._alone, strict=True)]
        if not any(most):
            return Best(None, 0)
        counted = worth_at_most(self.question, [max(0, price) for price in worth.units], most)
        # What meters and measures pay for on top is not bounded by counting.
        bounds = [] if worth.pays else [counted]
        best = self._asked(worth, most, limits, relaxed=False)
        if self._relaxed is not None:
            best = Best(best.bundle, self._asked(worth, most, limits, relaxed=True).bound)
        bounds += [] if best.bound is None else [best.bound]
        return Best(best.bundle, min(bounds, default=None))

    def listed(self, worth: Worth, most: Sequence[int], least: int, limits: PricingLimits) -> list[Bundle] | None:
        """List all bundles of some worth, but for those that others cover; None if that is too much to ask."""
        if self._relaxed is not None or worth.pays:
            return None
        own = [min(limit, alone) for limit, alone in zip(most, self._alone, strict=True)]
        if not any(own) or not any(price > 0 for price in worth.units):
            return []
        try:
            # What is listed is forbidden, so that this model is of no further use.
            model = self._made(self._version(worth, relaxed=False), limits.deadline)
            return listed(model, self.question, worth, own, least, _solve, _limits(limits), _LISTED)
        except (CoefficientError, RoadError, DeadlineExceededError):
            return None

    def _asked(self, worth: Worth, most: Sequence[int], limits: PricingLimits, *, relaxed: bool) -> Best:
        if relaxed and any(price > 0 for price in worth.usage[len(self.question.meters) :]):
            # A bundle without admin access may cost less, so that it is no bound.
            return Best(None, None)
        try:
            model = self._model(self._version(worth, relaxed), limits.deadline)
            return model.best(worth, most, _solve, _limits(limits))
        except (CoefficientError, RoadError, DeadlineExceededError):
            return Best(None, None)

    def _version(self, worth: Worth, relaxed: bool) -> _Version:
        """What is worth nothing is left out of the model: that is far quicker.

        Of measures that make little difference there are all or none, so that there are few models.
        """
        first, units = len(self.question.meters), self.question.units
        measures = {number - first for number in worth.priced if number >= first}
        if not self._light.isdisjoint(measures):
            measures |= self._light
        unmeasured = any(price > 0 for price, unit in zip(worth.units, units, strict=True) if not unit.measured)
        return _Version(relaxed, tuple(sorted(measures)), worth.pays or unmeasured)

    def _model(self, version: _Version, deadline: float | None) -> BundleModel:
        model = self._models.get(version)
        if model is None or model.learns:
            model = self._models[version] = self._made(version, deadline)
        return model

    def _made(self, version: _Version, deadline: float | None) -> BundleModel:
        question = self._relaxed if version.relaxed and self._relaxed else self.question
        pairs = zip(question.units, self._alone, strict=True)
        most = [alone if unit.measured or version.unmeasured else 0 for unit, alone in pairs]
        return BundleModel(question, most, deadline, version.measures)


def _limits(limits: PricingLimits) -> Limits:
    work = _WORK[limits.effort]
    return Limits(limits.deadline, work if limits.work is None else min(work, limits.work * _STEP))


def _solve(rows: Rows, limits: Limits) -> Found:
    """Solve in the way that is nearly always enough, and then in one that breaks symmetries."""
    work = _WORK[Effort.THOROUGH] if limits.work is None else limits.work
    found = run(rows, replace(limits, work=min(work, _EASY_WORK)), PRICING)
    if found.status in (Status.OPTIMAL, Status.INFEASIBLE) or work <= _EASY_WORK:
        return found
    if found.values:
        rows.hint(dict(enumerate(found.values)))
    more = run(rows, replace(limits, work=work - found.work), STUBBORN)
    rows.hint({})
    return _better(found, more)


def _better(easy: Found, thorough: Found) -> Found:
    """Put two runs together: the better bundle, and the tighter bound."""
    found = [one for one in (easy, thorough) if one.values]
    if not found:
        return thorough
    best = min(found, key=lambda one: one.objective)
    work = easy.work + thorough.work
    return replace(
        best,
        status=thorough.status if thorough.values else easy.status,
        bound=max(one.bound for one in found),
        work=work,
    )


def _column(node_class: int, question: BundleQuestion, bundle: Bundle) -> Column:
    counts = tuple((unit.index, count) for unit, count in zip(question.units, bundle.counts, strict=True) if count)
    return Column(node_class, counts, question.usage(bundle), bundle)

"""Column generation: the master's duals go to the pricer, its columns come back, and each round proves a bound.

Duals are smoothed: prices lie between the ones that proved the best bound and those of the last solution. Rounds,
tolerance and pricing work end it; the clock does so for safety only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from math import gcd

from .duals import Duals, Pricing, duals_of
from .instance import Instance, Stage, Terms
from .limits import is_past
from .master import Master, Relaxation
from .pricing import Effort, Priced, Pricer, PricingLimits

# How much of the last duals is in the prices.
_CURRENT = 0.25
# A column whose worth exceeds its node's by less, relative to the stage's value, changes nothing.
_NOTICED = 1e-9


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent on one run: rounds, and the clock; ``tolerance`` is relative, of value against bound."""

    rounds: int
    tolerance: float
    deadline: float | None = None
    thorough: bool = True

    def is_over(self) -> bool:
        """Whether the clock ends it."""
        return is_past(self.deadline)


@dataclass(frozen=True, slots=True)
class Generated:
    """The last relaxation, the best bound in 1 / ``scale`` (None for none), and the rounds it took."""

    relaxation: Relaxation | None
    bound: int | None
    scale: int
    rounds: int

    def rounded(self, instance: Instance, stage: Stage) -> int | None:
        """The bound as the next value that a plan can have."""
        if self.bound is None:
            return None
        step = step_of(instance, stage.terms)
        sign = 1 if stage.maximise else -1
        return sign * (self.bound // (self.scale * step)) * step


def step_of(instance: Instance, terms: Terms) -> int:
    """What the values of all plans are multiples of."""
    return gcd(*_steps(instance, terms)) or 1


def _steps(instance: Instance, terms: Terms) -> Iterator[int]:
    # There are units that only gangs ask for.
    yield from terms.usage.values()
    yield from (terms.units.get(unit.index, 0) for unit in instance.units if unit.demand)
    yield from (terms.gangs.get(index, 0) for index, gang in enumerate(instance.gangs) if gang.demand)
    yield from (terms.nodes.get(node.index, 0) for node in instance.nodes if node.count)


class GenerationInterrupted(KeyboardInterrupt):
    """Ctrl-C while columns are generated; ``generated`` is what was known by then."""

    def __init__(self, generated: Generated) -> None:
        super().__init__()
        self.generated = generated


Watch = Callable[[float, float | None], None]
"""Called after each round with the value of the relaxation and its bound."""


class Generator:
    """Generates columns for a master, stage by stage."""

    def __init__(self, instance: Instance, master: Master, pricer: Pricer, executor: Executor | None = None) -> None:
        self._instance = instance
        self._master = master
        self._pricer = pricer
        self._executor = executor

    def run(
        self,
        stage: Stage,
        budget: Budget,
        most: Sequence[int],
        classes: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> Generated:
        """Generate columns of these node classes (None for all) that take at most so many units.

        Bounds hold if all classes are asked for, and nothing in the master is restricted. Raises
        ``GenerationInterrupted``.
        """
        asked = range(len(self._instance.nodes)) if classes is None else classes
        run = _Run(self, stage, budget, most, asked)
        try:
            run.to_the_end(watch)
        except KeyboardInterrupt:
            raise GenerationInterrupted(run.known()) from None
        return run.known()

    def price(
        self, prices: Pricing, classes: Sequence[int], most: Sequence[int], limits: PricingLimits
    ) -> list[Priced]:
        """Price node classes, at once where there is an executor; answers are in the order of the classes."""
        asked = [(node_class, prices.prices, tuple(most), limits) for node_class in classes]
        if self._executor is None:
            return [self._pricer.price(*one) for one in asked]
        futures = [self._executor.submit(self._pricer.price, *one) for one in asked]
        return [future.result() for future in futures]

    @property
    def pricer(self) -> Pricer:
        """Who finds columns."""
        return self._pricer

    @property
    def instance(self) -> Instance:
        """What is planned."""
        return self._instance

    @property
    def master(self) -> Master:
        """Where columns go."""
        return self._master


class _Run:
    def __init__(
        self, generator: Generator, stage: Stage, budget: Budget, most: Sequence[int], classes: Sequence[int]
    ) -> None:
        self._generator = generator
        self._master = generator.master
        self._stage = stage
        self._budget = budget
        self._most = most
        self._classes = classes
        self._center: Duals | None = None
        self._bound: int | None = None
        self._effort = Effort.QUICK
        self._smooth = True
        self._relaxation: Relaxation | None = None
        self._scale = 1
        self._rounds = 0

    def known(self) -> Generated:
        """What is known by now."""
        return Generated(self._relaxation, self._bound, self._scale, self._rounds)

    def to_the_end(self, watch: Watch | None) -> None:
        relaxation = self._relaxed()
        while relaxation is not None and self._rounds < self._budget.rounds and not self._budget.is_over():
            self._rounds += 1
            pricing, is_smoothed = self._pricing(relaxation)
            self._scale = pricing.scale
            is_new = self._round(pricing, relaxation)
            if watch:
                watch(relaxation.value, self._bound and self._bound / self._scale)
            if is_new:
                self._smooth = True
                relaxation = self._relaxed()
            if self._is_closed(relaxation) or not (is_new or self._tries_harder(is_smoothed)):
                break

    def _relaxed(self) -> Relaxation | None:
        """Solve; the last relaxation that could be solved is kept."""
        found = self._master.solve(self._budget.deadline)
        self._relaxation = found or self._relaxation
        return found

    def _pricing(self, relaxation: Relaxation) -> tuple[Pricing, bool]:
        current = duals_of(relaxation)
        is_smoothed = self._smooth and self._center is not None
        duals = self._center.mixed(current, _CURRENT) if is_smoothed and self._center else current
        self._tried = duals
        return Pricing(self._generator.instance, self._stage, self._master.rows, duals), is_smoothed

    def _round(self, pricing: Pricing, relaxation: Relaxation) -> bool:
        """Price once; tell whether a column is new that the relaxation would take."""
        limits = PricingLimits(self._effort, deadline=self._budget.deadline)
        priced = self._generator.price(pricing, self._classes, self._most, limits)
        bound = (
            pricing.bound([one.bound for one in priced]) if len(priced) == len(self._generator.instance.nodes) else None
        )
        if bound is not None and (self._bound is None or bound < self._bound):
            self._bound, self._center = bound, self._tried
        exact = Pricing(self._generator.instance, self._stage, self._master.rows, duals_of(relaxation))
        least = _NOTICED * max(1.0, abs(relaxation.value)) * exact.scale
        is_new = False
        for one in priced:
            for column in one.columns:
                worth = exact.prices.value(column) + exact.constant(column.node_class)
                if worth > relaxation.nodes[column.node_class] * exact.scale + least:
                    is_new |= self._master.add(column)
        return is_new

    def _tries_harder(self, was_smoothed: bool) -> bool:
        """After a round in vain: first at the duals themselves, then with more effort; False if that was it."""
        if was_smoothed:
            self._smooth = False
            return True
        if self._effort is Effort.QUICK and self._budget.thorough:
            self._effort = Effort.THOROUGH
            self._smooth = True
            return True
        return False

    def _is_closed(self, relaxation: Relaxation | None) -> bool:
        if self._bound is None or relaxation is None:
            return False
        value = relaxation.value if self._stage.maximise else -relaxation.value
        return self._bound / self._scale - value <= self._budget.tolerance * max(1.0, abs(value))

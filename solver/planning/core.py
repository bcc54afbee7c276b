"""Plans by column generation: stage after stage, each with its value, a bound, and whether the gap is closed.

A stage starts from the plan of the one before, which keeps what earlier stages reached. Its relaxation is solved by
generating columns, a plan in whole numbers is made from it, and improved until it is close enough to the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from math import inf

from ..cp_sat_run import Limits
from .completion import complete
from .counting import counted
from .dive import Dive
from .duals import Pricing, duals_of
from .filling import fill, filling_ends
from .gang_filling import fill_for_gangs
from .generation import Budget, Generated, GenerationInterrupted, Generator
from .implied import implied_bound
from .instance import Column, Instance, Row, Stage
from .integer_master import Choice, choose
from .limits import PlanCore, PlanLimits, StageResult, is_close
from .master import Master
from .neighbourhood import Improvement
from .plan import Plan, empty_plan
from .pricing import Pricer, Prices

# CP-SAT closes the master itself while it has no more columns than this.
_FEW_COLUMNS = 200
_FEW_WORK = 5.0
# With more unit classes, their demand does not limit columns; more of one class than so many hardly fit a node.
_FEW_UNITS = 40
_MANY = 128
# Rounds of pricing for what a dive has left, and for a few nodes that are emptied.
_DIVE_ROUNDS = 6
# What CP-SAT may spend on making the most of a plan to start from, and of the columns at the end of a dive.
_STARTING_WORK = 0.5
_SETTLING_WORK = 2.0
# The relaxation is solved to this part of the gap that is asked for.
_PART_OF_GAP = 0.2
# Whole plans that are filled greedily at the duals, while each raises the relaxation by so much: their columns go
# together, which those of single pricings do not, and save most of the rounds.
_FILLS = 8
_RAISED = 0.0005


Watch = Callable[[str, int, float | None], None]
"""Called with a stage's name, its value so far, and its bound if there is one."""


def solve(
    instance: Instance,
    stages: Sequence[Stage],
    pricer: Pricer,
    *,
    start: Iterable[Column] = (),
    limits: PlanLimits | None = None,
    executor: Executor | None = None,
    watch: Watch | None = None,
) -> PlanCore:
    """Plan by lexicographic stages. ``start`` are columns that are known already, such as those of greedy plans.

    Equal questions have equal plans, with any executor, unless the clock ends them.
    """
    run = _Core(instance, pricer, limits or PlanLimits(), executor, watch)
    for column in start:
        run.master.add(column)
    try:
        for stage in stages:
            run.stage(stage)
    except KeyboardInterrupt:
        return run.result(interrupted=True)
    return run.result()


class _Core:
    def __init__(
        self, instance: Instance, pricer: Pricer, limits: PlanLimits, executor: Executor | None, watch: Watch | None
    ) -> None:
        self.master = Master(instance)
        self._instance = instance
        self._generator = Generator(instance, self.master, pricer, executor)
        self._limits = limits
        self._watch = watch
        self._plan = empty_plan(instance)
        self._results: list[StageResult] = []
        self._reached: list[tuple[Stage, int | None]] = []

    def result(self, interrupted: bool = False) -> PlanCore:
        """What there is by now."""
        return PlanCore(self._plan, tuple(self._results), len(self.master.columns), interrupted)

    def stage(self, stage: Stage) -> None:
        """Reach one goal, and keep it from now on."""
        implied = implied_bound(stage, self._reached)
        self._reach(stage) if implied is None else self._know(stage, implied)
        self._reached.append((stage, self._results[-1].bound))

    def _know(self, stage: Stage, bound: int) -> None:
        """A goal of which the stages before say all that there is to say."""
        self._results.append(StageResult(stage.name, 0, None, proven=False, rounds=0))
        self._note(stage, bound, 0)

    def _reach(self, stage: Stage) -> None:
        self.master.aim(stage)
        unproven = StageResult(stage.name, self._plan.value(stage.terms), None, proven=False, rounds=0)
        self._results.append(unproven)
        self._start(stage)
        self._note(stage, None, 0)
        deadline, tolerance = self._limits.deadline, self._limits.gap * _PART_OF_GAP
        budget = Budget(self._limits.rounds, tolerance, deadline)
        generated = self._generated(stage, budget)
        bound = generated.rounded(self._instance, stage)
        if not self._is_close(stage, bound):
            bound = self._integers(stage, generated, bound)
        self._note(stage, bound, generated.rounds)
        value = self._plan.value(stage.terms)
        reached = Row(stage.terms, lower=value) if stage.maximise else Row(stage.terms, upper=value)
        self.master.add_row(reached)

    def _generated(self, stage: Stage, budget: Budget) -> Generated:
        """Generate columns; the bound is noted in any case."""
        try:
            generated = self._generator.run(stage, budget, self._most(), watch=self._told(stage))
        except GenerationInterrupted as interrupted:
            self._note(stage, interrupted.generated.rounded(self._instance, stage), interrupted.generated.rounds)
            raise
        self._note(stage, generated.rounded(self._instance, stage), generated.rounds)
        return generated

    def _most(self) -> tuple[int, ...]:
        """What a column may take. With many unit classes the node alone limits it: then one replaces another.

        That is far quicker, and bounds are hardly worse: such a column may still be taken by a part of a node.
        """
        most = self._instance.most()
        return most if len(most) <= _FEW_UNITS else tuple(max(asked, _MANY) if asked else 0 for asked in most)

    def _start(self, stage: Stage) -> None:
        """Fill the nodes greedily where a stage is about units and nothing is placed yet."""
        if self._plan.columns or not stage.maximise:
            return
        worth = [max(0, stage.terms.units.get(index, 0)) for index in range(len(self._instance.units))]
        for index, gang in enumerate(self._instance.gangs):
            size = sum(number for _, number in gang.members) or 1
            for unit, _ in gang.members:
                worth[unit] = max(worth[unit], stage.terms.gangs.get(index, 0) // size)
        deadline = filling_ends(self._limits.deadline)
        prices = Prices(tuple(worth), (0,) * self._instance.meters)
        self._take(stage, fill(self._generator, prices, deadline), work=_STARTING_WORK)
        self._fill_at_duals(stage, deadline)

    def _fill_at_duals(self, stage: Stage, deadline: float | None) -> None:
        before = -inf
        for _ in range(_FILLS):
            relaxation = self.master.solve(deadline)
            if relaxation is None or relaxation.value - before <= _RAISED * abs(relaxation.value):
                break
            before = relaxation.value
            pricing = Pricing(self._instance, stage, self.master.rows, duals_of(relaxation))
            for column, _ in fill(self._generator, pricing.prices, deadline):
                self.master.add(column)

    def _take(
        self,
        stage: Stage,
        columns: Iterable[tuple[Column, int]],
        bound: int | None = None,
        work: float = _SETTLING_WORK,
    ) -> None:
        """Take the best plan that these columns allow, with those of the plan at hand, if it is better."""
        found: list[tuple[Column, int]] = []
        try:
            found.extend(columns)
        finally:
            self._count(stage, (*found, *self._plan.columns))
        counts: dict[Column, int] = {}
        for column, number in (*found, *self._plan.columns):
            self.master.add(column)
            counts[column] = counts.get(column, 0) + number
        if not self._is_close(stage, bound):
            self._choose(stage, [Choice(column, 0, most) for column, most in counts.items()], work)

    def _count(self, stage: Stage, columns: Sequence[tuple[Column, int]]) -> None:
        """Take what these columns have room for, if it is better: at once, even where time is over."""
        plan = counted(self._instance, [*(reached for reached, _ in self._reached), stage], columns)
        if plan.is_feasible(self._instance, self.master.rows):
            self._keep_better(stage, plan)

    def _choose(self, stage: Stage, choices: Sequence[Choice], work: float) -> None:
        limits = Limits(deadline=self._limits.deadline, work=work)
        self._keep_better(stage, choose(self._instance, self.master.rows, stage, choices, self._plan, limits).plan)

    def _choose_from_all(self, stage: Stage) -> None:
        counts = {node.index: node.count for node in self._instance.nodes}
        choices = [Choice(column, 0, counts[column.node_class]) for column in self.master.columns]
        self._choose(stage, choices, _FEW_WORK)

    def _keep_better(self, stage: Stage, plan: Plan | None) -> None:
        sign = 1 if stage.maximise else -1
        if plan and sign * plan.value(stage.terms) > sign * self._plan.value(stage.terms):
            self._plan = plan

    def _integers(self, stage: Stage, generated: Generated, bound: int | None) -> int | None:
        """Come close to the bound with whole numbers; return the bound, which may have become better."""
        relaxation = generated.relaxation
        if relaxation is None:
            return bound
        if len(self.master.columns) <= _FEW_COLUMNS:
            self._choose_from_all(stage)
        part = Budget(_DIVE_ROUNDS, 0.0, self._limits.deadline, thorough=False)
        if self._instance.gangs and not self._is_close(stage, bound):
            self._take(stage, fill_for_gangs(self._generator, stage, relaxation, part.deadline), bound)
            self._note(stage, bound, generated.rounds)
        if not self._is_close(stage, bound):
            self._take(stage, Dive(self._generator, stage, part).run(relaxation), bound)
            self._note(stage, bound, generated.rounds)
        if not self._is_close(stage, bound):
            for plan in Improvement(self._generator, stage, relaxation, part).plans(self._plan):
                self._plan = plan
                if self._is_close(stage, bound):
                    break
            self._note(stage, bound, generated.rounds)
        if not self._is_close(stage, bound) and len(self.master.columns) <= _FEW_COLUMNS:
            self._choose_from_all(stage)
            self._note(stage, bound, generated.rounds)
        if not self._is_close(stage, bound) and not part.is_over():
            completed = complete(self._generator, stage, duals_of(relaxation), self._plan, self._limits.deadline)
            self._keep_better(stage, completed.plan)
            bound = self._plan.value(stage.terms) if completed.proven else bound
        return bound

    def _is_close(self, stage: Stage, bound: int | None) -> bool:
        return is_close(self._plan.value(stage.terms), bound, self._limits.gap)

    def _note(self, stage: Stage, bound: int | None, rounds: int) -> None:
        value = self._plan.value(stage.terms)
        proven = self._is_close(stage, bound)
        self._results[-1] = StageResult(stage.name, value, bound, proven, rounds)
        if self._watch:
            self._watch(stage.name, value, bound)

    def _told(self, stage: Stage) -> Callable[[float, float | None], None] | None:
        if self._watch is None:
            return None
        watch, value, sign = self._watch, self._plan.value(stage.terms), 1 if stage.maximise else -1
        return lambda _value, bound: watch(stage.name, value, None if bound is None else sign * bound)

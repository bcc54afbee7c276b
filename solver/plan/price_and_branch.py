"""Plans by column generation: stage after stage, each with its value, a bound, and whether the gap is closed.

A stage starts from the plan of the one before, and keeps what earlier stages reached. Its relaxation is solved by
generating columns. Then a plan in whole numbers is made from it: by diving (fix what is whole, price again for what is
left, repeat) and by the heuristics, until it is close enough to the bound.

Where nodes are vectors, a plan to start from is packed by size, and a few nodes at a time are packed anew; what a dive
leaves of the gap is closed by arc flow. Elsewhere a small gap is closed by enumeration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import count
from time import monotonic

from ..engines.cp_sat import Limits
from . import column_generation, master, master_problem
from .arc_flow import OpenStage, filling_graphs, solve_arc_flow
from .column_generation import MANY_NODE_CLASSES, vector_nodes
from .enumeration import complete_whole_nodes, prove_by_enumeration
from .first_fit_decreasing import pack_decreasing
from .gang_dive import fill_for_gangs, fill_whole_gangs, improved_by_gangs, rounded_gangs
from .heuristics import (
    DivingHeuristic,
    LargeNeighbourhoodSearch,
    fill_at_duals,
    fill_beside_start,
    fill_greedily,
    fill_up,
    filling_deadline,
    needed_columns,
    remove_slack,
)
from .master import ColumnBounds, LinearMaster, MasterRelaxation, plan_from_columns, solve_restricted_master
from .master_problem import Column, IntegerPlan, ObjectiveStage, implied_bound, is_close
from .size_bounds import cost_bound
from .whole_gangs import WholeGangSolver

# CP-SAT closes the master itself while it has no more columns; more of them where heuristics do not keep all rows.
_FEW_COLUMNS, _MORE_COLUMNS, _ALL_COLUMNS_WORK = 200, 20_000, 5.0
# With more unit classes, their demand does not limit columns; more of one class than so many hardly fit a node.
_FEW_UNITS, _MANY_UNITS = 40, 128
# Rounds of pricing for what a dive has left, and for a few nodes that are emptied.
_DIVE_ROUNDS = 6
# Where generation ended early, columns are generated again so often, with a dive each time.
_DIVES, _ROUNDS_BETWEEN_DIVES = 4, 20
# What CP-SAT may spend on a plan to start from or nodes filled for whole gangs, and on columns at the end of a dive.
_STARTING_WORK, _SETTLING_WORK = 0.1, 0.3
# What CP-SAT may spend on columns for gangs that were made whole; with fewer groups of them it takes all at once.
_ROUNDING_WORK, _FEW_GROUPS = 0.5, 25
# How often gangs are chosen in whole numbers, each time with what nodes are known to hold by then, and the work for it;
# what part of the time that is left a choice may take.
_WISHES, _WISHING_TIME_SHARE = 12, 1 / 2
# A wish is so much nearer to the best one than the gap that is asked for.
_PARTS_OF_GAP = 4
_WHOLE_GANGS_WORK = 20.0
# What a brief stage may take: rounds of pricing, and work of CP-SAT on the columns at the end.
_BRIEF_ROUNDS, _LEAST_BRIEF_ROUNDS = 20, 5
_BRIEF_PART, _BRIEF_WORK = 10, 0.1
_FEW_NODE_CLASSES = 8
_PART_OF_GAP, _CHOICE_PART_OF_GAP = 0.2, 0.25  # to which the relaxation is solved, and a choice among columns
# What CP-SAT may spend on repacking a few nodes at a time: before columns are generated, where that takes long or a
# bound by sizes is so near, and after a dive.
_FIRST_REPACKING_WORK, _NEAR_GAP, _REPACKING_WORK = 0.2, 0.003, 8.0
# Of the time that is left: for arc flow, and for generating columns before a first dive and after it.
_FLOW_SHARE, _GENERATION_SHARES = 0.7, (0.5, 0.8)
StageWatch = Callable[[str, int, float | None], None]
"""Called with a stage's name, its value so far, and its bound if there is one."""


def solve_stages(
    instance: master_problem.MasterProblem,
    stages: Sequence[ObjectiveStage],
    pricer: column_generation.Pricer,
    *,
    start: Iterable[Column] = (),
    limits: master_problem.PlanLimits | None = None,
    executor: Executor | None = None,
    watch: StageWatch | None = None,
) -> master_problem.PlanSolution:
    """Plan by lexicographic stages. ``start`` are columns that are known already, such as those of greedy plans.

    Equal questions have equal plans, with any executor, unless the clock ends them.
    """
    run: _StageSolver | None = None
    try:
        run = _StageSolver(instance, pricer, limits or master_problem.PlanLimits(), executor, watch, stages)
        for column in start:
            run.master.add(column)
        open_stages = [implied_bound(stage, [(one, 0) for one in stages[:n]]) is None for n, stage in enumerate(stages)]
        for number, stage in enumerate(stages):
            run.stage(stage, sum(open_stages[number:]))
    except KeyboardInterrupt:
        return run.result(interrupted=True) if run else master_problem.PlanSolution.not_begun(instance)
    return run.result()


class _StageSolver:
    def __init__(
        self,
        instance: master_problem.MasterProblem,
        pricer: column_generation.Pricer,
        limits: master_problem.PlanLimits,
        executor: Executor | None,
        watch: StageWatch | None,
        stages: Sequence[ObjectiveStage],
    ) -> None:
        self.master = LinearMaster(instance)
        self._instance = instance
        self._generator = column_generation.ColumnGenerator(instance, self.master, pricer, executor)
        self._limits = limits
        self._watch = watch
        self._node_costs = next((one.terms.nodes for one in stages if not one.maximise), {})
        self._plan = self._settled(instance.start or master_problem.empty_plan(instance))
        self._whole_gangs = WholeGangSolver(self._generator, self._most())
        self._repackings = count(1)
        self._results: list[master_problem.StageResult] = []
        self._reached: list[tuple[ObjectiveStage, int | None]] = []
        # Names of the stages that have rows of their own.
        self._kept: list[str] = []

    def result(self, interrupted: bool = False) -> master_problem.PlanSolution:
        """Return the solution by now."""
        return master_problem.PlanSolution(self._plan, tuple(self._results), tuple(self.master.columns), interrupted)

    def stage(self, stage: ObjectiveStage, stages: int) -> None:
        """Solve the first of so many stages that are left to be bounded, and keep its value from now on."""
        value = self._plan.value(stage.terms)
        self._results.append(master_problem.StageResult(stage.name, value, None, proven=False, rounds=0))
        implied, limits = implied_bound(stage, self._reached), self._limits
        if implied is None:
            if self._instance.completion and limits.deadline is not None:
                # Choosing gangs may take all the time that there is; earlier stages get more of it, and none takes all.
                now = monotonic()
                share = max(0.0, limits.deadline - now) * 2 / (max(1, stages) + 1)
                self._limits = replace(limits, deadline=now + share)
            self._reach(stage)
            self._limits = limits
        else:
            self._note(stage, implied, 0)
        self._reached.append((stage, self._results[-1].bound))

    def _reach(self, stage: ObjectiveStage) -> None:
        self.master.set_objective(stage)
        by_size, duals = cost_bound(self._instance, self._generator.pricer, stage, self.master.rows)
        least = stage.least_value(self._instance, self.master.rows)
        known = stage.tightest(stage.trivial_bound(self._instance), least, by_size)
        self._keep_duals(duals)
        if not self._is_close(stage, known):
            self._pack(stage, known)
        if not self._is_close(stage, known):
            self._start(stage)
        if stage.brief and stage.least:
            self._lighten(stage)
        self._note(stage, known, 0)
        is_near = is_close(self._plan.value(stage.terms), known, _NEAR_GAP)
        if is_near or len([*filter(None, stage.terms.nodes.values())]) == 1 or self._is_labeled(stage):
            self._repack(stage, known, _FIRST_REPACKING_WORK)
        if not self._is_close(stage, known):
            self._generate(stage, known)
        self.master.add_row(stage.kept_at(self._plan.value(stage.terms)))
        self._kept.append(stage.name)

    def _lighten(self, stage: ObjectiveStage) -> None:
        """Give the units of the plan at hand, and no others, devices that count least, where they are found soon."""
        pricer, before = self._generator.pricer, remove_slack(self._instance, self._plan, self._generator.pricer)
        columns = Counter[Column]()
        for column, number in before.columns:
            columns[pricer.lightened(column)] += number
        for columns_at_hand in (before.columns, master_problem.ordered_columns(columns)):
            self._keep_better(stage, replace(before, columns=columns_at_hand))
        for column, _ in self._plan.columns:
            self.master.add(column)

    def _brief_rounds(self, stage: ObjectiveStage) -> int:
        """So many rounds of pricing; with many node classes usage has a tenth of what stages took before it."""
        # Where arc flow closes stages, few rounds come before.
        before, classes = sum(one.rounds for one in self._results), len(self._instance.nodes)
        least = _LEAST_BRIEF_ROUNDS if classes <= MANY_NODE_CLASSES else 0
        return _BRIEF_ROUNDS if classes <= _FEW_NODE_CLASSES or stage.maximise else max(least, before // _BRIEF_PART)

    def _generate(self, stage: ObjectiveStage, known: int | None) -> None:
        """Generate columns, and make a plan of them; some bound is ``known``."""
        limits = self._limits
        rounds = min(limits.rounds, self._brief_rounds(stage)) if stage.brief else limits.rounds
        if not rounds or master_problem.is_past(limits.deadline):
            return
        # Where graphs are too large for arc flow, a dive takes what is left once no better bound can be found.
        best = known if self._is_labeled(stage) else None
        tolerance, thorough = stage.gap(limits.gap) * _PART_OF_GAP, not stage.brief
        budget = column_generation.GenerationLimits(rounds, tolerance, None, thorough, known_bound=best)
        run = self._generator.begin(stage, budget, self._most(), watch=self._told(stage, known))
        first, later = _GENERATION_SHARES
        known = self._generated(stage, run, known, 1.0 if stage.brief else first)
        if not stage.brief and master_problem.is_past(run.budget.deadline) and not self._is_close(stage, known):
            # Should time end before more is known, this plan is there.
            self._dive(stage, run.relaxation, known)
            known = self._generated(stage, run, known, later)
        if not self._is_close(stage, known):
            known = self._integers(stage, run.known(), known)
        self._note(stage, known, run.rounds)

    def _dive(self, stage: ObjectiveStage, relaxation: MasterRelaxation | None, bound: int | None) -> None:
        """Make a plan of a relaxation by diving."""
        if relaxation is not None and not self._is_close(stage, bound):
            part = column_generation.GenerationLimits(_DIVE_ROUNDS, 0.0, self._limits.deadline, thorough=False)
            dive = DivingHeuristic(self._generator, stage, part)
            self._take(stage, dive.run(relaxation), bound, wished=dive.gangs)

    def _is_labeled(self, stage: ObjectiveStage) -> bool:
        """Whether nodes are vectors without graphs and short lists."""
        pricer, ends = self._generator.pricer, self._limits.deadline
        nodes = vector_nodes(self._instance, pricer) or {}
        has_graphs = not nodes or master_problem.is_past(ends) or filling_graphs(self._generator, stage, ends)
        known = (pricer.fillings(one, self._instance.demands()) for one in nodes)
        return not has_graphs and any(one is None or one.is_long for one in known)

    def _generated(
        self, stage: ObjectiveStage, run: column_generation.GenerationRun, known: int | None, share: float
    ) -> int | None:
        """Generate columns for a share of the time; return the bound, which is noted in any case, or the known one."""
        run.budget = replace(run.budget, deadline=filling_deadline(self._limits.deadline, share))
        try:
            run.to_the_end()
        finally:
            own = run.known().rounded(self._instance, stage)
            bound = stage.tightest(known, own)
            self._keep_duals(run.center, own == bound)
            self._note(stage, bound, run.rounds)
        return bound

    def _keep_duals(self, duals: master_problem.Duals | None, is_best: bool = False) -> None:
        """Keep duals of the stage, if there are none or these prove the better bound."""
        if duals is not None and (is_best or self._results[-1].duals is None):
            self._results[-1] = replace(self._results[-1], duals=duals, kept=tuple(self._kept))

    def _most(self) -> tuple[int, ...]:
        """Limits of units in a column. With many unit classes only the node limits it: then one replaces another.

        That is far quicker, and bounds are hardly worse: such a column may still be taken by a part of a node.
        """
        most = self._instance.demands()
        if len(most) <= _FEW_UNITS:
            return most
        return tuple(max(requested, _MANY_UNITS) if requested else 0 for requested in most)

    def _start(self, stage: ObjectiveStage) -> None:
        """Fill the nodes greedily where a stage is about units and nothing is placed yet."""
        if self._instance.start is not None:
            ends = filling_deadline(self._limits.deadline)
            for column in fill_beside_start(self._generator, stage, ends):
                self.master.add(column)
            # Few are those that the relaxation takes, and those of the plan.
            taken = self.master.support(self.master.solve(ends)).union(column for column, _ in self._plan.columns)
            self._choose_from(stage, [one for one in self.master.columns if one in taken])
        if not stage.maximise:
            return
        if self._plan.columns:
            if not stage.terms.usage:
                ends = filling_deadline(self._limits.deadline)
                self._keep_columns(stage, tuple(fill_up(self._generator, stage, self._plan, ends)))
            return
        worth = [max(0, stage.terms.units.get(index, 0)) for index in range(len(self._instance.units))]
        for index, gang in enumerate(self._instance.gangs):
            size = sum(number for _, number in gang.members) or 1
            for unit, _ in gang.members:
                worth[unit] = max(worth[unit], stage.terms.gangs.get(index, 0) // size)
        deadline = filling_deadline(self._limits.deadline)
        prices = column_generation.Prices(tuple(worth), (0,) * self._instance.meters)
        self._take(stage, fill_greedily(self._generator, prices, deadline), work=_STARTING_WORK)
        fill_at_duals(self._generator, stage, deadline)

    def _pack(self, stage: ObjectiveStage, bound: int | None) -> None:
        """Pack units by size where nodes are vectors: all that are asked for, or again those that are placed."""
        instance, pricer = self._instance, self._generator.pricer
        # With few classes greedy filling at the start is as quick, and finds more where not all fits.
        is_filled = stage.maximise and (self._plan.columns or len(instance.units) <= _FEW_UNITS)
        is_other = stage.terms.usage or stage.brief or self._instance.start or is_filled
        if is_other or (nodes := vector_nodes(instance, pricer)) is None:
            return
        costs, ends = self._node_costs if stage.maximise else stage.terms.nodes, self._limits.deadline
        units = master_problem.placed_units(instance, self._plan) if self._plan.columns else instance.demands()
        for columns in pack_decreasing(instance, pricer, nodes, units, costs, ends, thorough=not stage.maximise):
            if self._plan.columns:
                plan = replace(self._plan, columns=master_problem.ordered_columns(dict(columns)))
            else:
                plan = plan_from_columns(instance, [*(one for one, _ in self._reached), stage], columns)
            for column, _ in columns:
                self.master.add(column)
            self._keep_better(stage, plan)
            if self._is_close(stage, bound) or master_problem.is_past(ends):
                break

    def _follow(self, stage: ObjectiveStage, plans: Iterable[IntegerPlan], bound: int | None) -> None:
        """Take plans that are better each, until one is close to the bound."""
        for plan in plans:
            self._plan = self._settled(plan)
            if self._is_close(stage, bound):
                break

    def _repack(self, stage: ObjectiveStage, bound: int | None, work: float) -> None:
        """Make a plan cheaper by packing a few nodes anew, or all on one less, where nodes are vectors."""
        if stage.maximise or stage.brief or stage.terms.usage or self._instance.start or self._is_close(stage, bound):
            return
        from .node_repacking import NodeRepacking  # few plans buy

        repacking = NodeRepacking.of(self._instance, self._generator.pricer, stage.terms.nodes)
        for plan in repacking.plans(self._plan, self._repackings, work, self._limits.deadline) if repacking else ():
            self._keep_better(stage, plan)
            self._note(stage, bound, 0)
            if self._is_close(stage, bound):
                break

    def _take(
        self,
        stage: ObjectiveStage,
        columns: Iterable[tuple[Column, int]],
        bound: int | None = None,
        work: float = _SETTLING_WORK,
        wished: Sequence[float] = (),
    ) -> None:
        """Take the best plan that these columns allow, with those of the plan at hand, if it is better."""
        found: list[tuple[Column, int]] = []
        try:
            found.extend(columns)
        finally:
            # At once, even where time is over: what these columns have room for may be better.
            everything = (*found, *self._plan.columns)
            needed = everything if stage.maximise else tuple(needed_columns(self._instance, everything))
            self._keep_columns(stage, needed, wished)
        counts = Counter[Column]()
        for column, number in (*found, *self._plan.columns):
            self.master.add(column)
            counts[column] += number
        if not self._is_close(stage, bound):
            self._choose(stage, [ColumnBounds(column, 0, most) for column, most in counts.items()], work)

    def _keep_columns(
        self, stage: ObjectiveStage, columns: Sequence[tuple[Column, int]], wished: Sequence[float] = ()
    ) -> None:
        """Keep what these columns allow, if it is better."""
        stages = [*(reached for reached, _ in self._reached), stage]
        self._keep_better(stage, plan_from_columns(self._instance, stages, columns, wished))

    def _choose(self, stage: ObjectiveStage, choices: Sequence[ColumnBounds], work: float) -> None:
        # A part of a stage's gap is for the columns. The best of few node classes is soon known, and spares first fit.
        exact = len(self._instance.nodes) <= _FEW_NODE_CLASSES
        gap = stage.gap(self._limits.gap) * (1 / 2 if stage.brief else 0 if exact else _CHOICE_PART_OF_GAP)
        limits = Limits(deadline=self._limits.deadline, work=work, gap=gap)
        chosen = solve_restricted_master(self._instance, self.master.rows, stage, choices, self._plan, limits)
        self._keep_better(stage, chosen.plan)

    def _choose_from(self, stage: ObjectiveStage, columns: Sequence[Column], work: float = _ALL_COLUMNS_WORK) -> None:
        self._choose(stage, master.open_choices(self._instance, columns), work)

    def _keep_better(self, stage: ObjectiveStage, plan: IntegerPlan | None) -> None:
        is_right = plan is not None and plan.is_feasible(self._instance, self.master.rows)
        settled = self._settled(plan) if plan and is_right else None
        if settled and stage.gain(settled, self._plan) > 0:
            self._plan = settled
            for column, _ in settled.columns:
                self.master.add(column)

    def _settled(self, plan: IntegerPlan) -> IntegerPlan:
        completion = self._instance.completion
        return self._instance.followed(replace(plan, gangs=completion.settled(plan.gangs)) if completion else plan)

    def _integers(
        self, stage: ObjectiveStage, generated: column_generation.GenerationResult, bound: int | None
    ) -> int | None:
        """Come close to the bound with whole numbers; return the bound, which may have become better."""
        if (relaxation := generated.relaxation) is None:
            return bound
        if self._instance.completion and not stage.brief:
            bound = self._choose_whole_gangs(stage, relaxation, bound)
            self._note(stage, bound, generated.rounds)
            self._round_gangs(stage, relaxation, bound)
            self._note(stage, bound, generated.rounds)
            if self._is_close(stage, bound):
                return bound
        if len(self.master.columns) <= (_FEW_COLUMNS if self._instance.start is None else _MORE_COLUMNS):
            self._choose_from(stage, self.master.columns, _BRIEF_WORK if stage.brief else _ALL_COLUMNS_WORK)
        if stage.brief:
            return bound
        bound = self._flow(stage, relaxation, bound, beside_whole=True)
        part = column_generation.GenerationLimits(_DIVE_ROUNDS, 0.0, self._limits.deadline, thorough=False)
        for number in range(_DIVES if self._is_labeled(stage) else 1):
            if number and not self._is_close(stage, bound):
                more = self._generator.run(stage, replace(part, rounds=_ROUNDS_BETWEEN_DIVES), self._most())
                relaxation = more.relaxation or relaxation
            self._dive(stage, relaxation, bound)
            self._note(stage, bound, generated.rounds)
        if self._instance.gangs and not self._is_close(stage, bound):
            filled = fill_whole_gangs(self._generator, stage, relaxation, part.deadline)
            self._take(stage, filled, bound, _STARTING_WORK, relaxation.gangs)
            self._note(stage, bound, generated.rounds)
        # Most plans are improved sooner than arc flow finds one; what that finds is improved in turn.
        search = LargeNeighbourhoodSearch(self._generator, stage, relaxation, part)
        for flows in (False, True):
            before = self._plan
            bound = self._flow(stage, relaxation, bound) if flows else bound
            if not self._is_close(stage, bound) and (self._plan is not before or not flows):
                self._follow(stage, search.plans(self._plan), bound)
            self._note(stage, bound, generated.rounds)
        self._repack(stage, bound, _REPACKING_WORK)
        if not self._is_close(stage, bound) and len(self.master.columns) <= _FEW_COLUMNS:
            self._choose_from(stage, self.master.columns)
        if not self._is_close(stage, bound) and not master_problem.is_past(part.deadline):
            completed = prove_by_enumeration(self._generator, stage, relaxation.duals, self._plan, part.deadline)
            self._keep_better(stage, completed.plan)
            bound = self._plan.value(stage.terms) if completed.proven else bound
        return bound

    def _choose_whole_gangs(self, stage: ObjectiveStage, relaxation: MasterRelaxation, bound: int | None) -> int | None:
        """Choose gangs in whole numbers and look for nodes for them; return the bound, which may have become better."""
        solver, deadline, gap = self._whole_gangs, self._limits.deadline, stage.gap(self._limits.gap)
        stages = [*(reached for reached, _ in self._reached), stage]
        start = solver.filled(stages, relaxation, self._kept_gangs(stage), filling_deadline(deadline))
        self._keep_better(stage, start)
        best = self._plan
        solver.add_prices(self._generator.stage_pricing(stage, relaxation.duals).prices.units, deadline)
        for _ in range(_WISHES):
            wished = solver.wish(stage, gap / _PARTS_OF_GAP, filling_deadline(deadline, _WISHING_TIME_SHARE))
            if wished is None or stage.gain(wished, self._plan) <= 0:
                break
            best, placement = wished, solver.place(wished, filling_deadline(deadline))
            if placement.plan is not None and placement.plan.is_feasible(self._instance, self.master.rows):
                self._keep_better(stage, placement.plan)
            else:
                self._take(stage, placement.columns, bound, _ROUNDING_WORK, tuple(map(float, wished.gangs)))
            if placement.row is None or self._is_close(stage, bound):
                break
        if self._is_close(stage, bound):
            return bound
        # A wish that came true only has to be proven; otherwise there has to be time for other ways to find a plan.
        ends = deadline if stage.gain(best, self._plan) <= 0 else filling_deadline(deadline)
        found = solver.bound(stage, best, Limits(deadline=ends, work=_WHOLE_GANGS_WORK, gap=gap * (1 - gap)))
        return bound if found is None or (bound is not None and (found > bound) == stage.maximise) else found

    def _kept_gangs(self, stage: ObjectiveStage) -> dict[int, int]:
        """How often gangs are placed that earlier stages count and this one does not: there they stay."""
        groups = self._instance.completion.decided if self._instance.completion else ()
        among = {gang for own in groups for gang in own}
        earlier = {gang for reached, _ in self._reached for gang in reached.terms.gangs}.difference(stage.terms.gangs)
        return {gang: self._plan.gangs[gang] for gang in among & earlier}

    def _flow(
        self, stage: ObjectiveStage, relaxation: MasterRelaxation, bound: int | None, *, beside_whole: bool = False
    ) -> int | None:
        """Look for a better plan by arc flow; return the bound, which may have become better."""
        if bound is None or self._is_close(stage, bound):
            return bound
        deadline, gap = filling_deadline(self._limits.deadline, _FLOW_SHARE), stage.gap(self._limits.gap)
        search = complete_whole_nodes if beside_whole else solve_arc_flow
        found = search(OpenStage(self._generator, stage, relaxation, self._plan, bound, gap, deadline))
        if found.plan is not None and not found.plan.is_feasible(self._instance, self.master.rows):
            return bound
        self._keep_better(stage, found.plan)
        return self._plan.value(stage.terms) if found.proven else found.bound

    def _round_gangs(self, stage: ObjectiveStage, relaxation: MasterRelaxation, bound: int | None) -> None:
        """Make gangs whole where rows decide about them, fill nodes for these, and choose some of them anew."""
        completion = self._instance.completion
        if completion is None or self._is_close(stage, bound):
            return
        groups, deadline = completion.decided, self._limits.deadline
        among = frozenset(gang for own in groups for gang in own)
        fixed = self._kept_gangs(stage)
        rounded = rounded_gangs(self._generator, relaxation, among, fixed, filling_deadline(deadline))
        columns = fill_for_gangs(self._generator, rounded, fixed, completion.sizes, filling_deadline(deadline))
        self._take(stage, columns, bound, _ROUNDING_WORK, rounded.gangs)
        if len(groups) < _FEW_GROUPS or self._is_close(stage, bound):
            return
        self._follow(stage, improved_by_gangs(self._generator, stage, self._plan, groups, deadline), bound)

    def _is_close(self, stage: ObjectiveStage, bound: int | None) -> bool:
        value, about = self._plan.value(stage.terms) + stage.offset, None if bound is None else bound + stage.offset
        return is_close(value, about, stage.gap(self._limits.gap))

    def _note(self, stage: ObjectiveStage, bound: int | None, rounds: int) -> None:
        value, proven = self._plan.value(stage.terms), self._is_close(stage, bound)
        self._results[-1] = replace(self._results[-1], value=value, bound=bound, proven=proven, rounds=rounds)
        if self._watch:
            self._watch(stage.name, value, bound)

    def _told(self, stage: ObjectiveStage, known: int | None) -> column_generation.RoundWatch | None:
        if self._watch is None:
            return None
        watch, value, sign = self._watch, self._plan.value(stage.terms), 1 if stage.maximise else -1

        def tell(_value: float, bound: float | None) -> None:
            own = [one for one in (known, None if bound is None else sign * bound) if one is not None]
            watch(stage.name, value, (min if stage.maximise else max)(own) if own else None)

        return tell

"""The question ``plan``: which units of a queue fit on a cluster, where, and on which devices, best by stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.formats.gc import gc_young_only
from ...models.kubernetes.core import HOSTNAME_LABEL
from ...models.kubernetes.extensions import VALUE_ANNOTATION
from ...models.kubernetes.gates import FeatureGates
from ...models.results.common import Reason
from ...models.workload.expansion import QueuedUnit, expand_units
from ...models.workload.queue import read_queue
from ...models.workload.unit_classes import UnitShape
from ...problem.messages import check_policy
from ..allocate.allocate import gates_of
from ..engines.engine import Session
from ..engines.outcome import SearchInterrupted, missing_reference_reasons
from ..engines.registry import effective_policy
from .assign import assign_plan, build_plan_outcome
from .build import EarlierPlacements, PlanInstance, PlanRequest, build_plan_instance, no_earlier_placements
from .build.nodes import build_node_catalogue
from .build.objectives import FRAGMENTATION, parse_objective, value_annotation
from .heuristics import remove_slack
from .incumbent import better_plan
from .master_problem import PlanLimits, PlanSolution
from .outcome import PlanOutcome, check_plan
from .price_and_branch import solve_stages, stage_bounds

TIME_LIMIT = 300.0
GAP = 0.001
# What comes after the search takes about so many times as long as what comes before, where queues are large.
_POSTPROCESSING_FACTOR = 4
PlanWatch = Callable[[str, float, float | None], None]


@gc_young_only()
def plan(
    cluster: Cluster,
    *,
    objective: str | Sequence[str] = (),
    gap: float = GAP,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "strict",
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    buy: bool = False,
    only_new: bool = False,
    budget: Decimal | None = None,
    mix: Cluster | None = None,
    executor: Executor | None = None,
    watch: PlanWatch | None = None,
) -> PlanOutcome:
    """Answer ``drasat.plan``, which describes the arguments; ``budget`` is a finite number here.

    Raises
    ------
    ValueError
        As ``drasat.plan`` says, for annotations that cannot be read, and for buying without anything to buy; one line.
    VerificationError
        If the plan does not pass the independent check; that is a defect of drasat.
    SearchInterrupted
        For a KeyboardInterrupt during the search, with the best plan by then.

    """
    check_policy(cel_errors)
    stages = parse_objective(objective, buy)
    _check_options(gap, buy, only_new, budget)
    gates = gates_of(feature_gates)
    policy = effective_policy("cp-sat", cel_errors)
    clock = _Clock(time_limit)
    value = value_annotation(stages) or VALUE_ANNOTATION
    sets = read_queue(cluster, namespace=namespace, selector=selector, gates=gates, value=value)
    queue = list(expand_units(cluster, sets, gates))
    refused = _refused_units(cluster, queue)
    clock.lap("queue")
    session = Session(cluster, gates, policy, seed)
    positions = [place for place in range(len(queue)) if place not in refused]
    earlier = _earlier_placements(session, queue, positions, clock.deadline, only_new=only_new)
    refused.update(earlier.reasons)
    nothing = no_earlier_placements(session)
    catalogue = build_node_catalogue(cluster, _single_host_gangs(queue)) if buy else None
    limit = None if budget is None else Fraction(budget)
    target = None if mix is None else _target_mix_units(cluster, mix, gates, stages)
    whole = PlanRequest(session, queue, positions, stages, nothing, catalogue, only_new, limit, target)
    open_positions = [place for place in positions if place not in earlier.positions]
    request = replace(whole, open_positions=open_positions, earlier=earlier)
    instance = build_plan_instance(request)
    clock.lap("build")
    limits = PlanLimits(gap, deadline=clock.search_ends())
    solution = _solve_instance(instance, limits, executor, watch)
    relaxed_bounds = _relaxed_bounds(whole, instance, solution, limits) if earlier.positions else ()
    clock.lap("solve")
    assignment = assign_plan(request, instance, solution)
    clock.lap("assign")
    solution, assignment = better_plan(request, instance, solution, assignment, replace(limits, deadline=clock.half()))
    clock.lap("fill")
    refused.update((place, (Reason("gang", "", said),)) for place, said in instance.unplaceable.items())
    usable = {node.metadata.name for nodes in assignment.bought.values() for node in nodes} if only_new else None
    reasons: Mapping[int, tuple[Reason, ...]] = {}
    if len(assignment.assigned) + len(refused) < len(queue):
        # Most queues fit: then nothing of this is loaded.
        from .why_not import unplaced_reasons

        alike, assigned = assignment.equivalence, assignment.assigned
        reasons = unplaced_reasons(
            assignment.cluster, queue, assigned, gates, policy, seed, usable, equivalence=alike, known=refused
        )
    clock.lap("explain")
    answer = build_plan_outcome(request, instance, solution, assignment, {**reasons, **refused}, gap, relaxed_bounds)
    check_plan(
        assignment.cluster, answer.units, gates, policy, order=assignment.order, namespace=namespace, selector=selector
    )
    clock.lap("verify")
    answer = replace(answer, verified=True, seconds=clock.laps)
    if solution.interrupted:
        raise SearchInterrupted(answer)
    return answer


def _earlier_placements(
    session: Session, queue: Sequence[QueuedUnit], positions: Sequence[int], deadline: float | None, *, only_new: bool
) -> EarlierPlacements:
    """Place what ConstraintGroups couple; few clusters have any, so that placing them is loaded only here."""
    if not session.cluster.constraint_groups:
        return no_earlier_placements(session)
    from .build.groups import place_coupled_units

    return place_coupled_units(session, queue, positions, deadline, only_new=only_new)


def _single_host_gangs(queue: Sequence[QueuedUnit]) -> int:
    """How many gangs must have a node to themselves or share one: no label tells new nodes apart but the host name."""
    gangs = {planned.unit_set.gang for planned in queue}
    return sum(gang is not None and gang.domain == HOSTNAME_LABEL for gang in gangs)


def _check_options(gap: float, buy: bool, only_new: bool, budget: Decimal | None) -> None:
    if not 0 <= gap < 1:
        raise ValueError(f"gap {gap} is not at least 0 and below 1")
    if not buy and (only_new or budget is not None):
        raise ValueError("new nodes only, or a budget, make sense with buy alone")
    if budget is not None and not (budget.is_finite() and budget >= 0):
        raise ValueError(f"budget {budget} is not a number that is at least 0")


def _target_mix_units(cluster: Cluster, mix: Cluster, gates: FeatureGates, stages: Sequence[str]) -> list[QueuedUnit]:
    """The units of a target mix. Raises ``ValueError`` where no stage asks for it, or it has none."""
    if FRAGMENTATION not in stages:
        raise ValueError(f"a mix makes sense with the stage {FRAGMENTATION} alone")
    units = list(expand_units(mix, read_queue(mix, gates=gates), gates))
    refused = _refused_units(cluster, units)
    if len(refused) == len(units):
        said = "; ".join(dict.fromkeys(reason.message for reasons in refused.values() for reason in reasons))
        raise ValueError(f"the mix has no unit that could be placed{': ' if said else ''}{said}")
    return [planned for place, planned in enumerate(units) if place not in refused]


def _refused_units(cluster: Cluster, queue: Sequence[QueuedUnit]) -> dict[int, tuple[Reason, ...]]:
    """Units that nothing can place, with the reasons."""
    found: dict[int, tuple[Reason, ...]] = {}
    # Units of one shape are refused for the same reasons, each with the names of its own claims.
    sound: set[UnitShape] = set()
    for place, planned in enumerate(queue):
        shape, gang = planned.unit_set.shape, planned.unit_set.gang
        reasons = [] if shape in sound else list(missing_reference_reasons(planned.unit, cluster.classes))
        if not reasons:
            sound.add(shape)
        if gang is not None and gang.problem:
            reasons.append(Reason("gang", "", gang.problem))
        if reasons:
            found[place] = tuple(reasons)
    torn = {queue[place].unit_set.gang for place in found}
    for place, planned in enumerate(queue):
        gang = planned.unit_set.gang
        if gang is not None and gang.minimum is None and gang in torn and place not in found:
            said = f"{gang.label} is placed whole or not at all: it has members that have to wait"
            found[place] = (Reason("gang", "", said),)
    return found


def _solve_instance(
    instance: PlanInstance, limits: PlanLimits, executor: Executor | None, watch: PlanWatch | None
) -> PlanSolution:
    stages = [goal.stage for goal in instance.goals]
    display = {goal.stage.name: goal.display_value for goal in instance.goals}

    def tell(stage: str, value: float, bound: float | None) -> None:
        if watch:
            watch(stage, display[stage](value), None if bound is None else display[stage](bound))

    solution = solve_stages(
        instance.problem, stages, instance.pricer, limits=limits, executor=executor, watch=watch and tell
    )
    plan = remove_slack(instance.problem, solution.plan, instance.pricer)
    pairs = zip(solution.stages, stages, strict=False)
    # Later stages may have made earlier ones better, and less room than a column has costs less.
    reached = tuple(replace(result, value=plan.value(stage.terms)) for result, stage in pairs)
    return replace(solution, plan=plan, stages=reached)


def _relaxed_bounds(
    whole: PlanRequest, instance: PlanInstance, solution: PlanSolution, limits: PlanLimits
) -> Sequence[float | None]:
    """Return bounds of the whole queue without its groups, if it has earlier placements."""
    relaxed = build_plan_instance(whole)
    if relaxed.is_narrowed:
        return ()
    display = [goal.display_value(stage.value) for goal, stage in zip(instance.goals, solution.stages, strict=False)]
    stages = [(goal.stage, round(value * goal.scale)) for goal, value in zip(relaxed.goals, display, strict=False)]
    known = zip(relaxed.goals, stage_bounds(relaxed.problem, stages, relaxed.pricer, limits), strict=False)
    return [None if bound is None else goal.display_value(bound) for goal, bound in known]


class _Clock:
    """Wall times of the phases, and when time is up."""

    def __init__(self, limit: float | None) -> None:
        self._begun = self._last = monotonic()
        self.deadline = None if limit is None else self._last + limit
        self.laps: dict[str, float] = {}

    def search_ends(self) -> float | None:
        """When to stop searching, so that time remains for devices, reasons and verification."""
        if self.deadline is None:
            return None
        now = monotonic()
        return self.deadline - min(_POSTPROCESSING_FACTOR * (now - self._begun), max(0.0, self.deadline - now) / 2)

    def half(self) -> float | None:
        """When half of the time that is left has passed."""
        return None if self.deadline is None else (self.deadline + monotonic()) / 2

    def lap(self, name: str) -> None:
        now = monotonic()
        self.laps[name] = now - self._last
        self._last = now

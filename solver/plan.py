"""The question ``plan``: which units of a queue fit on a cluster, where, and on which devices, best by stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from time import monotonic

from ..models.cluster import Cluster
from ..models.collector import young_only
from ..models.core import HOSTNAME_LABEL
from ..models.gates import FeatureGates
from ..models.plan_annotations import VALUE
from ..models.planned_sets import UnitShape
from ..models.planned_units import PlannedUnit, expanded
from ..models.queue import planned
from ..problem.policies import check_policy
from .allocate import gates_of
from .attempts import Session
from .checked import check_plan
from .engines import effective_policy
from .outcome import Reason
from .plan_outcome import PlanInterrupted, PlanOutcome
from .planning.bounding import bounds
from .planning.core import solve
from .planning.limits import PlanCore, PlanLimits
from .planning.posing.ask import Ask, Posed
from .planning.posing.buying import open_shop
from .planning.posing.goals import parse_objective, value_annotation
from .planning.posing.groups import placed_together
from .planning.posing.mix import NAME as FRAGMENTATION
from .planning.posing.posed import pose
from .planning.posing.together import nothing_together
from .planning.refusing.left_out import left_out
from .planning.seating.outcome import outcome_of, seated
from .planning.trimming import trimmed
from .refusals import refusals

TIME_LIMIT = 300.0
GAP = 0.001
# What comes after the search takes about so many times as long as what comes before, where queues are large.
_AFTER = 4

Watch = Callable[[str, float, float | None], None]


@young_only()
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
    watch: Watch | None = None,
) -> PlanOutcome:
    """Plan the whole queue at once: pods, what Jobs, Deployments and StatefulSets lack, and loose claims.

    Parameters
    ----------
    cluster
        What there is, what runs, and what waits.
    objective
        Stages, the most important first: ``priority``, ``admitted[=count|devices|capacity:NAME|annotation:KEY]``,
        ``cost``, ``fewest-nodes``, ``spread``, ``preference``, ``soft``, ``fragmentation`` and ``compact``; one string
        holds several, separated by commas. Default: ``priority,admitted``.
    gap
        How far from its bound, relative to it, a stage counts as proven.
    namespace, selector
        What of the queue is planned, as in ``models.queue.planned``.
    feature_gates, cel_errors
        As for ``allocate``; devices are visited in no order, so that ``kube`` means ``strict``.
    time_limit
        Seconds for everything, for safety; None: no limit.
    seed
        Decides the share ids.
    buy, only_new, budget
        Whether nodes may be bought as NodeTemplates say; whether only those are used; and how much they may cost.
    mix
        The queue that ``fragmentation`` leaves room for; None: that of the cluster.
    executor
        Where node classes are priced at once; the plan is the same with any.
    watch
        Called with a stage's name, its value so far, and its bound if there is one.

    Raises
    ------
    ValueError
        One line, for an unknown stage, gate or policy, a bad selector or gap, annotations that cannot be read, and for
        buying without anything to buy.
    VerificationError
        If the plan does not pass the independent check; that is a defect of drasat.
    PlanInterrupted
        For a KeyboardInterrupt during the search, with the best plan by then.

    """
    check_policy(cel_errors)
    stages = parse_objective(objective, buy)
    _check(gap, buy, only_new, budget)
    gates = gates_of(feature_gates)
    policy = effective_policy("cp-sat", cel_errors)
    clock = _Clock(time_limit)
    value = value_annotation(stages) or VALUE
    sets = planned(cluster, namespace=namespace, selector=selector, gates=gates, value=value)
    queue = list(expanded(cluster, sets, gates))
    refused = _refused(cluster, queue)
    clock.lap("queue")
    session = Session(cluster, gates, policy, seed)
    left = [place for place in range(len(queue)) if place not in refused]
    ahead = placed_together(session, queue, left, clock.deadline, only_new=only_new)
    refused.update(ahead.reasons)
    whole = Ask(
        session,
        queue,
        left,
        stages,
        nothing_together(session),
        open_shop(cluster, _alone(queue)) if buy else None,
        only_new,
        None if budget is None else Fraction(budget),
        None if mix is None else _mix(cluster, mix, gates, stages),
    )
    ask = replace(whole, open=[place for place in left if place not in ahead.places], ahead=ahead)
    posed = pose(ask)
    clock.lap("pose")
    limits = PlanLimits(gap, deadline=clock.search_ends())
    found = _solved(posed, limits, executor, watch)
    looser = _looser_bounds(whole, posed, found, limits) if ahead.places else ()
    clock.lap("solve")
    placed = seated(ask, posed, found)
    clock.lap("seat")
    refused.update((place, (Reason("gang", "", said),)) for place, said in posed.hopeless.items())
    usable = {node.metadata.name for nodes in placed.bought.values() for node in nodes}
    found_out = left_out(
        placed.cluster, queue, placed.where, gates, policy, seed, usable if only_new else None, placed.alike, refused
    )
    clock.lap("explain")
    answer = outcome_of(ask, posed, found, placed, {**found_out, **refused}, gap, looser)
    check_plan(placed.cluster, answer.units, gates, policy, order=placed.order, namespace=namespace, selector=selector)
    clock.lap("verify")
    answer = replace(answer, verified=True, seconds=clock.laps)
    if found.interrupted:
        raise PlanInterrupted(answer)
    return answer


def _alone(queue: Sequence[PlannedUnit]) -> int:
    """How many gangs must have a node to themselves or share one: no label tells new nodes apart but the host name."""
    return len({one.set.gang for one in queue if one.set.gang is not None and one.set.gang.domain == HOSTNAME_LABEL})


def _check(gap: float, buy: bool, only_new: bool, budget: Decimal | None) -> None:
    if not 0 <= gap < 1:
        raise ValueError(f"gap {gap} is not at least 0 and below 1")
    if not buy and (only_new or budget is not None):
        raise ValueError("new nodes only, or a budget, make sense with buy alone")
    if budget is not None and not (budget.is_finite() and budget >= 0):
        raise ValueError(f"budget {budget} is not a number that is at least 0")


def _mix(cluster: Cluster, mix: Cluster, gates: FeatureGates, stages: Sequence[str]) -> list[PlannedUnit]:
    """The units of a target mix. Raises ``ValueError`` where no stage asks for it, or it has none."""
    if FRAGMENTATION not in stages:
        raise ValueError(f"a mix makes sense with the stage {FRAGMENTATION} alone")
    units = list(expanded(mix, planned(mix, gates=gates), gates))
    refused = _refused(cluster, units)
    if len(refused) == len(units):
        said = "; ".join(dict.fromkeys(reason.message for reasons in refused.values() for reason in reasons))
        raise ValueError(f"the mix has no unit that could be placed{': ' if said else ''}{said}")
    return [one for place, one in enumerate(units) if place not in refused]


def _refused(cluster: Cluster, queue: Sequence[PlannedUnit]) -> dict[int, tuple[Reason, ...]]:
    """Units that nothing can place, with the reasons."""
    found: dict[int, tuple[Reason, ...]] = {}
    # Units of one shape are refused alike, each with the names of its own claims.
    sound: set[UnitShape] = set()
    for place, one in enumerate(queue):
        reasons = [] if one.set.shape in sound else list(refusals(one.unit, cluster.classes))
        if not reasons:
            sound.add(one.set.shape)
        if one.set.gang is not None and one.set.gang.problem:
            reasons.append(Reason("gang", "", one.set.gang.problem))
        if reasons:
            found[place] = tuple(reasons)
    torn = {queue[place].set.gang for place in found}
    for place, one in enumerate(queue):
        gang = one.set.gang
        if gang is not None and gang.minimum is None and gang in torn and place not in found:
            said = f"{gang.label} is placed whole or not at all: it has members that have to wait"
            found[place] = (Reason("gang", "", said),)
    return found


def _solved(posed: Posed, limits: PlanLimits, executor: Executor | None, watch: Watch | None) -> PlanCore:
    stages = [goal.stage for goal in posed.goals]
    told = watch and _told(posed, watch)
    found = solve(posed.instance, stages, posed.pricer, limits=limits, executor=executor, watch=told)
    plan = trimmed(posed.instance, found.plan, posed.pricer)
    pairs = zip(found.stages, stages, strict=False)
    # Later stages may have made earlier ones better, and less room than a column has costs less.
    reached = tuple(replace(result, value=plan.value(stage.terms)) for result, stage in pairs)
    return replace(found, plan=plan, stages=reached)


def _looser_bounds(whole: Ask, posed: Posed, found: PlanCore, limits: PlanLimits) -> Sequence[float | None]:
    """Bounds of the whole queue without its groups, where some of it was placed ahead; none if these are none."""
    asked = pose(whole)
    if asked.is_narrowed:
        return ()
    told = [goal.told(stage.value) for goal, stage in zip(posed.goals, found.stages, strict=False)]
    stages = [(goal.stage, round(value * goal.scale)) for goal, value in zip(asked.goals, told, strict=False)]
    known = zip(asked.goals, bounds(asked.instance, stages, asked.pricer, limits), strict=False)
    return [None if bound is None else goal.told(bound) for goal, bound in known]


def _told(posed: Posed, watch: Watch) -> Watch:
    """What is called with values as the core has them, so that they are told as the user knows them."""
    goals = {goal.stage.name: goal for goal in posed.goals}

    def tell(stage: str, value: float, bound: float | None) -> None:
        told = goals[stage].told
        watch(stage, told(value), None if bound is None else told(bound))

    return tell


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
        return self.deadline - min(_AFTER * (now - self._begun), max(0.0, self.deadline - now) / 2)

    def lap(self, name: str) -> None:
        now = monotonic()
        self.laps[name] = now - self._last
        self._last = now

"""The question ``compare`` about plans: one queue by sequential schedulers and by ``plan``, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from ..models.cluster import Cluster
from ..models.collector import young_only
from ..models.gates import FeatureGates
from ..models.planned_units import expanded
from ..models.queue import planned
from ..problem.policies import KUBE, check_policy
from .allocate import gates_of
from .honoured import check_groups, check_honoured
from .kube_scheduler import NAME as KUBE_SCHEDULER
from .kube_scheduler import check_policy as check_upstream_policy
from .plan_outcome import UNKNOWN, PlannedUnitOutcome, StageOutcome
from .planners import PLAN, check_planner, default_planners, schedule
from .planning.rivals.figures import Figures, figures
from .planning.rivals.orders import ORDERS
from .planning.rivals.setting import Input, Setting
from .soft_entries import overlooked

TIME_LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class PlannerRun:
    """What a planner made of the queue in one order, empty for ``plan``, which takes it as a whole.

    ``decided``: nothing was left open for want of time. ``outcome`` and ``objective`` are those of ``plan``.
    """

    planner: str
    order: str
    units: tuple[PlannedUnitOutcome, ...]
    figures: Figures
    decided: bool
    seconds: float
    version: str = ""
    outcome: str = ""
    objective: tuple[StageOutcome, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How it is called: ``planner/order``, or the planner alone."""
        return f"{self.planner}/{self.order}" if self.order else self.planner


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """All runs, each checked; ``asked`` units and ``gangs`` are in the queue."""

    asked: int
    gangs: int
    runs: tuple[PlannerRun, ...]
    gates: FeatureGates
    cel_errors: str

    @property
    def rivals(self) -> tuple[PlannerRun, ...]:
        """Those that place one unit after the other."""
        return tuple(run for run in self.runs if run.planner != PLAN)

    @property
    def plan(self) -> PlannerRun | None:
        """The run of ``plan``; None if it was not asked."""
        return next((run for run in self.runs if run.planner == PLAN), None)

    @property
    def beaten(self) -> bool:
        """Some rival admits more units than ``plan``."""
        plan = self.plan
        return plan is not None and any(run.figures.admitted > plan.figures.admitted for run in self.rivals)

    @property
    def decided(self) -> bool:
        """All were done in time."""
        return all(run.decided for run in self.runs)


@young_only()
def compare_plans(
    cluster: Cluster,
    planners: Sequence[str] | None = None,
    *,
    orders: Sequence[str] = tuple(ORDERS),
    objective: str | Sequence[str] = (),
    gap: float = 0.001,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = KUBE,
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
) -> PlanComparison:
    """Ask several planners about one queue; ``time_limit`` is for each of them, each time.

    ``orders`` are those in which units arrive at the sequential ones; ``objective`` and ``gap`` are for ``plan``. Other
    options as for ``plan``. Without ``planners`` all are asked, the real scheduler where it is built
    and knows all rules.

    Raises ``ValueError``, one line, for unknown planners and orders, none or repeated ones, as ``plan`` does, and for
    rules beyond the API that a sequential planner does not know; ``PeerError`` if the real scheduler is asked for and
    not built, or fails; ``VerificationError`` if an answer is wrong.
    """
    check_policy(cel_errors)
    _check_names(planners, orders)
    gates = gates_of(feature_gates)
    sets = planned(cluster, namespace=namespace, selector=selector, gates=gates)
    units = tuple(expanded(cluster, sets, gates))
    given = Input(cluster, units, gates, cel_errors, seed, namespace, selector)
    asker = _Asker(given, tuple(orders), objective, gap, time_limit)
    names = asker.all() if planners is None else planners
    for name in names:
        asker.check(name)
    gangs = {unit.set.gang for unit in units if unit.set.gang is not None}
    # ``plan`` comes first, for it knows what is wrong with the question.
    runs = {name: asker.runs(name) for name in sorted(names, key=lambda name: name != PLAN)}
    ordered = tuple(run for name in names for run in runs[name])
    return PlanComparison(len(units), len(gangs), ordered, gates, cel_errors)


def _check_names(planners: Sequence[str] | None, orders: Sequence[str]) -> None:
    for name in planners or ():
        check_planner(name)
    for order in orders:
        if order not in ORDERS:
            raise ValueError(f"unknown order {order!r}, known are: {', '.join(ORDERS)}")
    for what, found in (("planner", planners), ("order", orders)):
        if found is not None and (not found or len(set(found)) < len(found)):
            raise ValueError(f"at least one {what} is needed, and none twice")


@dataclass(frozen=True, slots=True)
class _Asker:
    """Options that all planners are asked with."""

    given: Input
    orders: tuple[str, ...]
    objective: str | Sequence[str]
    gap: float
    time_limit: float | None

    def all(self) -> list[str]:
        """All planners that are there; the real scheduler only if it can be asked this."""
        return [name for name in default_planners() if name != KUBE_SCHEDULER or self._knows(name)]

    def _knows(self, planner: str) -> bool:
        try:
            self.check(planner)
        except ValueError:
            return False
        return True

    def check(self, planner: str) -> None:
        """Raise ``ValueError`` for a planner that does not know what some claims demand (SOFT-3, CEL-6)."""
        if planner == PLAN:
            return
        asked = [one.unit for one in self.given.units]
        check_groups(planner, self.given.cluster, asked)
        if planner == KUBE_SCHEDULER:
            check_upstream_policy(self.given.cel_errors)
            check_honoured(planner, self.given.cluster, asked)

    def runs(self, planner: str) -> list[PlannerRun]:
        return [self._plan()] if planner == PLAN else [self._scheduled(planner, order) for order in self.orders]

    def _scheduled(self, planner: str, order: str) -> PlannerRun:
        found = schedule(self.given, planner, order, self.time_limit)
        notices = overlooked(planner, self.given.cluster, [one.unit for one in self.given.units])
        counted = self._figures(found.units)
        return PlannerRun(
            planner, order, found.units, counted, found.in_time, found.seconds, found.version, notices=notices
        )

    def _plan(self) -> PlannerRun:
        # Loads the solver's library, which schedulers do without.
        from .plan import plan

        given = self.given
        started = monotonic()
        found = plan(
            given.cluster,
            objective=self.objective,
            gap=self.gap,
            namespace=given.namespace,
            selector=given.selector,
            feature_gates=given.gates,
            cel_errors=given.cel_errors,
            time_limit=self.time_limit,
            seed=given.seed,
        )
        seconds = monotonic() - started - found.seconds.get("verify", 0.0)
        counted = self._figures(found.units)
        return PlannerRun(
            PLAN,
            "",
            found.units,
            counted,
            found.outcome != UNKNOWN,
            seconds,
            outcome=found.outcome,
            objective=found.objective,
            notices=found.notices,
        )

    def _figures(self, units: Sequence[PlannedUnitOutcome]) -> Figures:
        deadline = None if self.time_limit is None else monotonic() + self.time_limit
        return figures(Setting(self.given, deadline), self.given.units, units)

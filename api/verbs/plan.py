"""The public function ``plan``, its result, and the document made of what the solver found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from decimal import Decimal, InvalidOperation
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.formats.decode import api_name
from ..models.formats.runtime import gc_young_only
from ..models.kubernetes import karpenter
from ..models.kubernetes.core import Node
from ..models.kubernetes.extensions import Predicate
from ..models.kubernetes.gates import FeatureGates, gates_of
from ..models.results.common import ProofKind
from ..models.results.plan import (
    BoughtNodes,
    PlanDocument,
    PlannedNode,
    PlannedUnit,
    PlanStep,
    PlanVerdict,
    PlanVictim,
    StageProgress,
    plain_number,
)
from . import Interrupted, ResultWithManifests
from .allocate import allocated_manifests
from .pictured_plan import PicturedPlan

if TYPE_CHECKING:
    import pandas

    from ..integrations.karpenter.candidates import NodeMarket
    from ..models.kubernetes.node_templates import PurchaseLimit
    from ..models.workload.quota import QuotaProblem
    from ..reports.plots import PlotSource
    from ..solver.plan.outcome import PlanOutcome
    from .moves import MovingPods

# The part of the time that a plan has where other types, or what kube-scheduler would do, are looked for later.
_PLANNING_SHARE = 0.9
PlanWatch = Callable[[str, float, float | None], None]


class PlanResult(ResultWithManifests[PlanDocument]):
    """The answer of ``plan``; ``progress`` is what was known of each stage at what time."""

    def __init__(
        self,
        document: PlanDocument,
        manifests: Callable[[], Iterable[dict[str, Any]]] = list,
        cluster: Cluster | None = None,
        progress: Sequence[StageProgress] = (),
        pictured: PicturedPlan | None = None,
    ) -> None:
        super().__init__(document, manifests, cluster)
        self.progress = tuple(progress)
        self._pictured = pictured

    @property
    def outcome(self) -> str:
        """``Optimal``, ``Feasible``, ``Infeasible`` or ``Unknown``; see ``docs/guides/plan.md``."""
        return self.written.outcome

    @property
    def placed(self) -> int:
        """How many units have a node, of all that were asked about."""
        return self.written.placed

    @property
    def units(self) -> Sequence[PlannedUnit]:
        """Units in the order of the queue, each with its node and claims, or with reasons; made when looked at."""
        return self.written.units

    @property
    def nodes(self) -> tuple[PlannedNode, ...]:
        """All nodes, those to be bought behind the others."""
        return self.written.nodes

    @property
    def steps(self) -> tuple[PlanStep, ...]:
        """An order in which the plan can be carried out; none where running pods may neither move nor go."""
        return self.written.steps or ()

    @property
    def victims(self) -> tuple[PlanVictim, ...]:
        """The running pods that lose their places; none where they may not."""
        return self.written.victims or ()

    @property
    def bought(self) -> dict[str, int]:
        """How many nodes must be bought, by the name of their template."""
        return {one.template: one.count for one in self.written.bought}

    def to_frame(
        self,
        table: Literal[
            "units", "nodes", "owners", "objective", "workloads", "queues", "steps", "victims", "scheduler", "coverage"
        ] = "units",
    ) -> pandas.DataFrame:
        """One row a unit; or a node, owner, stage, workload, quota in use, step, victim or coverage group.

        ``scheduler`` has what kube-scheduler would do, a row for each owner.
        """
        from ..reports import plan as report

        columns, rows = report.FRAMES[table]
        return self._frame(rows(self.written), columns)

    def summary(self) -> str:
        """One line: how good the plan is, and how much is placed."""
        from ..reports import plan as report

        return report.summary(self.written)

    def reasons(self) -> Iterable[str]:
        """Why units are not placed: one line for all that have the same reasons."""
        from ..reports import plan as report

        return report.reasons(self.written)

    def _plot_source(self) -> PlotSource:
        return self._pictured.source(self.document, self.progress) if self._pictured else super()._plot_source()

    def _shown_frames(self) -> Iterable[pandas.DataFrame]:
        return (self.to_frame("owners"), self.to_frame("objective"))


class PlanInterrupted(Interrupted[PlanResult]):
    """Ctrl-C during ``plan``; ``result`` is the best plan by then, and is verified."""


def plan(
    cluster: Cluster,
    *,
    objective: str | Sequence[str] = (),
    gap: float = 0.001,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "strict",
    time_limit: float | None = 300.0,
    seed: int = 0,
    buy: bool = False,
    only_new: bool = False,
    budget: Decimal | float | str | None = None,
    alternatives: str = "any",
    mix: Cluster | None = None,
    natural_gangs: bool = False,
    quota: str = "",
    moves: int | str | None = None,
    move_bare: bool = False,
    consolidate: bool = False,
    replacement: str = "any",
    preempt: bool = False,
    executor: Executor | None = None,
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    audit: float | None = None,
    duals: bool = False,
    timings: bool = False,
    watch: PlanWatch | None = None,
) -> PlanResult:
    """Plan everything that waits at once: which units go to which nodes with which devices, as good as can be.

    Units are pods, the pods that controllers such as Jobs, Deployments and JobSets still have to make, and claims of no
    pod. What runs is given. The whole plan is verified jointly, and every stage of the objective has a bound that no
    plan exceeds.

    Parameters
    ----------
    cluster
        What there is, and what waits; see ``load``.
    objective
        Stages, the most important first; a string holds several, separated by commas: ``priority``, ``admitted``
        (also ``admitted=devices``, ``admitted=capacity:NAME``, ``admitted=annotation:KEY``), ``fair``, ``borrowed``,
        ``cost``, ``fewest-nodes``, ``free-domains=LABEL``, ``spread``, ``preferences``, ``preference``, ``soft``,
        ``fragmentation``, ``compact``, ``least-consumption``, and with ``moves`` also ``move-cost`` and ``moves``.
        Default: ``priority`` and ``admitted``, with ``buy`` also ``cost``, with NodePools also ``fewest-nodes``, and
        then ``least-consumption`` where units have a choice between devices of different size.
    gap
        How far value and bound of a stage may be apart, relative to the bound, for the stage to count as proven.
    namespace, selector
        Which units are planned, by namespace and by labels as for kubectl; default all that wait.
    feature_gates
        Switches by upstream name; what is not named is on.
    cel_errors
        What a CEL run-time error on a candidate does: ``strict`` (such a device is never used) or ``skip``. ``kube``
        means ``strict``, for a plan visits devices in no order.
    time_limit
        Seconds for everything; None for no limit. The plan is then the best that was found.
    seed
        Decides the share ids.
    buy
        Nodes can be bought, of the cluster's NodeTemplates and of Karpenter's NodePools and instance types: the
        cheapest with which everything fits, and of these with NodePools the fewest.
    only_new
        With ``buy``: the nodes that there are do not count.
    budget
        With ``buy``: the most that may be spent, in the unit of the templates' prices; then the best for that.
    alternatives
        What counts more in a request of alternatives: ``any``: the stages before ``preference``, such as cost;
        ``in-order``: the order of the alternatives, before the cost.
    mix
        The queue for which ``fragmentation`` leaves room; default that of the cluster.
    natural_gangs
        Pods that are of no use alone are placed together or not at all: a group of a LeaderWorkerSet, all pods of a
        JobSet, of a job of kubeflow.org or of a RayCluster (KND-8).
    quota
        Whether workloads need quota of Kueue: ``joint`` chooses what is admitted, with which flavors, and where it is
        placed at once; ``kueue`` places what Kueue's own cycles admit; ``ignore`` places without quota. Default
        ``joint`` where there are ClusterQueues. A workload is placed whole, or in part where Kueue may admit a part.
    moves
        How many running pods may go to other nodes and devices at most, or ``any``. ``move-cost`` and ``moves`` follow
        what is placed then; where nothing waits they come last, and ``fewest-nodes`` is the default.
    move_bare
        With ``moves``: pods move that no controller makes again, too.
    consolidate
        Find the cheapest nodes for what runs: which can go, and which new ones replace them; it means ``moves="any"``.
    replacement
        With ``consolidate``: how many new nodes there may be: ``none``, ``one``, as Karpenter has it, or ``any``.
    preempt
        Running pods of lower priority may lose their places. ``budgets``, ``victims`` (the fewest of each priority,
        from the highest down), ``devices-lost`` and ``capacity-lost`` follow what is placed then. With ``moves`` a pod
        may move instead.
    executor
        Where parts of the work run side by side: any ``concurrent.futures.Executor``. Threads serve best, for they
        share models. Any number of workers has the same plan.
    constraints
        Constraints for every claim of the queue, beside its own, as for ``allocate``.
    audit
        Seconds for which the verifier finds the bound of each stage anew, in a formulation of its own, and decides
        again that what has no node fits none; within ``time_limit``. What was audited is ``certified``, and other
        stages are not proven. None: no audit.
    duals
        Put the duals of the linear program of each stage into the document: what its bound can be found from anew.
    timings
        Put wall times into the document.
    watch
        Called with the name of a stage, its value and its bound so far (None for none yet) whenever they are news.

    Raises
    ------
    ValueError
        One line, for an unknown gate, stage or policy, a bad selector, gap or budget.
    VerificationError
        If an audit finds a plan, a bound or a refusal to be wrong: a defect of drasat.
    PlanInterrupted
        For a KeyboardInterrupt while planning; ``result`` holds the best plan by then.

    """
    began = monotonic()
    from ..problem.messages import DeadlineExceededError
    from ..solver.engines.outcome import SearchInterrupted
    from ..solver.engines.registry import effective_policy
    from ..solver.plan.plan import plan as solve
    from ..solver.plan.question import unread_plan

    moving: MovingPods | None = None
    if moves is not None or move_bare or consolidate or replacement != "any" or preempt:
        from .moves import MovingPods

        moving = MovingPods.of(cluster, moves, move_bare, consolidate, replacement, preempt)
        buy = buy or moving.buys
    cluster, needed = _quota_problem(cluster, quota, time_limit)
    most = None if budget is None else _decimal_budget(budget)
    market: NodeMarket | None = None
    if buy and cluster.objects(karpenter.NodePool):
        from ..integrations.karpenter.purchase import market_in_time, types_beside, with_offerings

        ends = None if time_limit is None else began + time_limit
        market = market_in_time(cluster, gates_of(feature_gates), [mix] if mix else (), ends)
        beside = partial(types_beside, cluster, market, gates=gates_of(feature_gates), deadline=ends)
        cluster = market.cluster
    ask = partial(solve, cluster, namespace=namespace, selector=selector, objective=objective, gap=gap, mix=mix)
    ask = partial(ask, natural_gangs=natural_gangs, **({"quota": needed} if needed else {}))
    limits: Sequence[PurchaseLimit] = market.limits if market else ()
    limits = moving.purchase_limits(limits, cluster) if moving else limits
    if limits or market is not None or alternatives != "any":
        ask = partial(ask, purchase_limits=limits, alternatives=alternatives)
    ask = partial(ask, buy=buy, only_new=only_new, budget=most, feature_gates=feature_gates, cel_errors=cel_errors)
    ask = partial(ask, duals=duals, audit=audit) if duals or audit is not None else ask
    progress: list[StageProgress] = []
    if time_limit is not None:
        left = max(0.0, time_limit - (monotonic() - began))
        time_limit = left * _PLANNING_SHARE if market is not None and market.is_flexible else left
    ends = None if time_limit is None else monotonic() + time_limit
    if time_limit is not None and moving and preempt:
        time_limit *= _PLANNING_SHARE

    def record(stage: str, value: float, bound: float | None) -> None:
        progress.append(StageProgress(monotonic() - began, stage, value, bound))
        if watch is not None:
            watch(stage, value, bound)

    def made(answer: PlanOutcome) -> PlanResult:
        document = plan_document(answer, cluster, timings=timings)
        if moving is not None:
            document = moving.with_steps(document, answer)
        if market is not None:
            document = with_offerings(document, market, beside(answer))
        pictured = PicturedPlan(answer, cluster, namespace, selector, natural_gangs, seed, only_new, tuple(constraints))
        return PlanResult(document, partial(_manifests, answer, market), cluster, progress, pictured)

    ask = partial(ask, may_be_unread=True)
    call = moving.asked(cluster, ask) if moving else ask
    try:
        found = call(time_limit=time_limit, seed=seed, executor=executor, watch=record, constraints=constraints)
    except SearchInterrupted as interrupted:
        raise PlanInterrupted(made(interrupted.answer)) from None
    except DeadlineExceededError:
        policy = effective_policy("cp-sat", cel_errors)
        found = unread_plan(cluster, gates_of(feature_gates), policy, gap, (), {})
    result = made(found)
    if moving is not None and preempt and not found.unread:
        left_over = None if ends is None else max(0.0, ends - monotonic())
        tell = partial(moving.with_scheduler, result.written, cluster, found, left_over)
        try:
            result.written = tell(namespace=namespace, selector=selector, seed=seed)
        except KeyboardInterrupt:
            raise PlanInterrupted(result) from None
    return result


def _quota_problem(cluster: Cluster, mode: str, time_limit: float | None) -> tuple[Cluster, QuotaProblem | None]:
    """What Kueue's objects ask of the plan, and the cluster without pods of workloads that are evicted.

    Most clusters have no queues of Kueue: then nothing of it is loaded.
    """
    from ..models.kubernetes.kueue import ClusterQueue

    if not mode and not cluster.objects(ClusterQueue):
        return cluster, None
    from ..integrations.kueue.joint import quota_problem

    return quota_problem(cluster, mode, time_limit) or (cluster, None)


def _manifests(answer: PlanOutcome, market: NodeMarket | None) -> Iterable[dict[str, Any]]:
    """NodeClaims for nodes that are bought of pools, and claims with their devices."""
    if market is not None:
        from ..integrations.karpenter.purchase import node_claims_of_plan

        yield from node_claims_of_plan(market, answer)
    yield from allocated_manifests(answer)


def _decimal_budget(budget: Decimal | float | str) -> Decimal:
    try:
        amount = Decimal(str(budget))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        raise ValueError(f"budget {str(budget)!r} is no decimal number")
    return amount


@gc_young_only()
def plan_document(found: PlanOutcome, cluster: Cluster, *, timings: bool = False) -> PlanDocument:
    """The document of a ``plan``; the cluster knows what nodes cost."""
    from ..solver.plan.outcome import planned_units

    prices = {name: template.spec.price or 0 for name, template in cluster.node_templates.items()}
    return PlanDocument(
        outcome=plan_verdict(found.outcome),
        asked=found.asked,
        placed=found.placed,
        objective=found.objective,
        units=cast("tuple[PlannedUnit, ...]", planned_units(found)),
        nodes=found.nodes,
        bought=tuple(_bought_nodes(name, nodes, prices[name]) for name, nodes in sorted(found.bought.items()) if nodes),
        gap=found.gap,
        feature_gates=found.gates.to_dict(),
        cel_errors=found.cel_errors,
        verified=found.verified,
        certified=found.outcome in ("Optimal", "Infeasible")
        and all(stage.proof is not None and stage.proof.is_checked for stage in found.objective),
        proof=ProofKind.weakest(stage.proof for stage in found.objective if stage.proof is not None),
        statistics={api_name(name): count for name, count in dataclasses.asdict(found.statistics).items()},
        notices=found.notices,
        quota_mode=("kueue" if found.quota.by_cycles else "joint") if found.quota else msgspec.UNSET,
        workloads=found.quota.workloads if found.quota else msgspec.UNSET,
        queues=found.quota.queues if found.quota else msgspec.UNSET,
        duals=msgspec.UNSET if found.duals is None else found.duals,
        coverage=found.coverage or msgspec.UNSET,
        unread=found.unread or msgspec.UNSET,
        timings=dict(found.seconds) if timings else msgspec.UNSET,
    )


def plan_verdict(text: str) -> PlanVerdict:
    """The solver's outcome as the documents' type."""
    verdict: PlanVerdict = msgspec.convert(text, PlanVerdict)
    return verdict


def _bought_nodes(template: str, nodes: Sequence[Node], price: str | float) -> BoughtNodes:
    each = Decimal(str(price))
    return BoughtNodes(
        template=template, count=len(nodes), price=plain_number(each), cost=plain_number(each * len(nodes))
    )

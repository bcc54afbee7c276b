"""The public functions ``compare``, ``compare_plans`` and ``sweep`` with their results.

A sweep compares engines on generated clusters of growing size: it shows how the time of each grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.kubernetes.gates import FeatureGates
from ..models.results import comparison as records
from ..models.results.common import ProofKind, outcome_of
from ..solver.compare.engines import devices_by_request
from . import Result, TimedResult
from .pictured_plan import CURVE_SECONDS, made_by_plan
from .plan import plan_verdict

if TYPE_CHECKING:
    import pandas

    from ..reports.plots import MadeAllocation, PlotSource
    from ..solver.compare.admissions import QuotaQuestion
    from ..solver.compare.engines import EngineComparison, EngineRun, UnitComparison
    from ..solver.compare.figures import FragmentationPoint
    from ..solver.compare.plans import PlanComparison, PlannerRun
    from ..solver.engines.outcome import UnitOutcome


class ComparisonResult(TimedResult[records.ComparisonDocument]):
    """The answer of ``compare``."""

    _found: EngineComparison | None

    @property
    def same_verdict(self) -> bool:
        """Outcome and number of admitted units agree."""
        return self.document.same_verdict

    @property
    def identical(self) -> bool:
        """Every unit got the same node and devices everywhere."""
        return self.document.identical

    def to_frame(self) -> pandas.DataFrame:
        """One row an engine."""
        from ..reports import comparison

        return self._frame(comparison.comparison_figures(self.document, self.seconds), comparison.COMPARISON_COLUMNS)

    def _plot_source(self) -> PlotSource:
        from ..reports.plots import PlotSource

        return PlotSource(self.document, self.cluster, seconds=self.seconds, made=self._made)

    def _made(self) -> dict[str, list[MadeAllocation]]:
        """The allocations of the first two engines."""
        from .allocate import allocation_document, made_allocations

        made: dict[str, list[MadeAllocation]] = {}
        for run in self._found.runs[:2] if self._found else ():
            made |= made_allocations(allocation_document(run.answer), self.cluster, run.engine)
        return made

    def reasons(self) -> Iterable[str]:
        """Whether the answers agree, and where they part."""
        from ..reports import comparison

        return comparison.comparison_summary(self.document)

    def summary(self) -> str:
        """What each engine answers, and how many claims it admits."""
        return ", ".join(f"{one.engine}: {one.outcome}, {one.admitted} admitted" for one in self.document.engines)


def compare(
    cluster: Cluster,
    engines: Sequence[str] = ("backtracking", "kube-scheduler"),
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "kube",
    time_limit: float | None = 60.0,
    repeat: int = 1,
    seed: int = 0,
    timings: bool = False,
) -> ComparisonResult:
    """Ask several engines the same, and say how their answers relate.

    Parameters
    ----------
    cluster
        What there is, and what is asked for; see ``load``.
    engines
        Two or more names as for ``allocate``; the others are compared with the first.
    node, namespace, selector, feature_gates, cel_errors, seed
        As for ``allocate``.
    time_limit
        Seconds for each engine, each time.
    repeat
        How often each engine is asked; its time is the median.
    timings
        Put all times into the document.

    Raises
    ------
    ValueError
        One line, for fewer than two engines, and as ``allocate`` does.
    PeerError
        One line, if the real allocator is not built, or fails, and no other engine could answer.

    """
    from ..solver.compare.engines import compare as solve

    ask = partial(solve, cluster, engines, node=node, namespace=namespace, selector=selector, repeat=repeat)
    found = ask(feature_gates=feature_gates, cel_errors=cel_errors, time_limit=time_limit, seed=seed)
    seconds = {run.engine: run.median_seconds for run in found.runs}
    return ComparisonResult(_comparison_document(found, timings), seconds, cluster, found)


def _comparison_document(found: EngineComparison, timings: bool) -> records.ComparisonDocument:
    first = found.runs[0].answer
    names = [run.engine for run in found.runs]
    return records.ComparisonDocument(
        same_verdict=found.same_verdict,
        identical=found.identical,
        decided=found.all_decided,
        asked=len(found.units),
        engines=tuple(map(_engine_answer, found.runs)),
        skipped=_skipped_answers(found.skipped),
        parting=_compared_unit(found.parting, names) if found.parting else None,
        units=tuple(_compared_unit(unit, names) for unit in found.units),
        feature_gates=first.gates.to_dict(),
        cel_errors=first.cel_errors,
        timings={run.engine: list(run.seconds) for run in found.runs} if timings else msgspec.UNSET,
    )


def _skipped_answers(skipped: Mapping[str, str]) -> tuple[records.SkippedAnswer, ...]:
    return tuple(records.SkippedAnswer(name=name, reason=reason) for name, reason in skipped.items())


def _engine_answer(run: EngineRun) -> records.EngineAnswer:
    return records.EngineAnswer(
        engine=run.engine,
        version=run.version,
        outcome=outcome_of(run.answer.outcome),
        admitted=run.admitted,
        steps=run.answer.statistics.steps,
        left=run.left,
        verified=run.answer.verified,
        notices=run.answer.notices,
    )


def _compared_unit(found: UnitComparison, engines: Sequence[str]) -> records.UnitSides:
    claim, request = found.request or ("", "")
    rows = zip(engines, found.relations, found.answers, strict=True)
    return records.UnitSides(
        pod=found.unit.pod_label,
        claims=tuple("/".join(ref.key) for ref in found.unit.claims),
        relation=found.relation,
        claim=claim,
        request=request,
        sides=tuple(_unit_side(*row) for row in rows),
    )


def _unit_side(engine: str, relation: records.AnswerRelation, answer: UnitOutcome) -> records.UnitSide:
    return records.UnitSide(
        engine=engine,
        relation=relation,
        outcome=outcome_of(answer.outcome),
        node=answer.node,
        requests=tuple(
            records.RequestDevices(claim=claim, request=request, devices=tuple("/".join(device) for device in devices))
            for (claim, request), devices in devices_by_request(answer).items()
        ),
        reasons=answer.reasons,
        proof=ProofKind.weakest(one.proof_kind for one in answer.failures),
    )


class PlanComparisonResult(TimedResult[records.PlanComparisonDocument]):
    """The answer of ``compare_plans``; ``seconds`` are by ``planner/order``."""

    _found: PlanComparison | None

    @property
    def beaten(self) -> bool:
        """Some planner admits more units than ``plan``."""
        return self.document.beaten

    @property
    def planners(self) -> tuple[records.PlannerAnswer, ...]:
        """Each planner with each order."""
        return self.document.planners

    def to_frame(self) -> pandas.DataFrame:
        """One row a planner and order; fragmentation is a part of the free devices, and of all."""
        from ..reports import comparison as report

        rows = report.plan_comparison_figures(self.document, self.seconds)
        return self._frame(rows, report.plan_comparison_columns(self.document))

    def _plot_source(self) -> PlotSource:
        from ..reports.plots import PlotSource

        return PlotSource(self.document, self.cluster, seconds=self.seconds, made=self._made, curves=self._curves)

    def _made(self) -> dict[str, list[MadeAllocation]]:
        """The allocations of planners in one order of the queue; of the first one and the plan, where there is one."""
        runs = self._found.runs if self._found else ()
        firsts = {run.planner: run for run in reversed(runs)}
        chosen = sorted((run for run in runs if firsts[run.planner] is run), key=lambda run: not run.order)
        shown = (*chosen[:1], chosen[-1]) if len(chosen) > 1 else chosen
        return {run.label: made_by_plan(run.units) for run in shown}

    def _curves(self) -> dict[str, list[FragmentationPoint]]:
        from ..solver.compare.plans import fragmentation_of_run

        deadline, found = monotonic() + CURVE_SECONDS, self._found
        if found is None:
            return {}
        runs = [run for run in found.runs if run.order in ("", found.runs[0].order or "given")]
        return {run.label: fragmentation_of_run(run.inputs or found.inputs, run, deadline) for run in runs}

    def summary(self) -> str:
        """The figures of both plans in one line."""
        from ..reports import comparison as report

        return report.plan_comparison_summary(self.document)


def compare_plans(
    cluster: Cluster,
    planners: Sequence[str] | None = None,
    *,
    orders: Sequence[str] = ("given", "random", "priority"),
    objective: str | Sequence[str] = (),
    gap: float = 0.001,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "kube",
    quota: str = "",
    moves: int | str | None = None,
    move_bare: bool = False,
    preempt: bool = False,
    time_limit: float | None = 60.0,
    seed: int = 0,
    timings: bool = False,
) -> PlanComparisonResult:
    """Plan one queue in several ways: unit by unit, as schedulers do, and as a whole, as ``plan`` does.

    Parameters
    ----------
    cluster
        What there is, and what waits; see ``load``.
    planners
        Sequential schedulers: ``first-fit`` (the first node by name that fits), ``best-fit`` (the node on which the
        least is left), ``fgd`` (the node whose fragmentation for the queue's mix grows the least) and
        ``kube-scheduler`` (first fit with the devices that the real allocator chooses); and ``plan``. Default: all,
        the real allocator where it is built. With ClusterQueues ``kueue`` (what Kueue's cycles admit, in this order, by
        first fit on nodes of its flavors) and ``plan`` (which admits and places at once); the others know no quota.
        With ``moves`` the default is ``first-fit``, ``descheduler-like`` (which empties the least used node by trial,
        again and again, until what waits has room) and ``plan``; with ``preempt`` it is ``first-fit``,
        ``preempt-like-kube-scheduler`` (which displaces running pods as kube-scheduler does) and ``plan``.
    orders
        Orders in which units arrive at sequential schedulers: ``given`` (as read), ``random``, ``priority`` (the
        highest first).
    objective, gap
        For ``plan``; of several stages the first counts most, and ``admitted`` is not the first unless it is asked for.
    namespace, selector, feature_gates
        As for ``plan``.
    cel_errors
        As for ``allocate``; ``plan`` takes ``kube`` for ``strict``.
    quota
        ``ignore``: quota of Kueue does not count. Default: it counts where there are ClusterQueues.
    moves, move_bare
        As for ``plan``: how many running pods ``descheduler-like`` and ``plan`` may move, and which. Then quota does
        not count.
    preempt
        As for ``plan``: running pods may lose their places for what waits with a higher priority, but none moves. Then
        quota does not count, either.
    time_limit
        Seconds for everything, shared out among the runs; ``plan`` gets as much as three of them. Runs for which no
        time is left are left out, and a notice names them.
    seed
        Decides the random order, and share ids.
    timings
        Put all times into the document.

    Raises
    ------
    ValueError
        One line, for unknown planners or orders, as ``plan`` does, and if no planner knows the rules of the question.
    PeerError
        One line, if the real allocator is not built, or fails, and no other planner could answer.

    """
    from ..solver.compare.plans import compare_plans as solve

    ask = partial(solve, cluster, planners, orders=orders, objective=objective, gap=gap)
    ask = partial(ask, namespace=namespace, selector=selector, feature_gates=feature_gates, cel_errors=cel_errors)
    began = monotonic()
    question = _quota_question(cluster, quota, time_limit)
    if moves is not None or move_bare or preempt:
        from ..solver.plan.lifted import MoveOptions
        from .moves import move_options

        if question is not None:
            said = "take places of" if preempt else "move"
            raise ValueError(f"planners that {said} running pods do not look at quota: say --quota ignore")
        if preempt and (moves is not None or move_bare):
            raise ValueError("moves and preemption are compared one at a time")
        ask = partial(ask, moves=MoveOptions(preempts=True, moves=False) if preempt else move_options(moves, move_bare))
    if question is not None and time_limit is not None:
        time_limit = max(0.0, time_limit - (monotonic() - began))
    found = ask(time_limit=time_limit, seed=seed, quota=question)
    seconds = {run.label: run.seconds for run in found.runs}
    return PlanComparisonResult(
        _plan_comparison_document(found, gap, seed, seconds if timings else msgspec.UNSET), seconds, cluster, found
    )


def _quota_question(cluster: Cluster, mode: str, time_limit: float | None) -> QuotaQuestion | None:
    """The quota of Kueue, if it counts. Raises ``ValueError``, one line, for an unknown mode."""
    from ..models.kubernetes.kueue import ClusterQueue

    if mode not in ("", "ignore"):
        raise ValueError(f"unknown quota mode {mode!r}: a comparison has all ways of admission, or ignores quota")
    if mode or not cluster.objects(ClusterQueue):
        return None
    from ..integrations.kueue.joint import quota_problem
    from ..solver.compare.admissions import QuotaQuestion

    joint, admitted = quota_problem(cluster), quota_problem(cluster, "kueue", time_limit)
    return QuotaQuestion(*joint, *admitted) if joint is not None and admitted is not None else None


def _plan_comparison_document(
    found: PlanComparison, gap: float, seed: int, timings: dict[str, float] | msgspec.UnsetType
) -> records.PlanComparisonDocument:
    return records.PlanComparisonDocument(
        beaten=found.beaten,
        decided=found.decided,
        asked=found.asked,
        gangs=found.gangs,
        planners=tuple(map(_planner_answer, found.runs)),
        skipped=_skipped_answers(found.skipped),
        gap=gap,
        seed=seed,
        feature_gates=found.gates.to_dict(),
        cel_errors=found.cel_errors,
        timings=timings,
    )


def _proof_of(run: PlannerRun) -> ProofKind | None:
    """What it rests on that no plan is better; None where that is not proven."""
    if not run.objective or not all(one.proven for one in run.objective):
        return None
    return ProofKind.weakest(one.proof or ProofKind.SOLVER for one in run.objective)


def _planner_answer(run: PlannerRun) -> records.PlannerAnswer:
    counted = run.figures
    left = counted.fragmentation
    fragmentation = None
    if left is not None:
        free, wasted = round(left.free, 6), round(left.wasted, 6)
        fragmentation = records.FragmentationAnswer(free=free, wasted=wasted, of_free=left.of_free, of_all=left.of_all)
    return records.PlannerAnswer(
        label=run.label,
        planner=run.planner,
        order=msgspec.convert(run.order, records.QueueOrder) if run.order else None,
        version=run.version,
        outcome=plan_verdict(run.outcome) if run.outcome else None,
        admitted=counted.admitted,
        gangs=counted.gangs,
        used=counted.used,
        devices=counted.devices,
        fragmentation=fragmentation,
        decided=run.decided,
        verified=True,
        objective=run.objective,
        notices=run.notices,
        quota=run.quota,
        whole=counted.whole,
        moves=run.moves,
        move_cost=run.move_cost,
        proof=(proof := _proof_of(run)),
        certified=proof is not None and proof.is_checked,
        preemption=run.preemption,
    )


class SweepResult(Result[records.SweepDocument]):
    """The answer of ``sweep``."""

    @property
    def same_verdict(self) -> bool:
        """At every size, the engines that were done in time agree."""
        return self.document.same_verdict

    @property
    def decided(self) -> bool:
        """No engine ran out of time."""
        return self.document.decided

    def summary(self) -> str:
        """How many sizes there are, and whether engines agree."""
        return f"{len(self.document.points)} sizes, {'the same verdict' if self.same_verdict else 'other verdicts'}"

    def to_frame(self) -> pandas.DataFrame:
        """One row a size and engine."""
        rows = [
            (point.size, one.engine, one.outcome, one.admitted, one.steps, one.seconds)
            for point in self.document.points
            for one in point.engines
        ]
        return self._frame(rows, ("size", "engine", "outcome", "admitted", "steps", "seconds"))


def parse_sweep(text: str) -> tuple[str, tuple[int, ...]]:
    """Read ``NAME`` or ``NAME=8,16,32``. Raises ``ValueError``, one line."""
    from ..scenarios.one_node import SWEEP_SIZES

    name, equals, listed = text.partition("=")
    if name not in SWEEP_SIZES:
        raise ValueError(f"unknown sweep {name!r}, known are: {', '.join(SWEEP_SIZES)}")
    if not equals:
        return name, SWEEP_SIZES[name]
    sizes = [size.strip() for size in listed.split(",")]
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise ValueError(f"sizes of a sweep must be numbers above zero, not {listed!r}")
    return name, tuple(map(int, sizes))


def sweep(name: str, sizes: Sequence[int], engines: Sequence[str], **options: Any) -> SweepResult:
    """Compare the engines at each size; ``options`` are those of ``compare``.

    An engine that runs out of time is not asked about larger sizes. Raises ``ValueError`` and ``PeerError``.
    """
    from ..scenarios.one_node import SWEEPS
    from ..solver.allocate.load import load

    points, found, running = [], [], list(engines)
    skipped: dict[str, str] = {}
    for size in sizes:
        result = compare(load(SWEEPS[name](size)), running, **options)
        found.append(result)
        engine_points = tuple(
            records.SweepEngine(
                engine=one.engine,
                outcome=one.outcome,
                admitted=one.admitted,
                steps=one.steps,
                seconds=result.seconds[one.engine],
            )
            for one in result.document.engines
        )
        points.append(records.SweepPoint(size=size, asked=result.document.asked, engines=engine_points))
        skipped |= {one.name: one.reason for one in result.document.skipped}
        slow = {one.engine for one in result.document.engines if one.outcome == "Unknown"}
        running = [engine for engine in running if engine not in slow and engine not in skipped]
        if len(running) < 2:
            break
    same, decided = all(one.same_verdict for one in found), all(one.document.decided for one in found)
    return SweepResult(
        records.SweepDocument(
            sweep=name, same_verdict=same, decided=decided, points=tuple(points), skipped=_skipped_answers(skipped)
        )
    )

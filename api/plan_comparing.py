"""The public function ``compare_plans`` and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from .models.cluster import Cluster
from .models.gates import FeatureGates
from .plan_answers import stage_told, verdict_told
from .plan_comparison_documents import FragmentationAnswer, Order, PlanComparisonDocument, PlannerAnswer
from .results import Result

if TYPE_CHECKING:
    import pandas

    from .solver.compare_plans import PlanComparison, PlannerRun
    from .solver.planning.rivals.figures import Fragmentation


class PlanComparisonResult(Result):
    """The answer of ``compare_plans``; ``seconds`` are by ``planner/order``."""

    document: PlanComparisonDocument

    def __init__(self, document: PlanComparisonDocument, seconds: Mapping[str, float]) -> None:
        self.document = document
        self.seconds = dict(seconds)

    @property
    def beaten(self) -> bool:
        """Some planner admits more units than ``plan``."""
        return self.document.beaten

    @property
    def planners(self) -> tuple[PlannerAnswer, ...]:
        """Each planner with each order."""
        return self.document.planners

    def to_frame(self) -> pandas.DataFrame:
        """One row a planner and order; fragmentation as a part of the free devices, and of all."""
        import pandas

        from .reports import plan_comparison as report

        rows = report.figures(self.document, self.seconds)
        return pandas.DataFrame(rows, columns=list(report.FRAME))

    def __repr__(self) -> str:
        from .reports import plan_comparison as report

        return f"PlanComparisonResult({report.summary(self.document)})"


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
        the real allocator where it is built.
    orders
        Orders in which units arrive at sequential schedulers: ``given`` (as read), ``random``, ``priority`` (the
        highest first).
    objective, gap
        For ``plan``; of several stages the first counts most, and ``admitted`` is not the first unless it is asked for.
    namespace, selector, feature_gates
        As for ``plan``.
    cel_errors
        As for ``allocate``; ``plan`` takes ``kube`` for ``strict``.
    time_limit
        Seconds for each planner, each time, and again for measuring its fragmentation.
    seed
        Decides the random order, and share ids.
    timings
        Put all times into the document.

    Raises
    ------
    ValueError
        One line, for unknown planners or orders, as ``plan`` does, and for rules beyond the Kubernetes API that a
        planner does not know.
    PeerError
        One line, if the real allocator is asked for and is not built, or fails.

    """
    from .solver.compare_plans import compare_plans as solve

    found = solve(
        cluster,
        planners,
        orders=orders,
        objective=objective,
        gap=gap,
        namespace=namespace,
        selector=selector,
        feature_gates=feature_gates,
        cel_errors=cel_errors,
        time_limit=time_limit,
        seed=seed,
    )
    seconds = {run.label: run.seconds for run in found.runs}
    return PlanComparisonResult(_document(found, gap, seed, seconds if timings else msgspec.UNSET), seconds)


def _document(
    found: PlanComparison, gap: float, seed: int, timings: dict[str, float] | msgspec.UnsetType
) -> PlanComparisonDocument:
    return PlanComparisonDocument(
        beaten=found.beaten,
        decided=found.decided,
        asked=found.asked,
        gangs=found.gangs,
        planners=tuple(map(_planner, found.runs)),
        gap=gap,
        seed=seed,
        feature_gates=found.gates.to_dict(),
        cel_errors=found.cel_errors,
        timings=timings,
    )


def _planner(run: PlannerRun) -> PlannerAnswer:
    counted = run.figures
    return PlannerAnswer(
        label=run.label,
        planner=run.planner,
        order=msgspec.convert(run.order, Order) if run.order else None,
        version=run.version,
        outcome=verdict_told(run.outcome) if run.outcome else None,
        admitted=counted.admitted,
        gangs=counted.gangs,
        used=counted.used,
        devices=counted.devices,
        fragmentation=_fragmentation(counted.fragmentation),
        decided=run.decided,
        verified=True,
        objective=tuple(map(stage_told, run.objective)),
        notices=run.notices,
    )


def _fragmentation(found: Fragmentation | None) -> FragmentationAnswer | None:
    if found is None:
        return None
    return FragmentationAnswer(
        free=round(found.free, 6), wasted=round(found.wasted, 6), of_free=found.of_free, of_all=found.of_all
    )

"""The public function ``compare_purchases`` and its result: planners that buy nodes, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.kubernetes.gates import FeatureGates
from ..models.results import comparison as records
from ..models.results.common import ProofKind
from ..models.results.comparison import SkippedAnswer
from . import TimedResult

if TYPE_CHECKING:
    import pandas

    from ..integrations.karpenter.comparison import PurchaseComparison, PurchaseRun


class PurchaseComparisonResult(TimedResult[records.PurchaseComparisonDocument]):
    """The answer of ``compare_purchases``; ``seconds`` are times by planner."""

    @property
    def planners(self) -> tuple[records.PurchaseAnswer, ...]:
        """Each planner with its nodes, cost, and pods without a place."""
        return self.document.planners

    def to_frame(self) -> pandas.DataFrame:
        """One row a node that a planner buys."""
        from ..reports import comparison as report

        return self._frame(report.purchase_figures(self.document), report.PURCHASE_COLUMNS)

    def summary(self) -> str:
        """One line: which planner buys cheapest."""
        from ..reports import comparison as report

        return report.purchase_summary(self.document)

    def reasons(self) -> Iterable[str]:
        """Pods without a place, those that are refused when nodes are filled, and planners that could not answer."""
        from ..reports import comparison as report

        return report.purchase_reasons(self.document)


def compare_purchases(
    cluster: Cluster,
    planners: Sequence[str] | None = None,
    *,
    gap: float = 0.001,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    time_limit: float | None = 60.0,
    seed: int = 0,
    timings: bool = False,
) -> PurchaseComparisonResult:
    """Buy nodes for one queue in several ways: as Karpenter does, and at least cost.

    Parameters
    ----------
    cluster
        What there is, what waits, and what can be bought: NodePools and instance types; see ``load``.
    planners
        ``karpenter`` (a provisioning round of Karpenter itself), ``karpenter-like`` (the same in Python) and ``plan``
        (least cost). Default: all, Karpenter itself where it is built.
    gap
        For ``plan``.
    namespace, selector, feature_gates
        As for ``plan``.
    time_limit
        Seconds for everything, shared out among the planners.
    seed
        Decides share ids.
    timings
        Put all times into the document.

    Raises
    ------
    ValueError
        One line, for unknown planners, a bad instance type, and if there is nothing to buy.
    PeerError
        One line, if no planner could answer.

    """
    from ..integrations.karpenter.comparison import compare_purchases as solve
    from ..models.kubernetes.gates import gates_of

    gates = gates_of(feature_gates)
    ask = partial(solve, cluster, planners, gates=gates, namespace=namespace, selector=selector)
    found = ask(gap=gap, time_limit=time_limit, seed=seed)
    seconds: dict[str, float] = {run.planner: run.round.seconds for run in found.runs}
    return PurchaseComparisonResult(
        _purchase_document(found, gates, seed, seconds if timings else msgspec.UNSET), seconds, cluster
    )


# More pods are not named one by one.
_PODS_NAMED = 20


def _purchase_document(
    found: PurchaseComparison, gates: FeatureGates, seed: int, timings: dict[str, float] | msgspec.UnsetType
) -> records.PurchaseComparisonDocument:
    return records.PurchaseComparisonDocument(
        asked=found.asked,
        planners=tuple(map(_purchase_answer, found.runs)),
        skipped=tuple(SkippedAnswer(name=name, reason=why) for name, why in found.skipped.items()),
        cheapest=found.cheapest,
        differing=tuple(islice(found.differing(), _PODS_NAMED)),
        decided=all(run.decided for run in found.runs),
        seed=seed,
        feature_gates=gates.to_dict(),
        timings=timings,
    )


def _purchase_answer(run: PurchaseRun) -> records.PurchaseAnswer:
    nodes = tuple(
        records.PurchasedNode(
            node.pool, node.instance_type, node.zone, node.capacity_type, round(node.price, 9), node.pods
        )
        for node in run.round.nodes
    )
    return records.PurchaseAnswer(
        planner=run.planner,
        version=run.round.version,
        placed=run.placed,
        cost=round(run.round.cost, 9),
        bound=run.bound,
        proven=run.proven,
        nodes=nodes,
        unplaced=tuple(records.UnplacedPod(pod, why) for pod, why in run.round.unplaced.items()),
        refused=run.refused,
        decided=run.decided,
        notices=run.notices,
        proof=ProofKind.SOLVER if run.proven else None,
    )

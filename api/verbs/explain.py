"""The public function ``explain`` and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..documents import NODES_NAMED
from ..models.cluster.cluster import Cluster
from ..models.kubernetes.extensions import Predicate
from ..models.kubernetes.gates import FeatureGates
from ..models.results.common import outcome_of
from ..models.results.explanation import (
    DevicesForRequest,
    ExplainedNodes,
    ExplainedUnit,
    ExplanationDocument,
    RelaxationAnswer,
)
from ..results import Result

if TYPE_CHECKING:
    import pandas

    from ..solver.explain.records import ExplainedNodeClass, Explanation, RequestView, UnitExplanation, UnitRelaxation


class ExplanationResult(Result):
    """The answer of ``explain``."""

    document: ExplanationDocument

    def __init__(self, document: ExplanationDocument) -> None:
        self.document = document

    @property
    def outcome(self) -> str:
        """``Allocated``, ``Unallocatable``, ``Error`` or ``Unknown``: the gravest of the units'."""
        return self.document.outcome

    @property
    def units(self) -> tuple[ExplainedUnit, ...]:
        """Pods and loose claims in the order read, each with its reasons and relaxations."""
        return self.document.units

    def to_frame(self) -> pandas.DataFrame:
        """One row a reason or relaxation."""
        import pandas

        from ..reports import explanation as report

        return pandas.DataFrame(report.rows(self.document), columns=list(report.COLUMNS))

    def __repr__(self) -> str:
        failed = sum(unit.outcome != "Allocated" for unit in self.units)
        return f"ExplanationResult({self.outcome}, {failed} of {len(self.units)} units not allocated)"


class ExplanationInterrupted(KeyboardInterrupt):
    """Ctrl-C during ``explain``; ``result`` holds what was explained by then, the other units are ``Unknown``."""

    def __init__(self, result: ExplanationResult) -> None:
        super().__init__()
        self.result = result


def explain(
    cluster: Cluster,
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    claims: Sequence[str] | None = None,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "strict",
    time_limit: float | None = 60.0,
    seed: int = 0,
    timings: bool = False,
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    progress: Callable[[int, int], None] | None = None,
) -> ExplanationResult:
    """Say why claims cannot be allocated, and which changes would help most cheaply.

    Units are allocated as by ``allocate``. For one that gets nothing there is, for each kind of node, a minimal set of
    reasons that are impossible together, and for the unit the smallest relaxations found; each of these was applied,
    allocated and verified. See ``docs/guides/explain.md``.

    Parameters
    ----------
    cluster
        What there is, and what is asked for; see ``load``.
    node, namespace, selector, claims, feature_gates, cel_errors, seed, constraints, progress
        As for ``allocate``.
    time_limit
        Seconds for everything; None for no limit. What is not done in time is marked as not ``complete``.
    timings
        Put wall times into the document.

    Raises
    ------
    ValueError
        One line, for an unknown policy, gate or claim, or a bad selector.
    ExplanationInterrupted
        For a KeyboardInterrupt; ``result`` holds what was explained by then.

    """
    from ..solver.explain.explain import explain as solve
    from ..solver.explain.records import InterruptedExplanation as SearchInterrupted

    try:
        found = solve(
            cluster,
            node=node,
            namespace=namespace,
            selector=selector,
            claims=claims,
            feature_gates=feature_gates,
            cel_errors=cel_errors,
            time_limit=time_limit,
            seed=seed,
            constraints=constraints,
            progress=progress,
        )
    except SearchInterrupted as interrupted:
        raise ExplanationInterrupted(ExplanationResult(_explanation_document(interrupted.answer, timings))) from None
    return ExplanationResult(_explanation_document(found, timings))


def _explanation_document(found: Explanation, timings: bool) -> ExplanationDocument:
    return ExplanationDocument(
        outcome=outcome_of(found.outcome),
        units=tuple(map(_explained_unit, found.units)),
        notices=found.notices,
        feature_gates=found.gates.to_dict(),
        cel_errors=found.cel_errors,
        timings=found.seconds if timings else msgspec.UNSET,
    )


def _explained_unit(found: UnitExplanation) -> ExplainedUnit:
    unit = found.unit
    return ExplainedUnit(
        pod=f"{unit.namespace}/{unit.name}" if unit.pod else None,
        claims=tuple(f"{ref.namespace}/{ref.name}" for ref in unit.claims),
        node=found.node,
        outcome=outcome_of(found.outcome),
        reasons=found.reasons,
        failures=tuple(map(_explained_nodes, found.classes)),
        relaxations=tuple(map(_relaxation_answer, found.relaxations)),
        complete=found.complete,
    )


def _explained_nodes(found: ExplainedNodeClass) -> ExplainedNodes:
    return ExplainedNodes(
        nodes=len(found.nodes),
        names=found.nodes[:NODES_NAMED],
        reasons=found.reasons,
        minimal=found.minimal,
        certified=found.certified,
        requests=tuple(map(_devices_for_request, found.requests)),
        notes=found.notes,
    )


def _devices_for_request(found: RequestView) -> DevicesForRequest:
    return DevicesForRequest(
        claim=found.claim,
        request=found.request,
        device_class=found.class_name,
        needed=found.needed,
        devices=found.devices,
        matching=found.matching,
        free=found.free,
        fallen=found.fallen,
    )


def _relaxation_answer(found: UnitRelaxation) -> RelaxationAnswer:
    return RelaxationAnswer(changes=found.changes, cost=found.cost, node=found.node)

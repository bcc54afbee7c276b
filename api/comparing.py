"""The public function ``compare`` and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from .comparison_documents import (
    ComparisonDocument,
    EngineAnswer,
    LeftOver,
    RequestDevices,
    UnitSide,
    UnitSides,
)
from .documents import Reason, outcome_of
from .models.cluster import Cluster
from .models.gates import FeatureGates
from .models.units import Unit
from .results import Result
from .solver.compare_units import Relation, devices_of

if TYPE_CHECKING:
    import pandas

    from .solver.compare import Comparison, EngineRun
    from .solver.compare_units import UnitComparison
    from .solver.outcome import UnitOutcome


class ComparisonResult(Result):
    """The answer of ``compare``."""

    document: ComparisonDocument

    def __init__(self, document: ComparisonDocument, seconds: Mapping[str, float]) -> None:
        self.document = document
        self.seconds = dict(seconds)

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
        import pandas

        from .reports import comparison

        return pandas.DataFrame(comparison.rows(self.document, self.seconds), columns=list(comparison.HEADERS))

    def __repr__(self) -> str:
        answers = ", ".join(f"{one.engine}: {one.outcome}, {one.admitted} admitted" for one in self.document.engines)
        return f"ComparisonResult({answers})"


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
        One line, if the real allocator is not built, or fails.

    """
    from .solver.compare import compare as solve

    found = solve(
        cluster,
        engines,
        node=node,
        namespace=namespace,
        selector=selector,
        feature_gates=feature_gates,
        cel_errors=cel_errors,
        time_limit=time_limit,
        repeat=repeat,
        seed=seed,
    )
    return ComparisonResult(_document(found, timings), {run.engine: run.median_seconds for run in found.runs})


def _document(found: Comparison, timings: bool) -> ComparisonDocument:
    first = found.runs[0].answer
    names = [run.engine for run in found.runs]
    return ComparisonDocument(
        same_verdict=found.same_verdict,
        identical=found.identical,
        decided=found.all_decided,
        asked=len(found.units),
        engines=tuple(map(_engine, found.runs)),
        parting=_unit(found.parting, names) if found.parting else None,
        units=tuple(_unit(unit, names) for unit in found.units),
        feature_gates=first.gates.to_dict(),
        cel_errors=first.cel_errors,
        timings={run.engine: list(run.seconds) for run in found.runs} if timings else msgspec.UNSET,
    )


def _engine(run: EngineRun) -> EngineAnswer:
    return EngineAnswer(
        engine=run.engine,
        version=run.version,
        outcome=outcome_of(run.answer.outcome),
        admitted=run.admitted,
        steps=run.answer.statistics.steps,
        left=LeftOver(devices=run.left.devices, free=run.left.free, whole_nodes=run.left.whole_nodes),
        verified=run.answer.verified,
        notices=run.answer.notices,
    )


def _unit(found: UnitComparison, engines: Sequence[str]) -> UnitSides:
    claim, request = found.request or ("", "")
    rows = zip(engines, found.relations, found.answers, strict=True)
    return UnitSides(
        pod=_pod(found.unit),
        claims=tuple("/".join(ref.key) for ref in found.unit.claims),
        relation=found.relation,
        claim=claim,
        request=request,
        sides=tuple(_side(*row) for row in rows),
    )


def _pod(unit: Unit) -> str | None:
    return f"{unit.namespace}/{unit.name}" if unit.pod else None


def _side(engine: str, relation: Relation, answer: UnitOutcome) -> UnitSide:
    return UnitSide(
        engine=engine,
        relation=relation,
        outcome=outcome_of(answer.outcome),
        node=answer.node,
        requests=tuple(
            RequestDevices(claim=claim, request=request, devices=tuple("/".join(device) for device in devices))
            for (claim, request), devices in devices_of(answer).items()
        ),
        reasons=tuple(Reason(id=one.id, claim=one.claim, message=one.message) for one in answer.reasons),
    )

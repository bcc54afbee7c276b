"""The question ``explain``: why units cannot be allocated, and the smallest changes with which they could."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..models.claims import ResourceClaim, ResourceClaimStatus
from ..models.cluster import Cluster
from ..models.collector import young_only
from ..models.core import Node
from ..models.gates import FeatureGates
from ..models.identity import ObjectKey
from ..models.units import Unit, units
from ..problem.in_use import Ledger
from ..problem.policies import check_policy
from .allocate import TIME_LIMIT, asked_units, gates_of
from .attempts import Session, work_within
from .auto import Auto
from .checked import check
from .engines import effective_policy
from .explaining.records import Explanation, ExplanationInterrupted, UnitExplanation
from .outcome import ALLOCATED, UNKNOWN, Reason, UnitOutcome
from .placement import Placer

if TYPE_CHECKING:
    from .explaining.explainer import Explainer

Progress = Callable[[int, int], None]


@young_only()
def explain(
    cluster: Cluster,
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    claims: Sequence[str] | None = None,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "strict",
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
) -> Explanation:
    """Allocate as ``allocate`` does with the engine ``auto``, and explain each unit that gets nothing.

    The arguments are those of ``allocate``, and so is what it raises; a KeyboardInterrupt becomes an
    ``ExplanationInterrupted`` with what was explained by then.
    """
    check_policy(cel_errors)
    gates, policy = gates_of(feature_gates), effective_policy("auto", cel_errors)
    started = monotonic()
    asked = asked_units(units(cluster, namespace=namespace, selector=selector, claims=claims), node)
    session = Session(cluster, gates, policy, seed, work=work_within(time_limit))
    nodes = cluster.nodes if node is None else {node: cluster.node(node)}
    deadline = None if time_limit is None else started + time_limit
    ledger = Ledger(cluster.usage(gates))
    run = _Run(Placer(session, Auto(session), ledger, nodes, deadline), ledger)
    interrupted = False
    try:
        for done, unit in enumerate(asked, 1):
            run.ask(unit, lambda: _explainer(session, nodes, deadline))
            if progress:
                progress(done, len(asked))
    except KeyboardInterrupt:
        interrupted = True
    check(cluster, run.placed, gates, policy)
    left = tuple(UnitExplanation(unit, UNKNOWN, reasons=(_INTERRUPTED,)) for unit in asked[len(run.told) :])
    answer = Explanation((*run.told, *left), gates, policy, {"explain": monotonic() - started})
    if interrupted:
        raise ExplanationInterrupted(answer)
    return answer


_INTERRUPTED = Reason("interrupted", "", "interrupted before this was explained")


def _explainer(session: Session, nodes: Mapping[str, Node], deadline: float | None) -> Explainer:
    # The solver takes a second to load, and is not needed while everything fits.
    from .explaining.explainer import Explainer

    return Explainer(session, nodes, deadline)


class _Run:
    """Places units one after the other; ``told`` are their explanations, ``placed`` their outcomes."""

    def __init__(self, placer: Placer, ledger: Ledger) -> None:
        self.told: list[UnitExplanation] = []
        self.placed: list[UnitOutcome] = []
        self._placer = placer
        self._ledger = ledger
        self._allocated: dict[ObjectKey, ResourceClaim] = {}
        self._explainer: Explainer | None = None

    def ask(self, unit: Unit, make: Callable[[], Explainer]) -> None:
        """Place a unit, or explain why it cannot be."""
        answer = self._placer.place(unit)
        self.placed.append(answer)
        if answer.outcome == ALLOCATED:
            for ref, allocation in answer.allocations:
                if ref.claim is not None:
                    status = ResourceClaimStatus(allocation=allocation)
                    self._allocated[ref.key] = replace(ref.claim, status=status)
            self.told.append(UnitExplanation(unit, ALLOCATED, answer.node))
        elif answer.outcome == UNKNOWN:
            self.told.append(UnitExplanation(unit, UNKNOWN, reasons=answer.reasons, complete=False))
        else:
            self._explainer = self._explainer or make()
            self.told.append(self._explainer.explain(answer, self._allocated, self._ledger))

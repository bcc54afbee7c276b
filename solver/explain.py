"""The question ``explain``: why units cannot be allocated, and the smallest changes with which they could."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..models.claims import ResourceClaim, ResourceClaimStatus
from ..models.cluster import Cluster
from ..models.collector import young_only
from ..models.core import Node
from ..models.gates import FeatureGates
from ..models.given import given_entries
from ..models.identity import ObjectKey
from ..models.predicates import Predicate
from ..models.units import Unit, units
from ..problem.in_use import Ledger
from ..problem.policies import check_policy
from .allocate import TIME_LIMIT, asked_units, gates_of
from .attempts import Session, work_within
from .auto import Auto
from .checked import check
from .engines import effective_policy
from .explaining.records import Explanation, ExplanationInterrupted, UnitExplanation
from .joint.coupling import Coupled, coupled, in_order
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
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    progress: Progress | None = None,
) -> Explanation:
    """Allocate as ``allocate`` does with the engine ``auto``, and explain each unit that gets nothing.

    Units that a ConstraintGroup ties together are allocated together; each that then gets nothing is explained alone.
    The arguments are those of ``allocate``, and so is what it raises; a KeyboardInterrupt becomes an
    ``ExplanationInterrupted`` with what was explained by then.
    """
    check_policy(cel_errors)
    given = given_entries(constraints)
    gates, policy = gates_of(feature_gates), effective_policy("auto", cel_errors)
    started = monotonic()
    asked = asked_units(units(cluster, namespace=namespace, selector=selector, claims=claims), node)
    session = Session(cluster, gates, policy, seed, work=work_within(time_limit), given=given)
    nodes = cluster.nodes if node is None else {node: cluster.node(node)}
    deadline = None if time_limit is None else started + time_limit
    ledger = Ledger(cluster.usage(gates))
    placer = Placer(session, Auto(session), ledger, nodes, deadline)
    run = _Run(placer, ledger, lambda: _explainer(session, nodes, deadline))
    sets = coupled(cluster, asked) if cluster.constraint_groups else ()
    interrupted = False
    try:
        for one in in_order(asked, sets):
            run.ask(one) if isinstance(one, Unit) else run.ask_together(one)
            if progress:
                progress(len(run.told), len(asked))
            if placer.interrupted:
                interrupted = True
                break
    except KeyboardInterrupt:
        interrupted = True
    check(cluster, run.placed, gates, policy, given)
    told = tuple(run.told.get(id(unit)) or UnitExplanation(unit, UNKNOWN, reasons=(_INTERRUPTED,)) for unit in asked)
    answer = Explanation(told, gates, policy, {"explain": monotonic() - started}, tuple(placer.notices))
    if interrupted:
        raise ExplanationInterrupted(answer)
    return answer


_INTERRUPTED = Reason("interrupted", "", "interrupted before this was explained")


def _explainer(session: Session, nodes: Mapping[str, Node], deadline: float | None) -> Explainer:
    # The solver takes a second to load, and is not needed while everything fits.
    from .explaining.explainer import Explainer

    return Explainer(session, nodes, deadline)


class _Run:
    """Places units one after the other, and those that groups tie together at once.

    ``told`` are their explanations by the unit's identity, ``placed`` their outcomes.
    """

    def __init__(self, placer: Placer, ledger: Ledger, make: Callable[[], Explainer]) -> None:
        self.told: dict[int, UnitExplanation] = {}
        self.placed: list[UnitOutcome] = []
        self._placer = placer
        self._ledger = ledger
        self._allocated: dict[ObjectKey, ResourceClaim] = {}
        self._make = make
        self._explainer: Explainer | None = None

    def ask(self, unit: Unit) -> None:
        """Place a unit, or explain why it cannot be."""
        self._tell([self._placer.place(unit)])

    def ask_together(self, tied: Coupled) -> None:
        """Place units that groups tie together, or explain each of them alone."""
        self._tell(self._placer.place_together(tied), ", ".join(tie.label for tie in tied.ties))

    def _tell(self, answers: Sequence[UnitOutcome], ties: str = "") -> None:
        self.placed += answers
        for answer in answers:
            for ref, allocation in answer.allocations:
                if ref.claim is not None:
                    status = ResourceClaimStatus(allocation=allocation)
                    self._allocated[ref.key] = replace(ref.claim, status=status)
        self.told.update((id(answer.unit), self._told(answer, ties)) for answer in answers)

    def _told(self, answer: UnitOutcome, ties: str) -> UnitExplanation:
        if answer.outcome == ALLOCATED:
            return UnitExplanation(answer.unit, ALLOCATED, answer.node)
        if answer.outcome == UNKNOWN:
            return UnitExplanation(answer.unit, UNKNOWN, reasons=answer.reasons, complete=False)
        self._explainer = self._explainer or self._make()
        return self._explainer.explain(answer, self._allocated, self._ledger, ties)

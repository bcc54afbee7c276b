"""Explain why units cannot be allocated, and find the smallest changes with which they could."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.formats.runtime import gc_young_only
from ...models.kubernetes.claims import ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import Predicate
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import ClaimAnswer, ProofKind, Reason, Status, outcome_of
from ...models.results.explanation import ExplainedUnit, ExplanationDocument
from ...models.validation.entries import read_caller_constraints
from ...models.workload.controllers import read_controllers
from ...models.workload.node_room import NodeRooms, unknown_room_notices
from ...models.workload.requested import dropped_fields, taint_notices
from ...models.workload.units import Unit
from ...problem.messages import check_policy
from ...problem.node_state import AllocatedState
from ..allocate.allocate import TIME_LIMIT, Progress, place_units, search_seconds, units_to_place
from ..allocate.check import DOUBT_SECONDS, AuditQuestion, check_allocations, verification_ends, verified_outcomes
from ..allocate.coupling import find_coupled_units
from ..allocate.placement import Placer
from ..allocate.unsupported import incomplete_gang_notices, placed_pods
from ..engines.engine import Session, work_for_time_limit
from ..engines.outcome import DEVICE_ROOM_TEXTS, SearchInterrupted, UnitOutcome, worst_outcome
from ..engines.registry import ENGINES, effective_policy
from .audit import UnitExplanation, audit_explanations, derive_explanations

if TYPE_CHECKING:
    from .explainer import Explainer


@gc_young_only()
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
    natural_gangs: bool = False,
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    audit: float | None = None,
    progress: Progress | None = None,
) -> ExplanationDocument:
    """Allocate as ``allocate`` does with the engine ``auto``, and explain each unit that gets nothing.

    Units that a ConstraintGroup ties together are allocated together; each that then gets nothing is explained alone.
    ``audit`` seconds are for deciding anew that refused units fit nowhere, and that the reasons of each set are
    impossible together and needed. The arguments are those of ``allocate``, and so is what it raises; a
    KeyboardInterrupt becomes a ``SearchInterrupted`` with what was explained by then; the other units are ``Unknown``.
    """
    check_policy(cel_errors)
    given = read_caller_constraints(constraints)
    gates, policy = gates_of(feature_gates), effective_policy("auto", cel_errors)
    dropped, cluster = dropped_fields(cluster, gates), cluster.with_gates(gates)
    started = monotonic()
    requested = units_to_place(cluster, node, namespace, selector, claims, gates)
    session = Session(cluster, gates, policy, seed, work=work_for_time_limit(time_limit), caller_constraints=given)
    nodes = cluster.nodes if node is None else {node: cluster.node(node)}
    deadline = None if time_limit is None else started + search_seconds(time_limit, len(requested))
    allocated_state = AllocatedState(cluster.usage(gates))
    placer = Placer(session, ENGINES["auto"](session), allocated_state, nodes, deadline)
    run = _ExplanationRun(allocated_state, placer.rooms, lambda: _load_explainer(session, nodes, deadline))
    sets = find_coupled_units(cluster, requested) if cluster.constraint_groups else ()
    interrupted = place_units(placer, requested, sets, run.record, progress)
    check = partial(check_allocations, cluster, run.placed, gates, policy, given, groups=True)
    ends = verification_ends(started, time_limit)
    run.keep(verified_outcomes(run.placed, partial(check, deadline=ends), sets))
    complete = not placer.rooms.devices.devices
    question = AuditQuestion(cluster, tuple(nodes.values()), gates, policy, given, complete)
    derived = derive_explanations(question, run.placed, run.explanations, sets, ends)
    run.placed, run.explanations, doubtful = derived
    audit = DOUBT_SECONDS if doubtful and audit is None else audit
    seconds = {"explain": monotonic() - started}
    if audit is not None and not interrupted:
        audit_ends = monotonic() + audit if time_limit is None else min(monotonic() + audit, started + time_limit)
        try:
            run.placed, run.explanations = audit_explanations(question, run.placed, run.explanations, sets, audit_ends)
        except KeyboardInterrupt:
            interrupted = True
        seconds["audit"] = monotonic() - started - seconds["explain"]
    explained = [run.explanations.get(id(unit)) for unit in requested]
    units = tuple(
        one.unit if one else explained_unit(unit, Status.UNKNOWN, reasons=(_INTERRUPTED_REASON,))
        for unit, one in zip(requested, explained, strict=True)
    )
    proof = ProofKind.weakest(kind for one in run.placed for kind in run.proofs(one, len(nodes)))
    document = ExplanationDocument(
        outcome=outcome_of(worst_outcome([Status(unit.outcome) for unit in units])),
        units=units,
        proof=proof,
        certified=proof is None or proof.is_checked,
        notices=(
            *dropped,
            *taint_notices(cluster, gates),
            *read_controllers(cluster, natural_gangs=natural_gangs).notices,
            *unknown_room_notices(nodes.values(), requested),
            *placer.notices,
            *incomplete_gang_notices(
                cluster,
                gates,
                placed_pods((one.unit, one.outcome, one.node) for one in run.placed),
                natural_gangs=natural_gangs,
            ),
        ),
        feature_gates=gates.to_dict(),
        cel_errors=policy,
        timings=seconds,
    )
    if interrupted:
        raise SearchInterrupted(document)
    return document


def explain_beside(
    cluster: Cluster,
    placed: Sequence[UnitOutcome],
    left_out: Sequence[Unit],
    nodes: Mapping[str, Node],
    *,
    gates: FeatureGates,
    cel_errors: str,
    time_limit: float,
    seed: int = 0,
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
) -> ExplanationDocument:
    """Explain each of the units ``left_out`` alone, beside what is placed already.

    One that fits alone is ``Allocated``, such as a member of a gang. After ``time_limit`` seconds the others are
    ``Unknown``.
    """
    given, cluster = read_caller_constraints(constraints), cluster.with_gates(gates)
    deadline = monotonic() + time_limit
    work = work_for_time_limit(time_limit)
    session = Session(cluster, gates, cel_errors, seed, work=work, caller_constraints=given)
    units: list[ExplainedUnit] = []
    run: _ExplanationRun | None = None
    for unit in left_out:
        if run is None:
            state = AllocatedState(cluster.usage(gates))
            placer = Placer(session, ENGINES["auto"](session), state, nodes, deadline)
            run = _ExplanationRun(state, placer.rooms, lambda: _load_explainer(session, nodes, deadline))
            for answer in placed:
                placer.take(answer)
            run.record(placed, "")
        answer = placer.place(unit)
        run.record([answer], "")
        units.append(run.explanations[id(unit)].unit)
        if answer.outcome == Status.ALLOCATED:
            # What it took is free for the next one.
            run = None
    return ExplanationDocument(
        outcome=outcome_of(worst_outcome([Status(unit.outcome) for unit in units])),
        units=tuple(units),
        feature_gates=gates.to_dict(),
        cel_errors=cel_errors,
        timings={},
    )


def explained_unit(
    unit: Unit, outcome: Status, *, node: str | None = None, reasons: tuple[Reason, ...] = (), complete: bool = True
) -> ExplainedUnit:
    """Write down a unit of which there is no more to say, or not yet."""
    return ExplainedUnit(
        pod=unit.pod_label,
        claims=tuple("/".join(ref.key) for ref in unit.claims),
        node=node,
        outcome=outcome_of(outcome),
        reasons=reasons,
        failures=(),
        relaxations=(),
        complete=complete,
    )


_INTERRUPTED_REASON = Reason("interrupted", "", "interrupted before this was explained")


def _load_explainer(session: Session, nodes: Mapping[str, Node], deadline: float | None) -> Explainer:
    # The solver takes a second to load, and is not needed while everything fits.
    from .explainer import Explainer

    return Explainer(session, nodes, deadline)


class _ExplanationRun:
    """The outcomes of units and their explanations: ``explanations`` are by the unit's identity."""

    def __init__(self, allocated_state: AllocatedState, rooms: NodeRooms, make: Callable[[], Explainer]) -> None:
        self.explanations: dict[int, UnitExplanation] = {}
        self.placed: list[UnitOutcome] = []
        self._ledger = allocated_state
        self._rooms = rooms
        self._allocated: dict[ObjectKey, ResourceClaim] = {}
        self._make = make
        self._explainer: Explainer | None = None

    def record(self, answers: Sequence[UnitOutcome], ties: str) -> None:
        """Keep these outcomes, and explain each that found no devices; ``ties`` are the groups that tie the units."""
        self.placed += answers
        made = (pair for answer in answers for pair in answer.allocations)
        for ref, allocation in made:
            if ref.claim is not None:
                self._allocated[ref.key] = replace(ref.claim, status=ResourceClaimStatus(allocation=allocation))
        self.explanations.update((id(answer.unit), self._explanation(answer, ties)) for answer in answers)

    def keep(self, verified: Sequence[UnitOutcome]) -> None:
        """Put the outcomes as they were verified in the place of those recorded."""
        for number, (old, new) in enumerate(zip(self.placed, verified, strict=True)):
            if new is not old:
                self.placed[number] = new
                self.explanations[id(new.unit)] = self._explanation(new, "")

    def proofs(self, answer: UnitOutcome, nodes: int) -> Iterator[ProofKind]:
        """Yield what a no rests on: each of its sets of reasons, and the no itself on nodes that have none."""
        explained = self.explanations.get(id(answer.unit))
        if explained is not None and answer.proof_kind is not None:
            failures = explained.unit.failures
            yield from (one.proof for one in failures)
            if sum(one.nodes for one in failures) < nodes:
                yield answer.proof_kind

    def _explanation(self, answer: UnitOutcome, ties: str) -> UnitExplanation:
        if answer.outcome == Status.ALLOCATED:
            taken = tuple(
                ClaimAnswer(namespace=ref.namespace, name=ref.name, allocation=allocation)
                for ref, allocation in answer.allocations
            )
            unit = explained_unit(answer.unit, Status.ALLOCATED, node=answer.node)
            return UnitExplanation(replace(unit, allocations=taken))
        if answer.outcome == Status.UNKNOWN:
            unit = explained_unit(answer.unit, Status.UNKNOWN, reasons=answer.reasons, complete=False)
            return UnitExplanation(unit)
        if any(failure.message.startswith(DEVICE_ROOM_TEXTS) for failure in answer.failures):
            # Devices fit, but not what they take of their node, which is not a question about devices.
            return UnitExplanation(explained_unit(answer.unit, answer.outcome, reasons=answer.reasons, complete=False))
        self._explainer = self._explainer or self._make()
        whole = explained_unit(answer.unit, answer.outcome, reasons=answer.reasons)
        return self._explainer.explain(answer, whole, self._allocated, self._ledger, self._rooms, ties)

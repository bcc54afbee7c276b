"""Every answer is verified here before it is returned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import ProofKind, Reason, Status
from ...models.workload.units import Unit
from ...problem.messages import claim_text, witness_of
from ..engines.engine import TIME_LIMIT_RULE
from ..engines.outcome import UnitOutcome
from ..verification.verify import Placement, VerificationTimeoutError, Violation, verify
from .coupling import CoupledUnits, in_request_order

if TYPE_CHECKING:
    from ..verification.refusals import CountedFailure, CountedRefusal, DerivedRefusal


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """What was asked, as an audit needs it.

    ``is_complete``: the audit reads all that the answer rests on, so that an allocation that it finds shows a defect.
    """

    cluster: Cluster
    nodes: tuple[Node, ...]
    gates: FeatureGates
    cel_errors: str
    caller_constraints: Sequence[CallerConstraint]
    is_complete: bool


class VerificationError(Exception):
    """An answer that breaks a rule: a defect of drasat, never of the input."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__("the answer does not pass verification: " + "; ".join(map(str, violations)))
        self.violations = tuple(violations)


def check_allocations(
    cluster: Cluster,
    outcomes: Sequence[UnitOutcome],
    gates: FeatureGates,
    cel_errors: str,
    given: Sequence[CallerConstraint] = (),
    *,
    groups: bool = False,
    extended: bool = True,
    deadline: float | None = None,
    clock: Callable[[], float] = monotonic,
) -> None:
    """Check all allocations jointly, in the order in which they were made.

    With ``groups`` ConstraintGroups are to be kept, too; with ``extended`` claims have all extended resources of pods.

    Raises
    ------
    VerificationError
        For an answer that breaks a rule.
    VerificationTimeoutError
        If that takes until ``deadline``, a reading of ``clock``.

    """
    placements = placements_of_outcomes(cluster, outcomes)
    violations = verify(
        cluster,
        placements,
        gates,
        cel_errors=cel_errors,
        caller_constraints=given,
        groups=groups,
        extended=extended,
        deadline=deadline,
        clock=clock,
    )
    if groups and cluster.constraint_groups:
        violations += _divided(cluster, outcomes)
    if violations:
        raise VerificationError(violations)


def _divided(cluster: Cluster, outcomes: Sequence[UnitOutcome]) -> Iterator[Violation]:
    """Find units that groups tie, as the verifier reads them, of which one is placed and another is refused."""
    from ..verification.audit import tied_units

    found = {id(one.unit): one for one in outcomes}
    for tied in tied_units(cluster, [one.unit for one in outcomes]):
        own = [found[id(unit)] for unit in tied.units if not unit.problems]
        placed = next((one.unit.name for one in own if one.outcome == Status.ALLOCATED), None)
        refused = next((one.unit.name for one in own if one.outcome == Status.UNALLOCATABLE), None)
        if placed and refused:
            yield Violation("GROUP", "", f"{refused} is refused, and {placed}, which a group ties to it, is placed")


def verified_outcomes(
    outcomes: Sequence[UnitOutcome], check: Callable[[], None], sets: Iterable[CoupledUnits] = ()
) -> tuple[UnitOutcome, ...]:
    """Keep the outcomes that ``check`` verifies in time; from the first that it does not all are Unknown.

    Later units were looked at beside that one, so that nothing is known of them either. If there is no time for all,
    what ``sets`` couple is not verified.
    """
    try:
        check()
    except VerificationTimeoutError as late:
        placed = [number for number, one in enumerate(outcomes) if one.outcome == Status.ALLOCATED]
        coupled = {id(unit) for one in sets for unit in one.units}
        unverified = [
            number
            for order, number in enumerate(placed)
            if order >= late.verified or id(outcomes[number].unit) in coupled
        ]
        first = min(unverified, default=len(outcomes))
        return (
            *outcomes[:first],
            *(UnitOutcome(one.unit, Status.UNKNOWN, reasons=(_LATE,)) for one in outcomes[first:]),
        )
    return tuple(outcomes)


def verification_ends(began: float, time_limit: float | None) -> float | None:
    """When verification has to end: a limit may be missed by a twentieth and 0.25 s rather than lose an answer."""
    return None if time_limit is None else began + time_limit * (1 + LIMIT_TOLERANCE) + LIMIT_TOLERANCE_SECONDS


LIMIT_TOLERANCE, LIMIT_TOLERANCE_SECONDS = 0.05, 0.25
LATE_VERIFICATION = "the time limit passed before this was verified"
_LATE = Reason(TIME_LIMIT_RULE, "", LATE_VERIFICATION)


def placements_of_outcomes(cluster: Cluster, outcomes: Sequence[UnitOutcome]) -> Iterator[Placement]:
    """Yield a placement of each allocated unit, as the verifier takes them, in the order of the units."""
    made: dict[tuple[str, str], ResourceClaim] = {}
    # Of the soft entries of each claim, in their order; those of groups are no claim's.
    costs: dict[ObjectKey, list[int]] = defaultdict(list)
    for entry in (entry for outcome in outcomes for entry in outcome.soft_entries):
        namespace, _, name = entry.claim.rpartition("/")
        costs[namespace, name].append(entry.cost)
    for outcome in outcomes:
        if outcome.outcome != Status.ALLOCATED:
            continue
        pairs = tuple((ref.claim, allocation) for ref, allocation in outcome.allocations if ref.claim is not None)
        new = {ref.key for ref, _ in outcome.allocations}
        earlier = (made.get(ref.key, ref.claim) for ref in outcome.unit.claims if ref.key not in new)
        earlier_claims = tuple(claim for claim in earlier if claim is not None)
        yield Placement(cluster.node(outcome.node or ""), pairs, outcome.unit.pod, earlier_claims, costs)
        for ref, allocation in outcome.allocations:
            if ref.claim is not None:
                made[ref.key] = replace(ref.claim, status=ResourceClaimStatus(allocation=allocation))


DOUBT_SECONDS = 10.0
"""How long an answer with a wrong witness is audited, whether an audit was asked for or not."""


def derived_outcomes(
    question: AuditQuestion,
    outcomes: Sequence[UnitOutcome],
    sets: Sequence[CoupledUnits],
    deadline: float | None,
    without: Collection[int] = (),
) -> tuple[tuple[UnitOutcome, ...], bool]:
    """Let the verifier derive what rests on witnesses; a no for which it does not rests on the solver.

    Nothing is derived of units ``without``, which are named by their identity. The second value says that a witness is
    wrong and left out, so that the answer is in doubt.
    """
    if all(one.outcome is not Status.UNALLOCATABLE for one in outcomes):
        return tuple(outcomes), False
    asked = _failures_by_unit(question, outcomes, without)
    found = list(outcomes)
    refusals = derive_refusals(question, outcomes, sets, asked, deadline)
    for number, refusal in refusals.items():
        kept = iter(refusal.derived)
        failures = tuple(
            replace_fields(one, proof_kind=ProofKind.SOLVER, counted=None if refusal.wrong else one.counted)
            if one.proof_kind is ProofKind.WITNESS and not next(kept)
            else one
            for one in outcomes[number].failures
        )
        found[number] = replace_fields(outcomes[number], failures=failures, underived=not all(kept))
    return tuple(found), any(one.wrong for one in refusals.values())


def _failures_by_unit(
    question: AuditQuestion, outcomes: Sequence[UnitOutcome], without: Collection[int]
) -> dict[int, tuple[CountedFailure, ...]]:
    """What rests on witnesses of each refused unit: its failures in their order, and then the nodes that have none."""
    from ..verification.refusals import CountedFailure

    found: dict[int, tuple[CountedFailure, ...]] = {}
    # Equal units share their failures.
    others: dict[tuple[int, ...], tuple[str, ...]] = {}
    made: set[ObjectKey] = set()
    for number, outcome in enumerate(outcomes):
        made.update(ref.key for ref, _ in outcome.allocations)
        if outcome.outcome is not Status.UNALLOCATABLE or outcome.unit.problems or id(outcome.unit) in without:
            continue
        key = tuple(map(id, outcome.failures))
        if key not in others:
            tried = {name for one in outcome.failures for name in one.nodes}
            others[key] = tuple(name for one in question.nodes if (name := one.metadata.name) not in tried)
        names = [claim_text(ref.key) for ref in outcome.unit.requested_claims if ref.key not in made]
        own = [
            CountedFailure(one.nodes, witness_of(one.counted, names) if one.counted else None)
            for one in outcome.failures
            if one.proof_kind is ProofKind.WITNESS
        ]
        found[number] = (*own, *([CountedFailure(others[key])] if others[key] else []))
    return {number: own for number, own in found.items() if own}


def derive_refusals(
    question: AuditQuestion,
    outcomes: Sequence[UnitOutcome],
    sets: Sequence[CoupledUnits],
    failures: Mapping[int, tuple[CountedFailure, ...]],
    deadline: float | None,
) -> dict[int, DerivedRefusal]:
    """Derive failures of refused units, by the numbers of these."""
    if not failures:
        return {}
    from ..verification.refusals import CountedRefusal, RefusedUnits, derived_refusals

    order = placing_order(outcomes, sets)
    numbers = [number for number in order if number in failures]

    def steps() -> Iterator[Placement | CountedRefusal]:
        placements = placements_of_outcomes(question.cluster, [outcomes[number] for number in order])
        made: set[ObjectKey] = set()
        for number in order:
            outcome = outcomes[number]
            if outcome.outcome is Status.ALLOCATED:
                yield next(placements)
                made.update(ref.key for ref, _ in outcome.allocations)
            elif number in failures:
                refs = [(ref, ref.claim) for ref in outcome.unit.claims if ref.claim is not None]
                new = {ref.key for ref in outcome.unit.requested_claims} - made
                units = RefusedUnits(
                    tuple(claim for ref, claim in refs if ref.key in new),
                    tuple(claim_text(ref.key) for ref, _ in refs if ref.key in new),
                    (outcome.unit.pod,) if outcome.unit.pod is not None else (),
                    tuple(claim for ref, claim in refs if ref.key not in new),
                )
                yield CountedRefusal(units, failures[number])

    found = derived_refusals(
        question.cluster,
        steps(),
        question.gates,
        cel_errors=question.cel_errors,
        caller_constraints=question.caller_constraints,
        deadline=deadline,
    )
    coupled = {id(unit) for one in sets for unit in one.units}
    pairs = zip(numbers, found, strict=True)
    # Units that are coupled are refused beside others than those that were placed before them.
    return {
        number: replace_fields(one, wrong="") if id(outcomes[number].unit) in coupled else one for number, one in pairs
    }


def placing_order(outcomes: Sequence[UnitOutcome], sets: Sequence[CoupledUnits]) -> list[int]:
    """The numbers of units in the order in which they were placed."""
    numbers = {id(one.unit): number for number, one in enumerate(outcomes)}
    ordered = in_request_order([one.unit for one in outcomes], sets)
    return [numbers[id(unit)] for one in ordered for unit in ([one] if isinstance(one, Unit) else one.units)]

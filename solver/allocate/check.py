"""Every answer is verified here before it is returned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import Reason, Status
from ..engines.engine import TIME_LIMIT_RULE
from ..engines.outcome import UnitOutcome
from ..verification.verify import Placement, VerificationTimeoutError, Violation, verify
from .coupling import CoupledUnits


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
    if violations:
        raise VerificationError(violations)


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

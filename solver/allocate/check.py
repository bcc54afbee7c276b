"""Every answer is verified here before it is returned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey
from ...models.results.common import Status
from ..engines.outcome import UnitOutcome
from ..verification.verify import Placement, Violation, verify


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
) -> None:
    """Check all allocations jointly, in the order in which they were made. Raises ``VerificationError``.

    With ``groups`` ConstraintGroups are to be kept, too; with ``extended`` claims have all extended resources of pods.
    """
    placements = list(_placements_of_outcomes(cluster, outcomes))
    violations = verify(
        cluster, placements, gates, cel_errors=cel_errors, caller_constraints=given, groups=groups, extended=extended
    )
    if violations:
        raise VerificationError(violations)


def _placements_of_outcomes(cluster: Cluster, outcomes: Sequence[UnitOutcome]) -> Iterator[Placement]:
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

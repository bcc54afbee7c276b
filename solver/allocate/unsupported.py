"""What kube-scheduler cannot honour: entries beyond the API that must hold (SOFT-3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import SEMANTICS_FIELDS, DeviceConstraint, ResourceClaim
from ...models.kubernetes.extensions import CallerConstraint, ConstraintGroup, annotated_entries
from ...models.kubernetes.meta import ObjectKey, key_of
from ...models.workload.groups import group_members
from ...models.workload.units import Unit
from ...problem.messages import claim_text
from ..engines.registry import OPTIMIZERS, is_upstream

_MAX_NAMED = 5


def check_engine_support(
    engine: str, cluster: Cluster, requested: Sequence[Unit], given: Sequence[CallerConstraint] = ()
) -> None:
    """Raise ``ValueError``, one line, if the engine knows nothing of what some of these claims demand."""
    if not is_upstream(engine):
        return
    found = [*_unsupported_demands(cluster, requested), *_hard_caller_constraints(given)]
    if found:
        more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
        raise ValueError(f"engine {engine} cannot honour {', '.join(found[:_MAX_NAMED])}{more}")


def check_planner_support(planner: str, cluster: Cluster, requested: Sequence[Unit]) -> None:
    """Raise ``ValueError``, one line, if a ConstraintGroup demands something of claims of these units.

    What places units one after the other knows nothing of groups.
    """
    own = {ref.key for unit in requested for ref in unit.requested_claims}
    for group in cluster.constraint_groups.values():
        if _has_hard_demands(group) and own.intersection(group_members(group, cluster, requested)):
            raise ValueError(f"planner {planner} cannot honour ConstraintGroup {claim_text(key_of(group.metadata))}")


def _unsupported_demands(cluster: Cluster, requested: Iterable[Unit]) -> Iterator[str]:
    claims = {ref.key: ref.claim for unit in requested for ref in unit.requested_claims if ref.claim is not None}
    for key, claim in claims.items():
        yield from (f"{what} of claim {claim_text(key)}" for what in _unsupported_fields(claim))
    for group in groups_of_claims(cluster, claims):
        if _has_hard_demands(group):
            yield f"ConstraintGroup {claim_text(key_of(group.metadata))}"


def _hard_caller_constraints(entries: Iterable[CallerConstraint]) -> Iterator[str]:
    hard = (entry for entry in entries if entry.weight is None)
    yield from (f"given constraint {entry.name or f'#{index}'}" for index, entry in enumerate(hard))


def _unsupported_fields(claim: ResourceClaim) -> Iterator[str]:
    for index, constraint in enumerate(claim.spec.devices.constraints or ()):
        yield from (f"{field} of constraint #{index}" for field in _fields_beyond_upstream(constraint))
    for index, entry in enumerate(annotated_entries(claim.metadata)):
        if entry.weight is None:
            yield f"entry {entry.name or f'#{index}'}"


def _fields_beyond_upstream(constraint: DeviceConstraint) -> Iterator[str]:
    if constraint.cel is not None:
        yield "cel"
    if any(getattr(constraint, spelling) is not None for spelling in SEMANTICS_FIELDS):
        yield "semantics"


def _has_hard_demands(group: ConstraintGroup) -> bool:
    entries = group.spec.constraints or ()
    return bool(group.spec.same_node_label) or any(entry.weight is None for entry in entries)


def ignored_soft_entries(
    engine: str, cluster: Cluster, requested: Iterable[Unit], given: Sequence[CallerConstraint] = ()
) -> tuple[str, ...]:
    """Say which soft entries an engine does not mind; a line for all of them, none if there are none (SOFT-3).

    ``given`` are entries for all requested claims, beside their own.
    """
    if engine in OPTIMIZERS:
        return ()
    names = [*_soft_entry_owners(cluster, requested)]
    if any(entry.weight is not None for entry in given):
        names.append("the caller")
    return (f"engine {engine} does not mind soft entries: those of {', '.join(names)}",) if names else ()


def _soft_entry_owners(cluster: Cluster, requested: Iterable[Unit]) -> Iterator[str]:
    """Name the claims and groups that have soft entries."""
    claims = {ref.key: ref.claim for unit in requested for ref in unit.requested_claims if ref.claim is not None}
    for key, claim in claims.items():
        if any(entry.weight is not None for entry in annotated_entries(claim.metadata)):
            yield f"claim {claim_text(key)}"
    for group in groups_of_claims(cluster, claims):
        if any(entry.weight is not None for entry in group.spec.constraints or ()):
            yield f"ConstraintGroup {claim_text(key_of(group.metadata))}"


def groups_of_claims(cluster: Cluster, claims: Iterable[ObjectKey]) -> Iterator[ConstraintGroup]:
    """Yield the groups that have any of these claims among their members. Raises ``GroupError``."""
    requested = frozenset(claims)
    return (
        group for group in cluster.constraint_groups.values() if requested.intersection(group_members(group, cluster))
    )

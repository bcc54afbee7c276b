"""What kube-scheduler cannot honour: entries beyond the API that must hold (SOFT-3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..models.claims import DeviceConstraint, ResourceClaim
from ..models.cluster import Cluster
from ..models.constraint_groups import ConstraintGroup
from ..models.entries import annotated_entries
from ..models.given import Given
from ..models.group_members import members
from ..models.identity import key_of
from ..models.semantics import SPELLINGS
from ..models.units import Unit
from ..problem.messages import claim_text
from .engines import is_upstream
from .soft_entries import groups_about

_NAMED = 5


def check_honoured(engine: str, cluster: Cluster, asked: Sequence[Unit], given: Sequence[Given] = ()) -> None:
    """Raise ``ValueError``, one line, if the engine knows nothing of what some of these claims demand."""
    if not is_upstream(engine):
        return
    found = [*_unknown(cluster, asked), *_given(given)]
    if found:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise ValueError(f"engine {engine} cannot honour {', '.join(found[:_NAMED])}{more}")


def check_groups(planner: str, cluster: Cluster, asked: Sequence[Unit]) -> None:
    """Raise ``ValueError``, one line, if a ConstraintGroup demands something of claims of these units.

    What places units one after the other knows nothing of groups.
    """
    own = {ref.key for unit in asked for ref in unit.asked}
    for group in cluster.constraint_groups.values():
        if _demands(group) and own.intersection(members(group, cluster, asked)):
            raise ValueError(f"planner {planner} cannot honour ConstraintGroup {claim_text(key_of(group.metadata))}")


def _unknown(cluster: Cluster, asked: Iterable[Unit]) -> Iterator[str]:
    claims = {ref.key: ref.claim for unit in asked for ref in unit.asked if ref.claim is not None}
    for key, claim in claims.items():
        yield from (f"{what} of claim {claim_text(key)}" for what in _of_claim(claim))
    for group in groups_about(cluster, claims):
        if _demands(group):
            yield f"ConstraintGroup {claim_text(key_of(group.metadata))}"


def _given(entries: Iterable[Given]) -> Iterator[str]:
    hard = (entry for entry in entries if entry.weight is None)
    yield from (f"given constraint {entry.name or f'#{index}'}" for index, entry in enumerate(hard))


def _of_claim(claim: ResourceClaim) -> Iterator[str]:
    for index, constraint in enumerate(claim.spec.devices.constraints or ()):
        yield from (f"{field} of constraint #{index}" for field in _beyond(constraint))
    for index, entry in enumerate(annotated_entries(claim.metadata)):
        if entry.weight is None:
            yield f"entry {entry.name or f'#{index}'}"


def _beyond(constraint: DeviceConstraint) -> Iterator[str]:
    if constraint.cel is not None:
        yield "cel"
    if any(getattr(constraint, spelling) is not None for spelling in SPELLINGS):
        yield "semantics"


def _demands(group: ConstraintGroup) -> bool:
    entries = group.spec.constraints or ()
    return bool(group.spec.same_node_label) or any(entry.weight is None for entry in entries)

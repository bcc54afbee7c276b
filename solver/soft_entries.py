"""What became of soft entries: kept or violated by the devices that were chosen (SOFT-1), or overlooked (SOFT-3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..models.cluster import Cluster
from ..models.constraint_groups import ConstraintGroup
from ..models.entries import annotated_entries
from ..models.given import Given
from ..models.group_members import members
from ..models.identity import ObjectKey, key_of
from ..models.units import Unit
from ..problem.messages import claim_text
from ..problem.records import Problem
from ..problem.soft import penalty, soft_relations
from .engines import OPTIMIZERS
from .search import Pick


@dataclass(frozen=True, slots=True)
class SoftEntry:
    """A soft entry, and what the chosen devices make of it.

    ``claim`` is ``namespace/name``, empty for an entry of a group; ``id`` says what kind of entry it is.
    ``cost`` is 0 if it is ``kept``; else its weight, or its weight for each pair of devices that fails it (SOFT-2).
    """

    claim: str
    name: str
    id: str
    weight: int
    kept: bool
    cost: int


def soft_entries(problem: Problem, picks: Sequence[Pick], claims: Sequence[ObjectKey]) -> tuple[SoftEntry, ...]:
    """List the soft entries of a problem about these claims, judged by the final choice."""
    return tuple(_judged(problem, picks, claims))


def _judged(problem: Problem, picks: Sequence[Pick], claims: Sequence[ObjectKey]) -> Iterator[SoftEntry]:
    picked = [(pick.demand, pick.device) for pick in picks]
    for relation in soft_relations(problem):
        cost = penalty(relation, picked)
        # Those of groups are named by their group first, however many claims they reach.
        name = relation.label.removeprefix("entry ")
        claim = claim_text(claims[relation.claims[0]]) if name != relation.label else ""
        yield SoftEntry(claim, name, relation.id, relation.weight or 0, not cost, cost)


def overlooked(engine: str, cluster: Cluster, asked: Iterable[Unit], given: Sequence[Given] = ()) -> tuple[str, ...]:
    """Say which soft entries an engine does not mind; a line for all of them, none if there are none (SOFT-3).

    ``given`` are entries for all claims asked about, beside their own.
    """
    if engine in OPTIMIZERS:
        return ()
    names = [*_owners(cluster, asked)]
    if any(entry.weight is not None for entry in given):
        names.append("the caller")
    return (f"engine {engine} does not mind soft entries: those of {', '.join(names)}",) if names else ()


def _owners(cluster: Cluster, asked: Iterable[Unit]) -> Iterator[str]:
    """Name the claims and groups that have soft entries."""
    claims = {ref.key: ref.claim for unit in asked for ref in unit.asked if ref.claim is not None}
    for key, claim in claims.items():
        if any(entry.weight is not None for entry in annotated_entries(claim.metadata)):
            yield f"claim {claim_text(key)}"
    for group in groups_about(cluster, claims):
        if any(entry.weight is not None for entry in group.spec.constraints or ()):
            yield f"ConstraintGroup {claim_text(key_of(group.metadata))}"


def groups_about(cluster: Cluster, claims: Iterable[ObjectKey]) -> Iterator[ConstraintGroup]:
    """Yield the groups that have any of these claims among their members. Raises ``GroupError``."""
    asked = frozenset(claims)
    return (group for group in cluster.constraint_groups.values() if asked.intersection(members(group, cluster)))

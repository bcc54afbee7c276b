"""What kube-scheduler cannot honour: entries beyond the API that must hold (SOFT-3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.kubernetes.claims import SEMANTICS_FIELDS, ResourceClaim
from ...models.kubernetes.extensions import (
    GANG_DOMAIN_ANNOTATION,
    CallerConstraint,
    ConstraintGroup,
    Entry,
    annotated_entries,
)
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey, key_of
from ...models.kubernetes.workloads import CompositePodGroup
from ...models.results.common import Status
from ...models.workload.groups import group_members
from ...models.workload.unit_classes import Gang
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
    found, claims = [], _requested_claims(requested)
    for key, claim in claims.items():
        fields = []
        for index, constraint in enumerate(claim.spec.devices.constraints or ()):
            if constraint.cel is not None:
                fields.append(f"cel of constraint #{index}")
            if any(getattr(constraint, spelling) is not None for spelling in SEMANTICS_FIELDS):
                fields.append(f"semantics of constraint #{index}")
        entries = enumerate(annotated_entries(claim.metadata))
        fields += [f"entry {one.name or f'#{index}'}" for index, one in entries if one.weight is None]
        found += [f"{field} of claim {claim_text(key)}" for field in fields]
    found += [_group_label(group) for group in groups_of_claims(cluster, claims) if _has_hard_demands(group)]
    hard = (entry for entry in given if entry.weight is None)
    found += [f"given constraint {entry.name or f'#{index}'}" for index, entry in enumerate(hard)]
    if found:
        more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
        raise ValueError(f"engine {engine} cannot honour {', '.join(found[:_MAX_NAMED])}{more}")


def check_planner_support(planner: str, cluster: Cluster, requested: Sequence[Unit]) -> None:
    """Raise ``ValueError``, one line, if a ConstraintGroup demands something of claims of these units.

    What places units one after the other knows nothing of groups.
    """
    # Most clusters have no groups, and queues are long.
    demanding = [group for group in cluster.constraint_groups.values() if _has_hard_demands(group)]
    own = {ref.key for unit in requested for ref in unit.requested_claims} if demanding else set()
    for group in demanding:
        if own.intersection(group_members(group, cluster, requested)):
            raise ValueError(f"planner {planner} cannot honour {_group_label(group)}")


def placed_pods(outcomes: Iterable[tuple[Unit, Status, str | None]]) -> dict[str, str | None]:
    """The node of each pod that was asked about, by namespace and name; None for one that is not placed."""
    return {
        unit.pod_label: (node or "") if outcome == Status.ALLOCATED else None
        for unit, outcome, node in outcomes
        if unit.pod_label
    }


def incomplete_gang_notices(
    cluster: Cluster, gates: FeatureGates, placed: Mapping[str, str | None], *, natural_gangs: bool = False
) -> tuple[str, ...]:
    """Name the gangs of which too few members are placed, and the members that stop them, and gangs in several domains.

    ``placed`` holds by namespace and name which pods found a place, and where. Units are placed one by one here: a gang
    is only looked at in the end.
    """
    marks = (pod.metadata.annotations or {} for pod in cluster.pods.values())
    has_domain = any(group.domain for group in cluster.pod_groups.values()) or any(
        GANG_DOMAIN_ANNOTATION in own for own in marks
    )
    trees = cluster.objects(CompositePodGroup)
    if None not in placed.values() and not has_domain and not trees:
        return ()
    # Most questions need nothing of the queue.
    from ...models.workload.queue import read_queue

    members: dict[Gang, list[str]] = {}
    for one in read_queue(cluster, gates=gates, natural_gangs=natural_gangs):
        if one.gang is not None:
            members.setdefault(one.gang, []).extend(
                f"{one.namespace}/{one.unit_name(number)}" for number in one.numbers
            )
    found = [line for gang, names in members.items() for line in _gang_lines(cluster, gang, names, placed)]
    if trees:
        from ..verification.gangs import tree_findings

        there = [(gang, placed.get(name)) for gang, names in members.items() for name in names if gang.parents]
        at = [((gang.namespace, gang.name), node) for gang, node in there if node is not None]
        found += [f"{one.message}: plan places the tree whole" for one in tree_findings(cluster, gates, at)]
    return tuple(found)


def _gang_lines(cluster: Cluster, gang: Gang, names: Sequence[str], placed: Mapping[str, str | None]) -> Iterator[str]:
    there = [name for name in names if placed.get(name) is not None]
    line = _incomplete_gang(gang, there, names, placed)
    if line:
        yield line
    at = [*(placed[name] or "" for name in there), *gang.running_nodes]
    nodes = [cluster.node(name) for name in dict.fromkeys(at) if name]
    if gang.domain is not None and there and len(found := {gang.domain_value(node) for node in nodes}) > 1:
        values = ", ".join(sorted(value or "no value" for value in found))
        yield f"{gang.label} has members in several domains of {gang.domain} ({values}): plan places it in one"


def _incomplete_gang(gang: Gang, there: Sequence[str], names: Sequence[str], placed: Mapping[str, str | None]) -> str:
    stops = [name for name in names if name in placed and placed[name] is None]
    asked = sum(name in placed for name in names)
    enough = asked if gang.minimum is None else gang.minimum - len(gang.running_nodes)
    if not stops or len(there) >= enough:
        return ""
    more = f" and {len(stops) - _MAX_NAMED} more" if len(stops) > _MAX_NAMED else ""
    need = "all" if gang.minimum is None else f"at least {gang.minimum}"
    found = f"{len(there)} of {plural(asked, 'member')} find a place beside the others"
    return f"{gang.label} is a gang of {need}: {found}; it is stopped by {', '.join(stops[:_MAX_NAMED])}{more}"


def _requested_claims(requested: Iterable[Unit]) -> dict[ObjectKey, ResourceClaim]:
    return {ref.key: ref.claim for unit in requested for ref in unit.requested_claims if ref.claim is not None}


def _group_label(group: ConstraintGroup) -> str:
    return f"ConstraintGroup {claim_text(key_of(group.metadata))}"


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
    claims = _requested_claims(requested)
    soft = [key for key, claim in claims.items() if _any_soft(annotated_entries(claim.metadata))]
    names = [f"claim {claim_text(key)}" for key in soft]
    groups = groups_of_claims(cluster, claims)
    names += [_group_label(group) for group in groups if _any_soft(group.spec.constraints or ())]
    names += ["the caller"] if _any_soft(given) else []
    return (f"engine {engine} does not mind soft entries: those of {', '.join(names)}",) if names else ()


def _any_soft(entries: Iterable[Entry | CallerConstraint]) -> bool:
    return any(entry.weight is not None for entry in entries)


def groups_of_claims(cluster: Cluster, claims: Iterable[ObjectKey]) -> Iterator[ConstraintGroup]:
    """Yield the groups that have any of these claims among their members. Raises ``GroupError``."""
    requested = frozenset(claims)
    return (
        group for group in cluster.constraint_groups.values() if requested.intersection(group_members(group, cluster))
    )

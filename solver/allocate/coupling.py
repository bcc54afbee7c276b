"""Units that must be decided together: their claims are members of one ConstraintGroup, or they share a claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import ConstraintGroup
from ...models.kubernetes.meta import ObjectKey, key_of
from ...models.results.common import Reason
from ...models.workload.groups import group_members
from ...models.workload.units import ClaimRef, Unit
from ...problem.messages import FatalError, ProblemNames
from ..engines.copies import connected_groups
from ..engines.engines import reason_from_error


@dataclass(frozen=True, slots=True)
class GroupScope:
    """A group with the claims that it is about."""

    group: ConstraintGroup
    claims: tuple[ObjectKey, ...]

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"ConstraintGroup {'/'.join(key_of(self.group.metadata))}"

    @property
    def is_soft(self) -> bool:
        """Whether any of its entries need not hold."""
        return any(entry.weight is not None for entry in self.group.spec.constraints or ())

    @property
    def demand(self) -> GroupScope:
        """The tie with what must hold alone."""
        spec = self.group.spec
        hard = tuple(entry for entry in spec.constraints or () if entry.weight is None)
        return replace(self, group=structs.replace(self.group, spec=structs.replace(spec, constraints=hard)))


@dataclass(frozen=True, slots=True)
class SameNodeUnits:
    """Units that go to one node: one, or several that share a claim; ``requested`` are their claims, each once."""

    units: tuple[Unit, ...]
    requested: tuple[ClaimRef, ...]

    @property
    def claims(self) -> list[ResourceClaim]:
        """The claims to be allocated."""
        return [ref.claim for ref in self.requested if ref.claim is not None]


@dataclass(frozen=True, slots=True)
class AdmissibleNodes:
    """Nodes that a node group may go to, whatever devices they have, and why others do not suit it."""

    nodes: tuple[Node, ...]
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class CoupledUnits:
    """Seats that are decided together, and why."""

    node_groups: tuple[SameNodeUnits, ...]
    groups: tuple[GroupScope, ...]

    @property
    def units(self) -> Iterator[Unit]:
        """Yield all units."""
        for node_group in self.node_groups:
            yield from node_group.units


def find_coupled_units(
    cluster: Cluster, requested: Sequence[Unit], there: Sequence[Unit] | None = None
) -> tuple[CoupledUnits, ...]:
    """Find the sets of units that groups tie, in the order requested. Raises ``ValueError`` for a group that is wrong.

    ``there`` are the units that groups may speak of; None: those of the cluster.
    """
    groups = [group for group in cluster.constraint_groups.values() if _has_demands(group)]
    scopes = [GroupScope(group, group_members(group, cluster, there)) for group in groups]
    return _coupled_sets(_group_units_sharing_claims(requested), scopes)


def split_soft_coupling(coupled: CoupledUnits) -> tuple[Unit | CoupledUnits, ...]:
    """Separate units that only soft entries couple: these must not prevent an allocation (SOFT-1)."""
    demands = [scope.demand for scope in coupled.groups]
    sets = _coupled_sets(coupled.node_groups, [scope for scope in demands if _has_demands(scope.group)])
    return tuple(in_request_order([*coupled.units], sets))


def _coupled_sets(node_groups: Sequence[SameNodeUnits], scopes: Sequence[GroupScope]) -> tuple[CoupledUnits, ...]:
    keys = [{ref.key for ref in node_group.requested} for node_group in node_groups]
    reached = {
        number: [place for place, scope in enumerate(scopes) if not own.isdisjoint(scope.claims)]
        for number, own in enumerate(keys)
    }
    sets = connected_groups({number: places for number, places in reached.items() if places})
    found = []
    for own in map(sorted, sets):
        concerned = sorted({place for number in own for place in reached[number]})
        seats = tuple(node_groups[number] for number in own)
        found.append(CoupledUnits(seats, tuple(scopes[place] for place in concerned)))
    return tuple(found)


def _has_demands(group: ConstraintGroup) -> bool:
    return bool(group.spec.constraints or group.spec.same_node_label)


def _group_units_sharing_claims(requested: Sequence[Unit]) -> list[SameNodeUnits]:
    """Put units that share a claim which has no devices yet on one node group."""
    sharing = connected_groups(
        {number: [ref.key for ref in unit.requested_claims] for number, unit in enumerate(requested)}
    )
    found = []
    for units in ([requested[number] for number in numbers] for numbers in sharing):
        refs = {ref.key: ref for unit in reversed(units) for ref in reversed(unit.requested_claims)}
        ordered = dict.fromkeys(ref.key for unit in units for ref in unit.requested_claims)
        found.append(SameNodeUnits(tuple(units), tuple(refs[key] for key in ordered)))
    return found


def in_request_order(requested: Sequence[Unit], sets: Sequence[CoupledUnits]) -> Iterator[Unit | CoupledUnits]:
    """Yield units and, in the place of its first unit, each coupled set."""
    owner = {id(unit): coupled for coupled in sets for unit in coupled.units}
    seen: set[int] = set()
    for unit in requested:
        coupled = owner.get(id(unit))
        if coupled is None:
            yield unit
        elif id(coupled) not in seen:
            seen.add(id(coupled))
            yield coupled


class GroupAbortedError(Exception):
    """A fatal error in words."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


@contextmanager
def name_fatal_errors(names: ProblemNames) -> Iterator[None]:
    """Fill names into fatal errors. Raises ``GroupAbortedError`` instead of them."""
    try:
        yield
    except FatalError as error:
        raise GroupAbortedError(reason_from_error(error, names)) from None
